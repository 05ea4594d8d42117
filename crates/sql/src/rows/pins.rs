//! Facts on tables, written as pins of their occurrences.

use super::parsed::{Leaf, Parsed};
use super::resolve::Names;
use super::solve::{self, Fact};
use super::told::{Occurrence, Pin};

/// The most pins of one occurrence.
pub(super) const PINS_MAX: usize = 64;

/// Returns the tables and views among the leaves, each with its pins.
///
/// `facts` are those of each combination of alternatives.
pub(super) fn occurrences(
    parsed: &Parsed<'_>,
    names: &Names<'_, '_>,
    facts: &[Vec<Fact>],
) -> Vec<Occurrence> {
    let tables = || parsed.leaves.iter().enumerate().filter(|(_, leaf)| leaf.table.is_some());
    let order: Vec<usize> = tables().map(|(id, _)| id).collect();
    let at = |leaf: usize| order.iter().position(|&id| id == leaf);
    let of_tables =
        |facts: &Vec<Fact>| facts.iter().filter_map(|fact| by_tables(names, fact)).collect::<Vec<_>>();
    let facts: Vec<Vec<Fact>> = facts.iter().map(of_tables).collect();
    let of_leaf = |(id, leaf): (usize, &Leaf)| {
        let own = |facts: &Vec<Fact>| pins(facts.iter().filter(|fact| fact.column.leaf == id), &order);
        Some(Occurrence {
            table: leaf.table.clone()?,
            alternatives: widest(facts.iter().map(own)),
            inside: leaf.inside.and_then(at),
            expanded: leaf.query.is_some(),
        })
    };
    tables().filter_map(of_leaf).collect()
}

/// Returns the alternatives without those that another alternative already includes.
fn widest(alternatives: impl Iterator<Item = Vec<Pin>>) -> Vec<Vec<Pin>> {
    let mut kept: Vec<Vec<Pin>> = Vec::new();
    for pins in alternatives {
        let is_wider = |one: &[Pin], other: &[Pin]| one.iter().all(|pin| other.contains(pin));
        if !kept.iter().any(|known| is_wider(known, &pins)) {
            kept.retain(|known| !is_wider(&pins, known));
            kept.push(pins);
        }
    }
    kept
}

/// Returns a fact on a table, with the columns of tables in `via`; None if the fact is not on a table, or if one of the columns in `via`
/// does not belong to a table.
pub(super) fn by_tables(names: &Names<'_, '_>, fact: &Fact) -> Option<Fact> {
    if !names.is_of_table(&fact.column) {
        return None;
    }
    let mut via = Vec::with_capacity(fact.via.len());
    for column in &fact.via {
        via.extend(names.origins(column)?.into_iter().filter(|origin| *origin != fact.column));
    }
    via.dedup();
    Some(Fact { via, ..fact.clone() })
}

/// Returns the facts on one table as pins. `order` lists the leaves that are tables.
pub(super) fn pins<'f>(facts: impl Iterator<Item = &'f Fact>, order: &[usize]) -> Vec<Pin> {
    let occurrence = |leaf: usize| order.iter().position(|&id| id == leaf);
    let pin = |fact: &Fact| {
        let via = fact.via.iter().map(|column| Some((occurrence(column.leaf)?, column.name.clone())));
        Some(Pin {
            column: fact.column.name.clone(),
            condition: fact.condition.clone(),
            via: via.collect::<Option<_>>()?,
        })
    };
    let mut pins: Vec<Pin> = facts.filter_map(pin).take(PINS_MAX).collect();
    solve::pair_bounds(&mut pins);
    pins
}
