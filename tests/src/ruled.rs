//! A Freshet whose query rules are loaded by its admin port.

use std::path::PathBuf;

use mysql::Conn;

use crate::cached::{Counted, answer, caught_up, connect, fresh_schema, run};
use crate::stall::Stall;
use crate::{Flavor, Freshet, Server, server};

/// A Freshet with an admin port, and a schema of the test's own on the server.
pub struct Bench {
    /// Its state directory.
    pub directory: PathBuf,
    /// The Freshet.
    pub freshet: Freshet,
    /// A client of its admin port.
    pub admin: Conn,
    /// A client of the server itself.
    pub direct: Conn,
    /// The schema's name.
    pub schema: String,
    /// Counts its hits.
    pub hits: Counted,
    /// The way to the server.
    pub way: Stall,
    /// What the server is.
    pub flavor: Flavor,
    /// The server itself.
    pub server: Server,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// How rules are given.
pub const RULES: &str = "INSERT INTO mysql_query_rules";

impl Bench {
    /// Makes one.
    ///
    /// # Panics
    /// If the server or Freshet does not do its part.
    pub fn new(server: &Server, name: &str, tables: &[&str]) -> Bench {
        let flavor = if server.flavor == Flavor::MariaDb { "ma" } else { "my" };
        let directory = std::env::temp_dir().join(format!("freshet-{name}-{flavor}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory is made");
        let schema = format!("rules_{name}");
        let mut direct = fresh_schema(server, &schema);
        run(&mut direct, tables);
        let socket = directory.join("admin.sock").display().to_string();
        let state = directory.display().to_string();
        let way = Stall::before(server);
        let before = Server { url: way.url.clone(), ..server.clone() };
        let freshet = Freshet::with(&before, &["--admin-listen", &socket, "--state-dir", &state]);
        caught_up(&freshet);
        let opts = mysql::OptsBuilder::new().socket(Some(socket)).user(Some("admin")).pass(Some("admin"));
        let admin = Conn::new(opts).expect("the admin port lets a client in");
        let hits = Counted::of(&freshet);
        Bench {
            directory,
            freshet,
            admin,
            direct,
            schema,
            hits,
            way,
            flavor: server.flavor,
            server: server.clone(),
        }
    }

    /// A client of Freshet, in the schema.
    pub fn client(&self) -> Conn {
        connect(self.freshet.target(), &self.schema)
    }

    /// What the admin port answers.
    ///
    /// # Panics
    /// If that is an error.
    pub fn rows(&mut self, query: &str) -> Vec<Vec<String>> {
        answer(&mut self.admin, query).unwrap_or_else(|code| panic!("{query}: {code}"))
    }

    /// Has these rules count, each as its columns and its values.
    pub fn load(&mut self, rules: &[&str]) {
        run(&mut self.admin, &["DELETE FROM mysql_query_rules"]);
        for rule in rules {
            run(&mut self.admin, &[&format!("{RULES} {rule}")]);
        }
        run(&mut self.admin, &["LOAD MYSQL QUERY RULES TO RUNTIME"]);
    }

    /// Whether a statement is answered from memory now.
    pub fn is_hit(&mut self, conn: &mut Conn, statement: &str) -> bool {
        let before = self.hits.hits();
        let _ = answer(conn, statement);
        self.hits.hits() > before
    }

    /// How often a rule was met.
    ///
    /// # Panics
    /// If the admin port does not say.
    pub fn met(&mut self, rule: u32) -> u64 {
        let query = format!("SELECT hits FROM stats_mysql_query_rules WHERE rule_id = {rule}");
        self.rows(&query)[0][0].parse().expect("a number")
    }
}

/// Runs a test against every server there is, with a Freshet of its own before it and these tables in its schema.
pub fn with_each(name: &str, tables: &[&str], test: impl Fn(&mut Bench)) {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in server::all() {
        let mut bench = Bench::new(&server, name, tables);
        test(&mut bench);
    }
}
