//! What is stored: one result under its full key.

use crate::arena::Pieces;
use crate::{Dep, Position};

/// The key of a stored result. Both parts are compared in full; the hash alone never decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key<'a> {
    /// The interned id of all session state that can change the result.
    pub environment: u32,
    /// The statement, with its parameters if it has any.
    pub text: &'a [u8],
}

/// A key, and the time at which it is looked up.
#[derive(Clone, Copy, Debug)]
pub struct TimedKey<'a> {
    /// The key.
    pub key: Key<'a>,
    /// The time in milliseconds.
    pub now_ms: u64,
}

/// What is listed of a stored result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// See [`Key::environment`].
    pub environment: u32,
    /// See [`Key::text`].
    pub text: Vec<u8>,
    /// How many bytes the packets have.
    pub body_bytes: usize,
    /// How many blocks of memory the entry takes; a large body is one.
    pub blocks: usize,
    /// How many bytes these blocks have.
    pub bytes: usize,
    /// See [`Fill::tag`].
    pub tag: u16,
    /// See [`Fill::is_bargain`].
    pub is_bargain: bool,
    /// How often it was hit: counted one by one up to 64, and about so often up to 8191.
    pub hits: u16,
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
    /// The status flags at these offsets.
    pub status: u16,
    /// How many bytes at the beginning of the key's text are also in the texts of other results: those before the first value. 0 if that
    /// is not known.
    pub text_prefix: usize,
    /// How many bytes at the beginning of `body` are also in the bodies of other results: those before the first row. 0 if that is not
    /// known.
    pub body_prefix: usize,
    /// The rows in the result.
    pub rows: u64,
    /// The upstream time that a hit saves, in microseconds.
    pub cost_us: u32,
    /// A number of the caller's; each hit hands it back.
    pub tag: u16,
    /// When the entry expires, by the clock of [`crate::Freshness::is_live`]: it is not served after that, even if nothing has changed;
    /// 0: never.
    pub expires_ms: u64,
    /// When the entry is due for refreshing, by the same clock: one of the clients that ask for it makes it anew, and the others still
    /// get it; 0: never.
    pub refresh_ms: u64,
}

impl Fill {
    /// Whether the result is served until it expires, whatever changes meanwhile: by [`crate::Cache::get_bargain`], and by no other
    /// lookup. It has no dependencies, and is valid from [`Position::MAX`].
    #[must_use]
    pub fn is_bargain(&self) -> bool {
        self.valid_from == Position::MAX
    }
}

/// A stored result, as a hit sees it.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// See [`Fill::valid_from`].
    pub valid_from: Position,
    /// See [`Fill::body`].
    pub body: Body<'a>,
    /// See [`Fill::status_at`].
    pub status_at: [u32; 2],
    /// See [`Fill::status`].
    pub status: u16,
    /// See [`Fill::rows`].
    pub rows: u64,
    /// See [`Fill::cost_us`].
    pub cost_us: u32,
    /// See [`Fill::tag`].
    pub tag: u16,
    /// [`crate::Freshness::fences_raised`] when the entry was stored: all writes that the result contains have fences up to this number.
    pub fences_raised: u64,
    /// [`crate::Freshness::ends_asked`] when the entry was stored: a later question settles it.
    pub ends_asked: u64,
    /// The number of rows that [`crate::Cache::note_found_rows`] was told.
    pub found_rows: Option<u32>,
}

/// A stored body, in the slices in which it lies in memory. No slice is empty. The slices in order are the body.
#[derive(Clone)]
pub struct Body<'a>(Parts<'a>);

#[derive(Clone)]
enum Parts<'a> {
    /// The first slice is the prefix that the bodies of many entries share.
    Blocks(&'a [u8], Pieces<'a>),
    Apart(Option<&'a [u8]>),
}

impl<'a> Body<'a> {
    #[inline]
    pub(crate) const fn in_blocks(prefix: &'a [u8], pieces: Pieces<'a>) -> Self {
        Self(Parts::Blocks(prefix, pieces))
    }

    pub(crate) const fn apart(bytes: &'a [u8]) -> Self {
        Self(Parts::Apart(Some(bytes)))
    }

    /// Returns how many bytes are left.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Parts::Blocks(prefix, pieces) => prefix.len() + pieces.len(),
            Parts::Apart(bytes) => bytes.map_or(0, <[u8]>::len),
        }
    }

    /// Whether no bytes are left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all bytes that are left in one piece. Allocates: for tests and logs.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.clone().collect::<Vec<_>>().concat()
    }
}

impl<'a> Iterator for Body<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        match &mut self.0 {
            Parts::Blocks([], pieces) => pieces.next(),
            Parts::Blocks(prefix, _) => Some(std::mem::take(prefix)),
            Parts::Apart(bytes) => bytes.take(),
        }
    }
}

impl std::fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}
