//! The server's connection after its client has left: the next login of the same user may take it over.
//!
//! COM_RESET_CONNECTION and the COM_CHANGE_USER of that login undo nearly everything. On MySQL the row count of the last SELECT, the traces
//! of the optimizer, and the resource group stay. So Freshet sets the row count anew, and closes a connection that may have anything else
//! left.

use std::time::Duration;

use freshet_protocol::Command;
use freshet_sql::{Around, Effects, Flavor, Temporary, TrackingEffect, Writes};
use freshet_upstream::{Connection, Error};
use tokio::time::timeout;
use tracing::debug;

use super::begun::words::first_word_is;
use super::state::KnownGtid;
use super::{Hold, Session, StatementFacts};
use crate::environment::sets_only_what_is_read;
use crate::registry::Ending;
use crate::relay::Relayed;

/// How long the server may take to reset a session.
const RESET_MAX: Duration = Duration::from_secs(1);

impl Session {
    /// Hands the server's connection on, if nothing of this session can be left in it.
    pub(super) async fn hand_on(&mut self) {
        let Some(leave) = self.lease.leave.take() else { return };
        if !self.can_be_undone() {
            let holds: Vec<String> = self.holds().list().map(|hold| hold.to_string()).collect();
            return debug!(?holds, "the server's connection is not kept");
        }
        if !self.handle.parts() {
            return debug!("the server's connection is not kept: somebody is about to kill it");
        }
        let Some(mut connection) = self.lease.take() else { return };
        let is_as_new = self.lease.untouched && !connection.was_queried();
        if is_as_new || matches!(timeout(RESET_MAX, reset(&mut connection)).await, Ok(Ok(()))) {
            self.shared.gate.keep(leave, connection);
        }
    }

    fn can_be_undone(&mut self) -> bool {
        let holds = self.holds();
        let is_held = [Hold::Transaction, Hold::Locks, Hold::UnloggedWrites].iter().any(|it| holds.has(*it));
        let is_free = !is_held && !holds.hide_tables() && self.state.pending.is_empty();
        let ends = self.handle.ending() != Ending::No;
        is_free && !ends && self.lease.can_be_undone && self.lease.is_open() && self.lease.heard().is_empty()
    }

    /// Notes a command that is about to be sent.
    pub(super) fn sends(&mut self, command: Command, effects: &Effects, text: &[u8]) {
        self.lease.can_be_undone &= is_undone(command, effects, text);
        self.lease.traces.sent(command, effects, text);
        if first_word_is(text.trim_ascii_start(), "LOAD") {
            // LOAD gives ids out, and does not report them.
            self.lease.insert_id = None;
        }
    }

    /// Notes the answer to a command.
    pub(super) fn has_run(&mut self, effects: &Effects, facts: &StatementFacts, relayed: &Relayed) {
        self.lease.traces.ran(facts, relayed);
        if !relayed.gtids.is_empty() && self.flavor() == Flavor::MariaDb {
            self.state.gtid = KnownGtid::There;
        }
        let may_give_ids = effects.writes != Writes::Nothing || !effects.calls.is_nothing();
        let may_have_given =
            relayed.error.is_some() || relayed.tells_id || relayed.rows > 0 || facts.run_code();
        if may_give_ids && may_have_given {
            self.lease.insert_id = None;
        }
        let is_unexplained = relayed.state_changed && !effects.session;
        self.lease.can_be_undone &= !facts.run_code() && !is_unexplained;
    }
}

async fn reset(connection: &mut Connection) -> Result<(), Error> {
    connection.reset().await?;
    connection.forget_row_count().await
}

/// Whether a reset and a new login undo all effects of such a command on its session.
fn is_undone(command: Command, effects: &Effects, text: &[u8]) -> bool {
    match command {
        Command::InitDb | Command::Ping | Command::StmtClose | Command::StmtReset => return true,
        Command::Query | Command::StmtPrepare | Command::StmtExecute | Command::StmtSendLongData => {}
        _ => return false,
    }
    let leaves_session = !effects.session || effects.moves || sets_only_what_is_read(text);
    leaves_session
        && effects.temporary == Temporary::None
        && effects.tracking == TrackingEffect::None
        && effects.around == Around::Nothing
        && effects.locks_tables.is_none()
        && effects.calls.is_nothing()
        && !(effects.unlogged || effects.several || effects.refused || effects.commits_inside)
}
