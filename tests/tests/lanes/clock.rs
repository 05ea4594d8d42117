//! A session whose time stands still.

use super::*;

const THEN: &str = "SET timestamp = 1000000000";

/// A way to have a session's time stand still.
type Way = (&'static str, fn(&mut Conn));

const WAYS: [Way; 5] = [
    ("as a text", |conn| run(conn, &[THEN])),
    ("prepared", |conn| conn.exec_drop("SET timestamp = ?", (1_000_000_000_u32,)).expect("it is set")),
    ("by EXECUTE", |conn| run(conn, &[&format!("PREPARE s FROM '{THEN}'"), "EXECUTE s"])),
    ("by EXECUTE of a variable", |conn| {
        run(conn, &[&format!("SET @then = '{THEN}'"), "PREPARE s FROM @then", "EXECUTE s"]);
    }),
    ("by a procedure", |conn| run(conn, &["CALL stand_still()"])),
];

/// It shows its own time, and its connection carries no reads of others, however the time was set.
#[test]
fn a_time_that_stands_still_is_one_sessions_own() {
    let schema = "lanes_clock";
    with_lanes(schema, |server, direct, freshet| {
        run(direct, &[&format!("CREATE PROCEDURE stand_still() {THEN}")]);
        for (how, stands_still) in WAYS {
            let mut still = connect(freshet.target(), schema);
            one(&mut still, "SELECT v FROM t WHERE id = 1");
            stands_still(&mut still);
            let mut other = connect(freshet.target(), schema);
            for _ in 0..10 {
                let context = format!("{:?}, {how}", server.flavor);
                let own = one(&mut still, "SELECT UNIX_TIMESTAMP() FROM t WHERE id = 1");
                assert_eq!(own, "1000000000", "{context}");
                let others = one(&mut other, "SELECT UNIX_TIMESTAMP() > 1500000000 FROM t WHERE id = 1");
                assert_eq!(others, "1", "{context}");
            }
        }
    });
}

/// What the server has noted of a session's statements for that session is of its own statements alone.
#[test]
fn the_statements_of_others_leave_no_traces() {
    let schema = "lanes_traces";
    with_lanes(schema, |server, _, freshet| {
        let mut other = connect(freshet.target(), schema);
        let reads = |conn: &mut Conn, what: &str| {
            (0..10).for_each(|id| drop(one(conn, &format!("SELECT {what} FROM t WHERE id = {id}"))));
        };
        for traces in ["SET profiling = 1", "SET @before = @@profiling, profiling = 1"] {
            let mut traced = connect(freshet.target(), schema);
            run(&mut traced, &[traces]);
            reads(&mut traced, "v");
            reads(&mut other, "v + 4711");
            reads(&mut traced, "v");
            let shown = one(&mut traced, "SHOW PROFILES");
            assert!(shown.contains("SELECT v FROM t"), "{:?}: {shown}", server.flavor);
            assert!(!shown.contains("4711"), "{:?}: {shown}", server.flavor);
        }
    });
}
