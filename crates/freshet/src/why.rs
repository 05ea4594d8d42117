//! `freshet why` and `freshet advise`: what a running Freshet does with one statement, by `EXPLAIN FRESHET`, and its advice, from
//! `freshet.advice`.

use freshet_upstream::{Address, Error, TlsMode, UpstreamConfig, control};

use crate::config::{Config, Listen};
use crate::exit::{Exit, Report};

/// The port of MySQL's protocol if none is given.
const PORT: u16 = 3306;

/// Asks about a statement.
pub fn run(config: &Config, statement: &str) -> Report {
    let line = |row: &[&str]| format!("{:<16} {}\n", row.first().unwrap_or(&""), row.get(1).unwrap_or(&""));
    asked(config, &format!("EXPLAIN FRESHET {statement}"), line)
}

/// Asks for advice in the same way.
pub fn advise(config: &Config) -> Report {
    let piece = |row: &[&str]| {
        let cell = |at: usize| row.get(at).copied().unwrap_or_default();
        let statement = Some(cell(4)).filter(|statement| !statement.is_empty());
        let statement = statement.map(|statement| format!("    {statement};\n")).unwrap_or_default();
        format!("{}: {}\n    {}\n    {}\n{statement}", cell(0), cell(1), cell(2), cell(3))
    };
    asked(config, "SELECT topic, verdict, found, advice, IFNULL(statement, '') FROM freshet.advice", piece)
}

fn asked(config: &Config, sql: &str, shown: impl Fn(&[&str]) -> String) -> Report {
    let Some(address) = config.listen.first().and_then(address) else {
        return Report::new("There is nowhere to ask: see the setting listen\n".to_owned(), Exit::Failed);
    };
    // Freshet's certificate is not the server's.
    let (user, password) = (config.upstream.user.clone(), config.upstream.password.clone());
    let mut own = UpstreamConfig::new(address, user, password);
    own.tls = TlsMode::Preferred;
    own.database.clone_from(&config.upstream.database);
    let asked = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(ask(&own, sql, shown)));
    match asked {
        Ok(lines) => Report::new(lines, Exit::Done),
        Err(Error::Server(error)) => {
            Report::new(format!("{}\n", String::from_utf8_lossy(&error.message)), Exit::Missing)
        }
        Err(error) => {
            Report::new(format!("Freshet on {} could not be asked: {error}\n", own.address), Exit::Failed)
        }
    }
}

async fn ask(own: &UpstreamConfig, sql: &str, shown: impl Fn(&[&str]) -> String) -> Result<String, Error> {
    let mut connection = control::connect(own).await?;
    let rows = connection.query(sql).await?;
    connection.quit().await;
    Ok(rows.texts().map(|row| shown(&row)).collect())
}

/// Returns an address at which a client on this machine reaches a listener.
fn address(listen: &Listen) -> Option<Address> {
    let address = match listen {
        Listen::Unix(path) => return Some(Address::Unix(path.clone())),
        Listen::Tcp(address) => address,
    };
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "" | "0.0.0.0" => "127.0.0.1",
        "::" => "::1",
        host => host,
    };
    let port = if port.is_empty() { PORT } else { port.parse().ok()? };
    Some(Address::Tcp { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_all_addresses_is_asked_on_this_machine() {
        let of = |text: &str| address(&Listen::Tcp(text.to_owned())).map(|address| address.to_string());
        assert_eq!(of("0.0.0.0:3307").as_deref(), Some("127.0.0.1:3307"));
        assert_eq!(of("[::]:3307").as_deref(), Some("[::1]:3307"));
        assert_eq!(of("db.example:3307").as_deref(), Some("db.example:3307"));
    }
}
