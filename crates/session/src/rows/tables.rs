//! A statement as it was read, and what is known of the tables and views that it names.

use std::sync::Arc;

use freshet_cache::{Dep, Freshness};
use freshet_catalog::rows::{KeyType, Zone};
use freshet_catalog::{ColumnInfo, Name, TableInfo, TableKind, Told};
use freshet_sql::{Definition, InputColumn, Modes, TableName, Tokens};

/// The most tables and views that a view is made of, for the rows of each to be told.
const BELOW_MAX: usize = 64;

/// A table or view that a statement names, or a view that it reads.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) info: Arc<TableInfo>,
    /// Its columns' names, if it is a table of which they are known.
    columns: Option<Arc<[String]>>,
    /// None of its columns is hidden.
    shows_all: bool,
}

impl Named {
    pub(crate) fn new((schema, name): Name, info: Arc<TableInfo>) -> Self {
        let is_known = info.kind == TableKind::Base && !info.columns.is_empty();
        let columns = is_known.then(|| info.columns.iter().map(|column| column.name.clone()).collect());
        let shows_all = info.columns.iter().all(|column| !column.hidden);
        Self { schema, name, info, columns, shows_all }
    }

    /// There is nothing under this name, for certain.
    pub(crate) fn is_absent(&self) -> bool {
        self.info.kind == TableKind::Unseen && !self.info.runs_unknown_code
    }

    pub(crate) fn is(&self, table: &TableName, default: Option<&str>) -> bool {
        self.name == table.name && table.schema.as_deref().or(default) == Some(&self.schema)
    }

    pub(crate) fn definition(&self) -> Option<Definition<'_>> {
        match &self.info.kind {
            TableKind::Base => {
                let table = |columns| Definition::Table { columns, shows_all: self.shows_all };
                self.columns.clone().map(table)
            }
            TableKind::View { text, .. } => text.as_deref().map(Definition::View),
            TableKind::Unseen => None,
        }
    }

    /// What a view is made of, itself not included; nothing for a table, and for a view of so much that its text is not
    /// read for it.
    pub(crate) fn below(&self) -> &[Name] {
        if self.has_more_below() { &[] } else { self.info.base_tables.get(1..).unwrap_or_default() }
    }

    /// It is a view of so much that its text is not read for what it is made of.
    pub(crate) fn has_more_below(&self) -> bool {
        self.info.base_tables.len() > BELOW_MAX + 1
    }
}

/// The tables and views that the statements of a template name.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// As the statement writes them, each once.
    pub(crate) written: Vec<TableName>,
    /// The same, and what is known of each.
    pub(crate) known: Vec<Named>,
    /// What the views among them are made of: the statement does not name these, but its rows are theirs.
    pub(crate) below: Vec<Named>,
    /// How often tables are named by the statement altogether.
    pub(crate) named: usize,
    /// A column of theirs is a TIME.
    pub(crate) have_times: bool,
    /// The statement's grammar is not understood: these are all that its names can mean, and there is nothing under most of them.
    pub(crate) by_names: bool,
}

impl Tables {
    /// Whether all that the statement names are tables.
    pub(crate) fn are_all_base(&self) -> bool {
        self.known.iter().all(|named| named.info.kind == TableKind::Base || named.is_absent())
    }

    /// Whether all that the statement names are tables that are read by the read view of a transaction.
    pub(crate) fn have_read_views(&self) -> bool {
        let has_one = |named: &Named| {
            named.info.kind == TableKind::Base && named.info.engine.eq_ignore_ascii_case("InnoDB")
        };
        !self.by_names && !self.known.is_empty() && self.known.iter().all(has_one)
    }

    /// Whether which rows are read hangs on the session's time zone.
    pub(crate) fn have_moments(&self) -> bool {
        let is_moment = |key: &KeyType| matches!(key, KeyType::Timestamp { .. });
        self.all().any(|table| table.info.columns.iter().any(|column| is_moment(&column.key)))
    }

    /// What is told by these rests on them.
    pub(crate) fn rest(&self, told: &mut Told) {
        self.all().for_each(|table| told.rest_on_table(&table.info));
    }

    /// Which of all it is that a statement names so.
    pub(super) fn position(&self, table: &TableName, default: Option<&str>) -> Option<usize> {
        self.all().position(|named| named.is(table, default))
    }

    pub(super) fn get(&self, at: usize) -> Option<&Named> {
        self.all().nth(at)
    }

    pub(crate) fn definition(&self, table: &TableName, default: Option<&str>) -> Option<Definition<'_>> {
        self.all().find(|named| named.is(table, default))?.definition()
    }

    /// The columns of a table with their types, if they are known.
    pub(crate) fn columns_of(&self, table: &TableName, default: Option<&str>) -> Vec<InputColumn> {
        let column = |column: &ColumnInfo| InputColumn {
            name: column.name.clone(),
            data_type: Some(column.data_type.clone()),
            is_nullable: column.nullable,
            is_hidden: column.hidden,
        };
        let named = self.all().find(|named| named.is(table, default));
        named.map(|named| named.info.columns.iter().map(column).collect()).unwrap_or_default()
    }

    /// All rows of all of them, and how they are defined.
    pub(crate) fn whole(&self, freshness: &Freshness) -> Vec<Dep> {
        let deps = |named: &Named| {
            let table = freshness.table(&named.schema, &named.name);
            [table.definition, table.rows]
        };
        self.all().flat_map(deps).collect()
    }

    /// Every one of them, first those that the statement names.
    pub(super) fn all(&self) -> impl Iterator<Item = &Named> {
        self.known.iter().chain(&self.below)
    }
}

/// A statement as it was read.
#[derive(Clone, Copy)]
pub(crate) struct StatementText<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) modes: Modes,
    pub(crate) schema: Option<&'a str>,
    /// The time zone in which its moments are meant.
    pub(crate) zone: Zone,
    /// The text as tokens, if it has been cut.
    pub(crate) tokens: Option<&'a Tokens<'a>>,
}
