//! The slots: the stamps of single rows, for any number of rows in a table that does not grow.
//!
//! A row has a *bucket*, which is one cache line, and a *tag* in it. A bucket knows exactly the seven rows that changed last. Of all
//! others it knows only the *floor*: none of them changed later than that. So recent changes are told apart exactly. Forgotten changes
//! make some entries look changed that are not, and never the other way round.
//!
//! ```text
//! head        newest:51 fences:13   of two buckets, apart from them
//! word 0      floor
//! words 1..8  tag:13    position:51     0: free; no tag is 0
//! ```
//!
//! Positions are relative to the *base*, the beginning of the present generation of the stream. When a generation begins, everything is
//! stamped, so nothing at or below the base needs remembering.
//!
//! # Heads
//!
//! Nearly all checks ask one thing of a bucket: whether any row in it was stamped after the result was read. So the newest stamp stands
//! apart, beside the fences. Only if the newest stamp is too new does a reader go to the bucket, to see which row has it. So a reader
//! looks at one word for a row and not at eight, of 1 MiB and not of 16.
//!
//! Two buckets share a head. Measurements decided this: with a head for each bucket (2 MiB) a check of 12 rows added 95 to 210 ns to a
//! hit, with 1 MiB 20 to 125 ns, and with 256 KiB 15 to 95 ns, on a processor with 2 MiB of cache to a core. The more buckets share a
//! head, the more often a change leads a reader to the bucket for nothing, and the more entries a fence refuses.
//!
//! # Writing a stamp
//!
//! Under one lock, because the applier writes nearly all stamps. The head is raised. A row that the bucket knows is raised in place. A
//! new row takes a free word. If there is none, the least of all eight stamps, the new one among them, goes to the floor: *first the
//! floor is raised to it, then its word is overwritten*. A word never moves, and no word is ever below the floor, so a word that is found
//! need not be compared with the floor. Two rows of one tag share a word, which has the later stamp.
//!
//! # Why a reader never misses a stamp
//!
//! A reader takes no lock. Let the stamp of its row at `p` happen before its first load. The head never sinks, so its load (Acquire)
//! finds `p` or more. If the head is not after the position that the reader asks about, neither is `p`, and the reader is done.
//!
//! Otherwise the reader loads the seven words (Acquire), and if none has its tag, the floor (Acquire). When the stamp was set, some word
//! of its tag held `p` or more, or the floor had passed `p`. If the floor had passed it: the floor never sinks, and no word below it is
//! written. If word `i` held it, then by coherence the load of word `i` finds that store or a later one:
//!
//! * A later store with this tag was raised in place, or came when the floor was `>= p` already: it is above `p`.
//! * A store with another tag was written (Release) after the floor was raised to the old value of the word, `>= p`. Loading the word
//!   (Acquire) lets the load of the floor, *which comes later*, find that. If the floor were loaded first, or written last, a reader
//!   could find neither: `tests` runs every interleaving of these steps, in this order and in the others.
//!
//! The reader may miss stamps that are set while it looks. It need not find them: the check counts as one point in time, its beginning
//! ([`crate::freshness`]). So it does not matter in which order head and bucket are written.
//!
//! # A new generation
//!
//! *First the base is moved to the new beginning `G`, then all heads, words and floors are cleared*, under the lock. A reader loads *the
//! base last*, after the head, and again after the bucket if it goes there, and adds the base to the stamp that it found.
//!
//! If a loaded value was left by the clearing or by the new generation (all stored with Release), the reader sees the new base, and so a
//! stamp of `G` or later. That is never too little: no stamp before `G` is later than `G`. If all loaded values are from the last
//! generation, the reader adds that generation's base or a later one. That may be too much, and is harmless: until the clearing is done
//! `applied < G`, so every `valid_from` that is compared is from before `G`, and everything is stamped with `G`.
//!
//! # Fences
//!
//! A head has one count for all its rows: a fence refuses all rows that share the head, for as long as the write takes. With 128 Ki heads
//! this is seldom. The count and the newest stamp share a word. Both are changed by read-modify-writes alone, so neither loses the
//! other's change, and the release sequences of both go on (`cells` says why that matters). The count has a bound. A caller that would
//! pass it is told, and fences everything instead.
//!
//! # Size and precision
//!
//! The slots take 17 MiB of addresses, whose pages are taken only as stamps and fences are set: none where no row is watched, all after
//! some ten thousand changes. The table counts rows that did *not* change: how many of them look changed to an entry that was stored before
//! so many different other rows changed, each once (`tests::precision`):
//!
//! | rows changed since | 100,000 | 500,000 | 1,000,000 | 1,500,000 | 2,000,000 | 4,000,000 |
//! |---|---|---|---|---|---|---|
//! | look changed | 0.01 % | 0.1 % | 4 % | 22 % | 50 % | 98 % |
//!
//! # Cost
//!
//! This is what dependencies on rows add to a hit on 200 bytes, in nanoseconds (`examples/hit_cost.rs` with `rows`). Others used the two
//! cores meanwhile, so the columns for two threads tell little where keys are spread. "Spread" means over 20,000 entries: each head is
//! then a cache line that is seldom near. A check waits for all heads at once, because it looks at their fences first:
//!
//! | | one key, 1 thread | one key, 2 | spread, 1 | spread, 2 |
//! |---|---|---|---|---|
//! | 1 row | 1 to 2 | 5 to 14 | 4 to 58 | 0 to 32 |
//! | 4 rows | 13 to 16 | 27 to 129 | 47 to 90 | 11 to 56 |
//! | 12 rows | 22 to 32 | 46 to 81 | 21 to 124, mostly 70 to 95 | 21 to 216 |
//! | 24 rows | 78 to 80 | 127 to 142 | 179 to 250 | 177 to 181 |
//!
//! If more rows changed around an entry than it depends on, a hit costs more: for each row whose head tells of a later change, the bucket
//! is looked at as well.

use crate::Position;
use crate::dep::{BUCKET_BITS, Slot, TAG_BITS};
use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use zerocopy::FromZeros;

const POSITION_BITS: u32 = u64::BITS - TAG_BITS;
/// The greatest relative position that a word can hold.
const POSITION_MAX: u64 = (1 << POSITION_BITS) - 1;
const FENCE_BITS: u32 = u64::BITS - POSITION_BITS;
/// The most fences that can stand on one head; also the mask of the bits that count them.
const FENCES_MAX: u64 = (1 << FENCE_BITS) - 1;
/// The words of a bucket: the floor, and seven stamps.
const WORDS: usize = 8;
/// How many neighbours share a head.
const BUCKETS_PER_HEAD: usize = 2;
const LINE_BYTES: usize = WORDS * size_of::<u64>();

type Bucket = [AtomicU64; WORDS];

pub(crate) struct Slots {
    heads: Box<[AtomicU64]>,
    /// Whole buckets from `start` on: the first cache line begins there.
    words: Box<[AtomicU64]>,
    start: usize,
    buckets: usize,
    base: AtomicU64,
    writing: Mutex<()>,
}

/// A position is too great for a word, or a count of fences is full: the caller has to stamp or fence everything.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Widen;

impl Slots {
    /// The bytes of addresses that all buckets and heads take. Memory is taken as they are written.
    pub(crate) const BYTES: usize =
        (1 << BUCKET_BITS) * (LINE_BYTES + size_of::<AtomicU64>() / BUCKETS_PER_HEAD);

    /// Returns a table of two to the power of so many buckets, up to the number that a [`Slot`] can name.
    pub(crate) fn new(bucket_bits: u32) -> Self {
        let buckets = 1_usize << bucket_bits.min(BUCKET_BITS);
        let heads = zeros(buckets.div_ceil(BUCKETS_PER_HEAD));
        let words = zeros((buckets + 1) * WORDS);
        let start = words.as_ptr().align_offset(LINE_BYTES).min(WORDS);
        Self { heads, words, start, buckets, base: AtomicU64::new(0), writing: Mutex::default() }
    }

    /// Returns the place of a slot's bucket. There is one for every slot: a slot that was made for a larger table shares a bucket.
    #[inline]
    fn place(&self, slot: Slot) -> usize {
        slot.bucket as usize & (self.buckets - 1)
    }

    #[inline]
    fn head(&self, slot: Slot) -> &AtomicU64 {
        &self.heads[self.place(slot) / BUCKETS_PER_HEAD]
    }

    fn buckets(&self) -> &[Bucket] {
        self.words[self.start..].as_chunks().0
    }

    fn bucket(&self, slot: Slot) -> &Bucket {
        &self.buckets()[self.place(slot)]
    }

    /// Whether [`Self::stamp`] is after this. Loads the head, then the base; the bucket only if these do not say no.
    #[inline]
    pub(crate) fn is_stamped_after(&self, slot: Slot, than: Position) -> bool {
        let newest = self.head(slot).load(Ordering::Acquire) >> FENCE_BITS;
        self.told(newest) > than && self.stamp(slot) > than
    }

    /// Returns the position of a relative one that was loaded before.
    #[inline]
    fn told(&self, relative: u64) -> Position {
        Position::new(self.base.load(Ordering::Acquire) + relative)
    }

    /// Returns a position that is at least the last stamp of this slot, and at least the base. Loads the words, then the floor, then the
    /// base.
    pub(crate) fn stamp(&self, slot: Slot) -> Position {
        let bucket = self.bucket(slot);
        self.told(newest(|word| bucket[word].load(Ordering::Acquire), slot.tag))
    }

    /// # Errors
    /// When the position is too far above the base to be told here.
    pub(crate) fn raise_stamp(&self, slot: Slot, at: Position) -> Result<(), Widen> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let base = self.base.load(Ordering::Relaxed);
        let at = at.get().saturating_sub(base);
        if at > POSITION_MAX {
            return Err(Widen);
        }
        let head = self.head(slot);
        let newest = head.load(Ordering::Relaxed) >> FENCE_BITS;
        if at > newest {
            head.fetch_add((at - newest) << FENCE_BITS, Ordering::Release);
        }
        let bucket = self.bucket(slot);
        let change = Change::plan(array::from_fn(|word| bucket[word].load(Ordering::Relaxed)), slot.tag, at);
        for (word, value) in [change.floor.map(|floor| (0, floor)), change.write].into_iter().flatten() {
            bucket[word].store(value, Ordering::Release);
        }
        Ok(())
    }

    /// Moves the base, then forgets all stamps. Fences stay.
    pub(crate) fn restart(&self, at: Position) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if at.get() <= self.base.load(Ordering::Relaxed) {
            return;
        }
        self.base.store(at.get(), Ordering::Release);
        // A word that was never written is only read, so that it still takes no memory.
        for head in self.heads.iter().filter(|head| head.load(Ordering::Relaxed) > FENCES_MAX) {
            head.fetch_and(FENCES_MAX, Ordering::Release);
        }
        for word in self.words.iter().filter(|word| word.load(Ordering::Relaxed) != 0) {
            word.store(0, Ordering::Release);
        }
    }

    /// Whether a fence stands on the slot's head. Acquire, as for [`crate::cells`].
    #[inline]
    pub(crate) fn is_fenced(&self, slot: Slot) -> bool {
        self.head(slot).load(Ordering::Acquire) & FENCES_MAX != 0
    }

    /// # Errors
    /// When the head has as many as it can count.
    pub(crate) fn raise_fence(&self, slot: Slot) -> Result<(), Widen> {
        let more = |head: u64| (head & FENCES_MAX < FENCES_MAX).then(|| head + 1);
        let raised = self.head(slot).fetch_update(Ordering::SeqCst, Ordering::Relaxed, more);
        raised.map(|_| ()).map_err(|_| Widen)
    }

    /// Lifts a fence. Release, as for [`crate::cells`].
    pub(crate) fn lift_fence(&self, slot: Slot) {
        self.head(slot).fetch_sub(1, Ordering::Release);
    }
}

/// Returns zeros. Fresh memory from the system is zero already. If the system has no memory, this ends the process, as every allocation
/// does.
fn zeros(len: usize) -> Box<[AtomicU64]> {
    let zeros = <[AtomicU64]>::new_box_zeroed_with_elems(len);
    zeros.unwrap_or_else(|_| (0..len).map(|_| AtomicU64::default()).collect())
}

/// Does the reading half: loads the words and then, if needed, the floor. It loads all words, because seven comparisons cost less than
/// not to know how many. A word without the tag is a position, or a number greater than any position. A reader that meets its tag twice,
/// while the row moves from one word to another, may take either.
#[inline]
fn newest(load: impl Fn(usize) -> u64, tag: u16) -> u64 {
    let tag = u64::from(tag) << POSITION_BITS;
    let mut found = u64::MAX;
    for word in 1..WORDS {
        found = found.min(load(word) ^ tag);
    }
    if found > POSITION_MAX { load(0) } else { found }
}

/// Returns the position in this word; 0 if the word is free or another tag's.
fn position_of(word: u64, tag: u16) -> u64 {
    if word >> POSITION_BITS == u64::from(tag) { word & POSITION_MAX } else { 0 }
}

/// The writing half: the changes of a bucket for one stamp, in the order in which they have to be done.
#[derive(Debug, Default, PartialEq, Eq)]
struct Change {
    /// The new value of the floor.
    floor: Option<u64>,
    /// The word that is overwritten, and its new value.
    write: Option<(usize, u64)>,
}

impl Change {
    /// For a stamp at this position, relative to the base.
    fn plan(bucket: [u64; WORDS], tag: u16, at: u64) -> Self {
        let floor = bucket[0];
        let known = (1..WORDS).find(|word| position_of(bucket[*word], tag) != 0);
        // A free word counts as the least of all.
        let least = (1..WORDS).min_by_key(|word| bucket[*word] & POSITION_MAX).unwrap_or(1);
        let (word, position) = known.map_or_else(
            || (least, bucket[least] & POSITION_MAX),
            |word| (word, bucket[word] & POSITION_MAX),
        );
        let write = Some((word, u64::from(tag) << POSITION_BITS | at));
        if at <= floor || (known.is_some() && at <= position) {
            Self::default()
        } else if known.is_some() || position == 0 {
            Self { floor: None, write }
        } else if at <= position {
            Self { floor: Some(at), write: None }
        } else {
            Self { floor: Some(position), write }
        }
    }
}

#[cfg(test)]
mod tests;
