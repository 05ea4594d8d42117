use super::*;
use crate::secret::NativeHash;

const SCRAMBLE: &[u8] = b"12345678901234567890";

fn password(text: &str) -> Password {
    Password::new(Secret::new(text))
}

async fn start(text: &str, plugin: &str, secure: bool) -> Result<Option<Vec<u8>>, Error> {
    password(text).answer(plugin, Challenge::Switch(SCRAMBLE), secure).await
}

#[tokio::test]
async fn the_password_itself_goes_only_where_nobody_listens() {
    let clear = Some(b"pw\0".to_vec());
    assert_eq!(start("pw", MYSQL_CLEAR_PASSWORD, true).await.unwrap(), clear);
    assert!(start("pw", MYSQL_CLEAR_PASSWORD, false).await.is_err());
    assert_eq!(start("pw", SHA256_PASSWORD, true).await.unwrap(), clear);
    assert_eq!(start("pw", SHA256_PASSWORD, false).await.unwrap(), Some(vec![SHA256_REQUEST_PUBLIC_KEY]));
    let mut ours = password("pw");
    ours.answer(CACHING_SHA2_PASSWORD, Challenge::Switch(SCRAMBLE), false).await.unwrap();
    let full = Challenge::More(&[caching_sha2::FULL_AUTH]);
    assert_eq!(ours.answer(CACHING_SHA2_PASSWORD, full, true).await.unwrap(), clear);
    assert_eq!(ours.answer(CACHING_SHA2_PASSWORD, full, false).await.unwrap(), Some(vec![2]));
}

#[tokio::test]
async fn the_rsa_exchange_ends_in_the_masked_password() {
    let key = rsa::PrivateKey::generate().unwrap();
    let mut ours = password("secret");
    ours.answer(CACHING_SHA2_PASSWORD, Challenge::Switch(SCRAMBLE), false).await.unwrap();
    let pem = Challenge::More(key.public_pem().as_bytes());
    let sent = ours.answer(CACHING_SHA2_PASSWORD, pem, false).await.unwrap().unwrap();
    let masked = key.decrypt(&sent).unwrap();
    assert_eq!(caching_sha2::mask(&masked, SCRAMBLE.try_into().unwrap()), b"secret\0");
}

#[tokio::test]
async fn a_password_that_comes_after_the_scramble_is_masked_with_it() {
    let key = rsa::PrivateKey::generate().unwrap();
    let mut ours = Password::resumed(Secret::new("secret"), SCRAMBLE.try_into().unwrap());
    let full = Challenge::More(&[caching_sha2::FULL_AUTH]);
    assert_eq!(ours.answer(CACHING_SHA2_PASSWORD, full, false).await.unwrap(), Some(vec![2]));
    let pem = Challenge::More(key.public_pem().as_bytes());
    let sent = ours.answer(CACHING_SHA2_PASSWORD, pem, false).await.unwrap().unwrap();
    assert_eq!(caching_sha2::mask(&key.decrypt(&sent).unwrap(), SCRAMBLE.try_into().unwrap()), b"secret\0");
}

#[tokio::test]
async fn a_fast_acknowledgement_wants_no_answer() {
    let fast = Challenge::More(&[caching_sha2::FAST_AUTH_OK]);
    assert_eq!(password("x").answer(CACHING_SHA2_PASSWORD, fast, false).await.unwrap(), None);
}

#[tokio::test]
async fn other_plugins_are_refused_by_name() {
    for plugin in ["client_ed25519", "dialog", "parsec", "authentication_ldap_sasl_client", ""] {
        let message = start("pw", plugin, true).await.unwrap_err().to_string();
        assert!(message.contains(&format!("'{plugin}'")), "{message}");
    }
}

#[tokio::test]
async fn an_empty_password_has_an_empty_proof() {
    assert_eq!(start("", MYSQL_NATIVE_PASSWORD, false).await.unwrap(), Some(vec![]));
    assert_eq!(start("", CACHING_SHA2_PASSWORD, false).await.unwrap(), Some(vec![]));
    assert_eq!(start("", SHA256_PASSWORD, false).await.unwrap(), Some(vec![0]));
}

#[tokio::test]
async fn an_unexpected_question_is_refused() {
    let odd = Challenge::More(b"who are you?");
    assert!(password("x").answer(MYSQL_NATIVE_PASSWORD, odd, true).await.is_err());
    assert!(password("x").answer(CACHING_SHA2_PASSWORD, odd, true).await.is_err());
    assert!(password("x").answer(CACHING_SHA2_PASSWORD, odd, false).await.is_err());
}

#[tokio::test]
async fn what_stands_for_a_password_serves_its_plugin_alone() {
    let scramble: [u8; 20] = SCRAMBLE.try_into().unwrap();
    let stored = [0x14, 0xe6, 0x55, 0x67, 0xab, 0xdb, 0x51, 0x35, 0xd0, 0xcf]
        .into_iter()
        .chain([0xd9, 0xa7, 0x0b, 0x30, 0x32, 0xc1, 0x79, 0xa4, 0x9e, 0xe7])
        .collect::<Vec<u8>>();
    let proof: [u8; 20] = native::token(b"secret", &scramble).try_into().unwrap();
    let hash = native::hash_in(&proof, &scramble, &stored.try_into().unwrap()).unwrap();
    let mut ours = Password::new(Credential::NativeHash(NativeHash::new(hash)));
    let answer = ours.answer(MYSQL_NATIVE_PASSWORD, Challenge::Switch(SCRAMBLE), false).await.unwrap();
    assert_eq!(answer, Some(proof.to_vec()));
    for plugin in [CACHING_SHA2_PASSWORD, SHA256_PASSWORD, MYSQL_CLEAR_PASSWORD, "dialog"] {
        assert!(ours.answer(plugin, Challenge::Switch(SCRAMBLE), true).await.is_err(), "{plugin}");
    }
    assert_eq!(format!("{ours:?}").matches("***").count(), 1);
}
