//! The real servers.

use crate::{Target, leave_out};

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

/// A real server.
#[derive(Debug, Clone)]
pub struct Server {
    /// Whose it is.
    pub flavor: Flavor,
    /// Its URL, as Freshet takes it.
    pub url: String,
    /// How to reach it directly.
    pub target: Target,
}

/// Every server that the environment gives.
pub fn all() -> Vec<Server> {
    let named = [(Flavor::MariaDb, "FRESHET_TEST_MARIADB"), (Flavor::MySql, "FRESHET_TEST_MYSQL")];
    named.into_iter().filter_map(|(flavor, variable)| from_environment(flavor, variable)).collect()
}

/// The server behind a URL.
pub fn at(flavor: Flavor, url: &str) -> Server {
    Server { flavor, target: target(url), url: url.to_owned() }
}

fn from_environment(flavor: Flavor, variable: &str) -> Option<Server> {
    match std::env::var(variable) {
        Ok(url) if !url.is_empty() => Some(at(flavor, &url)),
        _ => {
            leave_out(&format!("{variable} is not set"));
            None
        }
    }
}

fn target(url: &str) -> Target {
    let options = mysql::Opts::from_url(url).expect("the server's URL is one that the client understands");
    Target {
        host: options.get_ip_or_hostname().into_owned(),
        port: options.get_tcp_port(),
        user: options.get_user().unwrap_or_default().to_owned(),
        password: options.get_pass().unwrap_or_default().to_owned(),
    }
}
