//! What a client says before its first question, answered without the server where others have said the same ([`crate::prefaces`]).
//!
//! The session has no connection then. When it opens one, the server is told what the client has said, in the same order and before
//! anything else: it counts these statements, and what can be asked about the last of them is as it would be.

use std::sync::Arc;

use freshet_protocol::{Command, HEADER_LEN, OkPacket, StatusFlags};
use freshet_upstream::{Error, now_ms};
use tracing::warn;

use super::{Destination, Session, query_prefix};
use crate::environment::{Environment, Known, Transition};
use crate::prefaces::{ANSWER_BYTES_MAX, Prefaces, Says};

/// How many such statements one session may say.
const STATEMENTS_MAX: usize = 16;

/// What a client has said so far that the server does not know of.
#[derive(Debug, Default)]
pub(crate) struct Preface {
    /// How the session began, or what is known of it since.
    began: Option<Arc<Environment>>,
    /// What it has set since, as [`Transition`] has it.
    set: Vec<u8>,
    statements: Vec<Box<[u8]>>,
}

impl Preface {
    pub(crate) fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }
}

/// What is needed to keep an answer of the server's for others.
pub(crate) struct PrefaceAsked {
    key: Vec<u8>,
    /// Where the answer begins among what the client has not been sent.
    start: usize,
}

impl Session {
    /// Whether a text may be such a statement.
    pub(crate) fn says_preface(&self, text: &[u8]) -> bool {
        self.may_preface() && Says::of(text).is_some()
    }

    /// Answers such a statement, if the answer is known.
    pub(crate) fn answer_preface(&mut self, text: &[u8]) -> bool {
        if self.lease.is_open() || !self.lease.is_new() {
            return false;
        }
        let preface = &self.state.preface;
        let began = match (&preface.began, &self.state.environment) {
            (Some(began), _) => began,
            (None, Known::Recalled(began)) => began,
            _ => return false,
        };
        let Some(says) = Says::of(text).filter(|_| preface.statements.len() < STATEMENTS_MAX) else {
            return false;
        };
        let mut began = Arc::clone(began);
        let key = Prefaces::key(&began.whole, &preface.set, text);
        let Some(answer) = self.shared.prefaces.get(&key) else { return false };
        if says == Says::Sets && !self.is_set_here(&mut began, text, &answer) {
            return false;
        }
        self.state.preface.began = Some(began);
        self.state.preface.statements.push(text.into());
        self.state.warnings.clear();
        self.wire.put_frames(&answer, 0);
        self.active(now_ms());
        self.has_answered_itself();
        true
    }

    /// Whether nothing has been asked yet, and nothing is to be decided about what is.
    fn may_preface(&self) -> bool {
        let tx = self.state.tx;
        self.state.last_hit.is_empty()
            && self.state.prepared_since.is_none()
            && self.lease.prepared.are_none()
            && !self.ruled.are_there()
            && !tx.is_open()
            && tx.begun().is_none()
            && tx.said().is_empty()
    }

    /// Notes what a SET makes of the session; false if its answer cannot be read. Where nobody has looked yet what it has made of another session, that is not
    /// known here either, and what follows is found by how the session began and by all that was set.
    fn is_set_here(&mut self, began: &mut Arc<Environment>, text: &[u8], answer: &[u8]) -> bool {
        let status = answer
            .get(HEADER_LEN..)
            .and_then(|payload| OkPacket::parse(payload, self.capabilities()).ok())
            .map(|ok| ok.status);
        let Some(status) = status else { return false };
        let mut set = std::mem::take(&mut self.state.preface.set);
        set.extend_from_slice(&text.len().to_le_bytes());
        set.extend_from_slice(text);
        let transition = Transition { before: began.whole.clone(), statement: set };
        self.state.answered(false, Some(status), false);
        self.state.environment_is_unknown();
        match self.shared.environments.after(&began.account, &transition) {
            Some(after) => {
                self.state.schema.clone_from(&after.schema);
                self.state.environment = Known::Recalled(Arc::clone(&after));
                *began = after;
            }
            None => self.state.preface.set = transition.statement,
        }
        self.refresh_key();
        true
    }

    /// Before such a statement is the server's to answer: learns how the session began, and says what its answer is kept under.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn asks_preface(&mut self, text: &[u8]) -> Result<Option<PrefaceAsked>, Error> {
        if self.lease.has_diagnostics {
            return Ok(None);
        }
        // What shows settings leaves its own counts in the place of those that this takes.
        match Says::of(text) {
            Some(Says::Shows) => Box::pin(self.learn()).await?,
            _ => Box::pin(self.learn_quietly()).await?,
        }
        let (began, set) = match &self.state.environment {
            Known::Read(began) => (began, &[][..]),
            Known::After(began, set) => (began, &set[..]),
            Known::Unknown | Known::Recalled(_) => return Ok(None),
        };
        let key = Prefaces::key(&began.whole, set, text);
        Ok(Some(PrefaceAsked { key, start: self.wire.out().0.len() }))
    }

    /// Keeps the answer for others, if it is plain.
    pub(crate) fn keep_preface(&mut self, PrefaceAsked { key, start }: PrefaceAsked) {
        let is_plain = self.may_preface() && !self.lease.has_diagnostics;
        let in_transaction = self.state.status_for_answers().contains(StatusFlags::IN_TRANS);
        let out = self.wire.out().0;
        let answer = out.get(start..).filter(|answer| (1..=ANSWER_BYTES_MAX).contains(&answer.len()));
        if let Some(answer) = answer.filter(|_| is_plain && !in_transaction) {
            self.shared.prefaces.keep(key, answer);
        }
    }

    /// Tells the server what the client has said before it had a connection.
    ///
    /// # Errors
    /// The connection is lost, or the server says anything else than it did before.
    pub(super) async fn repeat_preface(&mut self) -> Result<(), Error> {
        let said = std::mem::take(&mut self.state.preface);
        let told = self.tell(&said.statements).await;
        if told.is_err() {
            // Another connection would be told of it first, too.
            drop(self.lease.take());
            self.state.preface = said;
        }
        told
    }

    async fn tell(&mut self, statements: &[Box<[u8]>]) -> Result<(), Error> {
        // What the session has become is found by how it began, without another question.
        Box::pin(self.learn()).await?;
        for text in statements {
            let payload = [&query_prefix(self.lease.has_attributes()), &**text].concat();
            let told = async {
                self.send(&payload).await?;
                self.finish_tracking().await?;
                self.unseen_answer(Command::Query).await
            };
            let error = match Box::pin(told).await {
                Ok(relayed) => relayed.error,
                Err(_) => return Err(Error::Closed),
            };
            if let Some(error) = error {
                warn!(error, "the server refuses what it has let others set");
                return Err(Error::Closed);
            }
            if Says::of(text) == Some(Says::Sets) {
                self.state.environment_version += 1;
                self.state.environment.changed_by(text, true);
            }
        }
        Ok(())
    }

    fn has_answered_itself(&mut self) {
        self.destination.set(Destination::Memory);
    }
}
