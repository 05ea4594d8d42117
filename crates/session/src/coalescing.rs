//! Identical misses ask the server once. Of the sessions that look for the same answer while it is being made, one asks the server, and the
//! others wait for its answer and look again. The one rule judges what they find, as for any stored answer. So no session gets an answer
//! that it would not get later. A session that finds nothing asks for itself.
//!
//! Nobody begins to wait for an answer that a change has already outrun: the next session asks anew, and later ones wait for that. Two
//! sessions ask the same at most, so that a table that changes all the time does not have all of them ask.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ahash::{HashMap, RandomState};
use freshet_cache::{Dep, Key, Position};
use freshet_protocol::ErrPacket;
use tokio::sync::watch;

/// The number of locks among which the questions under way are spread.
const SHARDS: usize = 16;

/// The state of a question.
#[derive(Debug, Clone, Default)]
pub(crate) enum QuestionState {
    #[default]
    UnderWay,
    /// The session that asked is gone, or does something else.
    Abandoned,
    /// The question is over: its answer is stored, if it may be.
    Over,
    /// The answer is not stored, because something has changed meanwhile: the next one may be.
    Outrun,
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

/// What the outcome of a question rests on.
#[derive(Debug)]
pub(crate) struct QuestionBasis {
    /// The dependencies of the answer.
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
    hash: RandomState,
}

type QuestionShard = HashMap<QuestionKey, Question>;

/// A question under way.
#[derive(Debug)]
struct Question {
    told: watch::Receiver<QuestionState>,
    rests_on: Arc<OnceLock<QuestionBasis>>,
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
    /// Another session. The receiver gets the state of the question.
    Follower(watch::Receiver<QuestionState>),
}

impl Coalescing {
    /// Begins to ask for the answer with this key, unless another session already asks, and a change has not outrun its answer.
    pub(crate) fn join(
        self: &Arc<Self>,
        key: Key<'_>,
        is_outrun: impl FnOnce(&QuestionBasis) -> bool,
    ) -> Role {
        let question = (key.environment, Box::from(key.text));
        let mut asked = self.shard(&question);
        let mut outrun = None;
        if let Some(known) = asked.get(&question) {
            if !known.may_be_asked_anew(is_outrun) {
                return Role::Follower(known.told.clone());
            }
            outrun = asked.remove(&question).map(|known| Box::new(Question { outrun: None, ..known }));
        }
        let (tells, told) = watch::channel(QuestionState::UnderWay);
        let rests_on = Arc::default();
        asked.insert(question.clone(), Question { told, rests_on: Arc::clone(&rests_on), outrun });
        drop(asked);
        let (coalescing, end) = (Arc::clone(self), QuestionState::Abandoned);
        Role::Leader(Box::new(Leader { coalescing, question, tells, end, rests_on }))
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
}

impl Leader {
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

    fn join(coalescing: &Arc<Coalescing>, key: Key<'_>) -> Role {
        coalescing.join(key, |_| false)
    }

    #[test]
    fn one_asks_and_the_others_are_told_when_it_is_over() {
        let coalescing = Arc::new(Coalescing::default());
        let Role::Leader(mut leader) = join(&coalescing, KEY) else { panic!("nobody else asks") };
        let Role::Follower(mut told) = join(&coalescing, KEY) else { panic!("somebody does") };
        for other in [Key { environment: 2, ..KEY }, Key { text: b"SELECT 2", ..KEY }] {
            assert!(matches!(join(&coalescing, other), Role::Leader(_)));
        }
        assert!(matches!(*told.borrow_and_update(), QuestionState::UnderWay) && !told.has_changed().unwrap());
        leader.ends_with(QuestionState::Outrun);
        drop(leader);
        assert!(matches!(*told.borrow(), QuestionState::Outrun));
        assert!(matches!(join(&coalescing, KEY), Role::Leader(_)), "it can be asked again");
    }

    #[test]
    fn nobody_waits_for_an_answer_that_is_outrun_and_two_ask_at_most() {
        let coalescing = Arc::new(Coalescing::default());
        let is_over = |told: &watch::Receiver<QuestionState>| told.has_changed().is_err();
        let asks_anew = || match coalescing.join(KEY, |_| true) {
            Role::Leader(leader) => Ok(leader),
            Role::Follower(told) => Err(told),
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
