//! A session's transaction: how far it is, and what it reads. Whatever moves both moves them here, so neither is moved without the other.
//!
//! `session/tx.rs` has the transitions of the one, `session/view.rs` those of the other.

use std::ops::Deref;

use freshet_cache::Position;
use freshet_protocol::StatusFlags;
use freshet_sql::Characteristics;

use super::{Manner, ReadView};
use crate::session::tx::{BeforeBegin, Begun, Stage, Standing, Tx};

/// The transaction that a statement would run in if it were sent now, and its reads. All questions to [`Tx`] can be asked here.
#[derive(Debug)]
pub(crate) struct Transaction {
    tx: Tx,
    view: ReadView,
}

impl Deref for Transaction {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl Transaction {
    /// Makes the state after a login or a reset, with these flags.
    pub(crate) fn new(status: StatusFlags) -> Self {
        Self { tx: Tx::new(status), view: ReadView::default() }
    }

    /// Returns what the transaction reads.
    pub(crate) fn view(&self) -> &ReadView {
        &self.view
    }

    /// Returns the same, for what happens to the reads alone while the transaction goes on.
    pub(crate) fn view_mut(&mut self) -> &mut ReadView {
        &mut self.view
    }
}

/// What moves the transaction and its reads.
impl Transaction {
    /// See [`Tx::begun_here`]. `manner`: how the transaction reads; `said`: its own characteristics.
    pub(crate) fn begun_here(&mut self, is_read_only: bool, manner: Option<Manner>, said: Characteristics) {
        self.tx.begun_here(is_read_only);
        self.view.begin(manner, said);
    }

    /// See [`Tx::begun_by_itself`].
    pub(crate) fn begun_by_itself(
        &mut self,
        is_read_only: bool,
        manner: Option<Manner>,
        said: Characteristics,
    ) {
        self.tx.begun_by_itself(is_read_only);
        self.view.begin_by_itself(manner, said);
    }

    /// Notes that the statement that is sent next begins a transaction, because autocommit is off. Its answer shows whether it has.
    pub(crate) fn begins_by_itself_at_server(&mut self, manner: Option<Manner>) {
        self.view.begin_by_itself(manner, Characteristics::default());
    }

    /// See [`Tx::note_begun_at_server`].
    pub(crate) fn note_begun_at_server(&mut self, manner: Manner, said: Characteristics) -> bool {
        let has_begun = self.tx.note_begun_at_server();
        if has_begun {
            self.view.begin(Some(manner), said);
        }
        has_begun
    }

    /// The same for a transaction whose manner shows when the environment is read, if the environment still has this version.
    pub(crate) fn note_begun_undecided(&mut self, version: u64) {
        if self.tx.note_begun_at_server() {
            self.view.begin_undecided(version);
        }
    }

    /// Notes that the server has begun a transaction with a read view, which contains every transaction up to `contains`. `ends_asked` is
    /// read after that. Returns whether a transaction is open there.
    pub(crate) fn note_begun_with_view(
        &mut self,
        manner: Option<Manner>,
        contains: Position,
        ends_asked: u64,
    ) -> bool {
        let is_open = self.tx.is_open();
        if is_open {
            self.view.begin(manner, Characteristics::default());
            self.view.opened(contains, ends_asked);
            // The transaction is not begun anew: its moment is now.
            self.view.course.note_read();
        }
        is_open
    }

    /// See [`Tx::autocommit_set_here`].
    pub(crate) fn autocommit_set_here(&mut self, autocommits: bool) {
        self.tx.autocommit_set_here(autocommits);
        self.view.end();
    }

    /// See [`Tx::chained_here`]. The next transaction reads like this one.
    pub(crate) fn chained_here(&mut self) {
        self.tx.chained_here();
        self.view.begin(self.view.manner(), self.view.said());
    }

    /// See [`Tx::ended_here`].
    pub(crate) fn ended_here(&mut self) {
        self.tx.ended_here();
        self.view.end();
    }

    /// See [`Tx::taken_back`].
    pub(crate) fn taken_back(&mut self, before: BeforeBegin) {
        self.tx.taken_back(before);
        self.view.end();
    }

    /// See [`Tx::not_entered`].
    pub(crate) fn not_entered(&mut self, last: Option<StatusFlags>) {
        self.view.note_not_open();
        self.tx.not_entered(last);
    }

    /// Notes what the statement has read whose answer was just noted. `is_other`: the statement may have begun or ended transactions;
    /// `is_unread`: it has failed before it read anything, and its transaction has written nothing.
    pub(crate) fn has_read(&mut self, is_other: bool, is_unread: bool) {
        match self.tx.stage() {
            Stage::None => self.view.end(),
            Stage::Open { .. } if !is_other => self.view.course.note_read(),
            Stage::Unclear { .. } if is_unread && self.view.course.is_new() && self.view.is_shared_view() => {
                // The next statement that reads begins the transaction anew.
                self.tx.found_unread();
                self.view.note_unread();
            }
            _ => self.view.lose(),
        }
    }

    /// Notes that the statement whose answer was just noted may have begun a transaction of its own.
    pub(crate) fn has_read_anything(&mut self) {
        self.view.lose();
    }

    /// Notes the answer to a ROLLBACK of Freshet's own. Returns whether a transaction may still be open.
    pub(crate) fn rolled_back(&mut self, status: Option<StatusFlags>, failed: bool) -> bool {
        self.tx.answered(true, status, failed);
        let is_open = self.tx.may_be_open();
        if !is_open && !failed {
            self.tx.completed_at_server();
        }
        self.view.end();
        is_open
    }
}

/// What moves the transaction, and leaves open what it reads.
impl Transaction {
    /// See [`Tx::answered`]. What the statement has read is noted next.
    pub(crate) fn answered(&mut self, may_move: bool, status: Option<StatusFlags>, failed: bool) {
        self.tx.answered(may_move, status, failed);
    }

    /// See [`Tx::characterized`].
    pub(crate) fn characterized(&mut self, differs: bool) {
        self.tx.characterized(differs);
    }

    /// See [`Tx::characterized_here`].
    pub(crate) fn characterized_here(&mut self, said: Characteristics) {
        self.tx.characterized_here(said);
    }

    /// See [`Tx::passed_on`].
    pub(crate) fn passed_on(&mut self) {
        self.tx.passed_on();
    }

    /// See [`Tx::left_untouched`].
    pub(crate) fn left_untouched(&mut self, begun: Begun) {
        self.tx.left_untouched(begun);
    }

    /// See [`Tx::left_behind`].
    pub(crate) fn left_behind(&mut self, left: Standing) {
        self.tx.left_behind(left);
    }

    /// See [`Tx::completed_at_server`].
    pub(crate) fn completed_at_server(&mut self) {
        self.tx.completed_at_server();
    }
}

#[cfg(test)]
mod tests;
