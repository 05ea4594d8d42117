//! Identical misses ask once: of those who look for the same answer while it is being made, one asks the server, and the others wait for it and
//! look again. What they find is judged by the rule like anything else that is stored, so nobody is given what he would not be given if he
//! had come later. Whoever finds nothing asks for himself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::{HashMap, RandomState};
use freshet_cache::{Dep, Key, Position};
use freshet_protocol::ErrPacket;
use tokio::sync::watch;

/// Locks among which the questions under way are spread.
const SHARDS: usize = 16;

/// What has become of a question.
#[derive(Debug, Clone, Default)]
pub(crate) enum QuestionState {
    #[default]
    UnderWay,
    /// Whoever has asked is gone, or has turned to something else.
    Abandoned,
    /// It is over: what it has brought is stored, if it may be.
    Over,
    /// Its answer is not stored, since something has changed meanwhile: the next one may be.
    Outrun,
    /// The server has refused it.
    Refused(Arc<QuestionRefused>),
}

/// What the server has refused a question with.
#[derive(Debug)]
pub(crate) struct QuestionRefused {
    pub(crate) error: ErrPacket,
    /// What that depends on, and from where on it is valid, if that is known.
    pub(crate) rests_on: Option<(Vec<Dep>, Position)>,
}

/// The first part of a key, and the second.
type QuestionKey = (u32, Box<[u8]>);

/// The questions under way whose answers may be stored.
#[derive(Debug, Default)]
pub(crate) struct Coalescing {
    shards: [Mutex<HashMap<QuestionKey, watch::Receiver<QuestionState>>>; SHARDS],
    hash: RandomState,
}

/// Who asks.
#[derive(Debug)]
pub(crate) enum Role {
    /// This client.
    Leader(Box<Leader>),
    /// Another one. What becomes of it is told here.
    Follower(watch::Receiver<QuestionState>),
}

impl Coalescing {
    /// Begins to ask for the answer with this key, unless somebody does.
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

/// The client that asks for an answer. The others go on when it is dropped, however that comes about.
#[derive(Debug)]
pub(crate) struct Leader {
    coalescing: Arc<Coalescing>,
    question: QuestionKey,
    tells: watch::Sender<QuestionState>,
    end: QuestionState,
    /// What its answer depends on, and from where on it is valid.
    rests_on: Option<(Vec<Dep>, Position)>,
}

impl Leader {
    /// Its answer depends on these, and is valid from there on.
    pub(crate) fn rests_on(&mut self, deps: Vec<Dep>, valid_from: Position) {
        self.rests_on = Some((deps, valid_from));
    }

    /// The server has refused it.
    pub(crate) fn is_refused(&mut self, error: ErrPacket) {
        let rests_on = self.rests_on.take();
        self.end = QuestionState::Refused(Arc::new(QuestionRefused { error, rests_on }));
    }

    /// What it ends with; else it is abandoned.
    pub(crate) fn ends_with(&mut self, end: QuestionState) {
        self.end = end;
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        // Nobody joins any more before the others are told: they may ask again.
        self.coalescing.shard(&self.question).remove(&self.question);
        // An error says that nobody waits.
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
