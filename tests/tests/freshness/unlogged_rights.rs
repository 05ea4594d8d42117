//! Rights and settings that change without a word in the binlog: each is noticed within `max_staleness`, usually within a
//! second, and hits come back by themselves on a server that commits nothing.

use std::time::Duration;

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run, try_answer};
use freshet_tests::{Flavor, Freshet, Server, Target, server, with_each};
use mysql::Conn;

const READ: &str = "SELECT v FROM t WHERE id = 1";

pub fn as_user(target: &Target, user: &str) -> Target {
    Target { user: user.into(), password: "pw".into(), ..target.clone() }
}

/// A schema with a table that nobody but its maker may read.
pub fn stage(server: &Server, name: &str) -> (Conn, String) {
    let schema = format!("fresh_{name}");
    let mut admin = fresh_schema(server, &schema);
    run(
        &mut admin,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO t VALUES (1, 10)",
            &format!("DROP USER IF EXISTS {schema}"),
            &format!("CREATE USER {schema} IDENTIFIED BY 'pw'"),
        ],
    );
    (admin, schema)
}

fn is_read(schema: &str) -> String {
    format!("SELECT v FROM {schema}.t WHERE id = 1")
}

/// A reader who is answered from memory.
fn primed(freshet: &Freshet, schema: &str) -> Conn {
    let mut reader = as_user(freshet.target(), schema).connect();
    let read = is_read(schema);
    eventually("the right is there", || answer(&mut reader, &read).ok());
    let got = Counted::of(freshet).prime(&mut reader, &read);
    assert_eq!(got, Ok(vec![vec!["10".into()]]));
    reader
}

fn refused(reader: &mut Conn, schema: &str) {
    let read = is_read(schema);
    // A lost right is as good as a lost connection.
    eventually("the reader is refused", || {
        matches!(try_answer(reader, &read), Ok(Err(_)) | Err(_)).then_some(())
    });
}

/// Nothing is committed, and hits are there all the same.
fn hits_come_back(freshet: &Freshet, target: &Target, schema: &str) {
    let mut reader = connect(target, schema);
    let _ = Counted::of(freshet).prime(&mut reader, READ);
}

#[test]
fn a_mandatory_role_that_is_taken_away_takes_its_rights_along() {
    with_each(|server, freshet| {
        if server.flavor == Flavor::MariaDb {
            return;
        }
        let (mut admin, schema) = stage(server, "mandatory");
        let role = format!("{schema}_r");
        run(
            &mut admin,
            &[
                &format!("DROP ROLE IF EXISTS {role}"),
                &format!("CREATE ROLE {role}"),
                &format!("GRANT SELECT ON {schema}.* TO {role}"),
                &format!("SET GLOBAL mandatory_roles = '{role}'"),
            ],
        );
        let mut reader = as_user(freshet.target(), &schema).connect();
        run(&mut reader, &[&format!("SET ROLE {role}")]);
        let got = Counted::of(freshet).prime(&mut reader, &is_read(&schema));
        assert_eq!(got, Ok(vec![vec!["10".into()]]));
        run(&mut admin, &["SET GLOBAL mandatory_roles = ''"]);
        refused(&mut reader, &schema);
        hits_come_back(freshet, freshet.target(), &schema);
        run(&mut admin, &[&format!("DROP ROLE {role}")]);
    });
}

#[test]
fn what_a_boolean_search_means_can_be_set_anew() {
    const SEARCH: &str =
        "SELECT COUNT(*) FROM texts WHERE MATCH (b) AGAINST ('+alpha ~beta' IN BOOLEAN MODE)";
    with_each(|server, freshet| {
        let (mut admin, schema) = stage(server, "boolean");
        let [syntax] = <[String; 1]>::try_from(
            answer(&mut admin, "SELECT @@GLOBAL.ft_boolean_syntax").unwrap().remove(0),
        )
        .unwrap();
        run(
            &mut admin,
            &[
                "CREATE TABLE texts (id INT PRIMARY KEY, b TEXT, FULLTEXT (b)) ENGINE = MyISAM",
                "INSERT INTO texts VALUES (1, 'alpha words'), (2, 'beta words'), (3, 'gamma words'), (4, 'delta words')",
            ],
        );
        let mut reader = connect(freshet.target(), &schema);
        let before = Counted::of(freshet).prime(&mut reader, SEARCH);
        // What must be there and what may not change places.
        let other: String = syntax.replace('+', "!").replace('-', "+").replace('!', "-");
        run(&mut admin, &[&format!("SET GLOBAL ft_boolean_syntax = '{other}'")]);
        let now = answer(&mut admin, SEARCH);
        eventually("the new meaning", || (answer(&mut reader, SEARCH) == now).then_some(()));
        let again = Counted::of(freshet).prime(&mut reader, SEARCH);
        run(&mut admin, &[&format!("SET GLOBAL ft_boolean_syntax = '{syntax}'")]);
        assert!(now != before && again == now, "{before:?} {now:?} {again:?}");
    });
}

/// Ways to take a right away of which the binlog does not tell, in the order of their statements; `{s}` is the schema and the user.
const UNLOGGED: [&[&str]; 3] = [
    &["SET sql_log_bin = 0", "REVOKE SELECT ON {s}.* FROM {s}", "SET sql_log_bin = 1"],
    &[
        "SET sql_log_bin = 0",
        "DELETE FROM mysql.db WHERE Db = '{s}'",
        "FLUSH PRIVILEGES",
        "SET sql_log_bin = 1",
    ],
    &["DELETE FROM mysql.db WHERE Db = '{s}'", "FLUSH LOCAL PRIVILEGES"],
];

#[test]
fn a_right_that_goes_without_the_binlog_is_gone_soon() {
    with_each(|server, freshet| {
        let (mut admin, schema) = stage(server, "silent");
        for statements in UNLOGGED {
            run(&mut admin, &[&format!("GRANT SELECT ON {schema}.* TO {schema}")]);
            let mut reader = primed(freshet, &schema);
            for statement in statements {
                run(&mut admin, &[&statement.replace("{s}", &schema)]);
            }
            refused(&mut reader, &schema);
            hits_come_back(freshet, freshet.target(), &schema);
        }
    });
}

/// What there was at the last look is there again at the next one, and in between a right was in effect.
#[test]
fn a_right_that_was_there_for_a_moment_is_gone() {
    with_each(|server, freshet| {
        let (mut admin, schema) = stage(server, "moment");
        for given in ["SET sql_log_bin = 1", "SET sql_log_bin = 0"] {
            for taken in UNLOGGED {
                run(
                    &mut admin,
                    &[given, &format!("GRANT SELECT ON {schema}.* TO {schema}"), "SET sql_log_bin = 1"],
                );
                let mut reader = primed(freshet, &schema);
                for statement in taken {
                    run(&mut admin, &[&statement.replace("{s}", &schema)]);
                }
                refused(&mut reader, &schema);
            }
        }
        if server.flavor == Flavor::MySql {
            let role = format!("{schema}_r");
            run(&mut admin, &[&format!("DROP ROLE IF EXISTS {role}"), &format!("CREATE ROLE {role}")]);
            run(&mut admin, &[&format!("GRANT SELECT ON {schema}.* TO {role}")]);
            for _ in 0..ROLES {
                run(&mut admin, &[&format!("SET GLOBAL mandatory_roles = '{role}'")]);
                let mut reader = as_user(freshet.target(), &schema).connect();
                run(&mut reader, &[&format!("SET ROLE {role}")]);
                let _ = Counted::of(freshet).prime(&mut reader, &is_read(&schema));
                run(&mut admin, &["SET GLOBAL mandatory_roles = ''"]);
                refused(&mut reader, &schema);
            }
            run(&mut admin, &[&format!("DROP ROLE {role}")]);
        }
    });
}

/// How often a role is mandatory for a moment: most of these moments lie between two looks.
const ROLES: u32 = 4;

/// What was edited is stored again under the old rights, and put into effect later.
#[test]
fn a_reload_of_what_was_edited_long_before_is_noticed() {
    with_each(|server, freshet| {
        let (mut admin, schema) = stage(server, "reload");
        run(&mut admin, &[&format!("GRANT SELECT ON {schema}.* TO {schema}")]);
        let mut reader = primed(freshet, &schema);
        run(&mut admin, &[&format!("DELETE FROM mysql.db WHERE Db = '{schema}'")]);
        // The edit itself has emptied the cache. The rights are as they were.
        let read = is_read(&schema);
        assert_eq!(Counted::of(freshet).prime(&mut reader, &read), Ok(vec![vec!["10".into()]]));
        run(&mut admin, &["FLUSH LOCAL PRIVILEGES"]);
        refused(&mut reader, &schema);
    });
}

/// MySQL shows which role holds which in a table alone: an edit of it says nothing of what is in effect when Freshet begins.
#[test]
fn a_reload_of_what_was_edited_before_freshet_began_is_noticed() {
    for server in server::all().into_iter().filter(|server| server.flavor == Flavor::MySql) {
        let (mut admin, schema) = stage(&server, "before");
        let [inner, outer] = ["inner", "outer"].map(|role| format!("{schema}_{role}"));
        run(
            &mut admin,
            &[
                &format!("DROP ROLE IF EXISTS {inner}, {outer}"),
                &format!("CREATE ROLE {inner}, {outer}"),
                &format!("GRANT SELECT ON {schema}.* TO {inner}"),
                &format!("GRANT {inner} TO {outer}"),
                &format!("GRANT {outer} TO {schema}"),
                &format!("SET DEFAULT ROLE {outer} TO {schema}"),
                "SET sql_log_bin = 0",
                &format!("DELETE FROM mysql.role_edges WHERE FROM_USER = '{inner}'"),
                "SET sql_log_bin = 1",
            ],
        );
        // The server tells in whole seconds when a table was written.
        std::thread::sleep(Duration::from_secs(2));
        let freshet = Freshet::before(&server);
        let mut reader = primed(&freshet, &schema);
        run(&mut admin, &["FLUSH LOCAL PRIVILEGES"]);
        refused(&mut reader, &schema);
        run(&mut admin, &[&format!("DROP ROLE {inner}, {outer}")]);
        freshet.stop();
    }
}

#[test]
fn a_password_that_is_changed_without_the_binlog_is_the_one_that_counts() {
    with_each(|server, freshet| {
        let (mut admin, schema) = stage(server, "password");
        let set = match server.flavor {
            Flavor::MariaDb => "SET PASSWORD FOR {s} = PASSWORD('third')",
            Flavor::MySql => "SET PASSWORD FOR {s} = 'third'",
        };
        let mut user = as_user(freshet.target(), &schema);
        for (change, password) in [("ALTER USER {s} IDENTIFIED BY 'other'", "other"), (set, "third")] {
            for _ in 0..3 {
                drop(user.connect());
            }
            let change = change.replace("{s}", &schema);
            run(&mut admin, &["SET sql_log_bin = 0", &change, "SET sql_log_bin = 1"]);
            eventually("the old password is refused", || user.try_connect("").is_err().then_some(()));
            user = Target { password: password.into(), ..user };
            drop(user.connect());
        }
    });
}
