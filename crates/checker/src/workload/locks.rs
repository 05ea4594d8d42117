//! Locks of rows for writers, and the state of the rows after all acknowledged writes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::model::{Change, Db};
use crate::sql::RowSet;

/// The rows that are being written, and the newest state of all others.
#[derive(Debug)]
pub struct Locks {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    taken: RowSet,
    newest: Db,
}

/// Rows that no other client writes, until the value is dropped.
#[derive(Debug)]
#[must_use]
pub struct Held<'a> {
    locks: &'a Locks,
    rows: RowSet,
}

impl Locks {
    /// Returns locks of which none is taken.
    #[must_use]
    pub const fn new(db: Db) -> Self {
        let taken = [0; size_of::<RowSet>() / size_of::<u64>()];
        Self { state: Mutex::new(State { taken, newest: db }), freed: Condvar::new() }
    }

    /// Waits until all these rows are free, and takes them all at once, so that no two clients wait for each other.
    pub fn take(&self, rows: RowSet) -> Held<'_> {
        let mut state = self.state();
        while state.taken.iter().zip(&rows).any(|(taken, row)| taken & row != 0) {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.taken.iter_mut().zip(&rows).for_each(|(taken, row)| *taken |= row);
        Held { locks: self, rows }
    }

    /// Returns the newest state. Rows that other clients are writing have their state from before.
    #[must_use]
    pub fn newest(&self) -> Db {
        self.state().newest
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    /// Returns the newest state. The locked rows have the state that the client will find.
    #[must_use]
    pub fn newest(&self) -> Db {
        self.locks.newest()
    }

    /// Notes that changes of the locked rows were committed.
    pub fn committed(&self, changes: &[Change]) {
        let mut state = self.locks.state();
        changes.iter().for_each(|change| state.newest.apply(change));
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut state = self.locks.state();
        state.taken.iter_mut().zip(&self.rows).for_each(|(taken, row)| *taken &= !row);
        drop(state);
        self.locks.freed.notify_all();
    }
}
