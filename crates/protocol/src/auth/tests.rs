use super::*;
use proptest::prelude::*;

const SCRAMBLE: &[u8; 20] = b"ABCDEFGHIJKLMNOPQRST";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn tokens_are_what_an_independent_calculation_gives() {
    let native = native::token(b"secret", SCRAMBLE);
    assert_eq!(hex(&native), "28441590674285e7d03cae7af237504797f70e91");
    let sha2 = caching_sha2::token(b"secret", SCRAMBLE);
    assert_eq!(hex(&sha2), "d721e183c1f036a196c1389201b8d53f38064a16f1d0923683ab886763152d75");
}

#[test]
fn tokens_prove_their_password_and_no_other() {
    for (token, verify) in [
        (
            native::token as fn(&[u8], &[u8; 20]) -> Vec<u8>,
            native::verify as fn(&[u8], &[u8; 20], &[u8]) -> bool,
        ),
        (caching_sha2::token, caching_sha2::verify),
    ] {
        let proof = token(b"secret", SCRAMBLE);
        assert!(verify(&proof, SCRAMBLE, b"secret"));
        assert!(!verify(&proof, SCRAMBLE, b"Secret"));
        assert!(!verify(&proof, b"BBCDEFGHIJKLMNOPQRST", b"secret"));
        assert!(!verify(&proof[1..], SCRAMBLE, b"secret"));
        assert!(!verify(b"", SCRAMBLE, b"secret"));
        assert!(!verify(&proof, SCRAMBLE, b""));
        assert!(verify(b"", SCRAMBLE, b""), "an empty password has an empty proof");
    }
}

#[test]
fn a_proof_and_what_is_stored_give_what_further_proofs_need() {
    let token = |password: &[u8]| <[u8; 20]>::try_from(native::token(password, SCRAMBLE)).unwrap();
    // SELECT PASSWORD('secret')
    let stored = *b"\x14\xe6\x55\x67\xab\xdb\x51\x35\xd0\xcf\xd9\xa7\x0b\x30\x32\xc1\x79\xa4\x9e\xe7";
    let hash = native::hash_in(&token(b"secret"), SCRAMBLE, &stored).unwrap();
    let other = b"BBCDEFGHIJKLMNOPQRST";
    assert_eq!(native::token_by_hash(&hash, other).to_vec(), native::token(b"secret", other));
    assert!(native::verify_by_hash(&native::token(b"secret", other), other, &hash));
    assert!(!native::verify_by_hash(&native::token(b"Secret", other), other, &hash));
    assert!(!native::verify_by_hash(&native::token(b"secret", SCRAMBLE), other, &hash));
    assert_eq!(native::hash_in(&token(b"Secret"), SCRAMBLE, &stored), None);
    assert_eq!(native::hash_in(&token(b"secret"), other, &stored), None);
}

#[test]
fn masks_undo_themselves() {
    let password = b"a password that is longer than the scramble\0";
    let masked = caching_sha2::mask(password, SCRAMBLE);
    assert_ne!(masked, password);
    assert_eq!(caching_sha2::mask(&masked, SCRAMBLE), password);
}

#[test]
fn scrambles_are_seven_bit_without_nul_and_dollar_and_differ() {
    let scrambles: Vec<_> = (0..500).map(|_| random_scramble()).collect();
    for scramble in &scrambles {
        assert!(scramble.iter().all(|&byte| byte != 0 && byte != b'$' && byte < 0x80));
    }
    assert_ne!(scrambles[0], scrambles[1]);
}

#[test]
fn what_is_encrypted_for_a_key_is_decrypted_by_it_alone() {
    let (key, other) = (rsa::PrivateKey::generate().unwrap(), rsa::PrivateKey::generate().unwrap());
    let pem = key.public_pem();
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A"));
    assert!(pem.ends_with("\n-----END PUBLIC KEY-----\n"));
    assert!(pem.lines().all(|line| line.len() <= 64));
    for plain in [&b""[..], b"secret\0", &[7; 214]] {
        let encrypted = rsa::encrypt(pem.as_bytes(), plain).unwrap();
        assert_eq!(encrypted.len(), 256);
        assert_eq!(key.decrypt(&encrypted).as_deref(), Some(plain));
        assert_eq!(other.decrypt(&encrypted), None);
        assert_eq!(key.decrypt(&encrypted[1..]), None);
    }
    assert_eq!(rsa::encrypt(pem.as_bytes(), &[7; 215]), None, "too long for the key");
    assert_eq!(key.decrypt(b""), None);
}

#[test]
fn what_is_no_key_encrypts_nothing() {
    for pem in
        ["", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"]
    {
        assert_eq!(rsa::encrypt(pem.as_bytes(), b"x"), None);
    }
    assert_eq!(rsa::encrypt(&[0xFF, 0xFE], b"x"), None);
}

proptest! {
    #[test]
    fn pem_comes_back(der in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(pem::decode(pem::encode(&der).as_bytes()), Some(der.clone()));
        let windows = pem::encode(&der).replace('\n', "\r\n");
        prop_assert_eq!(pem::decode(windows.as_bytes()), Some(der));
    }

    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        let _ = pem::decode(format!("-----BEGIN PUBLIC KEY-----{text}-----END PUBLIC KEY-----").as_bytes());
    }
}
