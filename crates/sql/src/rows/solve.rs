//! Makes pins from conjuncts: the conditions that each table's rows must satisfy to take part.
//!
//! A *fact* says that a column satisfies a condition in every row of the join that can still take part, or that the column is NULL there
//! because its table was outer joined and had no match. A true equality of two columns carries a fact from one column to the other,
//! because then neither is NULL. The facts on a group's own tables are found from its own filters and from the facts known outside of the
//! group. These facts are the pins. A row that fails one is in no combination that passes the filters. It changes no other combination
//! either: whether an outer join yields NULLs for *other* tables depends only on those tables.

use super::conjunct::Conjunct;
use super::parsed::Group;
use super::resolve::Column;
use super::{Condition, Pin};

/// The most facts that are followed in a statement's block.
const FACTS_MAX: usize = 256;

/// A condition that a column satisfies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub column: Column,
    pub condition: Condition,
    /// The condition does not hold of NULL.
    pub rejects_null: bool,
    /// The columns through which equalities carried the fact.
    pub via: Vec<Column>,
}

/// The content of a filter.
#[derive(Clone, Debug)]
pub(super) enum Holds {
    Is(Fact),
    /// Two columns are equal, and so neither is NULL.
    Equal(Column, Column),
}

impl Holds {
    /// Returns what a conjunct says; None for a conjunct of alternatives.
    pub fn of(conjunct: Conjunct<Column>) -> Option<Self> {
        match conjunct {
            Conjunct::Is(column, condition, rejects_null) => {
                Some(Holds::Is(Fact { column, condition, rejects_null, via: Vec::new() }))
            }
            Conjunct::Equal(a, b) => Some(Holds::Equal(a, b)),
            Conjunct::Within(..) | Conjunct::Any(_) => None,
        }
    }
}

/// The facts and equalities that hold in a group and in all groups within it.
#[derive(Clone, Debug, Default)]
pub(super) struct Premises {
    pub facts: Vec<Fact>,
    pub equal: Vec<(Column, Column)>,
}

type Tables = Group<Holds>;

/// Returns the facts on the tables of a group, including outer joined ones. `known` holds outside of the group. These facts are the pins.
pub(super) fn solve(mut group: Tables, known: &Premises) -> Vec<Fact> {
    tighten(&mut group);
    // A filter that remains on the outer joined tables holds of NULL, so it sets no condition on their rows.
    let nullable: Vec<usize> = group.optional.iter().flat_map(Group::all_leaves).collect();
    group.filters.retain(|filter| !mentions(filter, &nullable));
    let mut inside = known.clone();
    for filter in &group.filters {
        match filter {
            Holds::Is(fact) => inside.facts.push(fact.clone()),
            Holds::Equal(a, b) => inside.equal.push((a.clone(), b.clone())),
        }
    }
    spread(&mut inside);
    let is_own = |fact: &&Fact| group.leaves.contains(&fact.column.leaf);
    let mut found: Vec<Fact> = inside.facts.iter().filter(is_own).cloned().collect();
    for optional in group.optional {
        // What the ON says of the tables outside is true only of rows with a match, so it does not leave the join. The facts on the
        // join's own tables are true or NULL, and may be carried into a later join.
        let facts = solve(optional, &inside);
        inside.facts.extend(facts.iter().cloned());
        found.extend(facts);
    }
    found
}

/// Makes inner joins of the outer joins whose NULLs the filters reject: a row without a match does not pass these filters.
fn tighten(group: &mut Tables) {
    while let Some(at) = group.optional.iter().position(|optional| rejects_nulls_of(&group.filters, optional))
    {
        let inner = group.optional.remove(at);
        group.leaves.extend(inner.leaves);
        group.filters.extend(inner.filters);
        group.optional.extend(inner.optional);
    }
}

fn rejects_nulls_of(filters: &[Holds], optional: &Tables) -> bool {
    let leaves = optional.all_leaves();
    let holds_of_null = |filter: &Holds| matches!(filter, Holds::Is(Fact { rejects_null: false, .. }));
    filters.iter().any(|filter| !holds_of_null(filter) && mentions(filter, &leaves))
}

fn mentions(filter: &Holds, leaves: &[usize]) -> bool {
    match filter {
        Holds::Is(fact) => leaves.contains(&fact.column.leaf),
        Holds::Equal(a, b) => leaves.contains(&a.leaf) || leaves.contains(&b.leaf),
    }
}

/// Returns what is known of the column `to`, which is equal to the fact's column; `None` if the fact does not carry over.
pub(super) fn across(fact: &Fact, to: &Column) -> Option<Fact> {
    let carries = matches!(fact.condition, Condition::OneOf(_) | Condition::Between { .. });
    carries.then(|| carried(fact, to))
}

/// Carries facts along equalities until nothing is new, and pairs the two ends of ranges.
fn spread(known: &mut Premises) {
    let mut at = 0;
    while let Some(fact) = known.facts.get(at).cloned() {
        at += 1;
        for (a, b) in &known.equal {
            let other = if *a == fact.column {
                b
            } else if *b == fact.column {
                a
            } else {
                continue;
            };
            // A prefix says nothing of a column that is equal by collation, and IS NULL says nothing of any equal column.
            let Some(new) = across(&fact, other) else { continue };
            let is_known = |known: &Fact| known.column == new.column && known.condition == new.condition;
            if known.facts.len() < FACTS_MAX && !known.facts.iter().any(is_known) {
                known.facts.push(new);
            }
        }
    }
}

fn carried(fact: &Fact, to: &Column) -> Fact {
    let mut via = fact.via.clone();
    via.push(fact.column.clone());
    Fact { column: to.clone(), condition: fact.condition.clone(), rejects_null: true, via }
}

/// Joins the first lower and the first upper bound of a column, if both came through the same columns, to one range.
pub(super) fn pair_bounds(pins: &mut Vec<Pin>) {
    let mut at = 0;
    while at < pins.len() {
        let other = pins.iter().enumerate().skip(at + 1).find_map(|(other_at, other)| {
            let pin = pins.get(at)?;
            (pin.column == other.column && pin.via == other.via)
                .then(|| both(&pin.condition, &other.condition))
                .flatten()
                .map(|condition| (other_at, condition))
        });
        if let (Some((other_at, condition)), Some(pin)) = (other, pins.get_mut(at)) {
            pin.condition = condition;
            pins.remove(other_at);
        }
        at += 1;
    }
}

/// Returns the range of a condition with only a lower bound and one with only an upper bound.
fn both(a: &Condition, b: &Condition) -> Option<Condition> {
    match (a, b) {
        (
            Condition::Between { low: Some(low), high: None },
            Condition::Between { low: None, high: Some(high) },
        )
        | (
            Condition::Between { low: None, high: Some(high) },
            Condition::Between { low: Some(low), high: None },
        ) => Some(Condition::Between { low: Some(low.clone()), high: Some(high.clone()) }),
        _ => None,
    }
}
