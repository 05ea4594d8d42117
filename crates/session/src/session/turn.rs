//! The turns of sessions that ask for the same answer, when it is not in memory: see `coalescing.rs`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use freshet_cache::{Fences, Key, Verdict};
use freshet_protocol::ErrPacket;
use freshet_upstream::now_ms;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Session;
use super::hold::Hold;
use super::turn_ahead::TurnAhead;
use crate::coalescing::{
    AnswerCopy, Follower, JoinedAfter, Judging, Leader, MayCopy, QuestionBasis, QuestionRefused,
    QuestionState, Role,
};
use crate::counters::{Count, count};
use crate::registry::Ending;
use crate::relay::Lost;
use crate::template::Template;
use crate::wire::{Heard, WireError};

/// How often a statement waits for another session's answer that it cannot get, before the statement is sent itself.
const WAITS_MAX: u32 = 2;

/// The server's errors that depend on a statement's cost, whoever asks and whatever is written meanwhile: the statement takes too long
/// (ER_QUERY_TIMEOUT of MySQL, ER_STATEMENT_TIMEOUT of MariaDB), or needs more memory or disk than there is. All errors besides these and
/// the ones below may concern one session alone: also ER_FILSORT_ABORT, which is a KILL QUERY's error too, ER_OUT_OF_SORTMEMORY, which
/// depends on the session's `sort_buffer_size`, and ER_RECORD_FILE_FULL, which depends on its `tmp_disk_table_size`.
const OF_COST: [u16; 4] = [1021, 1037, 1969, 3024];
/// The errors that depend on the rows that a statement reads, whoever asks: a subquery with several rows, a value out of range, a text that
/// is no date, no regular expression or no JSON, a division by zero if that is an error.
const OF_DATA: [u16; 16] =
    [1139, 1242, 1264, 1292, 1365, 1367, 1411, 1441, 1690, 3037, 3141, 3142, 3143, 3144, 3685, 3692];
/// ER_QUERY_INTERRUPTED.
pub(crate) const INTERRUPTED: u16 = 1317;
/// How long an interrupted statement waits at most until the server has heard of the KILL.
const AIMED_MAX: Duration = Duration::from_secs(1);
/// The errors of a statement that somebody has killed, alone or with its connection (ER_CONNECTION_KILLED of MariaDB).
const KILLED: [u16; 2] = [INTERRUPTED, 1927];

/// What a statement does whose answer is not in memory.
#[derive(Debug)]
pub(crate) enum Turn {
    /// The statement is sent to the server. With a leader, other sessions may wait for its answer.
    Asks(Option<Box<Leader>>),
    /// The statement is looked up again.
    LooksAgain,
    /// The client has what the question was answered with that the statement has waited for, or the error of an interruption. `is_noted`:
    /// if the client asks about the statement, it is repeated at the server.
    Answered { is_noted: bool },
}

/// Returns the error of a statement that a KILL QUERY has interrupted.
pub(super) fn interrupted() -> ErrPacket {
    ErrPacket::new(INTERRUPTED, "70100", "Query execution was interrupted")
}

/// How a wait for another client's answer has ended.
enum WaitEnd {
    /// The question is over.
    Asked(QuestionState),
    /// The wait took longer than a query rule allows.
    TooLate,
    /// The waiting statement was interrupted.
    Interrupted,
}

/// How often a statement has waited in vain so far.
#[derive(Debug, Default)]
pub(crate) struct Waited {
    times: u32,
    /// When it began.
    since: Option<JoinedAfter>,
}

impl Session {
    /// Whether the session's statements of this form may wait for one another. Quick statements are always sent at once.
    pub(crate) fn takes_turns(&self, template: &Template) -> bool {
        let now_ms = self.handle.active_ms();
        template.profile.may_be_slow(now_ms) && !template.profile.is_large(now_ms) && self.may_share_a_turn()
    }

    /// Takes the turn of a statement that [takes turns](Session::takes_turns). `text`: the statement as it would be sent.
    ///
    /// # Errors
    /// The session has ended, or its client has left.
    pub(crate) async fn turn(
        &mut self,
        key: Key<'_>,
        text: &[u8],
        waited: &mut Waited,
    ) -> Result<Turn, Lost> {
        match std::mem::take(&mut self.ahead) {
            TurnAhead::Leads(leader) if leader.is_for(key) => return Ok(Turn::Asks(Some(leader))),
            TurnAhead::AsksAlone => return Ok(Turn::Asks(None)),
            TurnAhead::Leads(_) | TurnAhead::Unknown => {}
        }
        let is_outrun = |asked: &QuestionBasis| self.is_outrun(asked);
        let is_current = |asked: &QuestionBasis| self.could_have(asked);
        let judging = Judging { is_outrun, is_current };
        let Follower { mut told, may_copy } =
            match self.shared.coalescing.join(key, &mut waited.since, judging) {
                Role::Leader(leader) => return Ok(Turn::Asks(Some(leader))),
                Role::Follower(_) if waited.times >= WAITS_MAX => return Ok(Turn::Asks(None)),
                Role::Follower(follower) => follower,
            };
        self.shared.counters.add(Count::Coalesced);
        let ended = match self.end_of(&mut told).await? {
            WaitEnd::Asked(ended) => ended,
            WaitEnd::TooLate => return Ok(Turn::Asks(None)),
            WaitEnd::Interrupted => {
                self.put_interrupted();
                return Ok(Turn::Answered { is_noted: false });
            }
        };
        let is_newer = matches!(may_copy, MayCopy::Always);
        // An answer that nothing has outrun is found by looking again.
        let is_of_arrival = matches!(&may_copy, MayCopy::AsOfArrival(basis)
            if basis.get().is_some_and(|basis| self.is_outrun(basis)));
        let takes_copy = is_newer || is_of_arrival;
        match ended {
            // A client that asks about the error finds it after the statement is repeated at the server.
            QuestionState::Refused(refused)
                if is_newer && OF_DATA.contains(&refused.error.code) || self.is_refused_alike(&refused) =>
            {
                self.put_error(&refused.error);
                self.note_answered_from_memory(text, None);
                return Ok(Turn::Answered { is_noted: true });
            }
            QuestionState::Answered(Some(answer)) if takes_copy && self.takes_copy(&answer, text) => {
                return Ok(Turn::Answered { is_noted: true });
            }
            // One of the waiting sessions asks, and the others wait for it.
            QuestionState::Abandoned => {}
            QuestionState::Refused(refused) if KILLED.contains(&refused.error.code) => {}
            QuestionState::Answered(_) => waited.times += 1,
            QuestionState::Private | QuestionState::Refused(_) | QuestionState::UnderWay => {
                waited.times = WAITS_MAX;
            }
        }
        Ok(Turn::LooksAgain)
    }

    /// Whether a change has outrun the answer to a question.
    fn is_outrun(&self, asked: &QuestionBasis) -> bool {
        let freshness = self.shared.freshness();
        freshness.check(&asked.read, asked.valid_from, Fences::Ignore) != Verdict::Servable
    }

    /// Whether the session could have a stored answer with this basis now by its level of freshness, if no write is under way that may change
    /// the answer.
    fn could_have(&self, asked: &QuestionBasis) -> bool {
        let level = self.state.locals.level(&self.shared.globals);
        self.admits(level, now_ms()).is_some()
            && self.shared.freshness().check(&asked.read, asked.valid_from, Fences::Refuse)
                == Verdict::Servable
            && !self.runs_out(level)
    }

    /// Answers the statement with a copy of the server's answer to the same statement, asked for after this one had come, or not outrun when
    /// this one had come. Returns false if the session may not have it.
    fn takes_copy(&mut self, answer: &AnswerCopy, text: &[u8]) -> bool {
        let freshness = self.shared.freshness();
        if freshness.check(&[answer.rights], answer.valid_from, Fences::Refuse) != Verdict::Servable {
            return false;
        }
        let is_answered = self.answer_with_packets(&answer.packets, text);
        if is_answered {
            // It shows what the server shows: also writes that no stamp shows yet.
            self.note_seen();
        }
        is_answered
    }

    /// Notes that the statement has had its turn, and has not been sent yet.
    pub(crate) fn has_had_its_turn(&mut self, leader: Option<Box<Leader>>) {
        self.ahead = leader.map_or(TurnAhead::AsksAlone, TurnAhead::Leads);
    }

    /// Whether the statement has had its turn.
    pub(crate) fn had_its_turn(&self) -> bool {
        !matches!(self.ahead, TurnAhead::Unknown)
    }

    /// Ends the turn of a statement that was not sent: others ask.
    pub(crate) fn ends_turn(&mut self) {
        if self.had_its_turn() {
            self.ahead = TurnAhead::Unknown;
        }
    }

    /// Takes the turn that the statement has had, if others wait for the answer with this key.
    pub(crate) fn takes_lead(&mut self, key: Key<'_>) -> Option<Box<Leader>> {
        match std::mem::take(&mut self.ahead) {
            TurnAhead::Leads(leader) if leader.is_for(key) => Some(leader),
            other => {
                self.ahead = other;
                None
            }
        }
    }

    /// Puts the error of a statement that a KILL QUERY has interrupted.
    pub(crate) fn put_interrupted(&mut self) {
        self.put_error(&interrupted());
    }

    /// Whether the server would refuse this session too, now: the error does not depend on rows, or the rows that were read are unchanged
    /// by the one rule.
    fn is_refused_alike(&self, refused: &QuestionRefused) -> bool {
        let code = refused.error.code;
        let Some(QuestionBasis { tables, valid_from, .. }) =
            refused.rests_on().filter(|_| OF_DATA.contains(&code))
        else {
            return OF_COST.contains(&code);
        };
        let level = self.state.locals.level(&self.shared.globals);
        self.admits(level, now_ms()).is_some()
            && self.shared.freshness().check(tables, *valid_from, Fences::Refuse) == Verdict::Servable
            && !self.runs_out(level)
    }

    /// Whether other sessions may share the answer to a statement of this session, however the statement ends. A session whose HANDLER keeps
    /// a definition from being changed must not wait for one that waits for the change: the server itself would close the handler.
    fn may_share_a_turn(&self) -> bool {
        self.state.tx.surely_autocommits()
            && !self.ruled.are_timed()
            && !self.state.deeds.limit_time()
            && !self.holds().has(Hold::OtherState)
    }

    /// Returns how a question of another client ends.
    async fn end_of(&mut self, asked: &mut watch::Receiver<QuestionState>) -> Result<WaitEnd, Lost> {
        let patience = self.ruled.patience().unwrap_or(Duration::MAX);
        let ended = async {
            let ended = asked.wait_for(|asked| !matches!(asked, QuestionState::UnderWay)).await;
            ended.map_or(QuestionState::Abandoned, |ended| ended.clone())
        };
        match timeout(patience, self.waits_unless_interrupted(ended)).await {
            Ok(ended) => Ok(ended?.map_or(WaitEnd::Interrupted, WaitEnd::Asked)),
            Err(_) => Ok(WaitEnd::TooLate),
        }
    }

    /// Like [`Self::waits_for`]. `None`: the statement was interrupted by a KILL QUERY.
    ///
    /// # Errors
    /// As [`Self::waits_for`].
    pub(super) async fn waits_unless_interrupted<T>(
        &mut self,
        awaited: impl Future<Output = T>,
    ) -> Result<Option<T>, Lost> {
        let handle = Arc::clone(&self.handle);
        let interruptible = async {
            tokio::select! {
                biased;
                done = awaited => Some(done),
                () = handle.interrupted() => None,
            }
        };
        let waited = self.waits_for(interruptible).await?;
        if waited.is_none() {
            handle.is_aimed_at_no_more(AIMED_MAX).await;
        }
        Ok(waited)
    }

    /// Waits for this future, and meanwhile for the client to leave, and for the session to be ended.
    ///
    /// # Errors
    /// The client has left, or the session is ended.
    pub(crate) async fn waits_for<T>(&mut self, awaited: impl Future<Output = T>) -> Result<T, Lost> {
        self.handle.begins();
        let mut awaited = pin!(awaited);
        loop {
            let is_listening = self.wire.is_listening();
            let heard = tokio::select! {
                biased;
                done = &mut awaited => return Ok(done),
                heard = self.wire.overhear(), if is_listening => heard,
                _ = self.handle.ends(Ending::Cut) => return Err(Lost::Client(WireError::Ended)),
            };
            if !matches!(heard, Ok(Heard::More)) {
                count(&self.wire.bounds().vanished);
                return Err(Lost::Client(heard.err().unwrap_or(WireError::Closed)));
            }
        }
    }
}
