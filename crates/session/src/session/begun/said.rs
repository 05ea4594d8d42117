//! Characteristics of one transaction alone: SET TRANSACTION, and what the transactions of a chain have in common.
//!
//! SET TRANSACTION is noted and answered. It holds for the next transaction. If that transaction begins here, the server hears of both when
//! it has to know of the transaction. Any statement that is sent before a transaction has begun comes after the SET TRANSACTION, since the
//! statement may itself be that transaction.

use freshet_protocol::{Command, StatusFlags};
use freshet_sql::{Characteristics, Completion, Isolation};

use super::words::characterizes;
use crate::relay::Lost;
use crate::session::view::Manner;
use crate::session::{Forward, Reports, Session};

/// A transaction that the server begins with the end of another one.
#[derive(Clone, Copy)]
pub(crate) struct ChainedTransaction {
    /// How the transaction reads.
    manner: Manner,
    /// Its characteristics: those of the transaction that ends, if there is one.
    said: Characteristics,
}

impl Session {
    /// Whether the server may refuse transactions that write.
    pub(super) fn is_server_read_only(&self) -> bool {
        let is_off = |value: &str| matches!(value, "OFF" | "0");
        self.shared.upstream.server().is_none_or(|server| !is_off(server.variables.text("read_only")))
    }

    /// Notes what SET TRANSACTION says of the next transaction. Returns false if the server has to be told: it refuses the statement within
    /// a transaction.
    pub(crate) fn characterizes(&mut self, said: Characteristics) -> bool {
        let tx = &self.state.tx;
        let is_outside = tx.surely_autocommits() || tx.begins_by_itself();
        let told = self.state.told.as_deref();
        const VARIABLES: [&[u8]; 4] =
            [b"transaction_isolation", b"tx_isolation", b"transaction_read_only", b"tx_read_only"];
        let is_told = |told: &Reports| told.state || VARIABLES.iter().any(|name| told.tell_of(name));
        let is_known = self.manner_of_transactions().is_some();
        let is_served = !matches!(said.isolation, Some(Isolation::ReadUncommitted | Isolation::Serializable));
        if !is_outside || !is_known || !is_served || told.is_some_and(is_told) {
            return false;
        }
        self.state.tx.characterized_here(said);
        self.leaves_nothing();
        self.refresh_key();
        self.put_ok(0);
        true
    }

    /// Whether the session ends with the transaction.
    pub(crate) fn releases(&self, completion: Completion) -> bool {
        let by_default = || self.state.environment.current().is_some_and(|it| it.transactions.release);
        completion.release.unwrap_or_else(by_default)
    }

    /// Returns the transaction that the server begins with COMMIT or ROLLBACK, if it begins one and it is known how that one reads.
    pub(crate) fn chains_on(&self, completion: Completion) -> Option<ChainedTransaction> {
        let known = self.state.environment.current()?.transactions;
        let chains = completion.chain.unwrap_or(known.chain);
        if !chains || !known.leave_no_trace || self.state.locks.are_in_force() || self.is_told_of_reads() {
            return None;
        }
        if !self.state.tx.is_open() && self.state.tx.begun().is_none() {
            let is_unsaid = self.state.tx.said().is_empty();
            return self
                .manner_of_transactions()
                .filter(|_| is_unsaid)
                .map(|manner| ChainedTransaction { manner, said: Characteristics::default() });
        }
        let (manner, said) = (self.state.view().manner()?, self.state.view().said());
        // The session's defaults may have changed meanwhile, and hold only after this transaction.
        (Manner::of(known, said.isolation) == Some(manner)).then_some(ChainedTransaction { manner, said })
    }

    /// Notes that the server has begun the next transaction.
    pub(crate) fn has_chained(&mut self, ChainedTransaction { manner, said }: ChainedTransaction) {
        let is_read_only = self.state.tx.flags().contains(StatusFlags::IN_TRANS_READONLY);
        let defaults = self.state.environment.current().is_some_and(|it| it.transactions.are_read_only);
        let read_only = said.read_only.or((defaults && !is_read_only).then_some(false));
        if self.state.tx.note_begun_at_server(manner, Characteristics { read_only, ..said }) {
            self.refresh_key();
        }
    }

    /// Returns the SET TRANSACTION that the server must hear now, because the statement may be the next transaction. Before that, the
    /// effects of answers given here are repeated at the server: a later repetition would use the SET TRANSACTION up.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn tells_what_was_said(&mut self, forward: &Forward<'_>) -> Result<Vec<String>, Lost> {
        let said = self.state.tx.said();
        if said.is_empty() || forward.message.command == Command::ResetConnection {
            return Ok(Vec::new());
        }
        Box::pin(self.replay_last_hit()).await?;
        self.state.last.forget();
        self.state.tx.passed_on();
        Ok(characterizes(said).into_iter().collect())
    }
}
