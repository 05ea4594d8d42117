//! Attacks on rights: who may log in, and who may still read.

use freshet_tests::cached::{answer, run};
use freshet_tests::raw::Raw;
use freshet_tests::{Freshet, Target};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::found::Found;
use crate::ground::{Ground, PATIENCE, SCHEMA, prime, within};

const READ: &str = "SELECT v FROM t WHERE id = 1";
/// The same for a client without a schema, whose login needs no right.
const READ_IN_FULL: &str = "SELECT v FROM attack.t WHERE id = 1";

/// Somebody with this account's name and password.
fn as_user(target: &Target, user: &str, password: &str) -> Target {
    Target { user: user.into(), password: password.into(), ..target.clone() }
}

/// What a login gives: the error's code, or that it is let in.
fn login(target: &Target, user: &str, password: &str) -> String {
    match as_user(target, user, password).try_connect("") {
        Ok(_) => "let in".to_owned(),
        Err(mysql::Error::MySqlError(error)) => error.code.to_string(),
        Err(_) => "end".to_owned(),
    }
}

/// What a read gives: rows, or the error's code.
fn read(conn: &mut Conn, statement: &str) -> String {
    match freshet_tests::cached::try_answer(conn, statement) {
        Ok(Ok(_)) => "served".to_owned(),
        Ok(Err(code)) => code.to_string(),
        Err(_) => "end".to_owned(),
    }
}

/// An account made anew, with a right to read one table.
fn account(ground: &Ground, user: &str, how: &str) {
    run(
        &mut ground.admin(),
        &[
            &format!("DROP USER IF EXISTS {user}"),
            &format!("CREATE USER {user} {how}"),
            &format!("GRANT SELECT ON {SCHEMA}.t TO {user}"),
        ],
    );
}

fn in_clear(ground: &Ground, freshet: &Freshet, requires: &str) -> Found {
    account(ground, "attack_tls", &format!("IDENTIFIED BY '' REQUIRE {requires}"));
    ground.both(freshet, |target| {
        let raw = Raw::dial(&target.host, target.port);
        match raw.and_then(|mut raw| raw.login("attack_tls", "", 0)) {
            Ok(_) => "let in".to_owned(),
            Err(_) => "refused".to_owned(),
        }
    })
}

/// A client in clear, of an account that must use TLS.
pub fn require_ssl(ground: &Ground, freshet: &Freshet) -> Found {
    in_clear(ground, freshet, "SSL")
}

/// A client in clear, of an account that must show a certificate.
pub fn require_x509(ground: &Ground, freshet: &Freshet) -> Found {
    in_clear(ground, freshet, "X509")
}

/// Names and passwords that are not right.
pub fn wrong(ground: &Ground, freshet: &Freshet) -> Found {
    account(ground, "attack_right", "IDENTIFIED BY 'right'");
    account(ground, "attack_locked", "IDENTIFIED BY 'right' ACCOUNT LOCK");
    let pairs = [
        ("attack_right", "right"),
        ("attack_right", "wrong"),
        ("attack_right", ""),
        ("attack_locked", "right"),
        ("attack_none", ""),
        ("attack_none", "x"),
        ("ATTACK_RIGHT", "right"),
        ("attack_right ", "right"),
    ];
    ground.both(freshet, |target| {
        // Twice: the second login meets what the first one left behind.
        let said = pairs.iter().chain(&pairs).map(|(user, password)| login(target, user, password));
        said.collect::<Vec<_>>().join(" ")
    })
}

/// The old password, after it was changed.
pub fn changed_password(ground: &Ground, freshet: &Freshet) -> Found {
    ground.both(freshet, |target| {
        account(ground, "attack_changed", "IDENTIFIED BY 'old'");
        let before = login(target, "attack_changed", "old");
        run(&mut ground.admin(), &["ALTER USER attack_changed IDENTIFIED BY 'new'"]);
        let (old, new) = (login(target, "attack_changed", "old"), login(target, "attack_changed", "new"));
        format!("before {before}, old {old}, new {new}")
    })
}

/// A client whose password has expired reads nothing.
pub fn expired_password(ground: &Ground, freshet: &Freshet) -> Found {
    ground.both(freshet, |target| {
        account(ground, "attack_expired", "IDENTIFIED BY 'old'");
        let before = login(target, "attack_expired", "old");
        run(&mut ground.admin(), &["ALTER USER attack_expired PASSWORD EXPIRE"]);
        let after = match as_user(target, "attack_expired", "old").try_connect("") {
            Ok(mut conn) => read(&mut conn, READ_IN_FULL),
            Err(mysql::Error::MySqlError(error)) => error.code.to_string(),
            Err(_) => "end".to_owned(),
        };
        format!("before {before}, after {after}")
    })
}

/// What somebody who has read from memory is given once a right is gone; both ways must come to the same in time.
fn revoked(ground: &Ground, freshet: &Freshet, user: &str, grant: &dyn Fn(), revoke: &dyn Fn()) -> Found {
    let direct = std::cell::RefCell::new(String::new());
    ground.both_once(freshet, |target| {
        grant();
        let who = as_user(target, user, "old");
        let mut conn = who.try_connect(SCHEMA).expect("it lets in");
        let is_through = target.port == freshet.target().port;
        if is_through {
            prime(freshet, &mut conn, READ);
            prime(freshet, &mut who.try_connect("").expect("it lets in"), READ_IN_FULL);
        }
        let before = read(&mut conn, READ);
        revoke();
        let anew = |who: &Target| match who.try_connect("") {
            Ok(mut conn) => read(&mut conn, READ_IN_FULL),
            Err(mysql::Error::MySqlError(error)) => error.code.to_string(),
            Err(_) => "end".to_owned(),
        };
        let mut look = || {
            format!(
                "before {before}, on the same connection {}, on a new one {}",
                read(&mut conn, READ),
                anew(&who)
            )
        };
        if is_through {
            within(PATIENCE, &direct.borrow().clone(), look)
        } else {
            direct.replace(look());
            direct.borrow().clone()
        }
    })
}

/// An account that is gone while its client is there.
pub fn dropped(ground: &Ground, freshet: &Freshet) -> Found {
    let grant = || account(ground, "attack_dropped", "IDENTIFIED BY 'old'");
    let revoke = || run(&mut ground.admin(), &["DROP USER attack_dropped"]);
    revoked(ground, freshet, "attack_dropped", &grant, &revoke)
}

/// The grant tables edited by hand, and read again on this server alone.
pub fn local_flush(ground: &Ground, freshet: &Freshet) -> Found {
    let grant = || account(ground, "attack_edited", "IDENTIFIED BY 'old'");
    let revoke = || {
        let mut admin = ground.admin();
        run(
            &mut admin,
            &[
                "SET SESSION sql_log_bin = 0",
                "DELETE FROM mysql.tables_priv WHERE User = 'attack_edited'",
                "FLUSH LOCAL PRIVILEGES",
            ],
        );
    };
    revoked(ground, freshet, "attack_edited", &grant, &revoke)
}

/// A role that everybody had, and nobody has any more.
pub fn mandatory_roles(ground: &Ground, freshet: &Freshet) -> Found {
    let grant = || {
        let mut admin = ground.admin();
        run(
            &mut admin,
            &[
                "SET GLOBAL mandatory_roles = ''",
                "DROP ROLE IF EXISTS attack_role",
                "CREATE ROLE attack_role",
                "GRANT SELECT ON attack.* TO attack_role",
                "DROP USER IF EXISTS attack_roled",
                "CREATE USER attack_roled IDENTIFIED BY 'old'",
                "SET GLOBAL mandatory_roles = 'attack_role'",
                "SET GLOBAL activate_all_roles_on_login = ON",
            ],
        );
    };
    let revoke = || run(&mut ground.admin(), &["SET GLOBAL mandatory_roles = ''"]);
    let found = revoked(ground, freshet, "attack_roled", &grant, &revoke);
    let _ = ground.admin().query_drop("SET GLOBAL activate_all_roles_on_login = OFF");
    let _ = answer(&mut ground.admin(), "DROP ROLE IF EXISTS attack_role");
    found
}
