//! A session as its client sees it: the facts needed to answer in the server's place, and to know when Freshet must not. `lease.rs` has the
//! facts of the server's connection, `facts.rs` those of one statement.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use freshet_protocol::StatusFlags;
use freshet_sql::{Effects, Flavor, Modes};

use super::hidden_tables::HiddenTables;
use super::known_environment::KnownEnvironment;
use super::last_statement::LastStatement;
use super::locks::TableLocks;
use super::past_deeds::PastDeeds;
use super::reports::Reports;
use super::setting::Setting;
use super::texts::Texts;
use super::tx::{Begun, Stage};
use super::user_variables::UserVariables;
use super::view::{ReadView, Transaction};
use super::without_connection::WithoutConnection;
use crate::environment::Environment;
use crate::fences::{Doubt, Pending};
use crate::relay::ServedCounts;
use crate::variables::Locals;

/// The flags of an answer that are the session's own, besides those of its transaction; all others are the query's.
const SESSION_FLAGS: StatusFlags =
    StatusFlags::DB_DROPPED.union(StatusFlags::NO_BACKSLASH_ESCAPES).union(StatusFlags::ANSI_QUOTES);

/// What Freshet knows of one session.
#[derive(Debug)]
pub(crate) struct State {
    /// The status flags of the server's last answer.
    status: StatusFlags,
    /// The session's transaction, and what it reads.
    pub(crate) tx: Transaction,
    /// The environment, with the default schema and the key of look-ups.
    pub(crate) environment: KnownEnvironment,
    /// The client has said `USE freshet`: tables without a schema are Freshet's, whatever the server's default schema is.
    pub(crate) reads_ours: bool,
    /// The reports that the client wants, if they were read: by default the server's own defaults.
    pub(crate) told: Option<Arc<Reports>>,
    /// The last report that the client got, from whichever part: that a transaction has begun, or that none has.
    pub(crate) told_begun: AtomicBool,
    pub(crate) hidden: HiddenTables,
    pub(crate) locks: TableLocks,
    pub(crate) deeds: PastDeeds,
    pub(crate) pending: Pending,
    /// The statements that are prepared as texts.
    pub(crate) texts: Texts,
    /// The known values of the session's user variables.
    pub(crate) user_variables: UserVariables,
    pub(crate) locals: Locals,
    /// What the client may ask about its last statement.
    pub(crate) last: LastStatement,
    /// The counts of answers from memory.
    pub(crate) served: ServedCounts,
    /// The setting that the last command was, if its effect is to be remembered.
    pub(super) setting: Option<Box<Setting>>,
    pub(super) unconnected: WithoutConnection,
}

impl State {
    /// Makes the state after a login that names this schema.
    pub(crate) fn new(status: StatusFlags, locals: Locals, schema: Option<String>) -> Self {
        Self {
            status,
            tx: Transaction::new(status),
            environment: KnownEnvironment::of_login(schema),
            reads_ours: false,
            told: None,
            told_begun: AtomicBool::new(false),
            hidden: HiddenTables::default(),
            locks: TableLocks::default(),
            deeds: PastDeeds::default(),
            pending: Pending::default(),
            texts: Texts::default(),
            user_variables: UserVariables::default(),
            locals,
            last: LastStatement::default(),
            served: ServedCounts::default(),
            setting: None,
            unconnected: WithoutConnection::default(),
        }
    }

    /// Makes the state after another login, or after a reset, with this default schema.
    pub(crate) fn begun_anew(&self, status: StatusFlags, locals: Locals, schema: Option<String>) -> Self {
        let environment = self.environment.begun_anew(schema);
        Self { environment, ..Self::new(status, locals, None) }
    }

    /// Returns what the session's transaction reads.
    pub(crate) fn view(&self) -> &ReadView {
        self.tx.view()
    }

    /// Returns the same, for what happens to the reads alone.
    pub(crate) fn view_mut(&mut self) -> &mut ReadView {
        self.tx.view_mut()
    }

    /// Takes over what an answer says of the session; see [`Transaction::answered`].
    pub(crate) fn answered(&mut self, may_move: bool, status: Option<StatusFlags>, failed: bool) {
        self.status = status.unwrap_or(self.status);
        self.tx.answered(may_move, status, failed);
    }

    /// Takes over that the session is in another environment, in which texts are read by these modes.
    pub(super) fn set_flags_of(&mut self, modes: Modes) {
        self.status.remove(SESSION_FLAGS);
        self.status.set(StatusFlags::NO_BACKSLASH_ESCAPES, modes.no_backslash_escapes);
        // MySQL has no such flag.
        self.status.set(StatusFlags::ANSI_QUOTES, modes.ansi_quotes && modes.flavor == Flavor::MariaDb);
    }

    /// Returns the flags of an answer of Freshet's own.
    pub(crate) fn status_for_answers(&self) -> StatusFlags {
        self.status & SESSION_FLAGS | self.tx.flags()
    }

    /// Whether it is known which moment the next statement reads.
    pub(crate) fn knows_reads(&self) -> bool {
        // If autocommit is off by the global default, MySQL's flags say that it is on until a transaction has begun.
        let agrees = || {
            let known = self.environment.current();
            known.is_none_or(|known| known.transactions.autocommit == self.tx.autocommits())
        };
        match self.tx.stage() {
            Stage::None => agrees(),
            Stage::Begun(_) | Stage::Open { .. } => self.tx.view().is_known(),
            Stage::Unclear { .. } => false,
        }
    }

    /// Notes an answer to a statement that has touched nothing of the transaction.
    pub(crate) fn stays(&mut self, begun: Begun, status: Option<StatusFlags>) {
        self.status = status.unwrap_or(self.status);
        self.tx.left_untouched(begun);
    }

    /// Notes that a transaction is still begun only here, or that the server has not done all that was due at its begin. `last`: the server's
    /// last flags, if there were any.
    pub(crate) fn note_not_entered(&mut self, last: Option<StatusFlags>) {
        self.tx.not_entered(last);
    }

    /// Notes the answer to a ROLLBACK of Freshet's own, which begins no other transaction. If it has succeeded, neither savepoints nor the
    /// locks on open tables are left at the server, with and without autocommit. LOCK TABLES stays in force.
    pub(crate) fn note_rolled_back(&mut self, status: Option<StatusFlags>, failed: bool) {
        self.status = status.unwrap_or(self.status);
        if !self.tx.rolled_back(status, failed) {
            self.pending.clear();
        }
    }

    /// Takes over an environment that was read, with its default schema.
    pub(super) fn environment_is(&mut self, read: Arc<Environment>) {
        // Its tables are there since the beginning of the connection.
        if read.begins_with_tables && self.environment.read().is_none() {
            self.hidden.note_unknown_code();
        }
        self.environment.note_read(read);
    }

    /// Notes tables and routines that may run unknown code; at the moment Freshet cannot tell whether they do.
    pub(crate) fn doubts(&mut self, doubts: Vec<Doubt>) {
        if self.hidden.note_doubts(doubts) {
            self.environment.note_unknown();
        }
    }

    /// Notes that a doubt is resolved: the table or routine runs no unknown code, if it `is_plain`.
    pub(super) fn note_judged(&mut self, doubt: &Doubt, is_plain: bool) {
        self.hidden.note_judged(doubt, is_plain);
        if !is_plain {
            self.environment.note_unknown();
        }
    }

    /// Takes all doubts for true. Returns whether there were any.
    pub(super) fn believe_doubts(&mut self) -> bool {
        let were_there = self.hidden.believe_doubts();
        if were_there {
            self.environment.note_unknown();
        }
        were_there
    }

    /// Notes that unknown code ran, which may have made temporary tables, changed the environment, and set user variables.
    pub(super) fn note_unknown_code(&mut self) {
        self.hidden.note_unknown_code();
        self.environment.note_unknown();
        self.user_variables.forget();
    }

    /// Notes what a statement may have done, whether or not it succeeded.
    pub(crate) fn ran(&mut self, effects: &Effects, succeeded: bool) {
        self.hidden.note_ran(effects, succeeded);
        self.locks.ran(effects.locks_tables, succeeded);
    }
}

#[cfg(test)]
mod tests;
