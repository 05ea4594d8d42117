//! Reading several results as of one moment: what a transaction at REPEATABLE READ may take from memory.
//!
//! # The rule
//!
//! > An entry may be served to a reader of one moment iff it is settled, no dependency is fenced, every stamp is at or
//! > below `valid_from`, and `valid_from` is at or below the moment.
//!
//! # Words
//!
//! *The moment `A`* ([`Moment::AsOf`]): `A` is `applied`, read at the first read of the transaction. All reads show the state at `A`.
//!
//! *The moment of a snapshot* ([`Moment::Snapshot`]): the server has opened a snapshot. It contains every transaction up to `contains`,
//! which is `visible`, read before the snapshot was opened. It contains no transaction beyond `within`, which is an end of the binlog
//! that was asked for after the snapshot was opened. The server's own list of executed transactions is no such bound: the engine commits
//! a transaction, and snapshots show it, before the server lists it.
//!
//! *Settled*: the result shows no transaction that is not applied. `ends` says how that is known. A result that was read a moment ago may
//! show the commit of a writer around us, of which no stamp and no fence tells yet. Beside an older result that lacks this commit, it
//! would make a torn view. A result settles within a millisecond or two if somebody asks where the binlog ends.
//!
//! # Why the rule suffices
//!
//! Let `T` at `p` change a dependency of a servable, settled entry with `valid_from = V`. The check reads in the order of the rule: first
//! whether the entry is settled, and `applied` where it is compared; then the fences; then the stamps.
//!
//! 1. `T` is in the content. If `p > V`, its stamp would be set, because `T` is applied, and beyond `V`: the entry would not be
//!    servable. So `p <= V`, and `T` is at or below `A`, or in the snapshot, since `V <= contains`.
//! 2. `T` is at or below `A`, or in the snapshot. Then `T` is applied: `applied` was `A` before, or has passed `within`. If
//!    `p > V`, its stamp would be set and beyond `V`. So `p <= V`, and `T` is in the content.
//!
//! So the content is exactly that of the moment. It is not enough to compare the stamps with the moment, and let `V` be later: the stamps
//! on rows tell of no change before their watch was made, and the watch may be made after the moment. (The simulation found this. It also
//! breaks that rule on purpose, to show that the oracle notices.) The rule loses no hit that was there to be had when the reader began.
//!
//! The fences are for two more things. A write that was acknowledged before the transaction's first read must be shown, although it may
//! lie beyond `A`: it is under a fence, or its stamp is beyond `A`, and both refuse. And a write that is in no binlog has no stamp before
//! it is acknowledged, but a fence.
//!
//! # The opening
//!
//! Between `A` and the snapshot lie other commits. The reads that were served as of `A` are true at the snapshot as well iff none of
//! these commits concerns them. [`Freshness::holds_until`] finds that out once `applied` has passed `within`: no stamp of their
//! dependencies is beyond `A`. No answer from the snapshot may be delivered before that. If a stamp is beyond `A`, there may be no moment
//! at which both are true. `A` is always an `applied` from before the snapshot was opened, even if nothing was served by then: a commit
//! at or below a later `applied` may lie behind the snapshot, and no stamp beyond `A` would tell of it.
//!
//! A stamp beyond `A` may be that of a transaction that has committed after the snapshot was opened. The longer it takes `applied` to
//! pass `within`, the likelier that is. Most writers are sessions of ours, and these fence their writes. So the served results are looked
//! at once more after the snapshot was opened ([`Freshness::untouched`]): first `applied` is read, as `B`; then nothing is fenced, and no
//! stamp is beyond `A`. Take a transaction `T` at `p > A` in the snapshot that changes a served result.
//!
//! 1. `T` is of a session of ours. It was sent before the snapshot was opened, and its fence stood before that. At the second look
//!    there was no fence any more. So `T` was applied, and its stamp at `p > A` would have been found.
//! 2. `T` is foreign. If `p <= B`, its stamp would have been found. So `B < p <= within`.
//!
//! So if all transactions in `(B, within]` are known to be own ones (`owners` says how), the served results are true in the snapshot,
//! even if stamps are beyond `A` by then. A result that is served as of `A` after the snapshot was opened needs no second look: it was
//! found without a fence, and without a stamp beyond `A`, at a later time than `B`.
//!
//! # Own writes
//!
//! No result that the transaction itself has changed may be served: its own rows are at no position yet. [`is_touched`] compares the
//! dependencies on which a write would be fenced with those of an entry.

use crate::sabotage::{self, Sabotage};
use crate::{Dep, Fences, Freshness, Position, Verdict};

/// The moment that a reader's results have to share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The state at this position, which was `applied` when it was read.
    AsOf(Position),
    /// A snapshot at the server.
    Snapshot {
        /// `visible`, read before the snapshot was opened: the snapshot contains every transaction up to here.
        contains: Position,
        /// An end of the binlog that was asked for after the snapshot was opened: the snapshot contains no transaction beyond it.
        within: Position,
    },
}

/// What decides, beside the stamps, for which moments a result is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// A position that the query which filled the result is known to see.
    pub valid_from: Position,
    /// [`Freshness::ends_asked`] at the time when the result was complete.
    pub ends_asked: u64,
}

/// The answer of the rule for one moment: whether an entry may be served to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may be served: it is true at the reader's moment.
    Servable,
    /// It may never be served again: see [`Verdict::Stale`].
    Stale,
    /// It may not be served now: see [`Verdict::Fenced`].
    Fenced,
    /// It may not be served now: it may show transactions that are not applied, or the stream has not passed the reader's snapshot.
    Unsettled,
    /// It may not be served to this reader: it was read after the reader's moment, or the reader has changed it.
    Moved,
}

impl From<Verdict> for Ruling {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Servable => Self::Servable,
            Verdict::Stale => Self::Stale,
            Verdict::Fenced => Self::Fenced,
        }
    }
}

/// Whether results that were served as of one moment are true at a later moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// They are.
    Proven,
    /// Not known yet: the stream has not come so far, or a write is under way. The caller asks again.
    NotYet,
    /// A dependency of these results has changed: there may be no moment at which all are true. This answer is final.
    Changed,
}

/// Served results that were found unchanged after a snapshot was opened, with no write to them under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untouched {
    applied: Position,
    unlogged: Position,
}

impl Moment {
    /// Returns the present moment, for a reader that has read nothing yet.
    #[must_use]
    pub fn now(freshness: &Freshness) -> Self {
        Self::AsOf(freshness.applied())
    }

    /// Whether a settled entry is true at this moment, if nothing is fenced and no stamp, read after `applied`, is beyond its
    /// `valid_from`.
    #[must_use]
    pub const fn admits(&self, valid_from: Position, applied: Position) -> bool {
        match *self {
            Self::AsOf(at) => valid_from.get() <= at.get(),
            Self::Snapshot { contains, within } => {
                within.get() <= applied.get() && valid_from.get() <= contains.get()
            }
        }
    }

    fn is_reached(&self, freshness: &Freshness) -> bool {
        match *self {
            Self::AsOf(_) => true,
            Self::Snapshot { within, .. } => {
                within <= freshness.applied() || sabotage::is(Sabotage::EarlySnapshot)
            }
        }
    }

    fn bound(&self) -> Position {
        match *self {
            _ if sabotage::is(Sabotage::LateAsOf) => Position::new(u64::MAX),
            Self::AsOf(at) => at,
            Self::Snapshot { contains, .. } => contains,
        }
    }
}

impl Freshness {
    /// Takes the next number for a question where the binlog ends. To be called before the question is sent.
    #[must_use]
    pub fn ask_end(&self) -> u64 {
        self.ends().ask()
    }

    /// Notes that `applied` has passed the answer to the question with this number.
    pub fn end_passed(&self, number: u64) {
        self.ends().pass(number);
    }

    /// Returns how many ends of the binlog have been asked for. To be read when a result is complete: see [`Self::is_settled`].
    #[must_use]
    pub fn ends_asked(&self) -> u64 {
        self.ends().asked()
    }

    /// Whether a result shows only applied transactions. `ends_asked` is the number when the result was complete. The stamps that decide
    /// about the result are to be read after this.
    #[must_use]
    #[inline]
    pub fn is_settled(&self, ends_asked: u64) -> bool {
        self.ends().is_passed_after(ends_asked) || sabotage::is(Sabotage::UnsettledHits)
    }

    /// Applies the rule for a reader of one moment.
    #[must_use]
    pub fn check_as_of(&self, deps: &[Dep], validity: Validity, moment: Moment) -> Ruling {
        self.check_each_as_of(std::iter::once(deps.iter().copied()), validity, moment)
    }

    pub(crate) fn check_each_as_of(
        &self,
        deps: impl Iterator<Item: Iterator<Item = Dep>> + Clone,
        Validity { valid_from, ends_asked }: Validity,
        moment: Moment,
    ) -> Ruling {
        let is_in_time = self.is_settled(ends_asked) && moment.is_reached(self);
        match Ruling::from(self.check_each(deps, valid_from, Fences::Refuse)) {
            Ruling::Servable if !is_in_time => Ruling::Unsettled,
            Ruling::Servable if valid_from > moment.bound() => Ruling::Moved,
            ruling => ruling,
        }
    }

    /// Whether results that were served as of `at`, with these dependencies, are true in a snapshot that contains nothing beyond
    /// `within`. With [`Fences::Refuse`] the answer is `NotYet` while a write to them is under way: the write may be in the snapshot, in
    /// no binlog, and not stamped yet. A caller that knows that no such write is under way passes [`Fences::Ignore`].
    #[must_use]
    pub fn holds_until(&self, deps: &[Dep], at: Position, within: Position, fences: Fences) -> Holds {
        if sabotage::is(Sabotage::UnprovenOpening) {
            return Holds::Proven;
        }
        let is_reached = self.applied() >= within;
        match self.check(deps, at, fences) {
            Verdict::Stale => Holds::Changed,
            Verdict::Servable if is_reached => Holds::Proven,
            _ => Holds::NotYet,
        }
    }
}

impl Freshness {
    /// Looks at results that were served as of `at`, with these dependencies, after a snapshot was opened. `None`: a write to some of
    /// them is under way, or some have changed.
    #[must_use]
    pub fn untouched(&self, deps: &[Dep], at: Position) -> Option<Untouched> {
        let found = Untouched { applied: self.applied(), unlogged: self.unlogged() };
        (self.check(deps, at, Fences::Refuse) == Verdict::Servable).then_some(found)
    }

    /// Whether results that [`Self::untouched`] found unchanged are true in that snapshot, which contains nothing beyond `within`,
    /// although they have changed since.
    #[must_use]
    pub fn holds_untouched(&self, found: Untouched, within: Position) -> Holds {
        if sabotage::is(Sabotage::ForeignAsOwn) {
            return Holds::Proven;
        }
        match self.owners().are_own(found.applied, within) {
            None => Holds::NotYet,
            Some(true) if self.unlogged() == found.unlogged => Holds::Proven,
            Some(_) => Holds::Changed,
        }
    }

    /// Publishes that all transactions up to `judged` are those of our sessions, which have fenced their writes, except some at or below
    /// `foreign`.
    pub fn publish_owners(&self, judged: Position, foreign: Position) {
        self.owners().publish(judged, foreign);
    }
}

/// Whether a write that is fenced on `written` may have changed a result that depends on `deps`.
#[must_use]
pub fn is_touched(written: &[Dep], mut deps: impl Iterator<Item = Dep>) -> bool {
    let mut is_any = || written.contains(&Dep::EVERYTHING) || deps.any(|dep| written.contains(&dep));
    !written.is_empty() && !sabotage::is(Sabotage::OwnWritesHit) && is_any()
}

#[cfg(test)]
mod tests;
