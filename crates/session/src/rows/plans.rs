//! What a template's statements read of their tables, found once for all that differ in their values alone.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use freshet_catalog::TableInfo;
use freshet_catalog::rows::{Reading, plan};
use freshet_sql::{Datum, RowReads, Slotted, slotted};

use super::reading::{Statement, Tables};

/// Plans of one template: its texts differ in the lengths of their lists, and in the types of their values.
pub(crate) const PLANS_MAX: usize = 4;

/// One naming of a table or view.
#[derive(Debug)]
pub(super) struct Read {
    /// Which one it is, by its place among all.
    pub(super) table: usize,
    /// It is a view, and what it reads is told by itself.
    pub(super) is_expanded: bool,
    /// What it reads is what these read together; none if that is the whole table.
    pub(super) readings: Vec<Reading>,
}

/// What a statement reads, its values aside.
#[derive(Debug, Default)]
pub(super) struct ReadPlan {
    /// Every naming of a table or view, in the statement and in its views; none if the statement cannot be told.
    pub(super) reads: Vec<Read>,
    shows_rows: OnceLock<bool>,
}

impl ReadPlan {
    /// Of one statement.
    pub(super) fn of(statement: Statement<'_>, tables: &Tables) -> Self {
        row_reads(statement, tables)
            .and_then(|reads| Self::from_reads(&reads, statement, tables))
            .unwrap_or_default()
    }

    fn from_reads(reads: &RowReads, statement: Statement<'_>, tables: &Tables) -> Option<Self> {
        let at: Vec<usize> = reads
            .occurrences
            .iter()
            .map(|occurrence| tables.position(&occurrence.table, statement.schema))
            .collect::<Option<_>>()?;
        let infos: Vec<Arc<TableInfo>> = at.iter().filter_map(|at| tables.info(*at)).collect();
        let is_expanded = reads.occurrences.iter().map(|occurrence| occurrence.expanded);
        let told = at.iter().zip(is_expanded).zip(plan(reads, &infos));
        let reads: Vec<Read> =
            told.map(|((&table, is_expanded), readings)| Read { table, is_expanded, readings }).collect();
        (reads.len() == at.len()).then(|| Self { reads, shows_rows: OnceLock::new() })
    }

    /// Whether each row of the result is a row of the one table that is named; `statement` is one of this plan.
    pub(super) fn shows_rows(&self, statement: Statement<'_>) -> bool {
        matches!(self.reads.as_slice(), [Read { readings, .. }] if readings.len() == 1)
            && *self.shows_rows.get_or_init(|| freshet_sql::shows_rows(statement.text, statement.modes))
    }
}

/// Every naming of a table or view with its conditions; `None` if the statement cannot be told.
fn row_reads(statement: Statement<'_>, tables: &Tables) -> Option<RowReads> {
    let definition_of = |table: &freshet_sql::TableName| tables.definition(table, statement.schema);
    let reads = freshet_sql::row_reads_of(statement.text, statement.modes, &tables.written, &definition_of)?;
    // Or two readers of one text disagree.
    (reads.named() == tables.named).then_some(reads)
}

/// The plans of one template, by the forms of its texts.
#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<Vec<(Box<[u8]>, Planned)>>);

/// What is known of a form.
#[derive(Clone, Debug)]
enum Planned {
    /// One text has had it. A plan is made for the second: most forms that are invented are never seen again.
    Seen,
    /// Its statements are read one by one.
    Alone,
    /// They share this plan.
    Shared(Arc<ReadPlan>),
}

impl Plans {
    /// The plan of a statement, and the values that go with it; none if the plan is of this one statement.
    pub(super) fn of(&self, statement: Statement<'_>, tables: &Tables) -> (Arc<ReadPlan>, Vec<Datum>) {
        let Some(slotted) = slotted(statement.text, statement.modes) else {
            return (Arc::new(ReadPlan::of(statement, tables)), Vec::new());
        };
        match self.known(&slotted.form) {
            Planned::Shared(plan) => (plan, slotted.values),
            Planned::Alone => (Arc::new(ReadPlan::of(statement, tables)), Vec::new()),
            Planned::Seen => self.made(&slotted, statement, tables),
        }
    }

    /// What is known of a form; one that is new is noted, as long as there is room.
    fn known(&self, form: &[u8]) -> Planned {
        let mut plans = self.lock();
        let known = plans.iter().find(|(known, _)| **known == *form);
        if let Some((_, planned)) = known {
            return planned.clone();
        }
        if plans.len() < PLANS_MAX {
            plans.push((form.into(), Planned::Seen));
        }
        Planned::Alone
    }

    /// The text with parameters has to say, with these values, what the statement itself says. Then it does with others of the
    /// same types: what is made of a text hangs on its words and on the types of its values.
    fn made(
        &self,
        slotted: &Slotted,
        statement: Statement<'_>,
        tables: &Tables,
    ) -> (Arc<ReadPlan>, Vec<Datum>) {
        let own = row_reads(statement, tables);
        let with_slots = row_reads(Statement { text: slotted.text(), ..statement }, tables)
            .filter(|reads| own.as_ref() == Some(&reads.clone().with_values(&slotted.values)));
        let plan = with_slots.and_then(|reads| ReadPlan::from_reads(&reads, statement, tables)).map(Arc::new);
        self.know(&slotted.form, plan.clone().map_or(Planned::Alone, Planned::Shared));
        let own = || own.and_then(|own| ReadPlan::from_reads(&own, statement, tables)).unwrap_or_default();
        plan.map_or_else(|| (Arc::new(own()), Vec::new()), |plan| (plan, slotted.values.clone()))
    }

    fn know(&self, form: &[u8], planned: Planned) {
        if let Some((_, known)) = self.lock().iter_mut().find(|(known, _)| **known == *form) {
            *known = planned;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Box<[u8]>, Planned)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
