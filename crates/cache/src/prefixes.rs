//! Prefixes that the entries of one statement's form share, stored once in a shard: the text up to its first value, and the definitions
//! of the answer's columns.
//!
//! An entry holds its prefix by number, and the last entry that lets go of it frees it. The shard's lock protects all prefixes. Each
//! shard has its own. A form with few results in a shard takes as much memory as without prefixes; a form with many results takes little
//! more than its rows.
//!
//! A prefix is stored when it is met for the second time, so that a form that is met once pays nothing. An entry uses a prefix only if
//! that saves a block, because a hit reads one more line of memory for it.

use crate::budget::{Budget, allocated};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// How many hashes of met prefixes are remembered, in a table that forgets by overwriting.
const MET: usize = 32;
/// The bytes that a prefix takes beside its own: its place in the list, and in the tree.
const OVERHEAD: usize = 128;

/// The beginnings of a key's text and of a body.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Prefix<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) body: &'a [u8],
}

impl Prefix<'_> {
    pub(crate) const fn len(&self) -> usize {
        self.text.len() + self.body.len()
    }

    /// Returns the bytes that are charged for this prefix.
    fn charge(&self) -> usize {
        allocated(self.len()) + OVERHEAD
    }
}

/// The number of a prefix within its shard.
pub(crate) type PrefixNumber = NonZeroU32;

struct Held {
    hash: u64,
    /// The beginning of the text, and behind it the beginning of the body.
    bytes: Box<[u8]>,
    text_len: usize,
    /// How many entries hold the prefix.
    holders: u32,
}

impl Held {
    fn prefix(&self) -> Prefix<'_> {
        let (text, body) = self.bytes.split_at(self.text_len);
        Prefix { text, body }
    }
}

/// Invariants: a number is in `numbers` iff its place in `held` is taken, and in `free` iff that place is empty; each held prefix has a
/// holder.
#[derive(Default)]
pub(crate) struct Prefixes {
    held: Vec<Option<Held>>,
    free: Vec<u32>,
    numbers: BTreeMap<u64, u32>,
    met: [u32; MET],
    charge: usize,
}

impl Prefixes {
    /// Returns the bytes that are charged for all prefixes.
    pub(crate) const fn charge(&self) -> usize {
        self.charge
    }

    /// Returns the prefix with this number; an empty prefix where there is no number. `None` if there is no such prefix, which never is
    /// so while an entry holds the number.
    #[inline]
    pub(crate) fn get(&self, number: Option<PrefixNumber>) -> Option<Prefix<'_>> {
        match number {
            None => Some(Prefix::default()),
            Some(number) => self.held(number).map(Held::prefix),
        }
    }

    #[inline]
    fn held(&self, number: PrefixNumber) -> Option<&Held> {
        self.held.get(number.get() as usize - 1)?.as_ref()
    }

    /// Adds a holder to this prefix, which has this hash. `None` if it is not stored: it was not met recently, another prefix has the same
    /// hash, or the budget has no room for it. `saved` is the number of bytes that are reserved for the entry and not needed: a new
    /// prefix uses these first.
    pub(crate) fn hold(
        &mut self,
        hash: u64,
        prefix: Prefix<'_>,
        saved: &mut usize,
        budget: &Budget,
    ) -> Option<PrefixNumber> {
        let number = match self.numbers.get(&hash) {
            Some(number) => *number,
            None => self.add(hash, prefix, saved, budget)?,
        };
        let held = self.held.get_mut(number as usize)?.as_mut()?;
        if held.prefix() != prefix {
            return None;
        }
        held.holders += 1;
        PrefixNumber::new(number + 1)
    }

    /// Removes a holder. The last one frees the prefix.
    pub(crate) fn let_go(&mut self, number: Option<PrefixNumber>, budget: &Budget) {
        let Some(at) = number.map(|number| number.get() - 1) else { return };
        let Some(place) = self.held.get_mut(at as usize) else { return };
        let Some(held) = place.as_mut() else { return };
        held.holders -= 1;
        if held.holders > 0 {
            return;
        }
        let (hash, charge) = (held.hash, held.prefix().charge());
        *place = None;
        self.numbers.remove(&hash);
        self.free.push(at);
        self.charge -= charge;
        budget.release(charge);
    }

    /// Stores a prefix that nobody holds yet. `None` if it was not met before, or the budget has no room for it.
    fn add(&mut self, hash: u64, prefix: Prefix<'_>, saved: &mut usize, budget: &Budget) -> Option<u32> {
        let (place, met) = (hash as usize % MET, (hash >> u32::BITS) as u32 | 1);
        if std::mem::replace(&mut self.met[place], met) != met {
            return None;
        }
        let charge = prefix.charge();
        let of_saved = charge.min(*saved);
        if !budget.reserve(charge - of_saved) {
            return None;
        }
        *saved -= of_saved;
        let held = Held {
            hash,
            bytes: [prefix.text, prefix.body].concat().into(),
            text_len: prefix.text.len(),
            holders: 0,
        };
        self.charge += charge;
        let number = self.free.pop().unwrap_or(self.held.len() as u32);
        match self.held.get_mut(number as usize) {
            Some(place) => *place = Some(held),
            None => self.held.push(Some(held)),
        }
        self.numbers.insert(hash, number);
        Some(number)
    }

    /// Checks the invariants, given the numbers that entries hold.
    #[cfg(test)]
    pub(crate) fn audit(&self, holding: impl Iterator<Item = PrefixNumber>) {
        let mut holders = BTreeMap::<usize, u32>::new();
        holding.for_each(|number| *holders.entry(number.get() as usize - 1).or_default() += 1);
        let held = || self.held.iter().enumerate().filter_map(|(at, held)| Some((at, held.as_ref()?)));
        assert!(held().map(|(at, held)| (at, held.holders)).eq(holders), "each is held as often as it says");
        assert!(held().all(|(at, held)| self.numbers.get(&held.hash) == Some(&(at as u32))));
        assert_eq!(
            (self.numbers.len() + self.free.len(), held().count()),
            (self.held.len(), self.numbers.len())
        );
        assert_eq!(held().map(|(_, held)| held.prefix().charge()).sum::<usize>(), self.charge);
    }
}

#[cfg(test)]
mod tests;
