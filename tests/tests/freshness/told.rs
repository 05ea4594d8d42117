//! What a session is told of its own changes is what it has asked to be told, and it is answered from memory all the same.

use freshet_tests::cached::{Counted, fresh_schema, run};
use freshet_tests::raw::{Raw, capability, status};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};

const SCHEMA: &str = "fresh_told";

/// SERVER_SESSION_STATE_CHANGED.
const STATE_CHANGED: u16 = 1 << 14;

const READ: &str = "SELECT v FROM t WHERE id = 1";

/// Settings that a client makes.
const SETTINGS: &[&str] = &[
    "SELECT 1",
    "SET session_track_schema=1, session_track_system_variables=CONCAT(@@global.session_track_system_variables, ',auto_increment_increment')",
    "SET SESSION session_track_schema = 0",
    "SET SESSION session_track_state_change = 1",
    "SET SESSION session_track_transaction_info = 'STATE'",
    "SET SESSION session_track_transaction_info = 'CHARACTERISTICS'",
    "SET SESSION session_track_system_variables = ''",
    "SET SESSION session_track_system_variables = 'sql_mode'",
    "SET @@session_track_system_variables = 'SQL_MODE, sql_select_limit', session_track_state_change = ON",
    "SET SESSION session_track_system_variables = 'sql_mode', SESSION session_track_transaction_info = 'STATE', SESSION session_track_state_change = 1",
];

const SETTINGS_OF_MYSQL: &[&str] = &[
    "SET SESSION session_track_gtids = 'OWN_GTID'",
    "SET SESSION session_track_gtids = 'OWN_GTID', SESSION session_track_state_change = 1, SESSION session_track_transaction_info = 'CHARACTERISTICS'",
];

/// What it does then; each answer is compared.
const STATEMENTS: &[&str] = &[
    READ,
    "SET NAMES utf8mb4",
    "SET SESSION sql_mode = ''",
    "SET SESSION sql_select_limit = 7",
    "SET SESSION auto_increment_increment = 2",
    "SET time_zone = '+00:00'",
    "SELECT @@session_track_system_variables, @@session_track_schema, @@session_track_state_change, @@session_track_transaction_info",
    "SET @x = 1",
    "SHOW WARNINGS",
    "SHOW VARIABLES LIKE 'session_track%'",
    READ,
    "USE fresh_told",
    "INSERT INTO t VALUES (2, 20)",
    "SET autocommit = 0",
    READ,
    "COMMIT",
    "SET autocommit = 1",
    READ,
    "BEGIN",
    READ,
    "COMMIT",
    "CREATE TEMPORARY TABLE own (id INT)",
    "DROP TEMPORARY TABLE own",
    "CALL unset()",
    READ,
    READ,
    "DELETE FROM t WHERE id = 2",
    "SELECT @@session_track_system_variables",
    "SELECT nothing",
    READ,
    "SELECT VARIABLE_VALUE FROM performance_schema.session_variables WHERE VARIABLE_NAME = 'session_track_system_variables'",
    "SET SESSION session_track_state_change = 0",
    READ,
    "SET SESSION sql_mode = 'ANSI'",
    READ,
];

fn dial(target: &Target, form: u32) -> Raw {
    let mut raw = Raw::dial(&target.host, target.port).expect("it greets");
    raw.login(SCHEMA, SCHEMA, form).expect("the account has no password");
    raw
}

/// A packet as text; the GTIDs in it, which are never the same, as such.
fn shown(packet: &[u8], tracks: bool) -> String {
    let is_ok = matches!(packet.first(), Some(0 | 0xfe)) && packet.len() >= 7;
    // To a client that cannot be told of changes, the flag of one stands for good.
    if !tracks && packet.len() == 5 && packet[0] == 0xfe {
        return [&packet[..4], &[packet[4] & !0x40]].concat().escape_ascii().to_string();
    }
    if !tracks || !is_ok {
        return packet.escape_ascii().to_string();
    }
    if status(packet) & STATE_CHANGED == 0 {
        return packet[..4].iter().chain(&packet[5..7]).map(u8::to_string).collect::<String>()
            + &packet[7..].escape_ascii().to_string();
    }
    let mut at = 1;
    let mut take = |bytes: usize| {
        at += bytes;
        packet.get(at - bytes..at).unwrap_or_default()
    };
    // Affected rows, the last id (each in one byte here), flags, warnings.
    let mut said = take(6).escape_ascii().to_string();
    let info = usize::from(take(1)[0]);
    said += &take(info).escape_ascii().to_string();
    let mut left = match take(1)[0] {
        0xfc => usize::from(take(2)[0]) | usize::from(packet[9 + info]) << 8,
        short => usize::from(short),
    };
    // MariaDB reports variables in the order of a table whose size depends on how many are watched.
    let mut changes = Vec::new();
    while left > 1 {
        let head = take(2);
        let (kind, mut bytes) = (head[0], usize::from(head[1]));
        left = left.saturating_sub(2);
        if bytes == 0xfc {
            let two = take(2);
            bytes = usize::from(two[0]) | usize::from(two[1]) << 8;
            left = left.saturating_sub(2);
        }
        let data = take(bytes);
        left = left.saturating_sub(bytes);
        changes.push(format!(
            " {kind}:{}",
            if kind == 3 { "GTID".into() } else { data.escape_ascii().to_string() }
        ));
    }
    changes.sort_unstable();
    if changes.is_empty() {
        // MySQL may announce what had no room in an answer before, and is nothing any more.
        return packet[..4].iter().chain(&packet[5..7]).map(u8::to_string).collect();
    }
    said + &changes.concat()
}

fn transcript(target: &Target, setting: &str, form: u32) -> Vec<String> {
    let mut raw = dial(target, form);
    let tracks = form & capability::SESSION_TRACK != 0;
    [setting]
        .iter()
        .chain(STATEMENTS)
        .map(|text| {
            let packets = raw.query(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let packets: Vec<String> = packets.iter().map(|packet| shown(packet, tracks)).collect();
            format!("{text}: {}", packets.join(" | "))
        })
        .collect()
}

fn try_setting(server: &Server, freshet: &Freshet, setting: &str, form: u32) -> Vec<String> {
    let direct = transcript(&server.target, setting, form);
    let through = transcript(freshet.target(), setting, form);
    direct
        .iter()
        .zip(&through)
        .filter(|(direct, through)| direct != through)
        .map(|(direct, through)| format!("{setting} ({form:x}):\n  direct:  {direct}\n  through: {through}"))
        .collect()
}

/// Whether a session gets anything from memory after these statements.
fn is_answered(freshet: &Freshet, statements: &[&str], form: u32) -> bool {
    let mut counted = Counted::of(freshet);
    let mut raw = dial(freshet.target(), form);
    for statement in statements {
        let _ = raw.query(statement).expect("the setting is made");
    }
    let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
    let before = counted.hits();
    while counted.hits() == before {
        if std::time::Instant::now() > until {
            return !freshet.is_there();
        }
        let _ = raw.query(READ).expect("it is answered");
    }
    true
}

#[test]
fn a_client_is_told_what_it_asked_to_be_told() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, SCHEMA);
        run(
            &mut direct,
            &[
                "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
                "INSERT INTO t VALUES (1, 10)",
                "CREATE PROCEDURE unset() SET SESSION sql_select_limit = DEFAULT",
                "CREATE USER IF NOT EXISTS fresh_told IDENTIFIED BY ''",
                "GRANT ALL PRIVILEGES ON *.* TO fresh_told",
            ],
        );
        let own = if server.flavor == Flavor::MySql { SETTINGS_OF_MYSQL } else { &[][..] };
        let mut wrong = Vec::new();
        for setting in SETTINGS.iter().chain(own) {
            for form in [capability::SESSION_TRACK | capability::DEPRECATE_EOF, capability::SESSION_TRACK, 0]
            {
                wrong.extend(try_setting(server, freshet, setting, form));
                if !is_answered(freshet, &[setting], form) {
                    wrong.push(format!("{setting} ({form:x}): never from memory"));
                }
            }
        }
        // MySQL does not let anybody set what is reported of GTIDs within a transaction.
        const SHOWS: &str = "SHOW VARIABLES LIKE 'session_track%'";
        for statement in ["UPDATE t SET v = 10 WHERE id = 2", READ] {
            if !is_answered(freshet, &["BEGIN", statement, SHOWS, statement, SHOWS, "COMMIT"], 0) {
                wrong.push(format!("{SHOWS} in a transaction, after {statement}: never from memory"));
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.flavor, wrong.join("\n"));
    });
}
