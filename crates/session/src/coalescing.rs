//! Identical misses ask the server once. Of the sessions that look for the same answer while it is being made, one asks the server, and the
//! others wait for its answer and look again. The one rule judges what they find, as for any stored answer. So no session gets an answer
//! that it would not get later. A session that finds nothing asks for itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// The dependencies of the refusal, and the position from which it is valid, if known.
    pub(crate) rests_on: Option<(Vec<Dep>, Position)>,
}

/// The two parts of a key.
type QuestionKey = (u32, Box<[u8]>);

/// The questions under way whose answers may be stored.
#[derive(Debug, Default)]
pub(crate) struct Coalescing {
    shards: [Mutex<HashMap<QuestionKey, watch::Receiver<QuestionState>>>; SHARDS],
    hash: RandomState,
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
    /// Begins to ask for the answer with this key, unless another session already asks.
    pub(crate) fn join(self: &Arc<Self>, key: Key<'_>) -> Role {
        let question = (key.environment, Box::from(key.text));
        let mut asked = self.shard(&question);
        if let Some(known) = asked.get(&question) {
            return Role::Follower(known.clone());
        }
        let (tells, told) = watch::channel(QuestionState::UnderWay);
        asked.insert(question.clone(), told);
        drop(asked);
        Role::Leader(Box::new(Leader {
            coalescing: Arc::clone(self),
            question,
            tells,
            end: QuestionState::Abandoned,
            rests_on: None,
        }))
    }

    fn shard(
        &self,
        question: &QuestionKey,
    ) -> MutexGuard<'_, HashMap<QuestionKey, watch::Receiver<QuestionState>>> {
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
    /// The dependencies of the answer, and the position from which it is valid.
    rests_on: Option<(Vec<Dep>, Position)>,
}

impl Leader {
    /// Sets the dependencies of the answer, and the position from which it is valid.
    pub(crate) fn rests_on(&mut self, deps: Vec<Dep>, valid_from: Position) {
        self.rests_on = Some((deps, valid_from));
    }

    /// Notes that the server has refused the question.
    pub(crate) fn is_refused(&mut self, error: ErrPacket) {
        let rests_on = self.rests_on.take();
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
        self.coalescing.shard(&self.question).remove(&self.question);
        // An error means that nobody waits.
        let _ = self.tells.send(std::mem::take(&mut self.end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key<'static> = Key { environment: 1, text: b"SELECT 1" };

    #[test]
    fn one_asks_and_the_others_are_told_when_it_is_over() {
        let coalescing = Arc::new(Coalescing::default());
        let Role::Leader(mut leader) = coalescing.join(KEY) else { panic!("nobody else asks") };
        let Role::Follower(mut told) = coalescing.join(KEY) else { panic!("somebody does") };
        for other in [Key { environment: 2, ..KEY }, Key { text: b"SELECT 2", ..KEY }] {
            assert!(matches!(coalescing.join(other), Role::Leader(_)));
        }
        assert!(matches!(*told.borrow_and_update(), QuestionState::UnderWay) && !told.has_changed().unwrap());
        leader.ends_with(QuestionState::Outrun);
        drop(leader);
        assert!(matches!(*told.borrow(), QuestionState::Outrun));
        assert!(matches!(coalescing.join(KEY), Role::Leader(_)), "it can be asked again");
    }
}
