//! Whose column a name is.
//!
//! The servers look first among the tables of the block that the name stands in, then in the block around it. A name is
//! resolved here only if that can be followed to its end: every table that could have the column is known, or the name
//! says which table it means. An error to the servers may be resolved to anything.

use std::sync::Arc;

use super::conjunct::{Conjunct, Named};
use super::query::{Block, Filter, Leaf, Parsed};
use crate::TableName;

/// A column of an occurrence: the index of its leaf, and its name in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub leaf: usize,
    pub name: String,
}

/// The tables of a statement, with their columns.
pub(super) struct Names<'p> {
    parsed: &'p Parsed,
    /// By leaf; None for what is no table, or is not known.
    columns: Vec<Option<Arc<[String]>>>,
}

/// What can be looked up for a name: a block's own tables, and what is around them.
#[derive(Clone, Copy)]
struct Scope<'b> {
    block: &'b Block,
    leaves: &'b [usize],
    outward: bool,
}

impl<'p> Names<'p> {
    /// None if two names of tables differ in their case alone: whether they are one then depends on the server.
    pub fn new(parsed: &'p Parsed, columns_of: &dyn Fn(&TableName) -> Option<Arc<[String]>>) -> Option<Self> {
        let differ = |a: &Leaf, b: &Leaf| a.name.eq_ignore_ascii_case(&b.name) && a.name != b.name;
        let leaves = &parsed.leaves;
        if leaves.iter().enumerate().any(|(at, leaf)| leaves.iter().take(at).any(|other| differ(leaf, other)))
        {
            return None;
        }
        let columns = leaves.iter().map(|leaf| leaf.table.as_ref().and_then(columns_of)).collect();
        Some(Names { parsed, columns })
    }

    /// Whether every known column is called by ASCII alone. The servers take `e` for `é` in the name of a column.
    pub fn are_ascii(&self) -> bool {
        self.columns.iter().flatten().flat_map(|columns| columns.iter()).all(|column| column.is_ascii())
    }

    /// The conjunct with its columns resolved; None if one cannot be.
    pub fn conjunct(
        &self,
        block: &Block,
        filter: &Filter,
        named: Conjunct<Named>,
    ) -> Option<Conjunct<Column>> {
        let all;
        let (leaves, outward) = match &filter.operands {
            Some(operands) => (operands, false),
            None => {
                all = block.group.all_leaves();
                (&all, true)
            }
        };
        let scope = Scope { block, leaves, outward };
        Some(match named {
            Conjunct::Is(column, condition, rejects_null) => {
                Conjunct::Is(self.column(scope, &column)?, condition, rejects_null)
            }
            Conjunct::Equal(a, b) => Conjunct::Equal(self.column(scope, &a)?, self.column(scope, &b)?),
        })
    }

    fn column(&self, scope: Scope<'_>, named: &[String]) -> Option<Column> {
        let found = match named {
            [column] => self.bare(scope, column)?,
            [table, column] => self.qualified(scope, None, table, column)?,
            [schema, table, column] => self.qualified(scope, Some(schema), table, column)?,
            _ => return None,
        };
        match found {
            Found::Here(leaf) => Some(Column { leaf, name: named.last()?.clone() }),
            Found::Outside => {
                let outer =
                    scope.block.outer.filter(|outer| scope.outward && (outer.bare || named.len() > 1))?;
                let block = self.parsed.blocks.get(outer.block)?;
                self.column(Scope { block, leaves: &block.group.all_leaves(), outward: true }, named)
            }
        }
    }

    fn has(&self, leaf: usize, column: &str) -> Option<bool> {
        let columns = self.columns.get(leaf)?.as_ref()?;
        Some(columns.iter().any(|name| name == column))
    }

    /// A name without a table. Where one table has the column, no other can, or the servers would not know either; but a
    /// column that a join has merged is more than one table's.
    fn bare(&self, scope: Scope<'_>, column: &str) -> Option<Found> {
        let unknown = scope.leaves.iter().any(|&leaf| self.has(leaf, column).is_none());
        if scope.block.merged.iter().any(|merged| merged == column) || (scope.block.natural && unknown) {
            return None;
        }
        let mut holders = scope.leaves.iter().filter(|&&leaf| self.has(leaf, column) == Some(true));
        match (holders.next(), holders.next()) {
            (Some(&leaf), None) => Some(Found::Here(leaf)),
            (None, _) if !unknown => Some(Found::Outside),
            _ => None,
        }
    }

    fn qualified(
        &self,
        scope: Scope<'_>,
        schema: Option<&String>,
        table: &str,
        column: &str,
    ) -> Option<Found> {
        let leaf_of = |&leaf: &usize| self.parsed.leaves.get(leaf).map(|found| (leaf, found));
        let mut named =
            scope.leaves.iter().filter_map(leaf_of).filter(|(_, leaf)| leaf.name.eq_ignore_ascii_case(table));
        let (leaf, found) = match (named.next(), named.next()) {
            (Some(only), None) => only,
            (None, _) => return Some(Found::Outside),
            _ => return None,
        };
        let same_schema = schema.is_none()
            || (!found.aliased && found.table.as_ref().is_some_and(|table| table.schema.as_ref() == schema));
        (same_schema && self.has(leaf, column) == Some(true)).then_some(Found::Here(leaf))
    }
}

/// Where a name leads.
enum Found {
    Here(usize),
    /// No table of the block can be meant: it is of a block around it.
    Outside,
}
