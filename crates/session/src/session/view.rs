//! What a transaction reads: each statement what is committed then, or all of them the state of one moment.
//!
//! The moment of a transaction at REPEATABLE READ is one of two ([`freshet_cache::snapshot`] has the rule and its proof):
//!
//! * While the server has opened no read view for it, what was applied at its first read from memory. It may be moved on for as long
//!   as nothing has changed of what was served.
//! * The server's read view, which START TRANSACTION WITH CONSISTENT SNAPSHOT has opened, once what was served before is proven to
//!   be true in it.
//!
//! Where the server may have opened a read view at a moment that is not known here, nothing is served from memory. [`perhaps`] says when it
//! is known after all.

use std::time::Instant;

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Dep, Fences, Freshness, Holds, Moment, Position, Untouched, Verdict};
use freshet_follow::{Shown, Upstream};
use freshet_sql::{Characteristics, Isolation};

pub(crate) use caution::{Needs, Opens};

use crate::environment::Transactions;

mod caution;
mod perhaps;

/// How many dependencies of what was served are kept: a transaction that reads more from memory asks the server for the rest.
const SERVED_MAX: usize = 8192;

/// What the buffer for them keeps of itself between transactions, in dependencies.
const SERVED_KEPT: usize = 512;

/// How the statements of a transaction read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Each what is committed then: READ COMMITTED.
    Each,
    /// All as of one moment: REPEATABLE READ.
    Shared,
}

impl Manner {
    /// How one reads of which this is said, where others are like this.
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
    /// There is none.
    #[default]
    None,
    /// It shows every transaction up to `contains`, and none that is not settled by a question after `ends_asked`.
    Open { contains: Position, ends_asked: u64, is_settled: bool, is_proven: bool, proof: Proof },
    /// There may be one. If there is, it shows every transaction up to here.
    Perhaps { contains: Position },
    /// There may be one, of a moment that is not known here.
    Unknown,
}

/// What is known of what was served before a read view was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Proof {
    /// It was found untouched when the read view was open.
    untouched: Option<Untouched>,
    /// The read view shows nothing beyond this.
    within: Option<Position>,
}

/// Questions behind the statement that opens a read view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ViewQuestions {
    /// How many there are.
    pub(crate) count: usize,
    /// How many statements are before the one behind which they come.
    pub(crate) statements_before: usize,
    /// How many transactions were applied before they were asked.
    pub(crate) applied_before: u64,
}

/// What is known of the reads of a session's transaction.
#[derive(Debug, Default)]
pub(crate) struct ReadView {
    /// `None`: it is not known.
    manner: Option<Manner>,
    /// What is said of this transaction alone.
    pub(crate) said: Characteristics,
    /// It shows when the environment is read, if that has this version.
    undecided: Option<u64>,
    at_server: AtServer,
    /// What it shows at most, and how many transactions were applied before the server was asked for that.
    shown: Option<(Shown, u64)>,
    /// The questions for that which are on their way.
    asked: ViewQuestions,
    /// What was applied at the first read from memory.
    as_of: Option<Position>,
    /// When that was.
    since: Option<Instant>,
    /// What the answers depend on that were served as of that position.
    served: Vec<Dep>,
    /// What the definitions of the tables hang on of which answers were served. The server does not know that they were read, and lets
    /// others define them anew.
    named: Vec<Dep>,
    /// The server has opened a read view in it by which nothing was read.
    pub(crate) has_unread_view: bool,
    /// No statement has begun it. MySQL does not tell of such a transaction, but of the statement with which we begin it.
    pub(crate) is_by_itself: bool,
    /// The server has carried something out in it that may have read or written.
    pub(crate) has_read: bool,
    /// Something was served from memory in the transaction.
    pub(crate) has_served: bool,
    /// Some of that was read for it in a read view that transactions share.
    pub(crate) rides: bool,
    /// What its statements have needed.
    needs: Needs,
    /// The server has opened its read view because its client took its time, and no statement has needed that.
    pub(crate) is_opened_in_time: bool,
    /// When the server opens the read view.
    pub(crate) opens: Opens,
    caution: caution::Caution,
    /// How often something was looked for in memory.
    pub(crate) reads: u32,
    /// The savepoints that were set before the server knew of the transaction, in their order.
    pub(crate) savepoints: Vec<String>,
    /// Those that stand before its first read, also when the server knows of it: who goes back to one of them has read nothing.
    pub(crate) early: Vec<String>,
}

/// What is done with a savepoint.
pub(crate) enum Mark<'a> {
    Set(&'a str),
    BackTo(&'a str),
    Remove(&'a str),
}

/// How many savepoints are remembered in place of the server.
const SAVEPOINTS_MAX: usize = 64;

/// Where a savepoint stands among others.
pub(super) fn place(names: &[String], name: &str) -> Option<usize> {
    names.iter().position(|known| known.eq_ignore_ascii_case(name))
}

/// It is set anew, behind all others.
pub(super) fn moves(names: &mut Vec<String>, name: &str) {
    names.retain(|known| !known.eq_ignore_ascii_case(name));
}

/// As of when a statement reads.
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
    /// A transaction begins that has read nothing.
    pub(crate) fn begin(&mut self, manner: Option<Manner>) {
        self.end();
        self.manner = manner;
        self.opens = self.caution.begins();
    }

    /// What was served turned out not to be true in the read view: transactions to come do not risk it.
    pub(crate) fn refute(&mut self) {
        self.caution.refute(self.opens);
    }

    /// The same where autocommit is off, and no statement has begun it.
    pub(crate) fn begin_by_itself(&mut self, manner: Option<Manner>) {
        self.begin(manner);
        self.is_by_itself = true;
    }

    /// One begins, and how it reads shows when the environment is read, if that has this version still.
    pub(crate) fn begin_undecided(&mut self, version: u64) {
        self.begin(None);
        self.undecided = Some(version);
    }

    /// Whether that is to be found out, and can be.
    pub(crate) fn is_undecided(&self, version: u64) -> bool {
        self.manner.is_none() && self.undecided == Some(version)
    }

    /// It has been found out.
    pub(crate) fn decide(&mut self, manner: Option<Manner>) {
        self.manner = manner;
    }

    /// The transaction is over.
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
            // Its client took its time: no statement has needed that.
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

    /// Something has happened after which it is not known as of when the transaction reads.
    pub(crate) fn lose(&mut self) {
        self.manner = None;
        self.undecided = None;
        self.at_server = AtServer::Unknown;
    }

    /// Whether a savepoint of this name stands before its first read.
    pub(crate) fn is_early(&self, name: &str) -> bool {
        place(&self.early, name).is_some()
    }

    /// Sets, goes back to or removes a savepoint. `None` if there is none of that name, or no room for it.
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
            // The server has an error for that.
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

    /// Whether nothing was read in it.
    fn is_unread(&self) -> bool {
        self.as_of.is_none() && self.at_server == AtServer::None && !self.has_read
    }

    /// All that it has read is undone, and its moment is that of the next read.
    fn forget_read(&mut self) {
        self.as_of = None;
        self.since = None;
        self.served.clear();
        self.named.clear();
    }

    /// The server has opened a read view. `contains`: `valid_from`, read before that; `ends_asked`: read after.
    pub(crate) fn opened(&mut self, contains: Position, ends_asked: u64) {
        let is_proven = self.as_of.is_none();
        let proof = Proof::default();
        self.at_server = AtServer::Open { contains, ends_asked, is_settled: false, is_proven, proof };
        self.shown = None;
    }

    /// It has opened none, though it was told to.
    pub(crate) fn note_not_open(&mut self) {
        self.at_server = AtServer::None;
    }

    /// The server is asked what the read view shows at most, behind the statement that opens it.
    pub(crate) fn note_asked(&mut self, asked: ViewQuestions) {
        self.asked = asked;
    }

    /// How many of these are not answered yet.
    pub(crate) fn questions(&self) -> usize {
        self.asked.count
    }

    /// Has the server be asked where its binlog ends, if that is needed for the read view to settle.
    pub(crate) fn asks_if_unsettled(&mut self, upstream: &Upstream, freshness: &Freshness) {
        if !self.settles(upstream, freshness) {
            upstream.ask_end();
        }
    }

    /// A statement is answered. The questions whose answers come next.
    pub(crate) fn take_asked(&mut self) -> ViewQuestions {
        if let Some(left) = self.asked.statements_before.checked_sub(1) {
            self.asked.statements_before = left;
            return ViewQuestions::default();
        }
        std::mem::take(&mut self.asked)
    }

    /// The server has said what the read view shows at most.
    pub(crate) fn shows(&mut self, shown: Shown, applied_before: u64) {
        self.shown = Some((shown, applied_before));
    }

    /// Whether all that the read view shows is applied. To be asked before [`Self::reads`].
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

    /// The server has said that the read view is open.
    pub(crate) fn note_open(&mut self, freshness: &Freshness) {
        if let AtServer::Open { ends_asked, proof, .. } = &mut self.at_server {
            *ends_asked = (*ends_asked).min(freshness.ends_asked());
            proof.untouched = self.as_of.and_then(|at| freshness.untouched(&self.served, at));
        }
    }

    /// What was served is true in the server's read view.
    pub(crate) fn note_proven(&mut self) {
        self.caution.note_proven(self.opens);
        if let AtServer::Open { is_proven, .. } = &mut self.at_server {
            *is_proven = true;
        }
        self.keep_named();
    }

    /// Forgets what was served but for the definitions in it.
    fn keep_named(&mut self) {
        self.named.extend(self.served.drain(..).filter(|dep| dep.is_of_definitions()));
        self.named.sort_unstable();
        self.named.dedup();
    }

    /// Whether there is anything to be proven before the server reads for it.
    pub(crate) fn is_to_be_proven(&self) -> bool {
        self.is_unproven() || !self.named.is_empty()
    }

    /// Whether the tables of which something was served are defined as they were when the server's read view was opened. `NotYet` while a
    /// definition is under way that may be of one of them: other fences are those of rows.
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

    /// Whether the read view was opened and it is to be proven that what was served is true in it.
    pub(crate) fn is_unproven(&self) -> bool {
        matches!(self.at_server, AtServer::Open { is_proven: false, .. })
    }

    /// Whether the server has opened a read view that was asked for here.
    pub(crate) fn is_shared_view(&self) -> bool {
        self.manner == Some(Manner::Shared) && matches!(self.at_server, AtServer::Open { .. })
    }

    /// How its statements read.
    pub(crate) fn manner(&self) -> Option<Manner> {
        self.manner
    }

    /// Whether it is known as of when it reads.
    pub(crate) fn is_known(&self) -> bool {
        match self.manner {
            None => false,
            Some(Manner::Each) => true,
            Some(Manner::Shared) => self.at_server != AtServer::Unknown,
        }
    }

    /// Whether what was served binds it to a moment of which the server knows nothing.
    pub(crate) fn is_bound(&self) -> bool {
        self.manner == Some(Manner::Shared) && self.as_of.is_some()
    }

    /// Since when it has been bound, if the server has been told to open no read view yet.
    pub(crate) fn bound_since(&self) -> Option<Instant> {
        self.since.filter(|_| self.is_bound() && self.at_server == AtServer::None)
    }

    /// No read view is opened any more before a statement needs it.
    pub(crate) fn tries_no_more(&mut self) {
        self.since = None;
        self.opens = Opens::First;
    }

    /// Whether the server has been told to open none, and all reads share one.
    pub(crate) fn is_unopened(&self) -> bool {
        self.manner == Some(Manner::Shared) && self.at_server == AtServer::None
    }

    /// Whether an answer may be given before it is proven to be true in the read view.
    pub(crate) fn may_be_bound(&self) -> bool {
        match self.opens {
            Opens::Late => true,
            Opens::Before => self.at_server != AtServer::None,
            Opens::First => false,
        }
    }

    /// One of its statements needs this.
    pub(crate) fn note_needs(&mut self, needs: Needs) {
        self.needs = self.needs.max(needs);
    }

    /// Whether what is not in memory may be read on a lane.
    pub(crate) fn note_lanes(&mut self, are_there: bool) {
        self.caution.note_lanes(are_there);
    }

    /// Whether its read view was to be opened late.
    pub(crate) fn opens_late(&self) -> bool {
        self.opens == Opens::Late
    }

    /// The same of an answer that begins a transaction.
    pub(crate) fn may_be_bound_next(&self) -> bool {
        self.caution.next_opens() == Opens::Late
    }

    /// The read view that was opened has shown nothing yet: what is served from now on is proven to be true in it later. `as_of` is
    /// what was applied before it was opened.
    pub(crate) fn binds(&mut self, as_of: Position, freshness: &Freshness) {
        if let (None, AtServer::Open { is_proven, proof, .. }) = (self.as_of, &mut self.at_server) {
            self.as_of = Some(as_of);
            *is_proven = false;
            proof.untouched = freshness.untouched(&[], as_of);
        }
    }

    /// How many reads there are still to come, if it is like the one before.
    pub(crate) fn reads_left(&self) -> u32 {
        (self.caution.reads() + 1).saturating_sub(self.reads)
    }

    /// As of when the next statement reads.
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
                // Read after that: an end that was asked for after it was opened lies at or below.
                Reads::AsOf(Moment::Snapshot { contains, within: freshness.applied() })
            }
            (Some(Manner::Shared), _) if self.served.len() > SERVED_MAX => Reads::Unknown,
            (Some(Manner::Shared), _) => {
                Reads::AsOf(self.as_of.map_or_else(|| Moment::now(freshness), Moment::AsOf))
            }
        }
    }

    /// From where on an answer of the server is valid that is asked for now. `valid_from` is what one would be valid from that is
    /// read then; `None` where that is not known.
    pub(crate) fn valid_from(&self, valid_from: Position) -> Option<Position> {
        match (self.manner, self.at_server) {
            (None, _) | (Some(Manner::Shared), AtServer::Unknown) => None,
            (Some(Manner::Shared), AtServer::Open { contains, .. } | AtServer::Perhaps { contains }) => {
                Some(contains.min(valid_from))
            }
            _ => Some(valid_from),
        }
    }

    /// What answers depend on is noted here before they are served as of `moment`.
    pub(crate) fn served(&mut self) -> &mut Vec<Dep> {
        &mut self.served
    }

    /// An answer was served as of this moment.
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

    /// Moves the moment on to the present one, if all that was served is true then too. Whether it has moved.
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

    /// Whether what was served is true in the server's read view.
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
