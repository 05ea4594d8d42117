//! Definitions between two executions: a server that prepares a statement anew forgets the values before.

use freshet_tests::cached::{Counted, caught_up, eventually, run};
use freshet_tests::{Flavor, with_each};

use super::{Client, double, int, null, stage, text};

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
