//! What the server does with tables for a command, as far as a transaction is concerned.

use freshet_protocol::Command;
use freshet_sql::{Effects, Reads, TransactionEffect, Writes};

use super::words::{is_mark, is_of_session};
use crate::session::view::Needs;
use crate::session::{Forward, Session, Touches};

/// What the server does with tables for a whole command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Nothing,
    /// The command ends whatever is open.
    Resets,
    ReadView,
    /// The command changes rows as they are now.
    RowsOfNow,
    /// The command ends the transaction, or marks a place in it.
    Marks,
    Anything,
}

impl Touch {
    /// Returns what the command needs, at the least.
    pub(super) const fn needs(self) -> Needs {
        match self {
            Self::ReadView => Needs::View,
            Self::RowsOfNow | Self::Anything => Needs::Writes,
            Self::Nothing | Self::Resets | Self::Marks => Needs::Nothing,
        }
    }
}

impl Session {
    /// Returns what the server does with tables for this command.
    pub(super) fn touch(&self, forward: &Forward<'_>) -> Touch {
        let (text, effects) = (forward.message.text, forward.deeds.effects);
        match forward.message.command {
            Command::Ping
            | Command::InitDb
            | Command::StmtPrepare
            | Command::StmtReset
            | Command::Statistics
            | Command::SetOption => Touch::Nothing,
            Command::ResetConnection => Touch::Resets,
            Command::Query | Command::StmtExecute => match forward.deeds.touches {
                Touches::NoTables => Touch::Nothing,
                Touches::ReadView => Touch::ReadView,
                Touches::Anything if is_of_session(text, effects) => Touch::Nothing,
                Touches::Anything if is_mark(text, effects) => Touch::Marks,
                Touches::Anything if self.writes_rows_of_now(effects) => Touch::RowsOfNow,
                Touches::Anything => Touch::Anything,
            },
            _ => Touch::Anything,
        }
    }

    /// Whether the command writes rows of one table, and neither reads others nor runs any code.
    fn writes_rows_of_now(&self, effects: &Effects) -> bool {
        let (Writes::Tables(written), Reads::Tables(read)) = (&effects.writes, &effects.reads) else {
            return false;
        };
        let [table] = written.as_slice() else { return false };
        let is_alone = read.iter().all(|read| read == table)
            && effects.transaction == TransactionEffect::None
            && effects.calls.is_nothing()
            && !(effects.several || effects.is_definition || effects.commits_inside);
        let known = || {
            let schema = table.schema.as_deref().or(self.state.environment.schema())?;
            self.shared.upstream.known_table(schema, &table.name)
        };
        is_alone
            && known()
                .is_some_and(|info| !info.has_triggers && !info.runs_any_code() && !info.runs_unknown_code)
    }
}
