//! The join of one row with those of the other mentions.

use crate::kind::{Cell, Number};
use crate::predicate::{ColumnRef, Predicate};
use crate::query::{Optional, Role, Select};
use crate::table::{Table, TableSlot};

/// How a row of one mention is joined with the others.
#[derive(Debug)]
pub(crate) struct JoinPlan {
    pub(crate) start: usize,
    /// The checks that the first row alone decides.
    checks: Checks,
    steps: Vec<JoinStep>,
    /// If the mention of the row need not have one: the join after `steps`.
    pivot: Option<Pivot>,
}

/// The place of a row that need not be there: it is there instead of NULLs, or leaves the place to them.
#[derive(Debug)]
struct Pivot {
    /// The step that finds other rows in its place. The checks of the step are those behind the place, whatever is in it.
    other: JoinStep,
    steps: Vec<JoinStep>,
}

/// The checks that can be made as soon as a mention has its row.
#[derive(Debug, Default)]
struct Checks {
    conditions: Vec<Predicate>,
    /// Parameters by their places, with their columns.
    parameters: Vec<(usize, ColumnRef)>,
}

/// The next mention: its rows have in `column` the value that an earlier mention has in `from`.
#[derive(Debug)]
struct JoinStep {
    mention: usize,
    column: usize,
    from: ColumnRef,
    /// The further join conditions, if there need not be such a row.
    on: Option<(Role, Vec<Predicate>)>,
    checks: Checks,
}

/// The conditions that are not checked yet while a plan is made.
struct Untold<'q> {
    conditions: Vec<&'q Predicate>,
    parameters: Vec<(usize, ColumnRef)>,
}

impl Untold<'_> {
    /// Returns the checks that these mentions decide, the last one included.
    fn told_of(&mut self, bound: &[usize]) -> Checks {
        let is_told = |column_ref: &ColumnRef| bound.contains(&column_ref.mention);
        let conditions = std::mem::take(&mut self.conditions).into_iter();
        let (told, rest): (Vec<&Predicate>, _) =
            conditions.partition(|condition| condition.column_refs().iter().all(is_told));
        self.conditions = rest;
        let parameters = std::mem::take(&mut self.parameters).into_iter();
        let (now, later) = parameters.partition(|(_, column_ref)| is_told(column_ref));
        self.parameters = later;
        Checks { conditions: told.into_iter().cloned().collect(), parameters: now }
    }
}

/// Returns two columns that a condition equates: one of a mention that is not bound, and one of a mention that is.
fn link(
    condition: &Predicate,
    bound: &[usize],
    is_wanted: impl Fn(usize) -> bool,
) -> Option<(ColumnRef, ColumnRef)> {
    let (left, right) = condition.equal_columns()?;
    let (from, to) = match (bound.contains(&left.mention), bound.contains(&right.mention)) {
        (true, false) => (left, right),
        (false, true) => (right, left),
        _ => return None,
    };
    is_wanted(to.mention).then_some((from, to))
}

/// The row that is bound to a mention.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BoundRow<'r> {
    None,
    Slot(TableSlot),
    /// A row that is not in the table, or not any more.
    Row(&'r [Cell]),
}

/// A changed row. For some mentions the table counts as having it, for the others as not having it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed<'r> {
    /// The place of its table among the query's.
    pub(crate) table: usize,
    /// The mention for which the row stands: earlier mentions see the table as it will be.
    pub(crate) mention: usize,
    /// The row that is not there yet, or the slot of a row that is still there.
    pub(crate) row: BoundRow<'r>,
}

/// A combination of rows, and the places of their values.
pub(crate) struct Combination<'a, 'r> {
    pub(crate) query: &'a Select,
    /// The query's tables, in its order, and the places of its columns in them.
    pub(crate) tables: &'a [(&'a Table, &'a [usize])],
    rows: Vec<BoundRow<'r>>,
}

impl Combination<'_, '_> {
    /// Returns the text of a column, by its number.
    pub(crate) fn text(&self, column_ref: ColumnRef, number: Number) -> &[u8] {
        let (table, _) = self.tables[self.query.mentions[column_ref.mention]];
        table.text(number)
    }

    pub(crate) fn value(&self, column_ref: ColumnRef) -> Cell {
        let (table, columns) = self.tables[self.query.mentions[column_ref.mention]];
        match self.rows[column_ref.mention] {
            BoundRow::Slot(slot) => table.get(slot, columns[column_ref.column]),
            BoundRow::Row(row) => row[columns[column_ref.column]],
            BoundRow::None => None,
        }
    }
}

/// A search for combinations.
pub(crate) struct Join<'a, 'r> {
    pub(crate) plan: &'a JoinPlan,
    pub(crate) changed: Option<Changed<'r>>,
    /// The values of the parameters; `None`: any.
    pub(crate) wanted: Option<&'a [Number]>,
}

impl JoinPlan {
    /// Plans the join from this mention on; `None` if no equality joins some mention with another.
    pub(crate) fn new(query: &Select, start: usize) -> Option<Self> {
        // A mention that may be missing has a row here, and so has each mention by which it is joined.
        let mut present = Vec::new();
        let mut next = query.optional(start);
        while let Some(optional) = next {
            present.push(optional);
            let (_, to) = optional.on.iter().find_map(|one| link(one, &[optional.mention], |_| true))?;
            next = query.optional(to.mention);
        }
        let given: Vec<&Predicate> =
            present.iter().flat_map(|optional| &optional.on).chain(&query.conditions).collect();
        let is_missing = |mention| {
            query.optional(mention).is_some() && present.iter().all(|optional| optional.mention != mention)
        };
        let parameters = query.parameters.iter().copied().enumerate().collect();
        // A condition on the shown rows that names the first row can also be satisfied by NULLs in its place.
        let is_early = |condition: &Predicate| {
            present.is_empty() || condition.column_refs().iter().all(|column_ref| column_ref.mention != start)
        };
        let (early, late): (Vec<&Predicate>, Vec<_>) = query.conditions.iter().partition(|it| is_early(it));
        let on = present.iter().flat_map(|optional| &optional.on);
        let mut untold = Untold { conditions: on.chain(early).collect(), parameters };
        let mut bound = vec![start];
        let checks = untold.told_of(&bound);
        let mut steps = Vec::new();
        let inner = (0..query.mentions.len()).filter(|mention| !is_missing(*mention)).count();
        while bound.len() < inner {
            let reached = |one: &&Predicate| link(one, &bound, |mention| !is_missing(mention));
            let (from, to) = given.iter().find_map(reached)?;
            bound.push(to.mention);
            let checks = untold.told_of(&bound);
            steps.push(JoinStep { mention: to.mention, column: to.column, from, on: None, checks });
        }
        let at = query.optional.iter().position(|optional| optional.mention == start);
        let (before, behind) = query.optional.split_at(at.unwrap_or(query.optional.len()));
        for optional in before.iter().filter(|optional| is_missing(optional.mention)) {
            steps.push(JoinStep::optional(optional, &mut bound, &mut untold)?);
        }
        let Some((own, behind)) = behind.split_first() else {
            return Some(Self { start, checks, steps, pivot: None });
        };
        // Their conditions on the first row are checked behind it.
        untold.conditions.extend(late);
        bound.retain(|mention| *mention != start);
        let other = JoinStep::optional(own, &mut bound, &mut untold)?;
        let more = behind.iter().map(|optional| JoinStep::optional(optional, &mut bound, &mut untold));
        let more = more.collect::<Option<Vec<_>>>()?;
        Some(Self { start, checks, steps, pivot: Some(Pivot { other, steps: more }) })
    }

    /// Returns the columns by which rows are found: mentions and columns.
    pub(crate) fn looked_by(&self) -> impl Iterator<Item = ColumnRef> {
        let pivot = self.pivot.iter().flat_map(|pivot| std::iter::once(&pivot.other).chain(&pivot.steps));
        let column_ref = |step: &JoinStep| ColumnRef { mention: step.mention, column: step.column };
        self.steps.iter().chain(pivot).map(column_ref)
    }
}

impl JoinStep {
    /// Returns the step of a mention that may be missing, behind the mentions that are bound.
    fn optional(optional: &Optional, bound: &mut Vec<usize>, untold: &mut Untold<'_>) -> Option<Self> {
        let is_it = |mention| mention == optional.mention;
        let (from, to) = optional.on.iter().find_map(|one| link(one, bound, is_it))?;
        bound.push(optional.mention);
        let checks = untold.told_of(bound);
        let on = Some((optional.role, optional.on.clone()));
        Some(Self { mention: to.mention, column: to.column, from, on, checks })
    }

    fn role(&self) -> Option<Role> {
        self.on.as_ref().map(|(role, _)| *role)
    }

    /// Whether the bound row satisfies the join conditions.
    fn joins(&self, combination: &Combination<'_, '_>) -> bool {
        self.on.as_ref().is_none_or(|(_, on)| all_hold(on, combination))
    }
}

/// What follows the last step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Pivot,
    /// A combination; `is_instead`: NULLs are in the place of the first row.
    Combination {
        is_instead: bool,
    },
}

/// The steps of a join that are still to be taken.
#[derive(Clone, Copy)]
struct StepsLeft<'p> {
    steps: &'p [JoinStep],
    end: End,
}

impl<'a, 'r> Join<'a, 'r> {
    /// Calls back for each combination of the row of the plan's first mention with rows of the others. If that mention need not have a
    /// row, it also calls back, with `true`, for the combinations that exist where no other row is in its place.
    pub(crate) fn each(
        &self,
        query: &'a Select,
        tables: &'a [(&'a Table, &'a [usize])],
        row: BoundRow<'r>,
        found: &mut impl FnMut(&Combination<'a, 'r>, bool),
    ) {
        let mut combination = Combination { query, tables, rows: vec![BoundRow::None; query.mentions.len()] };
        combination.rows[self.plan.start] = row;
        let end = match self.plan.pivot {
            Some(_) => End::Pivot,
            None => End::Combination { is_instead: false },
        };
        if self.passes(&self.plan.checks, &combination) {
            self.step(StepsLeft { steps: &self.plan.steps, end }, &mut combination, found);
        }
    }

    fn passes(&self, checks: &Checks, combination: &Combination<'_, '_>) -> bool {
        let is_wanted = |(number, column_ref): &(usize, ColumnRef)| match self.wanted {
            Some(wanted) => combination.value(*column_ref) == Some(wanted[*number]),
            None => true,
        };
        checks.parameters.iter().all(is_wanted) && all_hold(&checks.conditions, combination)
    }

    /// Returns the rows that a step may bind.
    fn candidates(
        &self,
        step: &JoinStep,
        combination: &Combination<'a, 'r>,
    ) -> impl Iterator<Item = BoundRow<'r>> + use<'a, 'r> {
        let value = combination.value(step.from);
        let number = combination.query.mentions[step.mention];
        let (table, columns) = combination.tables[number];
        let column = columns[step.column];
        let seen_new = self.changed.filter(|it| it.table == number && step.mention < it.mention);
        let is_there = move |slot: &TableSlot| {
            !seen_new.is_some_and(|it| matches!(it.row, BoundRow::Slot(gone) if gone == *slot))
        };
        let slots = value.map_or(&[][..], |value| table.with(column, value));
        let is_it =
            |row: &BoundRow<'_>| matches!(row, BoundRow::Row(row) if value.is_some() && row[column] == value);
        let new = seen_new.map(|it| it.row).filter(is_it);
        slots.iter().copied().filter(is_there).map(BoundRow::Slot).chain(new)
    }

    fn step(
        &self,
        StepsLeft { steps, end }: StepsLeft<'_>,
        combination: &mut Combination<'a, 'r>,
        found: &mut impl FnMut(&Combination<'a, 'r>, bool),
    ) {
        let Some((step, rest)) = steps.split_first() else {
            return match (end, &self.plan.pivot) {
                (End::Pivot, Some(pivot)) => self.pivot(pivot, combination, found),
                (End::Pivot, None) => {}
                (End::Combination { is_instead }, _) => found(combination, is_instead),
            };
        };
        let behind = StepsLeft { steps: rest, end };
        let role = step.role();
        let mut is_joined = false;
        for row in self.candidates(step, combination) {
            combination.rows[step.mention] = row;
            if !step.joins(combination) {
                continue;
            }
            is_joined = true;
            if role != Some(Role::Missing) {
                self.go_on(step, behind, combination, found);
            }
            if matches!(role, Some(Role::Exists | Role::Missing)) {
                break;
            }
        }
        combination.rows[step.mention] = BoundRow::None;
        if matches!(role, Some(Role::Left | Role::Missing)) && !is_joined {
            self.go_on(step, behind, combination, found);
        }
    }

    /// Takes the steps after one whose mention is bound.
    fn go_on(
        &self,
        step: &JoinStep,
        behind: StepsLeft<'_>,
        combination: &mut Combination<'a, 'r>,
        found: &mut impl FnMut(&Combination<'a, 'r>, bool),
    ) {
        if self.passes(&step.checks, combination) {
            self.step(behind, combination, found);
        }
    }

    /// Goes on when all mentions before the first row's place are bound: with that row, and with NULLs in its place.
    fn pivot(
        &self,
        Pivot { other, steps }: &Pivot,
        combination: &mut Combination<'a, 'r>,
        found: &mut impl FnMut(&Combination<'a, 'r>, bool),
    ) {
        let own = combination.rows[other.mention];
        let role = other.role();
        let behind = |is_instead| StepsLeft { steps, end: End::Combination { is_instead } };
        // Of several rows of a subquery one is as good as all.
        let is_alone = self.changed.is_some() && !self.has_other(other, own, combination);
        combination.rows[other.mention] = own;
        if role == Some(Role::Left) || role == Some(Role::Exists) && is_alone {
            self.go_on(other, behind(false), combination, found);
        }
        if matches!(role, Some(Role::Left | Role::Missing)) && is_alone {
            combination.rows[other.mention] = BoundRow::None;
            self.go_on(other, behind(true), combination, found);
        }
        combination.rows[other.mention] = own;
    }

    /// Whether another row than this one is joined in its place.
    fn has_other(&self, step: &JoinStep, own: BoundRow<'r>, combination: &mut Combination<'a, 'r>) -> bool {
        let is_own =
            |row: &BoundRow<'_>| matches!((row, own), (BoundRow::Slot(a), BoundRow::Slot(b)) if *a == b);
        self.candidates(step, combination).filter(|row| !is_own(row)).any(|row| {
            combination.rows[step.mention] = row;
            step.joins(combination)
        })
    }
}

fn all_hold(conditions: &[Predicate], combination: &Combination<'_, '_>) -> bool {
    conditions.iter().all(|one| one.holds(&|column_ref| combination.value(column_ref)) == Some(true))
}
