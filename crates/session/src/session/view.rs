//! What a transaction reads: each statement reads what is committed at that time, or all statements read the state of one moment.
//!
//! The moment of a transaction at REPEATABLE READ is one of two ([`freshet_cache::snapshot`] has the rule and its proof):
//!
//! * While the server has opened no read view for the transaction: what was applied at its first read from memory. This moment may
//!   move on as long as no result that was served has changed.
//! * After that: the server's read view, which START TRANSACTION WITH CONSISTENT SNAPSHOT has opened, once the results served before
//!   are proven to be true in it.
//!
//! If the server may have opened a read view at an unknown moment, nothing is served from memory. [`perhaps`] says when the moment
//! becomes known after all.
//!
//! [`course`] has what has happened in the transaction so far, [`caution`] what the session's later transactions learn from it, and
//! [`savepoints`] the places that the transaction may go back to. [`transaction`] moves what the transaction reads together with the
//! transaction itself.

mod caution;
mod course;
mod perhaps;
mod savepoints;
mod transaction;

use std::time::Instant;

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Dep, Fences, Freshness, Holds, Moment, Position, Untouched, Verdict};
use freshet_follow::{ShownGtids, Upstream};
use freshet_sql::{Characteristics, Isolation};

pub(crate) use caution::Needs;
use caution::Opens;
use course::Course;
pub(crate) use savepoints::Mark;
use savepoints::Savepoints;
pub(crate) use transaction::Transaction;

use crate::environment::Transactions;

/// How many dependencies of served results are kept: a transaction that reads more from memory asks the server for the rest.
const SERVED_MAX: usize = 8192;

/// How many dependencies the buffer keeps room for between transactions.
const SERVED_KEPT: usize = 512;

/// How the statements of a transaction read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Each statement reads what is committed at that time: READ COMMITTED.
    Each,
    /// All statements read as of one moment: REPEATABLE READ.
    Shared,
}

impl Manner {
    /// Returns how a transaction reads with this isolation level, if it is given; otherwise like `others`.
    pub(crate) fn of(others: Transactions, isolation: Option<Isolation>) -> Option<Self> {
        match isolation {
            Some(Isolation::RepeatableRead) => Some(Self::Shared),
            Some(Isolation::ReadCommitted) => Some(Self::Each),
            Some(_) => None,
            None if others.are_snapshots => Some(Self::Shared),
            None => others.read_committed.then_some(Self::Each),
        }
    }
}

/// What is known of how a transaction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum KnownManner {
    #[default]
    Unknown,
    /// The manner shows when the environment is read, if the environment still has this version.
    Undecided(u64),
    Decided(Manner),
}

/// What binds a transaction to a moment that the server does not know: results were served as of the moment.
#[derive(Debug, Clone, Copy)]
struct ServedMoment {
    /// The position that was applied at the first read from memory, or a later one at which all served results are true too.
    at: Position,
    /// When the first read from memory was, if the server may open the read view before a statement needs it.
    since: Option<Instant>,
}

/// The read view at the server. Each row is one transition:
///
/// | what has happened | method | from | the new state |
/// |---|---|---|---|
/// | the server opens a read view, and Freshet knows when | [`ReadView::opened`] | any | `Open` |
/// | the server has opened none, though it was told to | [`ReadView::note_not_open`] | any | `None` |
/// | the server may read by a read view that it opens by itself | [`ReadView::note_read_at_server`] | `None` | `Perhaps` |
/// | rows were read by the read view | [`ReadView::note_rows_read`] | `Perhaps` | `Open` |
/// | anything may have happened to the transaction | [`ReadView::lose`] | any | `Unknown` |
/// | the transaction has ended | [`ReadView::end`] | any | `None` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AtServer {
    /// There is no read view.
    #[default]
    None,
    /// The read view shows every transaction up to `contains`, and none that is not settled by a question after `ends_asked`.
    Open { contains: Position, ends_asked: u64, is_settled: bool, is_proven: bool, proof: Proof },
    /// There may be a read view. If there is, it shows every transaction up to here.
    Perhaps { contains: Position },
    /// There may be a read view of an unknown moment.
    Unknown,
}

/// What is known of the results that were served before a read view was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Proof {
    /// The results were found untouched when the read view was open.
    untouched: Option<Untouched>,
    /// The read view shows nothing beyond this position.
    within: Option<Position>,
}

/// Questions after the statement that opens a read view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ViewQuestions {
    /// How many questions there are.
    pub(crate) count: usize,
    /// How many statements come before the one that the questions follow.
    pub(crate) statements_before: usize,
    /// How many transactions were applied before the questions.
    pub(crate) applied_before: u64,
}

/// What is known of the reads of a session's transaction.
#[derive(Debug, Default)]
pub(crate) struct ReadView {
    manner: KnownManner,
    /// The characteristics of this transaction alone.
    said: Characteristics,
    /// No statement has begun the transaction. MySQL does not report such a begin, but reports the statement with which Freshet begins it.
    /// That holds to the end of the transaction, whatever becomes known of its reads.
    is_by_itself: bool,
    at_server: AtServer,
    /// The most that the read view shows, and how many transactions were applied before the server was asked for that.
    shown: Option<(ShownGtids, u64)>,
    /// The questions for `shown` that are on their way.
    asked: ViewQuestions,
    bound: Option<ServedMoment>,
    /// The dependencies of the answers that were served as of the moment of `bound`.
    served: Vec<Dep>,
    /// The dependencies of the definitions of the tables whose results were served. The server does not know that these tables were read,
    /// and lets others redefine them.
    named: Vec<Dep>,
    pub(crate) course: Course,
    /// When the server opens the read view.
    opens: Opens,
    caution: caution::Caution,
    pub(crate) savepoints: Savepoints,
}

/// Which moment a statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadMoment {
    /// What is committed now.
    Now,
    /// The state at this moment.
    AsOf(Moment),
    /// The server's read view, which the stream has not passed yet.
    NotYet,
    /// Only the server knows.
    Unknown,
}

impl ReadView {
    /// Begins a transaction that has read nothing. `said`: the characteristics of this transaction alone.
    fn begin(&mut self, manner: Option<Manner>, said: Characteristics) {
        self.end();
        self.manner = manner.map_or(KnownManner::Unknown, KnownManner::Decided);
        self.said = said;
        self.opens = self.caution.begins();
    }

    /// Notes that the served results were not true in the read view: later transactions avoid the risk.
    pub(crate) fn refute(&mut self) {
        self.caution.refute(self.opens);
    }

    /// Like [`Self::begin`], if autocommit is off and no statement has begun the transaction.
    fn begin_by_itself(&mut self, manner: Option<Manner>, said: Characteristics) {
        self.begin(manner, said);
        self.is_by_itself = true;
    }

    /// Begins a transaction whose manner shows when the environment is read, if the environment still has this version.
    fn begin_undecided(&mut self, version: u64) {
        self.begin(None, Characteristics::default());
        self.manner = KnownManner::Undecided(version);
    }

    /// Whether the manner is still to be decided, and can be now.
    pub(crate) fn is_undecided(&self, version: u64) -> bool {
        self.manner == KnownManner::Undecided(version)
    }

    /// Decides the manner, if it is known.
    pub(crate) fn decide(&mut self, manner: Option<Manner>) {
        if let Some(manner) = manner {
            self.manner = KnownManner::Decided(manner);
        }
    }

    /// Ends the transaction.
    fn end(&mut self) {
        let mut served = std::mem::take(&mut self.served);
        let mut savepoints = std::mem::take(&mut self.savepoints);
        let mut named = std::mem::take(&mut self.named);
        named.clear();
        named.shrink_to(SERVED_KEPT);
        served.clear();
        served.shrink_to(SERVED_KEPT);
        savepoints.clear();
        if let Some(needs) = self.course.needs() {
            self.caution.ends(needs, self.opens, self.course.looks());
        }
        *self = Self { served, named, savepoints, caution: self.caution, ..Self::default() };
    }

    /// Notes an event after which it is unknown which moment the transaction reads.
    fn lose(&mut self) {
        self.manner = KnownManner::Unknown;
        self.at_server = AtServer::Unknown;
    }

    /// Sets, goes back to or removes a savepoint. Returns `None` if there is none of that name, or no room for it.
    pub(crate) fn marks(&mut self, mark: &Mark<'_>) -> Option<()> {
        let has_no_moment = self.has_no_moment();
        if self.savepoints.marks(mark, has_no_moment)? {
            self.forget_read();
        }
        Some(())
    }

    /// Whether nothing has set the moment yet that the transaction reads.
    fn has_no_moment(&self) -> bool {
        self.bound.is_none() && self.at_server == AtServer::None && !self.course.has_read()
    }

    /// Notes that all reads are undone: the next read sets the moment.
    fn forget_read(&mut self) {
        self.bound = None;
        self.served.clear();
        self.named.clear();
    }

    /// Notes that the server has opened a read view. `contains`: `valid_from`, read before that; `ends_asked`: read after.
    pub(crate) fn opened(&mut self, contains: Position, ends_asked: u64) {
        let is_proven = self.bound.is_none();
        let proof = Proof::default();
        self.at_server = AtServer::Open { contains, ends_asked, is_settled: false, is_proven, proof };
        self.shown = None;
    }

    /// Notes that the server has opened no read view, though it was told to.
    fn note_not_open(&mut self) {
        self.at_server = AtServer::None;
    }

    /// Notes that no statement has read anything, and that the server may open the read view anew.
    fn note_unread(&mut self) {
        self.note_not_open();
        self.course.note_unread_view();
    }

    /// Notes the questions for the most that the read view shows, after the statement that opens it.
    pub(crate) fn note_asked(&mut self, asked: ViewQuestions) {
        self.asked = asked;
    }

    /// Returns how many of these questions are not answered yet.
    pub(crate) fn questions(&self) -> usize {
        self.asked.count
    }

    /// Asks the server for the end of its binlog, if the read view needs that to settle.
    pub(crate) fn asks_if_unsettled(&mut self, upstream: &Upstream, freshness: &Freshness) {
        if !self.settles(upstream, freshness) {
            upstream.ask_end();
        }
    }

    /// Notes that a statement is answered. Returns the questions whose answers come next.
    pub(crate) fn take_asked(&mut self) -> ViewQuestions {
        if let Some(left) = self.asked.statements_before.checked_sub(1) {
            self.asked.statements_before = left;
            return ViewQuestions::default();
        }
        std::mem::take(&mut self.asked)
    }

    /// Notes the server's reply on the most that the read view shows.
    pub(crate) fn shows(&mut self, shown: ShownGtids, applied_before: u64) {
        self.shown = Some((shown, applied_before));
    }

    /// Whether all that the read view shows is applied. Called before [`Self::reads`].
    pub(crate) fn settles(&mut self, upstream: &Upstream, freshness: &Freshness) -> bool {
        let (Some(Manner::Shared), AtServer::Open { ends_asked, is_settled, .. }) =
            (self.manner(), &mut self.at_server)
        else {
            return false;
        };
        let is_shown_applied = |(shown, since): &(ShownGtids, u64)| upstream.has_applied(shown, *since);
        *is_settled = *is_settled
            || freshness.is_settled(*ends_asked)
            || self.shown.as_ref().is_some_and(is_shown_applied)
            || sabotage::is(Sabotage::EarlySnapshot);
        *is_settled
    }

    /// Notes the server's reply that the read view is open.
    pub(crate) fn note_open(&mut self, freshness: &Freshness) {
        if let AtServer::Open { ends_asked, proof, .. } = &mut self.at_server {
            *ends_asked = (*ends_asked).min(freshness.ends_asked());
            proof.untouched = self.bound.and_then(|bound| freshness.untouched(&self.served, bound.at));
        }
    }

    /// Notes that the served results are true in the server's read view.
    pub(crate) fn note_proven(&mut self) {
        self.caution.note_proven(self.opens);
        if let AtServer::Open { is_proven, .. } = &mut self.at_server {
            *is_proven = true;
        }
        self.keep_named();
    }

    /// Forgets the dependencies of served results, except those of definitions.
    fn keep_named(&mut self) {
        self.named.extend(self.served.drain(..).filter(|dep| dep.is_of_definitions()));
        self.named.sort_unstable();
        self.named.dedup();
    }

    /// Whether something must be proven before the server reads for the transaction.
    pub(crate) fn is_to_be_proven(&self) -> bool {
        self.is_unproven() || !self.named.is_empty()
    }

    /// Whether the tables of served results have the same definitions as when the server's read view was opened. `NotYet` while a
    /// definition is under way that may concern one of them: all other fences are fences of rows.
    pub(crate) fn are_as_defined(&self, freshness: &Freshness) -> Holds {
        let AtServer::Open { contains, .. } = self.at_server else { return Holds::Proven };
        if self.named.is_empty() {
            return Holds::Proven;
        }
        let is_defining = freshness.is_fenced(Dep::DEFINITIONS);
        match freshness.check(
            &self.named,
            contains,
            if is_defining { Fences::Refuse } else { Fences::Ignore },
        ) {
            Verdict::Servable => Holds::Proven,
            Verdict::Stale => Holds::Changed,
            Verdict::Fenced => Holds::NotYet,
        }
    }

    /// Whether the read view was opened and the served results still need the proof that they are true in it.
    pub(crate) fn is_unproven(&self) -> bool {
        matches!(self.at_server, AtServer::Open { is_proven: false, .. })
    }

    /// Whether the server has opened a read view that Freshet asked for.
    pub(crate) fn is_shared_view(&self) -> bool {
        self.manner() == Some(Manner::Shared) && matches!(self.at_server, AtServer::Open { .. })
    }

    /// Returns how the transaction's statements read.
    pub(crate) fn manner(&self) -> Option<Manner> {
        match self.manner {
            KnownManner::Decided(manner) => Some(manner),
            KnownManner::Unknown | KnownManner::Undecided(_) => None,
        }
    }

    /// Returns the characteristics of this transaction alone.
    pub(crate) fn said(&self) -> Characteristics {
        self.said
    }

    /// Whether no statement has begun the transaction.
    pub(crate) fn is_by_itself(&self) -> bool {
        self.is_by_itself
    }

    /// Whether it is known which moment the transaction reads.
    pub(crate) fn is_known(&self) -> bool {
        match self.manner() {
            None => false,
            Some(Manner::Each) => true,
            Some(Manner::Shared) => self.at_server != AtServer::Unknown,
        }
    }

    /// Whether served results bind the transaction to a moment that the server does not know.
    pub(crate) fn is_bound(&self) -> bool {
        self.manner() == Some(Manner::Shared) && self.bound.is_some()
    }

    /// Returns since when the transaction has been bound, if the server has been told to open no read view yet.
    pub(crate) fn bound_since(&self) -> Option<Instant> {
        self.bound?.since.filter(|_| self.is_unopened())
    }

    /// Stops opening read views before a statement needs them.
    pub(crate) fn tries_no_more(&mut self) {
        if let Some(bound) = &mut self.bound {
            bound.since = None;
        }
        self.opens = Opens::First;
    }

    /// Whether the server has not been told to open a read view, and all reads share one moment.
    pub(crate) fn is_unopened(&self) -> bool {
        self.manner() == Some(Manner::Shared) && self.at_server == AtServer::None
    }

    /// Whether an answer may be given before the proof that it is true in the read view.
    pub(crate) fn may_be_bound(&self) -> bool {
        match self.opens {
            Opens::Late => true,
            Opens::Before => self.at_server != AtServer::None,
            Opens::First => false,
        }
    }

    /// Notes whether lanes may carry the reads that memory does not answer.
    pub(crate) fn note_lanes(&mut self, are_there: bool) {
        self.caution.note_lanes(are_there);
    }

    /// Whether the transaction's read view opens before its first answer from memory.
    pub(crate) fn opens_before(&self) -> bool {
        self.opens == Opens::Before
    }

    /// Whether the transaction's read view opens late.
    pub(crate) fn opens_late(&self) -> bool {
        self.opens == Opens::Late
    }

    /// Like [`Self::may_be_bound`], for an answer that begins a transaction.
    pub(crate) fn may_be_bound_next(&self) -> bool {
        self.caution.next_opens() == Opens::Late
    }

    /// Binds the transaction to a moment. The opened read view has shown nothing yet: results served from now on are proven to be true in
    /// it later. `as_of` is the position that was applied before the read view was opened.
    pub(crate) fn binds(&mut self, as_of: Position, freshness: &Freshness) {
        if let (None, AtServer::Open { is_proven, proof, .. }) = (self.bound, &mut self.at_server) {
            self.bound = Some(ServedMoment { at: as_of, since: None });
            *is_proven = false;
            proof.untouched = freshness.untouched(&[], as_of);
        }
    }

    /// Returns how many reads are still to come, if the transaction is like the one before.
    pub(crate) fn reads_left(&self) -> u32 {
        (self.caution.reads() + 1).saturating_sub(self.course.looks())
    }

    /// Returns which moment the next statement reads.
    pub(crate) fn reads(&self, freshness: &Freshness) -> ReadMoment {
        match (self.manner(), self.at_server) {
            (None, _) | (Some(Manner::Shared), AtServer::Unknown | AtServer::Perhaps { .. }) => {
                ReadMoment::Unknown
            }
            (Some(Manner::Each), _) => ReadMoment::Now,
            (Some(Manner::Shared), AtServer::Open { contains, is_settled, is_proven: true, .. }) => {
                if !is_settled {
                    return ReadMoment::NotYet;
                }
                // Read after that: an end that was asked for after the read view was opened lies at or below this position.
                ReadMoment::AsOf(Moment::Snapshot { contains, within: freshness.applied() })
            }
            (Some(Manner::Shared), _) if self.served.len() > SERVED_MAX => ReadMoment::Unknown,
            (Some(Manner::Shared), _) => ReadMoment::AsOf(
                self.bound.map_or_else(|| Moment::now(freshness), |bound| Moment::AsOf(bound.at)),
            ),
        }
    }

    /// Returns the position from which the server's answer to a question now is valid. `valid_from` is that position for an answer outside of
    /// transactions. `None` if the position is unknown.
    pub(crate) fn valid_from(&self, valid_from: Position) -> Option<Position> {
        match (self.manner(), self.at_server) {
            (None, _) | (Some(Manner::Shared), AtServer::Unknown) => None,
            (Some(Manner::Shared), AtServer::Open { contains, .. } | AtServer::Perhaps { contains }) => {
                Some(contains.min(valid_from))
            }
            _ => Some(valid_from),
        }
    }

    /// Returns the buffer for dependencies of answers; they are noted here before the answers are served as of `moment`.
    pub(crate) fn served(&mut self) -> &mut Vec<Dep> {
        &mut self.served
    }

    /// Notes that an answer was served as of this moment.
    pub(crate) fn serves(&mut self, moment: Moment) {
        match moment {
            Moment::AsOf(at) if self.manner() == Some(Manner::Shared) => {
                let since = self.bound.map_or_else(|| Some(Instant::now()), |bound| bound.since);
                self.bound = Some(ServedMoment { at, since });
            }
            Moment::Snapshot { .. } if self.manner() == Some(Manner::Shared) => self.keep_named(),
            _ => self.served.clear(),
        }
    }

    /// Moves the moment on to the present one, if all served results are true then too. Returns whether it has moved.
    pub(crate) fn move_on(&mut self, freshness: &Freshness) -> bool {
        let (Some(bound), now) = (&mut self.bound, freshness.applied()) else { return false };
        if self.at_server != AtServer::None {
            return false; // Its moment is to be proven of what was served before.
        }
        let holds = || freshness.holds_until(&self.served, bound.at, now, Fences::Refuse);
        if now <= bound.at || holds() != Holds::Proven {
            return false;
        }
        bound.at = now;
        true
    }

    /// Whether the served results are true in the server's read view.
    pub(crate) fn holds(&mut self, freshness: &Freshness, fences: Fences) -> Holds {
        let (Some(bound), AtServer::Open { is_settled, proof, .. }) = (self.bound, &mut self.at_server)
        else {
            return Holds::Proven;
        };
        if !*is_settled {
            return Holds::NotYet;
        }
        let applied = freshness.applied();
        let within = *proof.within.get_or_insert(applied);
        match freshness.holds_until(&self.served, bound.at, applied, fences) {
            Holds::Changed => {
                let untouched = |found| freshness.holds_untouched(found, within);
                proof.untouched.map_or(Holds::Changed, untouched)
            }
            held => held,
        }
    }
}

#[cfg(test)]
mod tests;
