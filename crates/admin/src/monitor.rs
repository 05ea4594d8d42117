//! The database `monitor`: how the server has answered, for as long as `mysql-monitor_history` says.

use crate::error::Refusal;
use crate::runtime::SqliteValue;
use crate::store::Store;

/// What the server was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// A login on a new connection.
    Connect,
    /// A ping.
    Ping,
    /// Whether it takes writes.
    ReadOnly,
}

/// All of them.
pub const PROBES: [Probe; 3] = [Probe::Connect, Probe::Ping, Probe::ReadOnly];

/// How the server has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// What it was asked.
    pub probe: Probe,
    /// When, in microseconds since 1970.
    pub begun_us: i64,
    /// How long it took, in microseconds, and whether the server is read-only, where that was asked; or why it has not answered.
    pub answer: Result<(u64, Option<bool>), String>,
}

impl Probe {
    /// Returns the variable with the interval at which it is asked, in milliseconds; 0 is never.
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

/// Notes how a server has answered, and has what is older than `kept_ms` leave.
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
