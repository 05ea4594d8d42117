//! Joining one row with those of the other mentions.

use crate::condition::{Condition, Place};
use crate::kind::{Cell, Number};
use crate::query::{Optional, Role, Select};
use crate::table::{Table, TableSlot};

/// How a row of one mention is joined with the others.
#[derive(Debug)]
pub(crate) struct JoinPlan {
    pub(crate) start: usize,
    /// What can be told of the first row alone.
    checks: Checks,
    steps: Vec<JoinStep>,
    /// If the row is of a mention that need not have one: what comes behind `steps`.
    pivot: Option<Pivot>,
}

/// Where a row is joined that takes the place of NULLs, or leaves it to them.
#[derive(Debug)]
struct Pivot {
    /// How other rows are found that are joined in its place. Their checks are those behind it, whatever stands there.
    other: JoinStep,
    steps: Vec<JoinStep>,
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
struct JoinStep {
    mention: usize,
    column: usize,
    from: Place,
    /// What else it is joined by, if there need not be such a row.
    on: Option<(Role, Vec<Condition>)>,
    checks: Checks,
}

/// What has not been told yet while a plan is made.
struct Untold<'q> {
    conditions: Vec<&'q Condition>,
    parameters: Vec<(usize, Place)>,
}

impl Untold<'_> {
    /// Returns what can be told of these mentions, the last one included.
    fn told_of(&mut self, bound: &[usize]) -> Checks {
        let is_told = |place: &Place| bound.contains(&place.mention);
        let conditions = std::mem::take(&mut self.conditions).into_iter();
        let (told, rest): (Vec<&Condition>, _) =
            conditions.partition(|condition| condition.places().iter().all(is_told));
        self.conditions = rest;
        let parameters = std::mem::take(&mut self.parameters).into_iter();
        let (now, later) = parameters.partition(|(_, place)| is_told(place));
        self.parameters = later;
        Checks { conditions: told.into_iter().cloned().collect(), parameters: now }
    }
}

/// The column of a mention that is not bound, and the one of a mention that is, which a condition says are equal.
fn link(condition: &Condition, bound: &[usize], is_wanted: impl Fn(usize) -> bool) -> Option<(Place, Place)> {
    let (left, right) = condition.equal_columns()?;
    let (from, to) = match (bound.contains(&left.mention), bound.contains(&right.mention)) {
        (true, false) => (left, right),
        (false, true) => (right, left),
        _ => return None,
    };
    is_wanted(to.mention).then_some((from, to))
}

/// The row of a mention.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound<'r> {
    None,
    Slot(TableSlot),
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
    pub(crate) query: &'a Select,
    /// The query's tables, in its order, and where its columns stand in them.
    pub(crate) tables: &'a [(&'a Table, &'a [usize])],
    rows: Vec<Bound<'r>>,
}

impl Combination<'_, '_> {
    /// Returns the text of a column, by its number.
    pub(crate) fn text(&self, place: Place, number: Number) -> &[u8] {
        let (table, _) = self.tables[self.query.mentions[place.mention]];
        table.text(number)
    }

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
    pub(crate) fn new(query: &Select, start: usize) -> Option<Self> {
        // Of a mention that may be missing there is a row, and so of each by which that is joined.
        let mut present = Vec::new();
        let mut next = query.optional(start);
        while let Some(optional) = next {
            present.push(optional);
            let (_, to) = optional.on.iter().find_map(|one| link(one, &[optional.mention], |_| true))?;
            next = query.optional(to.mention);
        }
        let given: Vec<&Condition> =
            present.iter().flat_map(|optional| &optional.on).chain(&query.conditions).collect();
        let is_missing = |mention| {
            query.optional(mention).is_some() && present.iter().all(|optional| optional.mention != mention)
        };
        let parameters = query.parameters.iter().copied().enumerate().collect();
        // What is asked of the rows that are shown and names the first row, NULLs may satisfy in its place.
        let is_early = |condition: &Condition| {
            present.is_empty() || condition.places().iter().all(|place| place.mention != start)
        };
        let (early, late): (Vec<&Condition>, Vec<_>) = query.conditions.iter().partition(|it| is_early(it));
        let on = present.iter().flat_map(|optional| &optional.on);
        let mut untold = Untold { conditions: on.chain(early).collect(), parameters };
        let mut bound = vec![start];
        let checks = untold.told_of(&bound);
        let mut steps = Vec::new();
        let inner = (0..query.mentions.len()).filter(|mention| !is_missing(*mention)).count();
        while bound.len() < inner {
            let reached = |one: &&Condition| link(one, &bound, |mention| !is_missing(mention));
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
        // Their conditions on the first row are told behind it.
        untold.conditions.extend(late);
        bound.retain(|mention| *mention != start);
        let other = JoinStep::optional(own, &mut bound, &mut untold)?;
        let more = behind.iter().map(|optional| JoinStep::optional(optional, &mut bound, &mut untold));
        let more = more.collect::<Option<Vec<_>>>()?;
        Some(Self { start, checks, steps, pivot: Some(Pivot { other, steps: more }) })
    }

    /// Returns the columns that rows are looked for by: mentions and columns.
    pub(crate) fn looked_by(&self) -> impl Iterator<Item = Place> {
        let pivot = self.pivot.iter().flat_map(|pivot| std::iter::once(&pivot.other).chain(&pivot.steps));
        let place = |step: &JoinStep| Place { mention: step.mention, column: step.column };
        self.steps.iter().chain(pivot).map(place)
    }
}

impl JoinStep {
    /// That of a mention that may be missing, behind those that are bound.
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

    /// Whether the row that is bound satisfies what it is joined by.
    fn joins(&self, combination: &Combination<'_, '_>) -> bool {
        self.on.as_ref().is_none_or(|(_, on)| all_hold(on, combination))
    }
}

/// What is behind the last step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Pivot,
    /// A combination; `is_instead`: NULLs stand in it in the place of the first row.
    Combination {
        is_instead: bool,
    },
}

/// The steps of a join that are not taken yet.
#[derive(Clone, Copy)]
struct StepsLeft<'p> {
    steps: &'p [JoinStep],
    end: End,
}

impl<'a, 'r> Join<'a, 'r> {
    /// Each combination that the row of the plan's first mention makes with rows of the others. If that need not have a row, there are with true the
    /// combinations that are there where no other row is.
    pub(crate) fn each(
        &self,
        query: &'a Select,
        tables: &'a [(&'a Table, &'a [usize])],
        row: Bound<'r>,
        found: &mut impl FnMut(&Combination<'a, 'r>, bool),
    ) {
        let mut combination = Combination { query, tables, rows: vec![Bound::None; query.mentions.len()] };
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
        let is_wanted = |(number, place): &(usize, Place)| match self.wanted {
            Some(wanted) => combination.value(*place) == Some(wanted[*number]),
            None => true,
        };
        checks.parameters.iter().all(is_wanted) && all_hold(&checks.conditions, combination)
    }

    /// Returns the rows that a step may bind.
    fn candidates(
        &self,
        step: &JoinStep,
        combination: &Combination<'a, 'r>,
    ) -> impl Iterator<Item = Bound<'r>> + use<'a, 'r> {
        let value = combination.value(step.from);
        let number = combination.query.mentions[step.mention];
        let (table, columns) = combination.tables[number];
        let column = columns[step.column];
        let seen_new = self.changed.filter(|it| it.table == number && step.mention < it.mention);
        let is_there = move |slot: &TableSlot| {
            !seen_new.is_some_and(|it| matches!(it.row, Bound::Slot(gone) if gone == *slot))
        };
        let slots = value.map_or(&[][..], |value| table.with(column, value));
        let is_it =
            |row: &Bound<'_>| matches!(row, Bound::Row(row) if value.is_some() && row[column] == value);
        let new = seen_new.map(|it| it.row).filter(is_it);
        slots.iter().copied().filter(is_there).map(Bound::Slot).chain(new)
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
        combination.rows[step.mention] = Bound::None;
        if matches!(role, Some(Role::Left | Role::Missing)) && !is_joined {
            self.go_on(step, behind, combination, found);
        }
    }

    /// Takes the steps behind one whose mention is bound.
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

    /// All but the mentions behind the first row's are bound: with that row, and with NULLs in its place.
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
            combination.rows[other.mention] = Bound::None;
            self.go_on(other, behind(true), combination, found);
        }
        combination.rows[other.mention] = own;
    }

    /// Whether another row than this one is joined in its place.
    fn has_other(&self, step: &JoinStep, own: Bound<'r>, combination: &mut Combination<'a, 'r>) -> bool {
        let is_own = |row: &Bound<'_>| matches!((row, own), (Bound::Slot(a), Bound::Slot(b)) if *a == b);
        self.candidates(step, combination).filter(|row| !is_own(row)).any(|row| {
            combination.rows[step.mention] = row;
            step.joins(combination)
        })
    }
}

fn all_hold(conditions: &[Condition], combination: &Combination<'_, '_>) -> bool {
    conditions.iter().all(|one| one.holds(&|place| combination.value(place)) == Some(true))
}
