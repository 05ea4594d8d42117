use super::*;
use crate::{Answer, Command, Part, take_packet};
use proptest::prelude::*;

fn column(name: &str) -> Column {
    Column { name: name.into(), collation: 45, length: 100, kind: 253, decimals: 31, ..Column::default() }
}

type Rows = Vec<Vec<Option<Vec<u8>>>>;

/// Reads a result set back with the follower; returns its frames' parts and rows.
fn read_back(mut wire: BytesMut, caps: Capabilities) -> (Vec<Part>, Vec<Vec<u8>>) {
    let mut answer = Answer::to(Command::Query, caps);
    let (mut parts, mut rows, mut seq) = (Vec::new(), Vec::new(), 1);
    while let Some(packet) = take_packet(&mut wire, usize::MAX).unwrap() {
        assert_eq!(packet.first_seq, seq);
        seq = packet.last_seq.wrapping_add(1);
        let seen = answer.see(packet.payload.len(), &packet.payload).unwrap();
        assert_eq!(seen.last, wire.is_empty());
        if seen.part == Part::Row {
            rows.push(packet.payload.to_vec());
        }
        parts.push(seen.part);
    }
    assert!(answer.is_done());
    (parts, rows)
}

const FORMS: [Capabilities; 5] = [
    Capabilities::empty(),
    Capabilities::DEPRECATE_EOF,
    Capabilities::DEPRECATE_EOF.union(Capabilities::MARIADB_CACHE_METADATA),
    Capabilities::DEPRECATE_EOF.union(Capabilities::MARIADB_EXTENDED_METADATA),
    Capabilities::OPTIONAL_RESULTSET_METADATA,
];

#[test]
fn a_result_set_in_every_form() {
    let rows: Rows = vec![vec![Some(b"on".to_vec()), None], vec![Some(Vec::new()), Some(vec![b'x'; 300])]];
    for caps in FORMS {
        let (mut out, mut seq) = (BytesMut::new(), 1);
        let columns = [column("name"), column("value")];
        text_result_set(&mut out, &mut seq, caps, StatusFlags::AUTOCOMMIT, &columns, rows.iter());
        let (parts, read) = read_back(out, caps);
        let mut expected = vec![Part::ColumnCount, Part::Column, Part::Column];
        expected.extend((!caps.deprecate_eof()).then_some(Part::ColumnsEnd));
        expected.extend([Part::Row, Part::Row, Part::RowsEnd]);
        assert_eq!(parts, expected, "{caps:?}");
        assert_eq!(usize::from(seq), expected.len() + 1);
        assert_eq!(read[0], b"\x02on\xfb");
        assert_eq!(read[1][..5], [0, 0xFC, 0x2C, 1, b'x']);
    }
}

#[test]
fn the_bytes_are_the_servers() {
    // As MySQL answers SELECT 1 where EOF packets are deprecated.
    let mut out = BytesMut::new();
    let one =
        Column { name: b"1".to_vec(), collation: 63, length: 2, kind: 8, flags: 0x81, ..Column::default() };
    let rows: Rows = vec![vec![Some(b"1".to_vec())]];
    text_result_set(
        &mut out,
        &mut 1,
        Capabilities::DEPRECATE_EOF,
        StatusFlags::AUTOCOMMIT,
        &[one],
        rows.iter(),
    );
    let expected: &[u8] = b"\x01\0\0\x01\x01\
        \x17\0\0\x02\x03def\0\0\0\x011\0\x0c\x3f\0\x02\0\0\0\x08\x81\0\0\0\0\
        \x02\0\0\x03\x011\
        \x07\0\0\x04\xfe\0\0\x02\0\0\0";
    assert_eq!(out, expected);
}

#[test]
fn a_result_set_without_rows_ends_too() {
    for caps in FORMS {
        let mut out = BytesMut::new();
        let none: Rows = Vec::new();
        text_result_set(&mut out, &mut 1, caps, StatusFlags::empty(), &[column("a")], none.iter());
        assert_eq!(read_back(out, caps).0.last(), Some(&Part::RowsEnd));
    }
}

proptest! {
    #[test]
    fn values_come_back(
        rows in prop::collection::vec(
            prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..300)), 2), 0..300),
        form in any::<prop::sample::Index>(),
    ) {
        let (mut out, caps) = (BytesMut::new(), *form.get(&FORMS));
        text_result_set(&mut out, &mut 1, caps, StatusFlags::empty(), &[column("a"), column("b")], rows.iter());
        let (_, read) = read_back(out, caps);
        let expected: Vec<Vec<u8>> = rows.iter().map(|row| {
            let mut payload = Vec::new();
            row.iter().for_each(|value| put_value(&mut payload, value.as_deref()));
            payload
        }).collect();
        prop_assert_eq!(read, expected);
    }
}

#[test]
fn nulls_of_a_binary_row_are_bits() {
    let row = |values: &[BinaryValue]| {
        let mut payload = Vec::new();
        put_binary_row(&mut payload, values);
        payload
    };
    let value = |text: &str| BinaryValue::Text(text.as_bytes().to_vec());
    assert_eq!(row(&[value("a"), BinaryValue::Null, value("bc")]), [0, 0b1000, 1, b'a', 2, b'b', b'c']);
    assert_eq!(row(&vec![BinaryValue::Null; 7]), [0, 0b1111_1100, 1]);
}
