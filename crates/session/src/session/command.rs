//! A command for the server, and the facts that are known of it before it is sent.

use freshet_protocol::Command;
use freshet_sql::{Effects, TransactionEffect, Writes};

use super::begun::words::first_word_is;
use super::prepared::{OwedCommand, Prepared};
use crate::environment::sets_only_what_is_read;
use crate::reading::LONG_BYTES_MIN;
use crate::relay::{Capture, Listed, PutRight};
use crate::rows::Write;
use crate::sought::{OF_CONNECTION, has_any};
use crate::statistics::DigestMemo;

/// A command, and the text by which its statement is judged and counted. The packet may contain another text: one without a hint, or no
/// text at all.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) command: Command,
    pub(crate) packet: &'a [u8],
    /// The statement's text; empty if there is none.
    pub(crate) text: &'a [u8],
    /// Under which digest statements like it are counted, if that is noted anywhere.
    pub(crate) memo: Option<&'a DigestMemo>,
    /// The text is known to be [plain](crate::sought).
    pub(crate) is_plain: bool,
}

impl<'a> Message<'a> {
    /// Returns a command without a statement's text.
    pub(crate) const fn bare(command: Command, packet: &'a [u8]) -> Self {
        Self { command, packet, text: &[], memo: None, is_plain: false }
    }

    /// Returns a COM_QUERY.
    pub(crate) const fn query(packet: &'a [u8], text: &'a [u8]) -> Self {
        Self { command: Command::Query, packet, text, memo: None, is_plain: false }
    }

    /// Returns the same message, counted as the memo says.
    pub(crate) const fn with_memo(self, memo: Option<&'a DigestMemo>) -> Self {
        Self { memo, ..self }
    }

    /// Returns the same message; `is_plain`: its text is known to be [plain](crate::sought).
    pub(crate) const fn known_as(self, is_plain: bool) -> Self {
        Self { is_plain, ..self }
    }
}

/// A command to be sent, with the facts that are known of it.
pub(crate) struct Forward<'a> {
    pub(crate) message: Message<'a>,
    /// The prepared statement that the command executes; nothing for other commands.
    pub(crate) execution: ExecutionFacts<'a>,
    pub(crate) deeds: Deeds<'a>,
    pub(crate) passing: Passing,
}

/// What is known of an execution, before it is sent.
#[derive(Clone, Copy, Default)]
pub(crate) struct ExecutionFacts<'a> {
    /// The text that was prepared.
    pub(crate) prepared: &'a [u8],
    /// Commands that the server executes before this one; the client does not see their answers.
    pub(crate) owed: &'a [OwedCommand],
    /// The execution certainly leaves FOUND_ROWS() as it is.
    pub(crate) keeps_found_rows: bool,
}

impl<'a> ExecutionFacts<'a> {
    pub(crate) fn of(prepared: &'a Prepared, owed: &'a [OwedCommand]) -> Self {
        Self { prepared: prepared.asked(), owed, keeps_found_rows: prepared.keeps_found_rows }
    }
}

/// What the server does for a command.
pub(crate) struct Deeds<'a> {
    /// What the command may do.
    pub(crate) effects: &'a Effects,
    /// The rows that the command writes, if they cannot be read from its text.
    pub(crate) write: Option<Write<'a>>,
    pub(crate) touches: Touches,
    /// The command reads tables and nothing else: every connection gives the same answer.
    pub(crate) reads_tables_alone: bool,
}

/// With the effects, nothing else is known.
impl<'a> From<&'a Effects> for Deeds<'a> {
    fn from(effects: &'a Effects) -> Self {
        Self { effects, write: None, touches: Touches::Anything, reads_tables_alone: false }
    }
}

/// What is done with an answer on its way to the client.
#[derive(Default)]
pub(crate) struct Passing {
    /// A copy of the answer is wanted.
    pub(crate) capture: Option<Capture>,
    /// The facts that the client is told in place of the server's.
    pub(crate) put_right: Option<PutRight>,
    /// Rows of Freshet's own that are put into the answer.
    pub(crate) listed: Option<Listed>,
}

impl<'a> Forward<'a> {
    /// Returns a command that is no execution, and whose answer is passed on as it is.
    pub(crate) fn new(message: Message<'a>, deeds: impl Into<Deeds<'a>>) -> Self {
        let (execution, passing) = Default::default();
        Self { message, execution, deeds: deeds.into(), passing }
    }

    /// Whether the answer tells nothing of the connection that carries the command.
    pub(super) fn is_same_elsewhere(&self) -> bool {
        let Deeds { effects, reads_tables_alone, .. } = &self.deeds;
        let Effects { transaction, moves, is_definition, .. } = effects;
        let ends_or_begins = *transaction != TransactionEffect::None && !is_definition;
        match self.message.command {
            Command::Ping
            | Command::InitDb
            | Command::StmtPrepare
            | Command::StmtClose
            | Command::StmtReset => true,
            Command::Query | Command::StmtExecute => {
                *reads_tables_alone
                    || *moves
                    || ends_or_begins && effects.reads.is_nothing()
                    || sets_only_what_is_read(self.digested())
                    || self.shows_settings()
                    || self.writes_rows_alone()
            }
            _ => false,
        }
    }

    /// Whether the command writes rows of tables, and mentions neither the connection's number nor a number that was given out on the
    /// connection. The client does not see the questions of code behind the tables; that such code ran is noted elsewhere.
    fn writes_rows_alone(&self) -> bool {
        let Effects { writes, calls, session, is_definition, several, .. } = self.deeds.effects;
        let text = self.digested();
        matches!(writes, Writes::Tables(_))
            && calls.is_nothing()
            && !(*session || *is_definition || *several)
            && !text.is_empty()
            && text.len() < LONG_BYTES_MIN
            && (self.message.is_plain || !has_any(text, &OF_CONNECTION))
    }

    /// Whether the command is a SELECT that runs no code, like the ones with which drivers ask for settings, and that mentions neither the
    /// connection's number nor a number that was given out on the connection. `@@last_gtid` and the values of sequences (`NEXTVAL`, `NEXT
    /// VALUE FOR`) can be asked for again on that connection. Only the value of `LAST_INSERT_ID()` moves with the session.
    fn shows_settings(&self) -> bool {
        const TELLING: [&[u8]; 6] = [b"_id", b"identity", b"val", b"gtid", b"_schema", b"processlist"];
        let Effects { reads, calls, session, .. } = self.deeds.effects;
        let text = self.digested();
        reads.is_nothing()
            && calls.is_nothing()
            && !session
            && text.len() < LONG_BYTES_MIN
            && first_word_is(text.trim_ascii_start(), "SELECT")
            && (!has_any(text, &TELLING) || is_last_insert_id(text))
    }

    /// Returns the text by whose digest the statement is counted.
    pub(super) const fn digested(&self) -> &'a [u8] {
        if self.execution.prepared.is_empty() { self.message.text } else { self.execution.prepared }
    }

    /// Whether MariaDB may keep the warnings of an earlier statement after this one: MariaDB drops them at a statement that uses a table.
    pub(super) fn may_keep_diagnostics(&self) -> bool {
        matches!(self.message.command, Command::Query | Command::StmtExecute) && !self.uses_tables()
    }

    /// Whether the warnings and errors of earlier statements are gone after this one: it writes tables.
    pub(super) fn drops_diagnostics(&self) -> bool {
        let effects = self.deeds.effects;
        matches!(self.message.command, Command::Query | Command::StmtExecute)
            && !effects.several
            && matches!(effects.writes, Writes::Tables(_))
    }

    fn uses_tables(&self) -> bool {
        self.passing.capture.as_ref().is_some_and(Capture::is_of_tables)
            || matches!(self.deeds.effects.writes, Writes::Tables(_))
    }
}

/// Whether a text is `SELECT LAST_INSERT_ID()`, as drivers send it.
fn is_last_insert_id(text: &[u8]) -> bool {
    let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.map(<[u8]>::to_ascii_lowercase).eq([&b"select"[..], b"last_insert_id()"])
}

/// What the server does with tables for a statement, as far as a transaction's read view is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touches {
    /// The server may do anything with tables.
    Anything,
    /// The server touches no tables.
    NoTables,
    /// The server reads by the read view, and makes one if there is none.
    ReadView,
}
