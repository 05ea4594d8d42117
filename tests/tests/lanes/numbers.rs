//! The number of a session's connection is one: what the handshake gave, CONNECTION_ID() says, the list of processes has, and KILL takes.

use super::given_up::{ELSEWHERE, has_none, with_users, without};
use super::*;

/// The rows of the list of processes with this number in front.
fn listed(conn: &mut Conn, id: u32) -> Vec<Vec<String>> {
    let rows = answer(conn, "SHOW PROCESSLIST").expect("it is shown");
    rows.into_iter().filter(|row| row[0] == id.to_string()).collect()
}

#[test]
fn a_session_has_one_number() {
    let schema = "lanes_numbers";
    with_users(schema, |server, direct, _freshet, target| {
        run(direct, &["CREATE TABLE who (at INT PRIMARY KEY, id BIGINT UNSIGNED)"]);
        let mut conns: Vec<Conn> = (0..3).map(|_| connect(target, schema)).collect();
        for conn in &mut conns {
            let id = conn.connection_id();
            let number = id.to_string();
            for asked in ["SELECT CONNECTION_ID()", "select connection_id ( )", "SELECT 0 + CONNECTION_ID()"]
            {
                assert_eq!(one(conn, asked), number, "{:?}: {asked}", server.flavor);
            }
            let prepared: Option<u64> =
                conn.exec_first("SELECT CONNECTION_ID()", ()).expect("it is executed");
            assert_eq!(prepared, Some(u64::from(id)));
            run(
                conn,
                &[
                    "DELETE FROM who",
                    "INSERT INTO who VALUES (1, CONNECTION_ID())",
                    "SET @me = CONNECTION_ID()",
                ],
            );
            conn.exec_drop("INSERT INTO who VALUES (?, CONNECTION_ID())", (2,)).expect("it is executed");
            run(conn, &["PREPARE p FROM 'SELECT CONNECTION_ID() + ?'", "SET @zero = 0"]);
            assert_eq!(one(conn, "EXECUTE p USING @zero"), number);
            assert_eq!(one(conn, "SELECT DISTINCT id FROM who"), number);
            assert_eq!(one(conn, "SELECT COUNT(*) FROM who WHERE id = CONNECTION_ID()"), "2");
            assert_eq!(one(conn, "SELECT @me"), number);
            let [row] = &listed(conn, id)[..] else { panic!("{id} is listed once") };
            let is_told =
                row[1] == schema && row[2].starts_with("127.0.0.1:") && row[7] == "SHOW PROCESSLIST";
            assert!(is_told, "{row:?}");
            for id in [number.as_str(), "CONNECTION_ID()"] {
                let list = format!("SELECT id, user FROM information_schema.processlist WHERE id = {id}");
                assert_eq!(answer(conn, &list).unwrap(), [[number.as_str(), schema]], "{list}");
            }
        }
        // What was prepared is executed in another schema too.
        let statement = conns[1].prep("SELECT CONNECTION_ID() > 0").expect("it is prepared");
        for inside in ["mysql", schema] {
            run(&mut conns[1], &[&format!("USE {inside}")]);
            let is_told: Option<bool> = conns[1].exec_first(&statement, ()).expect("it is executed");
            assert_eq!(is_told, Some(true), "{:?}: in {inside}", server.flavor);
        }
        // What is kept by its text asks anew, and so tells the server's.
        run(direct, &[&format!("CREATE VIEW {schema}.asks AS SELECT CONNECTION_ID() AS c")]);
        let made = one(&mut conns[0], "SHOW CREATE VIEW asks");
        assert!(made.to_lowercase().contains("connection_id()"), "{made}");
        // By the number in a user variable.
        let (killed, others) = conns.split_first_mut().expect("there are three");
        let set = format!("SET @him = {}", killed.connection_id());
        run(&mut others[0], &[&set, "KILL @him"]);
        killed.query_drop("SELECT v FROM t WHERE id = 1").expect_err("it was killed");
        assert_eq!(one(&mut others[0], "SELECT COUNT(*) FROM who WHERE id > 0"), "2");
    });
}

#[test]
fn who_has_no_connection_to_the_server_is_listed_and_killed_too() {
    let schema = "lanes_unconnected";
    with_users(schema, |server, direct, freshet, target| {
        let mut idle = without((freshet, target), schema, &[ELSEWHERE]);
        let id = idle.connection_id();
        assert!(has_none(freshet, &idle));
        let mut looker = connect(target, schema);
        let [row] = &listed(&mut looker, id)[..] else { panic!("{id} is listed once") };
        let is_told = row[1] == schema && row[4] == "Sleep" && row[2].starts_with("127.0.0.1:");
        assert!(is_told, "{row:?}");
        // Other users' are seen by who has the privilege.
        let other = format!("{schema}_2");
        run(
            direct,
            &[
                &format!("CREATE USER IF NOT EXISTS {other}"),
                &format!("GRANT SELECT ON {schema}.* TO {other}"),
            ],
        );
        let user = Target { user: other, password: String::new(), ..target.clone() };
        assert!(listed(&mut connect(&user, schema), id).is_empty(), "{:?}", server.flavor);
        assert_eq!(listed(&mut freshet.target().connect(), id).len(), 1);
        assert!(has_none(freshet, &idle), "to be listed takes no connection");
        run(&mut looker, &[&format!("KILL {id}")]);
        idle.query_drop("SELECT v FROM t WHERE id = 1").expect_err("it was killed");
        assert!(listed(&mut looker, id).is_empty());
    });
}
