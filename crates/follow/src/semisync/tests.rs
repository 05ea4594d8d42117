use super::*;

const GOOD: [(&str, &str); 5] = [
    ("rpl_semi_sync_source_enabled", "ON"),
    ("rpl_semi_sync_source_wait_point", "AFTER_SYNC"),
    ("rpl_semi_sync_source_wait_no_replica", "ON"),
    ("rpl_semi_sync_source_timeout", "10000"),
    ("rpl_semi_sync_source_wait_for_replica_count", "1"),
];
const ON: [(&str, &str); 2] = [("rpl_semi_sync_source_status", "ON"), ("rpl_semi_sync_source_clients", "1")];

/// `pairs` with some of them changed.
fn with(pairs: &[(&'static str, &'static str)], changed: &[(&'static str, &'static str)]) -> Variables {
    let value = |name: &str, value| changed.iter().find(|it| it.0 == name).map_or(value, |it| it.1);
    pairs.iter().map(|(name, old)| (*name, value(name, old))).collect()
}

#[test]
fn commits_wait_only_where_every_part_holds() {
    let why = |settings: &[(&'static str, &'static str)], status: &[(&'static str, &'static str)]| {
        waits(Flavor::MySql, &with(&GOOD, settings), &with(&ON, status)).map_err(|lack| lack.why)
    };
    assert_eq!(why(&[], &[]), Ok(Duration::from_secs(10)));
    let broken: [(&'static str, &'static str, &str); 5] = [
        ("rpl_semi_sync_source_enabled", "OFF", "is off at the server"),
        ("rpl_semi_sync_source_wait_point", "AFTER_COMMIT", "before it has reached us"),
        ("rpl_semi_sync_source_wait_no_replica", "OFF", "does not wait"),
        ("rpl_semi_sync_source_timeout", "999", "too short"),
        ("rpl_semi_sync_source_timeout", "?", "too short"),
    ];
    for (name, value, reason) in broken {
        assert!(why(&[(name, value)], &[]).unwrap_err().contains(reason), "{name} = {value}");
    }
    assert!(why(&[], &[("rpl_semi_sync_source_status", "OFF")]).unwrap_err().contains("fallen back"));
    assert!(why(&[], &[("rpl_semi_sync_source_clients", "0")]).unwrap_err().contains("does not count us"));
    assert!(why(&[], &[("rpl_semi_sync_source_clients", "2")]).unwrap_err().contains("2 replicas"));
    let both = [("rpl_semi_sync_source_wait_for_replica_count", "2")];
    assert!(why(&both, &[("rpl_semi_sync_source_clients", "2")]).is_ok());
}

#[test]
fn old_names_are_understood_and_a_missing_plugin_is_named() {
    let old = [
        ("rpl_semi_sync_master_enabled", "ON"),
        ("rpl_semi_sync_master_wait_point", "AFTER_SYNC"),
        ("rpl_semi_sync_master_wait_no_slave", "ON"),
        ("rpl_semi_sync_master_timeout", "1000"),
    ];
    let status = [("rpl_semi_sync_master_status", "ON"), ("rpl_semi_sync_master_clients", "1")];
    let (old, status) = (with(&old, &[]), with(&status, &[]));
    assert_eq!(waits(Flavor::MariaDb, &old, &status), Ok(TIMEOUT_MIN));
    assert_eq!(lack(Flavor::MariaDb, &old), None);
    let none = lack(Flavor::MySql, &Variables::default()).unwrap();
    assert!(none.remedy.contains("INSTALL PLUGIN rpl_semi_sync_source"));
    assert!(!is_known(&Variables::default()) && is_known(&old));
}
