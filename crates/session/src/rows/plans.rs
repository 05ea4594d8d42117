//! What a template's statements read of their tables. A plan is found once for all statements that differ only in their values and are sent
//! in time zones of the same kind.

use std::sync::Arc;

use freshet_catalog::TableInfo;
use freshet_catalog::rows::{Reading, plan};
use freshet_sql::{ParsedSelect, RowReads};

use super::tables::{StatementText, Tables};

/// The reads of one mention of a table or view.
#[derive(Debug)]
pub(super) struct TableReads {
    /// The table's place among all tables.
    pub(super) table: usize,
    /// The table is a view, and its own reads are found separately.
    pub(super) is_expanded: bool,
    /// The reads of the mention are these readings together; an empty list means the whole table.
    pub(super) readings: Vec<Reading>,
}

/// The reads of a statement, without its values.
#[derive(Debug, Default)]
pub(crate) struct ReadPlan {
    /// Every mention of a table or view, in the statement and in its views; empty if the statement cannot be read.
    pub(super) reads: Vec<TableReads>,
    /// Each row of the result is one row of the only table.
    shows_rows: bool,
}

impl ReadPlan {
    /// Makes the plan of one statement. The parameters of a prepared statement are those of the plan.
    pub(crate) fn of(statement: StatementText<'_>, tables: &Tables) -> Self {
        if tables.by_names {
            return Self::default();
        }
        statement.parsed(tables).map(|parsed| Self::of_parsed(&parsed, statement, tables)).unwrap_or_default()
    }

    /// The same of a statement whose clauses have been read.
    pub(crate) fn of_parsed(
        parsed: &ParsedSelect<'_>,
        statement: StatementText<'_>,
        tables: &Tables,
    ) -> Self {
        row_reads(parsed, tables)
            .and_then(|reads| Self::from_reads(&reads, statement, tables))
            .unwrap_or_default()
    }

    /// Makes the plan of all statements that have the form of this one.
    pub(crate) fn shared(statement: StatementText<'_>, tables: &Tables) -> Option<Self> {
        let read = |text: StatementText<'_>| row_reads(&text.parsed(tables).ok()?, tables);
        let reads = statement.of_form(read, RowReads::with_values)?;
        Self::from_reads(&reads, statement, tables)
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
        let shows_rows = reads.shows_rows;
        let told = at.iter().zip(is_expanded).zip(plan(reads, &infos, statement.zone));
        let reads: Vec<TableReads> = told
            .map(|((&table, is_expanded), readings)| TableReads { table, is_expanded, readings })
            .collect();
        (reads.len() == at.len()).then_some(Self { reads, shows_rows })
    }

    /// Returns each mention of a table or view of `tables` with the conditions on its rows, in words.
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

    /// Whether each row of the result is a row of the one named table.
    pub(super) fn shows_rows(&self) -> bool {
        self.shows_rows
            && matches!(self.reads.as_slice(), [TableReads { readings, .. }] if readings.len() == 1)
    }
}

/// Returns every mention of a table or view with its conditions; `None` if the statement cannot be read.
fn row_reads(parsed: &ParsedSelect<'_>, tables: &Tables) -> Option<RowReads> {
    if tables.by_names {
        return None;
    }
    let reads = parsed.row_reads(&tables.written)?;
    // Otherwise two readers of one text disagree.
    (reads.named() == tables.named).then_some(reads)
}

/// Returns in words which rows a reading covers, and which of their columns.
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
