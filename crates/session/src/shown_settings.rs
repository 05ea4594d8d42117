//! The server's answers to SELECTs of literals and settings, such as `SELECT 1`, `SELECT VERSION()` and `SELECT @@autocommit`.
//!
//! They are for clients that have no connection to the server (`session/shown.rs`): such a SELECT alone is no reason to open one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::HashMap;

use crate::auth::Epoch;
use crate::coalescing::AnswerPackets;
use crate::environment::Environment;

/// How many answers are kept. An application asks a handful; beyond that, all are forgotten and learned anew.
const ANSWERS_MAX: usize = 512;

/// An answer, and the state in which the server has given it.
#[derive(Debug)]
struct ShownSettings {
    environment: Arc<Environment>,
    /// The state of accounts, schemas and global variables.
    since: Epoch,
    answer: Arc<AnswerPackets>,
}

/// The answers by their texts.
#[derive(Debug, Default)]
pub(crate) struct KnownAnswers(Mutex<HashMap<Box<[u8]>, Vec<ShownSettings>>>);

impl KnownAnswers {
    /// Returns the answer to a text in this environment now.
    pub(crate) fn of(
        &self,
        text: &[u8],
        environment: &Environment,
        now: Epoch,
    ) -> Option<Arc<AnswerPackets>> {
        let answers = self.lock();
        let is_this = |shown: &&ShownSettings| shown.since == now && shown.environment.is_same(environment);
        answers.get(text)?.iter().find(is_this).map(|shown| Arc::clone(&shown.answer))
    }

    /// Notes what the server has answered to a text in this environment, in a state that has lasted until now.
    pub(crate) fn note(
        &self,
        text: &[u8],
        environment: &Arc<Environment>,
        since: Epoch,
        answer: AnswerPackets,
    ) {
        let mut answers = self.lock();
        if answers.values().map(Vec::len).sum::<usize>() >= ANSWERS_MAX {
            answers.clear();
        }
        let of_text = answers.entry(text.into()).or_default();
        // Nobody asks in an earlier state again.
        of_text.retain(|shown| shown.since == since && !shown.environment.is_same(environment));
        of_text.push(ShownSettings { environment: Arc::clone(environment), since, answer: Arc::new(answer) });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<[u8]>, Vec<ShownSettings>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
