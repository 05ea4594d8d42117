//! Who may write which rows, and what the rows are once all that was acknowledged is done.

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

/// Rows that nobody else writes, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Held<'a> {
    locks: &'a Locks,
    rows: RowSet,
}

impl Locks {
    /// Nothing is locked.
    #[must_use]
    pub const fn new(db: Db) -> Self {
        let taken = [0; size_of::<RowSet>() / size_of::<u64>()];
        Self { state: Mutex::new(State { taken, newest: db }), freed: Condvar::new() }
    }

    /// Waits until all of these are free, and takes them all at once, so that nobody waits for each other.
    pub fn take(&self, rows: RowSet) -> Held<'_> {
        let mut state = self.state();
        while state.taken.iter().zip(&rows).any(|(taken, row)| taken & row != 0) {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.taken.iter_mut().zip(&rows).for_each(|(taken, row)| *taken |= row);
        Held { locks: self, rows }
    }

    /// Returns the newest state; of what is being written by others it is the one of before.
    #[must_use]
    pub fn newest(&self) -> Db {
        self.state().newest
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    /// Returns the newest state; what is held is as it will be found.
    #[must_use]
    pub fn newest(&self) -> Db {
        self.locks.newest()
    }

    /// Says that changes of what is held were committed.
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
