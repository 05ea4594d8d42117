//! What the black-box tests stand on: real servers, a Freshet before each, and the clients of other languages.
//!
//! It knows Freshet only as its users do, by its command line, its log lines and its port; no crate of the product is
//! linked here, and the client library is not ours, so that no mistake is shared between the tester and the tested. Only
//! `tests/collations.rs` calls the product's own functions: it asks servers whether these are right.
//!
//! The servers come from the environment: FRESHET_TEST_MARIADB and FRESHET_TEST_MYSQL are URLs with an account that may
//! do everything; with FRESHET_TEST_MARIADB_2 and FRESHET_TEST_MYSQL_2 two tests run at once, with `_3` three.
//! A server that is not given is left out with a line that says so, or is a failure if
//! FRESHET_TEST_SERVERS is `required`. FRESHET_TEST_MYSQL_ROOT is the tree in which MySQL's programs are, FRESHET_TEST_SERVER_ROOT that of
//! another server which runs in one of its own. FRESHET_BIN is the program, by default the newest one below `target`;
//! FRESHET_TEST_DIRECT makes every test go to the server itself, which proves the tests and not Freshet.

// The servers, and Freshet before them.
pub mod server;
pub mod freshet;

// Freshets with an admin port or query rules.
pub mod administered;
pub mod ruled;

// Freshets whose binlog stream is held up.
pub mod stall;
pub mod lag;

// Clients, and their answers.
pub mod raw;
pub mod tool;
pub mod cached;

// What answers are compared with.
pub mod history;
pub mod built_in;

pub use freshet::{Freshet, resident_bytes};
pub use server::{Flavor, Server};

/// A way to reach a server: itself, or through Freshet.
#[derive(Debug, Clone)]
pub struct Target {
    /// Host, always an address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Account.
    pub user: String,
    /// Its password.
    pub password: String,
}

impl Target {
    /// A connection by the pure Rust client.
    pub fn connect(&self) -> mysql::Conn {
        self.try_connect("").expect("the server lets the admin account in")
    }

    /// The same, with a schema, and with the error that there may be.
    pub fn try_connect(&self, schema: &str) -> mysql::Result<mysql::Conn> {
        let schema = Some(schema).filter(|schema| !schema.is_empty());
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some(&self.host))
            .tcp_port(self.port)
            .user(Some(&self.user))
            .pass(Some(&self.password))
            .db_name(schema)
            // It would go round Freshet by the server's own socket.
            .prefer_socket(false);
        mysql::Conn::new(options)
    }
}

/// Runs a test against every server there is, with a Freshet of its own before it.
pub fn with_each(test: impl Fn(&Server, &Freshet)) {
    for server in server::all() {
        let freshet = Freshet::before(&server);
        test(&server, &freshet);
        freshet.stop();
    }
}

/// Whether a missing server or tool fails a test, or only leaves it out.
pub fn required() -> bool {
    std::env::var("FRESHET_TEST_SERVERS").is_ok_and(|value| value == "required")
}

/// Says that something is left out, or fails if it may not be.
pub fn leave_out(what: &str) {
    assert!(!required(), "FRESHET_TEST_SERVERS is required, but: {what}");
    println!("skipped: {what}");
}
