//! A session whose client is silent gives its connection up, and what its last statement has left is still there for who asks.

use super::given_up::{ELSEWHERE, has_none, with_users};
use super::*;

/// By then a silent session has given its connection up.
const SILENT: Duration = Duration::from_millis(2_500);

/// What a session does last, and what it is asked when it has been silent.
const LEFT: [(&[&str], &[&str]); 14] = [
    (&["SELECT v FROM t"], &["SELECT FOUND_ROWS()"]),
    (&["SELECT v FROM t"], &["SELECT ROW_COUNT()", "SELECT ROW_COUNT()"]),
    (&["SELECT v FROM t WHERE id < 3"], &["SELECT FOUND_ROWS() + 0 AS f, ROW_COUNT()"]),
    (
        &["SELECT a.v FROM t AS a, t AS b, t AS c, t AS d, t AS e"],
        &["SELECT FOUND_ROWS() DIV 1, ROW_COUNT()"],
    ),
    (&["SELECT SQL_CALC_FOUND_ROWS v FROM t LIMIT 1"], &["SELECT FOUND_ROWS()"]),
    (&["SELECT v FROM t WHERE id > 99"], &["SELECT FOUND_ROWS() + ROW_COUNT()"]),
    (&["UPDATE t SET v = v + 1 WHERE id > 1"], &["SELECT ROW_COUNT()", "SELECT ROW_COUNT()"]),
    (&["UPDATE t SET v = v + 1 WHERE id > 1"], &["SELECT row_count() + 1, ROW_COUNT() AS r"]),
    (
        &["UPDATE t SET v = v + 1 WHERE id > 1"],
        &["UPDATE u SET v = ROW_COUNT() WHERE id = 1", "SELECT v FROM u WHERE id = 1"],
    ),
    (&["SELECT v FROM t", "UPDATE t SET v = v + 1 WHERE id = 1"], &["SELECT FOUND_ROWS()"]),
    (&["INSERT INTO t (v) VALUES (7)"], &["SELECT LAST_INSERT_ID() > 3, ROW_COUNT()"]),
    (&["BEGIN", "DELETE FROM u WHERE id = 2", "COMMIT"], &["SELECT ROW_COUNT()"]),
    (&["UPDATE t SET v = v + 1 WHERE id > 1"], &["SHOW WARNINGS"]),
    (&["DELETE FROM u WHERE id = 99"], &["SELECT ROW_COUNT()", "SHOW COUNT(*) WARNINGS"]),
];

/// Waits until Freshet knows the tables again.
fn is_settled(target: &Target, schema: &str) {
    let mut conn = connect(target, schema);
    eventually("the definitions are known", || {
        let explained = answer(&mut conn, "EXPLAIN FRESHET SELECT t.v FROM t, u").expect("it is explained");
        let is_known = |line: &Vec<String>| !line.iter().any(|it| it.contains("definition"));
        explained.iter().all(is_known).then_some(())
    });
}

#[test]
fn who_is_silent_gives_its_connection_up_and_what_it_has_left_is_there() {
    let schema = "lanes_resting";
    with_users(schema, |server, direct, freshet, target| {
        let make = |direct: &mut Conn| {
            run(
                direct,
                &[
                    "DROP TABLE IF EXISTS t, u",
                    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
                    "INSERT INTO t (v) VALUES (10), (20), (30)",
                    "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
                    "INSERT INTO u VALUES (1, 100), (2, 200)",
                ],
            );
        };
        let ask_all = |target: &Target, is_through: bool| {
            let mut given = Vec::new();
            for (done, asked) in LEFT {
                make(&mut server.target.try_connect(schema).expect("it is let in"));
                if is_through {
                    // While a definition changes, nobody knows whether the name is that of a view that tells the connection's number.
                    is_settled(target, schema);
                }
                let mut conn = connect(target, schema);
                run(&mut conn, &[ELSEWHERE]);
                done.iter().for_each(|statement| drop(answer(&mut conn, statement)));
                given.push((conn, asked));
            }
            if is_through {
                thread::sleep(SILENT);
                // MySQL warns of it.
                let is_warned =
                    |at: usize| server.flavor == Flavor::MySql && LEFT[at].0[0].contains("SQL_CALC");
                let keeps = |at: &usize| !has_none(freshet, &given[*at].0) && !is_warned(*at);
                eventually_of(
                    "each gives its connection up",
                    &mut (),
                    |()| (0..given.len()).find(keeps).is_none().then_some(()),
                    |()| {
                        format!("{:?} {:?}", server.flavor, (0..given.len()).find(keeps).map(|at| LEFT[at].0))
                    },
                );
            }
            let ask = |(mut conn, asked): (Conn, &[&str])| {
                let answers: Vec<_> = asked.iter().map(|question| answer(&mut conn, question)).collect();
                answers
            };
            given.into_iter().map(ask).collect::<Vec<_>>()
        };
        let expected =
            ask_all(&Target { user: schema.into(), password: schema.into(), ..server.target.clone() }, false);
        let found = ask_all(target, true);
        for ((case, expected), found) in LEFT.iter().zip(expected).zip(found) {
            assert_eq!(found, expected, "{:?}: {case:?}", server.flavor);
        }
        // Warnings are the server's to tell.
        let mut warned = connect(target, schema);
        run(&mut warned, &[ELSEWHERE, "SELECT CAST('x' AS SIGNED)"]);
        thread::sleep(SILENT);
        assert!(!has_none(freshet, &warned));
        assert_eq!(answer(&mut warned, "SHOW WARNINGS").expect("they are shown").len(), 1);
        // Also where it is not known yet how its session is.
        let warns = "SET NAMES utf8";
        let mut shown = Vec::new();
        let own = Target { user: schema.into(), password: schema.into(), ..server.target.clone() };
        for target in [&own, target] {
            let mut conn = connect(target, schema);
            run(&mut conn, &[warns]);
            thread::sleep(SILENT);
            shown.push(answer(&mut conn, "SHOW WARNINGS").expect("they are shown"));
        }
        assert_eq!(shown[1], shown[0], "{:?}", server.flavor);
        drop(direct.query_drop("DO 1"));
    });
}

/// Where the server has no more connections, those that are not used serve all.
#[test]
fn more_clients_than_the_server_has_connections_are_served_in_turn() {
    let schema = "lanes_full";
    let with_few = |server: &Server, direct: &mut Conn, freshet: &Freshet, target: &Target| {
        run(direct, &[&format!("ALTER USER {schema} WITH MAX_USER_CONNECTIONS 0")]);
        let most = 12
            + one(direct, "SELECT COUNT(*) FROM information_schema.processlist")
                .parse::<usize>()
                .expect("a number");
        let before = one(direct, "SELECT @@GLOBAL.max_connections");
        let mut admin = freshet.target().connect();
        run(&mut admin, &["SET @mine = 1"]);
        let mut conns: Vec<Conn> = (0..120).map(|_| connect(target, schema)).collect();
        run(direct, &[&format!("SET GLOBAL max_connections = {most}")]);
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
            for conn in &mut conns {
                run(conn, &["INSERT INTO t (v) VALUES (1)"]);
            }
            // From here on it is not known whether the account still has no limits, and nobody logs in any more.
            run(&mut admin, &[&format!("ALTER USER {schema} WITH MAX_USER_CONNECTIONS 0")]);
            for conn in &mut conns {
                assert_eq!(one(conn, "SELECT COUNT(*), NOW() > 0 FROM t WHERE v = 1"), "120,1");
            }
        }));
        run(direct, &[&format!("SET GLOBAL max_connections = {before}")]);
        assert!(done.is_ok(), "{:?} {}", server.flavor, freshet.is_there());
    };
    with_users(schema, with_few);
}

/// A login that only the server can judge waits for the connections that silent sessions give up.
#[test]
fn whoever_comes_first_to_a_full_server_is_let_in_when_others_have_made_room() {
    let schema = "lanes_full_first";
    with_users(schema, |server, direct, freshet, target| {
        let newcomer = format!("{schema}_2");
        run(
            direct,
            &[
                &format!("DROP USER IF EXISTS {newcomer}"),
                &format!("CREATE USER {newcomer} IDENTIFIED BY 'x'"),
                &format!("GRANT ALL ON {schema}.* TO {newcomer}"),
            ],
        );
        let mut conns: Vec<Conn> = (0..12).map(|_| connect(target, schema)).collect();
        conns.iter_mut().for_each(|conn| run(conn, &["INSERT INTO t (v) VALUES (1)"]));
        let before = one(direct, "SELECT @@GLOBAL.max_connections");
        let counted = one(direct, "SELECT COUNT(*) FROM information_schema.processlist");
        let most = counted.parse::<usize>().expect("a number") - 1;
        run(direct, &[&format!("SET GLOBAL max_connections = {}", most.max(10))]);
        let newcomer = Target { user: newcomer, password: "x".into(), ..freshet.target().clone() };
        let mut told = newcomer.try_connect(schema).map(drop);
        if server.flavor == Flavor::MySql && told.is_err() {
            // It had got the place for administrators.
            told = newcomer.try_connect(schema).map(drop);
        }
        run(direct, &[&format!("SET GLOBAL max_connections = {before}")]);
        assert!(told.is_ok(), "{:?}: {told:?}", server.flavor);
        for conn in &mut conns {
            run(conn, &["INSERT INTO t (v) VALUES (2)"]);
        }
    });
}

/// Who waits for a connection that the server does not have can be killed, and is told of it in the end.
#[test]
fn whoever_finds_the_server_full_is_told_so_and_can_be_killed_meanwhile() {
    let schema = "lanes_full_killed";
    with_users(schema, |server, direct, _, target| {
        let counted = one(direct, "SELECT COUNT(*) FROM information_schema.processlist");
        let most = 12 + counted.parse::<usize>().expect("a number");
        let before = one(direct, "SELECT @@GLOBAL.max_connections");
        let [mut killer, mut killed] = [(); 2].map(|()| connect(target, schema));
        // It keeps its connection.
        run(&mut killer, &["SET @mine = 1"]);
        run(direct, &[&format!("SET GLOBAL max_connections = {most}")]);
        let user = Target { user: schema.into(), password: schema.into(), ..server.target.clone() };
        let mut all: Vec<Conn> = Vec::new();
        let mut fill = || all.extend(std::iter::from_fn(|| user.try_connect(schema).ok()).take(2 * most));
        fill();
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let id = killed.connection_id();
            thread::scope(|scope| {
                let asked = scope.spawn(|| answer(&mut killed, "INSERT INTO t (v) VALUES (77)"));
                eventually("it waits for a connection", || {
                    let shown = format!("SELECT statement FROM freshet.sessions WHERE id = {id}");
                    one(&mut killer, &shown).starts_with("INSERT").then_some(())
                });
                run(&mut killer, &[&format!("KILL QUERY {id}")]);
                assert_eq!(asked.join().expect("it is told"), Err(1317), "{:?}", server.flavor);
            });
            let mut others = Vec::new();
            eventually("who waits is told", || {
                // Somebody may have left meanwhile.
                fill();
                let mut other = connect(target, schema);
                let told = answer(&mut other, "DO 1");
                others.push(other);
                (told.is_err()).then(|| assert_eq!(told, Err(1040), "{:?}", server.flavor))
            });
        }));
        drop(all);
        run(direct, &[&format!("SET GLOBAL max_connections = {before}")]);
        assert!(done.is_ok(), "{:?}", server.flavor);
        assert_eq!(one(direct, &format!("SELECT COUNT(*) FROM {schema}.t WHERE v = 77")), "0");
        run(&mut killed, &["INSERT INTO t (v) VALUES (78)"]);
    });
}

/// The server has no other statement to answer at that time, and yet the reads are carried: otherwise each session would need a connection,
/// and wait for one.
fn with_one_of_many_asking(schema: &str, ask: impl Fn(&mut Conn)) {
    const CLIENTS: u64 = 120;
    with_stages(schema, &[], |_, _, freshet| {
        let mut conns: Vec<Conn> = (0..CLIENTS).map(|_| connect(freshet.target(), schema)).collect();
        eventually("most are carried", || {
            let before = carried(freshet);
            conns.iter_mut().for_each(&ask);
            (carried(freshet) - before > CLIENTS * 9 / 10).then_some(())
        });
    });
}

#[test]
fn of_many_clients_of_which_one_asks_at_a_time_all_are_carried() {
    with_one_of_many_asking("lanes_one_of_many", |conn| {
        drop(one(conn, "SELECT v, NOW() FROM t WHERE id = 1"));
    });
}

#[test]
fn of_many_clients_of_which_one_executes_at_a_time_all_are_carried() {
    with_one_of_many_asking("lanes_one_executes", |conn| {
        // The client prepares the statement once.
        let row = conn.exec_first::<(u32, mysql::Value), _, _>("SELECT v, NOW() FROM t WHERE id = ?", (1,));
        assert_eq!(row.expect("it is executed").map(|(v, _)| v), Some(10));
    });
}
