//! The session's transaction, as far as the server's answers tell. All transitions are here.
//!
//! | state | what the server said | the new state |
//! |---|---|---|
//! | any | an answer's flags | [`Tx::None`] or [`Tx::Open`], by the flags |
//! | any | an error, to a statement that may begin or end transactions | [`Tx::Unclear`] |
//! | any | an error, to a statement that cannot | the same state |
//! | any | the characteristics of a transaction | the same state, with another [`Next`] |
//!
//! A transaction that the client begins is [`Tx::Begun`] until the server is told of it. It stays so as long as nothing has happened in it
//! that the server must know of: `session/begun.rs` has the rules.

use freshet_protocol::StatusFlags;
use freshet_sql::{Characteristics, Effects, TransactionEffect, Writes};

use super::facts::StatementFacts;

/// The transaction that a statement would run in if it were sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tx {
    /// No transaction is open: the statement runs in one of its own, or opens one, by [`Next`].
    None(Next),
    /// The client is in a transaction, and the server need not know of it yet.
    Begun { begun: Begun, next: Next },
    /// A transaction is open, and goes on.
    Open { read_only: bool, next: Next },
    /// The last answer was an error, which has no flags. It may have ended the open transaction (a deadlock, an
    /// implicit commit before the failure) or have left one open. The flags are the earlier ones.
    Unclear { before: StatusFlags, next: Next },
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
pub(crate) struct Next {
    /// Autocommit is on: the transaction lasts for one statement, unless the statement begins another.
    autocommits: bool,
    /// `SET TRANSACTION` may hold for this transaction alone, so the transaction must reach the server. The server reports the same for an
    /// open transaction.
    differs: bool,
    /// What `SET TRANSACTION` has said for this transaction, and the server has not been told.
    said: Characteristics,
}

impl Tx {
    /// Makes the state after a login or a reset, with these flags.
    pub(crate) fn new(status: StatusFlags) -> Self {
        let next = Next { autocommits: true, differs: false, said: Characteristics::default() };
        Self::told(status, next)
    }

    fn told(status: StatusFlags, before: Next) -> Self {
        let next = Next { autocommits: status.contains(StatusFlags::AUTOCOMMIT), ..before };
        if status.contains(StatusFlags::IN_TRANS) {
            Self::Open { read_only: status.contains(StatusFlags::IN_TRANS_READONLY), next }
        } else {
            Self::None(next)
        }
    }

    /// Returns the state after an answer. `may_move`: the statement may begin or end transactions; `status`: the last flags in the answer,
    /// if there were any before an error.
    pub(crate) fn answered(self, may_move: bool, status: Option<StatusFlags>, failed: bool) -> Self {
        let next = self.next();
        let told = status.map_or(self, |status| Self::told(status, next));
        if failed && may_move {
            return Self::Unclear { before: told.flags(), next: told.next() };
        }
        told
    }

    /// Returns the state after the server's report whether something holds for the present or the next transaction alone.
    pub(crate) fn characterized(mut self, differs: bool) -> Self {
        self.next_mut().differs = differs;
        self
    }

    /// Returns the state after `SET TRANSACTION` was answered in the server's place.
    pub(crate) fn says(mut self, said: Characteristics) -> Self {
        let next = self.next_mut();
        next.said = next.said.and(said);
        self
    }

    /// Returns the state after the server is told what was said, or after that transaction has begun.
    pub(crate) fn says_no_more(mut self) -> Self {
        self.next_mut().said = Characteristics::default();
        self
    }

    /// Returns what was said of the next transaction, and the server has not been told.
    pub(crate) fn said(self) -> Characteristics {
        self.next().said
    }

    fn next_mut(&mut self) -> &mut Next {
        let (Self::None(next)
        | Self::Begun { next, .. }
        | Self::Open { next, .. }
        | Self::Unclear { next, .. }) = self;
        next
    }

    fn next(self) -> Next {
        match self {
            Self::None(next)
            | Self::Begun { next, .. }
            | Self::Open { next, .. }
            | Self::Unclear { next, .. } => next,
        }
    }

    /// Returns the state after the client, or an answer from memory, has begun a transaction that the server need not know of yet.
    pub(crate) fn begin(self, begun: Begun) -> Self {
        Self::Begun { begun, next: Next { said: Characteristics::default(), ..self.next() } }
    }

    /// Returns the state after the end of a transaction that the server does not know of.
    pub(crate) fn end(self) -> Self {
        Self::None(self.next())
    }

    /// Returns the transaction that the server need not know of yet, if there is one.
    pub(crate) fn begun(self) -> Option<Begun> {
        match self {
            Self::Begun { begun, .. } => Some(begun),
            _ => None,
        }
    }

    /// Whether the next statement begins a transaction that goes on after it, if the statement reads or writes anything.
    pub(crate) fn begins_by_itself(self) -> bool {
        matches!(self, Self::None(Next { autocommits: false, .. }))
    }

    /// Whether a transaction is open at the server.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether a statement outside of transactions is a transaction of its own.
    pub(crate) fn autocommits(self) -> bool {
        self.next().autocommits
    }

    /// Returns the flags of an answer of Freshet's own.
    pub(crate) fn flags(self) -> StatusFlags {
        let mut flags = match self {
            Self::Unclear { before, .. } => return before,
            Self::None(_) => StatusFlags::empty(),
            Self::Begun { begun: Begun { is_read_only: false, .. }, .. } => StatusFlags::IN_TRANS,
            Self::Begun { .. } => StatusFlags::IN_TRANS.union(StatusFlags::IN_TRANS_READONLY),
            Self::Open { read_only: false, .. } => StatusFlags::IN_TRANS,
            Self::Open { read_only: true, .. } => StatusFlags::IN_TRANS.union(StatusFlags::IN_TRANS_READONLY),
        };
        flags.set(StatusFlags::AUTOCOMMIT, self.next().autocommits);
        flags
    }

    /// Whether a transaction may be open that the client would lose with its session.
    pub(crate) fn may_be_open(self) -> bool {
        self.flags().contains(StatusFlags::IN_TRANS)
    }

    /// Whether a transaction may be open that the server knows of.
    pub(crate) fn may_be_open_at_server(self) -> bool {
        self.begun().map_or_else(|| self.may_be_open(), |begun| begun.is_at_server)
    }

    /// Whether a statement surely runs in a transaction of its own.
    pub(crate) fn surely_autocommits(self) -> bool {
        matches!(self, Self::None(Next { autocommits: true, .. }))
    }

    /// Whether a statement is surely part of a transaction that goes on after it.
    pub(crate) fn surely_transacts(self) -> bool {
        matches!(self, Self::Begun { .. } | Self::Open { .. }) || self.begins_by_itself()
    }

    /// Whether a setting for one transaction alone may still hold.
    pub(crate) fn next_differs(self) -> bool {
        self.next().differs
    }

    /// Whether a statement, sent now, leaves no transaction open, however it ends.
    pub(crate) fn leaves_nothing_open(self, effects: &Effects, facts: &StatementFacts) -> bool {
        let is_one = !effects.several && !facts.may_commit;
        let is_plain = effects.transaction == TransactionEffect::None && effects.writes != Writes::Everything;
        self.surely_autocommits() && is_one && (is_plain || effects.is_definition)
    }
}

#[cfg(test)]
mod tests;
