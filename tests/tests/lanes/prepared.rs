//! Executions of prepared statements are carried too. The statement is prepared once on the lane, for all who execute it alike.

use std::thread;

use freshet_tests::cached::{Counted, connect, eventually, run};
use freshet_tests::{Flavor, Freshet};
use mysql::prelude::Queryable as _;
use mysql::{Conn, Params, Value};

use super::{carried, lender, one, with_lanes};

/// What an execution is answered, as text with types; or the error's code.
fn execute(conn: &mut Conn, statement: &mysql::Statement, values: Vec<Value>) -> String {
    let values = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
    match conn.exec::<mysql::Row, _, _>(statement, values) {
        Ok(rows) => {
            let columns = rows.first().map(|row| {
                let columns = row.columns_ref().iter();
                columns
                    .map(|it| format!("{} {:?} {}", it.name_str(), it.column_type(), it.decimals()))
                    .collect::<Vec<_>>()
            });
            let rows: Vec<Vec<Value>> = rows.into_iter().map(mysql::Row::unwrap).collect();
            format!("{columns:?} {rows:?}")
        }
        Err(mysql::Error::MySqlError(error)) => format!("error {}", error.code),
        Err(error) => format!("{error}"),
    }
}

/// Sessions that have each executed this once, so that it is known to be quick.
fn sessions(freshet: &Freshet, schema: &str, text: &str, values: &[Value]) -> Vec<(Conn, mysql::Statement)> {
    (0..3)
        .map(|_| {
            let mut conn = connect(freshet.target(), schema);
            let statement = conn.prep(text).expect("it is prepared");
            execute(&mut conn, &statement, values.to_vec());
            (conn, statement)
        })
        .collect()
}

#[test]
fn executions_of_many_are_carried() {
    let schema = "lanes_executed";
    with_lanes(schema, |server, direct, freshet| {
        let text = "SELECT v, id AS n FROM t WHERE v > ? AND id = ?";
        let mut sessions = sessions(freshet, schema, text, &[Value::Int(1), Value::Int(1)]);
        let before = carried(freshet);
        let straight = direct
            .prep(format!("SELECT v, id AS n FROM {schema}.t WHERE v > ? AND id = ?"))
            .expect("it is prepared");
        for round in 0..40_i64 {
            for (of, (conn, statement)) in sessions.iter_mut().enumerate() {
                let values = vec![Value::Int(round * 10 + of as i64), Value::Int(1 + round % 4)];
                let expected = execute(direct, &straight, values.clone());
                assert_eq!(execute(conn, statement, values), expected, "{:?}", server.flavor);
            }
        }
        assert!(
            carried(freshet) - before > 100,
            "{:?}: {} of 120 were carried",
            server.flavor,
            carried(freshet) - before
        );
        // Definitions count at once: what was prepared before has the new columns.
        let text = "SELECT * FROM u WHERE id = ?";
        let mut readers = self::sessions(freshet, schema, text, &[Value::Int(1)]);
        for column in ["a", "b"] {
            run(direct, &[&format!("ALTER TABLE {schema}.u ADD COLUMN {column} INT DEFAULT 5")]);
            eventually("the new column is shown", || {
                let shows = |(conn, statement): &mut (Conn, mysql::Statement)| {
                    execute(conn, statement, vec![Value::Int(2)])
                        .contains(&format!("\"{column} MYSQL_TYPE_LONG 0\""))
                };
                readers.iter_mut().all(shows).then_some(())
            });
        }
        // Writes too, and errors are those of the session's own statement.
        run(&mut sessions[0].0, &["UPDATE t SET v = 11 WHERE id = 1"]);
        for (conn, statement) in &mut sessions {
            assert!(
                execute(conn, statement, vec![Value::Int(0), Value::Int(1)]).contains("[Int(11), "),
                "{:?}",
                server.flavor
            );
        }
        let text = "SELECT (SELECT v FROM t WHERE id < ?) AS s FROM u WHERE id = 1";
        for (conn, statement) in &mut self::sessions(freshet, schema, text, &[Value::Int(2)]) {
            assert_eq!(execute(conn, statement, vec![Value::Int(3)]), "error 1242");
            assert!(execute(conn, statement, vec![Value::Int(2)]).contains("[Int(11)]"));
        }
    });
}

/// MySQL keeps what it has learned of parameters from the values that it met. What others execute is not learned from.
#[test]
fn nobody_is_answered_by_what_the_server_has_learned_from_others() {
    let schema = "lanes_learned";
    with_lanes(schema, |server, _direct, freshet| {
        let before = carried(freshet);
        let kinds = |round: usize| match round % 5 {
            0 => Value::Int(2),
            1 => Value::Bytes(b"1.5".to_vec()),
            2 => Value::Bytes(b"2".to_vec()),
            3 => Value::NULL,
            _ => Value::Double(0.5),
        };
        for text in [
            "SELECT v * ? AS x FROM t WHERE id = 1",
            "SELECT v FROM t WHERE v = ?",
            "SELECT ? AS x, v FROM u",
        ] {
            for first in 0..5 {
                // A client keeps statements by their texts: each has a connection of its own.
                let mut pairs: Vec<_> = (0..2)
                    .map(|_| [freshet.target(), &server.target].map(|target| connect(target, schema)))
                    .map(|conns| conns.map(|mut conn| (conn.prep(text).expect("prepared"), conn)))
                    .collect();
                for round in 0..12 {
                    // One always with the same kind, the other with all of them.
                    let values = [kinds(first), kinds(first + round)];
                    for (pair, value) in pairs.iter_mut().zip(values) {
                        let [got, expected] = pair
                            .each_mut()
                            .map(|(statement, conn)| execute(conn, statement, vec![value.clone()]));
                        assert_eq!(
                            got,
                            expected,
                            "{:?}: {text} with {value:?}, at first {:?}",
                            server.flavor,
                            kinds(first)
                        );
                    }
                }
            }
        }
        assert!(carried(freshet) - before > 30, "{:?}: {}", server.flavor, carried(freshet) - before);
    });
}

/// What was prepared for others on a session's connection is nothing to the session.
#[test]
fn a_session_finds_its_own_statements_and_counts_after_lending() {
    let schema = "lanes_statements";
    with_lanes(schema, |server, direct, freshet| {
        let stored = |direct: &mut Conn| -> u64 {
            let row: (String, u64) = direct
                .query_first("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
                .expect("it is shown")
                .expect("there is one");
            row.1
        };
        let before = stored(direct);
        let mut lender = lender(freshet, schema);
        let own = lender.prep("UPDATE u SET v = v + ? WHERE id = ?").expect("it is prepared");
        let read = lender.prep("SELECT v FROM u WHERE id = ?").expect("it is prepared");
        lender.exec_drop(&own, (1, 1)).expect("it is executed");
        let count =
            |lender: &mut Conn, name: &str| one(lender, &format!("SHOW SESSION STATUS LIKE '{name}'"));
        let counted: Vec<String> = ["Com_stmt_prepare", "Com_stmt_execute", "Com_stmt_close", "Com_select"]
            .iter()
            .map(|name| count(&mut lender, name))
            .collect();
        let text = "SELECT v FROM t WHERE id = ?";
        let mut others = sessions(freshet, schema, text, &[Value::Int(1)]);
        for round in 1..=3 {
            one(&mut lender, "SELECT v FROM t WHERE id = 1");
            let before = carried(freshet);
            for (conn, statement) in &mut others {
                assert!(execute(conn, statement, vec![Value::Int(2)]).contains("[Int(20)]"));
            }
            assert!(carried(freshet) > before, "{:?}", server.flavor);
            assert!(
                execute(&mut lender, &read, vec![Value::Int(1)]).contains(&format!("[Int({})]", 100 + round))
            );
            lender.exec_drop(&own, (1, 1)).expect("its number is still its own");
        }
        let after: Vec<String> = ["Com_stmt_prepare", "Com_stmt_execute", "Com_stmt_close", "Com_select"]
            .iter()
            .map(|name| count(&mut lender, name))
            .collect();
        let number =
            |text: &String| text.rsplit(',').next().and_then(|it| it.parse::<u64>().ok()).expect("a number");
        let grown: Vec<u64> =
            counted.iter().zip(&after).map(|(before, after)| number(after) - number(before)).collect();
        // MySQL counts no SELECT that was answered from memory, and a carried one was none.
        assert_eq!(grown, [0, 6, 0, 6], "{:?}", server.flavor);
        if server.flavor == Flavor::MySql {
            drop((lender, others));
            eventually("nothing is left prepared", || (stored(direct) <= before).then_some(()));
        }
    });
}

#[test]
fn a_crowd_with_prepared_statements_is_answered_right() {
    let schema = "lanes_crowd";
    with_lanes(schema, |server, _direct, freshet| {
        let before = carried(freshet);
        thread::scope(|scope| {
            for of in 0..8_i64 {
                scope.spawn(move || {
                    let mut conn = connect(freshet.target(), schema);
                    let texts = [
                        "SELECT v, id FROM t WHERE v > ? AND id = ?",
                        "SELECT id, v FROM u WHERE v <> ? AND id = ?",
                    ];
                    let statements = texts.map(|text| conn.prep(text).expect("it is prepared"));
                    for round in 0..100_i64 {
                        let id = 1 + (of + round) % 2;
                        let above = (7 * of + round) % 25;
                        let row: Option<(i64, i64)> =
                            conn.exec_first(&statements[0], (above, id)).expect("it is executed");
                        assert_eq!(row, (10 * id > above).then_some((10 * id, id)), "{:?}", server.flavor);
                        let row: Option<(i64, i64)> =
                            conn.exec_first(&statements[1], (round, id)).expect("it is executed");
                        assert_eq!(row, (100 * id != round).then_some((id, 100 * id)), "{:?}", server.flavor);
                    }
                });
            }
        });
        assert!(carried(freshet) - before > 1000, "{:?}: {}", server.flavor, carried(freshet) - before);
    });
}

/// A session that comes to know what it is like by preparing alone: what its settings lead to is known of another. What it executes could be
/// carried from then on, without a look at what is stored.
#[test]
fn a_session_that_only_prepares_after_its_settings_is_answered_from_memory() {
    let (schema, setting) = ("lanes_prepared_hits", "SET SESSION group_concat_max_len = 2000");
    with_lanes(schema, |server, _, freshet| {
        let _lender = lender(freshet, schema);
        run(&mut freshet.target().connect(), &["SET GLOBAL query_cache_type = ON"]);
        let mut counted = Counted::of(freshet);
        // The others begin with what is known of the first, and its preparation is in memory.
        let mut sessions = Vec::new();
        for session in 1..=4 {
            let mut conn = connect(freshet.target(), schema);
            run(&mut conn, &[setting]);
            eventually(&format!("session {session} on {:?} is answered from memory", server.flavor), || {
                let statement = conn.prep("SELECT v FROM t WHERE id = ?").expect("it is prepared");
                let before = counted.hits();
                let shown: Vec<String> =
                    (0..5).map(|_| execute(&mut conn, &statement, vec![Value::Int(1)])).collect();
                assert!(shown.iter().all(|it| it.ends_with("[[Int(10)]]")), "{shown:?}");
                (counted.hits() - before == 5).then_some(())
            });
            sessions.push(conn);
        }
    });
}
