//! All variables, in one table.

mod idle;

use std::collections::BTreeMap;

use crate::store::Role;
use idle::IDLE;

/// One variable.
#[derive(Clone, Copy)]
pub struct Variable {
    /// Its name, with the part before the dash.
    pub name: &'static str,
    /// The part of the program that uses it.
    pub of: Owner,
}

/// The user of a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A constant: it cannot be set.
    Constant,
    /// The program, which is started with it. Another value can be written down here, and does not count.
    Started,
    /// The program; the variable can be set while the program runs.
    Program,
    /// The admin port: a whole number, with its default, its least and its greatest value.
    Number(u64, u64, u64),
    /// The admin port: the accounts that may connect to it.
    Accounts(Role),
    /// Nobody: a variable of ProxySQL's that has no effect in Freshet. Its value is kept, so that statements that set it for ProxySQL
    /// succeed.
    Nobody,
}

/// Settings of Freshet that correspond to variables of ProxySQL's.
const SETTINGS: [(&str, &str); 7] = [
    ("admin-mysql_ifaces", "admin_listen"),
    ("admin-restapi_port", "metrics_address"),
    ("mysql-interfaces", "listen"),
    ("mysql-max_connections", "max_clients"),
    ("mysql-multiplexing", "multiplexing"),
    ("mysql-threads", "threads"),
    ("mysql-wait_timeout", "idle_timeout"),
];

impl Variable {
    /// Whether its value is saved and loaded.
    pub fn is_kept(&self) -> bool {
        !matches!(self.of, Owner::Constant | Owner::Started)
    }

    /// Returns what to tell the client that sets the variable; empty where the variable does what it says.
    pub fn note(&self) -> String {
        match (self.of, SETTINGS.iter().find(|(variable, _)| *variable == self.name)) {
            (Owner::Started | Owner::Nobody, Some((_, setting))) => {
                format!("it is the setting {setting} of Freshet, which counts from its start")
            }
            (Owner::Started | Owner::Constant, None) => "it is only shown".to_owned(),
            (Owner::Nobody, None) => "it has no effect in Freshet".to_owned(),
            _ => String::new(),
        }
    }
}

const fn set(name: &'static str) -> Variable {
    Variable { name, of: Owner::Program }
}

const fn shown(name: &'static str) -> Variable {
    Variable { name, of: Owner::Started }
}

const fn accounts(name: &'static str, of: Role) -> Variable {
    Variable { name, of: Owner::Accounts(of) }
}

/// Returns a number of the admin port's own.
const fn number(name: &'static str, default: u64, most: u64) -> Variable {
    Variable { name, of: Owner::Number(default, 0, most) }
}

/// The greatest interval of statistics, in seconds.
const INTERVAL_S_MAX: u64 = 300;
/// The greatest interval of the monitor, in milliseconds.
const INTERVAL_MS_MAX: u64 = 7 * 24 * 3600 * 1000;

/// The variables with an effect, by name.
pub static VARIABLES: [Variable; 42] = [
    accounts("admin-admin_credentials", Role::Admin),
    accounts("admin-stats_credentials", Role::Stats),
    number("admin-stats_mysql_connection_pool", 60, INTERVAL_S_MAX),
    number("admin-stats_mysql_connections", 60, INTERVAL_S_MAX),
    number("admin-stats_mysql_query_cache", 60, INTERVAL_S_MAX),
    number("admin-stats_mysql_query_digest_to_disk", 0, 24 * 3600),
    number("admin-stats_system_cpu", 60, INTERVAL_S_MAX),
    number("admin-stats_system_memory", 60, INTERVAL_S_MAX),
    Variable { name: "admin-version", of: Owner::Constant },
    shown("mysql-connection_delay_multiplex_ms"),
    shown("mysql-default_schema"),
    set("mysql-eventslog_default_log"),
    set("mysql-eventslog_filename"),
    set("mysql-eventslog_filesize"),
    set("mysql-eventslog_format"),
    shown("mysql-free_connections_pct"),
    shown("mysql-interfaces"),
    shown("mysql-max_connections"),
    number("mysql-monitor_connect_interval", 60_000, INTERVAL_MS_MAX),
    number("mysql-monitor_history", 600_000, INTERVAL_MS_MAX),
    number("mysql-monitor_ping_interval", 10_000, INTERVAL_MS_MAX),
    number("mysql-monitor_read_only_interval", 1_500, INTERVAL_MS_MAX),
    shown("mysql-multiplexing"),
    shown("mysql-query_cache_handle_warnings"),
    set("mysql-query_cache_rules_only"),
    set("mysql-query_cache_size_MB"),
    set("mysql-query_cache_soft_ttl_pct"),
    set("mysql-query_cache_stores_empty_result"),
    shown("mysql-query_digests"),
    set("mysql-query_digests_grouping_limit"),
    set("mysql-query_digests_groups_grouping_limit"),
    set("mysql-query_digests_keep_comment"),
    set("mysql-query_digests_lowercase"),
    set("mysql-query_digests_max_digest_length"),
    set("mysql-query_digests_max_query_length"),
    set("mysql-query_digests_no_digits"),
    set("mysql-query_digests_replace_null"),
    set("mysql-query_retries_on_failure"),
    shown("mysql-server_version"),
    shown("mysql-threads"),
    set("mysql-threshold_resultset_size"),
    shown("mysql-wait_timeout"),
];

/// Returns the variable of this name, in any letters.
pub fn find(name: &str) -> Option<Variable> {
    let idle = || IDLE.iter().map(|name| Variable { name, of: Owner::Nobody });
    VARIABLES.iter().copied().chain(idle()).find(|variable| variable.name.eq_ignore_ascii_case(name))
}

/// The values of the admin port's own variables that are not the defaults.
#[derive(Default)]
pub struct OwnVariables(BTreeMap<&'static str, u64>);

impl OwnVariables {
    /// Returns the value of such a variable; 0 for any other name.
    pub fn get(&self, name: &str) -> u64 {
        let default = || match find(name).map(|variable| variable.of) {
            Some(Owner::Number(default, ..)) => default,
            _ => 0,
        };
        self.0.get(name).copied().unwrap_or_else(default)
    }

    /// Makes this value count.
    ///
    /// # Errors
    /// The reason for the client, if it is not possible.
    pub fn set(&mut self, variable: Variable, value: &str) -> Result<(), String> {
        let Owner::Number(_, least, most) = variable.of else { return Err(variable.note()) };
        let read = value.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
        let number = read.ok_or_else(|| format!("'{value}' is no whole number from {least} to {most}"))?;
        self.0.insert(variable.name, number);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(VARIABLES.is_sorted_by_key(|variable| variable.name));
        assert!(IDLE.is_sorted());
        assert!(VARIABLES.iter().all(|variable| !IDLE.contains(&variable.name)));
    }

    #[test]
    fn own_variables_have_defaults_and_bounds() {
        let mut own = OwnVariables::default();
        let interval = find("admin-stats_mysql_connections").unwrap();
        assert_eq!(own.get(interval.name), 60);
        assert!(own.set(interval, "301").is_err());
        assert!(own.set(interval, "5").is_ok());
        assert_eq!(own.get(interval.name), 5);
        assert!(own.set(find("mysql-threads").unwrap(), "5").is_err());
    }
}
