//! Finds the writes that a late write around Freshet hides.
//!
//! If the level lets a write around Freshet be seen late, a later write through Freshet *to the same row* may not matter for an answer.
//! Example: a row is deleted around Freshet, and inserted again through it with other values. A client that asks for the old values gets
//! the old row as long as the delete is late. A client that asks for the new values gets the new row. Both answers are allowed, although
//! the database was never in a state with both rows.
//!
//! So if no state explains an answer, a write to a row that a late write changed may be left out, provided that it makes no difference to
//! the answer once the late write has happened. Such an answer lacks only the late write.

use super::explain::Case;
use super::log::{Open, Standing};
use super::{Part, Path};
use crate::model::{Change, Db};
use crate::sql::RowSet;

/// Two states side by side.
struct States {
    /// The state that may have been shown: without late writes and the writes that they hide.
    shown: Db,
    /// With the late writes.
    whole: Db,
    /// The rows that late writes changed.
    late: RowSet,
    /// At least one write was hidden.
    hides: bool,
}

impl Case<'_> {
    /// Returns the state that explains the answer with some writes hidden, and the transactions in it.
    pub(super) fn with_hidden(&self, open: &Open, chosen: u32) -> Option<(Db, Vec<u64>)> {
        let (mut seen, mut bit) = (Vec::new(), 1);
        let mut states = States { shown: open.db, whole: open.db, late: RowSet::default(), hides: false };
        for (number, standing) in &open.rest {
            let is_open = *standing == Standing::Open;
            let is_in = *standing == Standing::Certain || is_open && chosen & bit != 0;
            bit <<= u32::from(is_open);
            let transaction = self.log.get(*number)?;
            if is_in {
                seen.push(*number);
                transaction.changes.iter().try_for_each(|change| self.happens(&mut states, change))?;
            } else if transaction.path == Path::Around {
                transaction.changes.iter().for_each(|change| states.is_late(change));
            }
        }
        states.hides.then_some((states.shown, seen))
    }

    /// Applies a change that is not late. None if it would have to be left out, but must not be.
    fn happens(&self, states: &mut States, change: &Change) -> Option<()> {
        if !states.concerns_late(change) {
            states.shown.apply(change);
            states.whole.apply(change);
            return Some(());
        }
        let before = states.whole;
        states.whole.apply(change);
        states.hides = true;
        let is_same = |part: &Part| {
            let query = &self.pool[part.query];
            query.ask(&before) == query.ask(&states.whole)
        };
        self.read.parts.iter().all(is_same).then_some(())
    }
}

impl States {
    fn is_late(&mut self, change: &Change) {
        if let Some((table, row)) = place(change) {
            self.late[table] |= row;
        }
        self.whole.apply(change);
    }

    fn concerns_late(&self, change: &Change) -> bool {
        place(change).is_some_and(|(table, row)| self.late[table] & row != 0)
    }
}

/// Returns the table and the row's bit; None for definitions, which no write hides.
const fn place(change: &Change) -> Option<(usize, u64)> {
    match *change {
        Change::Put(table, id, _) | Change::Remove(table, id) => Some((table as usize, 1 << (id - 1))),
        Change::View(..) | Change::Away(_) => None,
    }
}
