use super::*;
use crate::compile::{Asker, Compiled};
use crate::tests::{COMPUTING, plan};

fn compiled(text: &str) -> Compiled {
    let input = |input: &freshet_sql::Input| Some(("s".to_owned(), input.table.clone()?.name));
    MaintainedQuery::compile(&plan(text), &Asker { name_of: &input, computing: COMPUTING, values: &[] })
        .expect("it is maintained")
}

/// Returns a table with the columns of a query, which are a key and a number, of rows in which both are the same, from 1 to 100.
fn engine(query: &MaintainedQuery) -> (Engine, TableName) {
    let mut engine = Engine::default();
    let (name, columns) = query.tables().swap_remove(0);
    engine.begin_table(name.clone(), columns.into_owned(), vec![0]);
    (1..=100).for_each(|number| engine.change(name, None, Some(&row(number))).expect("it is new"));
    (engine, name.clone())
}

fn row(number: Number) -> [Given; 2] {
    [Some(number).into(), Some(number).into()]
}

fn shown(engine: &mut Engine, (number, key): (QueryNumber, &[Number])) -> usize {
    engine.show(number, key).expect("it is installed").ends.len()
}

#[test]
fn the_rows_of_a_range_are_found_in_order_and_no_others_concern_it() {
    for (text, range) in [
        ("SELECT id, b FROM t WHERE b BETWEEN 10 AND 12", 10..=12),
        ("SELECT id, b FROM t WHERE b > 9 AND 13 > b", 10..=12),
        ("SELECT id, b FROM t WHERE b >= 10 AND b <= 20 AND 12 >= b", 10..=12),
        ("SELECT id, b FROM t WHERE b > 97", 98..=Number::MAX),
        ("SELECT id, b FROM t WHERE b < 4", Number::MIN..=3),
    ] {
        let Compiled { query, key, .. } = compiled(text);
        let (mut engine, name) = engine(&query);
        let number = engine.install(query).expect("its table is there");
        assert_eq!(shown(&mut engine, (number, &key)), 3, "{text}");
        let table = &engine.tables[&name];
        let reader = &engine.by_table[&name][0];
        let within = reader.within.as_ref().expect("it reads a range");
        assert_eq!(within.range, range, "{text}");
        assert_eq!(table.between(within.column, range.clone()).count(), 3, "{text}");
        let numbers = table.slots().filter(|slot| reader.reads(table, BoundRow::Slot(*slot))).count();
        assert_eq!(numbers, 3, "{text}");
        assert!(!reader.reads(table, BoundRow::Row(&[None, None])), "NULL is in no range");
        // One more, and one less.
        let inside = *range.start().max(&1);
        engine.change(&name, Some(&row(inside)), None).expect("it is there");
        assert_eq!(shown(&mut engine, (number, &key)), 2, "{text}");
        engine.change(&name, Some(&row(50)), Some(&row(inside))).expect("it is there");
        assert_eq!(shown(&mut engine, (number, &key)), 3, "{text}");
    }
}

#[test]
fn a_range_beside_a_value_or_of_what_may_be_missing_is_none() {
    for text in [
        "SELECT t.id, y.b FROM t LEFT JOIN t AS y ON y.id = t.id AND y.b > 5",
        "SELECT t.id, y.b FROM t JOIN t AS y ON y.id = t.id WHERE t.b > 5",
        "SELECT id, b FROM t WHERE b > 5 OR id < 3",
    ] {
        let Compiled { query, .. } = compiled(text);
        let (mut engine, name) = engine(&query);
        engine.install(query).expect("its table is there");
        assert!(engine.by_table[&name][0].within.is_none(), "{text}: any row may concern it");
    }
}

#[test]
fn a_column_that_was_hashed_is_put_in_order_and_serves_both() {
    let (by_value, by_range) =
        (compiled("SELECT id, b FROM t WHERE b = 7"), compiled("SELECT id, b FROM t WHERE b < 3"));
    let b = by_value.query.tables()[0].1.iter().position(|spec| spec.name == "b").expect("it is read");
    let (mut engine, name) = engine(&by_value.query);
    let first = engine.install(by_value.query).expect("its table is there");
    assert!(!engine.tables[&name].is_in_order(b));
    let second = engine.install(by_range.query).expect("its table is there");
    assert!(engine.tables[&name].is_in_order(b));
    assert_eq!(shown(&mut engine, (first, &by_value.key)), 1);
    assert_eq!(shown(&mut engine, (second, &by_range.key)), 2);
}
