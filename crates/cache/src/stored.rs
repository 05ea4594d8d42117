//! An entry as it lies in memory: header, dependencies, key text, body, one behind the other.
//!
//! An entry is not changed after it is written, a few header fields excepted. The header, a few dependencies and a key of usual length
//! are in the first block, so that a hit finds in one place all that it needs to decide.

use crate::arena::{Arena, BLOCK_CHARGE, Pieces, blocks_for};
use crate::large::{self, LARGE_MIN, Large};
use crate::prefixes::{Prefix, PrefixNumber, Prefixes};
use crate::{Body, Dep, Entry, Fill, Key, Position};
use std::iter;
use std::sync::Arc;

/// The front of an entry. Little endian, without gaps, a multiple of [`DEP_BYTES`] so that no dependency straddles two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) valid_from: Position,
    pub(crate) rows: u32,
    /// The number of the entry's prefix, if it has one. Text and body lie here without the prefix.
    pub(crate) prefix: Option<PrefixNumber>,
    pub(crate) environment: u32,
    pub(crate) deps: u32,
    pub(crate) text_len: u32,
    /// 0 if the body is kept apart.
    pub(crate) body_len: u32,
    /// The number of the body that is kept apart; 0 if none is.
    pub(crate) large: u32,
    pub(crate) status_at: [u32; 2],
    pub(crate) cost_us: u32,
    pub(crate) status: u16,
    /// In the same word as `status`.
    pub(crate) tag: u16,
    pub(crate) fences_raised: u64,
    pub(crate) ends_asked: u64,
    /// [`NOT_FOUND`] if the number is not known.
    pub(crate) found_rows: u32,
    pub(crate) expiry: Expiry,
    /// When the entry is due for refreshing.
    pub(crate) refresh: Expiry,
}

/// When an entry expires, in steps of [`Expiry::STEP_MS`] of a clock that begins with the process; 0: never. Rounded down, so that no
/// entry is served for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiry(u32);

impl Expiry {
    /// With this step a clock of 32 bits ends after two years. An entry that would expire later expires then, and no such entry is stored
    /// after that.
    const STEP_MS: u64 = 16;

    /// Never.
    pub(crate) const NEVER: Self = Self(0);

    pub(crate) fn at(expires_ms: u64) -> Self {
        if expires_ms == 0 {
            return Self::NEVER;
        }
        Self(u32::try_from((expires_ms / Self::STEP_MS).max(1)).unwrap_or(u32::MAX))
    }

    /// Returns the bytes as they lie in a header.
    pub(crate) const fn to_le_bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }

    #[inline]
    pub(crate) const fn is_over(self, now_ms: u64) -> bool {
        self.0 != 0 && now_ms >= self.0 as u64 * Self::STEP_MS
    }

    /// Whether an entry that expires at this time expires before an entry that expires at `later`.
    pub(crate) const fn is_before(self, later: Self) -> bool {
        self.0 != 0 && (later.0 == 0 || self.0 < later.0)
    }
}

/// The number of rows is not known.
pub(crate) const NOT_FOUND: u32 = u32::MAX;

impl Header {
    const BYTES: usize = 80;
    /// The offset of the number of rows found.
    pub(crate) const FOUND_ROWS_AT: usize = 68;
    /// The offset of the time of refreshing.
    pub(crate) const REFRESH_AT: usize = 76;

    /// See [`Fill::is_bargain`].
    #[inline]
    pub(crate) fn is_bargain(&self) -> bool {
        self.valid_from == Position::MAX
    }

    /// Returns how many bytes stand before the body.
    #[inline]
    const fn before_body(&self) -> usize {
        self.before_text() + self.text_len as usize
    }

    /// Returns how many blocks the entry takes.
    pub(crate) const fn blocks(&self) -> usize {
        blocks_for(self.before_body() + self.body_len as usize)
    }

    #[inline]
    const fn before_text(&self) -> usize {
        Self::BYTES + self.deps as usize * DEP_BYTES
    }

    /// Returns the entry as a hit sees it.
    #[inline]
    pub(crate) const fn view<'a>(&self, body: Body<'a>) -> Entry<'a> {
        let Self { valid_from, status_at, status, rows, cost_us, tag, fences_raised, ends_asked, .. } = *self;
        let found_rows = if self.found_rows == NOT_FOUND { None } else { Some(self.found_rows) };
        Entry {
            valid_from,
            body,
            status_at,
            status,
            rows: rows as u64,
            cost_us,
            tag,
            fences_raised,
            ends_asked,
            found_rows,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let prefix = self.prefix.map_or(0, PrefixNumber::get);
        out.extend_from_slice(&self.valid_from.get().to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&prefix.to_le_bytes());
        for long in [self.fences_raised, self.ends_asked] {
            out.extend_from_slice(&long.to_le_bytes());
        }
        let words = [self.environment, self.deps, self.text_len, self.body_len, self.large];
        let more = [
            self.status_at[0],
            self.status_at[1],
            self.cost_us,
            u32::from(self.status) | u32::from(self.tag) << 16,
        ];
        for word in words.into_iter().chain(more).chain([self.found_rows, self.expiry.0, self.refresh.0]) {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    #[inline]
    fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Self {
            valid_from: Position::new(long(0)),
            rows: word(8),
            prefix: PrefixNumber::new(word(12)),
            fences_raised: long(16),
            ends_asked: long(24),
            environment: word(32),
            deps: word(36),
            text_len: word(40),
            body_len: word(44),
            large: word(48),
            status_at: [word(52), word(56)],
            cost_us: word(60),
            status: word(64) as u16,
            tag: (word(64) >> 16) as u16,
            found_rows: word(Self::FOUND_ROWS_AT),
            expiry: Expiry(word(72)),
            refresh: Expiry(word(Self::REFRESH_AT)),
        }
    }
}

/// Returns the most bytes of memory that an entry for this result takes, its slot in the index apart: in blocks, and in a large body.
pub(crate) const fn charge_for(key: Key<'_>, fill: &Fill) -> (usize, usize) {
    (charge_without(0, key, fill), large::charge_for(fill.body.len()))
}

pub(crate) const fn is_large(fill: &Fill) -> bool {
    fill.body.len() >= LARGE_MIN
}

/// Returns the prefix that a result shares with others; `None` if the entry would take no block less without it.
pub(crate) fn prefix_of<'a>(key: Key<'a>, fill: &'a Fill) -> Option<Prefix<'a>> {
    let prefix = Prefix { text: key.text.get(..fill.text_prefix)?, body: fill.body.get(..fill.body_prefix)? };
    let is_shorter = charge_without(prefix.len(), key, fill) < charge_without(0, key, fill);
    if is_shorter && !is_large(fill) { Some(prefix) } else { None }
}

/// Returns the bytes that an entry takes in blocks if so many of its bytes are in a prefix.
pub(crate) const fn charge_without(bytes: usize, key: Key<'_>, fill: &Fill) -> usize {
    let body = if is_large(fill) { 0 } else { fill.body.len() };
    let all = Header::BYTES
        .saturating_add(fill.deps.len().saturating_mul(DEP_BYTES))
        .saturating_add(key.text.len())
        .saturating_add(body);
    blocks_for(all.saturating_sub(bytes)).saturating_mul(BLOCK_CHARGE)
}

/// Returns header and dependencies of a new entry, as they will lie in memory. The lengths in the header are those without the prefix.
pub(crate) fn front(
    new: &NewEntry<'_>,
    large: u32,
    prefix: Option<PrefixNumber>,
    without: Prefix<'_>,
) -> Vec<u8> {
    let NewEntry { key, fill, fences_raised, ends_asked, .. } = *new;
    let header = Header {
        valid_from: fill.valid_from,
        rows: u32::try_from(fill.rows).unwrap_or(u32::MAX),
        prefix,
        environment: key.environment,
        deps: fill.deps.len() as u32,
        text_len: (key.text.len() - without.text.len()) as u32,
        body_len: if is_large(fill) { 0 } else { (fill.body.len() - without.body.len()) as u32 },
        large,
        status_at: fill.status_at,
        cost_us: fill.cost_us,
        status: fill.status,
        tag: fill.tag,
        fences_raised,
        ends_asked,
        found_rows: NOT_FOUND,
        expiry: Expiry::at(fill.expires_ms),
        refresh: Expiry::at(fill.refresh_ms),
    };
    let mut front = Vec::with_capacity(Header::BYTES + fill.deps.len() * DEP_BYTES);
    header.encode(&mut front);
    for dep in &fill.deps {
        front.extend_from_slice(&dep.index().to_le_bytes());
    }
    front
}

/// A result on its way into a shard.
pub(crate) struct NewEntry<'a> {
    pub(crate) hash: u64,
    pub(crate) key: Key<'a>,
    pub(crate) fill: &'a Fill,
    /// The body, if it is kept apart.
    pub(crate) large: Option<Arc<Large>>,
    /// The bytes that the entry takes in blocks without a prefix. The shard takes over this charge when it stores the entry.
    pub(crate) charge: usize,
    /// The prefix that the entry shares with others, and its hash, if a prefix is worth it.
    pub(crate) prefix: Option<(u64, Prefix<'a>)>,
    /// See [`crate::Entry::fences_raised`].
    pub(crate) fences_raised: u64,
    /// See [`crate::Entry::ends_asked`].
    pub(crate) ends_asked: u64,
}

impl NewEntry<'_> {
    /// Returns the charge in blocks, large body included, of an entry that takes so many bytes in blocks.
    pub(crate) fn blocks(&self, charge: usize) -> u32 {
        let large = self.large.as_ref().map_or(0, |large| large.charge());
        u32::try_from((charge + large).div_ceil(BLOCK_CHARGE)).unwrap_or(u32::MAX)
    }
}

/// A stored entry.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    arena: &'a Arena,
    head: u32,
    /// The bytes of the first block.
    front: &'a [u8],
    header: Header,
    /// None never, as long as entries and prefixes are counted right; such an entry is nobody's.
    prefix: Option<Prefix<'a>>,
}

impl<'a> Stored<'a> {
    /// Returns the entry that begins with this block. `None` only if there is no such entry.
    #[inline]
    pub(crate) fn at(arena: &'a Arena, prefixes: &'a Prefixes, head: u32) -> Option<Self> {
        let front = arena.head(head);
        let header = Header::decode(front.first_chunk()?);
        Some(Self { arena, head, front, header, prefix: prefixes.get(header.prefix) })
    }

    #[inline]
    fn prefix(&self) -> Prefix<'a> {
        self.prefix.unwrap_or_default()
    }

    #[inline]
    pub(crate) const fn header(&self) -> &Header {
        &self.header
    }

    #[inline]
    pub(crate) fn is_for(&self, key: Key<'_>) -> bool {
        let Some(own) = self.prefix.and_then(|prefix| key.text.strip_prefix(prefix.text)) else {
            return false;
        };
        let (from, len) = (self.header.before_text(), own.len());
        self.header.environment == key.environment
            && self.header.text_len as usize == len
            && self
                .front
                .get(from..from + len)
                .map_or_else(|| is_equal(self.read(from, len), own), |text| text == own)
    }

    /// Returns the dependencies in pieces, nearly always one. Each piece is a plain array.
    #[inline]
    pub(crate) fn deps(&self) -> impl Iterator<Item: Iterator<Item = Dep>> + Clone + use<'a> {
        let (from, len) = (Header::BYTES, self.header.deps as usize * DEP_BYTES);
        let (first, others) = match self.front.get(from..from + len) {
            Some(deps) => (deps, self.read(0, 0)),
            None => (&[][..], self.read(from, len)),
        };
        let dep = |bytes: &[u8; DEP_BYTES]| Dep(u32::from_le_bytes(*bytes));
        // No dependency straddles two blocks.
        iter::once(first).chain(others).map(move |piece| piece.as_chunks().0.iter().map(dep))
    }

    /// Returns the text of its key.
    pub(crate) fn text(&self) -> Vec<u8> {
        let own = self.read(self.header.before_text(), self.header.text_len as usize);
        iter::once(self.prefix().text).chain(own).collect::<Vec<_>>().concat()
    }

    /// Returns the length of the key's text, in bytes.
    pub(crate) fn text_len(&self) -> usize {
        self.prefix().text.len() + self.header.text_len as usize
    }

    /// Returns the body, if it is not kept apart.
    #[inline]
    pub(crate) fn body(&self) -> Body<'a> {
        let own = self.read(self.header.before_body(), self.header.body_len as usize);
        Body::in_blocks(self.prefix().body, own)
    }

    #[inline]
    fn read(&self, from: usize, len: usize) -> Pieces<'a> {
        self.arena.read(self.head, from, len)
    }
}

fn is_equal(pieces: Pieces<'_>, mut bytes: &[u8]) -> bool {
    for piece in pieces {
        match bytes.split_at_checked(piece.len()) {
            Some((same, rest)) if same == piece => bytes = rest,
            _ => return false,
        }
    }
    bytes.is_empty()
}

/// The bytes of a stored dependency.
const DEP_BYTES: usize = size_of::<u32>();
