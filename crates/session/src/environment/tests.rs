use std::sync::Arc;

use super::*;

const MYSQL: Modes = Modes::new(Flavor::MySql);

fn query() -> VectorQuery {
    VectorQuery::new(|name| name != "tx_isolation" && name != "old", true)
}

fn row(query: &VectorQuery, values: &[(&str, &str)]) -> Vec<Option<Vec<u8>>> {
    let mut row = vec![Some(b"x".to_vec()); query.width()];
    for name in ["character_set_client", "character_set_connection", "character_set_results"] {
        row[query.position(name).unwrap()] = Some(b"utf8mb4".to_vec());
    }
    for (name, value) in values {
        row[query.position(name).unwrap()] = Some(value.as_bytes().to_vec());
    }
    row
}

#[test]
fn variables_that_the_server_lacks_are_not_asked_for() {
    assert!(query().sql().contains("@@session.transaction_isolation"));
    assert!(!query().sql().contains("tx_isolation"));
    assert!(!query().sql().contains("@@session.old,"));
}

/// A new session is taken to begin like the ones before it until a global variable changes.
#[test]
fn the_start_values_of_what_is_read_of_a_session_are_looked_at() {
    const OF_NO_GLOBAL: [&str; 3] = ["resultset_metadata", "gtid_next", "sql_log_bin"];
    let unwatched: Vec<&str> =
        variable_names().filter(|name| freshet_upstream::server::concerns(name).is_none()).collect();
    assert_eq!(unwatched, OF_NO_GLOBAL);
}

#[test]
fn what_is_keyed_makes_another_environment_and_what_is_not_does_not() {
    let query = query();
    let environments = Environments::default();
    let id = |values: &[(&str, &str)]| {
        environments.intern(Environment::read(&query, b"user", &row(&query, values), MYSQL)).id
    };
    let plain = id(&[]);
    assert_ne!(plain, 0);
    assert_eq!(id(&[("wait_timeout", "5")]), plain);
    assert_eq!(id(&[("sql_log_bin", "0")]), plain);
    for (name, value) in
        [("sql_mode", "ANSI_QUOTES"), ("time_zone", "+01:00"), ("schema", "other"), ("role", "r")]
    {
        assert_ne!(id(&[(name, value)]), plain, "{name}");
    }
}

#[test]
fn a_null_and_an_empty_value_differ() {
    let query = query();
    let mut null = row(&query, &[("schema", "")]);
    let empty = Environment::read(&query, b"", &null, MYSQL);
    null[query.position("schema").unwrap()] = None;
    assert_ne!(Environment::read(&query, b"", &null, MYSQL).keyed, empty.keyed);
}

/// The bytes of a name in KOI8-R or Latin 1 may be those of another name in UTF-8.
#[test]
fn names_are_told_where_their_character_set_is_known() {
    let query = query();
    let read = |values: &[(&str, &str)]| {
        let it = Environment::read(&query, b"", &row(&query, values), MYSQL);
        (it.schema, it.has_unclear_schema, it.refused.is_some(), it.tells_names)
    };
    let plain = |name: &str| Some(name.to_owned());
    assert_eq!(read(&[("schema", "s")]), (plain("s"), false, false, true));
    assert_eq!(read(&[("schema", "é")]), (plain("é"), false, false, true));
    let koi8r = [("character_set_client", "koi8r"), ("character_set_results", "koi8r")];
    assert_eq!(read(&[&koi8r[..], &[("schema", "s")]].concat()), (plain("s"), false, false, false));
    assert_eq!(read(&[&koi8r[..], &[("schema", "é")]].concat()), (None, true, true, false));
    assert_eq!(read(&[("character_set_results", "latin1"), ("schema", "é")]), (None, true, true, true));
    // Characters that latin1 does not have are shown in the same way.
    assert_eq!(read(&[("character_set_results", "latin1"), ("schema", "?")]), (None, true, true, true));
    assert_eq!(read(&[("schema", "?")]), (plain("?"), false, false, true));
    let mut none = row(&query, &[]);
    none[query.position("schema").unwrap()] = None;
    let none = Environment::read(&query, b"", &none, MYSQL);
    assert_eq!((none.schema, none.has_unclear_schema, none.refused), (None, false, None));
}

#[test]
fn charsets_and_isolation_levels_refuse() {
    let query = query();
    let refused = |values: &[(&str, &str)]| {
        Environment::read(&query, b"", &row(&query, values), modes_of_server(b"10.11.19-MariaDB"))
            .refused
            .is_some()
    };
    assert!(!refused(&[]));
    assert!(!refused(&[("character_set_client", "koi8r"), ("character_set_connection", "cp1251")]));
    for name in ["character_set_client", "character_set_connection", "character_set_results"] {
        for unread in ["swe7", "ucs2", "utf16", "utf16le", "utf32", "utf7"] {
            assert!(refused(&[(name, unread)]), "{name} {unread}");
        }
        for of_more_bytes in ["big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ujis"]
        {
            assert!(!refused(&[(name, of_more_bytes)]), "{name} {of_more_bytes}");
        }
    }
    assert!(refused(&[("sql_mode", "HIGH_NOT_PRECEDENCE")]));
    assert!(refused(&[("isolation", "SERIALIZABLE")]));
    assert!(refused(&[("sql_auto_is_null", "1")]));
    assert!(refused(&[("isolation", "READ-UNCOMMITTED")]));
}

#[test]
fn sessions_at_read_committed_and_repeatable_read_share_their_answers() {
    let query = query();
    let read = |isolation| Environment::read(&query, b"", &row(&query, &[("isolation", isolation)]), MYSQL);
    let (one, other) = (read("READ-COMMITTED"), read("REPEATABLE-READ"));
    assert_eq!(one.keyed, other.keyed);
    assert_ne!(one.whole, other.whole);
}

#[test]
fn what_transactions_are_like_is_read() {
    let query = query();
    let read = |values: &[(&str, &str)]| {
        Environment::read(&query, b"", &row(&query, values), modes_of_server(b"10.11.19-MariaDB"))
            .transactions
    };
    let usual = [
        ("isolation", "REPEATABLE-READ"),
        ("autocommit", "1"),
        ("completion_type", "NO_CHAIN"),
        ("gtid_next", "AUTOMATIC"),
    ];
    let plain = read(&usual);
    assert!(plain.are_snapshots && plain.autocommit && plain.leave_no_trace);
    assert!(!plain.are_read_only && !plain.writes_heed_snapshots);
    for (isolation, expected) in
        [("READ-COMMITTED", true), ("READ-UNCOMMITTED", false), ("SERIALIZABLE", false)]
    {
        let read = read(&[("isolation", isolation)]);
        assert_eq!((read.are_snapshots, read.read_committed), (false, expected));
    }
    assert!(!read(&[("autocommit", "0")]).autocommit);
    assert!(read(&[("completion_type", "CHAIN")]).chain && !plain.chain);
    assert!(read(&[("completion_type", "2")]).release && !plain.release);
    assert!(!read(&[]).leave_no_trace);
    let given = [("completion_type", "NO_CHAIN"), ("gtid_next", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1")];
    assert!(!read(&given).leave_no_trace);
    assert!(read(&[("read_only", "1")]).are_read_only);
    assert!(read(&[("innodb_snapshot_isolation", "1")]).writes_heed_snapshots);
}

#[test]
fn plain_statements_after_a_known_environment_can_be_looked_up_as_a_row() {
    let query = query();
    let before = Arc::new(Environment::read(&query, b"", &row(&query, &[]), MYSQL));
    let after = |statements: &[&[u8]]| {
        let mut known = Known::Read(Arc::clone(&before));
        statements.iter().for_each(|statement| known.changed_by(statement, is_plain_set(statement)));
        match known {
            Known::After(_, ran) => Some(ran),
            _ => None,
        }
    };
    let both = after(&[b"SET autocommit=1", b"SET autocommit=0"]);
    assert!(both.is_some());
    assert_ne!(both, after(&[b"SET autocommit=0", b"SET autocommit=1"]));
    assert_ne!(both, after(&[b"SET autocommit=1SET autocommit=0"]));
    assert_eq!(after(&[b"SET autocommit=1", b"SET GLOBAL autocommit=0"]), None);
    assert_eq!(after(&[b"SET GLOBAL autocommit=0", b"SET autocommit=1"]), None);
    let long = [b"SET SESSION block_encryption_mode = 'aes-256-cbc'".as_slice(); 20];
    assert_eq!(after(&long), None, "what is kept is bounded");
}

#[test]
fn the_sessions_transactions_are_set_plainly() {
    for plain in [
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "set session transaction read only",
        "SET LOCAL TRANSACTION\tREAD WRITE ",
    ] {
        assert!(is_plain_set(plain.as_bytes()), "{plain}");
    }
    for other in [
        "SET TRANSACTION READ ONLY",
        "SET GLOBAL TRANSACTION READ ONLY",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION TRANSACTION READ ONLY, ISOLATION LEVEL READ COMMITTED",
        "SET SESSION TRANSACTION /*! READ ONLY */",
    ] {
        assert!(!is_plain_set(other.as_bytes()), "{other}");
    }
}

#[test]
fn what_cannot_be_read_for_certain_is_read_as_the_worst() {
    let query = query();
    let modes =
        |values: &[(&str, &str)], server| Environment::read(&query, b"", &row(&query, values), server).modes;
    assert!(!modes(&[], MYSQL).other_syntax);
    assert!(modes(&[("character_set_client", "swe7")], MYSQL).other_syntax);
    assert!(modes(&[("character_set_results", "utf32")], MYSQL).other_syntax);
    let gbk = modes(&[("character_set_client", "gbk")], MYSQL);
    assert!(!gbk.other_syntax && gbk.multi_byte.is_some() && !gbk.utf8_strings);
    assert_eq!(modes(&[("character_set_results", "gbk")], MYSQL).multi_byte, None);
    assert!(modes(&[("sql_mode", "PIPES_AS_CONCAT,ORACLE")], MYSQL).other_syntax);
    assert!(modes(&[], modes_of_server(b"5.6.51-log")).other_syntax);
    let of_5_7 = modes(&[], modes_of_server(b"5.7.44-log"));
    assert!(of_5_7.before_8 && !of_5_7.other_syntax);
    assert!(modes(&[], modes_of_server(b"10.3.39-MariaDB-log")).other_syntax);
    assert!(!modes(&[], modes_of_server(b"5.5.5-10.11.19-MariaDB")).other_syntax);
}

#[test]
fn what_is_not_keyed_is_each_sessions_own_all_the_same() {
    let query = query();
    let environments = Environments::default();
    let read = |values: &[(&str, &str)]| {
        environments.intern(Environment::read(&query, b"user", &row(&query, values), MYSQL))
    };
    assert!(!read(&[("sql_log_bin", "1")]).unlogged);
    assert!(read(&[("sql_log_bin", "0")]).unlogged);
    assert_eq!(read(&[("wait_timeout", "7"), ("idle_transaction_timeout", "0")]).idle_s_max, 7);
    assert_eq!(read(&[("wait_timeout", "7"), ("idle_transaction_timeout", "2")]).idle_s_max, 2);
}

#[test]
fn an_account_that_makes_up_environments_harms_nobody_else_and_gets_no_identity_twice() {
    let query = query();
    let environments = Environments::default();
    let read = |account: &str, value: &str| {
        let row = row(&query, &[("account", account), ("group_concat_max_len", value)]);
        environments.intern(Environment::read(&query, account.as_bytes(), &row, MYSQL)).id
    };
    let other = read("other@%", "1024");
    let mut seen = std::collections::HashSet::from([other]);
    for value in 0..5000 {
        assert!(seen.insert(read("user@%", &value.to_string())));
    }
    assert_eq!(read("other@%", "1024"), other);
    assert!(seen.insert(read("user@%", "0")), "it was forgotten, and is another one now");
}

#[test]
fn names_that_are_made_up_share_what_the_anonymous_account_may_have() {
    let query = query();
    let environments = Environments::default();
    let read = |account: &str, name: &str| {
        let row = row(&query, &[("account", account)]);
        environments.intern(Environment::read(&query, name.as_bytes(), &row, MYSQL)).id
    };
    let (other, first) = (read("other@%", "other"), read("@%", "name 0"));
    for name in 1..10_000 {
        assert_ne!(read("@%", &format!("name {name}")), first);
    }
    assert_eq!(read("other@%", "other"), other);
    assert_ne!(read("@%", "name 0"), first, "it was forgotten for names that came later");
}

#[test]
fn a_set_of_what_is_read_sets_nothing_else() {
    for text in [
        "SET NAMES utf8mb4",
        "set names 'latin1' collate latin1_bin",
        "SET time_zone = '+05:00', SESSION sql_mode = 'ANSI,NO_ZERO_DATE', LOCAL wait_timeout := 7",
        "SET autocommit=0, NAMES utf8mb4",
        "SET @@session.autocommit = ON",
        "SET @@time_zone = '+05:00,',  @@LOCAL.sql_mode='ANSI'",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "set local transaction read only",
    ] {
        assert!(sets_only_what_is_read(text.as_bytes()), "{text}");
    }
    for text in [
        "SET optimizer_trace = 'enabled=on'",
        "SET time_zone = '+05:00', optimizer_trace = 'enabled=on'",
        "SET sql_mode = \"'\", optimizer_trace = 'enabled=on'",
        r"SET sql_mode = 'a\'', optimizer_trace = 'enabled=on'",
        "SET GLOBAL time_zone = '+05:00'",
        "SET PERSIST time_zone = '+05:00'",
        "SET time_zone = @zone",
        "SET time_zone = @@time_zone",
        "SET time_zone = '+05:00', sql_mode = @@session.sql_mode",
        "SET @@global.time_zone = '+05:00'",
        "SET @@session.optimizer_trace = 'enabled=on'",
        "SET @@@time_zone = 1",
        "SET time_zone = (SELECT 1)",
        "SET @a = 1",
        "SET ROLE ALL",
        "SET TRANSACTION READ ONLY",
        "SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION TRANSACTION READ ONLY, ISOLATION LEVEL READ COMMITTED",
        "SET RESOURCE GROUP fast",
        "SET CHARACTER SET utf8mb4",
        "SET PASSWORD = 'x'",
        "SELECT 1",
        "SET",
        "",
    ] {
        assert!(!sets_only_what_is_read(text.as_bytes()), "{text}");
    }
}

#[test]
fn the_zone_is_known_where_its_clock_is() {
    let query = query();
    let zone = |name, system, shows_utc| {
        let values = [("time_zone", name), ("system_time_zone", system), ("shows_utc", shows_utc)];
        Environment::read(&query, b"", &row(&query, &values), MYSQL).zone
    };
    assert_eq!(zone("+02:00", "UTC", "0"), Zone::Fixed(7200));
    assert_eq!(zone("SYSTEM", "UTC", "1"), Zone::UTC);
    assert_eq!(zone("utc", "CET", "1"), Zone::UTC);
    assert_eq!(zone("SYSTEM", "UTC", "0"), Zone::Other, "it is called so, and is another");
    assert_eq!(zone("SYSTEM", "GMT", "1"), Zone::Other, "in other years it may be another");
    assert_eq!(zone("Europe/Berlin", "UTC", "0"), Zone::Other);
}

#[test]
fn what_rules_tell_apart_has_identities_of_its_own() {
    let query = query();
    let environments = Environments::default();
    let environment = environments.intern(Environment::read(&query, b"user", &row(&query, &[]), MYSQL));
    let ruled = RuledEnvironment {
        environment: environment.id,
        generation: 3,
        class: 0,
        variant: 0,
        bargain: None,
        policies: 0,
        keeper: None,
    };
    let id = |ruled| environments.under_rules(&environment.account, ruled).unwrap();
    let first = id(ruled);
    assert_eq!(id(ruled), first);
    assert_ne!(first, environment.id);
    for other in [
        RuledEnvironment { class: 1, ..ruled },
        RuledEnvironment { variant: 1, ..ruled },
        RuledEnvironment { keeper: Some(0), ..ruled },
        RuledEnvironment { environment: environment.id + 1, ..ruled },
    ] {
        assert_ne!(id(other), first, "{other:?}");
    }
    assert_eq!(environments.all()[&first].id, environment.id);
    // Identities are never given twice, even if those of earlier rules are forgotten.
    let later = id(RuledEnvironment { generation: 4, ..ruled });
    assert_ne!(later, first);
    assert!(!environments.all().contains_key(&first));
    assert!(id(ruled) > later);
}
