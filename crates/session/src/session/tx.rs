//! The session's transaction, as far as the server's answers tell. All transitions are here.
//!
//! | state | what the server said | what becomes of it |
//! |---|---|---|
//! | any | an answer's flags | [`Tx::None`] or [`Tx::Open`], as they say |
//! | any | an error, to a statement that may begin or end transactions | [`Tx::Unclear`] |
//! | any | an error, to one that cannot | the same as before it |
//! | any | the characteristics of a transaction | the same, with another [`Next`] |
//!
//! A transaction that the client begins is [`Tx::Begun`] before the server is told of it, for as long as nothing has happened in it
//! that the server must know of: `session/begun.rs` says when that is.

use freshet_protocol::StatusFlags;
use freshet_sql::{Characteristics, Effects, TransactionEffect, Writes};

use super::facts::StatementFacts;

/// The transaction that a statement would run in if it were sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tx {
    /// None is open: the statement runs in one of its own, or opens one, as [`Next`] says.
    None(Next),
    /// The client is in one, and the server need not know of it yet.
    Begun { begun: Begun, next: Next },
    /// One is open, and goes on.
    Open { read_only: bool, next: Next },
    /// The last answer was an error, which has no flags, and may have ended the transaction that was open (a deadlock, an
    /// implicit commit before what failed) or have left one open. The flags are those of before.
    Unclear { before: StatusFlags, next: Next },
}

/// A transaction in which nothing has happened yet that the server must know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    /// A statement has begun it. Otherwise an answer from memory has, since autocommit is off.
    pub(crate) is_explicit: bool,
    pub(crate) is_read_only: bool,
    /// The server has begun it too. It has read and written nothing, and may be begun anew.
    pub(crate) is_at_server: bool,
}

/// The first transaction that begins after this moment or after the open one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    /// Autocommit is on: it lasts for one statement, unless that begins another.
    autocommits: bool,
    /// `SET TRANSACTION` may hold for it alone, so that it must reach the server. The server reports the same of a transaction
    /// that is open.
    differs: bool,
    /// What `SET TRANSACTION` has said for it that the server has not been told.
    said: Characteristics,
}

impl Tx {
    /// As a login or a reset leaves it, with these flags.
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

    /// After an answer. `may_move`: to a statement that may begin or end transactions; `status`: the last flags in it, if there
    /// were any before an error.
    pub(crate) fn answered(self, may_move: bool, status: Option<StatusFlags>, failed: bool) -> Self {
        let next = self.next();
        let told = status.map_or(self, |status| Self::told(status, next));
        if failed && may_move {
            return Self::Unclear { before: told.flags(), next: told.next() };
        }
        told
    }

    /// After the server has said whether anything holds for the present or the next transaction alone.
    pub(crate) fn characterized(mut self, differs: bool) -> Self {
        self.next_mut().differs = differs;
        self
    }

    /// After `SET TRANSACTION` was answered in the server's place.
    pub(crate) fn says(mut self, said: Characteristics) -> Self {
        let next = self.next_mut();
        next.said = next.said.and(said);
        self
    }

    /// After the server is told what was said, or the transaction has begun for which it was.
    pub(crate) fn says_no_more(mut self) -> Self {
        self.next_mut().said = Characteristics::default();
        self
    }

    /// What was said of the next transaction, of which the server knows nothing.
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

    /// After the client has begun a transaction of which the server need not know yet; or it begins with an answer from memory.
    pub(crate) fn begin(self, begun: Begun) -> Self {
        Self::Begun { begun, next: Next { said: Characteristics::default(), ..self.next() } }
    }

    /// After the end of a transaction of which the server knows nothing.
    pub(crate) fn end(self) -> Self {
        Self::None(self.next())
    }

    /// The transaction of which the server need not know yet, if this is one.
    pub(crate) fn begun(self) -> Option<Begun> {
        match self {
            Self::Begun { begun, .. } => Some(begun),
            _ => None,
        }
    }

    /// Whether the next statement begins a transaction that goes on after it, if it reads or writes anything.
    pub(crate) fn begins_by_itself(self) -> bool {
        matches!(self, Self::None(Next { autocommits: false, .. }))
    }

    /// Whether one is open at the server.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether a statement outside of transactions is one of its own.
    pub(crate) fn autocommits(self) -> bool {
        self.next().autocommits
    }

    /// The flags of an answer of ours.
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

    /// Whether one may be open that the client would lose with its session.
    pub(crate) fn may_be_open(self) -> bool {
        self.flags().contains(StatusFlags::IN_TRANS)
    }

    /// Whether one may be open that the server knows of.
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

    /// Whether what was said for one transaction alone may not be over.
    pub(crate) fn next_differs(self) -> bool {
        self.next().differs
    }

    /// Whether a statement, sent now, leaves no transaction open, whatever becomes of it.
    pub(crate) fn leaves_nothing_open(self, effects: &Effects, facts: &StatementFacts) -> bool {
        let is_one = !effects.several && !facts.may_commit;
        let is_plain = effects.transaction == TransactionEffect::None && effects.writes != Writes::Everything;
        self.surely_autocommits() && is_one && (is_plain || effects.is_definition)
    }
}

#[cfg(test)]
mod tests;
