use super::*;
use crate::load::tests::load;
use crate::mix::{Mix, READ_WRITE};

fn forms(load: &Load, count: usize) -> Vec<Statement> {
    let mut statements = Statements::new(load, 3);
    (0..count).map(|_| statements.next()).collect()
}

fn form(statement: &Statement) -> Option<(Form, u32)> {
    match statement {
        Statement::Of { form, table, .. } => Some((*form, *table)),
        _ => None,
    }
}

#[test]
fn a_transaction_has_its_beginning_and_its_end() {
    let load = Load { mix: Mix::ReadOnly, transactions: true, ..load() };
    let statements = forms(&load, 32);
    for transaction in statements.chunks(16) {
        assert_eq!(transaction[0], Statement::Begin);
        assert_eq!(transaction[15], Statement::Commit);
        let found: Vec<_> = transaction[1..15].iter().map(|statement| form(statement).unwrap().0).collect();
        assert_eq!(found, READ_WRITE[..14]);
        assert!(transaction[1..15].iter().all(Statement::reads));
    }
}

#[test]
fn a_commit_writes_if_its_transaction_does() {
    for (mix, writes, expected) in [
        (Mix::ReadWrite, 0, vec![15, 16, 17, 18, 19]),
        (Mix::ReadOnly, 0, vec![]),
        (Mix::Points, 100, vec![1, 2]),
    ] {
        let load = Load { mix, transactions: true, writes, ..load() };
        let mut statements = Statements::new(&load, 3);
        let length = mix.cycle().len() + 2;
        for _ in 0..2 {
            let found: Vec<usize> = (0..length)
                .filter(|_| {
                    let statement = statements.next();
                    statements.writes(&statement)
                })
                .collect();
            assert_eq!(found, expected, "{mix:?}");
        }
    }
}

#[test]
fn what_is_deleted_is_inserted_again() {
    let load = Load { mix: Mix::ReadWrite, tables: 5, ..load() };
    for cycle in forms(&load, 18 * 50).chunks(18) {
        let (Statement::Of { table: from, values: deleted, .. }, Statement::Of { table, values, form }) =
            (cycle[16], cycle[17])
        else {
            panic!("{cycle:?}")
        };
        assert_eq!((form, table, values[0]), (Form::Insert, from, deleted[0]));
        let tables: Vec<_> = cycle[..10].iter().map(|statement| form_of(statement).1).collect();
        assert!(tables.iter().all(|table| *table == tables[0]), "{tables:?}");
    }
}

fn form_of(statement: &Statement) -> (Form, u32) {
    form(statement).unwrap()
}

#[test]
fn points_spread_over_the_tables_and_some_are_writes() {
    let load = Load { mix: Mix::Points, tables: 5, writes: 20, ..load() };
    let statements = forms(&load, 10_000);
    let of = |table| statements.iter().filter(|statement| form_of(statement).1 == table).count();
    assert!((1..=5).all(|table| (1_700..2_300).contains(&of(table))));
    let writes = statements.iter().filter(|statement| !statement.reads()).count();
    assert!((1_700..2_300).contains(&writes), "{writes}");
}

#[test]
fn once_is_once() {
    let load = Load { mix: Mix::Once, ..load() };
    let mut values: Vec<_> = forms(&load, 10_000).iter().map(|statement| format!("{statement:?}")).collect();
    values.sort();
    values.dedup();
    assert_eq!(values.len(), 10_000);
}
