//! Where the client's last statement was answered, for EXPLAIN LAST STATEMENT.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::why::Why;

const NOWHERE: u8 = 0;
const MEMORY: u8 = 1;
const SERVER: u8 = 2;
/// And from here on the server, with the number of the reason.
const SERVER_BECAUSE: u8 = 3;

/// Where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// There was none.
    Nowhere,
    /// In memory.
    Memory,
    /// At the server; why its answer was not stored, if it was not.
    Server(Option<Why>),
}

/// The same in a byte that is written without a lock.
#[derive(Debug, Default)]
pub(crate) struct LastDestination(AtomicU8);

impl LastDestination {
    pub(super) fn get(&self) -> Destination {
        match self.0.load(Ordering::Relaxed) {
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
        self.0.store(byte, Ordering::Relaxed);
    }
}
