//! What a template's statements read of their tables, found once for all that differ in their values alone and are sent in time
//! zones of the same kind.

use std::sync::{Arc, OnceLock};

use freshet_catalog::TableInfo;
use freshet_catalog::rows::{Reading, plan};
use freshet_sql::{RowReads, Slotted};

use super::tables::{StatementText, Tables};

/// What is read of one naming of a table or view.
#[derive(Debug)]
pub(super) struct TableReads {
    /// Which one it is, by its place among all.
    pub(super) table: usize,
    /// It is a view, and what it reads is told by itself.
    pub(super) is_expanded: bool,
    /// What it reads is what these read together; none if that is the whole table.
    pub(super) readings: Vec<Reading>,
}

/// What a statement reads, its values aside.
#[derive(Debug, Default)]
pub(crate) struct ReadPlan {
    /// Every naming of a table or view, in the statement and in its views; none if the statement cannot be told.
    pub(super) reads: Vec<TableReads>,
    shows_rows: OnceLock<bool>,
}

impl ReadPlan {
    /// Of one statement. The parameters of one that is prepared are those of the plan.
    pub(crate) fn of(statement: StatementText<'_>, tables: &Tables) -> Self {
        row_reads(statement, tables)
            .and_then(|reads| Self::from_reads(&reads, statement, tables))
            .unwrap_or_default()
    }

    /// Of all statements that have the form of this one: the text with parameters has to say, with the values of this statement,
    /// what the statement itself says. Then it does with others of the same types: what is made of a text hangs on its words and on
    /// the types of its values.
    pub(crate) fn shared(statement: StatementText<'_>, tables: &Tables) -> Option<Self> {
        let mut slotted = Slotted::default();
        let has_form = slotted.read(statement.text, statement.modes, statement.schema) && slotted.is_shared();
        let own = row_reads(statement, tables).filter(|_| has_form)?;
        let with_slots =
            row_reads(StatementText { text: slotted.text(), tokens: None, ..statement }, tables)?;
        let is_same = with_slots.clone().with_values(&slotted.values) == own;
        Self::from_reads(&with_slots, statement, tables).filter(|_| is_same)
    }

    fn from_reads(reads: &RowReads, statement: StatementText<'_>, tables: &Tables) -> Option<Self> {
        let at: Vec<usize> = reads
            .occurrences
            .iter()
            .map(|occurrence| tables.position(&occurrence.table, statement.schema))
            .collect::<Option<_>>()?;
        let infos: Vec<Arc<TableInfo>> =
            at.iter().filter_map(|at| tables.get(*at)).map(|table| Arc::clone(&table.info)).collect();
        let is_expanded = reads.occurrences.iter().map(|occurrence| occurrence.expanded);
        let told = at.iter().zip(is_expanded).zip(plan(reads, &infos, statement.zone));
        let reads: Vec<TableReads> = told
            .map(|((&table, is_expanded), readings)| TableReads { table, is_expanded, readings })
            .collect();
        (reads.len() == at.len()).then(|| Self { reads, shows_rows: OnceLock::new() })
    }

    /// Each naming of a table or view of `tables` with the conditions that tell its rows.
    pub(crate) fn in_words(&self, tables: &Tables) -> Vec<(String, String)> {
        let words = |read: &TableReads| {
            let table = tables.get(read.table)?;
            let rows: Vec<String> =
                read.readings.iter().map(|reading| in_words(reading, &table.info)).collect();
            let rows = match rows.as_slice() {
                _ if read.is_expanded => "what its text reads".to_owned(),
                [] => "any change of its rows".to_owned(),
                rows => rows.join("; or "),
            };
            Some((format!("{}.{}", table.schema, table.name), rows))
        };
        self.reads.iter().filter_map(words).collect()
    }

    /// Whether each row of the result is a row of the one table that is named; `statement` is one of this plan.
    pub(super) fn shows_rows(&self, statement: StatementText<'_>) -> bool {
        matches!(self.reads.as_slice(), [TableReads { readings, .. }] if readings.len() == 1)
            && *self.shows_rows.get_or_init(|| freshet_sql::shows_rows(statement.text, statement.modes))
    }
}

/// Every naming of a table or view with its conditions; `None` if the statement cannot be told.
fn row_reads(statement: StatementText<'_>, tables: &Tables) -> Option<RowReads> {
    if tables.by_names {
        return None;
    }
    let definition_of = |table: &freshet_sql::TableName| tables.definition(table, statement.schema);
    let reads = match statement.tokens {
        Some(cut) => cut.row_reads_of(&tables.written, &definition_of)?,
        None => freshet_sql::row_reads_of(statement.text, statement.modes, &tables.written, &definition_of)?,
    };
    // Or two readers of one text disagree.
    (reads.named() == tables.named).then_some(reads)
}

/// Which rows a reading is of, and which of their columns.
fn in_words(Reading { spec, conditions }: &Reading, table: &TableInfo) -> String {
    let name =
        |ordinal: &u16| table.columns.get(usize::from(*ordinal)).map_or("_", |column| column.name.as_str());
    let keys = spec.equal.iter().chain(&spec.range);
    let rows: Vec<String> = keys.zip(conditions).map(|(key, condition)| condition.on(name(key))).collect();
    let rows =
        if rows.is_empty() { "any row".to_owned() } else { format!("rows with {}", rows.join(" AND ")) };
    match &spec.read {
        Some(read) => format!("{rows}, columns {}", read.iter().map(name).collect::<Vec<_>>().join(", ")),
        None => format!("{rows}, all columns"),
    }
}
