//! Transactions, definitions and streams, as the two servers wrote them.

use std::sync::Arc;

use super::*;

/// Returns the events as one word each, and the texts of queries.
fn outline(events: &[Event]) -> Vec<String> {
    flat(events).into_iter().map(|event| word(&event.body)).collect()
}

fn word(body: &EventBody) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match body {
        EventBody::Format { version } => text(version),
        EventBody::Rotate { file, position } => format!("rotate {} {position}", text(file)),
        EventBody::Query { schema, text: statement, .. } => format!("{}> {}", text(schema), text(statement)),
        EventBody::Gtid(event) => format!("gtid {}", short(&event.gtid)),
        EventBody::XaPrepare { xid, one_phase } => format!("prepare {} {one_phase}", text(&xid.global)),
        EventBody::TableMap(map) => format!("table {}", text(&map.table)),
        EventBody::Rows(rows) => format!("{:?} {}", rows.kind, rows.last_of_statement),
        EventBody::Heartbeat { file, position } => format!("heartbeat {} {position}", text(file)),
        EventBody::Transaction(events) => format!("transaction of {}", events.len()),
        other => format!("{other:?}"),
    }
}

/// Returns a GTID without the parts that differ from capture to capture.
fn short(gtid: &Gtid) -> String {
    match gtid {
        Gtid::MySql { tag, .. } if tag.is_empty() => "mysql".to_owned(),
        Gtid::MySql { tag, .. } => tag.clone(),
        Gtid::MariaDb { domain, server, .. } => format!("{domain}-{server}"),
    }
}

fn xa(events: &[Event]) -> Vec<String> {
    let gtids = events.iter().filter_map(|event| match &event.body {
        EventBody::Gtid(gtid) => gtid.xid.as_ref().map(|xid| (gtid, xid)),
        _ => None,
    });
    gtids
        .map(|(gtid, xid)| {
            let state = if gtid.prepared_xa { "prepared" } else { "completed" };
            assert!(gtid.prepared_xa != gtid.completed_xa);
            assert_eq!(gtid.standalone, gtid.completed_xa);
            format!("{state} {} {:?} {:?}", xid.format, xid.global, xid.branch)
        })
        .collect()
}

macro_rules! capture {
    ($name:literal) => {
        include_bytes!(concat!("../testdata/", $name, ".bin"))
    };
}

#[test]
fn mysql_transactions() {
    let events = decode(BinlogFlavor::MySql, capture!("mysql_transactions"));
    let outline = outline(&events);
    assert_eq!(outline[..2], ["9.7.4-2", "PreviousGtids"]);
    let after = |what: &str| {
        let at = outline.iter().position(|line| line == what).unwrap();
        &outline[at + 1..]
    };
    assert_eq!(after("gtid blue")[..4], ["t> BEGIN", "table a", "Insert true", "Xid"]);
    assert_eq!(
        after("gtid a_tag_with_32_bytes_0123456789ab")[..4],
        ["t> BEGIN", "table a", "Update true", "Xid"]
    );
    assert_eq!(
        after("t> XA START X'6774',X'6272',7")[..5],
        ["table a", "Insert true", "t> XA END X'6774',X'6272',7", "prepare gt false", "gtid mysql"]
    );
    assert_eq!(after("t> XA END X'6f6e65',X'',1")[0], "prepare one true");
    assert_eq!(after("Insert true").iter().filter(|line| *line == "Unknown").count(), 0);
    assert_eq!(
        changes(&events),
        [
            "a: none -> 1,one,{json}",
            "a: none -> 2,two,{json}",
            "a: none -> 3,three,NULL",
            "a: 3,three,NULL -> 3,x,NULL",
            "a: none -> 4,xa,NULL",
            "a: none -> 5,xa1,NULL",
            "a: none -> 6,xar,NULL",
            "a: none -> 7,sp,NULL",
            "a: 7,sp,NULL -> none",
        ]
    );
}

#[test]
fn mariadb_transactions() {
    let events = decode(BinlogFlavor::MariaDb, capture!("mariadb_transactions"));
    assert_eq!(
        xa(&events),
        [
            "prepared 7 [103, 116] [98, 114]",
            "completed 7 [103, 116] [98, 114]",
            "prepared 1 [0, 255] []",
            "completed 1 [0, 255] []",
        ]
    );
    let outline = outline(&events);
    assert_eq!(outline[1], "GtidList");
    assert!(!outline.contains(&"Unknown".to_owned()));
    let ddl = events
        .iter()
        .filter(|event| matches!(&event.body, EventBody::Gtid(gtid) if gtid.ddl && gtid.standalone));
    assert_eq!(ddl.count(), 4);
    assert_eq!(
        changes(&events),
        [
            "a: none -> 1u,one,x",
            "a: none -> 2u,two,NULL",
            "a: none -> 4u,xa,NULL",
            "a: none -> 5u,xa1,NULL",
            "a: none -> 6u,xar,NULL",
            "a: none -> 7u,sp,NULL",
            "a: 7u,sp,NULL -> none",
            "m: none -> 1",
            "a: 1u,-,- -> -,min,-",
        ]
    );
}

#[test]
fn a_query_tells_how_to_read_it() {
    let events = decode(BinlogFlavor::MySql, capture!("mysql_transactions"));
    let modes: Vec<_> = events
        .iter()
        .filter_map(|event| match event.body {
            EventBody::Query { sql_mode, client_collation, error_code, .. } => {
                Some((sql_mode, client_collation, error_code))
            }
            _ => None,
        })
        .collect();
    assert!(modes.iter().all(|mode| *mode == (Some(1_168_113_696), Some(255), 0)));
}

#[test]
fn mysql_compressed_transactions_are_unpacked() {
    let events = decode(BinlogFlavor::MySql, capture!("mysql_compressed"));
    assert_eq!(
        outline(&events)[2..10],
        [
            "gtid mysql",
            "transaction of 6",
            "t> BEGIN",
            "table a",
            "Insert true",
            "table a",
            "Update true",
            "Xid"
        ]
    );
    assert_eq!(
        changes(&events),
        [
            "a: none -> 30,c,NULL",
            "a: none -> 31,cccccccccccccccccccc,NULL",
            "a: 30,c,NULL -> 30,d,NULL",
            "a: 31,cccccccccccccccccccc,NULL -> none",
        ]
    );
}

#[test]
fn a_compressed_transaction_beyond_the_bound_is_unknown() {
    let mut decoder = Decoder::new(BinlogFlavor::MySql);
    let unpacked = (UNPACKED_LEN_MAX as u32 + 1).to_le_bytes();
    let mut body = vec![2, 1, 0, 3, 5, 0xfe];
    body[4] = 9;
    body.extend_from_slice(&unpacked);
    body.extend_from_slice(&[0; 5]);
    let event = event(kind::TRANSACTION_PAYLOAD, 0, &body);
    assert_eq!(decoder.event(&event).unwrap().body, EventBody::Unknown);
}

#[test]
fn mariadb_compressed_events_are_unpacked() {
    let events = decode(BinlogFlavor::MariaDb, capture!("mariadb_compressed"));
    let changes = changes(&events);
    let (c, d, f, g) = ("c".repeat(20), "d".repeat(300), "f".repeat(300), "g".repeat(400));
    assert_eq!(
        changes,
        [
            format!("a: none -> 30u,{c},{d}"),
            format!("a: none -> 31u,e,{f}"),
            format!("a: 30u,{c},{d} -> 30u,{c},{g}"),
            format!("a: 31u,e,{f} -> 31u,e,{g}"),
            format!("a: 30u,{c},{g} -> none"),
            format!("a: 31u,e,{g} -> none"),
        ]
    );
    let kinds: Vec<_> = events.iter().map(|event| event.header.kind).collect();
    assert!(kinds.contains(&kind::MARIADB_QUERY_COMPRESSED));
    assert!(kinds.contains(&kind::MARIADB_WRITE_ROWS_COMPRESSED_V1));
    assert!(outline(&events).iter().any(|line| line.starts_with("t> create table if not exists comp (some")));
}

#[test]
fn only_the_differences_of_json_values() {
    let events = decode(BinlogFlavor::MySql, capture!("mysql_partial_json"));
    assert_eq!(
        changes(&events),
        [
            "pj: none -> 1,{json},s,{json}",
            "pj: 1,-,-,- -> -,{diff},-,-",
            "pj: 1,-,-,- -> -,-,t,{json}",
            "pj: 1,-,-,- -> -,{json},-,{json}",
            "pj: 1,-,-,- -> -,-,u,-",
            "pj: 1,-,-,- -> -,NULL,-,{diff}",
        ]
    );
}

#[test]
fn generated_columns_are_logged_and_those_of_indexes_are_not() {
    let events = decode(BinlogFlavor::MySql, capture!("mysql_generated"));
    assert_eq!(
        changes(&events),
        [
            "g: none -> 1,2u,3,4u,{json},5u",
            "g: 1,2u,3,4u,{json},5u -> 1,2000000000u,2000000001,4000000000u,{json},5u",
            "pkp: none -> x,yyyyyyyyyy,-1",
        ]
    );
    let found = rows(&events);
    let names: Vec<_> = found[0].0.columns.iter().map(|c| c.name.clone().unwrap()).collect();
    assert_eq!(names, [b"id" as &[u8], b"a", b"v", b"st", b"j", b"inv"]);
    let visible: Vec<_> = found[0].0.columns.iter().map(|c| c.visible).collect();
    assert_eq!(visible, [true, true, true, true, true, false]);
    assert_eq!(found[0].0.primary_key, [(0, 0)]);
    assert_eq!(found[2].0.primary_key, [(2, 0), (1, 5), (0, 0)]);
}

#[test]
fn without_checksums() {
    let events = decode(BinlogFlavor::MySql, capture!("mysql_no_checksum"));
    assert_eq!(changes(&events), ["a: none -> 40,n,NULL"]);
}

#[test]
fn without_metadata_the_sign_is_for_the_reader_to_say() {
    let events = decode(BinlogFlavor::MariaDb, capture!("mariadb_no_metadata_no_checksum"));
    let (mut map, rows) = rows(&events).remove(0);
    let first = |map: &TableMap| {
        let change = rows.rows(map).unwrap().next().unwrap().unwrap();
        show(change.after)
    };
    assert_eq!(first(&map), "-1,n,NULL");
    Arc::make_mut(&mut map.columns)[0].unsigned = Some(true);
    assert_eq!(first(&map), "4294967295u,n,NULL");
}

#[test]
fn old_temporal_types() {
    let file = capture!("mariadb_old_temporal");
    for (map, rows) in rows(&decode(BinlogFlavor::MariaDb, file)) {
        assert!(rows.rows(&map).is_err(), "their length is not logged");
    }
    // MySQL's have no fractions, and otherwise the same form.
    let (map, rows) = rows(&decode(BinlogFlavor::MySql, file)).remove(0);
    let shown: Vec<_> = rows
        .rows(&map)
        .unwrap()
        .map(|change| {
            let fields = change.unwrap().after.unwrap().fields();
            fields
                .skip(1)
                .map(|field| match field.unwrap() {
                    Field::Value(Value::Date(date)) => date.to_string(),
                    Field::Value(Value::Time(time)) => time.to_string(),
                    Field::Value(Value::DateTime(datetime)) => datetime.to_string(),
                    Field::Value(Value::Timestamp(timestamp)) => timestamp.to_string(),
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(
        shown,
        ["2024-02-29 -12:34:56 2024-02-29 01:02:03 2147483647", "0000-00-00 838:59:59 9999-12-31 23:59:59 1"]
    );
}

#[test]
fn compressed_columns_with_and_without_zlibs_frame() {
    let events = decode(BinlogFlavor::MariaDb, capture!("mariadb_wrapped_columns"));
    let (map, rows) = rows(&events).remove(0);
    let image = rows.rows(&map).unwrap().next().unwrap().unwrap().after.unwrap();
    let mut out = Vec::new();
    for field in image.fields() {
        let Field::Value(Value::Compressed(value)) = field.unwrap() else { panic!("not compressed") };
        value.unpack(&mut out).unwrap();
    }
    assert_eq!(out, ["long ".repeat(90), "x".repeat(300), "y".repeat(100)].concat().into_bytes());
}

#[test]
fn streams_start_with_an_artificial_rotate_and_beat() {
    for (flavor, file, name) in [
        (BinlogFlavor::MariaDb, &capture!("mariadb_stream")[..], "mbin"),
        (BinlogFlavor::MySql, &capture!("mysql_stream")[..], "mybin"),
        (BinlogFlavor::MySql, &capture!("mysql_stream_heartbeat_v2")[..], "mybin"),
    ] {
        let events = decode(flavor, file);
        assert!(events[0].header.is_artificial());
        let EventBody::Rotate { file, position } = &events[0].body else { panic!("{:?}", events[0]) };
        assert!(file.starts_with(name.as_bytes()) && file.len() == name.len() + 7);
        assert!(matches!(events[1].body, EventBody::Format { .. }));
        for event in &events[2..] {
            let beat = EventBody::Heartbeat { file: file.clone(), position: *position };
            assert_eq!(event.body, beat);
        }
    }
}

#[test]
fn a_heartbeat_of_mariadb_beyond_4_gib() {
    let mut body = (5u64 << 32).to_le_bytes().to_vec();
    body.extend_from_slice(b"bin.000001");
    let event = Decoder::new(BinlogFlavor::MariaDb).event(&event(kind::HEARTBEAT, 0, &body)).unwrap();
    let beat = EventBody::Heartbeat { file: b"bin.000001".to_vec(), position: 5 << 32 };
    assert_eq!(event.body, beat);
}

#[test]
fn unknown_events_are_unknown_unless_they_may_be_skipped() {
    let mut decoder = Decoder::new(BinlogFlavor::MySql);
    let mut body_of = |kind, flags| decoder.event(&event(kind, flags, b"")).unwrap().body;
    assert_eq!(body_of(99, 0), EventBody::Unknown);
    assert_eq!(body_of(99, 0x80), EventBody::Ignorable);
    assert_eq!(body_of(kind::INCIDENT, 0), EventBody::Incident);
    assert_eq!(body_of(kind::STOP, 0), EventBody::Ignorable);
}

#[test]
fn a_flipped_bit_is_found() {
    for event in split(capture!("mysql_transactions")).into_iter().skip(1) {
        let mut decoder = Decoder::new(BinlogFlavor::MySql);
        decoder.event(split(capture!("mysql_transactions"))[0]).unwrap();
        let mut broken = event.to_vec();
        let at = broken.len() / 2;
        broken[at] ^= 4;
        assert!(decoder.event(&broken).is_err());
    }
}

#[test]
fn the_encoded_set_is_the_servers() {
    let text = include_str!("../testdata/mysql_tagged_previous_gtids.txt");
    let events = split(capture!("mysql_tagged_previous_gtids"));
    let previous = events.iter().find(|event| event[4] == kind::PREVIOUS_GTIDS).unwrap();
    let body = &previous[EventHeader::LEN..previous.len() - 4];
    let mut set = GtidSet::decode(body).unwrap();
    assert_eq!(set.encode(), body);
    // The text was read after the one transaction in the file.
    for event in decode(BinlogFlavor::MySql, capture!("mysql_tagged_previous_gtids")) {
        if let EventBody::Gtid(event) = event.body {
            assert!(set.add(&event.gtid));
        }
    }
    assert_eq!(set, GtidSet::parse(text.as_bytes()).unwrap());
    assert_eq!(set.to_string(), text.trim());
}

/// Returns an event without a checksum.
fn event(kind: u8, flags: u16, body: &[u8]) -> Vec<u8> {
    let size = (EventHeader::LEN + body.len()) as u32;
    let mut event = vec![0; 4];
    event.push(kind);
    event.extend_from_slice(&1u32.to_le_bytes());
    event.extend_from_slice(&size.to_le_bytes());
    event.extend_from_slice(&0u32.to_le_bytes());
    event.extend_from_slice(&flags.to_le_bytes());
    event.extend_from_slice(body);
    event
}
