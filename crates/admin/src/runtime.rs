//! What the admin port shows, and what it sets going.

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum SqliteValue {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
}

impl From<i64> for SqliteValue {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u64> for SqliteValue {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for SqliteValue {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

impl From<String> for SqliteValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for SqliteValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// A table of statistics; its columns are those of `tables.rs`, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// `stats_mysql_global`.
    Global,
    /// `stats_memory_metrics`.
    Memory,
    /// `stats_mysql_processlist`.
    Processes,
    /// `stats_mysql_query_digest`.
    Digests,
    /// `stats_mysql_query_rules`.
    Rules,
    /// `stats_mysql_connection_pool`.
    Connections,
    /// `stats_mysql_connection_pool_reset`: the same, counted from 0 again.
    ConnectionsReset,
    /// `stats_mysql_commands_counters`.
    Commands,
    /// `stats_mysql_users`.
    Users,
    /// `stats_mysql_query_digest_reset`: the same, counted from 0 again.
    DigestsReset,
    /// `stats_mysql_errors`.
    Errors,
    /// `stats_mysql_errors_reset`: the same, forgotten.
    ErrorsReset,
    /// `stats_mysql_prepared_statements_info`.
    Prepared,
    /// `stats_mysql_free_connections`.
    FreeConnections,
    /// What the system has counted of the process, by name; no table of its own.
    Process,
}

/// Which results are to be dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purge {
    /// Those of statements with this digest.
    Digest(String),
    /// Those of statements that have met the query rule with this number.
    Rule(i64),
    /// Those of statements with this default schema.
    Schema(String),
    /// Those of this user.
    User(String),
    /// Those that rest on this table: of a schema, and its name.
    Table(String, String),
}

/// The running part, as far as the admin port has to do with it.
pub trait Runtime: Send + 'static {
    /// Returns the rows of a table of statistics, now.
    fn rows(&self, of: Statistic) -> Vec<Vec<SqliteValue>>;
    /// Returns the value of a variable of `variables.rs`, now.
    fn variable(&self, name: &str) -> Option<String>;
    /// Has a variable of `variables.rs` count.
    ///
    /// # Errors
    /// Why not, for the client.
    fn set_variable(&self, name: &str, value: &str) -> Result<(), String>;
    /// Returns the columns of `mysql_query_rules` that [`Runtime::load_rules`] takes, in its order.
    fn rule_columns(&self) -> &'static [&'static str];
    /// Has these query rules count in the place of those before.
    ///
    /// # Errors
    /// Which of them cannot be carried out, and why. Those before go on counting.
    fn load_rules(&self, rows: Vec<Vec<Option<String>>>) -> Result<(), String>;
    /// Drops some results. Returns how many there were, as far as they are counted.
    ///
    /// # Errors
    /// What is meant is not known.
    fn purge(&self, what: &Purge) -> Result<u64, String>;
    /// Returns where the server is that is hostgroup 0.
    fn server(&self) -> (String, u16);
    /// Drops all results. Returns how many there were.
    fn flush_cache(&self) -> u64;
    /// Has the query log go on in another file.
    ///
    /// # Errors
    /// That cannot be made.
    fn flush_logs(&self) -> Result<(), String>;
    /// Lets no client in any more, or lets clients in again; those that are connected go on. False if that is so already.
    fn pause(&self, is_paused: bool) -> bool;
    /// Returns everything that is counted, in the text format of Prometheus.
    fn prometheus(&self) -> String;
    /// Ends the program, as a signal does.
    fn shut_down(&self);
}
