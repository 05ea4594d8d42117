//! Paths, and where they lead on real servers: FRESHET_TEST_MARIADB and FRESHET_TEST_MYSQL are URLs of accounts that may do
//! everything. Without them the tests on servers say so and pass, unless FRESHET_TEST_SERVERS is `required`.

use freshet_sql::Modes;
use freshet_upstream::{Connection, UpstreamConfig, control};

use super::super::{modes_of_server, variable_names};
use super::*;

const SCHEMA: &str = "freshet_path";

/// A session at the server, and how its environment is read.
struct Session {
    connection: Connection,
    query: VectorQuery,
}

impl Session {
    async fn new(config: &UpstreamConfig) -> Self {
        let mut connection = control::connect(config).await.unwrap();
        let names: Vec<String> = variable_names().map(|name| format!("'{name}'")).collect();
        let sql = format!("SHOW SESSION VARIABLES WHERE Variable_name IN ({})", names.join(","));
        let rows = connection.query(&sql).await.unwrap();
        let has = |name: &str| (0..rows.rows.len()).any(|row| rows.text(row, 0) == Some(name));
        Self { query: VectorQuery::new(has, true), connection }
    }

    async fn run(&mut self, statement: &str) {
        self.connection.query(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    /// Starts from the present environment, or from a reset if no statement leads on.
    async fn goes_to(&mut self, goal: &Environment) {
        let here = self.environment().await;
        let way = match path(&self.query, &here, goal) {
            Some(way) => way,
            None => {
                self.connection.reset().await.unwrap();
                let start = self.environment().await;
                // A schema that is the default stays so.
                let Some(way) = path(&self.query, &start, goal) else { return };
                way
            }
        };
        for statement in &way {
            self.run(statement).await;
        }
        assert_eq!(self.environment().await.whole, goal.whole, "by {way:?}, from another environment");
    }

    async fn environment(&mut self) -> Environment {
        let server = modes_of_server(&self.connection.greeting().server_version);
        let rows = self.connection.query(self.query.sql()).await.unwrap();
        Environment::read(&self.query, b"a kind of login", &rows.rows[0], server)
    }
}

/// Statements by which sessions change their environments. A server refuses the ones that it does not know, in each session alike.
const SETTINGS: &[&[&str]] = &[
    &[],
    &["SET NAMES latin1"],
    &["SET NAMES utf8mb4 COLLATE utf8mb4_bin"],
    &["SET character_set_results = NULL"],
    &["SET time_zone = '+05:30'", "SET lc_time_names = 'de_DE'"],
    &["SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,NO_ZERO_DATE'"],
    &["SET sql_mode = ''"],
    &["SET max_join_size = 1000"],
    &["SET max_join_size = 1000", "SET sql_big_selects = 1"],
    &["SET sql_big_selects = 0", "SET sql_select_limit = 77"],
    &["SET autocommit = 0", "SET sql_log_bin = 0", "SET wait_timeout = 99"],
    &["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"],
    &["SET group_concat_max_len = 2048", "SET div_precision_increment = 7", "SET default_week_format = 3"],
    &["SET block_encryption_mode = 'aes-256-cbc'"],
    &["SET old_mode = ''", "SET default_regex_flags = 'DOTALL'", "SET system_versioning_asof = '2020-01-01'"],
    &["SET sql_auto_is_null = 1", "SET sql_buffer_result = 1", "SET big_tables = 1"],
    &["USE freshet_path"],
    &["USE freshet_path", "SET collation_connection = latin1_german1_ci", "SET cte_max_recursion_depth = 5"],
    &["SET ROLE freshet_path_role"],
];

async fn is_reached(config: &UpstreamConfig, settings: &[&str], walker: &mut Session) {
    let mut there = Session::new(config).await;
    for setting in settings {
        // A variable that this server does not have is left out.
        let _ = there.connection.query(setting).await;
    }
    let goal = there.environment().await;
    walker.goes_to(&goal).await;
    let mut session = Session::new(config).await;
    let start = session.environment().await;
    let statements = path(&session.query, &start, &goal).unwrap_or_else(|| panic!("no way to {settings:?}"));
    assert_eq!(statements.is_empty(), start.whole == goal.whole);
    for statement in &statements {
        session.run(statement).await;
    }
    let reached = session.environment().await;
    for ((item, reached), goal) in session.query.items().iter().zip(reached.values()).zip(goal.values()) {
        let lossy = |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
        assert_eq!(lossy(reached), lossy(goal), "{} by {statements:?}", item.name);
    }
    assert_eq!(reached.whole, goal.whole);
    // A reset leads back, except for the schema, from which the next path starts.
    session.connection.reset().await.unwrap();
    let after = session.environment().await;
    let again = path(&session.query, &after, &goal).unwrap();
    for statement in again {
        session.run(&statement).await;
    }
    assert_eq!(session.environment().await.whole, goal.whole, "{settings:?} after a reset");
}

fn on(variable: &str) {
    let Ok(url) = std::env::var(variable) else {
        let required = std::env::var("FRESHET_TEST_SERVERS").is_ok_and(|value| value == "required");
        assert!(!required, "{variable} is not set, and FRESHET_TEST_SERVERS=required");
        return println!("skipped: {variable} is not set");
    };
    let config = UpstreamConfig::from_url(&url).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut admin = Session::new(&config).await;
        admin.run(&format!("DROP DATABASE IF EXISTS {SCHEMA}")).await;
        admin.run(&format!("CREATE DATABASE {SCHEMA} COLLATE latin1_swedish_ci")).await;
        admin.run("DROP ROLE IF EXISTS freshet_path_role").await;
        admin.run("CREATE ROLE freshet_path_role").await;
        // MySQL does not make its creator a member.
        let _ = admin.connection.query(&format!("GRANT freshet_path_role TO '{}'@'%'", config.user)).await;
        let mut walker = Session::new(&config).await;
        for settings in SETTINGS.iter().chain(SETTINGS.iter().rev()) {
            is_reached(&config, settings, &mut walker).await;
        }
        admin.run(&format!("DROP DATABASE {SCHEMA}")).await;
        admin.run("DROP ROLE freshet_path_role").await;
    });
}

#[test]
fn every_environment_is_reached_on_mariadb() {
    on("FRESHET_TEST_MARIADB");
}

#[test]
fn every_environment_is_reached_on_mysql() {
    on("FRESHET_TEST_MYSQL");
}

#[test]
fn where_no_statement_leads_there_is_no_path() {
    const SERVER: Modes = Modes::new(freshet_sql::Flavor::MySql);
    let query = VectorQuery::new(|_| true, true);
    let environment = |fixed: &[u8], name: &str, value: Option<&str>| {
        let mut row = vec![Some(b"1".to_vec()); query.width()];
        row[query.position(name).unwrap()] = value.map(|value| value.as_bytes().to_vec());
        Environment::read(&query, fixed, &row, SERVER)
    };
    let start = environment(b"", "time_zone", Some("1"));
    let to = |name: &str, value: Option<&str>| path(&query, &start, &environment(b"", name, value));
    assert_eq!(to("time_zone", Some("1")), Some(Vec::new()));
    assert_eq!(to("time_zone", Some("SYSTEM")), Some(vec!["SET @@session.time_zone = 'SYSTEM'".to_owned()]));
    assert_eq!(to("time_zone", Some("it's")), None);
    assert_eq!(to("schema", None), None, "no statement leaves a schema");
    assert_eq!(to("schema", Some("a`b")), None);
    assert_eq!(to("schema", Some("a")), Some(vec!["USE `a`".to_owned()]));
    assert_eq!(to("account", Some("b@%")), None);
    assert_eq!(to("max_allowed_packet", Some("5")), None);
    assert_eq!(to("session_track_schema", Some("0")), Some(Vec::new()));
    assert_eq!(to("role", Some("`r`@`%`")), Some(vec!["SET ROLE `r`@`%`".to_owned()]));
    assert_eq!(path(&query, &start, &environment(b"another", "time_zone", Some("1"))), None);
}
