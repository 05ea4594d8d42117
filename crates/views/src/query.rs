//! A query as it is maintained.

use std::hash::Hash;

use freshet_sql::DataType;

use crate::condition::{Condition, Operand, Place};
use crate::kind::{ColumnSpec, Kind, TableName};

/// A query of all values of its parameters: conditions of the form `column = literal` are its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// The tables that it reads, each once, with the columns that it needs, by their names.
    pub(crate) tables: Vec<(TableName, Vec<ColumnSpec>)>,
    /// The mentions of tables, each with the place of its table in `tables`.
    pub(crate) mentions: Vec<usize>,
    /// What holds of each combination of rows.
    pub(crate) conditions: Vec<Condition>,
    /// The columns that have to be equal to the parameters, in their order.
    pub(crate) parameters: Vec<Place>,
    pub(crate) output: Output,
    /// Columns of the output, or behind it, by which it is ordered; true stands for descending.
    pub(crate) order: Vec<(usize, bool)>,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    /// A row for each combination; the columns behind `shown` only order.
    Rows { columns: Vec<Operand>, shown: usize, is_distinct: bool },
    /// A row for each group of those that are equal in `by`.
    Groups { by: Vec<Operand>, items: Vec<Item>, shown: usize },
}

/// A column of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    /// That of `by` at this place.
    Key(usize),
    /// How many rows; with an operand, how many are not NULL in it.
    Count(Option<Operand>),
    /// The sum of an exact number, of which so many digits are behind the point.
    Sum { of: Operand, scale: u8 },
    /// The average of an exact number, with so many digits more behind the point than the number has.
    Average { of: Operand, scale: u8, more: u8 },
    /// The least, or the greatest.
    Extreme { of: Operand, is_max: bool },
}

impl Query {
    /// The tables that it reads, and what it needs of each.
    pub fn tables(&self) -> impl Iterator<Item = (&TableName, &[ColumnSpec])> {
        self.tables.iter().map(|(name, columns)| (name, columns.as_slice()))
    }

    /// How many columns it shows.
    #[must_use]
    pub const fn columns_shown(&self) -> usize {
        match &self.output {
            Output::Rows { shown, .. } | Output::Groups { shown, .. } => *shown,
        }
    }

    pub(crate) fn kind(&self, place: Place) -> Kind {
        self.tables[self.mentions[place.mention]].1[place.column].kind
    }

    /// The kind of an operand; a constant is only compared.
    pub(crate) fn kind_of(&self, operand: &Operand) -> Option<Kind> {
        match operand {
            Operand::Column(place) => Some(self.kind(*place)),
            Operand::Constant(_) => None,
        }
    }
}

/// The declared type of a column by its name.
pub(crate) fn declared<'c>(columns: &'c [freshet_sql::InputColumn], name: &str) -> Option<&'c DataType> {
    columns.iter().find(|column| column.name == name)?.data_type.as_ref()
}
