//! The variables that there are, in one table. A variable of ProxySQL's that is not here has no meaning in Freshet.

use std::collections::BTreeMap;

/// One variable.
pub struct Variable {
    /// Its name, with the part before the dash.
    pub name: &'static str,
    /// Whose it is.
    pub of: Owner,
}

/// Whose a variable is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The program's, which is started with it.
    Started,
    /// The program's, and it can be set while that runs.
    Program,
    /// The admin port's own: a whole number, with its default, the least and the most that it may be.
    Number(u64, u64, u64),
}

impl Variable {
    /// Whether it can be set while the program runs.
    pub fn is_set_here(&self) -> bool {
        self.of != Owner::Started
    }
}

const fn set(name: &'static str) -> Variable {
    Variable { name, of: Owner::Program }
}

const fn shown(name: &'static str) -> Variable {
    Variable { name, of: Owner::Started }
}

/// A number of the admin port's own.
const fn number(name: &'static str, default: u64, most: u64) -> Variable {
    Variable { name, of: Owner::Number(default, 0, most) }
}

/// The most that an interval of statistics may be, in seconds.
const INTERVAL_S_MAX: u64 = 300;
/// The most that an interval of the monitor may be, in milliseconds.
const INTERVAL_MS_MAX: u64 = 7 * 24 * 3600 * 1000;

/// All of them, by name.
pub static VARIABLES: [Variable; 40] = [
    number("admin-stats_mysql_connection_pool", 60, INTERVAL_S_MAX),
    number("admin-stats_mysql_connections", 60, INTERVAL_S_MAX),
    number("admin-stats_mysql_query_cache", 60, INTERVAL_S_MAX),
    number("admin-stats_mysql_query_digest_to_disk", 0, 24 * 3600),
    number("admin-stats_system_cpu", 60, INTERVAL_S_MAX),
    number("admin-stats_system_memory", 60, INTERVAL_S_MAX),
    shown("admin-version"),
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

/// The variable of this name, in any letters.
pub fn find(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|variable| variable.name.eq_ignore_ascii_case(name))
}

/// The values of the admin port's own variables, where they are not the defaults.
#[derive(Default)]
pub struct OwnVariables(BTreeMap<&'static str, u64>);

impl OwnVariables {
    /// What one of them is; 0 for a name that is none of them.
    pub fn get(&self, name: &str) -> u64 {
        let default = || match find(name).map(|variable| variable.of) {
            Some(Owner::Number(default, ..)) => default,
            _ => 0,
        };
        self.0.get(name).copied().unwrap_or_else(default)
    }

    /// Has this value count; `None` if it is no variable of these.
    ///
    /// # Errors
    /// Why not, for the client.
    pub fn set(&mut self, variable: &'static Variable, value: &str) -> Option<Result<(), String>> {
        let Owner::Number(_, least, most) = variable.of else { return None };
        let read = value.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
        Some(match read {
            Some(number) => {
                self.0.insert(variable.name, number);
                Ok(())
            }
            None => Err(format!("'{value}' is no whole number from {least} to {most}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(VARIABLES.is_sorted_by_key(|variable| variable.name));
    }

    #[test]
    fn own_variables_have_defaults_and_bounds() {
        let mut own = OwnVariables::default();
        let interval = find("admin-stats_mysql_connections").unwrap();
        assert_eq!(own.get(interval.name), 60);
        assert!(own.set(interval, "301").unwrap().is_err());
        assert!(own.set(interval, "5").unwrap().is_ok());
        assert_eq!(own.get(interval.name), 5);
        assert!(own.set(find("mysql-threads").unwrap(), "5").is_none());
    }
}
