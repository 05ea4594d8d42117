//! Definitions between two executions: a server that prepares a statement anew forgets the values before.

use freshet_tests::cached::{Counted, caught_up, eventually, run};
use freshet_tests::{Flavor, with_each};

use super::{Client, Value, double, int, moment, null, stage, text};

const SCHEMA: &str = "prep_redefined";

#[test]
fn a_definition_makes_the_values_before_it_count_no_more() {
    with_each(|server, freshet| {
        let mut direct = stage((server, freshet), SCHEMA);
        let mut counted = Counted::of(freshet);
        for (statement, first, then) in [
            ("SELECT ? FROM t WHERE id = 1", int(5), null()),
            ("SELECT ?, id FROM t WHERE id = 1", double(2.5), int(3)),
            ("SELECT ABS(?) FROM t WHERE id = 1", text("5"), int(5)),
        ] {
            // A statement that this server has not met before is another one in such places: see docs/prepared.md.
            if statement.contains("ABS") && server.flavor == Flavor::MySql {
                continue;
            }
            let (first, then) = ([first], [then]);
            for is_asked_before in [false, true] {
                let mut there = Client::of(&server.target, SCHEMA, 0);
                let [mut primer, mut here] = [0; 2].map(|_| Client::of(freshet.target(), SCHEMA, 0));
                // Always by a statement that is younger than all definitions.
                let mut prime = |counted: &mut Counted| {
                    if freshet.is_there() {
                        let new = primer.prepare(statement);
                        primer.prime(counted, new, &first);
                    }
                };
                let (one, other) = eventually("the first execution is answered from memory", || {
                    prime(&mut counted);
                    let (one, other) = (there.prepare(statement), here.prepare(statement));
                    let before = counted.hits();
                    here.execute(other, &first);
                    let is_hit = counted.hits() > before;
                    there.execute(one, &first);
                    (is_hit || !freshet.is_there()).then_some((one, other))
                });
                run(&mut direct, &["ALTER TABLE t ADD COLUMN z INT"]);
                caught_up(freshet);
                if is_asked_before {
                    prime(&mut counted);
                    assert_eq!(here.execute(other, &first), there.execute(one, &first), "{statement}");
                }
                for values in [&then, &first, &then] {
                    let (expected, got) = (there.execute(one, values), here.execute(other, values));
                    assert_eq!(
                        got, expected,
                        "{:?}: {statement}: {values:?}, {is_asked_before}",
                        server.flavor
                    );
                }
                run(&mut direct, &["ALTER TABLE t DROP COLUMN z"]);
                caught_up(freshet);
            }
        }
    });
}

/// Statements with their values, and whether a statement that is older than a definition has hits.
fn older() -> Vec<(&'static str, Vec<Value>, bool)> {
    vec![
        ("SELECT n + ? FROM t WHERE id = ?", vec![int(5), int(1)], false),
        ("SELECT a FROM (SELECT id, n + ? a FROM t) q WHERE id = ?", vec![int(5), int(1)], false),
        ("SELECT id, CASE WHEN v > 15 THEN ? ELSE n END FROM t", vec![int(7)], false),
        ("SELECT v + ? FROM t WHERE id = ?", vec![int(5), int(1)], false),
        ("SELECT ? + ? FROM t WHERE id = 1", vec![int(5), int(1)], false),
        ("SELECT ABS(?) FROM t WHERE id = 1", vec![int(5)], false),
        ("SELECT v + 1. + ? FROM t WHERE id = 1", vec![int(5)], false),
        ("SELECT id FROM t WHERE b = ?", vec![Value(252, Some(vec![2, 0, 0xff]))], true),
        ("SELECT id FROM t WHERE w = ?", vec![Value(252, Some(vec![1, b'a']))], false),
        ("SELECT id FROM t WHERE n * ? > 2", vec![int(3)], false),
        ("SELECT v / 2 + ? FROM t WHERE id = 1", vec![int(3)], false),
        ("SELECT v, MAX(d) z FROM t GROUP BY v HAVING z > ?", vec![int(20240101)], false),
        ("SELECT id FROM t WHERE w LIKE ?", vec![text("a%")], false),
        ("SELECT id FROM t WHERE n = ?", vec![int(2)], true),
        ("SELECT id FROM t WHERE n IN (?, ?) LIMIT ?", vec![text("1"), int(2), int(9)], true),
        ("SELECT id FROM t WHERE w = ? OR v <= ?", vec![text("a"), double(10.5)], true),
        (
            "SELECT id FROM t WHERE d >= ? AND d < ?",
            vec![text("2024-01-01"), moment(2025, [1, 1, 0, 0, 0])],
            true,
        ),
    ]
}

/// A server that has prepared a statement anew takes its types from the values alone: the answers are not those of a new statement, and
/// neither has those of the other. Where both are the same, both have hits.
#[test]
fn a_statement_that_is_older_than_a_definition_is_answered_as_such() {
    with_each(|server, freshet| {
        let mut direct = stage((server, freshet), "prep_older");
        let mut counted = Counted::of(freshet);
        for (round, (statement, values, has_hits)) in older().into_iter().enumerate() {
            // MariaDB resolves ABS() alone by values.
            let has_hits = has_hits || server.flavor == Flavor::MariaDb && !statement.contains("ABS");
            let mut there = Client::of(&server.target, "prep_older", 0);
            let [mut new, mut old] = [0; 2].map(|_| Client::of(freshet.target(), "prep_older", 0));
            let (one, other) = (there.prepare(statement), old.prepare(statement));
            assert_eq!(old.execute(other, &values), there.execute(one, &values), "{statement}");
            run(&mut direct, &[&format!("ALTER TABLE t COMMENT = 'older {round}'")]);
            caught_up(freshet);
            for _ in 0..2 {
                let expected = there.execute(one, &values);
                assert_eq!(old.execute(other, &values), expected, "{:?}: {statement}", server.flavor);
                if freshet.is_there() {
                    let id = new.prepare(statement);
                    let anew = there.prepare(statement);
                    let expected = there.execute(anew, &values);
                    assert_eq!(
                        new.prime(&mut counted, id, &values),
                        expected,
                        "{:?}: {statement}",
                        server.flavor
                    );
                    new.close(id);
                    there.close(anew);
                }
            }
            let expected = there.execute(one, &values);
            if freshet.is_there() && has_hits {
                assert_eq!(
                    old.prime(&mut counted, other, &values),
                    expected,
                    "{:?}: {statement}",
                    server.flavor
                );
            }
        }
    });
}
