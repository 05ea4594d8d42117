//! A Freshet with an admin port, and the clients that people have for it.

use std::path::PathBuf;
use std::process::Command;

use crate::{Flavor, Freshet, Server, server, tool};

/// A place for sockets and tables that goes with the test.
pub struct Directory(PathBuf);

impl Directory {
    /// A new one, whose name has this in it.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("freshet-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory is made");
        Self(path)
    }

    /// The path of what is in it under this name.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// A Freshet with its admin port here, and on a port of its own.
    pub fn freshet(&self, server: &Server) -> Freshet {
        self.freshet_with(server, &[])
    }

    /// The same with further flags.
    pub fn freshet_with(&self, server: &Server, flags: &[&str]) -> Freshet {
        let (listen, state) = (format!("{},127.0.0.1:0", self.path("admin.sock")), self.path("state"));
        let all = ["--admin-listen", &listen, "--state-dir", &state];
        let all: Vec<&str> = all.into_iter().chain(flags.iter().copied()).collect();
        Freshet::with(server, &all)
    }

    /// A client of the admin port.
    ///
    /// # Panics
    /// If it is not let in.
    pub fn connect(&self, user: &str) -> mysql::Conn {
        let opts = mysql::OptsBuilder::new().socket(Some(self.path("admin.sock")));
        mysql::Conn::new(opts.user(Some(user)).pass(Some(user))).expect("the admin port lets a client in")
    }

    /// What the command-line client prints for these statements, a line for each row.
    ///
    /// # Errors
    /// What it says if it fails.
    ///
    /// # Panics
    /// If there is none.
    pub fn client(&self, user: &str, statements: &str) -> Result<Vec<String>, String> {
        let program = if tool::is_there("mariadb") { "mariadb" } else { "mysql" };
        let mut client = Command::new(program);
        client.args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--socket",
            &self.path("admin.sock"),
        ]);
        client.args([&format!("--user={user}"), &format!("--password={user}"), "--execute", statements]);
        let output = client.output().expect("the client runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if !output.status.success() {
            return Err(text(&output.stderr));
        }
        Ok(text(&output.stdout).lines().map(str::to_owned).collect())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The port that a Freshet's admin port has chosen.
///
/// # Panics
/// If it has chosen none.
pub fn admin_port(freshet: &Freshet) -> u16 {
    let log = freshet.log();
    let lines = log.lines().filter(|line| line.contains("ready for administration"));
    let port = |line: &str| line.trim().rsplit(':').next()?.parse().ok();
    lines.filter_map(port).next().expect("it listens on a port")
}

/// Runs a test against every server there is, with a directory of its own.
pub fn with_each(name: &str, test: impl Fn(&Server, &Directory)) {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in server::all() {
        let flavor = if server.flavor == Flavor::MariaDb { "ma" } else { "my" };
        test(&server, &Directory::new(&format!("{name}-{flavor}")));
    }
}
