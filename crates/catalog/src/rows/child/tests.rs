use freshet_sql::{Condition, Datum, OnDuplicate, Pin, RowWrite, TableName};

use super::*;
use crate::Acts;
use crate::rows::samples::{INT, column, table_of, text};

/// `p (id INT, name VARCHAR, v INT)`, where `id` is the only unique column.
fn parent() -> TableInfo {
    let id = ColumnInfo { only_unique: true, nullable: false, ..column("id", INT) };
    table_of("p", vec![id, column("name", text()), column("v", INT)])
}

/// `c (id INT, pid INT, name VARCHAR, big BIGINT UNSIGNED)`.
fn child() -> TableInfo {
    let big = KeyType::Integer { unsigned: true, bytes: 8 };
    let columns = vec![column("id", INT), column("pid", INT), column("name", text()), column("big", big)];
    table_of("c", columns)
}

use crate::rows::KeyType;

fn key(on_delete: OnDelete, columns: &[(&str, &str)]) -> ForeignKey {
    ForeignKey {
        parent: ("s".into(), "p".into()),
        child: ("s".into(), "c".into()),
        acts: Acts { on_delete, on_update: OnUpdate::Nothing },
        columns: columns.iter().map(|(own, to)| ((*own).to_owned(), (*to).to_owned())).collect(),
    }
}

fn pin(name: &str, condition: Condition) -> Pin {
    Pin { column: name.to_owned(), condition, via: Vec::new() }
}

fn one(value: i128) -> Condition {
    Condition::OneOf(vec![Datum::Int(value)])
}

fn c() -> TableName {
    TableName::of("s", "c")
}

fn deleted(pins: Vec<Pin>) -> Acted {
    Acted::Like(RowWrite::Delete { table: c(), pins })
}

fn of(key: &ForeignKey, write: &RowWrite) -> Acted {
    acted(key, &parent(), &child(), write, Values { parameters: &[Datum::Int(7)], ..Values::default() })
}

fn delete(pins: Vec<Pin>) -> RowWrite {
    RowWrite::Delete { table: TableName::bare("p"), pins }
}

fn replace(columns: Option<&[&str]>, rows: &[&[Datum]]) -> RowWrite {
    RowWrite::Upsert {
        table: TableName::bare("p"),
        columns: columns.map(|columns| columns.iter().map(|name| (*name).to_owned()).collect()),
        rows: rows.iter().map(|row| row.to_vec()).collect(),
        assigned: None,
    }
}

#[test]
fn children_go_by_the_columns_that_they_refer_by() {
    let cascade = key(OnDelete::Deletes, &[("pid", "id")]);
    assert_eq!(
        of(&cascade, &delete(vec![pin("id", one(5)), pin("v", one(6))])),
        deleted(vec![pin("pid", one(5))])
    );
    assert_eq!(of(&cascade, &delete(vec![pin("v", one(6))])), deleted(Vec::new()));
    let both = key(OnDelete::Deletes, &[("pid", "id"), ("name", "name")]);
    let prefix = pin("name", Condition::Like(Datum::Text(b"a".to_vec())));
    assert_eq!(of(&both, &delete(vec![pin("id", one(5)), prefix])), deleted(vec![pin("pid", one(5))]));
    let null = key(OnDelete::SetsNull, &[("pid", "id")]);
    let assigned = vec![("pid".to_owned(), Datum::Null)];
    let like = RowWrite::Update { table: c(), assigned, pins: vec![pin("pid", one(5))] };
    assert_eq!(of(&null, &delete(vec![pin("id", one(5))])), Acted::Like(like));
}

#[test]
fn what_is_not_understood_of_a_key_may_be_anything() {
    let write = delete(vec![pin("id", one(5))]);
    assert_eq!(of(&key(OnDelete::Nothing, &[("pid", "id")]), &write), Acted::Nothing);
    assert_eq!(of(&key(OnDelete::Anything, &[("pid", "id")]), &write), Acted::Anything);
    assert_eq!(of(&key(OnDelete::Deletes, &[]), &write), Acted::Anything);
    // Another type, or a column that is not known.
    assert_eq!(of(&key(OnDelete::Deletes, &[("big", "id")]), &write), deleted(Vec::new()));
    assert_eq!(of(&key(OnDelete::Deletes, &[("gone", "id")]), &write), deleted(Vec::new()));
    let via = Pin { via: vec![(0, "name".to_owned())], ..pin("id", one(5)) };
    assert_eq!(of(&key(OnDelete::Deletes, &[("pid", "id")]), &delete(vec![via])), deleted(Vec::new()));
}

#[test]
fn a_row_that_is_replaced_is_found_by_its_primary_key() {
    let cascade = key(OnDelete::Deletes, &[("pid", "id")]);
    let row = |id: Datum| vec![id, Datum::Other, Datum::Int(1)];
    let two = Condition::OneOf(vec![Datum::Int(5), Datum::Int(7)]);
    let written = replace(None, &[&row(Datum::Int(5)), &row(Datum::Param(0))]);
    assert_eq!(of(&cascade, &written), deleted(vec![pin("pid", two)]));
    assert_eq!(of(&cascade, &replace(None, &[&row(Datum::Other)])), deleted(Vec::new()));
    assert_eq!(of(&cascade, &replace(None, &[&[Datum::Int(5)]])), deleted(Vec::new()));
    assert_eq!(of(&cascade, &replace(Some(&["v"]), &[&[Datum::Int(5)]])), deleted(Vec::new()));
    // A text that the column does not take as it is.
    assert_eq!(of(&cascade, &replace(Some(&["id"]), &[&[Datum::Text(b"5x".to_vec())]])), deleted(Vec::new()));
    let fill = |given| RowWrite::Fill {
        table: TableName::bare("p"),
        columns: Some(vec!["id".to_owned()]),
        given: vec![given],
        on_duplicate: OnDuplicate::Replaced,
    };
    let taken = Given::Taken { from: 1, column: "x".to_owned(), pins: vec![pin("x", one(5))] };
    assert_eq!(of(&cascade, &fill(taken)), deleted(vec![pin("pid", one(5))]));
    assert_eq!(of(&cascade, &fill(Given::Other)), deleted(Vec::new()));
    // It may be updated in its place, in what another key refers to.
    let by_name = ForeignKey {
        acts: Acts { on_delete: OnDelete::Deletes, on_update: OnUpdate::Cascades },
        ..key(OnDelete::Deletes, &[("name", "name")])
    };
    assert_eq!(of(&by_name, &written), Acted::Anything);
}

#[test]
fn updates_act_by_the_columns_that_they_change() {
    let by_id = ForeignKey {
        acts: Acts { on_delete: OnDelete::Deletes, on_update: OnUpdate::Cascades },
        ..key(OnDelete::Deletes, &[("pid", "id")])
    };
    let update = |column: &str, value: Datum, pins: Vec<Pin>| RowWrite::Update {
        table: TableName::bare("p"),
        assigned: vec![(column.to_owned(), value)],
        pins,
    };
    let child = |value: Datum, pins: Vec<Pin>| {
        Acted::Like(RowWrite::Update { table: c(), assigned: vec![("pid".to_owned(), value)], pins })
    };
    let five = || vec![pin("pid", one(5))];
    assert_eq!(of(&by_id, &update("v", Datum::Int(1), Vec::new())), Acted::Nothing);
    assert_eq!(
        of(&by_id, &update("id", Datum::Int(1), vec![pin("id", one(5))])),
        child(Datum::Int(1), five())
    );
    assert_eq!(of(&by_id, &update("id", Datum::Param(0), Vec::new())), child(Datum::Param(0), Vec::new()));
    // What the column does not take as it is.
    assert_eq!(of(&by_id, &update("id", Datum::Other, Vec::new())), child(Datum::Other, Vec::new()));
    assert_eq!(of(&by_id, &update("id", Datum::Null, Vec::new())), child(Datum::Other, Vec::new()));
    let only_deletes = key(OnDelete::Deletes, &[("pid", "id")]);
    assert_eq!(of(&only_deletes, &update("id", Datum::Int(1), Vec::new())), Acted::Nothing);
    let on_update =
        |on_update| ForeignKey { acts: Acts { on_update, ..by_id.acts.clone() }, ..by_id.clone() };
    let write = update("id", Datum::Int(1), vec![pin("id", one(5))]);
    assert_eq!(of(&on_update(OnUpdate::SetsNull), &write), child(Datum::Null, five()));
    assert_eq!(of(&on_update(OnUpdate::Anything), &write), Acted::Anything);
    assert_eq!(of(&ForeignKey { columns: Vec::new(), ..by_id.clone() }, &write), Acted::Anything);
}

#[test]
fn a_column_beside_the_updated_one_keeps_what_it_is_known_to_have() {
    let acts = Acts { on_delete: OnDelete::Deletes, on_update: OnUpdate::Cascades };
    let both = ForeignKey { acts, ..key(OnDelete::Deletes, &[("pid", "id"), ("name", "name")]) };
    let name = |values: &[&str]| {
        let text = |value: &&str| Datum::Text(value.as_bytes().to_vec());
        pin("name", Condition::OneOf(values.iter().map(text).collect()))
    };
    let update = |pins| RowWrite::Update {
        table: TableName::bare("p"),
        assigned: vec![("id".to_owned(), Datum::Int(1))],
        pins,
    };
    let assigned = |write: &RowWrite| match of(&both, write) {
        Acted::Like(RowWrite::Update { assigned, .. }) => {
            assigned.into_iter().map(|(_, datum)| datum).collect()
        }
        _ => Vec::new(),
    };
    assert_eq!(assigned(&update(vec![name(&["a"])])), [Datum::Int(1), Datum::Text(b"a".to_vec())]);
    assert_eq!(assigned(&update(vec![name(&["a", "b"])])), [Datum::Int(1), Datum::Other]);
    assert_eq!(assigned(&update(Vec::new())), [Datum::Int(1), Datum::Other]);
}

#[test]
fn a_row_that_is_updated_in_the_way_of_another_is_found_by_its_primary_key() {
    let acts = Acts { on_delete: OnDelete::Nothing, on_update: OnUpdate::SetsNull };
    let by_name = ForeignKey { acts, ..key(OnDelete::Nothing, &[("pid", "id"), ("name", "name")]) };
    let upsert = |column: &str| RowWrite::Upsert {
        table: TableName::bare("p"),
        columns: Some(vec!["id".to_owned()]),
        rows: vec![vec![Datum::Int(5)]],
        assigned: Some(vec![(column.to_owned(), Datum::Other)]),
    };
    let assigned = vec![("pid".to_owned(), Datum::Null), ("name".to_owned(), Datum::Null)];
    let like = RowWrite::Update { table: c(), assigned, pins: vec![pin("pid", one(5))] };
    assert_eq!(of(&by_name, &upsert("name")), Acted::Like(like));
    assert_eq!(of(&by_name, &upsert("v")), Acted::Nothing);
}
