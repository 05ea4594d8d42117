//! A target of a measurement, and the account that logs in.

use std::path::PathBuf;
use std::str::FromStr;

/// An error that ends a measurement early.
pub type Failure = Box<dyn std::error::Error>;

/// Who logs in.
#[derive(Debug, Clone, clap::Args)]
pub struct Account {
    /// Account
    #[arg(long, default_value = "bench")]
    pub user: String,
    /// Its password: mysql_native_password, or caching_sha2_password that the server has cached, has over a unix
    /// socket, or that is empty
    #[arg(long, default_value = "")]
    pub password: String,
    /// Schema
    #[arg(long, default_value = "sbtest")]
    pub database: String,
    /// TLS, with any certificate, and without resuming: each client is a new one
    #[arg(long)]
    pub tls: bool,
}

/// One thing that is measured.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name in the report.
    pub name: String,
    /// Where it listens.
    pub address: Address,
    /// The server's processes.
    pub servers: Vec<u32>,
    /// The processes of what stands before it.
    pub proxies: Vec<u32>,
}

/// Where a target listens.
#[derive(Debug, Clone)]
pub enum Address {
    /// `host:port`.
    Tcp(String),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let wrong =
            || format!("{text:?} is not NAME=HOST:PORT[,PID][,+PID]... or NAME=/SOCKET[,PID][,+PID]...");
        let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
        let mut parts = rest.split(',');
        let address = parts.next().filter(|address| address.contains([':', '/'])).ok_or_else(wrong)?;
        let (mut servers, mut proxies) = (Vec::new(), Vec::new());
        for part in parts {
            let (of, pid) =
                part.strip_prefix('+').map_or((&mut servers, part), |proxy| (&mut proxies, proxy));
            of.push(pid.parse().map_err(|_| wrong())?);
        }
        let address = if address.starts_with('/') {
            Address::Unix(address.into())
        } else {
            Address::Tcp(address.to_owned())
        };
        Ok(Target { name: name.to_owned(), address, servers, proxies })
    }
}
