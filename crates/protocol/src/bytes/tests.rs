use super::*;
use proptest::prelude::*;

#[test]
fn length_encoded_integers_have_their_shortest_form() {
    let table: [(u64, &[u8]); 9] = [
        (0, &[0]),
        (250, &[250]),
        (251, &[0xFC, 251, 0]),
        (0xFFFF, &[0xFC, 0xFF, 0xFF]),
        (0x1_0000, &[0xFD, 0, 0, 1]),
        (0xFF_FFFF, &[0xFD, 0xFF, 0xFF, 0xFF]),
        (0x100_0000, &[0xFE, 0, 0, 0, 1, 0, 0, 0, 0]),
        (1 << 40, &[0xFE, 0, 0, 0, 0, 0, 1, 0, 0]),
        (u64::MAX, &[0xFE, 255, 255, 255, 255, 255, 255, 255, 255]),
    ];
    for (value, bytes) in table {
        let mut out = Vec::new();
        out.put_lenenc_int(value);
        assert_eq!(out, bytes);
        assert_eq!(Reader::new(bytes).lenenc_int(), Ok(value));
        for len in 0..bytes.len() {
            assert!(Reader::new(&bytes[..len]).lenenc_int().is_err());
        }
    }
}

#[test]
fn null_and_errors_are_no_integers_and_overlong_forms_are() {
    assert!(Reader::new(&[0xFB]).lenenc_int().is_err());
    assert!(Reader::new(&[0xFF, 0, 0]).lenenc_int().is_err());
    assert_eq!(Reader::new(&[0xFC, 1, 0]).lenenc_int(), Ok(1));
}

#[test]
fn a_length_beyond_the_packet_is_malformed_and_reserves_nothing() {
    let mut bytes = vec![0xFE];
    bytes.extend(u64::MAX.to_le_bytes());
    bytes.push(b'x');
    assert!(Reader::new(&bytes).lenenc_bytes().is_err());
}

#[test]
fn fixed_integers_are_little_endian() {
    let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(Reader::new(&bytes).u16(), Ok(0x0201));
    assert_eq!(Reader::new(&bytes).u24(), Ok(0x03_0201));
    assert_eq!(Reader::new(&bytes).u32(), Ok(0x0403_0201));
    assert_eq!(Reader::new(&bytes).u48(), Ok(0x0605_0403_0201));
    assert_eq!(Reader::new(&bytes).u64(), Ok(0x0807_0605_0403_0201));
}

#[test]
fn strings_end_at_their_nul_and_never_hold_one() {
    let mut out = Vec::new();
    out.put_nul_bytes(b"na\0me");
    assert_eq!(out, b"na\0");
    let mut reader = Reader::new(b"one\0\0rest");
    assert_eq!(reader.nul_bytes(), Ok(&b"one"[..]));
    assert_eq!(reader.nul_bytes(), Ok(&b""[..]));
    assert!(reader.nul_bytes().is_err());
    assert_eq!(reader.remaining(), 4);
    assert_eq!(reader.rest(), b"rest");
    assert!(reader.is_empty());
}

proptest! {
    #[test]
    fn what_is_put_is_read(int in any::<u64>(), bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut out = BytesMut::new();
        out.put_lenenc_int(int);
        out.put_lenenc_bytes(&bytes);
        let mut reader = Reader::new(&out);
        prop_assert_eq!(reader.lenenc_int(), Ok(int));
        prop_assert_eq!(reader.lenenc_bytes(), Ok(&bytes[..]));
        prop_assert!(reader.is_empty());
    }
}
