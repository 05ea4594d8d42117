//! The server's reports on a session: the reports that the client asked for, and the reports that Freshet needs.

use std::collections::BTreeSet;

use freshet_sql::Flavor;

use crate::environment::VectorQuery;

/// How much the server reports of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TransactionTracking {
    Off,
    State,
    Characteristics,
}

/// Which GTIDs the server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gtids {
    Off,
    Own,
    All,
}

/// The `session_track_…` variables of a session, as the client or Freshet wants them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reports {
    pub(crate) schema: bool,
    pub(crate) state: bool,
    pub(crate) transactions: TransactionTracking,
    /// Only MySQL has these.
    pub(crate) gtids: Gtids,
    /// The list as the server shows it.
    pub(crate) variables: String,
}

/// The variables that both servers report by default.
const VARIABLES_BY_DEFAULT: &str =
    "autocommit,character_set_client,character_set_connection,character_set_results,time_zone";

/// The longest list of variables that Freshet puts back, in bytes.
const VARIABLES_BYTES_MAX: usize = 16 << 10;

impl Default for Reports {
    fn default() -> Self {
        Self {
            schema: true,
            state: false,
            transactions: TransactionTracking::Off,
            gtids: Gtids::Off,
            variables: VARIABLES_BY_DEFAULT.to_owned(),
        }
    }
}

impl Reports {
    /// Reads the variables as the server shows them, by their names without `session_track_`. `None` if they cannot be set again as they are.
    pub(crate) fn read(value: impl Fn(&str) -> String) -> Option<Self> {
        let variables = value("system_variables");
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_,* \t\n.$".contains(&byte);
        (variables.len() <= VARIABLES_BYTES_MAX && variables.bytes().all(is_plain)).then_some(())?;
        Some(Self {
            schema: is_on(&value("schema")),
            state: is_on(&value("state_change")),
            transactions: match value("transaction_info").as_str() {
                "OFF" | "0" | "" => TransactionTracking::Off,
                "STATE" | "1" => TransactionTracking::State,
                _ => TransactionTracking::Characteristics,
            },
            gtids: match value("gtids").as_str() {
                "OFF" | "0" | "" => Gtids::Off,
                "OWN_GTID" | "1" => Gtids::Own,
                _ => Gtids::All,
            },
            variables,
        })
    }

    /// Whether the server reports anything of transactions.
    pub(crate) fn tell_of_transactions(&self) -> bool {
        self.transactions != TransactionTracking::Off
    }

    /// Returns the names of the variables whose changes are reported.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.split(',').map(str::trim).filter(|name| !name.is_empty())
    }

    /// Whether changes of this variable are reported.
    pub(crate) fn tell_of(&self, variable: &[u8]) -> bool {
        self.names().any(|name| name == "*" || name.as_bytes().eq_ignore_ascii_case(variable))
    }

    /// Returns the settings that make two clients' answers to the same SELECT differ.
    pub(crate) fn form(&self) -> [u8; 4] {
        [self.schema.into(), self.state.into(), self.transactions as u8, self.gtids as u8]
    }

    /// Returns these reports, and those that Freshet needs of the session.
    pub(crate) fn with_ours(&self, flavor: Flavor, query: &VectorQuery) -> Self {
        // MySQL reports a variable by the name that the list has.
        let mut names: Vec<&str> = self.names().collect();
        let mut ours: Vec<&str> = VARIABLES_BY_DEFAULT.split(',').collect();
        ours.extend(query.variables().iter().filter(|name| !is_quiet(name)));
        if flavor == Flavor::MariaDb {
            // Put first, so that this name is kept among the names that share its report.
            names.retain(|name| !name.eq_ignore_ascii_case("last_gtid"));
            names.insert(0, "last_gtid");
        }
        ours.sort_unstable();
        for name in ours {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name);
            }
        }
        if names.contains(&"*") {
            names = vec!["*"];
        }
        Self {
            schema: true,
            state: true,
            transactions: TransactionTracking::Characteristics,
            gtids: match (flavor, self.gtids) {
                (Flavor::MySql, Gtids::Off) => Gtids::Own,
                (_, gtids) => gtids,
            },
            variables: names.join(","),
        }
    }

    /// Whether the server reports the same for both. From version 11 on, `MariaDB` lists only one of the variables that share a report.
    pub(crate) fn are_like(&self, other: &Self) -> bool {
        let names = |them: &Self| {
            let names = them.names().map(str::to_ascii_lowercase);
            names.map(|name| reported_as(&name).map_or(name, str::to_owned)).collect::<BTreeSet<String>>()
        };
        self.form() == other.form() && names(self) == names(other)
    }

    /// Returns the statement that sets these reports.
    pub(crate) fn statement(&self, flavor: Flavor) -> String {
        let gtids = match (flavor, self.gtids) {
            (Flavor::MariaDb, _) => "",
            (Flavor::MySql, Gtids::Off) => "SESSION session_track_gtids=OFF, ",
            (Flavor::MySql, Gtids::Own) => "SESSION session_track_gtids=OWN_GTID, ",
            (Flavor::MySql, Gtids::All) => "SESSION session_track_gtids=ALL_GTIDS, ",
        };
        format!("SET {gtids}{}", self.settings())
    }

    /// Returns the same statement without the GTIDs, because MySQL does not allow setting them while a transaction is open.
    pub(crate) fn statement_in_transaction(&self) -> String {
        format!("SET {}", self.settings())
    }

    fn settings(&self) -> String {
        let transactions = match self.transactions {
            TransactionTracking::Off => "OFF",
            TransactionTracking::State => "STATE",
            TransactionTracking::Characteristics => "CHARACTERISTICS",
        };
        let Self { schema, state, variables, .. } = self;
        let (schema, state) = (u8::from(*schema), u8::from(*state));
        format!(
            "SESSION session_track_transaction_info={transactions}, SESSION session_track_schema={schema}, \
             SESSION session_track_state_change={state}, SESSION session_track_system_variables='{variables}'"
        )
    }
}

/// Whether the reading of an environment covers a variable whose reports are useless.
fn is_quiet(name: &str) -> bool {
    name == "wait_timeout" || name.starts_with("session_track_")
}

/// Returns the variable as which the server may report a change of this one: `MariaDB` 11 keeps one name for all variables that share one
/// place in a session's memory, or have none. Measured on 11.8.
fn reported_as(name: &str) -> Option<&'static str> {
    const REPORTED_AS: [(&str, &str); 8] = [
        ("sql_auto_is_null", "autocommit"),
        ("sql_big_selects", "autocommit"),
        ("sql_buffer_result", "autocommit"),
        ("sql_notes", "autocommit"),
        ("collation_connection", "character_set_connection"),
        ("innodb_snapshot_isolation", "last_gtid"),
        ("transaction_isolation", "tx_isolation"),
        ("transaction_read_only", "tx_read_only"),
    ];
    REPORTED_AS.iter().find(|(one, _)| *one == name).map(|(_, other)| *other)
}

fn is_on(value: &str) -> bool {
    value == "1" || value.eq_ignore_ascii_case("ON")
}

#[cfg(test)]
mod tests;
