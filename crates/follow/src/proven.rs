//! Proofs about the present moment: how recent the applied state is, and that commits wait for us.
//!
//! A heartbeat proves little about the moment of its arrival: it may have lain in a buffer, ours or the network's, while this process or
//! the line was held up. The proof here rests on questions of our own. At `T` of *our* clock we ask where the binlog ends. Every commit
//! that anyone knew of at `T` is below the answer. Once `applied` has passed the answer, everything committed up to `T` has set its
//! stamps. That stays true however old the proof gets.
//!
//! The question also has a number ([`Freshness::ask_end`]): results that were stored before it was asked are settled then, and
//! transactions may read them.
//!
//! The level `semisync` needs one thing more. Before each such question the server is asked whether its commits wait for us
//! ([`crate::semisync`]). If they do, a commit that we have not applied was logged after `T`. It becomes visible by our acknowledgement,
//! which follows its stamps, or by the server's timeout, which ends at `T` + timeout at the earliest. So hits are safe until then. Only
//! half of the time is used, because clocks differ and packets take time. One case remains: an administrator ends the wait by hand (turns
//! it off, or adds another replica whose acknowledgement is enough). The next question notices that.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use freshet_cache::{Freshness, Position};
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::semisync::Lack;

/// The most questions for the end of the binlog whose answers are not applied yet; at this bound no further one is remembered.
const ASKED_MAX: usize = 16;

/// Why commits do not wait while there is no stream.
const NOT_FOLLOWED: &str = "the binlog is not followed now";

/// How semi-synchronous replication stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Semisync {
    /// It was not asked for: no commit of the server waits for us.
    Off,
    /// Commits wait for us.
    On,
    /// It was asked for, and commits do not wait for us.
    Not(Lack),
}

/// Shared with the sessions.
pub(crate) struct Proofs {
    current_to_ms: AtomicU64,
    /// When the last look at changes began that no binlog tells of.
    looked_around_ms: AtomicU64,
    /// A session needs `current_to_ms` to be newer than it is.
    asked: AtomicBool,
    wanted: AtomicBool,
    waits_until_ms: AtomicU64,
    semisync: Mutex<Semisync>,
    /// A session waits for a question that is asked from now on.
    end_asked: AtomicBool,
    /// Woken when `applied` has passed the answer to a question, and when more is known of whose the transactions are.
    passed: Arc<Notify>,
}

impl Proofs {
    pub(crate) fn new(wants_semisync: bool) -> Self {
        let proven = Self {
            current_to_ms: AtomicU64::new(0),
            looked_around_ms: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            wanted: AtomicBool::new(wants_semisync),
            waits_until_ms: AtomicU64::new(0),
            semisync: Mutex::new(Semisync::Off),
            end_asked: AtomicBool::new(false),
            passed: Arc::default(),
        };
        proven.lose();
        proven
    }

    /// Returns a moment: everything that was committed up to it is applied, and changes that no binlog tells of are stamped. Release and
    /// Acquire: a session that sees the moment sees the stamps.
    pub(crate) fn current_to_ms(&self) -> u64 {
        self.current_to_ms.load(Ordering::Acquire).min(self.looked_around_ms.load(Ordering::Acquire))
    }

    /// Notes a look that began at this moment: changes that no binlog tells of are stamped.
    pub(crate) fn looked_around(&self, asked_ms: u64) {
        self.looked_around_ms.fetch_max(asked_ms, Ordering::Release);
    }

    /// Asks for a newer proof. `true` for the first call since the last answer.
    pub(crate) fn ask(&self) -> bool {
        // Loaded first: while the question is under way every hit may come here, and none of them writes.
        !self.asked.load(Ordering::Relaxed) && !self.asked.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::AcqRel)
    }

    /// As [`Self::ask`], for a question that is asked after this call, even if others are under way.
    pub(crate) fn ask_end(&self) -> bool {
        !self.end_asked.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn is_end_asked(&self) -> bool {
        self.end_asked.load(Ordering::Relaxed)
    }

    pub(crate) fn take_end_asked(&self) -> bool {
        self.end_asked.swap(false, Ordering::AcqRel)
    }

    /// Returns the notification: `applied` has passed the answer to a question, or more is known of whose the transactions are.
    pub(crate) fn passed(&self) -> &Arc<Notify> {
        &self.passed
    }

    pub(crate) fn want_semisync(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    pub(crate) fn wants_semisync(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Whether no commit that is not applied can be visible to anyone at this moment.
    pub(crate) fn commits_wait(&self, now_ms: u64) -> bool {
        now_ms < self.waits_until_ms.load(Ordering::Acquire)
    }

    pub(crate) fn semisync(&self) -> Semisync {
        self.semisync.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how semi-synchronous replication stands. If commits do not wait any more, hits end before anyone is told why.
    pub(crate) fn set_semisync(&self, now: Semisync) {
        if now != Semisync::On {
            self.waits_until_ms.store(0, Ordering::Release);
        }
        let mut semisync = self.semisync.lock().unwrap_or_else(PoisonError::into_inner);
        if *semisync != now {
            log(&now);
            *semisync = now;
        }
    }

    /// Takes back all proofs: the stream is lost.
    pub(crate) fn lose(&self) {
        self.current_to_ms.store(0, Ordering::Release);
        self.set_semisync(match self.wants_semisync() {
            true => Semisync::Not(Lack::new(NOT_FOLLOWED, "Freshet_stream says why")),
            false => Semisync::Off,
        });
    }

    fn learn(&self, asked: &EndAsked) {
        self.current_to_ms.fetch_max(asked.at_ms, Ordering::Release);
        if let Some(for_ms) = asked.waits_for_ms {
            self.waits_until_ms.fetch_max(asked.at_ms.saturating_add(for_ms), Ordering::Release);
        }
    }
}

/// Logs the change. The loss of the stream has a line of its own.
fn log(now: &Semisync) {
    match now {
        Semisync::On => info!("the server's commits wait for our acknowledgement"),
        Semisync::Not(Lack { why, remedy }) if why != NOT_FOLLOWED => {
            warn!(%why, %remedy, "the server's commits do not wait for us: nothing is answered at level semisync");
        }
        Semisync::Not(_) | Semisync::Off => {}
    }
}

/// A question for the end of the binlog whose answer is not applied yet.
#[derive(Debug)]
pub(crate) struct EndAsked {
    /// When the question was asked.
    pub(crate) at_ms: u64,
    /// See [`Freshness::ask_end`].
    pub(crate) number: u64,
    /// Where the binlog ended, by the server's answer.
    pub(crate) end: Position,
    /// How long commits that were not logged by then wait for us, if they waited just before.
    pub(crate) waits_for_ms: Option<u64>,
}

/// The questions under way, in the order of their answers.
#[derive(Debug, Default)]
pub(crate) struct EndsAsked(VecDeque<EndAsked>);

impl EndsAsked {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes that the server has answered a question.
    pub(crate) fn answered(&mut self, asked: EndAsked) {
        if self.0.len() < ASKED_MAX {
            self.0.push_back(asked);
        }
    }

    /// Notes that commits do not wait: earlier questions prove nothing about that any more.
    pub(crate) fn commits_do_not_wait(&mut self) {
        self.0.iter_mut().for_each(|asked| asked.waits_for_ms = None);
    }

    /// Draws the conclusions from what has been published as applied.
    pub(crate) fn applied(&mut self, freshness: &Freshness, proven: &Proofs) {
        let applied = freshness.applied();
        while self.0.front().is_some_and(|asked| asked.end <= applied) {
            let Some(asked) = self.0.pop_front() else { break };
            freshness.end_passed(asked.number);
            proven.learn(&asked);
            proven.passed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(at_ms: u64, freshness: &Freshness, end: u64, waits_for_ms: Option<u64>) -> EndAsked {
        EndAsked { at_ms, number: freshness.ask_end(), end: Position::new(end), waits_for_ms }
    }

    #[test]
    fn what_is_applied_is_as_recent_as_the_question_whose_answer_it_has_passed() {
        let (proven, mut ends, freshness) = (Proofs::new(true), EndsAsked::default(), Freshness::new());
        proven.looked_around(1_000);
        ends.answered(asked(100, &freshness, 10, None));
        ends.answered(asked(200, &freshness, 20, Some(50)));
        freshness.publish_applied(Position::new(9));
        ends.applied(&freshness, &proven);
        assert_eq!(proven.current_to_ms(), 0);
        freshness.publish_applied(Position::new(19));
        ends.applied(&freshness, &proven);
        assert_eq!(proven.current_to_ms(), 100);
        assert!(!proven.commits_wait(101));
        assert!(freshness.is_settled(0) && !freshness.is_settled(1));
        freshness.publish_applied(Position::new(20));
        ends.applied(&freshness, &proven);
        assert_eq!(proven.current_to_ms(), 200);
        assert!(proven.commits_wait(249) && !proven.commits_wait(250));
        proven.lose();
        assert!(!proven.commits_wait(0) && proven.current_to_ms() == 0);
    }

    #[test]
    fn nothing_is_recent_that_is_in_no_binlog_and_was_not_asked_for() {
        let (proven, mut ends, freshness) = (Proofs::new(false), EndsAsked::default(), Freshness::new());
        ends.answered(asked(100, &freshness, 10, None));
        freshness.publish_applied(Position::new(10));
        ends.applied(&freshness, &proven);
        assert_eq!(proven.current_to_ms(), 0);
        proven.looked_around(70);
        assert_eq!(proven.current_to_ms(), 70);
    }

    #[test]
    fn a_fallback_takes_back_what_is_under_way() {
        let (proven, mut ends, freshness) = (Proofs::new(true), EndsAsked::default(), Freshness::new());
        proven.looked_around(1_000);
        ends.answered(asked(100, &freshness, 10, Some(1_000)));
        ends.commits_do_not_wait();
        proven.set_semisync(Semisync::Not(Lack::new("gone", "none")));
        freshness.publish_applied(Position::new(10));
        ends.applied(&freshness, &proven);
        assert_eq!(proven.current_to_ms(), 100);
        assert!(!proven.commits_wait(101));
    }
}
