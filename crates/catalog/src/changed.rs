//! What a change of definitions concerns.

use freshet_sql::Alteration;

use crate::name::Name;

/// What a definition change may have concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed<'a> {
    /// These tables and views, under the names they had and have.
    Tables(&'a [Name]),
    /// The same, where no foreign key has come. Keys that were there may have ended, or go by other columns.
    Unlinked(&'a [Name]),
    /// This table, of which all rows stay and no foreign key has come or ended.
    Altered(&'a Name, &'a Alteration),
    /// A procedure or a function, which no foreign key concerns.
    Routine,
    /// Whatever is in this schema. Foreign keys may have ended, and none has come.
    Schema(&'a str),
    /// Anything.
    Everything,
}
