use std::sync::{Arc, Mutex};

use super::*;
use crate::runtime::Purge;

mod variables;

/// A running part that notes what is set.
#[derive(Clone, Default)]
struct Fake {
    set: Arc<Mutex<Vec<(String, String)>>>,
    resets: Arc<Mutex<u32>>,
}

impl Runtime for Fake {
    fn rows(&self, of: Statistic) -> Vec<Vec<SqliteValue>> {
        let digest = || {
            let texts = ["", "sbtest", "u", "", "0xBF001A0C13781C1D", "SELECT c FROM sbtest1 WHERE id=?"];
            let mut row: Vec<SqliteValue> = texts.into_iter().map(SqliteValue::from).collect();
            row[0] = SqliteValue::Integer(-1);
            row.extend([7, 1, 2, 0, 0, 0, 0, 0].map(SqliteValue::Integer));
            row
        };
        match of {
            Statistic::Digests => vec![digest()],
            Statistic::DigestsReset => {
                *self.resets.lock().unwrap() += 1;
                vec![digest()]
            }
            Statistic::Connections => Vec::new(),
            _ => vec![vec![SqliteValue::from("Client_Connections_connected"), SqliteValue::from("1")]],
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(format!("value of {name}"))
    }

    fn set_variable(&self, name: &str, value: &str) -> Result<(), String> {
        if value == "wrong" {
            return Err("it is wrong".to_owned());
        }
        self.set.lock().unwrap().push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    fn rule_columns(&self) -> &'static [&'static str] {
        &["rule_id", "error_msg"]
    }

    fn load_rules(&self, rows: Vec<Vec<Option<String>>>) -> Result<(), String> {
        match rows.iter().find(|row| row[1].is_some()) {
            Some(row) => Err(format!("rule {}: error_msg is wrong", row[0].as_deref().unwrap_or_default())),
            None => Ok(()),
        }
    }

    fn purge(&self, what: &Purge) -> Result<u64, String> {
        if *what == Purge::Rule(7) { Err("there is no rule 7".to_owned()) } else { Ok(2) }
    }

    fn server(&self) -> (String, u16) {
        ("db's".to_owned(), 3307)
    }

    fn flush_cache(&self) -> u64 {
        3
    }

    fn flush_logs(&self) -> Result<(), String> {
        Ok(())
    }

    fn pause(&self, is_paused: bool) -> bool {
        is_paused
    }

    fn prometheus(&self) -> String {
        "# HELP x y".to_owned()
    }

    fn shut_down(&self) {}
}

/// A directory of a test's own, which goes with it.
struct Directory(std::path::PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("freshet-admin-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(directory: &Directory) -> (Admin, Fake) {
    let fake = Fake::default();
    (start_with(directory, &fake).unwrap(), fake)
}

fn start_with(directory: &Directory, fake: &Fake) -> Result<Admin, StartError> {
    let mut accounts = Accounts::default();
    accounts.set(Role::Admin, "admin:admin").unwrap();
    accounts.set(Role::Stats, "stats:stats").unwrap();
    Admin::start(&directory.0, &directory.0.join("proxysql.cnf"), accounts, Box::new(fake.clone()))
}

fn main() -> Chosen {
    Chosen { schema: "main".to_owned(), connection: 1, has_begun: false, dumps: false }
}

fn run_as(admin: &mut Admin, statement: &str, role: Role) -> Result<Vec<String>, String> {
    let answer = admin.run(statement, &[], role, &mut main()).map_err(|refusal| refusal.to_string())?;
    let Answer::Rows { rows, .. } = answer else { return Ok(vec![format!("{answer:?}")]) };
    let cell = |value: &Option<Vec<u8>>| {
        value.as_ref().map_or_else(|| "NULL".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    Ok(rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join("|")).collect())
}

fn run(admin: &mut Admin, statement: &str) -> Vec<String> {
    run_as(admin, statement, Role::Admin).unwrap()
}

const DONE: &str = "Done { affected: 0, last_insert_id: 0, note: \"\" }";

#[test]
fn what_is_saved_is_there_after_a_restart_and_what_is_not_is_gone() {
    let directory = Directory::new("restart");
    let (mut admin, _) = start(&directory);
    let insert = "INSERT INTO mysql_query_rules (rule_id,active,digest,cache_ttl,apply) VALUES";
    assert_eq!(
        run(&mut admin, &format!("{insert} (1,1,'0xBF001A0C13781C1D',5000,1)")),
        ["Done { affected: 1, last_insert_id: 1, note: \"\" }"]
    );
    assert_eq!(run(&mut admin, "SAVE MYSQL QUERY RULES TO DISK"), [DONE]);
    run(&mut admin, &format!("{insert} (2,1,'0x290B92FD743826DA',5000,1)"));
    drop(admin);
    let (mut admin, _) = start(&directory);
    let found = "SELECT rule_id, re_modifiers, negate_match_pattern, attributes FROM mysql_query_rules";
    assert_eq!(run(&mut admin, found), ["1|CASELESS|0|"]);
    // What is loaded anew takes the place of what was edited.
    run(&mut admin, "DELETE FROM mysql_query_rules");
    run(&mut admin, "LOAD MYSQL QUERY RULES FROM DISK");
    assert_eq!(run(&mut admin, found), ["1|CASELESS|0|"]);
}

#[test]
fn the_server_is_hostgroup_0_unless_the_table_says_otherwise() {
    let directory = Directory::new("servers");
    let (mut admin, _) = start(&directory);
    let found = "SELECT hostgroup_id, hostname, port, status FROM runtime_mysql_servers";
    assert_eq!(run(&mut admin, found), ["0|db's|3307|ONLINE"]);
    run(&mut admin, "UPDATE mysql_servers SET hostgroup_id = 2");
    assert_eq!(run(&mut admin, found), ["0|db's|3307|ONLINE"]);
    run(&mut admin, "LOAD MYSQL SERVERS TO RUNTIME");
    assert_eq!(run(&mut admin, found), ["2|db's|3307|ONLINE"]);
}

#[test]
fn constraints_are_sqlites_and_leave_the_tables_as_they_are() {
    let directory = Directory::new("constraints");
    let (mut admin, _) = start(&directory);
    for wrong in [
        "INSERT INTO mysql_query_rules (active, cache_ttl) VALUES (1, 0)",
        "INSERT INTO mysql_query_rules (active, replace_pattern) VALUES (1, 'x')",
        "INSERT INTO mysql_query_rules (active, attributes) VALUES (1, '{')",
        "INSERT INTO mysql_query_rules (active, retries) VALUES (1, 1001)",
        "INSERT INTO mysql_servers (hostname, status) VALUES ('h', 'UP')",
        "INSERT INTO mysql_servers (port) VALUES (1)",
    ] {
        let error = run_as(&mut admin, wrong, Role::Admin).unwrap_err();
        assert!(error.contains("constraint failed"), "{wrong}: {error}");
    }
    assert!(run(&mut admin, "SELECT 1 FROM mysql_query_rules").is_empty());
}

#[test]
fn nobody_leaves_the_tables() {
    let directory = Directory::new("rights");
    let (mut admin, _) = start(&directory);
    for statement in [
        "ATTACH DATABASE '/tmp/x.db' AS x",
        "DETACH DATABASE disk",
        "VACUUM INTO '/tmp/x.db'",
        "PRAGMA writable_schema = 1",
        "CREATE TABLE x (y)",
        "DROP TABLE runtime_mysql_users",
        "DELETE FROM runtime_mysql_users",
        "DELETE FROM stats_mysql_global",
        "DELETE FROM sqlite_master",
        "SELECT load_extension('x')",
    ] {
        assert!(run_as(&mut admin, statement, Role::Admin).is_err(), "{statement}");
    }
    for statement in [
        "SELECT * FROM mysql_users",
        "SELECT * FROM disk.mysql_users",
        "SELECT digest, (SELECT password FROM mysql_users) FROM stats_mysql_query_digest",
        "DELETE FROM mysql_users",
        "INSERT INTO mysql_users (username) VALUES ('x')",
        "LOAD MYSQL USERS TO RUNTIME",
        "SET mysql-query_cache_size_MB = 1",
        "PROXYSQL FLUSH QUERY CACHE",
        "PROXYSQL SHUTDOWN",
        "TRUNCATE TABLE mysql_users",
        "SHOW VARIABLES",
    ] {
        assert!(run_as(&mut admin, statement, Role::Stats).is_err(), "{statement}");
    }
    assert_eq!(
        run_as(&mut admin, "SELECT count_star FROM stats_mysql_query_digest", Role::Stats).unwrap(),
        ["7"]
    );
    assert!(
        run_as(&mut admin, "SHOW TABLES", Role::Stats).unwrap().contains(&"stats_mysql_global".to_owned())
    );
}

#[test]
fn statistics_are_read_when_they_are_named_and_begin_anew_where_that_is_asked_for() {
    let directory = Directory::new("statistics");
    let (mut admin, fake) = start(&directory);
    let select = "SELECT count_star, sum_time, hostgroup, digest, digest_text FROM";
    let row = "7|0|-1|0xBF001A0C13781C1D|SELECT c FROM sbtest1 WHERE id=?";
    assert_eq!(
        run(&mut admin, &format!("{select} stats_mysql_query_digest ORDER BY sum_time DESC LIMIT 10")),
        [row]
    );
    assert_eq!(*fake.resets.lock().unwrap(), 0);
    assert_eq!(
        run(&mut admin, &format!("{select} stats_mysql_query_digest_reset ORDER BY sum_time DESC")),
        [row]
    );
    assert_eq!(*fake.resets.lock().unwrap(), 1);
    run(&mut admin, "TRUNCATE TABLE stats.stats_mysql_query_digest");
    assert_eq!(*fake.resets.lock().unwrap(), 2);
    assert_eq!(run(&mut admin, "SHOW MYSQL STATUS"), ["Client_Connections_connected|1"]);
}

#[test]
fn what_is_shown() {
    let directory = Directory::new("shown");
    let (mut admin, _) = start(&directory);
    let databases: Vec<String> = run(&mut admin, "SHOW DATABASES")
        .iter()
        .map(|row| row.split('|').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(databases, ["main", "disk", "stats", "monitor", "stats_history"]);
    assert_eq!(run(&mut admin, "SELECT @@version_comment LIMIT 1"), ["(ProxySQL Admin Module)"]);
    assert!(run(&mut admin, "SHOW TABLES").contains(&"runtime_mysql_query_rules".to_owned()));
    assert!(run(&mut admin, "SHOW TABLES FROM stats").contains(&"stats_mysql_query_digest_reset".to_owned()));
    assert!(
        run(&mut admin, "SHOW CREATE TABLE mysql_query_rules")[0]
            .contains("cache_ttl INT CHECK (cache_ttl > 0)")
    );
    assert!(run_as(&mut admin, "SHOW TABLES FROM nowhere", Role::Admin).is_err());
}

#[test]
fn errors_are_sqlites_own() {
    let directory = Directory::new("errors");
    let (mut admin, _) = start(&directory);
    let rule = "INSERT INTO mysql_query_rules (rule_id, cache_ttl) VALUES";
    run(&mut admin, &format!("{rule} (1, 1)"));
    for (statement, expected) in [
        ("selec 1".to_owned(), "near \"selec\": syntax error"),
        ("SELECT nope FROM mysql_users".to_owned(), "no such column: nope"),
        ("SELECT * FROM nope".to_owned(), "no such table: nope"),
        (format!("{rule} (1, 1)"), "UNIQUE constraint failed: mysql_query_rules.rule_id"),
        (format!("{rule} (2, 0)"), "CHECK constraint failed: cache_ttl > 0"),
    ] {
        let error = run_as(&mut admin, &statement, Role::Admin).unwrap_err();
        assert_eq!(error, format!("ProxySQL Admin Error: {expected}"), "{statement}");
    }
}

#[test]
fn who_dumps_is_shown_what_can_be_played_back() {
    let directory = Directory::new("who_dumps");
    let (mut admin, _) = start(&directory);
    let mut chosen = Chosen { dumps: true, ..main() };
    let mut run = |statement: &str| match admin.run(statement, &[], Role::Admin, &mut chosen).unwrap() {
        Answer::Rows { rows, .. } => {
            let text = |row: Vec<Option<Vec<u8>>>| String::from_utf8(row[0].clone().unwrap()).unwrap();
            rows.into_iter().map(text).collect()
        }
        Answer::Done { .. } => vec![DONE.to_owned()],
    };
    assert_eq!(run("SHOW DATABASES"), ["main"]);
    let tables = run("SHOW TABLES");
    assert!(tables.contains(&"mysql_users".to_owned()), "{tables:?}");
    assert!(!tables.iter().any(|table| table.starts_with("runtime")), "{tables:?}");
    // To name one of these is to count from 0 again.
    assert!(!run("SHOW TABLES FROM stats").contains(&"stats_mysql_query_digest_reset".to_owned()));
    assert_eq!(run("CREATE DATABASE IF NOT EXISTS `main`"), [DONE]);
    assert!(admin.run("CREATE DATABASE other", &[], Role::Admin, &mut chosen).is_err());
}

#[test]
fn a_rule_that_would_not_do_what_it_says_is_not_loaded() {
    let directory = Directory::new("rules");
    let (mut admin, _) = start(&directory);
    let loaded = "SELECT rule_id FROM runtime_mysql_query_rules";
    run(
        &mut admin,
        "INSERT INTO mysql_query_rules (rule_id, active, digest, cache_ttl) VALUES (1, 1, '0x1', 5000), (2, 0, '0x2', 1)",
    );
    run(&mut admin, "LOAD MYSQL QUERY RULES TO RUNTIME");
    assert_eq!(run(&mut admin, loaded), ["1"]);
    run(
        &mut admin,
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, error_msg) VALUES (3, 1, '^DROP', 'no')",
    );
    let error = run_as(&mut admin, "LOAD MYSQL QUERY RULES TO RUNTIME", Role::Admin).unwrap_err();
    assert!(error.contains("rule 3") && error.contains("error_msg"), "{error}");
    assert_eq!(run(&mut admin, loaded), ["1"]);
    // It can be saved, and does not keep the next start from starting.
    run(&mut admin, "SAVE MYSQL QUERY RULES TO DISK");
    drop(admin);
    let (mut admin, _) = start(&directory);
    assert_eq!(run(&mut admin, "SELECT COUNT(*) FROM mysql_query_rules"), ["3"]);
    assert!(run(&mut admin, loaded).is_empty());
}

#[test]
fn a_directory_is_one_processes() {
    let directory = Directory::new("locked");
    let (admin, fake) = start(&directory);
    let Err(error) = start_with(&directory, &fake) else { panic!("two have it") };
    assert!(error.to_string().ends_with("another Freshet that runs has this state_dir"), "{error}");
    drop(admin);
    assert!(start_with(&directory, &fake).is_ok());
}

#[test]
fn parameters_and_columns_are_told_to_who_may_read_them() {
    let directory = Directory::new("described");
    let (mut admin, _) = start(&directory);
    run(&mut admin, "INSERT INTO mysql_query_rules (rule_id, digest) VALUES (1, '0x1'), (2, '0x2')");
    let select = "SELECT rule_id AS r, digest FROM mysql_query_rules WHERE rule_id = ? AND digest <> ?";
    let described = admin.describe(select, Role::Admin).unwrap();
    assert_eq!(described, (2, vec!["r".to_owned(), "digest".to_owned()]));
    assert!(admin.describe(select, Role::Stats).is_err());
    let parameters = [SqliteParameter::Text("2".to_owned()), SqliteParameter::Text("x".to_owned())];
    let Answer::Rows { rows, .. } = admin.run(select, &parameters, Role::Admin, &mut main()).unwrap() else {
        panic!("there are rows")
    };
    assert_eq!(rows, [vec![Some(b"2".to_vec()), Some(b"0x2".to_vec())]]);
    let columns = admin.columns("stats_mysql_global", Role::Stats, &mut main()).unwrap();
    assert_eq!(columns, ["Variable_Name", "Variable_Value"]);
}

#[test]
fn what_clients_and_dumps_ask() {
    let directory = Directory::new("dumps");
    let (mut admin, _) = start(&directory);
    assert_eq!(
        run(&mut admin, "SELECT @@version_comment, DATABASE(), CONNECTION_ID()"),
        ["(ProxySQL Admin Module)|main|1"]
    );
    for done in ["LOCK TABLES `mysql_users` READ", "UNLOCK TABLES", "FLUSH TABLES", "COMMIT"] {
        assert_eq!(run(&mut admin, done), [DONE]);
    }
    for nothing in ["SHOW TRIGGERS LIKE 'x'", "SHOW PROCEDURE STATUS WHERE Db = 'main'", "SHOW WARNINGS"] {
        assert!(run(&mut admin, nothing).is_empty(), "{nothing}");
    }
    let columns = run(&mut admin, "SHOW FULL COLUMNS FROM `mysql_users`");
    assert_eq!(columns[0], "username|VARCHAR|NO|PRI|NULL|");
    assert_eq!(run(&mut admin, "DESC global_variables").len(), 2);
    assert_eq!(
        run(&mut admin, "SHOW TABLE STATUS LIKE 'mysql\\_users'"),
        ["mysql_users|SQLite|10|Dynamic|NULL||"]
    );
    assert_eq!(
        run(
            &mut admin,
            "SELECT table_name FROM INFORMATION_SCHEMA.TABLES WHERE table_schema = DATABASE() AND table_name = 'mysql_users'"
        ),
        ["mysql_users"]
    );
    assert_eq!(run(&mut admin, "SHOW TABLES LIKE 'mysql_query%'"), ["mysql_query_rules"]);
    assert_eq!(run(&mut admin, "SHOW CREATE DATABASE IF NOT EXISTS `main`"), ["main|CREATE DATABASE `main`"]);
}

#[test]
fn a_dump_can_be_played_back() {
    let directory = Directory::new("back");
    let (mut admin, _) = start(&directory);
    run(&mut admin, "INSERT INTO mysql_users (username) VALUES ('a')");
    for done in ["DROP TABLE IF EXISTS `mysql_users`", "CREATE TABLE mysql_users (username VARCHAR NOT NULL)"]
    {
        run(&mut admin, done);
    }
    assert!(run(&mut admin, "SELECT * FROM mysql_users").is_empty());
    assert!(run_as(&mut admin, "CREATE TABLE others (x)", Role::Admin).is_err());
    assert!(run_as(&mut admin, "DROP TABLE IF EXISTS mysql_users", Role::Stats).is_err());
}

#[test]
fn between_begin_and_commit_is_only_read() {
    let directory = Directory::new("begun");
    let (mut admin, _) = start(&directory);
    let mut chosen = main();
    let mut run = |statement: &str| admin.run(statement, &[], Role::Admin, &mut chosen).is_ok();
    assert!(run("START TRANSACTION"));
    assert!(run("SELECT * FROM mysql_users"));
    for change in ["DELETE FROM mysql_users", "DROP TABLE mysql_users", "LOAD MYSQL USERS TO RUNTIME"] {
        assert!(!run(change), "{change}");
    }
    assert!(run("ROLLBACK"));
    assert!(run("DELETE FROM mysql_users"));
}

#[test]
fn a_file_that_is_written_is_read_as_the_same_tables() {
    let directory = Directory::new("files");
    let (mut admin, _) = start(&directory);
    for statement in [
        "INSERT INTO mysql_query_rules (rule_id,active,match_pattern,comment,cache_ttl,attributes) VALUES
            (1,1,'^a\\d\"x','it''s\n',5,'{\"freshness\":\"ttl\"}'),(9,0,NULL,NULL,NULL,'')",
        "UPDATE mysql_query_rules SET re_modifiers = '' WHERE rule_id = 9",
        "INSERT INTO mysql_users (username,password,default_schema) VALUES ('a','*AB',NULL),('b','','x')",
        "INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (3,'10.0.0.1')",
        "INSERT INTO mysql_replication_hostgroups (writer_hostgroup,reader_hostgroup) VALUES (1,2)",
        "SET mysql-query_cache_size_MB = 77",
        "SET admin-stats_system_cpu = 5",
    ] {
        run(&mut admin, statement);
    }
    let tables = ["mysql_query_rules", "mysql_users", "mysql_servers", "mysql_replication_hostgroups"];
    let all = |admin: &mut Admin| -> Vec<Vec<String>> {
        let mut all: Vec<_> =
            tables.iter().map(|table| run(admin, &format!("SELECT * FROM {table}"))).collect();
        all.push(run(admin, "SELECT variable_value FROM global_variables WHERE variable_name IN ('mysql-query_cache_size_MB', 'admin-stats_system_cpu')"));
        all
    };
    let before = all(&mut admin);
    let file = directory.0.join("proxysql.cnf");
    run(&mut admin, &format!("SAVE CONFIG TO FILE '{}'", file.display()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), run(&mut admin, "SELECT CONFIG FILE")[0]);
    for table in tables {
        run(&mut admin, &format!("DELETE FROM {table}"));
    }
    run(&mut admin, "SET mysql-query_cache_size_MB = 1");
    run(&mut admin, "SET admin-stats_system_cpu = 1");
    for module in ["MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES", "MYSQL VARIABLES", "ADMIN VARIABLES"]
    {
        run(&mut admin, &format!("LOAD {module} FROM CONFIG"));
    }
    assert_eq!(all(&mut admin), before);
    // It may be written again, and what is no configuration is not written over.
    run(&mut admin, &format!("SELECT CONFIG INTO OUTFILE {}", file.display()));
    let other = directory.0.join("other");
    std::fs::write(&other, "not ours").unwrap();
    assert!(run_as(&mut admin, &format!("SAVE CONFIG TO FILE {}", other.display()), Role::Admin).is_err());
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "not ours");
    for denied in ["SELECT CONFIG FILE", "SAVE CONFIG TO FILE /tmp/x", "LOAD MYSQL USERS FROM CONFIG"] {
        assert!(run_as(&mut admin, denied, Role::Stats).is_err(), "{denied}");
    }
    // Nothing is half-loaded.
    std::fs::write(&file, "mysql_servers = ( { address = \"a\" }, { port = 70000 } )").unwrap();
    let before = all(&mut admin);
    assert!(run_as(&mut admin, "LOAD MYSQL SERVERS FROM CONFIG", Role::Admin).is_err());
    assert_eq!(all(&mut admin), before);
}

#[test]
fn a_directory_that_no_process_has_takes_a_file_in() {
    let directory = Directory::new("import");
    std::fs::create_dir_all(&directory.0).unwrap();
    let file = directory.0.join("proxysql.cnf");
    std::fs::write(
        &file,
        "datadir = \"x\" mysql_variables = { threads = 4 query_cache_size_MB = 5 }
        mysql_users = ( { username = \"c\" old = 1 } )
        mysql_query_rules = ( { rule_id = 8 match_digest = \"(\" active = 1 }, { rule_id = 9 match_digest = \"(\" } )",
    )
    .unwrap();
    let refuses = |row: &[Option<String>]| {
        let is_wrong = row[1].as_deref() == Some("(");
        is_wrong.then(|| format!("rule {} is wrong", row[0].as_deref().unwrap_or_default()))
    };
    let imported = crate::import(&directory.0, &file, &["rule_id", "match_digest"], refuses).unwrap();
    assert_eq!(imported.rows, [("global_variables", 1), ("mysql_users", 1), ("mysql_query_rules", 2)]);
    assert_eq!(imported.refused, ["rule 8 is wrong"], "one that is not active stands in nobody's way");
    assert_eq!(
        imported.left,
        [
            "datadir: it has no meaning in Freshet",
            "mysql-threads: it is the setting threads of Freshet, which counts from its start",
            "mysql_users: a column old is not known"
        ]
    );
    let (mut admin, fake) = start(&directory);
    assert_eq!(run(&mut admin, "SELECT username FROM runtime_mysql_users"), ["c"]);
    assert!(fake.set.lock().unwrap().contains(&("mysql-query_cache_size_MB".to_owned(), "5".to_owned())));
}

#[test]
fn what_was_counted_is_kept_for_a_time() {
    let directory = Directory::new("history");
    let (mut admin, fake) = start(&directory);
    let began = 1_700_000_000;
    for second in 0..150 {
        admin.keep(began + second);
    }
    let noted =
        "SELECT timestamp, Client_Connections_connected FROM stats_history.mysql_connections ORDER BY 1";
    assert_eq!(run(&mut admin, noted), ["1700000060|1", "1700000120|1"]);
    let of_hours = "SELECT timestamp, Client_Connections_connected FROM mysql_connections_hour";
    assert_eq!(run(&mut admin, of_hours), ["1699999200|1"]);
    let values = "SELECT DISTINCT variable_name, variable_value FROM history_mysql_status_variables JOIN \
                  history_mysql_status_variables_lookup USING (variable_id)";
    assert_eq!(run(&mut admin, values), ["Client_Connections_connected|1"]);
    run(&mut admin, "SET admin-stats_mysql_connections = 0");
    run(&mut admin, "LOAD ADMIN VARIABLES TO RUNTIME");
    admin.keep(began + 4000);
    assert_eq!(run(&mut admin, noted).len(), 2);
    run(&mut admin, "SAVE MYSQL DIGEST TO DISK");
    assert_eq!(*fake.resets.lock().unwrap(), 1);
    assert_eq!(run(&mut admin, "SELECT digest, count_star FROM history_mysql_query_digest").len(), 1);
    drop(admin);
    let (mut admin, _) = start(&directory);
    assert_eq!(run(&mut admin, noted).len(), 2, "a restart keeps it");
    // After a week it is gone, and that of its hours is not.
    for later in [0, 8 * 24 * 3600] {
        admin.keep(began + later);
    }
    assert_eq!(run(&mut admin, "SELECT COUNT(*) FROM mysql_connections WHERE timestamp < 1700001000"), ["0"]);
    assert_eq!(
        run(&mut admin, "SELECT COUNT(*) FROM mysql_connections_hour WHERE timestamp = 1699999200"),
        ["1"]
    );
}

#[test]
fn how_the_server_has_answered_is_noted_for_a_time() {
    use crate::monitor::{Probe, Probed};
    let directory = Directory::new("monitor");
    let (mut admin, _) = start(&directory);
    let probed = |probe, begun_us, answer| Probed { probe, begun_us, answer };
    admin.probed(&probed(Probe::Ping, 1_000_000, Ok((70, None))));
    admin.probed(&probed(Probe::ReadOnly, 1_000_001, Ok((80, Some(true)))));
    admin.probed(&probed(Probe::Connect, 1_000_002, Err("it is gone".to_owned())));
    assert_eq!(run(&mut admin, "SELECT * FROM mysql_server_ping_log"), ["db's|3307|1000000|70|NULL"]);
    assert_eq!(run(&mut admin, "SELECT * FROM mysql_server_read_only_log"), ["db's|3307|1000001|80|1|NULL"]);
    assert_eq!(run(&mut admin, "SELECT * FROM mysql_server_connect_log"), ["db's|3307|1000002|0|it is gone"]);
    admin.probed(&probed(Probe::Ping, 1_000_000 + 601_000_000, Ok((71, None))));
    assert_eq!(run(&mut admin, "SELECT ping_success_time_us FROM mysql_server_ping_log"), ["71"]);
}
