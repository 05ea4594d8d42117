use freshet_sql::{Datum, OnDuplicate, TableName};

use super::*;
use crate::rows::samples::{INT, column, table_of, text};

fn key_text(chars: u64) -> KeyType {
    KeyType::Text { collation: "latin1_swedish_ci".into(), chars }
}

/// `t (a INT, b VARCHAR(20), c INT, twice INT AS …)`.
fn t() -> Arc<TableInfo> {
    let twice = ColumnInfo { generated: true, ..column("twice", INT) };
    Arc::new(table_of("t", vec![column("a", INT), column("b", text()), column("c", INT), twice]))
}

/// `u (x INT, y VARCHAR(30), z BIGINT UNSIGNED, w TINYINT, n INT NOT NULL)`.
fn u() -> Arc<TableInfo> {
    let integer = |unsigned, bytes| KeyType::Integer { unsigned, bytes };
    let columns = vec![
        column("x", INT),
        column("y", key_text(30)),
        column("z", integer(true, 8)),
        column("w", integer(false, 1)),
        ColumnInfo { nullable: false, ..column("n", INT) },
    ];
    Arc::new(table_of("u", columns))
}

fn five() -> Condition {
    Condition::OneOf(vec![Datum::Int(5)])
}

fn pin(name: &str, via: &[(usize, &str)]) -> Pin {
    let via = via.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
    Pin { column: name.to_owned(), condition: five(), via }
}

fn update(column: &str, pins: Vec<Pin>) -> RowWrite {
    RowWrite::Update { table: TableName::bare("t"), assigned: vec![(column.to_owned(), Datum::Int(1))], pins }
}

/// Returns the columns that are still pinned, of writes to tables by their places.
fn pinned(tables: &[Arc<TableInfo>], writes: Vec<(usize, RowWrite)>) -> Vec<Vec<String>> {
    let names = tables.iter().map(|table| TableName::bare(table.name.1.clone())).collect();
    let settled = settled(RowWrites { tables: names, writes }, tables).unwrap();
    let pins = settled.into_iter().map(|(_, write)| match write {
        RowWrite::Update { pins, .. } | RowWrite::Delete { pins, .. } => pins,
        other => panic!("{other:?}"),
    });
    let columns = pins.map(|pins| {
        assert!(pins.iter().all(|pin| pin.via.is_empty()));
        pins.into_iter().map(|pin| pin.column).collect()
    });
    columns.collect()
}

#[test]
fn equality_carries_a_value_between_columns_that_compare_alike() {
    let tables = [t(), u()];
    let of = |pins| pinned(&tables, vec![(0, update("b", pins))]).remove(0);
    assert_eq!(of(vec![pin("a", &[]), pin("c", &[(1, "x")])]), ["a", "c"]);
    assert!(of(vec![pin("a", &[(1, "y")]), pin("a", &[(1, "z")]), pin("a", &[(1, "gone")])]).is_empty());
    assert!(
        of(vec![pin("a", &[(1, "x"), (1, "z")]), pin("a", &[(7, "x")]), pin("gone", &[(1, "x")])]).is_empty()
    );
}

#[test]
fn what_the_statement_changes_carries_nothing() {
    let tables = [t(), u()];
    let of = |assigned: &str, via| {
        let own = update("b", vec![pin("a", &[(1, via)])]);
        let other = RowWrite::Update {
            table: TableName::bare("u"),
            assigned: vec![(assigned.to_owned(), Datum::Int(1))],
            pins: Vec::new(),
        };
        pinned(&tables, vec![(0, own), (1, other)]).remove(0)
    };
    assert_eq!(of("w", "x"), ["a"]);
    assert!(of("x", "x").is_empty());
    // A row is looked at before it is changed itself, unless its table is named once more.
    assert_eq!(pinned(&tables, vec![(0, update("a", vec![pin("a", &[])]))]), [["a"]]);
    let twice = [t(), t()];
    assert_eq!(pinned(&twice, vec![(0, update("a", vec![pin("a", &[]), pin("c", &[])]))]), [["c"]]);
    let computed = vec![pin("c", &[(1, "twice")]), pin("twice", &[])];
    assert!(pinned(&twice, vec![(0, update("b", computed))]).remove(0).is_empty());
    let deleted = RowWrite::Delete { table: TableName::bare("t"), pins: vec![pin("a", &[(1, "c")])] };
    assert_eq!(pinned(&twice, vec![(0, deleted)]), [["a"]]);
}

/// Whether what is taken from a column of `u` is known in a column of `t`.
fn is_known(to: &str, from: &str, condition: Condition) -> bool {
    let pins = vec![Pin { condition, ..pin(from, &[]) }];
    let write = RowWrite::Fill {
        table: TableName::bare("t"),
        columns: Some(vec![to.to_owned()]),
        given: vec![Given::Taken { from: 1, column: from.to_owned(), pins }],
        on_duplicate: OnDuplicate::Refused,
    };
    let names = vec![TableName::bare("t"), TableName::bare("u")];
    let settled = settled(RowWrites { tables: names, writes: vec![(0, write)] }, &[t(), u()]).unwrap();
    matches!(&settled[0].1, RowWrite::Fill { given, .. } if matches!(&given[..], [Given::Taken { pins, .. }] if !pins.is_empty()))
}

#[test]
fn what_is_taken_over_is_known_where_it_is_stored_as_it_is() {
    assert!(is_known("a", "x", five()) && is_known("a", "w", five()));
    // It may be cut, or clipped, or read in another way.
    for (to, from) in [("a", "z"), ("a", "y"), ("b", "y"), ("b", "x"), ("gone", "x"), ("a", "gone")] {
        assert!(!is_known(to, from, five()), "{to} from {from}");
    }
    assert!(is_known("a", "x", Condition::IsNull));
    assert!(!is_known("a", "n", Condition::IsNull), "IS NULL may find what is not NULL");
}

#[test]
fn what_is_no_table_that_is_known_is_not_settled() {
    let view = TableInfo { kind: TableKind::Unseen, ..(*t()).clone() };
    let bare = TableInfo { columns: Arc::new([]), ..(*t()).clone() };
    for table in [view, bare] {
        let writes = RowWrites { tables: vec![TableName::bare("t")], writes: vec![(0, update("a", vec![]))] };
        assert_eq!(settled(writes, &[Arc::new(table)]), None);
    }
    let outside = RowWrites { tables: Vec::new(), writes: vec![(0, update("a", vec![]))] };
    assert_eq!(settled(outside, &[]), None);
}

#[test]
fn a_union_keeps_what_all_branches_give_alike() {
    let tables = [t(), u()];
    let kept = |branches: &[Given]| {
        let fill = |given: &Given| {
            let (table, given) = (TableName::bare("t"), vec![given.clone()]);
            let columns = Some(vec!["a".to_owned()]);
            (0, RowWrite::Fill { table, columns, given, on_duplicate: OnDuplicate::Refused })
        };
        let names = tables.iter().map(|table| TableName::bare(table.name.1.clone())).collect();
        let writes = branches.iter().map(fill).collect();
        let settled = settled(RowWrites { tables: names, writes }, &tables).unwrap();
        let is_kept = |(_, write): &(_, RowWrite)| match write {
            RowWrite::Fill { given, .. } => given[0] != Given::Other,
            _ => false,
        };
        settled.iter().all(is_kept)
    };
    let taken = |from, column: &str| Given::Taken { from, column: column.to_owned(), pins: Vec::new() };
    let [one, null, text] = [Datum::Int(1), Datum::Null, Datum::Text(b"x".to_vec())].map(Given::Value);
    let decimal = Given::Value(Datum::Decimal("1.5".to_owned()));
    assert!(kept(&[one.clone(), null.clone(), taken(1, "x"), taken(0, "c")]));
    assert!(kept(&[text.clone(), null.clone(), text.clone()]));
    assert!(kept(std::slice::from_ref(&decimal)));
    for mixed in [text, decimal, taken(1, "y"), Given::Other] {
        assert!(!kept(&[one.clone(), mixed.clone()]) && !kept(&[null.clone(), mixed, one.clone()]));
    }
}
