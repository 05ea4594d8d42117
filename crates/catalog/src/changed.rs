//! What a change of definitions concerns.

use freshet_sql::Alteration;

use crate::name::Name;

/// What a definition change may have concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed<'a> {
    /// These tables and views, under the names they had and have.
    Tables(&'a [Name]),
    /// These tables and views, and no new foreign key. Old keys may have ended, or may use other columns.
    Unlinked(&'a [Name]),
    /// This table: all its rows stay, and no foreign key has come or ended.
    Altered(&'a Name, &'a Alteration),
    /// A procedure or a function, which no foreign key concerns.
    Routine,
    /// All objects in this schema. Foreign keys may have ended, and none has come.
    Schema(&'a str),
    /// All objects.
    Everything,
}
