//! Identical misses ask the server once. Of the sessions that look for the same answer while it is being made, one asks the server, and the
//! others wait for its answer and look again. The one rule judges what they find, as for any stored answer. So no session gets an answer
//! that it would not get later.
//!
//! An answer to a table that is written all the time is never stored. A session that finds nothing waits once more. The question that it
//! then waits for was begun after the session's own statement had come, so the server answers both alike, whatever has changed before or
//! changes after: the session gets a copy of that answer, stored or not. It gets a copy of an earlier question's answer too, if a change has
//! outrun the answer, but had not yet when the session began to wait: by the one rule, the session could have had the answer then.
//!
//! Nobody begins to wait for an answer that a change has already outrun: the next session asks anew, and later ones wait for that. Two
//! sessions ask the same at most, so that a table that changes all the time does not have all of them ask.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ahash::{HashMap, RandomState};
use freshet_cache::{Dep, Key, Position};
use freshet_protocol::{ErrPacket, StatusFlags};
use tokio::sync::watch;

use crate::bounds::Permit;

/// The number of locks among which the questions under way are spread.
const SHARDS: usize = 16;

/// The state of a question.
#[derive(Debug, Clone, Default)]
pub(crate) enum QuestionState {
    #[default]
    UnderWay,
    /// The session that asked is gone, or does something else.
    Abandoned,
    /// The question is answered. The answer is stored, if it may be. Here is a copy, if a session waits for one.
    Answered(Option<Arc<AnswerCopy>>),
    /// The answer is for one session alone: it is too large, or depends on that session, or goes at the pace of one client.
    Private,
    /// The server has refused the question.
    Refused(Arc<QuestionRefused>),
}

/// The server's refusal of a question.
#[derive(Debug)]
pub(crate) struct QuestionRefused {
    pub(crate) error: ErrPacket,
    rests_on: Arc<OnceLock<QuestionBasis>>,
}

impl QuestionRefused {
    /// Returns what the refusal rests on, if that is known.
    pub(crate) fn rests_on(&self) -> Option<&QuestionBasis> {
        self.rests_on.get()
    }
}

/// The packets of an answer.
#[derive(Debug)]
pub(crate) struct AnswerPackets {
    /// The packets, as the client of the session that asked got them.
    pub(crate) body: Vec<u8>,
    /// Where the session's status flags stand in the packets.
    pub(crate) status_at: [u32; 2],
    /// The status flags that the answer came with.
    pub(crate) status: StatusFlags,
    /// The number of rows that the statement found, if that is known.
    pub(crate) found_rows: Option<u32>,
    /// The digest under which the answer is counted.
    pub(crate) tag: u16,
}

/// A copy of an answer for sessions that asked the same before the question was begun.
#[derive(Debug)]
pub(crate) struct AnswerCopy {
    pub(crate) packets: AnswerPackets,
    /// The rights by which the tables were read, and the position from which the answer is valid: a session whose rights have changed
    /// since gets no copy.
    pub(crate) rights: Dep,
    pub(crate) valid_from: Position,
    /// The part of the budget for copies that the packets hold.
    pub(crate) _permit: Permit,
}

/// What the outcome of a question rests on.
#[derive(Debug)]
pub(crate) struct QuestionBasis {
    /// The dependencies that the answer may have, with any number of rows.
    pub(crate) read: Vec<Dep>,
    /// The dependencies of a refusal: the server does not say which row made the statement fail.
    pub(crate) tables: Vec<Dep>,
    /// The position from which the outcome is valid.
    pub(crate) valid_from: Position,
}

/// The two parts of a key.
type QuestionKey = (u32, Box<[u8]>);

/// The questions under way whose answers may be stored.
#[derive(Debug, Default)]
pub(crate) struct Coalescing {
    shards: [Mutex<QuestionShard>; SHARDS],
    /// The number of questions that have begun.
    begun: AtomicU64,
    hash: RandomState,
}

type QuestionShard = HashMap<QuestionKey, Question>;

/// When a statement first joined: how many questions had begun by then, whatever their keys. Its answer may be that of any later one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinedAfter(u64);

/// A question under way.
#[derive(Debug)]
struct Question {
    /// The number of this question, in the order in which questions began.
    number: u64,
    told: watch::Receiver<QuestionState>,
    rests_on: Arc<OnceLock<QuestionBasis>>,
    /// Whether a session waits that takes a copy of the answer.
    is_wanted: Arc<AtomicBool>,
    /// The same question, asked earlier, with an answer that was outrun when this one began.
    outrun: Option<Box<Question>>,
}

impl Question {
    /// Whether another session may ask this too, since the answer is outrun.
    fn may_be_asked_anew(&self, is_outrun: impl FnOnce(&QuestionBasis) -> bool) -> bool {
        self.outrun.as_ref().is_none_or(|earlier| earlier.is_over())
            && self.rests_on.get().is_some_and(is_outrun)
    }

    fn is_over(&self) -> bool {
        self.told.has_changed().is_err()
    }
}

/// Who asks the server.
#[derive(Debug)]
pub(crate) enum Role {
    /// This session.
    Leader(Box<Leader>),
    /// Another session.
    Follower(Follower),
}

/// A session that waits for another one's answer.
#[derive(Debug)]
pub(crate) struct Follower {
    /// Gets the state of the question.
    pub(crate) told: watch::Receiver<QuestionState>,
    pub(crate) may_copy: MayCopy,
}

/// Whether a session may have a copy of the answer that it waits for.
#[derive(Debug)]
pub(crate) enum MayCopy {
    /// Not unless the one rule allows it when the answer has come.
    No,
    /// Yes: when the session began to wait, nothing had changed on which the answer rests.
    AsOfArrival(Arc<OnceLock<QuestionBasis>>),
    /// Yes: the question was begun after the session's statement had come.
    Always,
}

/// How a statement judges the basis of a question.
pub(crate) struct Judging<O, C> {
    /// Whether a change has outrun the answer.
    pub(crate) is_outrun: O,
    /// Whether the statement could have a stored answer with this basis now.
    pub(crate) is_current: C,
}

impl Coalescing {
    /// Begins to ask for the answer with this key, unless another session already asks, and a change has not outrun its answer. `since`:
    /// when the statement joined first, which this call notes.
    pub(crate) fn join(
        self: &Arc<Self>,
        key: Key<'_>,
        since: &mut Option<JoinedAfter>,
        Judging { is_outrun, is_current }: Judging<
            impl FnOnce(&QuestionBasis) -> bool,
            impl FnOnce(&QuestionBasis) -> bool,
        >,
    ) -> Role {
        let question = (key.environment, Box::from(key.text));
        let since = *since.get_or_insert_with(|| JoinedAfter(self.begun.load(Ordering::SeqCst)));
        let mut asked = self.shard(&question);
        let mut outrun = None;
        if let Some(known) = asked.get(&question) {
            if !known.may_be_asked_anew(is_outrun) {
                let may_copy = match known.rests_on.get() {
                    _ if known.number > since.0 => MayCopy::Always,
                    Some(basis) if is_current(basis) => MayCopy::AsOfArrival(Arc::clone(&known.rests_on)),
                    _ => MayCopy::No,
                };
                if !matches!(may_copy, MayCopy::No) {
                    known.is_wanted.store(true, Ordering::Relaxed);
                }
                return Role::Follower(Follower { told: known.told.clone(), may_copy });
            }
            outrun = asked.remove(&question).map(|known| Box::new(Question { outrun: None, ..known }));
        }
        let (tells, told) = watch::channel(QuestionState::UnderWay);
        let (rests_on, is_wanted) = (Arc::default(), Arc::default());
        // Counted before the question is sent.
        let begun = Question {
            number: self.begun.fetch_add(1, Ordering::SeqCst) + 1,
            told,
            rests_on: Arc::clone(&rests_on),
            is_wanted: Arc::clone(&is_wanted),
            outrun,
        };
        asked.insert(question.clone(), begun);
        drop(asked);
        let (coalescing, end) = (Arc::clone(self), QuestionState::Abandoned);
        Role::Leader(Box::new(Leader { coalescing, question, tells, end, rests_on, is_wanted }))
    }

    fn shard(&self, question: &QuestionKey) -> MutexGuard<'_, QuestionShard> {
        let at = self.hash.hash_one(question) as usize % SHARDS;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session that asks for an answer. The others go on when this value is dropped, for whatever reason.
#[derive(Debug)]
pub(crate) struct Leader {
    coalescing: Arc<Coalescing>,
    question: QuestionKey,
    tells: watch::Sender<QuestionState>,
    end: QuestionState,
    rests_on: Arc<OnceLock<QuestionBasis>>,
    is_wanted: Arc<AtomicBool>,
}

impl Leader {
    /// Whether a session waits that takes a copy of the answer.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Whether this is the question for the answer with this key.
    pub(crate) fn is_for(&self, key: Key<'_>) -> bool {
        self.question.0 == key.environment && *self.question.1 == *key.text
    }

    /// Sets what the outcome rests on.
    pub(crate) fn rests_on(&self, what: QuestionBasis) {
        let _ = self.rests_on.set(what);
    }

    /// Notes that the server has refused the question.
    pub(crate) fn is_refused(&mut self, error: ErrPacket) {
        let rests_on = Arc::clone(&self.rests_on);
        self.end = QuestionState::Refused(Arc::new(QuestionRefused { error, rests_on }));
    }

    /// Sets the final state; without a call the question is abandoned.
    pub(crate) fn ends_with(&mut self, end: QuestionState) {
        self.end = end;
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        // Removed before the others are told, so that nobody joins any more: they may ask again.
        let mut asked = self.coalescing.shard(&self.question);
        if asked.get(&self.question).is_some_and(|known| Arc::ptr_eq(&known.rests_on, &self.rests_on)) {
            let earlier = asked.remove(&self.question).and_then(|known| known.outrun);
            // It still asks: others count it.
            if let Some(earlier) = earlier.filter(|earlier| !earlier.is_over()) {
                asked.insert(self.question.clone(), *earlier);
            }
        }
        drop(asked);
        // An error means that nobody waits.
        let _ = self.tells.send(std::mem::take(&mut self.end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key<'static> = Key { environment: 1, text: b"SELECT 1" };

    /// `judged`: whether what the question rests on is outrun, and whether it is current.
    fn join_judging(
        coalescing: &Arc<Coalescing>,
        key: Key<'_>,
        since: &mut Option<JoinedAfter>,
        judged: [bool; 2],
    ) -> Role {
        let [is_outrun, is_current] = judged;
        coalescing.join(key, since, Judging { is_outrun: |_: &_| is_outrun, is_current: |_: &_| is_current })
    }

    fn join(coalescing: &Arc<Coalescing>, key: Key<'_>) -> Role {
        join_judging(coalescing, key, &mut None, [false, false])
    }

    #[test]
    fn one_asks_and_the_others_are_told_when_it_is_over() {
        let coalescing = Arc::new(Coalescing::default());
        let Role::Leader(mut leader) = join(&coalescing, KEY) else { panic!("nobody else asks") };
        let Role::Follower(Follower { mut told, .. }) = join(&coalescing, KEY) else {
            panic!("somebody does")
        };
        for other in [Key { environment: 2, ..KEY }, Key { text: b"SELECT 2", ..KEY }] {
            assert!(matches!(join(&coalescing, other), Role::Leader(_)));
        }
        assert!(matches!(*told.borrow_and_update(), QuestionState::UnderWay) && !told.has_changed().unwrap());
        leader.ends_with(QuestionState::Answered(None));
        drop(leader);
        assert!(matches!(*told.borrow(), QuestionState::Answered(None)));
        assert!(matches!(join(&coalescing, KEY), Role::Leader(_)), "it can be asked again");
    }

    #[test]
    fn a_copy_is_only_for_statements_that_came_before_the_question() {
        let coalescing = Arc::new(Coalescing::default());
        let follows = |since: &mut _| match join_judging(&coalescing, KEY, since, [false, false]) {
            Role::Follower(Follower { may_copy, .. }) => matches!(may_copy, MayCopy::Always),
            Role::Leader(_) => panic!("somebody asks"),
        };
        let leads = |since: &mut _| match join_judging(&coalescing, KEY, since, [false, false]) {
            Role::Leader(leader) => leader,
            Role::Follower(_) => panic!("nobody asks"),
        };
        let (mut early, mut late) = (None, None);
        let first = leads(&mut None);
        assert!(!follows(&mut early) && !follows(&mut early) && !first.is_wanted());
        drop(first);
        let second = leads(&mut None);
        assert!(!follows(&mut late) && !second.is_wanted());
        assert!(follows(&mut early) && second.is_wanted());
        drop(second);
        let third = leads(&mut early);
        assert!(!third.is_wanted() && follows(&mut late) && third.is_wanted());
    }

    #[test]
    fn a_copy_is_for_statements_too_that_could_have_had_the_answer_when_they_came() {
        let coalescing = Arc::new(Coalescing::default());
        let Role::Leader(leader) = join(&coalescing, KEY) else { panic!("nobody else asks") };
        let follows = |is_current| match join_judging(&coalescing, KEY, &mut None, [false, is_current]) {
            Role::Follower(Follower { may_copy, .. }) => may_copy,
            Role::Leader(_) => panic!("somebody asks"),
        };
        assert!(matches!(follows(true), MayCopy::No), "it is not known yet what the answer rests on");
        let valid_from = Position::new(1);
        leader.rests_on(QuestionBasis { read: Vec::new(), tables: Vec::new(), valid_from });
        assert!(matches!(follows(false), MayCopy::No) && !leader.is_wanted());
        let MayCopy::AsOfArrival(basis) = follows(true) else { panic!("it could have had the answer") };
        assert!(leader.is_wanted() && basis.get().is_some_and(|basis| basis.valid_from == valid_from));
    }

    #[test]
    fn nobody_waits_for_an_answer_that_is_outrun_and_two_ask_at_most() {
        let coalescing = Arc::new(Coalescing::default());
        let is_over = |told: &watch::Receiver<QuestionState>| told.has_changed().is_err();
        let asks_anew = || match join_judging(&coalescing, KEY, &mut None, [true, false]) {
            Role::Leader(leader) => Ok(leader),
            Role::Follower(Follower { told, .. }) => Err(told),
        };
        let Ok(first) = asks_anew() else { panic!("nobody else asks") };
        assert!(asks_anew().is_err(), "it is not known yet what the answer rests on");
        let rests_on =
            || QuestionBasis { read: Vec::new(), tables: Vec::new(), valid_from: Position::new(1) };
        first.rests_on(rests_on());
        assert!(matches!(join(&coalescing, KEY), Role::Follower(_)), "it is not outrun");
        let Ok(second) = asks_anew() else { panic!("it is outrun") };
        second.rests_on(rests_on());
        let Err(told) = asks_anew() else { panic!("two ask") };
        drop(first);
        assert!(!is_over(&told), "it was waiting for the second");
        let Ok(third) = asks_anew() else { panic!("the first is over, and the second is outrun") };
        drop(second);
        assert!(is_over(&told) && matches!(join(&coalescing, KEY), Role::Follower(_)), "the third asks");
        drop(third);
        let Role::Leader(first) = join(&coalescing, KEY) else { panic!("nobody asks") };
        first.rests_on(rests_on());
        let Ok(second) = asks_anew() else { panic!("it is outrun") };
        drop(second);
        let Ok(third) = asks_anew() else { panic!("the second is over") };
        third.rests_on(rests_on());
        assert!(asks_anew().is_err(), "the first still asks");
        drop(first);
    }
}
