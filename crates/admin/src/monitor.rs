//! The database `monitor`: the server's answers, for as long as `mysql-monitor_history` says.

use crate::error::Refusal;
use crate::runtime::SqliteValue;
use crate::store::Store;

/// A question to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// A login on a new connection.
    Connect,
    /// A ping.
    Ping,
    /// Whether the server takes writes.
    ReadOnly,
}

/// All questions.
pub const PROBES: [Probe; 3] = [Probe::Connect, Probe::Ping, Probe::ReadOnly];

/// An answer of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// The question.
    pub probe: Probe,
    /// The time of the question, in microseconds since 1970.
    pub begun_us: i64,
    /// How long the answer took, in microseconds, and whether the server is read-only, if that was the question; or why there is no
    /// answer.
    pub answer: Result<(u64, Option<bool>), String>,
}

impl Probe {
    /// Returns the name of the variable with the interval of the question, in milliseconds; 0 is never.
    pub fn interval(self) -> &'static str {
        match self {
            Self::Connect => "mysql-monitor_connect_interval",
            Self::Ping => "mysql-monitor_ping_interval",
            Self::ReadOnly => "mysql-monitor_read_only_interval",
        }
    }

    fn table(self) -> &'static str {
        match self {
            Self::Connect => "monitor.mysql_server_connect_log",
            Self::Ping => "monitor.mysql_server_ping_log",
            Self::ReadOnly => "monitor.mysql_server_read_only_log",
        }
    }
}

/// Notes an answer of the server, and removes answers older than `kept_ms`.
pub fn note(
    store: &mut Store,
    host: String,
    port: u16,
    probed: &Probed,
    kept_ms: u64,
) -> Result<(), Refusal> {
    let (took, read_only, why) = match &probed.answer {
        Ok((took_us, read_only)) => {
            let read_only = read_only.map_or(SqliteValue::Null, |is| SqliteValue::Integer(i64::from(is)));
            (SqliteValue::from(*took_us), read_only, SqliteValue::Null)
        }
        Err(why) => (SqliteValue::Integer(0), SqliteValue::Null, SqliteValue::from(why.as_str())),
    };
    let mut row = vec![host.into(), i64::from(port).into(), SqliteValue::Integer(probed.begun_us), took];
    if probed.probe == Probe::ReadOnly {
        row.push(read_only);
    }
    row.push(why);
    let table = probed.probe.table();
    store.append(table, &[row])?;
    let kept_us = i64::try_from(kept_ms.saturating_mul(1000)).unwrap_or(i64::MAX);
    let oldest = probed.begun_us.saturating_sub(kept_us);
    store.all_or_none(&[format!("DELETE FROM {table} WHERE time_start_us < {oldest}")])
}
