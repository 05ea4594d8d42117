//! How many lookups caches of other sizes would answer: small models of these caches, fed with a sample of the lookups.
//!
//! A hash chooses the keys that are sampled (Waldspurger and others, "Cache Modeling and Optimization using Miniature Simulations",
//! USENIX ATC 2017). A model that sees one key in 16, and has room for one byte in 16, answers about the same share of lookups as the
//! whole cache would. The models evict by the same policy as the store ([`Model`]), and see results that changed and are asked for anew.
//!
//! A lookup of a key that is not sampled costs one multiplication and one load of a line that is only read.

mod model;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use crossbeam_utils::CachePadded;
use model::Model;

/// The sizes that are modelled, as powers of two of the size that the cache has.
const SIZES_LOG2: std::ops::RangeInclusive<i32> = -4..=4;
/// At first one key in two to the power of this is sampled. The rate is halved whenever the largest model has more entries than
/// `ENTRIES_MAX`.
const RATE_LOG2_MIN: u32 = 4;
const ENTRIES_MAX: usize = 2048;
/// The first sampled lookups fill the models, and are not counted: this many.
const WARM_AFTER: u64 = 1 << 10;
/// A model that has room for fewer results than this gives no point of the curve.
const ROOM_MIN: u64 = 16;
/// After this many sampled lookups all counts are halved, so that the curve follows a change of the load.
const HALVED_AFTER: u64 = 1 << 12;
/// The size that a result is taken to have as long as no size is known, in bytes.
const BYTES_UNKNOWN: u32 = 512;

/// One size of a cache, and the share of lookups that such a cache answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// In bytes.
    pub size: u64,
    /// From 0 to 1.
    pub hits: f64,
}

/// The outcome of a lookup, as far as it matters to a cache of another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sampled {
    /// A hit, with the bytes of its result.
    Hit(u32),
    /// The result was not there.
    Miss,
    /// The result was there, and had changed.
    Stale,
}

#[derive(Default)]
pub(crate) struct Curve {
    /// By how many powers of two the rate is lower than that of [`RATE_LOG2_MIN`].
    rarer_log2: AtomicU32,
    /// On cache lines of its own, apart from the fields that all lookups read.
    models: CachePadded<Mutex<Models>>,
}

#[derive(Default)]
struct Models {
    /// The size of the cache for which the models are made.
    size: usize,
    models: Vec<(i32, Model)>,
    /// How many lookups have filled the models before any counted.
    warming: u64,
    lookups: u64,
    /// The lookups that the cache itself has answered.
    answered: u64,
    /// The mean size of the sampled results.
    mean: u32,
}

/// Mixes a hash: the result rests on bits that choose neither shard nor place.
const fn mixed(hash: u64) -> u32 {
    (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

impl Curve {
    #[inline]
    pub(crate) fn samples(&self, hash: u64) -> bool {
        is_sampled(hash, RATE_LOG2_MIN + self.rarer_log2.load(Ordering::Relaxed))
    }

    /// Notes that a key was looked up in a cache of this size.
    #[inline]
    pub(crate) fn note(&self, hash: u64, size: impl FnOnce() -> usize, what: Sampled) {
        if self.samples(hash) {
            self.note_sampled(hash, what, size());
        }
    }

    /// Notes that a sampled result was stored, and the bytes that it takes.
    pub(crate) fn note_bytes(&self, hash: u64, bytes: u32) {
        self.with(|models| models.note_bytes(hash, bytes));
    }

    #[cold]
    fn note_sampled(&self, hash: u64, what: Sampled, size: usize) {
        if size == 0 {
            return;
        }
        self.with(|models| {
            if models.size != size {
                self.rarer_log2.store(0, Ordering::Relaxed);
            }
            let rate_log2 = RATE_LOG2_MIN + self.rarer_log2.load(Ordering::Relaxed);
            models.fit(size, rate_log2);
            if models.note(hash, what) > ENTRIES_MAX {
                self.rarer_log2.fetch_add(1, Ordering::Relaxed);
                models.thin_out(rate_log2 + 1);
            }
        });
    }

    /// Runs `f` on the models, without waiting: where another thread notes something at the same moment, this lookup is not sampled.
    fn with(&self, f: impl FnOnce(&mut Models)) {
        match self.models.try_lock() {
            Ok(mut models) => f(&mut models),
            Err(TryLockError::Poisoned(poisoned)) => f(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// Returns how many lookups the curve rests on, and its points by their sizes.
    pub(crate) fn points(&self) -> (u64, Vec<CurvePoint>) {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        (models.lookups, models.points())
    }
}

const fn is_sampled(hash: u64, rate_log2: u32) -> bool {
    mixed(hash).leading_zeros() >= rate_log2
}

impl Models {
    /// Begins anew if the cache has another size than before.
    fn fit(&mut self, size: usize, rate_log2: u32) {
        if self.size == size {
            return;
        }
        let model = |log2| (log2, Model::new(scaled(size, log2 - rate_log2.cast_signed())));
        *self = Self { size, models: SIZES_LOG2.map(model).collect(), ..Self::default() };
    }

    /// Notes a lookup. Returns how many results the largest model has now.
    fn note(&mut self, hash: u64, what: Sampled) -> usize {
        if self.warming < WARM_AFTER {
            self.warming += 1;
            (self.lookups, self.answered) = (0, 0);
            self.models.iter_mut().for_each(|(_, model)| model.hits = 0);
        }
        if self.lookups >= HALVED_AFTER {
            self.lookups /= 2;
            self.answered /= 2;
            self.models.iter_mut().for_each(|(_, model)| model.hits /= 2);
        }
        self.lookups += 1;
        if let Sampled::Hit(bytes) = what {
            self.answered += 1;
            self.note_mean(bytes);
        }
        let bytes = match what {
            Sampled::Hit(bytes) => bytes,
            Sampled::Miss | Sampled::Stale if self.mean > 0 => self.mean,
            Sampled::Miss | Sampled::Stale => BYTES_UNKNOWN,
        };
        for (_, model) in &mut self.models {
            if what == Sampled::Stale {
                model.end(hash);
            }
            model.look_up(hash, bytes);
        }
        self.models.last().map_or(0, |(_, model)| model.len())
    }

    fn note_bytes(&mut self, hash: u64, bytes: u32) {
        self.note_mean(bytes);
        self.models.iter_mut().for_each(|(_, model)| model.resize(hash, bytes));
    }

    fn note_mean(&mut self, bytes: u32) {
        let mean = u64::from(if self.mean == 0 { bytes } else { self.mean });
        self.mean = u32::try_from((mean * 63 + u64::from(bytes)).div_ceil(64)).unwrap_or(u32::MAX);
    }

    /// Halves the sample: half of the keys are not sampled any more.
    fn thin_out(&mut self, rate_log2: u32) {
        let size = self.size;
        for (log2, model) in &mut self.models {
            model.thin_out(scaled(size, *log2 - rate_log2.cast_signed()), |hash| is_sampled(hash, rate_log2));
        }
    }

    /// Returns the points. The models are corrected by their error at the cache's own size, where the cache's own hits are known.
    fn points(&self) -> Vec<CurvePoint> {
        let room = |model: &Model| model.bytes_max() / u64::from(self.mean.max(1));
        let has_room = |(_, model): &&(i32, Model)| room(model) >= ROOM_MIN;
        if self.warming < WARM_AFTER || self.models.iter().filter(has_room).all(|(log2, _)| *log2 > 0) {
            return Vec::new();
        }
        let share = |hits: u64| hits as f64 / self.lookups as f64;
        let at_own =
            self.models.iter().find(|(log2, _)| *log2 == 0).map_or(0.0, |(_, model)| share(model.hits));
        let off = share(self.answered) - at_own;
        let point = |(log2, model): &(i32, Model)| CurvePoint {
            size: scaled(self.size, *log2),
            hits: (share(model.hits) + off).clamp(0.0, 1.0),
        };
        let mut points: Vec<CurvePoint> = self.models.iter().filter(has_room).map(point).collect();
        // A larger cache never answers less: where the models say so, that is the sample's noise.
        for at in 1..points.len() {
            points[at].hits = points[at].hits.max(points[at - 1].hits);
        }
        points
    }
}

fn scaled(size: usize, log2: i32) -> u64 {
    let size = size as u64;
    if log2 < 0 {
        size >> log2.unsigned_abs().min(63)
    } else {
        size.saturating_mul(1 << log2.unsigned_abs().min(32))
    }
}

#[cfg(test)]
mod tests;
