//! What a question reads, as its text and the view's definition tell.

use super::{Condition, Filter, On, Shape};
use crate::model::{Column, Db, Table};
use crate::told::{ID, Told, V, column_bit};

/// One naming of a table: the condition that its rows satisfy, and the columns that are read of them, as bits.
struct Named {
    table: Table,
    filter: Filter,
    columns: u16,
}

impl Shape {
    /// Whether a write may change the answer, by what its text tells. Where a condition on the primary key is carried to
    /// another table by equality, it holds there too.
    pub fn may_be_changed_by(&self, told: &Told, db: &Db) -> bool {
        self.namings(db).iter().filter(|named| named.table == told.table).any(|named| named.is_touched(told))
    }

    fn namings(&self, db: &Db) -> Vec<Named> {
        const K: u16 = column_bit(Column::K);
        const PID: u16 = column_bit(Column::Pid);
        let named = |table: &Table, filter: &Filter, columns: u16| Named {
            table: *table,
            filter: filter.clone(),
            columns: columns | filter.columns(),
        };
        let any = |table: &Table, columns: u16| named(table, &Filter::default(), columns);
        match self {
            Self::Rows(t, f) | Self::Ordered(t, f) | Self::Count(t, f) | Self::Extremes(t, f) => {
                vec![named(t, f, ID | V)]
            }
            Self::Top(t, f, _) | Self::Derived(t, f) | Self::Cte(t, f) => vec![named(t, f, ID | V)],
            Self::Groups(t, f) => vec![named(t, f, PID | V)],
            Self::Distinct(t, f) => vec![named(t, f, K)],
            Self::Join(a, b, f) | Self::Left(a, b, f) => vec![named(a, f, ID | V | PID), any(b, ID | V)],
            Self::Chain(a, b, c, f) => vec![named(a, f, ID | V | PID), any(b, ID | V), any(c, ID | V)],
            Self::SelfJoin(t, f) => vec![named(t, f, ID | K), any(t, ID | K | V)],
            Self::Anti(a, b, f) => vec![named(a, f, ID | V), named(b, &f.of_ids(), ID)],
            Self::Union(a, b, f, g) => vec![named(a, f, ID | V), named(b, g, ID | V)],
            Self::Exists(a, b, f, true) => vec![named(a, &f.of_ids(), ID | V), named(b, f, ID)],
            Self::Exists(a, b, f, false) => vec![any(a, ID | V), named(b, f, ID)],
            Self::InSelect(a, b, f) => vec![any(a, ID | V), named(b, f, PID)],
            Self::Scalar(a, b, f) => vec![named(a, f, ID), any(b, PID)],
            Self::View(f) => {
                let limit = (On::Column(Column::K), Condition::Below(db.view_limit));
                let filter = Filter(f.0.iter().cloned().chain([limit]).collect());
                vec![named(&db.view_of, &filter, ID | V)]
            }
        }
    }
}

impl Named {
    fn is_touched(&self, told: &Told) -> bool {
        let rows = [&told.before, &told.after];
        told.changed & self.columns != 0 && rows.into_iter().flatten().any(|row| self.filter.may_hold(row))
    }
}

#[cfg(test)]
mod tests;
