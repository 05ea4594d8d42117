//! The session's transaction, as far as the server's answers tell. Only the methods of [`Tx`] change it: each is named for what has
//! happened. `session/view/transaction.rs` calls them, and moves what the transaction reads at the same time. Each row of this table is
//! one transition. "Newly `Begun`" also means that nothing is said of the next transaction any more.
//!
//! | what has happened | method | from | the new state |
//! |---|---|---|---|
//! | an answer with flags | [`Tx::answered`] | any | [`Stage::None`] or [`Stage::Open`], by the flags |
//! | an answer without flags | [`Tx::answered`] | any | the same |
//! | an error, to a statement that may begin or end transactions | [`Tx::answered`] | any | [`Stage::Unclear`], with the last flags |
//! | an error, to a statement that cannot | [`Tx::answered`] | any | as without the error |
//! | the server has reported the characteristics of a transaction | [`Tx::characterized`] | any | the same, with another [`Next`] |
//! | SET TRANSACTION was answered here | [`Tx::characterized_here`] | any | the same, with another [`Next`] |
//! | SET autocommit was answered here | [`Tx::autocommit_set_here`] | `None`, with nothing standing | the same, with another [`Next`] |
//! | the server is told of that SET TRANSACTION | [`Tx::passed_on`] | any | the same, with another [`Next`] |
//! | BEGIN was answered here | [`Tx::begun_here`] | any | newly `Begun`, by a statement; at the server if it was `Begun` there |
//! | a transaction has gone back to a savepoint before its first read, and was rolled back | [`Tx::begun_here`] | any | the same as for BEGIN |
//! | START TRANSACTION WITH CONSISTENT SNAPSHOT begins here, and the server is told next | [`Tx::begun_here`] | any | the same as for BEGIN |
//! | an answer from memory has begun a transaction | [`Tx::begun_by_itself`] | `None`, autocommit off | newly `Begun`, by no statement |
//! | COMMIT or ROLLBACK was answered here | [`Tx::ended_here`] | `Begun` | `None` |
//! | the same with AND CHAIN | [`Tx::chained_here`] | `Begun` | newly `Begun`, by a statement; otherwise as before |
//! | the server has begun a transaction, and did nothing else in it | [`Tx::note_begun_at_server`] | `Open` | newly `Begun`, at the server |
//! | the same | [`Tx::note_begun_at_server`] | any other | the same |
//! | a statement has failed before it read anything in its transaction | [`Tx::found_unread`] | `Unclear` | newly `Begun`, at the server |
//! | the same | [`Tx::found_unread`] | any other | the same |
//! | a statement was answered that touches nothing of a begun transaction | [`Tx::left_untouched`] | any | newly `Begun`, as given |
//! | a transaction is still begun only here, or the server has not done all that was due at its begin | [`Tx::not_entered`] | `Begun` | `Begun`, at the server by the last flags, if there are any |
//! | the same | [`Tx::not_entered`] | any other | the same |
//! | a transaction that was begun here is taken back | [`Tx::taken_back`] | `Begun` | as before its beginning |
//! | a statement has left something at the server. Its answer's flags are noted before | [`Tx::left_behind`] | `None`, autocommit on | the same, with nothing standing |
//! | the same | [`Tx::left_behind`] | any other | the same, with what stood and what was left |
//! | a statement, or a ROLLBACK of Freshet's own, has ended the transaction at the server | [`Tx::completed_at_server`] | any | the same, with nothing standing |
//!
//! A transaction that the client begins is [`Stage::Begun`] until the server is told of it. It stays so as long as nothing has happened in
//! it that the server must know of: `session/begun.rs` has the rules.

use freshet_protocol::StatusFlags;
use freshet_sql::{Characteristics, Effects, TransactionEffect, Writes};

use super::facts::StatementFacts;

/// The transaction that a statement would run in if it were sent now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tx {
    stage: Stage,
    next: Next,
    standing: Standing,
}

/// How far a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No transaction is open: the statement runs in one of its own, or opens one, by [`Next`].
    None,
    /// The client is in a transaction, and the server need not know of it yet.
    Begun(Begun),
    /// A transaction is open, and goes on.
    Open { is_read_only: bool },
    /// The last answer was an error, which has no flags. It may have ended the open transaction (a deadlock, an
    /// implicit commit before the failure) or have left one open. The flags are the earlier ones.
    Unclear { before: StatusFlags },
}

/// A transaction in which nothing has happened yet that the server must know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    /// A statement has begun the transaction. Otherwise an answer from memory has, because autocommit is off.
    pub(crate) is_explicit: bool,
    pub(crate) is_read_only: bool,
    /// The server has begun the transaction too. It has read and written nothing there, and may be begun anew.
    pub(crate) is_at_server: bool,
}

/// The first transaction that begins after now, or after the open one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Next {
    /// Autocommit is on: the transaction lasts for one statement, unless the statement begins another.
    autocommits: bool,
    /// `SET TRANSACTION` may hold for this transaction alone, so the transaction must reach the server. The server reports the same for an
    /// open transaction.
    differs: bool,
    /// What `SET TRANSACTION` has said for this transaction, and the server has not been told.
    said: Characteristics,
}

/// What may stand at the server until the next COMMIT or ROLLBACK that the server knows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// A savepoint. If autocommit is off, a savepoint can stand while the server reports no open transaction. A statement that begins a
    /// transaction would remove that savepoint.
    pub(crate) savepoint: bool,
    /// Tables that a statement has opened. If autocommit is off, the server lets no other session redefine these tables, even while no
    /// transaction is open: tables without transactions open none.
    pub(crate) open_tables: bool,
}

/// The state before a transaction was begun here. [`Standing`] is not part of it: what stands at the server is not taken back.
#[derive(Debug)]
pub(crate) struct BeforeBegin {
    stage: Stage,
    next: Next,
}

/// The transitions.
impl Tx {
    /// Makes the state after a login or a reset, with these flags.
    pub(crate) fn new(status: StatusFlags) -> Self {
        let next = Next { autocommits: true, differs: false, said: Characteristics::default() };
        let mut tx = Self { stage: Stage::None, next, standing: Standing::default() };
        tx.told(status);
        tx
    }

    fn told(&mut self, status: StatusFlags) {
        self.next.autocommits = status.contains(StatusFlags::AUTOCOMMIT);
        self.stage = if status.contains(StatusFlags::IN_TRANS) {
            Stage::Open { is_read_only: status.contains(StatusFlags::IN_TRANS_READONLY) }
        } else {
            Stage::None
        };
    }

    /// Notes an answer. `may_move`: the statement may begin or end transactions; `status`: the last flags in the answer, if there were any
    /// before an error.
    pub(crate) fn answered(&mut self, may_move: bool, status: Option<StatusFlags>, failed: bool) {
        if let Some(status) = status {
            self.told(status);
        }
        if failed && may_move {
            self.stage = Stage::Unclear { before: self.flags() };
        }
    }

    /// Notes the server's report whether something holds for the present or the next transaction alone.
    pub(crate) fn characterized(&mut self, differs: bool) {
        self.next.differs = differs;
    }

    /// Notes that `SET TRANSACTION` was answered in the server's place.
    pub(crate) fn characterized_here(&mut self, said: Characteristics) {
        self.next.said = self.next.said.and(said);
    }

    /// Notes that a SET of `autocommit` was answered in the server's place.
    pub(crate) fn autocommit_set_here(&mut self, autocommits: bool) {
        debug_assert!(self.is_clear(), "{self:?}");
        self.next.autocommits = autocommits;
    }

    /// Notes that the server is told what was said here of the next transaction. The server reports later when that does not hold any more.
    pub(crate) fn passed_on(&mut self) {
        self.next.said = Characteristics::default();
        self.next.differs = true;
    }

    /// Notes that a statement has begun a transaction that the server need not know of yet. If the server knows of one already, in which
    /// nothing has happened, that one is used.
    pub(crate) fn begun_here(&mut self, is_read_only: bool) {
        let is_at_server = self.begun().is_some_and(|begun| begun.is_at_server);
        self.begin(Begun { is_explicit: true, is_read_only, is_at_server });
    }

    /// Notes that an answer from memory has begun a transaction, because autocommit is off.
    pub(crate) fn begun_by_itself(&mut self, is_read_only: bool) {
        debug_assert!(self.begins_by_itself(), "{self:?}");
        self.begin(Begun { is_explicit: false, is_read_only, is_at_server: false });
    }

    /// Notes the end of a transaction that the server does not know of.
    pub(crate) fn ended_here(&mut self) {
        debug_assert!(self.begun().is_some(), "{self:?}");
        self.stage = Stage::None;
    }

    /// Notes the end of a transaction in which nothing has happened at the server, and the begin of the next one in its place.
    pub(crate) fn chained_here(&mut self) {
        debug_assert!(self.begun().is_some(), "{self:?}");
        if let Some(begun) = self.begun() {
            self.begin(Begun { is_explicit: true, ..begun });
        }
    }

    /// Notes that the server has begun a transaction, and has done nothing else in it. Returns whether a transaction is open there.
    pub(crate) fn note_begun_at_server(&mut self) -> bool {
        let Stage::Open { is_read_only } = self.stage else { return false };
        self.begin(Begun { is_explicit: true, is_read_only, is_at_server: true });
        true
    }

    /// Notes that the statement that has failed has read nothing, and neither has any other of its transaction.
    pub(crate) fn found_unread(&mut self) {
        if let Stage::Unclear { before } = self.stage {
            let is_read_only = before.contains(StatusFlags::IN_TRANS_READONLY);
            self.begin(Begun { is_explicit: true, is_read_only, is_at_server: true });
        }
    }

    /// Notes the answer to a statement that has touched nothing of a begun transaction. `begun`: the transaction after the statements that
    /// went before.
    pub(crate) fn left_untouched(&mut self, begun: Begun) {
        self.begin(begun);
    }

    /// Notes that a transaction is still begun only here, or that the server has not done all that was due at its begin. `last`: the
    /// server's last flags, if there were any.
    pub(crate) fn not_entered(&mut self, last: Option<StatusFlags>) {
        if let (Stage::Begun(begun), Some(last)) = (&mut self.stage, last) {
            begun.is_at_server = last.contains(StatusFlags::IN_TRANS);
        }
    }

    /// Returns the present state, to be kept until it is clear whether the transaction that begins here now is taken back.
    pub(crate) fn before_begin(&self) -> BeforeBegin {
        BeforeBegin { stage: self.stage, next: self.next }
    }

    /// Notes that the transaction that was begun here after that is none.
    pub(crate) fn taken_back(&mut self, BeforeBegin { stage, next }: BeforeBegin) {
        debug_assert!(self.begun().is_some(), "{self:?}");
        (self.stage, self.next) = (stage, next);
    }

    /// Notes what a statement that has not ended the transaction may have left at the server.
    pub(crate) fn left_behind(&mut self, left: Standing) {
        let (stood, goes_on) = (self.standing, !self.surely_autocommits());
        self.standing = Standing {
            savepoint: goes_on && (stood.savepoint || left.savepoint),
            open_tables: goes_on && (stood.open_tables || left.open_tables),
        };
    }

    /// Notes that a statement of the client or of Freshet has ended the transaction at the server, whether or not the statement has begun
    /// another.
    pub(crate) fn completed_at_server(&mut self) {
        self.standing = Standing::default();
    }

    fn begin(&mut self, begun: Begun) {
        self.stage = Stage::Begun(begun);
        self.next.said = Characteristics::default();
    }
}

/// The questions.
impl Tx {
    /// Returns how far the transaction is.
    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    /// Returns the transaction that the server need not know of yet, if there is one.
    pub(crate) fn begun(&self) -> Option<Begun> {
        match self.stage {
            Stage::Begun(begun) => Some(begun),
            _ => None,
        }
    }

    /// Returns what was said of the next transaction, and the server has not been told.
    pub(crate) fn said(&self) -> Characteristics {
        self.next.said
    }

    /// Returns what may stand at the server, apart from an open transaction.
    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    /// Whether the next statement begins a transaction that goes on after it, if the statement reads or writes anything.
    pub(crate) fn begins_by_itself(&self) -> bool {
        self.stage == Stage::None && !self.next.autocommits
    }

    /// Whether a transaction is open at the server.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open { .. })
    }

    /// Whether a statement outside of transactions is a transaction of its own.
    pub(crate) fn autocommits(&self) -> bool {
        self.next.autocommits
    }

    /// Returns the flags of an answer of Freshet's own.
    pub(crate) fn flags(&self) -> StatusFlags {
        let mut flags = match self.stage {
            Stage::Unclear { before } => return before,
            Stage::None => StatusFlags::empty(),
            Stage::Begun(Begun { is_read_only: false, .. }) | Stage::Open { is_read_only: false } => {
                StatusFlags::IN_TRANS
            }
            Stage::Begun(_) | Stage::Open { .. } => {
                StatusFlags::IN_TRANS.union(StatusFlags::IN_TRANS_READONLY)
            }
        };
        flags.set(StatusFlags::AUTOCOMMIT, self.next.autocommits);
        flags
    }

    /// Whether a transaction may be open that the client would lose with its session.
    pub(crate) fn may_be_open(&self) -> bool {
        self.flags().contains(StatusFlags::IN_TRANS)
    }

    /// Whether a transaction may be open that the server knows of.
    pub(crate) fn may_be_open_at_server(&self) -> bool {
        self.begun().map_or_else(|| self.may_be_open(), |begun| begun.is_at_server)
    }

    /// Whether a statement surely runs in a transaction of its own.
    pub(crate) fn surely_autocommits(&self) -> bool {
        self.stage == Stage::None && self.next.autocommits
    }

    /// Whether no transaction has begun, and nothing stands at the server that the end of one would remove.
    pub(crate) fn is_clear(&self) -> bool {
        self.stage == Stage::None && self.standing == Standing::default()
    }

    /// Whether a statement is surely part of a transaction that goes on after it.
    pub(crate) fn surely_transacts(&self) -> bool {
        matches!(self.stage, Stage::Begun(_) | Stage::Open { .. }) || self.begins_by_itself()
    }

    /// Whether a setting for one transaction alone may still hold.
    pub(crate) fn next_differs(&self) -> bool {
        self.next.differs
    }

    /// Whether a statement, sent now, leaves no transaction open, however it ends.
    pub(crate) fn leaves_nothing_open(&self, effects: &Effects, facts: &StatementFacts) -> bool {
        let is_one = !effects.several && !facts.may_commit;
        let is_plain = effects.transaction == TransactionEffect::None && effects.writes != Writes::Everything;
        self.surely_autocommits() && is_one && (is_plain || effects.is_definition)
    }
}

#[cfg(test)]
mod tests;
