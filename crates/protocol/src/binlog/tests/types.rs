//! Every column type, against what the server's SELECT printed.

use super::*;

/// Returns what the SELECT that made the expectation prints for a value: strings of
/// all kinds in hexadecimal, the rest as the server shows it.
fn as_selected(column: &TableColumn, field: Field<'_>) -> String {
    let Field::Value(value) = field else {
        assert_eq!(field, Field::Null);
        return "NULL".to_owned();
    };
    match value {
        Value::Int(n) => n.to_string(),
        Value::UInt(n) | Value::Set(n) | Value::Bit(n) => n.to_string(),
        Value::Enum(n) => n.to_string(),
        Value::Year(n) => format!("{n:04}"),
        Value::Decimal(decimal) => decimal.to_string(),
        Value::Date(date) => date.to_string(),
        Value::Time(time) => time.to_string(),
        Value::DateTime(datetime) => datetime.to_string(),
        Value::Timestamp(timestamp) => at_utc(timestamp),
        Value::Float(n) => format!("f{}", f64::from(n)),
        Value::Double(n) => format!("f{n}"),
        Value::Bytes(bytes) => hex(&padded(column, bytes)),
        Value::Geometry(bytes) => hex(bytes),
        Value::Compressed(compressed) => {
            let mut bytes = Vec::new();
            compressed.unpack(&mut bytes).unwrap();
            hex(&bytes)
        }
        Value::Json(_) => "json".to_owned(),
        Value::JsonPartial(_) => panic!("no partial updates in this capture"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// BINARY and MariaDB's fixed types, with the padding that is not logged.
fn padded(column: &TableColumn, bytes: &[u8]) -> Vec<u8> {
    const BINARY: u16 = 63;
    let mut bytes = bytes.to_vec();
    if column.kind == kind::column::STRING && column.collation == Some(BINARY) {
        bytes.resize(usize::from(column.meta), 0);
    }
    bytes
}

/// Returns a timestamp as a session in UTC sees it.
fn at_utc(timestamp: Timestamp) -> String {
    let date = if timestamp.seconds == 0 {
        DateTime {
            date: Date { year: 0, month: 0, day: 0 },
            hour: 0,
            minute: 0,
            second: 0,
            micros: timestamp.micros,
            decimals: timestamp.decimals,
        }
    } else {
        let (days, seconds) = (timestamp.seconds / 86_400, timestamp.seconds % 86_400);
        DateTime {
            date: civil(days),
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: timestamp.micros,
            decimals: timestamp.decimals,
        }
    };
    date.to_string()
}

/// Counts days from 1970 the slow way, so that it can be seen to be right.
fn civil(mut days: i64) -> Date {
    let (mut year, mut month) = (1970, 1);
    loop {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let len = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if days < len {
            return Date { year, month, day: days as u8 + 1 };
        }
        days -= len;
        month += 1;
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
}

/// Floats are printed with different numbers of digits; all else is exact.
fn same(ours: &str, theirs: &str) -> bool {
    match ours.strip_prefix('f') {
        Some(number) => {
            let (ours, theirs): (f64, f64) = (number.parse().unwrap(), theirs.parse().unwrap());
            (ours - theirs).abs() <= ours.abs() * 1e-14
        }
        None => ours == theirs,
    }
}

fn check(flavor: BinlogFlavor, file: &[u8], selected: &str, columns: usize) {
    let events = decode(flavor, file);
    let rows = rows(&events);
    let inserts = rows.iter().filter(|(_, rows)| rows.kind == RowsKind::Insert);
    let mut lines = selected.lines();
    let mut seen = 0;
    for (map, rows) in inserts {
        assert_eq!(map.columns.len(), columns);
        for change in rows.rows(map).unwrap() {
            let image = change.unwrap().after.unwrap();
            let line: Vec<_> = lines.next().unwrap().split('\t').collect();
            for (i, field) in image.fields().enumerate() {
                let column = &map.columns[i];
                let name = String::from_utf8_lossy(column.name.as_deref().unwrap()).into_owned();
                let ours = as_selected(column, field.unwrap());
                assert!(same(&ours, line[i]), "{name}: {ours} is not {}", line[i]);
                assert_eq!(image.field(i).unwrap(), image.fields().nth(i).unwrap().unwrap());
            }
            seen += 1;
        }
    }
    assert_eq!((seen, lines.next()), (4, None));
}

#[test]
fn mysql_values_are_what_the_server_selects() {
    let file = include_bytes!("../testdata/mysql_types.bin");
    check(BinlogFlavor::MySql, file, include_str!("../testdata/mysql_types.tsv"), 57);
}

#[test]
fn mariadb_values_are_what_the_server_selects() {
    let file = include_bytes!("../testdata/mariadb_types.bin");
    check(BinlogFlavor::MariaDb, file, include_str!("../testdata/mariadb_types.tsv"), 62);
}
