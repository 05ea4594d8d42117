//! A statement as Freshet has read it, and the tables and views that it names.

use std::sync::Arc;

use freshet_cache::{Dep, Freshness};
use freshet_catalog::rows::{KeyType, Zone};
use freshet_catalog::{ColumnInfo, Name, TableInfo, TableKind, Told};
use freshet_sql::{
    Datum, InputColumn, Modes, ParsedSelect, QueryPlan, RowWrite, Slotted, TableDefinition, TableName,
    Tokens, Unplanned,
};

/// The most tables and views below a view for which the rows of each are told apart.
const BELOW_MAX: usize = 64;

/// A table or view that a statement names, or a view that it reads.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) info: Arc<TableInfo>,
    /// The names of the columns, if this is a table whose columns are known.
    columns: Option<Arc<[String]>>,
    /// No column is hidden.
    shows_all: bool,
}

impl Named {
    pub(crate) fn new((schema, name): Name, info: Arc<TableInfo>) -> Self {
        let is_known = info.kind == TableKind::Base && !info.columns.is_empty();
        let columns = is_known.then(|| info.columns.iter().map(|column| column.name.clone()).collect());
        let shows_all = info.columns.iter().all(|column| !column.hidden);
        Self { schema, name, info, columns, shows_all }
    }

    /// Whether nothing exists under this name, for certain.
    pub(crate) fn is_absent(&self) -> bool {
        self.info.kind == TableKind::Unseen && !self.info.runs_unknown_code
    }

    pub(crate) fn is(&self, table: &TableName, default: Option<&str>) -> bool {
        self.name == table.name && table.schema.as_deref().or(default) == Some(&self.schema)
    }

    pub(crate) fn definition(&self) -> Option<TableDefinition<'_>> {
        match &self.info.kind {
            TableKind::Base => {
                let table = |columns| TableDefinition::Table { columns, shows_all: self.shows_all };
                self.columns.clone().map(table)
            }
            TableKind::View { text, .. } => text.as_deref().map(TableDefinition::View),
            TableKind::Unseen => None,
        }
    }

    /// Returns what a view is made of, without the view; nothing for a table, and nothing for a view of so many tables that its text is not
    /// read.
    pub(crate) fn below(&self) -> &[Name] {
        if self.has_more_below() { &[] } else { self.info.base_tables.get(1..).unwrap_or_default() }
    }

    /// Whether this is a view of so many tables that its text is not read.
    pub(crate) fn has_more_below(&self) -> bool {
        self.info.base_tables.len() > BELOW_MAX + 1
    }
}

/// The tables and views that the statements of a template name.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The tables as the statement writes them, each once.
    pub(crate) written: Vec<TableName>,
    /// The same tables, with their definitions.
    pub(crate) known: Vec<Named>,
    /// The tables below the views: the statement does not name them, but its rows are theirs.
    pub(crate) below: Vec<Named>,
    /// How many mentions of tables the statement has.
    pub(crate) named: usize,
    /// A column of the tables is a TIME.
    pub(crate) have_times: bool,
    /// The statement's grammar is not understood: these are all possible meanings of its names, and nothing exists under most of them.
    pub(crate) by_names: bool,
}

impl Tables {
    /// Whether the statement names only tables.
    pub(crate) fn are_all_base(&self) -> bool {
        self.known.iter().all(|named| named.info.kind == TableKind::Base || named.is_absent())
    }

    /// Whether the statement names only tables that a transaction reads by its read view.
    pub(crate) fn have_read_views(&self) -> bool {
        let has_one = |named: &Named| {
            named.info.kind == TableKind::Base && named.info.engine.eq_ignore_ascii_case("InnoDB")
        };
        !self.by_names && !self.known.is_empty() && self.known.iter().all(has_one)
    }

    /// Whether the rows that are read depend on the session's time zone.
    pub(crate) fn have_moments(&self) -> bool {
        let is_moment = |key: &KeyType| matches!(key, KeyType::Timestamp { .. });
        self.all().any(|table| table.info.columns.iter().any(|column| is_moment(&column.key)))
    }

    /// Makes `told` rest on the definitions of these tables.
    pub(crate) fn rest(&self, told: &mut Told) {
        self.all().for_each(|table| told.rest_on_table(&table.info));
    }

    /// Returns the place of the table that a statement names like this.
    pub(super) fn position(&self, table: &TableName, default: Option<&str>) -> Option<usize> {
        self.all().position(|named| named.is(table, default))
    }

    pub(super) fn get(&self, at: usize) -> Option<&Named> {
        self.all().nth(at)
    }

    pub(crate) fn definition(&self, table: &TableName, default: Option<&str>) -> Option<TableDefinition<'_>> {
        self.all().find(|named| named.is(table, default))?.definition()
    }

    /// Returns the columns of a table with their types, if they are known.
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

    /// Returns the dependencies on all rows and the definitions of all these tables.
    pub(crate) fn whole(&self, freshness: &Freshness) -> Vec<Dep> {
        let deps = |named: &Named| {
            let table = freshness.table(&named.schema, &named.name);
            [table.definition, table.rows]
        };
        self.all().flat_map(deps).collect()
    }

    /// Returns all tables, first those that the statement names.
    pub(super) fn all(&self) -> impl Iterator<Item = &Named> {
        self.known.iter().chain(&self.below)
    }
}

/// A statement as Freshet has read it.
#[derive(Clone, Copy)]
pub(crate) struct StatementText<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) modes: Modes,
    pub(crate) schema: Option<&'a str>,
    /// The session's time zone.
    pub(crate) zone: Zone,
    /// The tokens of the text, if it has been cut.
    pub(crate) tokens: Option<&'a Tokens<'a>>,
}

impl<'a> StatementText<'a> {
    /// Reads the clauses of the statement, a SELECT of these tables.
    ///
    /// # Errors
    /// It is not understood.
    pub(crate) fn parsed(self, tables: &'a Tables) -> Result<ParsedSelect<'a>, Unplanned> {
        let definition_of = |table: &TableName| tables.definition(table, self.schema);
        match self.tokens {
            Some(tokens) => ParsedSelect::of_tokens(tokens, &definition_of),
            None => ParsedSelect::read(self.text, self.modes, &definition_of),
        }
    }

    /// Returns the plan form of the statement, a SELECT of these tables.
    ///
    /// # Errors
    /// What has no place in the form.
    pub(crate) fn plan_form(self, tables: &Tables) -> Result<QueryPlan, Unplanned> {
        self.parsed(tables)?.plan(&|table| tables.columns_of(table, self.schema))
    }

    /// Returns what `read` finds in all statements that have the form of this one, with parameters in the places of their values. The text with
    /// parameters, filled with the values of this statement, must mean the same as the statement itself. Then it also does for other values of
    /// the same types: the meaning of a text depends on its words and on the types of its values.
    pub(crate) fn of_form<T: Clone + PartialEq>(
        self,
        read: impl Fn(StatementText<'_>) -> Option<T>,
        with_values: impl FnOnce(T, &[Datum]) -> T,
    ) -> Option<T> {
        let slotted = self.slotted()?;
        let own = read(self)?;
        let with_slots = read(StatementText { text: slotted.text(), tokens: None, ..self })?;
        (with_values(with_slots.clone(), &slotted.values) == own).then_some(with_slots)
    }

    /// Returns the statement with parameters in the places of its values; `None` if its text has more to say than its form and its values.
    fn slotted(&self) -> Option<Slotted> {
        let mut slotted = Slotted::default();
        let has_form = match self.tokens {
            Some(tokens) => slotted.read_tokens(tokens, self.schema),
            None => slotted.read(self.text, self.modes, self.schema),
        };
        (has_form && slotted.is_shared()).then_some(slotted)
    }

    /// Returns the rows that the statement writes.
    pub(crate) fn row_write(&self) -> Option<RowWrite> {
        match self.tokens {
            Some(tokens) => tokens.row_write(),
            None => freshet_sql::row_write(self.text, self.modes),
        }
    }
}
