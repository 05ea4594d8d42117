//! What is stored: one result under its full key.

use crate::{Dep, Position};

/// What a result is found by. Both parts are compared in full; the hash alone never decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key<'a> {
    /// The interned id of all session state that can change the result.
    pub environment: u32,
    /// The statement, with its parameters if it has any.
    pub text: &'a [u8],
}

/// A result to be stored.
#[derive(Clone, Debug)]
pub struct Fill {
    /// [`crate::Freshness::valid_from`], read before the dependencies were resolved and the statement was sent.
    pub valid_from: Position,
    /// Everything that the result is a function of.
    pub deps: Vec<Dep>,
    /// The packets as the client gets them, with sequence numbers from 1.
    pub body: Vec<u8>,
    /// Offsets of the status flags in `body`; `u32::MAX`: none.
    pub status_at: [u32; 2],
    /// The status flags that stand there.
    pub status: u16,
    /// The rows in the result.
    pub rows: u64,
    /// The upstream time that a hit saves, in microseconds.
    pub cost_us: u32,
}

/// A stored result, as a hit sees it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// See [`Fill::valid_from`].
    pub valid_from: Position,
    /// See [`Fill::deps`].
    pub deps: &'a [Dep],
    /// See [`Fill::body`].
    pub body: &'a [u8],
    /// See [`Fill::status_at`].
    pub status_at: [u32; 2],
    /// See [`Fill::status`].
    pub status: u16,
    /// See [`Fill::rows`].
    pub rows: u64,
    /// See [`Fill::cost_us`].
    pub cost_us: u32,
}
