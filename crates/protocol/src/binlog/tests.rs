//! What the two servers wrote, and what arbitrary bytes do.

mod hostile;
mod transactions;
mod types;

use super::*;

/// Returns the events of a captured file, without decoding.
fn split(file: &[u8]) -> Vec<&[u8]> {
    const MAGIC: usize = 4;
    let mut rest = &file[MAGIC..];
    let mut events = Vec::new();
    while !rest.is_empty() {
        let size = EventHeader::parse(rest).unwrap().size as usize;
        let (event, after) = rest.split_at(size);
        events.push(event);
        rest = after;
    }
    events
}

/// Returns the events of a captured file.
fn decode(flavor: BinlogFlavor, file: &[u8]) -> Vec<Event> {
    let mut decoder = Decoder::new(flavor);
    let events = split(file);
    events.into_iter().map(|event| decoder.event(event).unwrap()).collect()
}

/// Returns all rows events, each with its table, those in compressed transactions too.
fn rows(events: &[Event]) -> Vec<(TableMap, RowsEvent)> {
    let mut found = Vec::new();
    let mut maps = Vec::new();
    for event in flat(events) {
        match &event.body {
            EventBody::TableMap(map) => maps.push(map.clone()),
            EventBody::Rows(rows) => {
                let map = maps.iter().rev().find(|map| map.id == rows.table_id);
                found.push((map.unwrap().clone(), rows.clone()));
            }
            _ => {}
        }
    }
    found
}

fn flat(events: &[Event]) -> Vec<&Event> {
    let mut all = Vec::new();
    for event in events {
        all.push(event);
        if let EventBody::Transaction(inner) = &event.body {
            all.extend(inner);
        }
    }
    all
}

/// Returns a row as short text: `-` absent, `NULL`, `{json}`, `{diff}`, else the value.
fn show(image: Option<RowImage<'_>>) -> String {
    let Some(image) = image else {
        return "none".to_owned();
    };
    let fields: Vec<_> = image.fields().map(|field| show_field(field.unwrap())).collect();
    fields.join(",")
}

fn show_field(field: Field<'_>) -> String {
    match field {
        Field::Absent => "-".to_owned(),
        Field::Null => "NULL".to_owned(),
        Field::Value(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Field::Value(Value::Int(number)) => number.to_string(),
        Field::Value(Value::UInt(number)) => format!("{number}u"),
        Field::Value(Value::Json(_)) => "{json}".to_owned(),
        Field::Value(Value::JsonPartial(_)) => "{diff}".to_owned(),
        Field::Value(other) => format!("{other:?}"),
    }
}

/// Returns all changes of a capture, one line each.
fn changes(events: &[Event]) -> Vec<String> {
    let mut lines = Vec::new();
    for (map, rows) in rows(events) {
        let table = String::from_utf8_lossy(&map.table).into_owned();
        for change in rows.rows(&map).unwrap() {
            let change = change.unwrap();
            lines.push(format!("{table}: {} -> {}", show(change.before), show(change.after)));
        }
    }
    lines
}
