//! Integers in the smallest type that has room for them, as some drivers send them.

use freshet_tests::cached::{Counted, caught_up, run};
use freshet_tests::with_each;

use super::{Client, Value, big, int, stage, unsigned};

const SCHEMA: &str = "prep_integers";

fn tiny(value: i8) -> Value {
    Value(1, Some(value.to_le_bytes().to_vec()))
}

fn short(value: i16) -> Value {
    Value(2, Some(value.to_le_bytes().to_vec()))
}

#[test]
fn integers_of_any_length_have_hits_beside_a_column() {
    with_each(|server, freshet| {
        let mut direct = stage((server, freshet), SCHEMA);
        run(&mut direct, &["INSERT INTO t (id, v) VALUES (300, 5), (70000, 300)"]);
        caught_up(freshet);
        let mut counted = Counted::of(freshet);
        let mut there = Client::of(&server.target, SCHEMA, 0);
        let mut here = Client::of(freshet.target(), SCHEMA, 0);
        for (statement, executions) in [
            (
                "SELECT id, v FROM t WHERE id = ?",
                vec![vec![tiny(1)], vec![short(300)], vec![int(70_000)], vec![big(2)], vec![unsigned(3)]],
            ),
            (
                "SELECT id FROM t WHERE v IN (?, ?) ORDER BY id LIMIT ?",
                vec![vec![tiny(5), short(300), tiny(2)], vec![int(10), tiny(20), big(5)]],
            ),
            (
                "SELECT id FROM t WHERE n >= ? AND v <> ? ORDER BY id",
                vec![vec![tiny(0), tiny(0)], vec![short(1), int(7)]],
            ),
        ] {
            let (one, other) = (there.prepare(statement), here.prepare(statement));
            for values in executions.iter().chain(&executions) {
                let expected = there.execute(one, values);
                assert_eq!(here.execute(other, values), expected, "{statement}: {values:?}");
                if freshet.is_there() {
                    assert_eq!(here.prime(&mut counted, other, values), expected, "{statement}: {values:?}");
                }
            }
        }
    });
}
