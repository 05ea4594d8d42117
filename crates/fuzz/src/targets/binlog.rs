//! Events of the binlog, and sets of GTIDs.

use freshet_protocol::binlog::{
    BinlogFlavor, Decoder, Event, EventBody, Field, Gtid, GtidSet, RowsEvent, TableMap, Value, split_semisync,
};

use crate::target::{Finding, Outcome, Target, behaviour, hold};

/// The target.
pub static TARGET: Target = Target {
    name: "binlog",
    promise: "events are decoded or refused, the same each time, and no row comes out of nothing",
    is_text: false,
    seeds,
    check,
};

const MYSQL: [&[u8]; 6] = [
    include_bytes!("../../../protocol/src/binlog/testdata/mysql_types.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mysql_transactions.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mysql_compressed.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mysql_partial_json.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mysql_generated.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mysql_tagged_previous_gtids.bin"),
];
const MARIADB: [&[u8]; 5] = [
    include_bytes!("../../../protocol/src/binlog/testdata/mariadb_types.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mariadb_transactions.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mariadb_compressed.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mariadb_wrapped_columns.bin"),
    include_bytes!("../../../protocol/src/binlog/testdata/mariadb_old_temporal.bin"),
];
const GTIDS: [&str; 3] = [
    "7b1b8ee8-c65e-11f0-8f4d-0242ac110002:1-5:7,7b1b8ee8-c65e-11f0-8f4d-0242ac110002:tag:1-3",
    "0-1-100",
    "7B1B8EE8C65E11F08F4D0242AC110002 : 1 - 9223372036854775806,,",
];

/// Bytes of an event's header, and where its length stands in it.
const HEADER: usize = 19;
const LENGTH_AT: usize = 9;
/// A checksum's bytes; the inputs have none, or no change would reach what is behind the check.
const CHECKSUM: usize = 4;
/// The most events of one input.
const EVENTS_MAX: usize = 64;

/// The flavor, then events behind two bytes of their length.
fn seeds() -> Vec<Vec<u8>> {
    let files = MYSQL.iter().map(|file| (0, *file)).chain(MARIADB.iter().map(|file| (1, *file)));
    let mut all = Vec::new();
    for (flavor, file) in files {
        let events = split(file);
        for window in events.windows(events.len().min(5)).step_by(2) {
            let mut input = vec![flavor];
            for event in window {
                input.extend(u16::try_from(event.len()).unwrap_or(u16::MAX).to_le_bytes());
                input.extend(*event);
            }
            all.push(input);
        }
    }
    all.extend(GTIDS.iter().map(|text| [&[2], text.as_bytes()].concat()));
    all
}

/// Returns the events of a file, without their checksums.
fn split(file: &[u8]) -> Vec<&[u8]> {
    let mut rest = file.get(4..).unwrap_or_default();
    let mut events = Vec::new();
    while let Some(length) = rest.get(LENGTH_AT..LENGTH_AT + 4) {
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let (event, after) = rest.split_at(length.clamp(1, rest.len()));
        events.push(&event[..event.len().saturating_sub(CHECKSUM)]);
        rest = after;
    }
    events
}

fn check(input: &[u8]) -> Outcome {
    let Some((&flavor, rest)) = input.split_first() else { return Ok(0) };
    gtids(rest)?;
    if flavor == 2 {
        return Ok(behaviour(GtidSet::parse(rest).is_ok()));
    }
    let _ = split_semisync(rest);
    let flavor = if flavor % 2 == 0 { BinlogFlavor::MySql } else { BinlogFlavor::MariaDb };
    let mut decoder = Decoder::new(flavor);
    let (mut maps, mut told) = (Vec::new(), Vec::new());
    for event in pieces(rest) {
        let twin = decoder.clone().event(&event);
        let decoded = decoder.event(&event);
        hold!(decoded == twin, "an event is decoded the same twice", "{decoded:?}, then {twin:?}");
        match &decoded {
            Ok(decoded) => exhaust(decoded, event.len(), &mut maps, &mut told)?,
            Err(error) => told.push(behaviour(error.what)),
        }
    }
    Ok(behaviour(told))
}

/// Returns the events of an input, each with its true length in its header.
fn pieces(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<2>().filter(|_| events.len() < EVENTS_MAX) {
        let (event, after) = after.split_at(usize::from(u16::from_le_bytes(*length)).min(after.len()));
        let mut event = event.to_vec();
        if event.len() >= HEADER {
            let length = (event.len() as u32).to_le_bytes();
            event[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&length);
        }
        events.push(event);
        rest = after;
    }
    events
}

/// Reads everything there is to read in an event.
fn exhaust(event: &Event, len: usize, maps: &mut Vec<TableMap>, told: &mut Vec<u64>) -> Result<(), Finding> {
    told.push(behaviour((event.header.kind, format!("{:?}", std::mem::discriminant(&event.body)))));
    match &event.body {
        EventBody::TableMap(map) => maps.push(map.clone()),
        EventBody::Transaction(events) => {
            for inner in events.iter().take(EVENTS_MAX) {
                exhaust(inner, usize::MAX, maps, told)?;
            }
        }
        EventBody::Rows(rows) => {
            for map in maps.iter().rev().take(4) {
                // The map need not be the right one: that is a way to be broken as well.
                let mut map = map.clone();
                map.id = rows.table_id;
                told.push(exhaust_rows(&map, rows, len)?);
            }
        }
        _ => {}
    }
    Ok(())
}

fn exhaust_rows(map: &TableMap, rows: &RowsEvent, len: usize) -> Result<u64, Finding> {
    let Ok(changes) = rows.rows(map) else { return Ok(0) };
    let (mut count, mut told) = (0usize, Vec::new());
    for change in changes {
        count += 1;
        hold!(
            count <= len.saturating_mul(32).saturating_add(1),
            "no row comes out of nothing",
            "{count} rows of {len} bytes"
        );
        let Ok(change) = change else {
            told.push(1);
            break;
        };
        for image in [change.before, change.after].into_iter().flatten() {
            let fields: Vec<u64> = image.fields().map(exhaust_field).collect();
            hold!(fields.len() <= map.columns.len(), "no more fields than columns", "{}", fields.len());
            told.extend(if count == 1 { fields } else { Vec::new() });
        }
    }
    Ok(behaviour((told, count.min(4))))
}

fn exhaust_field(field: Result<Field<'_>, freshet_protocol::Malformed>) -> u64 {
    match field {
        Ok(Field::Value(Value::Compressed(value))) => u64::from(value.unpack(&mut Vec::new()).is_ok()),
        Ok(Field::Value(value)) => {
            let shown = match &value {
                Value::Decimal(decimal) => decimal.to_string(),
                Value::Date(date) => date.to_string(),
                Value::Time(time) => time.to_string(),
                Value::DateTime(moment) => moment.to_string(),
                Value::Timestamp(moment) => moment.to_string(),
                _ => String::new(),
            };
            behaviour((std::mem::discriminant(&value), shown.len()))
        }
        Ok(other) => behaviour(std::mem::discriminant(&other)),
        Err(error) => behaviour(error.what),
    }
}

/// A set that is read, written and read again is the same; joining it with itself adds nothing.
fn gtids(bytes: &[u8]) -> Result<(), Finding> {
    let _ = Gtid::parse_mariadb(bytes);
    for set in [GtidSet::parse(bytes).ok(), GtidSet::decode(bytes).ok()].into_iter().flatten() {
        let again = GtidSet::decode(&set.encode());
        hold!(again.as_ref() == Ok(&set), "a set written again is the same", "{set:?}, then {again:?}");
        let text = GtidSet::parse(set.to_string().as_bytes());
        hold!(text.as_ref().ok() == Some(&set), "a set printed again is the same", "{set:?}, then {text:?}");
        let mut joined = set.clone();
        joined.merge(&set);
        hold!(joined == set && set.is_superset(&joined), "a set is in itself", "{set:?}");
        let first = set.iter().take(3).collect::<Vec<_>>();
        hold!(first.iter().all(|gtid| set.contains(gtid)), "a set has what is in it", "{set:?}");
    }
    Ok(())
}
