//! A maintained query.

use std::borrow::Cow;
use std::hash::Hash;
use std::ops::RangeInclusive;

use freshet_sql::DataType;

use crate::amount::Amount;
use crate::kind::{ColumnSpec, Kind, Number, TableName};
use crate::predicate::{ColumnRef, Predicate, Term};

/// A query for all values of its parameters: conditions of the form `column = literal` are its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MaintainedQuery {
    /// At least one.
    pub(crate) selects: Vec<Select>,
    /// How the SELECTs are put together, if there are several.
    pub(crate) union: Option<Union>,
}

/// UNION.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Union {
    /// Equal rows are shown once.
    pub(crate) is_distinct: bool,
    /// The shown columns by which it is ordered; true stands for descending.
    pub(crate) order: Vec<(usize, bool)>,
}

/// One SELECT.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Select {
    /// The tables that it reads, each once, with the columns that it needs, by their names.
    pub(crate) tables: Vec<(TableName, Vec<ColumnSpec>)>,
    /// The mentions of tables, each with the place of its table in `tables`.
    pub(crate) mentions: Vec<usize>,
    /// The mentions that LEFT JOIN adds, in their order, and after them those of subqueries; the others are joined before them.
    pub(crate) optional: Vec<Optional>,
    /// The conditions on each combination of rows.
    pub(crate) conditions: Vec<Predicate>,
    /// The columns that have to be equal to the parameters, in their order.
    pub(crate) parameters: Vec<ColumnRef>,
    pub(crate) output: Output,
    /// The conditions on each shown group: on its items, which are named by their places like columns.
    pub(crate) having: Vec<Predicate>,
    /// Columns of the output, or behind it, by which it is ordered; true stands for descending.
    pub(crate) order: Vec<(usize, bool)>,
    /// How many seconds the clock that shows moments of UTC is ahead of UTC; 0 where there are no such moments.
    pub(crate) offset_s: i32,
    /// The shown columns by which UNION orders its rows with those of others, and by which it tells them apart.
    pub(crate) merged_by: Vec<usize>,
    /// Literal texts in ASCII that are shown.
    pub(crate) literals: Vec<Box<[u8]>>,
}

/// The effect of a mention's rows on the rows before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// LEFT JOIN: the rows before are there with each of its rows, and with NULLs if it has none.
    Left,
    /// EXISTS and IN: the rows before are there, once, if it has a row.
    Exists,
    /// NOT EXISTS and NOT IN: the rows before are there if it has no row.
    Missing,
}

/// A mention that need not have a row which satisfies the join conditions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Optional {
    pub(crate) mention: usize,
    pub(crate) role: Role,
    /// The conditions on its row, and on those of mentions before it.
    pub(crate) on: Vec<Predicate>,
}

/// The output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    /// A row for each combination; the columns behind `shown` only order.
    Rows { columns: Vec<Term>, shown: usize, is_distinct: bool },
    /// A row for each group of rows that are equal in `by`.
    Groups { by: Vec<Term>, items: Vec<Item>, shown: usize },
}

/// A column of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    /// The value of `by` at this place.
    Key(usize),
    /// The number of rows; with an amount, of rows where it is not NULL.
    Count(Option<Amount>),
    /// The number of different values that are not NULL.
    Distinct(Term),
    /// The sum of an exact number with so many digits behind the point. `or`: the value that is shown if there are no numbers; without
    /// it, NULL.
    Sum { of: Amount, scale: u8, or: Option<Number> },
    /// The average of an exact number, with `more` further digits behind the point. `or` is as for a sum.
    Average { of: Amount, scale: u8, more: u8, or: Option<Number> },
    /// The least or the greatest: of numbers, or of texts.
    Extreme { of: Term, is_max: bool, is_text: bool },
}

impl MaintainedQuery {
    /// Returns the tables that the query reads, each once, and the columns that it needs of each.
    #[must_use]
    pub fn tables(&self) -> Vec<(&TableName, Cow<'_, [ColumnSpec]>)> {
        let mut all: Vec<(&TableName, Cow<'_, [ColumnSpec]>)> = Vec::new();
        for (name, columns) in self.selects.iter().flat_map(|select| &select.tables) {
            match all.iter_mut().find(|(own, _)| *own == name) {
                None => all.push((name, columns.into())),
                Some((_, own)) => {
                    let missing: Vec<_> =
                        columns.iter().filter(|column| !own.contains(column)).cloned().collect();
                    if !missing.is_empty() {
                        own.to_mut().extend(missing);
                    }
                }
            }
        }
        all
    }

    /// Whether the query shows the same columns of the same tables as another one that differs only in its values.
    #[must_use]
    pub fn shows_alike(&self, other: &Self) -> bool {
        let both = self.selects.iter().zip(&other.selects);
        self.selects.len() == other.selects.len()
            && self.union == other.union
            && both.into_iter().all(|(own, other)| {
                own.tables == other.tables && own.mentions == other.mentions && own.output == other.output
            })
    }

    /// Returns the columns that the query shows, or from which it computes its output, with the names of their tables.
    pub fn shown(&self) -> impl Iterator<Item = (&TableName, &ColumnSpec)> {
        self.selects.iter().flat_map(Select::shown)
    }

    /// Returns the number of shown columns.
    #[must_use]
    pub fn columns_shown(&self) -> usize {
        self.selects.first().map_or(0, Select::columns_shown)
    }
}

impl Select {
    fn shown(&self) -> impl Iterator<Item = (&TableName, &ColumnSpec)> {
        let column_ref = |term: &Term| match term {
            Term::Column(column_ref) => Some(*column_ref),
            Term::Constant(_) | Term::Literal(_) => None,
        };
        let column_refs: Vec<ColumnRef> = match &self.output {
            Output::Rows { columns, shown, .. } => {
                columns.iter().take(*shown).filter_map(column_ref).collect()
            }
            Output::Groups { by, items, .. } => {
                let of = items.iter().flat_map(|item| match item {
                    Item::Key(_) | Item::Count(None) => Vec::new(),
                    Item::Distinct(of) | Item::Extreme { of, .. } => column_ref(of).into_iter().collect(),
                    Item::Count(Some(of)) | Item::Sum { of, .. } | Item::Average { of, .. } => {
                        of.column_refs()
                    }
                });
                by.iter().filter_map(column_ref).chain(of).collect()
            }
        };
        let named = |column_ref: ColumnRef| {
            (&self.tables[self.mentions[column_ref.mention]].0, self.spec(column_ref))
        };
        column_refs.into_iter().map(named)
    }

    const fn columns_shown(&self) -> usize {
        match &self.output {
            Output::Rows { shown, .. } | Output::Groups { shown, .. } => *shown,
        }
    }

    /// Returns how a mention is joined, if LEFT JOIN or a subquery adds it.
    pub(crate) fn optional(&self, mention: usize) -> Option<&Optional> {
        self.optional.iter().find(|optional| optional.mention == mention)
    }

    /// Returns a column that has one of a few values in every row that counts, of a mention that has a row.
    pub(crate) fn listed(&self) -> Option<(ColumnRef, Vec<Number>)> {
        let listed = |condition: &Predicate| match condition {
            Predicate::In(Term::Column(column_ref), list) if self.optional(column_ref.mention).is_none() => {
                let values = list.iter().map(|one| match one {
                    Term::Constant(cell) => *cell,
                    Term::Column(_) | Term::Literal(_) => None,
                });
                Some((*column_ref, values.collect::<Option<Vec<Number>>>()?))
            }
            _ => None,
        };
        let (column_ref, mut values) = self.conditions.iter().find_map(listed)?;
        values.sort_unstable();
        values.dedup();
        Some((column_ref, values))
    }

    /// Returns a column whose values are in a range in every row that counts, of a mention that has a row: the narrowest range, if there
    /// are several.
    pub(crate) fn ranged(&self) -> Option<(ColumnRef, RangeInclusive<Number>)> {
        let mut ranges: Vec<(ColumnRef, RangeInclusive<Number>)> = Vec::new();
        let mut left: Vec<&Predicate> = self.conditions.iter().collect();
        while let Some(condition) = left.pop() {
            match condition {
                Predicate::And(all) => left.extend(all),
                Predicate::Compare(..) => {
                    let Some((column_ref, own)) = condition
                        .range()
                        .filter(|(column_ref, _)| self.optional(column_ref.mention).is_none())
                    else {
                        continue;
                    };
                    match ranges.iter_mut().find(|(other, _)| *other == column_ref) {
                        None => ranges.push((column_ref, own)),
                        Some((_, range)) => {
                            *range = *range.start().max(own.start())..=*range.end().min(own.end())
                        }
                    }
                }
                _ => {}
            }
        }
        let width = |range: &RangeInclusive<Number>| range.end().saturating_sub(*range.start());
        ranges.into_iter().min_by_key(|(_, range)| width(range))
    }

    /// Whether a column of the output, or of the grouping, is a text by which rows are sorted or told apart.
    pub(crate) fn is_key_text(&self, at: usize, column_ref: ColumnRef) -> bool {
        let is_key = match &self.output {
            Output::Rows { is_distinct, .. } => {
                *is_distinct || self.merged_by.contains(&at) || self.order.iter().any(|(by, _)| *by == at)
            }
            Output::Groups { .. } => true,
        };
        is_key && matches!(self.spec(column_ref).kind, Kind::Text { .. })
    }

    /// Whether a condition is on texts.
    pub(crate) fn compares_texts(&self) -> bool {
        self.tables.iter().flat_map(|(_, columns)| columns).any(|spec| matches!(spec.kind, Kind::Folded(_)))
    }

    pub(crate) fn spec(&self, column_ref: ColumnRef) -> &ColumnSpec {
        &self.tables[self.mentions[column_ref.mention]].1[column_ref.column]
    }

    /// Returns the column of a term; a constant is only compared.
    pub(crate) fn spec_of(&self, term: &Term) -> Option<&ColumnSpec> {
        match term {
            Term::Column(column_ref) => Some(self.spec(*column_ref)),
            Term::Constant(_) | Term::Literal(_) => None,
        }
    }
}

/// Returns the declared type of a column by its name.
pub(crate) fn declared<'c>(columns: &'c [freshet_sql::InputColumn], name: &str) -> Option<&'c DataType> {
    columns.iter().find(|column| column.name == name)?.data_type.as_ref()
}
