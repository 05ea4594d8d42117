//! Freshness broken on purpose, so that the checker can be seen to notice: a judge that never convicts proves nothing.
//!
//! Without the feature `sabotage` every question here is answered with a constant `false`, and no broken code is built in. With it, the
//! environment variable FRESHET_SABOTAGE names the rules that are broken, separated by commas. No release has the feature.

/// The rules that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A fill is valid from `applied`, whether it is visible or not.
    AppliedAsVisible,
    /// No fence stands.
    NoFences,
    /// A fence is lifted when its write is acknowledged and not when it is applied.
    EarlyLift,
    /// The changes of a transaction are stamped when the next one is applied.
    LateStamps,
    /// Changes that foreign keys make without row events of their own are not stamped.
    NoCascades,
    /// Changes of tables named `r` are not stamped.
    ForgottenTable,
    /// Definitions are never read again.
    StaleCatalog,
    /// An update that gives a row other keys stamps only the old keys.
    NoAfterImages,
    /// An update that gives a row other keys stamps only the new keys.
    NoBeforeImages,
    /// Of the blocks of a range, those of more than one key are not stamped.
    NoRangeLevels,
    /// An update is judged by the columns that a watch reads, the last one left out.
    DeafColumns,
    /// A watch is used while writes are under way that do not know the watch.
    EarlyWatch,
    /// A write fences the rows that its conditions name, and no other rows that it may touch.
    NarrowFences,
    /// Each read of a transaction from memory is as of its own moment, and not as of the first read's or the read view's.
    LateAsOf,
    /// When a transaction's snapshot is opened, nobody proves that the results served before are true in it.
    UnprovenOpening,
    /// A foreign writer is taken for one of our sessions, when it is proven that the results served before are true in a snapshot.
    ForeignAsOwn,
    /// A transaction is served results beside its snapshot before the stream has passed the snapshot.
    EarlySnapshot,
    /// A transaction's read view counts as open once the transaction has written, although it has read nothing.
    SupposedView,
    /// A transaction is served results that may show transactions that are not applied.
    UnsettledHits,
    /// A transaction is served results that it has changed itself.
    OwnWritesHit,
    /// A result that is read in a shared read view counts as valid from the time of the read.
    OldViews,
    /// A shared read view is read before the stream has passed it.
    EarlyViews,
    /// Updates of rows do not reach the copies from which results are made.
    DeafCopies,
    /// Nothing is wrong, but the stream is slow: other faults have time to show.
    SlowStream,
}

/// How long [`Sabotage::SlowStream`] takes for an event, microseconds.
pub const SLOW_STREAM_US: u64 = 1_500;

#[cfg(feature = "sabotage")]
mod on {
    use super::Sabotage;
    use crate::{Dep, Position};
    use std::sync::{Mutex, OnceLock, PoisonError};

    const NAMES: [(&str, Sabotage); 24] = [
        ("applied-as-visible", Sabotage::AppliedAsVisible),
        ("no-fences", Sabotage::NoFences),
        ("early-lift", Sabotage::EarlyLift),
        ("late-stamps", Sabotage::LateStamps),
        ("no-cascades", Sabotage::NoCascades),
        ("forgotten-table", Sabotage::ForgottenTable),
        ("stale-catalog", Sabotage::StaleCatalog),
        ("no-after-images", Sabotage::NoAfterImages),
        ("no-before-images", Sabotage::NoBeforeImages),
        ("no-range-levels", Sabotage::NoRangeLevels),
        ("deaf-columns", Sabotage::DeafColumns),
        ("early-watch", Sabotage::EarlyWatch),
        ("narrow-fences", Sabotage::NarrowFences),
        ("late-as-of", Sabotage::LateAsOf),
        ("unproven-opening", Sabotage::UnprovenOpening),
        ("foreign-as-own", Sabotage::ForeignAsOwn),
        ("early-snapshot", Sabotage::EarlySnapshot),
        ("supposed-view", Sabotage::SupposedView),
        ("unsettled-hits", Sabotage::UnsettledHits),
        ("own-writes-hit", Sabotage::OwnWritesHit),
        ("old-views", Sabotage::OldViews),
        ("early-views", Sabotage::EarlyViews),
        ("deaf-copies", Sabotage::DeafCopies),
        ("slow-stream", Sabotage::SlowStream),
    ];

    /// Whether this rule is broken.
    #[must_use]
    pub fn is(what: Sabotage) -> bool {
        static CHOSEN: OnceLock<Vec<Sabotage>> = OnceLock::new();
        let chosen = CHOSEN.get_or_init(|| {
            let named = std::env::var("FRESHET_SABOTAGE").unwrap_or_default();
            NAMES
                .iter()
                .filter(|(name, _)| named.split(',').any(|chosen| chosen == *name))
                .map(|(_, s)| *s)
                .collect()
        });
        chosen.contains(&what)
    }

    type Stamps = Vec<(Dep, Position)>;

    /// Stamps that are late: those since `applied` was last published, and those before.
    static LATE: Mutex<(Stamps, Stamps)> = Mutex::new((Vec::new(), Vec::new()));

    /// Holds a stamp back.
    pub(crate) fn keep_back(dep: Dep, at: Position) {
        LATE.lock().unwrap_or_else(PoisonError::into_inner).0.push((dep, at));
    }

    /// Returns the stamps that were held back for one publication.
    pub(crate) fn overdue() -> Stamps {
        let mut late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
        let new = std::mem::take(&mut late.0);
        std::mem::replace(&mut late.1, new)
    }
}

#[cfg(not(feature = "sabotage"))]
mod on {
    use super::Sabotage;
    use crate::{Dep, Position};

    /// Nothing is broken.
    #[must_use]
    #[inline]
    pub const fn is(_what: Sabotage) -> bool {
        false
    }

    #[inline]
    pub(crate) const fn keep_back(_dep: Dep, _at: Position) {}

    #[inline]
    pub(crate) const fn overdue() -> Vec<(Dep, Position)> {
        Vec::new()
    }
}

pub use on::is;
pub(crate) use on::{keep_back, overdue};
