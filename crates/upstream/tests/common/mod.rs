//! The servers that the tests of this crate talk to.
#![allow(dead_code)]

use std::future::Future;

use freshet_upstream::{Connection, Secret, TlsMode, UpstreamConfig, control};

/// Runs a test against a server whose URL, with an account that may do everything, stands in this
/// environment variable. Without it the test is skipped, and says so, unless
/// FRESHET_TEST_SERVERS=required.
pub fn with_server<F: Future<Output = ()>>(variable: &str, test: impl FnOnce(UpstreamConfig) -> F) {
    let Ok(url) = std::env::var(variable) else {
        let required = std::env::var("FRESHET_TEST_SERVERS").is_ok_and(|value| value == "required");
        assert!(!required, "{variable} is not set, and FRESHET_TEST_SERVERS=required");
        println!("skipped: {variable} is not set");
        return;
    };
    let config = UpstreamConfig::from_url(&url).expect(variable);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(test(config));
}

pub const MARIADB: &str = "FRESHET_TEST_MARIADB";
pub const MYSQL: &str = "FRESHET_TEST_MYSQL";

/// The same server under another account.
pub fn account(config: &UpstreamConfig, user: &str, password: &str) -> UpstreamConfig {
    let mut other = config.clone();
    other.user = user.into();
    other.password = Secret::new(password);
    other
}

pub fn tls(config: &UpstreamConfig, mode: TlsMode) -> UpstreamConfig {
    let mut other = config.clone();
    other.tls = mode;
    other
}

pub async fn connect(config: &UpstreamConfig) -> Connection {
    control::connect(config).await.expect("a connection")
}

/// Runs statements that set a test up.
pub async fn run(connection: &mut Connection, statements: &[&str]) {
    for statement in statements {
        if let Err(error) = connection.query(statement).await {
            panic!("{statement}: {error}");
        }
    }
}

pub async fn one(connection: &mut Connection, sql: &str) -> String {
    let rows = connection.query(sql).await.expect(sql);
    rows.text(0, 0).unwrap_or("NULL").to_owned()
}
