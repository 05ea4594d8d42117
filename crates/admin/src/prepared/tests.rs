use super::*;

const CAPS: Capabilities = Capabilities::PROTOCOL_41;
const LONG: [u8; 2] = [3, 0];
const STRING: [u8; 2] = [0xFD, 0];
const BLOB: [u8; 2] = [0xFC, 0];

/// Returns an execution without NULLs.
fn packet(id: u32, types: &[[u8; 2]], values: &[u8]) -> Vec<u8> {
    let mut packet = vec![23];
    packet.extend(id.to_le_bytes());
    packet.extend([0, 1, 0, 0, 0, 0, u8::from(!types.is_empty())]);
    packet.extend(types.iter().flatten());
    packet.extend(values);
    packet
}

fn integer(number: i64) -> SqliteParameter {
    SqliteParameter::Integer(number)
}

#[test]
fn types_are_remembered_and_statements_are_forgotten_when_they_are_closed() {
    let mut prepared = Prepared::default();
    let id = prepared.add("SELECT ?, ?".to_owned(), 2).unwrap();
    let first = prepared.execution(&packet(id, &[LONG, STRING], &[7, 0, 0, 0, 2, b'a', b'b']), CAPS).unwrap();
    assert_eq!(first, ("SELECT ?, ?".to_owned(), vec![integer(7), text(b"ab")]));
    let second = prepared.execution(&packet(id, &[], &[8, 0, 0, 0, 1, b'c']), CAPS).unwrap();
    assert_eq!(second.1, [integer(8), text(b"c")]);
    assert!(prepared.execution(&packet(id, &[], &[8, 0]), CAPS).is_err(), "a truncated packet");
    assert!(prepared.execution(&packet(id + 1, &[], &[]), CAPS).is_err(), "an unknown number");
    prepared.close(&id.to_le_bytes());
    assert!(prepared.execution(&packet(id, &[], &[8, 0, 0, 0, 1, b'c']), CAPS).is_err());
}

#[test]
fn pieces_are_put_together_and_used_once() {
    let mut prepared = Prepared::default();
    let id = prepared.add("SELECT ?".to_owned(), 1).unwrap();
    for piece in [b"one ", b"more"] {
        let mut body = id.to_le_bytes().to_vec();
        body.extend([0, 0]);
        body.extend(piece);
        prepared.take_piece(&body);
    }
    assert_eq!(prepared.execution(&packet(id, &[BLOB], &[]), CAPS).unwrap().1, [text(b"one more")]);
    // A binary string is not taken for a text.
    assert!(prepared.execution(&packet(id, &[BLOB], &[1, 0]), CAPS).is_err());
}

#[test]
fn there_is_an_end_of_what_one_client_prepares() {
    let mut prepared = Prepared::default();
    for _ in 0..STATEMENTS_MAX {
        prepared.add(String::new(), 0).unwrap();
    }
    assert!(prepared.add(String::new(), 0).is_err());
    prepared.clear();
    assert!(prepared.add(String::new(), 0).is_ok());
}
