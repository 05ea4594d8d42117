//! An entry as it lies in memory, and the only way to let go of one.

use crate::budget::{Budget, allocated};
use crate::{Dep, Entry, Fill, Key, Position};
use std::sync::Arc;

/// Dependencies are nearly always few; then a hit finds them without another cache miss.
const INLINE_DEPS: usize = 6;

enum Deps {
    Few { len: u8, deps: [Dep; INLINE_DEPS] },
    Many(Box<[Dep]>),
}

impl Deps {
    fn new(deps: &[Dep]) -> Self {
        if deps.len() > INLINE_DEPS {
            return Self::Many(deps.into());
        }
        let mut few = [Dep::EVERYTHING; INLINE_DEPS];
        few[..deps.len()].copy_from_slice(deps);
        Self::Few { len: deps.len() as u8, deps: few }
    }

    fn as_slice(&self) -> &[Dep] {
        match self {
            Self::Few { len, deps } => &deps[..usize::from(*len)],
            Self::Many(deps) => deps,
        }
    }

    const fn allocated(count: usize) -> usize {
        if count > INLINE_DEPS { allocated(count * size_of::<Dep>()) } else { 0 }
    }
}

/// One entry: immutable from its birth. Key text and body lie in one allocation.
pub(crate) struct Stored {
    bytes: Box<[u8]>,
    deps: Deps,
    valid_from: Position,
    rows: u64,
    environment: u32,
    text_len: u32,
    status_at: [u32; 2],
    cost_us: u32,
    status: u16,
    charge: usize,
    budget: Arc<Budget>,
}

/// The two counters that an `Arc` puts in front of its content.
const ARC_HEADER: usize = 2 * size_of::<usize>();

impl Stored {
    /// All memory that an entry for this will take, in bytes, its slot in the index apart.
    pub(crate) const fn charge_for(key: Key<'_>, fill: &Fill) -> usize {
        allocated(ARC_HEADER + size_of::<Self>())
            + allocated(key.text.len().saturating_add(fill.body.len()))
            + Deps::allocated(fill.deps.len())
    }

    fn new(key: Key<'_>, fill: &Fill, charge: usize, budget: Arc<Budget>) -> Self {
        let mut bytes = Vec::with_capacity(key.text.len() + fill.body.len());
        bytes.extend_from_slice(key.text);
        bytes.extend_from_slice(&fill.body);
        Self {
            bytes: bytes.into_boxed_slice(),
            deps: Deps::new(&fill.deps),
            valid_from: fill.valid_from,
            rows: fill.rows,
            environment: key.environment,
            text_len: key.text.len() as u32,
            status_at: fill.status_at,
            cost_us: fill.cost_us,
            status: fill.status,
            charge,
            budget,
        }
    }

    pub(crate) fn is_for(&self, key: Key<'_>) -> bool {
        self.environment == key.environment && self.text() == key.text
    }

    pub(crate) fn deps(&self) -> &[Dep] {
        self.deps.as_slice()
    }

    pub(crate) const fn valid_from(&self) -> Position {
        self.valid_from
    }

    pub(crate) const fn charge(&self) -> usize {
        self.charge
    }

    pub(crate) const fn cost_us(&self) -> u32 {
        self.cost_us
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.text_len as usize]
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[self.text_len as usize..]
    }

    pub(crate) fn view(&self) -> Entry<'_> {
        Entry {
            valid_from: self.valid_from,
            deps: self.deps(),
            body: self.body(),
            status_at: self.status_at,
            status: self.status,
            rows: self.rows,
            cost_us: self.cost_us,
        }
    }
}

/// A counted reference to an entry. The last one to go frees the memory and *then* releases its bytes, so an
/// entry that was evicted while a hit copies it still counts.
pub(crate) struct Held(Option<Arc<Stored>>);

impl Held {
    /// Takes over `charge` bytes that were reserved from `budget`.
    pub(crate) fn new(key: Key<'_>, fill: &Fill, charge: usize, budget: &Arc<Budget>) -> Self {
        Self(Some(Arc::new(Stored::new(key, fill, charge, Arc::clone(budget)))))
    }

    pub(crate) fn share(&self) -> Self {
        Self(self.0.clone())
    }

    /// `None` only while it is being dropped.
    pub(crate) fn get(&self) -> Option<&Stored> {
        self.0.as_deref()
    }

    pub(crate) fn charge(&self) -> usize {
        self.get().map_or(0, Stored::charge)
    }

    pub(crate) fn is_for(&self, key: Key<'_>) -> bool {
        self.get().is_some_and(|stored| stored.is_for(key))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(last) = self.0.take().and_then(Arc::into_inner) {
            let (charge, budget) = (last.charge, Arc::clone(&last.budget));
            drop(last);
            budget.release(charge);
        }
    }
}
