//! What stored code does: triggers, routines, and functions behind views.

use std::sync::Arc;

use freshet_sql::BodyWrite;

use crate::name::Name;
use crate::versions::Basis;

/// What code does, if its bodies are understood: it makes no temporary tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    /// There is some code.
    pub any: bool,
    /// Every table that the code may change. Not included: tables that hang on these by foreign keys. Tables in `rows` are included only
    /// where the code may change further rows of them.
    pub writes: Vec<Name>,
    /// The rows that a procedure itself writes, as a function of its arguments, each with the table or view.
    pub rows: Vec<(Name, BodyWrite)>,
    /// The engines of the tables that the code writes.
    pub engines: Vec<String>,
    /// Every table, view and routine on whose definition this rests.
    pub names: Vec<Name>,
    /// The code may set variables of the session.
    pub session: bool,
    /// The code may begin and end transactions.
    pub commits: bool,
    /// The code may ask about the statement before the one that runs it.
    pub reads_last_statement: bool,
}

/// What is known of a procedure or function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routine {
    /// What the routine does, with all the code that it runs; `None` if that cannot be told: the routine does not exist, our account
    /// cannot see it, or it is not understood.
    pub code: Option<Code>,
    /// The definitions on which this rests.
    pub rests_on: Arc<Basis>,
}

/// Returns the name under which changes of a routine are told. It is among the names of tables, but no table has it for long, since a
/// routine's name means the same in any case.
pub fn routine_name((schema, name): &Name) -> Name {
    (schema.clone(), format!("{}()", name.to_lowercase()))
}
