use super::*;
use crate::{Capabilities, StatusFlags};
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

const TRACK: Capabilities = Capabilities::SESSION_TRACK;

fn variable(name: &str, value: &str) -> StateChange {
    StateChange::SystemVariable { name: name.into(), value: value.into() }
}

#[test]
fn changes_as_both_servers_report_them() {
    let state = |text: &str| StateChange::TransactionState(text.into());
    let changed = || StateChange::SessionState(b"1".to_vec());
    let gtid = "2ccb345e-e543-11f1-b258-02fc00000001:33";
    let table = [
        // MySQL: SET autocommit = 0, time_zone = '+01:00'
        (
            "000000004000000027000f0a6175746f636f6d6d6974034f464600110974696d655f7a6f6e65062b30313a3030020131",
            vec![variable("autocommit", "OFF"), variable("time_zone", "+01:00"), changed()],
        ),
        // MySQL: USE t1
        ("0000000040000000080103027431020131", vec![StateChange::Schema(b"t1".to_vec()), changed()]),
        // MySQL: COMMIT
        (
            "0000000040000000360329002732636362333435652d653534332d313166312d623235382d303266633030303030303031\
             3a33330509085f5f5f5f5f5f5f5f",
            vec![StateChange::Gtids(gtid.into()), state("________")],
        ),
        // MySQL: START TRANSACTION READ ONLY
        (
            "00000001600000002a050908545f5f5f5f5f5f5f041d1c5354415254205452414e53414354494f4e2052454144204f4e4c593b",
            vec![
                state("T_______"),
                StateChange::TransactionCharacteristics(b"START TRANSACTION READ ONLY;".to_vec()),
            ],
        ),
        // MariaDB: COMMIT
        (
            "00000000400000001e0011096c6173745f6774696406302d312d37360509085f5f5f5f5f5f5f5f",
            vec![variable("last_gtid", "0-1-76"), state("________")],
        ),
        // Two variables in one block, as MariaDB may write them.
        ("000000004000000009000701610131016200", vec![variable("a", "1"), variable("b", "")]),
        // A kind that is not known, and GTIDs in an encoding that is not.
        (
            "0000000040000000080902ffff0302017a",
            vec![
                StateChange::Other { kind: 9, data: vec![0xFF, 0xFF] },
                StateChange::Other { kind: 3, data: vec![1, b'z'] },
            ],
        ),
    ];
    for (hex, changes) in table {
        let payload = bytes(&hex.replace(' ', ""));
        let ok = OkPacket::parse(&payload, TRACK).unwrap_or_else(|error| panic!("{hex}: {error}"));
        assert_eq!(ok.changes, changes, "{hex}");
        assert!(ok.status.contains(StatusFlags::SESSION_STATE_CHANGED));
        let again = OkPacket::parse(&ok.encode(TRACK, OkPacket::HEADER), TRACK).unwrap();
        assert_eq!(again, ok);
    }
}

#[test]
fn the_same_bytes_come_back_from_mysqls_packets() {
    let payload = bytes("0000000040000000080103027431020131");
    assert_eq!(OkPacket::parse(&payload, TRACK).unwrap().encode(TRACK, OkPacket::HEADER), payload);
}

#[test]
fn text_is_prefixed_whether_or_not_changes_are_tracked() {
    let ok = OkPacket { affected_rows: 3, info: b"Records: 3".to_vec(), ..OkPacket::default() };
    let plain = ok.encode(Capabilities::empty(), OkPacket::HEADER);
    assert_eq!(plain, b"\0\x03\0\0\0\0\0\x0aRecords: 3");
    let tracked = ok.encode(TRACK, OkPacket::HEADER_AS_EOF);
    assert_eq!(tracked, b"\xfe\x03\0\0\0\0\0\x0aRecords: 3");
    assert_eq!(OkPacket::parse(&plain, Capabilities::empty()), Ok(ok.clone()));
    assert_eq!(OkPacket::parse(&tracked, TRACK), Ok(ok));
}

#[test]
fn changes_are_left_out_where_nobody_reads_them() {
    let ok = OkPacket {
        status: StatusFlags::SESSION_STATE_CHANGED | StatusFlags::AUTOCOMMIT,
        changes: vec![StateChange::Schema(b"db".to_vec())],
        ..OkPacket::default()
    };
    assert_eq!(ok.encode(Capabilities::empty(), OkPacket::HEADER), [0, 0, 0, 2, 0, 0, 0]);
    let none = OkPacket { changes: Vec::new(), ..ok };
    assert_eq!(none.encode(TRACK, OkPacket::HEADER), [0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn truncated_ok_packets_are_malformed() {
    let payload = bytes("0000000040000000080103027431020131");
    // Those of seven and eight bytes end before the changes, which is allowed.
    for len in (0..7).chain(9..payload.len()) {
        assert!(OkPacket::parse(&payload[..len], TRACK).is_err(), "{len}");
    }
    assert!(OkPacket::parse(b"\x01\0\0\0\0\0\0", TRACK).is_err());
}

#[test]
fn errors_with_and_without_their_class() {
    let error = ErrPacket::new(1064, "42000", "near 'x'");
    assert_eq!(error.encode(), b"\xff\x28\x04#42000near 'x'");
    assert_eq!(ErrPacket::parse(&error.encode()), Ok(error.clone()));
    assert_eq!(error.to_string(), "1064 (42000): near 'x'");
    let bare = ErrPacket::parse(b"\xff\x10\x04Too many").unwrap();
    assert_eq!((bare.code, bare.sqlstate), (1040, None));
    assert_eq!(bare.encode(), b"\xff\x10\x04Too many");
    assert_eq!(bare.to_string(), "1040 (HY000): Too many");
    assert_eq!(ErrPacket::new(1, "wrong", "").sqlstate, Some(*b"wrong"));
    assert_eq!(ErrPacket::new(1, "too long", "").sqlstate, Some(*b"HY000"));
    assert!(ErrPacket::parse(b"\xff\x10").is_err());
    assert!(ErrPacket::parse(b"\xff\x10\x04#420").is_err());
    assert!(ErrPacket::parse(b"\0\x10\x04").is_err());
}

#[test]
fn eof_packets_are_short() {
    let eof = EofPacket { warnings: 0x0201, status: StatusFlags::AUTOCOMMIT };
    assert_eq!(eof.encode(), [0xFE, 1, 2, 2, 0]);
    assert_eq!(EofPacket::parse(&eof.encode()), Ok(eof));
    assert!(EofPacket::parse(&[0xFE, 1, 2, 2]).is_err());
    assert!(EofPacket::parse(&[0xFE, 1, 2, 2, 0, 0, 0, 0, 0]).is_err());
}

#[test]
fn columns_as_both_servers_define_them() {
    let plain = bytes("036465660274310174017401610161 0c3f000b000000030350000000".replace(' ', "").as_str());
    let column = Column::parse(&plain, Capabilities::empty()).unwrap();
    let expected = Column {
        schema: b"t1".to_vec(),
        table: b"t".to_vec(),
        org_table: b"t".to_vec(),
        name: b"a".to_vec(),
        org_name: b"a".to_vec(),
        collation: 63,
        length: 11,
        kind: 3,
        flags: 0x5003,
        decimals: 0,
    };
    assert_eq!(column, expected);
    assert_eq!(column.encode(Capabilities::empty()), plain);
    let extended = Capabilities::MARIADB_EXTENDED_METADATA;
    let with_type =
        bytes("03646566027431017401740161016100 0c3f000b000000030350000000".replace(' ', "").as_str());
    assert_eq!(Column::parse(&with_type, extended), Ok(expected));
    assert_eq!(column.encode(extended), with_type);
    for len in 0..plain.len() - 2 {
        assert!(Column::parse(&plain[..len], Capabilities::empty()).is_err(), "{len}");
    }
}

#[test]
fn preparations_as_both_servers_answer_them() {
    let head = PrepareOk::parse(&bytes("000800000002000100000300"), Capabilities::empty()).unwrap();
    assert_eq!((head.statement_id, head.columns, head.parameters, head.warnings), (8, 2, 1, 3));
    assert!(head.metadata_follows);
    let optional = Capabilities::OPTIONAL_RESULTSET_METADATA;
    for (last, follows) in [("00", false), ("01", true)] {
        let payload = bytes(&format!("000300000001000100000000{last}"));
        assert_eq!(PrepareOk::parse(&payload, optional).unwrap().metadata_follows, follows);
    }
    assert!(PrepareOk::parse(&bytes("0008000000020001"), optional).is_err());
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

fn any_change() -> impl Strategy<Value = StateChange> {
    prop_oneof![
        (text(), text()).prop_map(|(name, value)| StateChange::SystemVariable { name, value }),
        text().prop_map(StateChange::Schema),
        text().prop_map(StateChange::SessionState),
        text().prop_map(StateChange::Gtids),
        text().prop_map(StateChange::TransactionCharacteristics),
        text().prop_map(StateChange::TransactionState),
        (6..=u8::MAX, text()).prop_map(|(kind, data)| StateChange::Other { kind, data }),
    ]
}

proptest! {
    #[test]
    fn ok_packets_come_back(
        numbers in any::<(u64, u64, u16, u16)>(),
        info in text(),
        changes in prop::collection::vec(any_change(), 0..4),
        as_eof in any::<bool>(),
    ) {
        let (affected_rows, last_insert_id, status, warnings) = numbers;
        let mut status = StatusFlags::from_bits_retain(status);
        status.set(StatusFlags::SESSION_STATE_CHANGED, !changes.is_empty());
        let ok = OkPacket { affected_rows, last_insert_id, status, warnings, info, changes };
        let header = if as_eof { OkPacket::HEADER_AS_EOF } else { OkPacket::HEADER };
        let payload = ok.encode(TRACK, header);
        let brief = summary(&payload).unwrap();
        prop_assert_eq!((brief.status, brief.warnings), (status, warnings));
        prop_assert_eq!(&payload[brief.status_at..brief.status_at + 2], status.bits().to_le_bytes());
        prop_assert_eq!(OkPacket::parse(&payload, TRACK), Ok(ok));
    }

    #[test]
    fn columns_come_back(
        texts in (text(), text(), text(), text(), text()),
        numbers in any::<(u16, u32, u8, u16, u8)>(),
        caps in any::<u64>(),
    ) {
        let (schema, table, org_table, name, org_name) = texts;
        let (collation, length, kind, flags, decimals) = numbers;
        let column =
            Column { schema, table, org_table, name, org_name, collation, length, kind, flags, decimals };
        let caps = Capabilities::from_bits_retain(caps);
        prop_assert_eq!(Column::parse(&column.encode(caps), caps), Ok(column));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in text(), header in any::<u8>(), caps in any::<u64>()) {
        let caps = Capabilities::from_bits_retain(caps);
        for first in [header, 0x00, 0xFE, 0xFF] {
            let payload = [&[first], &bytes[..]].concat();
            let _ = OkPacket::parse(&payload, caps);
            let _ = OkPacket::parse(&payload, caps | TRACK);
            let _ = summary(&payload);
            let _ = ErrPacket::parse(&payload);
            let _ = EofPacket::parse(&payload);
            let _ = Column::parse(&payload, caps);
            let _ = PrepareOk::parse(&payload, caps);
        }
    }
}
