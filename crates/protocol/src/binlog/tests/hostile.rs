//! Bytes that no server would send: nothing may panic, whatever comes.

use proptest::prelude::*;

use super::*;

const CAPTURES: [(BinlogFlavor, &[u8]); 8] = [
    (BinlogFlavor::MySql, include_bytes!("../testdata/mysql_types.bin")),
    (BinlogFlavor::MySql, include_bytes!("../testdata/mysql_transactions.bin")),
    (BinlogFlavor::MySql, include_bytes!("../testdata/mysql_compressed.bin")),
    (BinlogFlavor::MySql, include_bytes!("../testdata/mysql_partial_json.bin")),
    (BinlogFlavor::MariaDb, include_bytes!("../testdata/mariadb_types.bin")),
    (BinlogFlavor::MariaDb, include_bytes!("../testdata/mariadb_transactions.bin")),
    (BinlogFlavor::MariaDb, include_bytes!("../testdata/mariadb_compressed.bin")),
    (BinlogFlavor::MariaDb, include_bytes!("../testdata/mariadb_wrapped_columns.bin")),
];

/// Returns an event of a capture without its checksum, its length put right: what is
/// broken in it then reaches the decoder proper.
fn unsummed(event: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut event = event[..event.len() - 4].to_vec();
    change(&mut event);
    let size = (event.len() as u32).to_le_bytes();
    if event.len() >= EventHeader::LEN {
        event[9..13].copy_from_slice(&size);
    }
    event
}

/// Reads everything there is to read in an event.
fn exhaust(decoder: &mut Decoder, maps: &mut Vec<TableMap>, event: &[u8]) {
    let Ok(event) = decoder.event(event) else { return };
    let _ = format!("{event:?}");
    for event in flat(&[event]) {
        match &event.body {
            EventBody::TableMap(map) => maps.push(map.clone()),
            EventBody::Rows(rows) => maps.iter().for_each(|map| exhaust_rows(map, rows)),
            _ => {}
        }
    }
}

fn exhaust_rows(map: &TableMap, rows: &RowsEvent) {
    // The map need not be the right one: that is a way to be broken as well.
    let mut map = map.clone();
    map.id = rows.table_id;
    let Ok(changes) = rows.rows(&map) else { return };
    for change in changes.flatten() {
        for image in [change.before, change.after].into_iter().flatten() {
            image.fields().for_each(exhaust_field);
        }
    }
}

fn exhaust_field(field: Result<Field<'_>, crate::Malformed>) {
    match field {
        Ok(Field::Value(Value::Decimal(decimal))) => drop(decimal.to_string()),
        Ok(Field::Value(Value::Date(date))) => drop(date.to_string()),
        Ok(Field::Value(Value::Time(time))) => drop(time.to_string()),
        Ok(Field::Value(Value::DateTime(datetime))) => drop(datetime.to_string()),
        Ok(Field::Value(Value::Timestamp(timestamp))) => drop(timestamp.to_string()),
        Ok(Field::Value(Value::Compressed(value))) => drop(value.unpack(&mut Vec::new())),
        _ => {}
    }
}

#[test]
fn events_cut_short_anywhere() {
    for (flavor, file) in CAPTURES {
        let mut maps = Vec::new();
        for event in split(file) {
            let step = (event.len() / 200).max(1);
            for len in (EventHeader::LEN..event.len() - 4).step_by(step) {
                let cut = unsummed(event, |event| event.truncate(len));
                exhaust(&mut Decoder::new(flavor), &mut Vec::new(), &cut);
                exhaust(&mut Decoder::new(flavor), &mut maps.clone(), &cut);
            }
            exhaust(&mut Decoder::new(flavor), &mut maps, &unsummed(event, |_| {}));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exhaust(&mut Decoder::new(BinlogFlavor::MySql), &mut Vec::new(), &bytes);
        let _ = GtidSet::decode(&bytes);
        let _ = GtidSet::parse(&bytes);
        let _ = Gtid::parse_mariadb(&bytes);
    }

    #[test]
    fn any_body_of_any_kind(kind: u8, mut bytes in prop::collection::vec(any::<u8>(), 23..200)) {
        bytes[4] = kind;
        for flavor in [BinlogFlavor::MySql, BinlogFlavor::MariaDb] {
            exhaust(&mut Decoder::new(flavor), &mut Vec::new(), &unsummed(&bytes, |_| {}));
        }
    }

    #[test]
    fn captures_with_some_bytes_changed(
        capture in 0..CAPTURES.len(),
        at in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (flavor, file) = CAPTURES[capture];
        let events = split(file);
        let chosen = at.index(events.len());
        let mut maps = Vec::new();
        for (i, event) in events.iter().enumerate().take(chosen + 2) {
            let changed = unsummed(event, |event| {
                for (at, byte) in changes.iter().filter(|_| i == chosen) {
                    let at = EventHeader::LEN + at.index(event.len() - EventHeader::LEN + 1);
                    if let Some(place) = event.get_mut(at) {
                        *place = *byte;
                    }
                }
            });
            exhaust(&mut Decoder::new(flavor), &mut maps, &changed);
        }
    }
}
