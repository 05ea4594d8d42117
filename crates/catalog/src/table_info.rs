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
    /// A view; these are the tables and views that its own text names.
    View {
        /// What its text names.
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
    /// Its type, as it is declared.
    pub data_type: DataType,
    /// It is computed from others.
    pub generated: bool,
    /// The server changes it by itself whenever the row changes.
    pub on_update: bool,
    /// INVISIBLE: neither `*` nor a NATURAL join finds it.
    pub hidden: bool,
    /// The server makes up its value when none is given.
    pub auto_increment: bool,
    /// It can be NULL.
    pub nullable: bool,
    /// It is the primary key, alone: no two rows have the same value in it, as the server compares them.
    pub unique: bool,
    /// It is the primary key, alone, and no other key of the table is unique: a row that stands in the way of a new one has
    /// the same value in it.
    pub only_unique: bool,
}

/// What is known of one table or view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    /// Schema and name as the server reports them, which is how the binlog names them too.
    pub name: Name,
    /// What it is.
    pub kind: TableKind,
    /// The storage engine; empty for a view.
    pub engine: String,
    /// Whether results that read it may be cached, or why not, in words for users.
    pub cacheable: Result<(), String>,
    /// What a result that reads it depends on: itself first, and for a view everything below it,
    /// views (for their definitions) and tables; for a MERGE table, those that it is made of.
    pub base_tables: Vec<Name>,
    /// What all of this rests on.
    pub rests_on: Arc<Basis>,
    /// What it shows depends on rows, on what the sessions of an account share, on the time and on chance alone, as far as it is no matter of the
    /// functions that it calls. Not so for tables of the server's own, and for a view that names `CONNECTION_ID()`.
    pub shows_all_alike: bool,
    /// It is a view, and reading it may run unknown functions, or something else of it is not understood; or our account would
    /// not see it if it were a view.
    pub runs_unknown_code: bool,
    /// It is a view, and its text says SQL_CACHE, or that of a view below it.
    pub asks_for_cache: bool,
    /// Whether a change of its rows may run unknown triggers. True as well if our account cannot see
    /// whether it has any, and for what others may see and our account cannot.
    pub has_triggers: bool,
    /// A write to it may be one to tables that are not named here, because of its engine, or that of a table below it.
    pub writes_elsewhere: bool,
    /// It, or a table below it, may be part of a MERGE table: see [`crate::of_merged_tables`].
    pub may_be_merged: bool,
    /// Its columns in their order, which is that of the binlog's row images; empty for a view, for what cannot be seen, and
    /// where the row images have another order.
    pub columns: Arc<[ColumnInfo]>,
    /// Of each of these columns, what the server tells of it to clients: whenever that is another, this text is another.
    pub described: Arc<[Box<str>]>,
    /// The end of the binlog, asked for after the definition was read: what follows has this layout, until the definition
    /// changes again. The greatest position if that is not known.
    pub settled_by: Position,
    /// What its triggers do, and those of the tables that these write, and so on. `None` if `has_triggers`.
    pub triggers: Option<Code>,
    /// What reading it runs: the functions that a view calls. `None` if `runs_unknown_code`.
    pub reading: Option<Code>,
}

impl TableInfo {
    /// Whether reading it runs functions, whatever they do, or may do so.
    #[must_use]
    pub fn runs_any_code(&self) -> bool {
        self.reading.as_ref().is_none_or(|code| code.any)
    }
}

impl Told {
    /// It rests on the definition of a table or view, and on all that this rests on.
    pub fn rest_on_table(&mut self, table: &TableInfo) {
        self.rest_on(&table.rests_on);
    }
}
