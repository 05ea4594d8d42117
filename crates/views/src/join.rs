//! Joining one row with those of the other mentions.

use crate::condition::{Condition, Place};
use crate::kind::{Cell, Number};
use crate::query::Query;
use crate::table::{Slot, Table};

/// How a row of one mention is joined with the others.
#[derive(Debug)]
pub(crate) struct JoinPlan {
    pub(crate) start: usize,
    /// What can be told of the first row alone.
    checks: Checks,
    steps: Vec<Step>,
}

/// What can be told as soon as a mention has its row.
#[derive(Debug, Default)]
struct Checks {
    conditions: Vec<Condition>,
    /// Parameters by their places, with their columns.
    parameters: Vec<(usize, Place)>,
}

/// The next mention: its rows have in `column` what a mention before has in `from`.
#[derive(Debug)]
struct Step {
    mention: usize,
    column: usize,
    from: Place,
    checks: Checks,
}

/// The row of a mention.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound<'r> {
    None,
    Slot(Slot),
    /// One that is not in the table, or not any more.
    Row(&'r [Cell]),
}

/// A row whose table is thought to have it for some mentions, or not to have it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed<'r> {
    /// The place of its table among the query's.
    pub(crate) table: usize,
    /// The mention that it stands for: those before see the table as it will be.
    pub(crate) mention: usize,
    /// The row that is not yet there; or the slot of one that is still there.
    pub(crate) row: Bound<'r>,
}

/// A combination of rows, and where their values are.
pub(crate) struct Combination<'a, 'r> {
    pub(crate) query: &'a Query,
    /// The query's tables, in its order, and where its columns stand in them.
    pub(crate) tables: &'a [(&'a Table, &'a [usize])],
    rows: Vec<Bound<'r>>,
}

impl Combination<'_, '_> {
    pub(crate) fn value(&self, place: Place) -> Cell {
        let (table, columns) = self.tables[self.query.mentions[place.mention]];
        match self.rows[place.mention] {
            Bound::Slot(slot) => table.get(slot, columns[place.column]),
            Bound::Row(row) => row[columns[place.column]],
            Bound::None => None,
        }
    }
}

/// What is looked for.
pub(crate) struct Join<'a, 'r> {
    pub(crate) plan: &'a JoinPlan,
    pub(crate) changed: Option<Changed<'r>>,
    /// The values of the parameters; `None`: any.
    pub(crate) wanted: Option<&'a [Number]>,
}

impl JoinPlan {
    /// Plans from this mention on; `None` if some mention is joined with no other by an equality.
    pub(crate) fn new(query: &Query, start: usize) -> Option<Self> {
        let mut bound = vec![start];
        let mut left: Vec<&Condition> = query.conditions.iter().collect();
        let mut parameters: Vec<(usize, Place)> = query.parameters.iter().copied().enumerate().collect();
        let mut checks = |bound: &[usize]| {
            let is_told = |place: &Place| bound.contains(&place.mention);
            let (told, rest) = left.iter().partition(|condition| condition.places().iter().all(is_told));
            left = rest;
            let told: Vec<&Condition> = told;
            let (now, later) = parameters.iter().partition(|(_, place)| is_told(place));
            parameters = later;
            Checks { conditions: told.into_iter().cloned().collect(), parameters: now }
        };
        let first = checks(&bound);
        let mut steps = Vec::new();
        while bound.len() < query.mentions.len() {
            let reached = |condition: &Condition| {
                let (left, right) = condition.equal_columns()?;
                match (bound.contains(&left.mention), bound.contains(&right.mention)) {
                    (true, false) => Some((left, right)),
                    (false, true) => Some((right, left)),
                    _ => None,
                }
            };
            let (from, to) = query.conditions.iter().find_map(reached)?;
            bound.push(to.mention);
            let checks = checks(&bound);
            steps.push(Step { mention: to.mention, column: to.column, from, checks });
        }
        Some(Self { start, checks: first, steps })
    }

    /// The columns that rows are looked for by: mentions and columns.
    pub(crate) fn looked_by(&self) -> impl Iterator<Item = Place> {
        self.steps.iter().map(|step| Place { mention: step.mention, column: step.column })
    }
}

impl<'a, 'r> Join<'a, 'r> {
    /// Each combination that the row of the plan's first mention makes with rows of the others.
    pub(crate) fn each(
        &self,
        (query, tables): (&'a Query, &'a [(&'a Table, &'a [usize])]),
        row: Bound<'r>,
        found: &mut impl FnMut(&Combination<'a, 'r>),
    ) {
        let mut combination = Combination { query, tables, rows: vec![Bound::None; query.mentions.len()] };
        combination.rows[self.plan.start] = row;
        if self.passes(&self.plan.checks, &combination) {
            self.step(&self.plan.steps, &mut combination, found);
        }
    }

    fn passes(&self, checks: &Checks, combination: &Combination<'_, '_>) -> bool {
        let is_wanted = |(number, place): &(usize, Place)| match self.wanted {
            Some(wanted) => combination.value(*place) == Some(wanted[*number]),
            None => true,
        };
        checks.parameters.iter().all(is_wanted)
            && checks.conditions.iter().all(|one| one.holds(&|place| combination.value(place)) == Some(true))
    }

    fn step(
        &self,
        steps: &[Step],
        combination: &mut Combination<'a, 'r>,
        found: &mut impl FnMut(&Combination<'a, 'r>),
    ) {
        let Some((step, rest)) = steps.split_first() else { return found(combination) };
        let Some(value) = combination.value(step.from) else { return };
        let number = combination.query.mentions[step.mention];
        let (table, columns) = combination.tables[number];
        let column = columns[step.column];
        let seen_new = self.changed.filter(|it| it.table == number && step.mention < it.mention);
        for slot in table.with(column, value) {
            let is_gone = seen_new.is_some_and(|it| matches!(it.row, Bound::Slot(gone) if gone == *slot));
            if !is_gone {
                self.bind(step, rest, (combination, Bound::Slot(*slot)), found);
            }
        }
        if let Some(Changed { row: Bound::Row(row), .. }) = seen_new
            && row[column] == Some(value)
        {
            self.bind(step, rest, (combination, Bound::Row(row)), found);
        }
    }

    fn bind(
        &self,
        step: &Step,
        rest: &[Step],
        (combination, row): (&mut Combination<'a, 'r>, Bound<'r>),
        found: &mut impl FnMut(&Combination<'a, 'r>),
    ) {
        combination.rows[step.mention] = row;
        if self.passes(&step.checks, combination) {
            self.step(rest, combination, found);
        }
    }
}
