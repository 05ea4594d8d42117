//! Statements that are prepared from memory, and what the server hears of them, and when.
//!
//! COM_STMT_PREPARE of a known text is answered with the server's earlier answer to it ([`crate::preparations`]). The server hears of the
//! statement before the first command for which it needs the statement. It also hears of the statement before anything that may make it
//! prepare the statement differently: a change of the session's settings or schema, a definition of a table, or unknown code. Until then
//! the session's environment is the one in which the client prepared the statement.
//!
//! The server may refuse to prepare the statement then: a table has been dropped meanwhile, a right has been revoked, or there are
//! `max_prepared_stmt_count` statements. The client gets that error for its command. A server that has the statement gives the first two
//! errors at the same point, because it prepares the statement anew after a definition has changed; it gives the third error for the
//! preparation itself. The limit counts statements at the server, and a statement that is prepared from memory is not at the server.

use std::sync::Arc;

use freshet_protocol::{Command, ErrPacket};
use freshet_sql::{Defines, Effects, Flavor, Temporary};
use freshet_upstream::now_ms;

use super::last_statement::PreparedSince;
use super::prepared::Prepared;
use super::{Forward, Message, Session, StatementFacts};
use crate::counters::Count;
use crate::preparations::{Preparation, Preparations};
use crate::reading::without_hint;
use crate::relay::Lost;

/// The error for a number that belongs to no statement.
const ER_UNKNOWN_STMT_HANDLER: u16 = 1243;
/// A number that no server gives to a statement: they count from 1, and to MariaDB the highest number means the last statement prepared.
const NEVER_GIVEN: u32 = u32::MAX - 1;

/// Whether the server has a statement now.
pub(crate) enum ServerStatement {
    /// The server has it under this number.
    At(u32),
    /// The server refuses to prepare it.
    Refused(ErrPacket),
}

/// Returns the server's error for a number that belongs to no statement.
pub(crate) fn unknown_statement(id: u32, command: Command, flavor: Flavor) -> ErrPacket {
    let given_to = match (flavor, command) {
        (Flavor::MySql, _) => "mysql_stmt_precheck",
        (Flavor::MariaDb, Command::StmtReset) => "mysqld_stmt_reset",
        (Flavor::MariaDb, Command::StmtFetch) => "mysqld_stmt_fetch",
        (Flavor::MariaDb, Command::StmtBulkExecute) => "mysqld_stmt_bulk_execute",
        (Flavor::MariaDb, _) => "mysqld_stmt_execute",
    };
    let message = format!("Unknown prepared statement handler ({id}) given to {given_to}");
    ErrPacket::new(ER_UNKNOWN_STMT_HANDLER, "HY000", &message)
}

impl Session {
    /// Answers a preparation from memory, if possible. `environment`: the first part of the keys of answers.
    pub(crate) fn prepare_from_memory(&mut self, text: &[u8], environment: u32) -> bool {
        let version = self.shared.upstream.catalog_version();
        let Some(preparation) = self.preparation_of(text, environment) else { return false };
        let level = self.state.locals.level(&self.shared.globals);
        let is_room = self.wire.has_room(preparation.answer.len());
        let Some(id) = self.lease.prepared.next_here(text.len()).filter(|_| is_room) else { return false };
        // Proofs that run out with time are checked after the stamps were read.
        if self.runs_out(level) {
            return false;
        }
        self.put_preparation(&preparation, id);
        let Some(current) = self.state.environment.current().map(|it| it.id) else { return false };
        let prepared = Prepared::here(id, &preparation, current, self.state.environment.version());
        prepared.is_prepared_at(version);
        let prepared = self.lease.prepared.add(prepared);
        self.shared.counters.add(Count::Prepared);
        self.state.served.prepared += 1;
        self.state.last.note_prepared_here(prepared);
        self.active(now_ms());
        true
    }

    /// Returns the stored preparation of a text, if it may be given now.
    fn preparation_of(&mut self, text: &[u8], environment: u32) -> Option<Arc<Preparation>> {
        let now = now_ms();
        let mut key = std::mem::take(&mut self.execution_key);
        Preparations::put_key(environment, text, &mut key);
        let found = self.shared.preparations.get(&key);
        self.execution_key = key;
        let freshness = self.shared.freshness();
        let found = found.filter(|_| freshness.is_live(now) && self.shared.cache.size() > 0)?;
        self.admits(self.state.locals.level(&self.shared.globals), now)?;
        found.is_servable(self.shared.freshness()).then_some(found)
    }

    fn put_preparation(&mut self, preparation: &Preparation, id: u32) {
        let flags = self.state.status_for_answers().bits().to_le_bytes();
        let out = self.wire.out().0;
        let start = out.len();
        out.extend_from_slice(&preparation.answer);
        let answer = &mut out[start..];
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = answer.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
                place.copy_from_slice(bytes);
            }
        };
        put(Preparation::ID_AT, &id.to_le_bytes());
        preparation.status_at.iter().for_each(|at| put(*at as usize, &flags));
        // The client's next command starts the numbering anew.
        *self.wire.out().1 = 0;
    }

    /// Closes a statement that the server does not know. Returns false if the server has to hear of the close.
    pub(crate) fn close_here(&mut self, id: u32) -> bool {
        if self.lease.prepared.get(id).is_none_or(|prepared| prepared.server_id().is_some()) {
            return false;
        }
        self.lease.prepared.remove(id);
        self.state.served.closed += 1;
        self.active(now_ms());
        true
    }

    /// Has the server prepare a statement, if it has not yet. The session's connection is open.
    ///
    /// # Errors
    /// The client's or the server's connection is lost.
    pub(crate) async fn make(&mut self, prepared: &Arc<Prepared>) -> Result<ServerStatement, Lost> {
        if let Some(id) = prepared.server_id() {
            return Ok(ServerStatement::At(id));
        }
        let Some(text) = prepared.remade_from() else {
            return Ok(ServerStatement::Refused(self.not_made(prepared)));
        };
        if !self.is_as_prepared(prepared).await? {
            return Ok(ServerStatement::Refused(self.not_made(prepared)));
        }
        if let Some(id) = self.lease.prepared.take_from_stock(prepared) {
            self.lease.prepared.make(prepared, id);
            return Ok(ServerStatement::At(id));
        }
        let payload = self.packet_of_preparing(text);
        if self.lease.prepared.has(prepared.id) {
            self.lease.note_makes();
        } else {
            self.lease.note_prepares();
        }
        let answer = self.exchange_unseen(&payload).await?;
        match (answer.prepared, answer.refusal) {
            (Some(ok), _) => {
                self.lease.prepared.make(prepared, ok.statement_id);
                Ok(ServerStatement::At(ok.statement_id))
            }
            (None, Some(refusal)) => Ok(ServerStatement::Refused(*refusal)),
            (None, None) => Ok(ServerStatement::Refused(self.not_made(prepared))),
        }
    }

    /// Has the server prepare this text in the place of a statement of Freshet's own, if it has not yet.
    ///
    /// # Errors
    /// The client's or the server's connection is lost.
    pub(crate) async fn make_otherwise(
        &mut self,
        prepared: &Arc<Prepared>,
        text: &[u8],
    ) -> Result<ServerStatement, Lost> {
        let before = prepared.server_id();
        if let Some(id) = before.filter(|_| prepared.is_made_as(text)) {
            return Ok(ServerStatement::At(id));
        }
        self.lease.note_makes();
        let answer = self.exchange_unseen(&[&[Command::StmtPrepare.byte()], text].concat()).await?;
        let Some(ok) = answer.prepared else {
            return Ok(ServerStatement::Refused(
                answer.refusal.map_or_else(|| self.not_made(prepared), |it| *it),
            ));
        };
        self.lease.prepared.make_again(prepared, ok.statement_id);
        prepared.set_made_as(text);
        self.lease.prepared.note_closed(before);
        Ok(ServerStatement::At(ok.statement_id))
    }

    /// Has the server prepare `made` for the client in the place of `text`, a statement of Freshet's own. So the statement has a number
    /// that no other statement has.
    ///
    /// # Errors
    /// The client's or the server's connection is lost.
    pub(crate) async fn prepare_substitute(&mut self, text: &[u8], made: Vec<u8>) -> Result<(), Lost> {
        let (payload, nothing) = ([&[Command::StmtPrepare.byte()], &*made].concat(), Effects::none());
        let relayed =
            self.forward(Forward::new(Message::bare(Command::StmtPrepare, &payload), &nothing)).await?;
        self.lease.prepared.failed();
        if let Some(ok) = relayed.prepared {
            let prepared = Prepared::new(ok.statement_id, ok.parameters.into(), nothing);
            let prepared = prepared.numbered(relayed.numbered);
            self.lease.prepared.add(prepared.of_ours(text, made));
        }
        Ok(())
    }

    /// Has the server refuse a command as it would if no statement had the number in `packet`: a statement has it on this connection that is
    /// not the client's. After that, the row count is the server's.
    ///
    /// # Errors
    /// The client's or the server's connection is lost.
    pub(crate) async fn name_nothing(&mut self, packet: &[u8]) -> Result<(), Lost> {
        let mut packet = packet.to_vec();
        if let Some(place) = packet.get_mut(1..5) {
            place.copy_from_slice(&NEVER_GIVEN.to_le_bytes());
        }
        self.exchange_unseen(&packet).await.map(drop)
    }

    /// Answers a command with the server's error for its statement, which the server does not prepare, or does not know.
    pub(crate) fn put_not_made(&mut self, refusal: &ErrPacket) {
        self.state.last.note_refused();
        self.lease.note_refusal();
        self.put_error(refusal);
        if refusal.code != ER_UNKNOWN_STMT_HANDLER {
            // The server has this error too, in its own words and packets.
            self.state.last.warnings.clear();
        }
    }

    /// Whether the session's environment is the one in which the client prepared this statement. If anything may have changed the
    /// environment, it is read anew.
    async fn is_as_prepared(&mut self, prepared: &Prepared) -> Result<bool, Lost> {
        if prepared.prepared_in.is_at(self.state.environment.version()) {
            return Ok(true);
        }
        self.learn().await.map_err(|error| Lost::Upstream(std::io::Error::other(error)))?;
        let version = self.state.environment.version();
        Ok(self.environment().is_some_and(|environment| prepared.prepared_in.is_of(environment.id, version)))
    }

    /// Returns the error for a statement that can no longer be prepared as it was: unknown code has changed the session without a report.
    fn not_made(&self, prepared: &Prepared) -> ErrPacket {
        unknown_statement(prepared.id, Command::StmtExecute, self.flavor())
    }

    /// Returns the packet that has the server prepare a text.
    pub(crate) fn packet_of_preparing(&self, text: &[u8]) -> Vec<u8> {
        let stripped = without_hint(text, self.modes());
        [&[Command::StmtPrepare.byte()], stripped.as_deref().unwrap_or(text)].concat()
    }

    /// Has the server prepare all statements that it has not prepared, before a statement after which it may prepare them differently. A
    /// statement that the server refuses is tried again when it is executed.
    pub(super) async fn make_all(&mut self) -> Result<(), Lost> {
        for prepared in self.lease.prepared.unmade() {
            self.make(&prepared).await?;
        }
        self.lease.prepared.drop_stock();
        Ok(())
    }

    /// Whether the server may prepare a text differently after this command, or before it.
    pub(super) fn may_prepare_otherwise(
        &self,
        Message { command, text, .. }: Message<'_>,
        effects: &Effects,
        facts: &StatementFacts,
    ) -> bool {
        // A reset drops all statements.
        let is_about_any = self.lease.prepared.has_unmade() || self.lease.prepared.has_stock();
        if !is_about_any || command == Command::ResetConnection {
            return false;
        }
        let sets = effects.session && !self.leaves_environment(text);
        sets || effects.several
            || effects.defines != Defines::Nothing
            || effects.is_definition
            || effects.temporary != Temporary::None
            || effects.locks_tables == Some(true)
            || facts.sets_variables
            || facts.runs_unknown_code
    }

    /// Has the server prepare a text and drop it: the server says whether the account may execute the text, and runs nothing.
    ///
    /// # Errors
    /// The client's or the server's connection is lost.
    pub(crate) async fn tries(&mut self, text: &[u8]) -> Result<Result<usize, ErrPacket>, Lost> {
        let stripped = without_hint(text, self.modes());
        let text = stripped.as_deref().unwrap_or(text);
        self.lease.note_prepares();
        let answer = self.exchange_unseen(&[&[Command::StmtPrepare.byte()], text].concat()).await?;
        self.lease.prepared.note_closed(answer.prepared.as_ref().map(|prepared| prepared.statement_id));
        Ok(match (answer.prepared, answer.refusal) {
            (Some(prepared), _) => Ok(prepared.parameters.into()),
            (None, Some(refusal)) => Err(*refusal),
            (None, None) => Err(ErrPacket::new(1105, "HY000", "The server did not prepare the statement")),
        })
    }

    /// Repeats at the server the effects of the last preparation: one answered from memory, or one sent before the answer that was repeated.
    pub(super) async fn repeat_preparation(&mut self) -> Result<(), Lost> {
        let payload = match self.state.last.take_prepared() {
            None => return Ok(()),
            Some(PreparedSince::ThereBy(payload)) => payload.into_vec(),
            Some(PreparedSince::Here(prepared)) => match &prepared.select {
                Some(select) => self.packet_of_preparing(&select.text),
                None => return Ok(()),
            },
        };
        self.lease.note_prepares();
        let prepared = self.exchange_unseen(&payload).await?.prepared;
        self.lease.prepared.note_closed(prepared.map(|prepared| prepared.statement_id));
        Ok(())
    }
}
