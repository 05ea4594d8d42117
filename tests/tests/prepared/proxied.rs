//! Proxied accounts: a client logs in by one account and is another one. What it may, what it is answered, and what is kept for it
//! is the other's; its own name shows in USER() and `@@proxy_user`.
//!
//! MySQL's own plugins do so where `check_proxy_users` is on. None that is built into MariaDB does: GRANT PROXY changes nothing there.

use freshet_tests::cached::{Counted, caught_up, run};
use freshet_tests::raw::Raw;
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};

use super::preparing::{code, preparation, unmade};
use super::{Client, int, stage};

const SCHEMA: &str = "proxied";
const TEXT: &str = "SELECT v FROM t WHERE id = ?";
/// The variables that have MySQL look for the account of which one is a proxy.
const SWITCHES: [&str; 2] = ["check_proxy_users", "caching_sha2_password_proxy_users"];

/// A server whose plugins map users, and not any more in the end.
struct Mapping<'a>(&'a Server);

impl Mapping<'_> {
    fn switch(&self, is_on: bool) {
        if self.0.flavor == Flavor::MySql {
            let mut admin = self.0.target.connect();
            SWITCHES.iter().for_each(|name| run(&mut admin, &[&format!("SET GLOBAL {name} = {is_on}")]));
        }
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        self.switch(false);
    }
}

fn login(target: &Target, user: &str) -> std::io::Result<Client> {
    let mut raw = Raw::dial(&target.host, target.port)?;
    raw.login(user, "", 0)?;
    Ok(Client(raw))
}

/// A client of either way, who uses the schema.
fn pair_of(server: &Server, freshet: &Freshet, user: &str) -> (Client, Client) {
    let both = [&server.target, freshet.target()].map(|target| {
        let mut client = login(target, user).expect("it is let in");
        client.0.query(&format!("USE {SCHEMA}")).expect("an answer");
        client
    });
    both.into()
}

/// Two proxies and the account that they are.
fn stage_accounts(server: &Server, freshet: &Freshet) -> mysql::Conn {
    let mut admin = stage((server, freshet), SCHEMA);
    run(
        &mut admin,
        &[
            "DROP USER IF EXISTS proxied_one, proxied_two, proxied_target",
            // Whoever may do everything may not lend accounts, but for the first of all.
            "REPLACE INTO mysql.proxies_priv (Host, User, Proxied_host, Proxied_user, With_grant, Grantor) \
             VALUES ('%', 'admin', '', '', 1, '')",
            "FLUSH PRIVILEGES",
            "CREATE USER proxied_target IDENTIFIED BY 'it never logs in'",
            "CREATE USER proxied_one IDENTIFIED BY ''",
            "CREATE USER proxied_two IDENTIFIED BY ''",
            "GRANT PROXY ON proxied_target TO proxied_one",
            "GRANT PROXY ON proxied_target TO proxied_two",
        ],
    );
    for name in
        if server.flavor == Flavor::MySql { &["proxied_target"][..] } else { &["proxied_one", "proxied_two"] }
    {
        run(&mut admin, &[&format!("GRANT SELECT ON {SCHEMA}.t TO {name}")]);
    }
    caught_up(freshet);
    admin
}

#[test]
fn a_proxy_is_the_account_that_it_is_lent() {
    with_each(|server, freshet| {
        let mapping = Mapping(server);
        mapping.switch(true);
        let _admin = stage_accounts(server, freshet);
        let mut counted = Counted::of(freshet);
        const NAMES: &str = "SELECT CURRENT_USER(), USER(), @@proxy_user, @@external_user";
        const ROW: &str = "SELECT CURRENT_USER(), USER(), @@proxy_user, v FROM t WHERE id = 1";
        const EXECUTED: &str = "SELECT CURRENT_USER(), USER(), @@proxy_user, v FROM t WHERE id = ?";
        // The second time, logins and answers are known.
        for round in 0..2 {
            for user in ["proxied_one", "proxied_two"] {
                let (mut direct, mut reader) = pair_of(server, freshet, user);
                let account = direct.one("SELECT CURRENT_USER()");
                if server.flavor == Flavor::MySql {
                    assert_eq!(account, "proxied_target@%");
                }
                for text in [
                    NAMES,
                    "SHOW GRANTS",
                    ROW,
                    ROW,
                    "SELECT v FROM t WHERE id = 1",
                    "SELECT v FROM t WHERE id = 1",
                ] {
                    let expected = direct.0.query(text).unwrap();
                    assert_eq!(code(&expected), None, "{text}");
                    assert_eq!(reader.0.query(text).unwrap(), expected, "{round} {user} {text}");
                }
                for text in [EXECUTED, TEXT] {
                    let (there, expected) = preparation(&mut direct, text);
                    let (here, got) = preparation(&mut reader, text);
                    assert_eq!(got, expected, "{round} {user} {text}");
                    for _ in 0..3 {
                        let expected = direct.execute(there, &[int(1)]);
                        assert_eq!(reader.execute(here, &[int(1)]), expected, "{round} {user} {text}");
                    }
                }
                let here = unmade(freshet, &mut reader, TEXT);
                let there = direct.prepare(TEXT);
                if freshet.is_there() {
                    let expected = direct.execute(there, &[int(2)]);
                    assert_eq!(reader.prime(&mut counted, here, &[int(2)]), expected, "{round} {user}");
                }
            }
        }
    });
}

#[test]
fn what_a_lent_account_loses_its_proxies_lose_at_once() {
    with_each(|server, freshet| {
        let mapping = Mapping(server);
        mapping.switch(true);
        let mut admin = stage_accounts(server, freshet);
        let holders: &[&str] = if server.flavor == Flavor::MySql {
            &["proxied_target"]
        } else {
            &["proxied_one", "proxied_two"]
        };
        let each = |word: &str, to: &str| -> Vec<String> {
            holders.iter().map(|holder| format!("{word} SELECT ON {SCHEMA}.t {to} {holder}")).collect()
        };
        for begins in [false, true] {
            for user in ["proxied_one", "proxied_two"] {
                each("GRANT", "TO").iter().for_each(|grant| run(&mut admin, &[grant]));
                caught_up(freshet);
                let (mut direct, mut reader) = pair_of(server, freshet, user);
                let there = direct.prepare(TEXT);
                let here = unmade(freshet, &mut reader, TEXT);
                if freshet.is_there() {
                    reader.prime(&mut Counted::of(freshet), here, &[int(1)]);
                }
                let fresh = unmade(freshet, &mut reader, TEXT);
                for client in [&mut direct, &mut reader] {
                    client.0.query(if begins { "BEGIN" } else { "DO 0" }).unwrap();
                }
                // Through Freshet: nobody is given anything from then on.
                let mut through = freshet.target().connect();
                each("REVOKE", "FROM").iter().for_each(|revoke| run(&mut through, &[revoke]));
                let expected = direct.execute(there, &[int(1)]);
                assert!(code(&expected).is_some(), "{user} {begins}: {expected:?}");
                for id in [here, fresh] {
                    assert_eq!(reader.execute(id, &[int(1)]), expected, "{user} {begins}");
                }
                assert_eq!(
                    preparation(&mut reader, TEXT).1,
                    preparation(&mut direct, TEXT).1,
                    "{user} {begins}"
                );
                let text = "SELECT v FROM t WHERE id = 1";
                assert_eq!(reader.0.query(text).unwrap(), direct.0.query(text).unwrap(), "{user} {begins}");
            }
        }
    });
}

/// Who is lent an account no more is itself with the next login; the sessions that there are stay.
#[test]
fn an_account_that_is_lent_no_more_is_nobodys_with_the_next_login() {
    with_each(|server, freshet| {
        let mapping = Mapping(server);
        for takes_away in
            ["REVOKE PROXY ON proxied_target FROM proxied_one", "SET GLOBAL check_proxy_users = OFF"]
        {
            if server.flavor == Flavor::MariaDb && takes_away.starts_with("SET") {
                continue;
            }
            mapping.switch(true);
            let mut admin = stage_accounts(server, freshet);
            let (mut direct, mut reader) = pair_of(server, freshet, "proxied_one");
            let there = direct.prepare(TEXT);
            let here = unmade(freshet, &mut reader, TEXT);
            if freshet.is_there() {
                reader.prime(&mut Counted::of(freshet), here, &[int(1)]);
            }
            drop(pair_of(server, freshet, "proxied_one"));
            run(&mut admin, &[takes_away]);
            // The sessions that were there before.
            for id in [1, 2] {
                assert_eq!(
                    reader.execute(here, &[int(id)]),
                    direct.execute(there, &[int(id)]),
                    "{takes_away}"
                );
            }
            let (mut direct, mut reader) = pair_of(server, freshet, "proxied_one");
            assert_eq!(direct.one("SELECT CURRENT_USER()"), "proxied_one@%");
            for text in [
                "SELECT CURRENT_USER(), USER(), @@proxy_user",
                "SELECT v FROM proxied.t WHERE id = 1",
                "SHOW GRANTS",
            ] {
                let expected = direct.0.query(text).unwrap();
                assert_eq!(reader.0.query(text).unwrap(), expected, "{takes_away} {text}");
            }
            const QUALIFIED: &str = "SELECT v FROM proxied.t WHERE id = ?";
            let expected = preparation(&mut direct, QUALIFIED).1;
            assert_eq!(preparation(&mut reader, QUALIFIED).1, expected, "{takes_away}");
        }
    });
}
