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

use std::time::Instant;

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Dep, Fences, Freshness, Holds, Moment, Position, Untouched, Verdict};
use freshet_follow::{Shown, Upstream};
use freshet_sql::{Characteristics, Isolation};

pub(crate) use caution::{Needs, Opens};

use crate::environment::Transactions;

mod caution;
mod perhaps;

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

/// The read view at the server.
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
    /// How the transaction reads; `None`: unknown.
    manner: Option<Manner>,
    /// The characteristics of this transaction alone.
    pub(crate) said: Characteristics,
    /// How the transaction reads shows when the environment is read, if the environment still has this version.
    undecided: Option<u64>,
    at_server: AtServer,
    /// The most that the read view shows, and how many transactions were applied before the server was asked for that.
    shown: Option<(Shown, u64)>,
    /// The questions for `shown` that are on their way.
    asked: ViewQuestions,
    /// The position that was applied at the first read from memory.
    as_of: Option<Position>,
    /// When the first read from memory was.
    since: Option<Instant>,
    /// The dependencies of the answers that were served as of that position.
    served: Vec<Dep>,
    /// The dependencies of the definitions of the tables whose results were served. The server does not know that these tables were read,
    /// and lets others redefine them.
    named: Vec<Dep>,
    /// The server has opened a read view for the transaction, and nothing was read by it.
    pub(crate) has_unread_view: bool,
    /// No statement has begun the transaction. MySQL does not report such a begin, but reports the statement with which Freshet begins it.
    pub(crate) is_by_itself: bool,
    /// The server has carried out a statement in the transaction that may have read or written.
    pub(crate) has_read: bool,
    /// Something was served from memory in the transaction.
    pub(crate) has_served: bool,
    /// A result was read for the transaction in a read view that transactions share.
    pub(crate) rides: bool,
    /// What the transaction's statements have needed.
    needs: Needs,
    /// The server has opened the read view because the client took its time, and no statement has needed the read view.
    pub(crate) is_opened_in_time: bool,
    /// When the server opens the read view.
    pub(crate) opens: Opens,
    caution: caution::Caution,
    /// How often the transaction has looked for an answer in memory.
    pub(crate) reads: u32,
    /// The savepoints that were set before the server knew of the transaction, in their order.
    pub(crate) savepoints: Vec<String>,
    /// The savepoints before the first read, also when the server knows of the transaction: after going back to one of them, nothing has
    /// been read.
    pub(crate) early: Vec<String>,
}

/// A statement on a savepoint.
pub(crate) enum Mark<'a> {
    Set(&'a str),
    BackTo(&'a str),
    Remove(&'a str),
}

/// The most savepoints that are remembered in the server's place.
const SAVEPOINTS_MAX: usize = 64;

/// Returns the place of a savepoint among others.
pub(super) fn place(names: &[String], name: &str) -> Option<usize> {
    names.iter().position(|known| known.eq_ignore_ascii_case(name))
}

/// Removes a savepoint that is set anew, after all others.
pub(super) fn moves(names: &mut Vec<String>, name: &str) {
    names.retain(|known| !known.eq_ignore_ascii_case(name));
}

/// Which moment a statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
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
    /// Begins a transaction that has read nothing.
    pub(crate) fn begin(&mut self, manner: Option<Manner>) {
        self.end();
        self.manner = manner;
        self.opens = self.caution.begins();
    }

    /// Notes that the served results were not true in the read view: later transactions avoid the risk.
    pub(crate) fn refute(&mut self) {
        self.caution.refute(self.opens);
    }

    /// Like [`Self::begin`], if autocommit is off and no statement has begun the transaction.
    pub(crate) fn begin_by_itself(&mut self, manner: Option<Manner>) {
        self.begin(manner);
        self.is_by_itself = true;
    }

    /// Begins a transaction whose manner shows when the environment is read, if the environment still has this version.
    pub(crate) fn begin_undecided(&mut self, version: u64) {
        self.begin(None);
        self.undecided = Some(version);
    }

    /// Whether the manner is still to be decided, and can be now.
    pub(crate) fn is_undecided(&self, version: u64) -> bool {
        self.manner.is_none() && self.undecided == Some(version)
    }

    /// Sets the manner that was decided.
    pub(crate) fn decide(&mut self, manner: Option<Manner>) {
        self.manner = manner;
    }

    /// Ends the transaction.
    pub(crate) fn end(&mut self) {
        let mut served = std::mem::take(&mut self.served);
        let mut savepoints = std::mem::take(&mut self.savepoints);
        let mut named = std::mem::take(&mut self.named);
        named.clear();
        named.shrink_to(SERVED_KEPT);
        served.clear();
        served.shrink_to(SERVED_KEPT);
        savepoints.clear();
        self.early.clear();
        if self.has_read || self.has_served {
            // The client took its time: no statement has needed the read view.
            let is_opened_early = self.rides && self.is_opened_in_time && self.needs == Needs::View;
            let needs = match self.needs {
                _ if is_opened_early => Needs::Nothing,
                Needs::Nothing if self.has_read => Needs::Writes,
                needs => needs,
            };
            self.caution.ends(needs, self.opens, self.reads);
        }
        *self = Self { served, named, savepoints, caution: self.caution, ..Self::default() };
    }

    /// Notes an event after which it is unknown which moment the transaction reads.
    pub(crate) fn lose(&mut self) {
        self.manner = None;
        self.undecided = None;
        self.at_server = AtServer::Unknown;
    }

    /// Whether a savepoint of this name stands before the first read.
    pub(crate) fn is_early(&self, name: &str) -> bool {
        place(&self.early, name).is_some()
    }

    /// Sets, goes back to or removes a savepoint. Returns `None` if there is none of that name, or no room for it.
    pub(crate) fn marks(&mut self, mark: &Mark<'_>) -> Option<()> {
        let is_unread = self.is_unread();
        let (savepoints, early) = (&mut self.savepoints, &mut self.early);
        let (Mark::Set(name) | Mark::BackTo(name) | Mark::Remove(name)) = mark;
        match (mark, place(savepoints, name)) {
            (Mark::Set(_), _) if savepoints.len() >= SAVEPOINTS_MAX => return None,
            (Mark::Set(_), _) => {
                moves(savepoints, name);
                moves(early, name);
                savepoints.push((*name).to_owned());
                early.extend(is_unread.then(|| (*name).to_owned()));
            }
            // The server has an error for this case.
            (_, None) => return None,
            (Mark::BackTo(_), Some(at)) => savepoints.truncate(at + 1),
            (Mark::Remove(_), Some(at)) => savepoints.truncate(at),
        }
        early.truncate(savepoints.len());
        if matches!(mark, Mark::BackTo(_)) && self.is_early(name) {
            self.forget_read();
        }
        Some(())
    }

    /// Whether nothing was read in the transaction.
    fn is_unread(&self) -> bool {
        self.as_of.is_none() && self.at_server == AtServer::None && !self.has_read
    }

    /// Notes that all reads are undone: the next read sets the moment.
    fn forget_read(&mut self) {
        self.as_of = None;
        self.since = None;
        self.served.clear();
        self.named.clear();
    }

    /// Notes that the server has opened a read view. `contains`: `valid_from`, read before that; `ends_asked`: read after.
    pub(crate) fn opened(&mut self, contains: Position, ends_asked: u64) {
        let is_proven = self.as_of.is_none();
        let proof = Proof::default();
        self.at_server = AtServer::Open { contains, ends_asked, is_settled: false, is_proven, proof };
        self.shown = None;
    }

    /// Notes that the server has opened no read view, though it was told to.
    pub(crate) fn note_not_open(&mut self) {
        self.at_server = AtServer::None;
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
    pub(crate) fn shows(&mut self, shown: Shown, applied_before: u64) {
        self.shown = Some((shown, applied_before));
    }

    /// Whether all that the read view shows is applied. Called before [`Self::reads`].
    pub(crate) fn settles(&mut self, upstream: &Upstream, freshness: &Freshness) -> bool {
        let (Some(Manner::Shared), AtServer::Open { ends_asked, is_settled, .. }) =
            (self.manner, &mut self.at_server)
        else {
            return false;
        };
        let is_shown_applied = |(shown, since): &(Shown, u64)| upstream.has_applied(shown, *since);
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
            proof.untouched = self.as_of.and_then(|at| freshness.untouched(&self.served, at));
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
        self.manner == Some(Manner::Shared) && matches!(self.at_server, AtServer::Open { .. })
    }

    /// Returns how the transaction's statements read.
    pub(crate) fn manner(&self) -> Option<Manner> {
        self.manner
    }

    /// Whether it is known which moment the transaction reads.
    pub(crate) fn is_known(&self) -> bool {
        match self.manner {
            None => false,
            Some(Manner::Each) => true,
            Some(Manner::Shared) => self.at_server != AtServer::Unknown,
        }
    }

    /// Whether served results bind the transaction to a moment that the server does not know.
    pub(crate) fn is_bound(&self) -> bool {
        self.manner == Some(Manner::Shared) && self.as_of.is_some()
    }

    /// Returns since when the transaction has been bound, if the server has been told to open no read view yet.
    pub(crate) fn bound_since(&self) -> Option<Instant> {
        self.since.filter(|_| self.is_bound() && self.at_server == AtServer::None)
    }

    /// Stops opening read views before a statement needs them.
    pub(crate) fn tries_no_more(&mut self) {
        self.since = None;
        self.opens = Opens::First;
    }

    /// Whether the server has not been told to open a read view, and all reads share one moment.
    pub(crate) fn is_unopened(&self) -> bool {
        self.manner == Some(Manner::Shared) && self.at_server == AtServer::None
    }

    /// Whether an answer may be given before the proof that it is true in the read view.
    pub(crate) fn may_be_bound(&self) -> bool {
        match self.opens {
            Opens::Late => true,
            Opens::Before => self.at_server != AtServer::None,
            Opens::First => false,
        }
    }

    /// Notes that a statement of the transaction needs this.
    pub(crate) fn note_needs(&mut self, needs: Needs) {
        self.needs = self.needs.max(needs);
    }

    /// Notes whether lanes may carry the reads that memory does not answer.
    pub(crate) fn note_lanes(&mut self, are_there: bool) {
        self.caution.note_lanes(are_there);
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
        if let (None, AtServer::Open { is_proven, proof, .. }) = (self.as_of, &mut self.at_server) {
            self.as_of = Some(as_of);
            *is_proven = false;
            proof.untouched = freshness.untouched(&[], as_of);
        }
    }

    /// Returns how many reads are still to come, if the transaction is like the one before.
    pub(crate) fn reads_left(&self) -> u32 {
        (self.caution.reads() + 1).saturating_sub(self.reads)
    }

    /// Returns which moment the next statement reads.
    pub(crate) fn reads(&self, freshness: &Freshness) -> Reads {
        match (self.manner, self.at_server) {
            (None, _) | (Some(Manner::Shared), AtServer::Unknown | AtServer::Perhaps { .. }) => {
                Reads::Unknown
            }
            (Some(Manner::Each), _) => Reads::Now,
            (Some(Manner::Shared), AtServer::Open { contains, is_settled, is_proven: true, .. }) => {
                if !is_settled {
                    return Reads::NotYet;
                }
                // Read after that: an end that was asked for after the read view was opened lies at or below this position.
                Reads::AsOf(Moment::Snapshot { contains, within: freshness.applied() })
            }
            (Some(Manner::Shared), _) if self.served.len() > SERVED_MAX => Reads::Unknown,
            (Some(Manner::Shared), _) => {
                Reads::AsOf(self.as_of.map_or_else(|| Moment::now(freshness), Moment::AsOf))
            }
        }
    }

    /// Returns the position from which the server's answer to a question now is valid. `valid_from` is that position for an answer outside of
    /// transactions. `None` if the position is unknown.
    pub(crate) fn valid_from(&self, valid_from: Position) -> Option<Position> {
        match (self.manner, self.at_server) {
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
            Moment::AsOf(at) if self.manner == Some(Manner::Shared) => {
                if self.as_of.replace(at).is_none() {
                    self.since = Some(Instant::now());
                }
            }
            Moment::Snapshot { .. } if self.manner == Some(Manner::Shared) => self.keep_named(),
            _ => self.served.clear(),
        }
    }

    /// Moves the moment on to the present one, if all served results are true then too. Returns whether it has moved.
    pub(crate) fn move_on(&mut self, freshness: &Freshness) -> bool {
        let (Some(at), now) = (self.as_of, freshness.applied()) else { return false };
        if self.at_server != AtServer::None {
            return false; // Its moment is to be proven of what was served before.
        }
        let holds = || freshness.holds_until(&self.served, at, now, Fences::Refuse);
        if now <= at || holds() != Holds::Proven {
            return false;
        }
        self.as_of = Some(now);
        true
    }

    /// Whether the served results are true in the server's read view.
    pub(crate) fn holds(&mut self, freshness: &Freshness, fences: Fences) -> Holds {
        let (Some(at), AtServer::Open { is_settled, proof, .. }) = (self.as_of, &mut self.at_server) else {
            return Holds::Proven;
        };
        if !*is_settled {
            return Holds::NotYet;
        }
        let applied = freshness.applied();
        let within = *proof.within.get_or_insert(applied);
        match freshness.holds_until(&self.served, at, applied, fences) {
            Holds::Changed => {
                let untouched = |found| freshness.holds_untouched(found, within);
                proof.untouched.map_or(Holds::Changed, untouched)
            }
            held => held,
        }
    }
}
