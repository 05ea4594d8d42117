//! The server's connection after its client has left: the next login of the same user may take it over.
//!
//! COM_RESET_CONNECTION and the COM_CHANGE_USER of that login undo nearly everything. On MySQL the row count of the last SELECT, the traces
//! of the optimizer, and the resource group stay. So Freshet sets the row count anew, and closes a connection that may have anything else
//! left.

use std::time::Duration;

use freshet_sql::{Effects, Flavor};
use freshet_upstream::{Connection, Error};
use tokio::time::timeout;
use tracing::debug;

use super::{Hold, Session, StatementFacts};
use crate::registry::Ending;
use crate::relay::Relayed;

/// How long the server may take to reset a session.
const RESET_MAX: Duration = Duration::from_secs(1);

impl Session {
    /// Hands the server's connection on, if nothing of this session can be left in it.
    pub(super) async fn hand_on(&mut self) {
        let Some(leave) = self.lease.take_leave() else { return };
        if !self.can_be_undone() {
            let holds: Vec<String> = self.holds().list().map(|hold| hold.to_string()).collect();
            return debug!(?holds, "the server's connection is not kept");
        }
        if !self.handle.parts() {
            return debug!("the server's connection is not kept: somebody is about to kill it");
        }
        let Some(mut connection) = self.lease.take() else { return };
        let is_as_new = self.lease.is_untouched() && !connection.was_queried();
        if is_as_new || matches!(timeout(RESET_MAX, reset(&mut connection)).await, Ok(Ok(()))) {
            self.shared.gate.keep(leave, connection);
        }
    }

    fn can_be_undone(&mut self) -> bool {
        let holds = self.holds();
        let is_held = [Hold::Transaction, Hold::Locks, Hold::UnloggedWrites].iter().any(|it| holds.has(*it));
        let is_free = !is_held && !holds.hide_tables() && self.state.pending.is_empty();
        let ends = self.handle.ending() != Ending::No;
        is_free
            && !ends
            && self.lease.can_be_undone()
            && self.lease.is_open()
            && self.lease.heard().is_empty()
    }

    /// Notes the answer to a command.
    pub(super) fn has_run(&mut self, effects: &Effects, facts: &StatementFacts, relayed: &Relayed) {
        self.lease.note_ran(effects, facts, relayed);
        if !relayed.gtids.is_empty() && self.flavor() == Flavor::MariaDb {
            self.state.unconnected.note_write();
        }
    }
}

async fn reset(connection: &mut Connection) -> Result<(), Error> {
    connection.reset().await?;
    connection.forget_row_count().await
}
