//! Whether a statement's result depends on nothing but the rows of tables it names.

use crate::TableName;
use crate::modes::Modes;
use crate::reason::Reason;
use crate::request::Hint;

/// What `analyse` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// The result is a function of these tables and of the session's environment.
    Cacheable {
        /// Every table and view named anywhere in it, once each; names of common table expressions are not among them.
        tables: Vec<TableName>,
        /// The hint in its first SELECT.
        hint: Option<Hint>,
    },
    /// It is not, or it could not be proven.
    Not(Reason),
}

/// Analyses one statement with a full parser.
pub fn analyse(_text: &[u8], _modes: Modes) -> Analysis {
    unimplemented!()
}

/// The tables that a view's SELECT reads, or why the view cannot be depended on.
pub fn view_tables(_definition: &[u8], _modes: Modes) -> Result<Vec<TableName>, Reason> {
    unimplemented!()
}

/// Whether the expression of a generated column is deterministic.
pub fn pure_expression(_text: &[u8], _modes: Modes) -> bool {
    unimplemented!()
}
