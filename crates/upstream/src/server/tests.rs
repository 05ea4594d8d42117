use super::samples::imagined;
use super::*;

fn version(major: u16, minor: u16, patch: u16) -> Version {
    Version { major, minor, patch }
}

#[test]
fn versions_are_read_from_their_texts() {
    for (text, expected, expected_flavor) in [
        ("10.11.19-MariaDB-0+deb12u1-log", version(10, 11, 19), Flavor::MariaDb),
        ("5.5.5-10.6.2-MariaDB", version(10, 6, 2), Flavor::MariaDb),
        ("9.7.4-2", version(9, 7, 4), Flavor::MySql),
        ("8.0.36-28.1", version(8, 0, 36), Flavor::MySql),
        ("5.5.5-m3", version(5, 5, 5), Flavor::MySql),
        ("8.0.mysql_aurora.3.04.0", version(8, 0, 0), Flavor::MySql),
        ("", version(0, 0, 0), Flavor::MySql),
    ] {
        assert_eq!(Version::parse(text), expected, "{text}");
        assert_eq!(version::flavor(text), expected_flavor, "{text}");
    }
}

fn privileges(lines: &[&str]) -> Privileges {
    let mut privileges = Privileges::default();
    lines.iter().for_each(|line| privileges.add(line));
    privileges
}

#[test]
fn grants_are_believed_only_where_they_are_certain() {
    let all =
        privileges(&["GRANT ALL PRIVILEGES ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*X' WITH GRANT OPTION"]);
    assert!(all.has("REPLICATION SLAVE") && all.has("PROCESS") && all.has_in("TRIGGER", "x"));

    let few = privileges(&[
        "GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR ON *.* TO `a`@`%`",
        "GRANT SELECT, TRIGGER ON `shop\\_a`.* TO `a`@`%`",
        "GRANT TRIGGER ON `t%`.* TO `a`@`%`",
        "GRANT TRIGGER ON `b`.`t` TO `a`@`%`",
        "GRANT `role`@`%` TO `a`@`%`",
        "GRANT SELECT (`c`) ON `d`.`t` TO `a`@`%`",
        "something else entirely",
    ]);
    assert!(few.has("REPLICATION CLIENT") && few.has("REPLICATION SLAVE") && !few.has("PROCESS"));
    assert!(few.has_in("TRIGGER", "shop_a") && few.has_in("SELECT", "anything"));
    assert!(!few.has_in("TRIGGER", "tx") && !few.has_in("TRIGGER", "b") && !few.has("USAGE"));

    let revoked = privileges(&["GRANT TRIGGER ON *.* TO `a`@`%`", "REVOKE TRIGGER ON `x`.* FROM `a`@`%`"]);
    assert!(revoked.has_in("TRIGGER", "y") && !revoked.has_in("TRIGGER", "x"));

    assert_eq!(privileges(&["GRANT USAGE ON *.* TO `a`@`%`"]), Privileges::default());
}

#[test]
fn a_server_older_than_the_known_functions_is_not_understood() {
    assert!(imagined("5.6.51", &[]).modes().other_syntax);
    assert!(!imagined("5.7.44-log", &[]).modes().other_syntax && imagined("5.7.44-log", &[]).is_before_8());
    assert!(!imagined("8.0.36", &[]).is_before_8());
    assert!(!imagined("8.0.36", &[]).modes().other_syntax);
    assert!(imagined("10.4.1-MariaDB", &[]).modes().other_syntax);
}

#[test]
fn lists_of_schemas_are_split() {
    assert_eq!(list(Some("a,b, c")), ["a", "b", "c"]);
    assert!(list(Some("")).is_empty() && list(None).is_empty());
}
