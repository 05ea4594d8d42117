//! Repeating at the server the effects of answers that were given here, for a statement that asks about them.

use freshet_protocol::Command;
use freshet_sql::{Deprecations, contains_ignoring_case};

use super::begun::words::{END, first_word_is};
use super::texts::begins_with_execute;
use super::{Prepared, ServerStatement, Session, StatementFacts, query_prefix};
use crate::reading::without_hint;
use crate::relay::{Lost, Repeated};

/// Statements that leave a transaction as it is, whatever was done in it. A savepoint of the client's must not be set anew: writes
/// since then would stay when the client goes back to it.
const MARK_NOTHING: [&str; 2] = ["SAVEPOINT `freshet: nothing`", "RELEASE SAVEPOINT `freshet: nothing`"];

/// The most rows that a stand-in statement finds.
const STAND_IN_ROWS_MAX: u32 = 64;

/// Part of the names of the status values that show a statement's cost. No stand-in has the same cost.
const OF_COST: &[u8] = b"last_query";

/// What has to be repeated at the server before a statement that asks about the statement before it, or that would show older warnings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BringsBack {
    /// The statement asks about the statement before it.
    pub(super) asks_back: bool,
    /// Warnings of an older statement would still be there after it.
    pub(super) keeps_older: bool,
    /// Statements that were answered here after the last answer from memory are repeated.
    pub(super) ends: bool,
}

impl Session {
    /// Returns what has to be repeated before a statement that asks about the statement before it (`asks_back`), or keeps its warnings
    /// (`keeps_diagnostics`). Nothing if the client gets a number from Freshet anyway, and the server is not asked (`is_asked`).
    pub(super) fn brings_back(&self, is_asked: bool, asks_back: bool, keeps_diagnostics: bool) -> BringsBack {
        if !is_asked {
            return BringsBack::default();
        }
        BringsBack {
            asks_back,
            keeps_older: keeps_diagnostics && self.shows_older_diagnostics(),
            ends: asks_back || keeps_diagnostics && self.lease.has_diagnostics(),
        }
    }

    /// Brings about at the server the state that the client believes in. Returns whether the last answer from memory was repeated.
    pub(super) async fn bring_back(
        &mut self,
        text: &[u8],
        facts: &StatementFacts,
        BringsBack { asks_back, keeps_older, ends }: BringsBack,
    ) -> Result<bool, Lost> {
        // A new connection has found none of the rows of which the client may ask later. A SELECT finds rows of its own.
        let keeps_rows =
            self.state.last.is_before_connection() && !text.is_empty() && !first_word_is(text, "SELECT");
        let repeats = asks_back && self.is_to_be_repeated(text, facts) || keeps_older || keeps_rows;
        if repeats {
            if self.state.last.has_hit() {
                self.lease.note_diagnostics_replaced();
            }
            let stand_in = if contains_ignoring_case(text, OF_COST) { None } else { self.stand_in() };
            Box::pin(self.replay(stand_in)).await?;
        } else if ends {
            self.repeat_preparation().await?;
            self.replay_end().await?;
        }
        Ok(repeats)
    }

    /// Brings the server's session to the state that the client believes in: after an answer from memory, the server still has the row counts
    /// and warnings of an earlier statement. A ping after the answer has changed only the row count.
    pub(super) async fn replay_last_hit(&mut self) -> Result<(), Lost> {
        self.replay(self.stand_in()).await
    }

    /// Returns a SELECT that leaves the same as the last answer from memory: the same number of found rows, and no warnings. It reads no
    /// table, so later writes cannot show in it, and it waits for nobody. `None` if the answer left more, or if that is unknown.
    fn stand_in(&self) -> Option<String> {
        let state = &self.state;
        let rows = state.last.found().rows.filter(|rows| *rows <= STAND_IN_ROWS_MAX)?;
        // If autocommit is off, a SELECT that reads tables begins a transaction.
        let is_explicit = state.tx.is_open() || state.tx.begun().is_some_and(|begun| begun.is_explicit);
        let is_clear = state.tx.surely_autocommits() || is_explicit;
        let text = state.last.hit_of().map_or(state.last.hit(), |prepared| prepared.text());
        // Some characters are read differently in some modes.
        let is_one_way = || !text.iter().any(|byte| b"\"\\|".contains(byte));
        let is_read_right = state.environment.current().is_some() || is_one_way();
        if !state.last.has_hit() || !is_clear || !is_read_right || begins_with_execute(text) {
            return None;
        }
        let warnings = self.warnings_of(Deprecations::of(text, self.modes())?);
        let rows = match rows {
            0 => "SELECT 1 LIMIT 0".to_owned(),
            rows => vec!["SELECT 1"; rows as usize].join(" UNION ALL "),
        };
        // In a FROM clause: after statements without one, MariaDB still shows the warnings of the statements before.
        (warnings == 0).then(|| format!("SELECT 1 FROM ({rows}) AS t LIMIT {STAND_IN_ROWS_MAX}"))
    }

    /// Like [`Self::replay_last_hit`], with the stand-in in the place of the last answer's statement, if there is one.
    async fn replay(&mut self, stand_in: Option<String>) -> Result<(), Lost> {
        if !self.state.last.has_hit() {
            self.repeat_preparation().await?;
            return self.replay_end().await;
        }
        if let Some(text) = stand_in {
            self.execute_unseen(Command::Query, text.as_bytes()).await?;
        } else if let Some(prepared) = self.state.last.hit_of().cloned() {
            // A statement that the server refuses to prepare is not executed.
            let ServerStatement::At(id) = self.make(&prepared).await? else { return self.replay_end().await };
            let mut packet = self.state.last.take_hit();
            packet[1..5].copy_from_slice(&id.to_le_bytes());
            let completed = prepared.completed(&packet, self.capabilities());
            self.execute_unseen(Command::StmtExecute, completed.as_deref().unwrap_or(&packet)).await?;
        } else {
            let mut payload = query_prefix(self.lease.has_attributes());
            // Sent without a hint that the server no longer knows, like the first time.
            let text = self.state.last.hit();
            let stripped = without_hint(text, self.modes());
            payload.extend_from_slice(stripped.as_deref().unwrap_or(text));
            let is_execute = begins_with_execute(text);
            let what = if is_execute { Repeated::of_execute(text) } else { Repeated::Text };
            self.lease.note_repeats(what);
            self.exchange_unseen(&payload).await?;
        }
        self.repeat_preparation().await?;
        if self.state.last.was_pinged() {
            self.keep_alive().await?;
        }
        self.replay_end().await
    }

    /// Has the server carry out a statement that leaves no counts and no warnings, if such a statement was answered in its place.
    async fn replay_end(&mut self) -> Result<(), Lost> {
        if self.state.last.take_row_count().is_none() {
            return Ok(());
        }
        for statement in self.nothing_done() {
            self.execute_unseen(Command::Query, statement.as_bytes()).await?;
        }
        Ok(())
    }

    /// Returns statements that leave no counts and no warnings, and leave the transaction at the server as it is.
    fn nothing_done(&self) -> &'static [&'static str] {
        let tx = &self.state.tx;
        // If autocommit is off, the repeated statement has begun a transaction, which END ends. But savepoints may stand there without
        // a transaction, and END would remove them.
        let is_marked = tx.standing().savepoint && !tx.autocommits();
        if tx.may_be_open_at_server() || is_marked { &MARK_NOTHING } else { &[END] }
    }

    /// Executes at the server the last statement that was answered from memory, if it was this statement.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn settle_last_hit(&mut self, prepared: &Prepared) -> Result<(), Lost> {
        if self.state.last.executed_id().is_some() && self.state.last.executed_id() == prepared.server_id() {
            self.replay_last_hit().await?;
            self.state.last.forget();
        }
        Ok(())
    }
}
