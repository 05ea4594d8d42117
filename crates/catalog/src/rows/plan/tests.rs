use freshet_sql::{Occurrence, TableName};

use super::*;
use crate::rows::KeyType;
use crate::rows::samples::{INT, column, spec, table, table_of, text};

fn pin(name: &str, condition: Condition) -> Pin {
    Pin { column: name.to_owned(), condition, via: Vec::new() }
}

fn one_of(count: i128) -> Condition {
    Condition::OneOf((0..count).map(Datum::Int).collect())
}

fn between() -> Condition {
    Condition::Between { low: Some((Datum::Int(1), true)), high: None }
}

fn text_datum() -> Datum {
    Datum::Text(b"ab".to_vec())
}

fn named_columns(names: &[&str]) -> ColumnsRead {
    ColumnsRead::Named(names.iter().map(|name| (*name).to_owned()).collect())
}

fn planned(table: TableInfo, pins: Vec<Pin>, columns: ColumnsRead) -> Option<Reading> {
    let occurrences = vec![Occurrence::of(TableName::bare("t"), pins)];
    plan(&RowReads { occurrences, columns, shows_rows: false }, &[Arc::new(table)], Zone::Other)
        .remove(0)
        .pop()
}

#[test]
fn equal_columns_then_a_range() {
    let pins = vec![pin("c", between()), pin("b", Condition::OneOf(vec![text_datum()])), pin("a", one_of(1))];
    let reading = planned(table(), pins, ColumnsRead::All).unwrap();
    assert_eq!(reading.spec, spec(&[0, 1], Some(2), None));
    assert_eq!(reading.conditions, [one_of(1), Condition::OneOf(vec![text_datum()]), between()]);
    let reading = planned(table(), vec![pin("b", Condition::Like(text_datum()))], ColumnsRead::All).unwrap();
    assert_eq!(reading.spec, spec(&[], Some(1), None));
}

#[test]
fn the_primary_key_is_enough() {
    let mut columns = table().columns.to_vec();
    columns[0].unique = true;
    let of = |pins| planned(table_of("t", columns.clone()), pins, ColumnsRead::All).unwrap();
    let reading =
        of(vec![pin("c", one_of(1)), pin("a", one_of(3)), pin("a", one_of(2)), pin("b", Condition::IsNull)]);
    assert_eq!((reading.spec, reading.conditions), (spec(&[0], None, None), vec![one_of(2)]));
    let reading = of(vec![pin("c", one_of(1)), pin("a", between())]);
    assert_eq!(reading.spec, spec(&[2], Some(0), None), "a range of it may hold any number of rows");
}

#[test]
fn columns_read() {
    let read =
        |names: &[&str]| planned(table(), Vec::new(), named_columns(names)).map(|reading| reading.spec.read);
    assert_eq!(read(&["a", "t", "x"]), Some(Some(vec![0])));
    assert_eq!(read(&[]), Some(Some(vec![])));
    // All of them without a condition is the whole table.
    assert_eq!(read(&["a", "b", "c"]), None);
    assert_eq!(read(&["_rowid"]), None);
    let mut columns = table().columns.to_vec();
    columns[0].generated = true;
    assert_eq!(planned(table_of("t", columns), Vec::new(), named_columns(&["a"])), None);
    assert_eq!(planned(table_of("t", Vec::new()), vec![pin("a", one_of(1))], ColumnsRead::All), None);
}

#[test]
fn conditions_that_cannot_be_keyed_are_left_out() {
    for (name, condition) in [
        ("d", one_of(1)),
        ("e", one_of(1)),
        ("b", between()),
        ("a", Condition::Like(text_datum())),
        ("a", Condition::OneOf(vec![Datum::Other])),
        ("a", one_of(257)),
        ("b", Condition::Like(Datum::Text(b"%ab".to_vec()))),
        ("n", Condition::IsNull),
    ] {
        let mut columns = table().columns.to_vec();
        columns.extend([column("d", KeyType::None), column("n", INT)]);
        columns[4].nullable = false;
        let reading = planned(table_of("t", columns), vec![pin(name, condition)], ColumnsRead::All);
        assert_eq!(reading, None, "{name}");
    }
}

#[test]
fn combinations_are_bounded() {
    let pins = vec![pin("a", one_of(200)), pin("c", one_of(2)), pin("c", one_of(9))];
    let reading = planned(table(), pins, ColumnsRead::All).unwrap();
    assert_eq!((reading.spec.equal, reading.conditions), (vec![2], vec![one_of(2)]));
    // A range beside many values would be too many slots.
    let reading = planned(table(), vec![pin("a", one_of(3)), pin("c", between())], ColumnsRead::All).unwrap();
    assert_eq!(reading.spec, spec(&[0], None, None));
}

#[test]
fn equality_carries_a_value_between_columns_that_compare_alike() {
    let other = Arc::new(table_of("u", vec![column("x", INT), column("y", text())]));
    let via = |name: &str| Pin { via: vec![(1, name.to_owned())], ..pin("a", one_of(1)) };
    for (name, holds) in [("x", true), ("y", false), ("z", false)] {
        let occurrence = |table, pins| Occurrence::of(TableName::bare(table), pins);
        let occurrences = vec![occurrence("t", vec![via(name)]), occurrence("u", Vec::new())];
        let reads = RowReads { occurrences, columns: ColumnsRead::All, shows_rows: false };
        let readings = plan(&reads, &[Arc::new(table()), Arc::clone(&other)], Zone::Other);
        assert_eq!(!readings[0].is_empty(), holds, "{name}");
        assert_eq!(readings[1], Vec::new());
    }
}

#[test]
fn what_cannot_be_told_takes_no_part() {
    let mut columns = table().columns.to_vec();
    columns.push(column("ts", KeyType::Timestamp { decimals: 0 }));
    let of = |condition, zone| {
        let pins = vec![pin("c", one_of(1)), pin("ts", condition)];
        let occurrences = vec![Occurrence::of(TableName::bare("t"), pins)];
        let reads = RowReads { occurrences, columns: ColumnsRead::All, shows_rows: false };
        plan(&reads, &[Arc::new(table_of("t", columns.clone()))], zone).remove(0).pop().unwrap().spec
    };
    let moment = || Condition::OneOf(vec![Datum::Text(b"2024-02-29 10:00:00".to_vec())]);
    assert_eq!(of(moment(), Zone::UTC), spec(&[2, 3], None, None));
    assert_eq!(of(moment(), Zone::Other), spec(&[2], None, None));
    assert_eq!(of(Condition::OneOf(vec![Datum::Param(0)]), Zone::Other), spec(&[2], None, None));
    assert_eq!(of(Condition::OneOf(vec![Datum::Param(0)]), Zone::UTC), spec(&[2, 3], None, None));
    assert_eq!(of(Condition::OneOf(vec![text_datum()]), Zone::UTC), spec(&[2], None, None));
    assert_eq!(of(Condition::IsNull, Zone::Other), spec(&[2, 3], None, None));
}
