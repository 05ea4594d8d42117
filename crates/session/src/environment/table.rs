//! The values that Freshet reads of a session, as one static table, and the query that reads them.

use std::fmt::Write as _;

/// One value that Freshet reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The name in this module.
    pub(super) name: &'static str,
    /// The expression that gives the value. A system variable that the server does not have is left out.
    pub(super) expression: Expression,
    /// Whether the value can change a result and so belongs to the key.
    keyed: bool,
    /// How a session gets another value.
    pub(super) assignment: AssignmentKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Sql(&'static str),
    Variable(&'static str),
    /// The same as `Sql`, on servers that have roles.
    OfRoles(&'static str),
}

/// How a session gets a value that Freshet reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AssignmentKind {
    /// By SET of the variable.
    Set,
    /// By SET too, unless the default schema changes, which also changes the value.
    SetUnlessMoved,
    /// By SET, also when `max_join_size` is set, because that changes the value.
    SetAfterJoinSize,
    /// By USE.
    Use,
    /// By SET ROLE.
    Role,
    /// The value follows from others, is set for reports (`session/tracking.rs`), or is not the session's own.
    Apart,
    /// Not at all.
    Never,
}

use AssignmentKind::{Apart, Never, Role, Set, SetAfterJoinSize, SetUnlessMoved, Use};
use Expression::{OfRoles, Sql, Variable};

const fn keyed(name: &'static str) -> Item {
    Item { name, expression: Variable(name), keyed: true, assignment: Set }
}

const fn unkeyed(name: &'static str) -> Item {
    Item { name, expression: Variable(name), keyed: false, assignment: Set }
}

impl Item {
    /// Whether the value says who the client is.
    pub(super) fn is_of_account(&self) -> bool {
        matches!(self.name, "account" | "role")
    }

    const fn assigned(self, assignment: AssignmentKind) -> Self {
        Self { assignment, ..self }
    }
}

/// Whether the session's clock shows UTC, in winter and summer of years far apart.
const SHOWS_UTC: &str = "FROM_UNIXTIME(31536000) = '1971-01-01 00:00:00' \
     AND FROM_UNIXTIME(47174400) = '1971-07-01 00:00:00' \
     AND FROM_UNIXTIME(788918400) = '1995-01-01 00:00:00' \
     AND FROM_UNIXTIME(804556800) = '1995-07-01 00:00:00' \
     AND FROM_UNIXTIME(1735689600) = '2025-01-01 00:00:00' \
     AND FROM_UNIXTIME(1751328000) = '2025-07-01 00:00:00' \
     AND FROM_UNIXTIME(2114380800) = '2037-01-01 00:00:00' \
     AND FROM_UNIXTIME(2130019200) = '2037-07-01 00:00:00'";

/// Whether the session's time is the server's: `timestamp` is not set to another time.
const TELLS_TIME: &str = "NOW() BETWEEN SYSDATE() - INTERVAL 2 SECOND AND SYSDATE() + INTERVAL 2 SECOND";

/// Sources: the key of the native query cache, and both servers' manuals for the variables that it forgot.
/// Keyed items come first.
static ITEMS: &[Item] = &[
    Item { name: "schema", expression: Sql("DATABASE()"), keyed: true, assignment: Use },
    Item { name: "account", expression: Sql("CURRENT_USER()"), keyed: true, assignment: Never },
    Item { name: "role", expression: OfRoles("CURRENT_ROLE()"), keyed: true, assignment: Role },
    keyed("sql_mode"),
    keyed("time_zone"),
    keyed("character_set_client"),
    // A SET of the collation sets this, too.
    keyed("character_set_connection").assigned(Apart),
    keyed("character_set_results"),
    keyed("collation_connection"),
    keyed("collation_database").assigned(SetUnlessMoved),
    keyed("sql_select_limit"),
    keyed("max_sort_length"),
    keyed("group_concat_max_len"),
    keyed("div_precision_increment"),
    keyed("default_week_format"),
    keyed("lc_time_names"),
    keyed("sql_auto_is_null"),
    keyed("block_encryption_mode"),
    keyed("max_allowed_packet").assigned(Never),
    keyed("old"),
    keyed("old_passwords"),
    keyed("old_mode"),
    keyed("default_regex_flags"),
    keyed("system_versioning_asof"),
    keyed("standard_compliant_cte"),
    keyed("character_set_collations"),
    keyed("default_collation_for_utf8mb4"),
    keyed("windowing_use_high_precision"),
    keyed("resultset_metadata"),
    keyed("max_recursive_iterations"),
    keyed("cte_max_recursion_depth"),
    keyed("max_join_size"),
    keyed("sql_big_selects").assigned(SetAfterJoinSize),
    keyed("sql_buffer_result"),
    // How many warnings of an answer are counted.
    keyed("max_error_count"),
    // Which warnings exist.
    keyed("sql_notes"),
    keyed("note_verbosity"),
    keyed("big_tables"),
    // A result is the same at READ COMMITTED and at REPEATABLE READ. At the other two levels nothing is stored and nothing served.
    Item { name: "isolation", expression: Variable("transaction_isolation"), keyed: false, assignment: Set },
    Item { name: "isolation", expression: Variable("tx_isolation"), keyed: false, assignment: Set },
    unkeyed("autocommit"),
    unkeyed("completion_type"),
    // How writes are checked, and how long they wait.
    unkeyed("foreign_key_checks"),
    unkeyed("unique_checks"),
    unkeyed("sql_safe_updates"),
    unkeyed("lock_wait_timeout"),
    unkeyed("innodb_lock_wait_timeout"),
    unkeyed("auto_increment_increment").assigned(Never),
    unkeyed("auto_increment_offset").assigned(Never),
    unkeyed("gtid_next"),
    unkeyed("innodb_snapshot_isolation"),
    Item { name: "read_only", expression: Variable("transaction_read_only"), keyed: false, assignment: Set },
    Item { name: "read_only", expression: Variable("tx_read_only"), keyed: false, assignment: Set },
    unkeyed("sql_log_bin"),
    unkeyed("wait_timeout"),
    // MariaDB's timeouts within transactions.
    unkeyed("idle_transaction_timeout"),
    unkeyed("idle_readonly_transaction_timeout"),
    unkeyed("idle_write_transaction_timeout"),
    unkeyed("session_track_gtids").assigned(Apart),
    unkeyed("session_track_schema").assigned(Apart),
    unkeyed("session_track_state_change").assigned(Apart),
    unkeyed("session_track_system_variables").assigned(Apart),
    unkeyed("session_track_transaction_info").assigned(Apart),
    // The meaning of the zone's name.
    Item {
        name: "system_time_zone",
        expression: Sql("@@global.system_time_zone"),
        keyed: false,
        assignment: Apart,
    },
    Item { name: "shows_utc", expression: Sql(SHOWS_UTC), keyed: false, assignment: Apart },
    // Only a bargain caches statements that read the time.
    Item { name: "tells_time", expression: Sql(TELLS_TIME), keyed: false, assignment: Apart },
    // Not the session's own: shows whether something has already run in the session.
    Item { name: "init_connect", expression: Sql("@@global.init_connect"), keyed: false, assignment: Apart },
];

/// The query for a given server, and the items of its columns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct VectorQuery {
    sql: String,
    items: Vec<&'static Item>,
    variables: Vec<&'static str>,
    keyed: usize,
}

impl VectorQuery {
    /// Makes the query for a server that has the system variables for which `exists` holds, and roles or none.
    pub(crate) fn new(exists: impl Fn(&str) -> bool, has_roles: bool) -> Self {
        let mut query = Self { sql: "SELECT ".to_owned(), ..Self::default() };
        for item in ITEMS {
            let separator = if query.items.is_empty() { "" } else { ", " };
            match item.expression {
                OfRoles(_) if !has_roles => continue,
                Sql(expression) | OfRoles(expression) => write!(query.sql, "{separator}{expression}"),
                Variable(name) if exists(name) => {
                    query.variables.push(name);
                    write!(query.sql, "{separator}@@session.{name}")
                }
                Variable(_) => continue,
            }
            .unwrap_or_default();
            query.items.push(item);
            query.keyed += usize::from(item.keyed);
        }
        query
    }

    /// Returns the text to send.
    pub(crate) fn sql(&self) -> &str {
        &self.sql
    }

    /// Returns how many of the first columns belong to the key.
    pub(crate) fn keyed(&self) -> usize {
        self.keyed
    }

    /// Returns the system variables that the query reads.
    pub(crate) fn variables(&self) -> &[&'static str] {
        &self.variables
    }

    /// Returns the column of `name`.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.items.iter().position(|item| item.name == name)
    }

    /// Returns the items of the columns.
    pub(super) fn items(&self) -> &[&'static Item] {
        &self.items
    }

    /// Returns how many columns a whole row has.
    pub(crate) fn width(&self) -> usize {
        self.items.len()
    }
}

/// Whether a system variable of this name has a value that is the session's own, and that is read of each session.
pub(crate) fn is_of_sessions(name: &str) -> bool {
    let is_it = |item: &Item| {
        matches!(item.expression, Variable(it) if it == name) && (item.keyed || item.assignment != Apart)
    };
    ITEMS.iter().any(is_it)
}

/// Returns the system variables that would be read of a server that has all of them.
pub(crate) fn variable_names() -> impl Iterator<Item = &'static str> {
    ITEMS.iter().filter_map(|item| match item.expression {
        Variable(name) => Some(name),
        Sql(_) | OfRoles(_) => None,
    })
}
