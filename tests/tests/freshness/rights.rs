//! Who may not read a table is not told what it holds, however well it is remembered.

use freshet_tests::cached::{
    Answer, Counted, answer, caught_up, connect, eventually, fresh_schema, run, try_answer,
};
use freshet_tests::{Freshet, Server, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable as _;

const READ: &str = "SELECT v FROM t WHERE id = 1";

fn as_user(target: &Target, user: &str) -> Target {
    Target { user: user.into(), password: "pw".into(), ..target.clone() }
}

struct Stage {
    admin: Conn,
    schema: String,
    user: String,
}

/// A schema with a table, and a user who may read it.
fn stage(server: &Server, name: &str) -> Stage {
    let schema = format!("fresh_{name}");
    let user = format!("fresh_{name}");
    let mut admin = fresh_schema(server, &schema);
    run(
        &mut admin,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO t VALUES (1, 10)",
            &format!("DROP USER IF EXISTS {user}"),
            &format!("CREATE USER {user} IDENTIFIED BY 'pw'"),
            &format!("GRANT SELECT ON {schema}.* TO {user}"),
        ],
    );
    Stage { admin, schema, user }
}

/// Asks until the answer is the wanted one: a grant around Freshet is seen after the stream's lag.
fn comes_to(conn: &mut Conn, wanted: &Answer) {
    eventually(&format!("{READ} is {wanted:?}"), || (answer(conn, READ) == *wanted).then_some(()));
}

fn primed(freshet: &Freshet, stage: &Stage) -> Conn {
    let mut counted = Counted::of(freshet);
    let mut reader = connect(&as_user(freshet.target(), &stage.user), &stage.schema);
    let got = counted.prime(&mut reader, READ);
    assert_eq!(got, Ok(vec![vec!["10".into()]]));
    reader
}

#[test]
fn a_user_who_lost_the_right_through_freshet_is_refused_at_once() {
    with_each(|server, freshet| {
        let stage = stage(server, "revoked");
        let mut reader = primed(freshet, &stage);
        let mut admin = freshet.target().connect();
        run(&mut admin, &[&format!("REVOKE SELECT ON {}.* FROM {}", stage.schema, stage.user)]);
        // What is granted for a schema is looked at when it is chosen, by the server too.
        let fresh = as_user(freshet.target(), &stage.user).try_connect(&stage.schema);
        assert!(fresh.is_err());
        let mut through = as_user(freshet.target(), &stage.user).connect();
        let qualified = format!("SELECT v FROM {}.t WHERE id = 1", stage.schema);
        assert_eq!(answer(&mut through, &qualified), Err(1142));
        let _ = try_answer(&mut reader, READ);
    });
}

#[test]
fn a_user_who_lost_a_table_is_refused() {
    with_each(|server, freshet| {
        let mut stage = stage(server, "tablegrant");
        let (schema, user) = (stage.schema.clone(), stage.user.clone());
        run(
            &mut stage.admin,
            &[
                &format!("REVOKE SELECT ON {schema}.* FROM {user}"),
                &format!("GRANT SELECT ON {schema}.t TO {user}"),
            ],
        );
        for through in [true, false] {
            let mut reader = primed(freshet, &stage);
            let revoke = format!("REVOKE SELECT ON {schema}.t FROM {user}");
            let grant = format!("GRANT SELECT ON {schema}.t TO {user}");
            if through {
                run(&mut freshet.target().connect(), &[&revoke]);
                assert_eq!(answer(&mut reader, READ), Err(1142));
            } else {
                run(&mut stage.admin, &[&revoke]);
                comes_to(&mut reader, &Err(1142));
            }
            run(&mut stage.admin, &[&grant]);
            comes_to(&mut reader, &Ok(vec![vec!["10".into()]]));
        }
    });
}

#[test]
fn a_user_with_fewer_rights_is_not_given_anothers_answer() {
    with_each(|server, freshet| {
        let mut stage = stage(server, "fewer");
        let (schema, user) = (stage.schema.clone(), stage.user.clone());
        let _reader = primed(freshet, &stage);
        run(
            &mut stage.admin,
            &[
                &format!("DROP USER IF EXISTS {user}_poor"),
                &format!("CREATE USER {user}_poor IDENTIFIED BY 'pw'"),
                &format!("GRANT SELECT (id) ON {schema}.t TO {user}_poor"),
            ],
        );
        let poor = Target { user: format!("{user}_poor"), ..as_user(freshet.target(), &user) };
        let mut poor = connect(&poor, &schema);
        for _ in 0..3 {
            assert_eq!(answer(&mut poor, READ), Err(1143));
            assert_eq!(answer(&mut poor, "SELECT id FROM t"), Ok(vec![vec!["1".into()]]));
        }
        run(&mut stage.admin, &[&format!("DROP USER {user}_poor")]);
    });
}

#[test]
fn a_column_that_was_taken_away_is_refused() {
    with_each(|server, freshet| {
        let mut stage = stage(server, "column");
        let (schema, user) = (stage.schema.clone(), stage.user.clone());
        run(
            &mut stage.admin,
            &[
                &format!("REVOKE SELECT ON {schema}.* FROM {user}"),
                &format!("GRANT SELECT (id, v) ON {schema}.t TO {user}"),
            ],
        );
        let mut reader = connect(&as_user(freshet.target(), &user), &schema);
        comes_to(&mut reader, &Ok(vec![vec!["10".into()]]));
        run(&mut freshet.target().connect(), &[&format!("REVOKE SELECT (v) ON {schema}.t FROM {user}")]);
        assert_eq!(answer(&mut reader, READ), Err(1143));
    });
}

#[test]
fn a_dropped_user_cannot_come_back_by_what_is_remembered() {
    with_each(|server, freshet| {
        let mut stage = stage(server, "dropped");
        let _reader = primed(freshet, &stage);
        let user = as_user(freshet.target(), &stage.user);
        run(&mut stage.admin, &[&format!("DROP USER {}", stage.user)]);
        assert!(user.try_connect("").is_err());
        run(&mut stage.admin, &[&format!("CREATE USER {} IDENTIFIED BY 'other'", stage.user)]);
        assert!(user.try_connect("").is_err());
    });
}

#[test]
fn a_view_is_read_by_its_definers_rights_until_they_end() {
    with_each(|server, freshet| {
        let mut stage = stage(server, "definer");
        let (schema, user) = (stage.schema.clone(), stage.user.clone());
        run(
            &mut stage.admin,
            &[
                &format!("DROP USER IF EXISTS {user}_definer"),
                &format!("CREATE USER {user}_definer IDENTIFIED BY 'pw'"),
                &format!("GRANT SELECT ON {schema}.t TO {user}_definer"),
                &format!("CREATE DEFINER={user}_definer SQL SECURITY DEFINER VIEW w AS SELECT v FROM t"),
            ],
        );
        const VIEW: &str = "SELECT v FROM w";
        let mut reader = connect(&as_user(freshet.target(), &user), &schema);
        let mut counted = Counted::of(freshet);
        let _ = counted.prime(&mut reader, VIEW);
        run(&mut freshet.target().connect(), &[&format!("REVOKE SELECT ON {schema}.t FROM {user}_definer")]);
        assert_eq!(answer(&mut reader, VIEW), Err(1356));
        run(&mut stage.admin, &[&format!("DROP USER {user}_definer")]);
    });
}

#[test]
fn a_role_that_is_left_takes_its_rights_along() {
    with_each(|server, freshet| {
        let mut stage = stage(server, "role");
        let (schema, user) = (stage.schema.clone(), stage.user.clone());
        run(
            &mut stage.admin,
            &[
                &format!("REVOKE SELECT ON {schema}.* FROM {user}"),
                &format!("DROP ROLE IF EXISTS {user}_r"),
                &format!("CREATE ROLE {user}_r"),
                &format!("GRANT SELECT ON {schema}.t TO {user}_r"),
                &format!("GRANT {user}_r TO {user}"),
            ],
        );
        let mut reader = as_user(freshet.target(), &user).connect();
        let read = format!("SELECT v FROM {schema}.t WHERE id = 1");
        run(&mut reader, &[&format!("SET ROLE {user}_r")]);
        for _ in 0..4 {
            assert_eq!(answer(&mut reader, &read), Ok(vec![vec!["10".into()]]));
        }
        run(&mut reader, &["SET ROLE NONE"]);
        assert_eq!(answer(&mut reader, &read), Err(1142));
        run(&mut reader, &[&format!("SET ROLE {user}_r")]);
        run(&mut stage.admin, &[&format!("DROP ROLE {user}_r")]);
    });
}

/// A user who may read all tables of a schema by one right, and by another one of them. The session of a client that is there, and goes on reading by
/// the first right when it is taken away.
fn keeper(server: &Server, freshet: &Freshet, name: &str) -> (Stage, Conn) {
    let mut stage = stage(server, name);
    let (schema, user) = (stage.schema.clone(), stage.user.clone());
    run(
        &mut stage.admin,
        &["CREATE TABLE other (id INT)", &format!("GRANT SELECT ON {schema}.other TO {user}")],
    );
    let keeper = primed(freshet, &stage);
    (stage, keeper)
}

#[test]
fn what_is_read_by_rights_that_were_taken_away_is_given_to_nobody_else() {
    with_each(|server, freshet| {
        for through in [true, false] {
            let (mut stage, mut keeper) = keeper(server, freshet, "kept");
            let (schema, user) = (stage.schema.clone(), stage.user.clone());
            let revoke = format!("REVOKE SELECT ON {schema}.* FROM {user}");
            if through {
                run(&mut freshet.target().connect(), &[&revoke]);
            } else {
                run(&mut stage.admin, &[&revoke]);
                caught_up(freshet);
            }
            let statement = keeper.prep(READ).expect("the server lets it read");
            for prepared in [false, true] {
                let read = |keeper: &mut Conn| {
                    if prepared {
                        let rows: Vec<i32> = keeper.exec(&statement, ()).expect("the server lets it read");
                        assert_eq!(rows, [10]);
                    } else {
                        assert_eq!(answer(keeper, READ), Ok(vec![vec!["10".into()]]));
                    }
                };
                if freshet.is_there() {
                    // It has hits of its own.
                    let mut counted = Counted::of(freshet);
                    eventually("the keeper has hits", || {
                        let before = counted.hits();
                        read(&mut keeper);
                        (counted.hits() > before).then_some(())
                    });
                }
                for _ in 0..3 {
                    read(&mut keeper);
                    let mut fresh = connect(&as_user(freshet.target(), &user), &schema);
                    assert_eq!(answer(&mut fresh, READ), Err(1142));
                    assert!(fresh.prep(READ).is_err());
                    assert_eq!(answer(&mut fresh, "SELECT id FROM other"), Ok(vec![]));
                }
            }
            // The server looks at its rights when it moves.
            run(&mut keeper, &["USE information_schema", &format!("USE {schema}")]);
            for _ in 0..3 {
                assert_eq!(answer(&mut keeper, READ), Err(1142));
                assert!(keeper.exec_drop(&statement, ()).is_err());
            }
        }
    });
}

#[test]
fn clients_share_what_they_read_while_nobody_takes_rights_from_them() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut stage = stage(server, "sharing");
        // Whoever logs in before it is known when his account was made could have been there before.
        caught_up(freshet);
        let (schema, user) = (stage.schema.clone(), stage.user.clone());
        let mut first = primed(freshet, &stage);
        let mut second = connect(&as_user(freshet.target(), &user), &schema);
        assert!(answer(&mut second, READ).is_ok());
        for (at, statement) in [
            format!("GRANT INSERT ON {schema}.* TO {user}"),
            format!("ALTER USER {user} IDENTIFIED BY 'pw'"),
            format!("CREATE USER {user}_2"),
            format!("DROP USER {user}_2"),
            "FLUSH TABLES".to_owned(),
        ]
        .iter()
        .enumerate()
        {
            run(&mut stage.admin, &[statement]);
            caught_up(freshet);
            let read = format!("SELECT v + {at} FROM t WHERE id = 1");
            let mut counted = Counted::of(freshet);
            let _ = counted.prime(&mut first, &read);
            assert!(counted.hits_of(&mut second, &read, 1) == 1, "after {statement}");
        }
    });
}
