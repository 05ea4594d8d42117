//! The first look at a text: what kind of request it is, from its tokens alone.

use std::ops::Range;

use crate::effects::Effects;
use crate::modes::Modes;
use crate::ours::Ours;

/// What a text of COM_QUERY asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// One SELECT (or WITH … SELECT), which may be cacheable: `analyse` says.
    Select {
        /// The hint in its first SELECT.
        hint: Option<Hint>,
    },
    /// A statement about our own variables, status or cache.
    Ours(Ours),
    /// KILL with a plain number.
    Kill {
        /// KILL QUERY: the connection stays.
        query_only: bool,
        /// The thread id as the client knows it.
        id: u64,
        /// Where the number stands in the text.
        id_at: Range<usize>,
    },
    /// Everything else.
    Other(Effects),
}

/// SQL_CACHE or SQL_NO_CACHE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// SQL_CACHE.
    Cache,
    /// SQL_NO_CACHE.
    NoCache,
}

/// Says what `text` is. Total: what is not understood is `Other` with the worst effects.
pub fn read(_text: &[u8], _modes: Modes) -> Request {
    unimplemented!()
}
