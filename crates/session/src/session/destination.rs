//! Where the client's last statement was answered, for EXPLAIN LAST STATEMENT.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::created::QueryId;
use crate::why::Why;

const NOWHERE: u8 = 0;
const MEMORY: u8 = 1;
const SERVER: u8 = 2;
/// This number and the ones above: the server, with the number of the reason.
const SERVER_BECAUSE: u8 = 3;

/// Where a statement was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Nowhere: there was no statement.
    Nowhere,
    /// In memory.
    Memory,
    /// At the server, with the reason why its answer was not stored, if it was not.
    Server(Option<Why>),
}

/// The destination in a byte that is written without a lock.
#[derive(Debug, Default)]
pub(crate) struct LastDestination {
    at: AtomicU8,
    /// The statement to which the noted hint belongs.
    hint_of: AtomicU8,
    /// The reply to the hint of a query.
    hint: Mutex<Option<(QueryId, String)>>,
}

/// No statement, the statement that is being answered, and the statement that was answered last.
const NONE: u8 = 0;
const PRESENT: u8 = 1;
const LAST: u8 = 2;

impl LastDestination {
    pub(super) fn get(&self) -> Destination {
        match self.at.load(Ordering::Relaxed) {
            NOWHERE => Destination::Nowhere,
            MEMORY => Destination::Memory,
            SERVER => Destination::Server(None),
            because => Destination::Server(Why::numbered(usize::from(because - SERVER_BECAUSE))),
        }
    }

    pub(super) fn set(&self, destination: Destination) {
        let because = |why: Why| SERVER_BECAUSE.saturating_add(why as u8);
        let byte = match destination {
            Destination::Nowhere => NOWHERE,
            Destination::Memory => MEMORY,
            Destination::Server(why_not_stored) => why_not_stored.map_or(SERVER, because),
        };
        self.at.store(byte, Ordering::Relaxed);
    }

    /// Begins another statement that is not answered at once.
    pub(crate) fn begin(&self) {
        let hint_of = self.hint_of.load(Ordering::Relaxed);
        if hint_of != NONE {
            self.hint_of.store(if hint_of == PRESENT { LAST } else { NONE }, Ordering::Relaxed);
        }
    }

    /// Notes the reply to the hint of the statement that is being answered.
    pub(crate) fn note_hint(&self, id: QueryId, said: String) {
        *self.hint.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, said));
        self.hint_of.store(PRESENT, Ordering::Relaxed);
    }

    /// Repeats the last reply, if it was for the same query. Returns whether it was.
    pub(crate) fn note_hint_again(&self, id: QueryId) -> bool {
        let is_same =
            matches!(&*self.hint.lock().unwrap_or_else(PoisonError::into_inner), Some((of, _)) if *of == id);
        if is_same {
            self.hint_of.store(PRESENT, Ordering::Relaxed);
        }
        is_same
    }

    /// Returns the reply to the last statement's hint, if the hint had no effect.
    pub(crate) fn hint(&self) -> Option<String> {
        let is_last = self.hint_of.load(Ordering::Relaxed) == LAST && self.get() != Destination::Memory;
        let hint = self.hint.lock().unwrap_or_else(PoisonError::into_inner);
        hint.as_ref().filter(|_| is_last).map(|(_, said)| said.clone())
    }
}
