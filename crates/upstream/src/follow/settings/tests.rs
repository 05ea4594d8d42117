use super::*;

fn rows(rows: &[&[&str]]) -> Rows {
    let cells = |row: &&[&str]| row.iter().map(|cell| Some(cell.as_bytes().to_vec())).collect();
    Rows { rows: rows.iter().map(cells).collect(), ..Rows::default() }
}

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let pairs: Vec<[&str; 2]> = pairs.iter().map(|(name, value)| [*name, *value]).collect();
    let pairs: Vec<&[&str]> = pairs.iter().map(|pair| &pair[..]).collect();
    Settings::from_rows(&rows(&pairs))
}

#[test]
fn what_can_be_followed() {
    let mysql =
        settings(&[("version", "8.4.0"), ("log_bin", "ON"), ("binlog_format", "ROW"), ("gtid_mode", "ON")]);
    assert!(mysql.usable().is_ok() && mysql.has_gtids() && mysql.flavor == Flavor::MySql);
    let maria = settings(&[("version", "10.11.6-MariaDB-log"), ("log_bin", "ON"), ("binlog_format", "ROW")]);
    assert!(maria.usable().is_ok() && !maria.has_gtids() && maria.flavor == Flavor::MariaDb);
    let newest = settings(&[("version", "10.0.0"), ("log_bin", "ON")]);
    assert!(newest.usable().is_ok(), "ROW is the only format that is left");
}

#[test]
fn what_cannot_be_followed_says_what_mends_it() {
    for pairs in
        [&[("log_bin", "OFF"), ("binlog_format", "ROW")], &[("log_bin", "ON"), ("binlog_format", "MIXED")]]
    {
        let Err(Refusal::Off { why, remedy }) = settings(pairs).usable() else { panic!("{pairs:?}") };
        assert!(!why.is_empty() && !remedy.is_empty());
    }
}

#[test]
fn permissive_gtids_are_none() {
    assert!(!settings(&[("version", "8.4.0"), ("gtid_mode", "ON_PERMISSIVE")]).has_gtids());
}

#[test]
fn who_sees_threads() {
    for (grant, sees) in [
        ("GRANT ALL PRIVILEGES ON *.* TO `a`@`%`", true),
        ("GRANT SELECT, PROCESS, REPLICATION SLAVE ON *.* TO `a`@`%`", true),
        ("GRANT REPLICATION SLAVE ON *.* TO `a`@`%`", false),
        ("GRANT ALL PRIVILEGES ON `process`.* TO `a`@`%`", false),
        ("GRANT `PROCESS`@`%` TO `a`@`%`", false),
    ] {
        assert_eq!(sees_threads(&rows(&[&[grant]])), sees, "{grant}");
    }
}
