use super::*;

#[test]
fn every_spelling_of_load_and_save() {
    let spellings = [
        ("LOAD", "TO RUNTIME", Copy::MemoryToRuntime),
        ("LOAD", "TO RUN", Copy::MemoryToRuntime),
        ("LOAD", "FROM MEMORY", Copy::MemoryToRuntime),
        ("LOAD", "FROM MEM", Copy::MemoryToRuntime),
        ("LOAD", "FROM DISK", Copy::DiskToMemory),
        ("LOAD", "TO MEMORY", Copy::DiskToMemory),
        ("LOAD", "to mem", Copy::DiskToMemory),
        ("SAVE", "TO MEMORY", Copy::RuntimeToMemory),
        ("SAVE", "TO MEM", Copy::RuntimeToMemory),
        ("SAVE", "FROM RUNTIME", Copy::RuntimeToMemory),
        ("save", "FROM RUN", Copy::RuntimeToMemory),
        ("SAVE", "TO DISK", Copy::MemoryToDisk),
        ("SAVE", "FROM MEMORY", Copy::MemoryToDisk),
        ("SAVE", "FROM MEM", Copy::MemoryToDisk),
    ];
    let modules = [
        ("MYSQL USERS", Module::Users),
        ("MYSQL SERVERS", Module::Servers),
        ("mysql  query\nRULES", Module::Rules),
        ("MYSQL VARIABLES", Module::Variables),
        ("ADMIN VARIABLES", Module::AdminVariables),
    ];
    for (verb, layers, copy) in spellings {
        for (name, module) in modules {
            let statement = format!("{verb} {name} {layers}");
            assert_eq!(read(&statement), Some(AdminCommand::Move(module, copy)), "{statement}");
        }
    }
    assert_eq!(read("LOAD MYSQL USERS FROM CONFIG"), Some(AdminCommand::FromConfig(Module::Users)));
    for none in [
        "LOAD MYSQL USERS",
        "SAVE MYSQL USERS TO RUNTIME",
        "LOAD MYSQL USERS TO DISK",
        "LOAD DATA INFILE 'x'",
    ] {
        assert_eq!(read(none), None, "{none}");
    }
}

#[test]
fn what_clients_ask_at_once() {
    let variable = |name: &str| ServerQuestion::Variable(name.to_owned());
    let cases = [
        ("select @@version_comment limit 1", "@@version_comment", variable("version_comment")),
        ("SELECT @@SESSION.max_allowed_packet AS m", "m", variable("max_allowed_packet")),
        ("SELECT DATABASE()", "DATABASE()", ServerQuestion::Database),
        ("select USER()", "USER()", ServerQuestion::User),
        ("SELECT VERSION()", "VERSION()", ServerQuestion::Version),
    ];
    for (statement, column, asked) in cases {
        assert_eq!(read(statement), Some(AdminCommand::Ask(vec![(column.to_owned(), asked)])), "{statement}");
    }
    let several = vec![
        ("a".to_owned(), variable("a_b")),
        ("@@x".to_owned(), variable("x")),
        ("USER()".to_owned(), ServerQuestion::User),
    ];
    assert_eq!(read("SELECT  @@session.a_b AS a, @@x, USER() LIMIT 1"), Some(AdminCommand::Ask(several)));
    for none in [
        "SELECT 1",
        "SELECT @@a, 1",
        "SELECT @@a, (SELECT 1)",
        "SELECT @@a FROM t",
        "SELECT * FROM mysql_servers",
        "SELECT",
    ] {
        assert_eq!(read(none), None, "{none}");
    }
}

#[test]
fn parts_of_the_cache_are_flushed() {
    let purge = |what: &str| read(&format!("PROXYSQL FLUSH QUERY CACHE {what}"));
    let is = |what: Purge| Some(AdminCommand::Purge(what));
    assert_eq!(purge(""), Some(AdminCommand::FlushCache));
    assert_eq!(purge("DIGEST '0xBF'"), is(Purge::Digest("0xBF".to_owned())));
    assert_eq!(purge("rule 7"), is(Purge::Rule(7)));
    assert_eq!(purge("SCHEMA shop"), is(Purge::Schema("shop".to_owned())));
    assert_eq!(purge("USER 'app'"), is(Purge::User("app".to_owned())));
    assert_eq!(purge("TABLE `shop`.`t`"), is(Purge::Table("shop".to_owned(), "t".to_owned())));
    for none in ["RULE x", "TABLE t", "DIGEST", "DIGEST a b", "EVERYTHING 1"] {
        assert_eq!(purge(none), None, "{none}");
    }
}

#[test]
fn variables_are_set_by_their_names() {
    let set =
        |name: &str, value: &str| Some(AdminCommand::Set { name: name.to_owned(), value: value.to_owned() });
    assert_eq!(read("SET mysql-query_cache_size_MB=64"), set("mysql-query_cache_size_MB", "64"));
    assert_eq!(read("set `mysql-query_digests` = 'true'"), set("mysql-query_digests", "true"));
    for session in ["SET NAMES utf8mb4", "SET AUTOCOMMIT = 0", "SET sql_mode='ANSI'", "SET @@wait_timeout=1"]
    {
        assert_eq!(read(session), Some(AdminCommand::SetSession), "{session}");
    }
}
