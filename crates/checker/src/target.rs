//! Where a server or a Freshet is, and answers as plain values.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Row, Value};

use crate::Failure;

/// Longer than any statement may wait for locks, and for a semi-synchronous replica: who is silent for so long hangs.
const SILENCE_MAX: Duration = Duration::from_secs(40);

/// A way to a server: `mysql://user:password@host:port/`.
#[derive(Clone, Debug)]
pub struct Target(mysql::Opts);

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.get_ip_or_hostname(), self.0.get_tcp_port())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        mysql::Opts::from_url(url).map(Self).map_err(|error| error.to_string())
    }
}

impl Target {
    /// Returns a connection, to a schema if one is named.
    ///
    /// # Errors
    /// When there is none to be had.
    pub fn connect(&self, schema: &str) -> Result<Conn, mysql::Error> {
        let schema = (!schema.is_empty()).then_some(schema);
        // By the server's own socket a client would go round Freshet.
        let options = OptsBuilder::from_opts(self.0.clone()).db_name(schema).prefer_socket(false);
        Conn::new(options.read_timeout(Some(SILENCE_MAX)).tcp_connect_timeout(Some(SILENCE_MAX)))
    }
}

/// Returns a status value that is a number; 0 where there is none of that name.
///
/// # Errors
/// When the status cannot be read.
pub fn status(conn: &mut Conn, name: &str) -> Result<u64, Failure> {
    let row: Option<(String, String)> = conn.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
    Ok(row.and_then(|(_, value)| value.parse().ok()).unwrap_or(0))
}

/// Returns a row of numbers. What is no number is a mistake of the query.
///
/// # Errors
/// When a cell is no whole number.
pub fn numbers(row: Row) -> Result<Vec<Option<i64>>, Failure> {
    row.unwrap().into_iter().map(number).collect()
}

fn number(value: Value) -> Result<Option<i64>, Failure> {
    Ok(match value {
        Value::NULL => None,
        Value::Int(number) => Some(number),
        Value::UInt(number) => Some(i64::try_from(number)?),
        Value::Bytes(bytes) => Some(std::str::from_utf8(&bytes)?.parse()?),
        other => return Err(format!("{other:?} is no whole number").into()),
    })
}
