//! What stored code does: triggers, routines, and functions behind views.

use std::sync::Arc;

use freshet_sql::BodyWrite;

use crate::name::Name;
use crate::versions::Basis;

/// What code does whose bodies are understood: it makes no temporary tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    /// There is some.
    pub any: bool,
    /// Every table that it may change, what hangs on them by foreign keys not included, and those in `rows` only where it may change
    /// other rows of them too.
    pub writes: Vec<Name>,
    /// The rows that a procedure itself writes, by what it is called with, each with the table or view.
    pub rows: Vec<(Name, BodyWrite)>,
    /// The engines of the tables that it writes.
    pub engines: Vec<String>,
    /// Every table, view and routine whose definition this rests on.
    pub names: Vec<Name>,
    /// It may set variables of the session.
    pub session: bool,
    /// It may begin and end transactions.
    pub commits: bool,
    /// It may ask about the statement before the one that runs it.
    pub reads_last_statement: bool,
}

/// What is known of a procedure or function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routine {
    /// What it does, with all that this leads to; `None` if that cannot be told: it is not there, our account cannot see
    /// it, or it is not understood.
    pub code: Option<Code>,
    /// What this rests on.
    pub rests_on: Arc<Basis>,
}

/// Returns the name under which changes of a routine are told of among those of tables: one that no table has for long, since a
/// routine's name means the same in any case.
pub fn routine_name((schema, name): &Name) -> Name {
    (schema.clone(), format!("{}()", name.to_lowercase()))
}
