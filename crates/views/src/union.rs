//! The rows of several SELECTs, put together.

use std::cmp::Ordering;
use std::sync::Arc;

use ahash::HashMap;

use crate::query::Union;
use crate::results::{Shown, SortKey};

/// A row of one SELECT, and the keys by which it is merged: first the columns of the order and, where rows are told apart, after them all
/// columns.
type Merged<'s> = (&'s [u8], &'s [SortKey]);

impl Union {
    /// Returns the rows of all its SELECTs.
    pub(crate) fn of(&self, selects: &[Arc<Shown>]) -> Shown {
        let mut out = Shown::without_rows(selects);
        let mut rows: Vec<Merged<'_>> = selects.iter().flat_map(|shown| shown.merged()).collect();
        if self.is_distinct {
            out.is_ambiguous |= self.tell_apart(&mut rows);
        }
        if !self.order.is_empty() {
            rows.sort_by(|one, other| self.ordered(one, other));
        }
        for (number, row) in rows.iter().enumerate() {
            let before = number.checked_sub(1).map(|before| &rows[before]);
            out.put(row.0, before.is_some_and(|before| self.ordered(before, row).is_eq()));
        }
        out
    }

    /// Keeps one of each set of equal rows. Returns whether equal rows are shown differently: then the servers choose which one is shown.
    fn tell_apart(&self, rows: &mut Vec<Merged<'_>>) -> bool {
        let mut is_ambiguous = false;
        let mut seen: HashMap<&[SortKey], &[u8]> = HashMap::default();
        rows.retain(|(row, keys)| {
            let first = *seen.entry(&keys[self.order.len()..]).or_insert(row);
            is_ambiguous |= first != *row;
            // The entry is its own.
            std::ptr::eq(first, *row)
        });
        is_ambiguous
    }

    fn ordered(&self, (_, one): &Merged<'_>, (_, other): &Merged<'_>) -> Ordering {
        let pairs = self.order.iter().zip(one.iter().zip(*other));
        let mut compared = pairs.map(
            |((_, descends), (one, other))| {
                if *descends { one.cmp(other).reverse() } else { one.cmp(other) }
            },
        );
        compared.find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
    }
}
