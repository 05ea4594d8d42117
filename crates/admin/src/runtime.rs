//! The interface of the running part: what the admin port shows, and what it starts.

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
    /// `stats_mysql_connection_pool_reset`: the same rows; the counts begin at 0 again.
    ConnectionsReset,
    /// `stats_mysql_commands_counters`.
    Commands,
    /// `stats_mysql_users`.
    Users,
    /// `stats_mysql_query_digest_reset`: the same rows; the counts begin at 0 again.
    DigestsReset,
    /// `stats_mysql_errors`.
    Errors,
    /// `stats_mysql_errors_reset`: the same rows, which are then removed.
    ErrorsReset,
    /// `stats_mysql_prepared_statements_info`.
    Prepared,
    /// `stats_mysql_free_connections`.
    FreeConnections,
    /// The system's figures for the process, by name; not a table of its own.
    Process,
}

/// The results that are to be dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purge {
    /// Results of statements with this digest.
    Digest(String),
    /// Results of statements that have met the query rule with this number.
    Rule(i64),
    /// Results of statements with this default schema.
    Schema(String),
    /// Results of this user.
    User(String),
    /// Results that rest on this table: its schema, and its name.
    Table(String, String),
}

/// The running part, as the admin port sees it.
pub trait Runtime: Send + 'static {
    /// Returns the rows of a table of statistics, now.
    fn rows(&self, of: Statistic) -> Vec<Vec<SqliteValue>>;
    /// Returns the value of a variable of `variables.rs`, now.
    fn variable(&self, name: &str) -> Option<String>;
    /// Makes a value of a variable of `variables.rs` count.
    ///
    /// # Errors
    /// The reason for the client, if it is not possible.
    fn set_variable(&self, name: &str, value: &str) -> Result<(), String>;
    /// Returns the columns of `mysql_query_rules` that [`Runtime::load_rules`] takes, in its order.
    fn rule_columns(&self) -> &'static [&'static str];
    /// Makes these query rules count in the place of the earlier ones.
    ///
    /// # Errors
    /// The first rule that cannot be carried out, and the reason. The earlier rules still count.
    fn load_rules(&self, rows: Vec<Vec<Option<String>>>) -> Result<(), String>;
    /// Drops some results. Returns their number, as far as it is counted.
    ///
    /// # Errors
    /// The results are not known.
    fn purge(&self, what: &Purge) -> Result<u64, String>;
    /// Returns the address of the server, which is hostgroup 0.
    fn server(&self) -> (String, u16);
    /// Drops all results. Returns their number.
    fn flush_cache(&self) -> u64;
    /// Continues the query log in another file.
    ///
    /// # Errors
    /// The file cannot be made.
    fn flush_logs(&self) -> Result<(), String>;
    /// Keeps new clients out, or lets them in again; connected clients stay. `false` if that is the state already.
    fn pause(&self, is_paused: bool) -> bool;
    /// Returns all counts, in the text format of Prometheus.
    fn prometheus(&self) -> String;
    /// Ends the program, as a signal does.
    fn shut_down(&self);
}
