//! What is known of one table or view.

use std::sync::Arc;

use freshet_cache::Position;
use freshet_sql::{DataType, View};

use crate::code::Code;
use crate::name::Name;
use crate::rows::KeyType;
use crate::versions::{Basis, Told};

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableKind {
    /// A table with rows of its own, or a MERGE table.
    Base,
    /// A view.
    View {
        /// The tables and views that its text names.
        names: Vec<Name>,
        /// Its text, unless no result may rest on it.
        text: Option<Arc<View>>,
    },
    /// Nothing that our account can see: it does not exist, or nothing is granted on it.
    Unseen,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts of a column")]
pub struct ColumnInfo {
    /// Its name, lower case.
    pub name: String,
    /// How its values become keys.
    pub key: KeyType,
    /// Its declared type.
    pub data_type: DataType,
    /// Its value is computed from other columns.
    pub generated: bool,
    /// The server changes its value whenever the row changes.
    pub on_update: bool,
    /// INVISIBLE: neither `*` nor a NATURAL join includes it.
    pub hidden: bool,
    /// The server gives it a number when it gets no value.
    pub auto_increment: bool,
    /// It can be NULL.
    pub nullable: bool,
    /// It alone is the primary key: no two rows have the same value in it, as the server compares them.
    pub unique: bool,
    /// It alone is the primary key, and the table has no other unique key: a row that stands in the way of a new row has the same value
    /// in it.
    pub only_unique: bool,
}

/// What is known of one table or view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    /// Schema and name as the server reports them, which is how the binlog names them too.
    pub name: Name,
    /// What the name stands for.
    pub kind: TableKind,
    /// The storage engine; empty for a view.
    pub engine: String,
    /// Whether results that read it may be cached; or why not, in words for users.
    pub cacheable: Result<(), String>,
    /// The tables and views on which a result that reads it depends: itself first; for a view, all views (for their definitions) and
    /// tables below it; for a MERGE table, its tables.
    pub base_tables: Vec<Name>,
    /// The definitions on which all of this rests.
    pub rests_on: Arc<Basis>,
    /// Its rows depend only on rows, on what the sessions of an account share, on the time and on chance, apart from the functions that
    /// it calls. False for tables of the server's own, and for a view that names `CONNECTION_ID()`.
    pub shows_all_alike: bool,
    /// It is a view, and reading it may run unknown functions, or another part of it is not understood; or our account would not see it
    /// if it were a view.
    pub runs_unknown_code: bool,
    /// It is a view, and its text, or that of a view below it, says SQL_CACHE.
    pub asks_for_cache: bool,
    /// Whether a change of its rows may run unknown triggers. Also true if our account cannot see whether it has triggers, or cannot see
    /// it at all.
    pub has_triggers: bool,
    /// A write to it may change tables that are not named here, because of its engine, or that of a table below it.
    pub writes_elsewhere: bool,
    /// It, or a table below it, may be part of a MERGE table: see [`crate::of_merged_tables`].
    pub may_be_merged: bool,
    /// Its columns in the order of the binlog's row images; empty for a view, for an object that our account cannot see, and where the
    /// row images have another order.
    pub columns: Arc<[ColumnInfo]>,
    /// The server's description of each of these columns for clients: whenever the description changes, this text changes.
    pub described: Arc<[Box<str>]>,
    /// The end of the binlog, asked for after the definition was read: later events have this layout, until the definition changes again.
    /// The greatest position if that is not known.
    pub settled_by: Position,
    /// What its triggers do, with the triggers of the tables that they write, and so on. `None` if `has_triggers`.
    pub triggers: Option<Code>,
    /// The code that reading it runs: the functions that a view calls. `None` if `runs_unknown_code`.
    pub reading: Option<Code>,
}

impl TableInfo {
    /// Whether its columns are these. Usually both come from one definition, and nothing is compared.
    #[must_use]
    pub fn has_layout(&self, layout: &Arc<[ColumnInfo]>) -> bool {
        Arc::ptr_eq(&self.columns, layout) || self.columns == *layout
    }

    /// Whether reading it runs functions, of any kind, or may run some.
    #[must_use]
    pub fn runs_any_code(&self) -> bool {
        self.reading.as_ref().is_none_or(|code| code.any)
    }
}

impl Told {
    /// Adds the definition of a table or view, and its basis, to the basis of this one.
    pub fn rest_on_table(&mut self, table: &TableInfo) {
        self.rest_on(&table.rests_on);
    }
}
