//! One execution of a SELECT, and the look-up of its answer.

use std::sync::Arc;

use freshet_cache::Key;
use freshet_protocol::Capabilities;
use freshet_sql::Datum;

use crate::environment::key_of_executions;
use crate::relay::Repeated;
use crate::session::{Missed, OwedCommand, Prepared, PreparedSelect, Session};

/// How many bytes the buffer for the keys of executions keeps between two keys.
const KEY_BYTES_KEPT: usize = 16 * 1024;

/// How a SELECT is executed: each way has answers of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum By {
    /// COM_STMT_EXECUTE.
    Command,
    /// EXECUTE as a text.
    Name,
    /// MariaDB's EXECUTE IMMEDIATE.
    Immediate,
}

impl By {
    fn kind(self) -> Repeated {
        match self {
            Self::Command => Repeated::ByCommand,
            Self::Name => Repeated::ByName,
            Self::Immediate => Repeated::Immediate,
        }
    }

    /// Returns what is appended to the keys of answers in the form of a text's answer. The keys of commands end with the length of a text,
    /// which is less.
    pub(in crate::commands) const fn behind_key(self) -> &'static [u8] {
        match self {
            Self::Command => &[],
            Self::Name => &[0xfe, 0xff, 0xff, 0xff],
            Self::Immediate => &[0xfd, 0xff, 0xff, 0xff],
        }
    }

    /// Returns how the SELECT was executed whose answer has this as the second part of its key, and the key without what is appended.
    fn of_key(key: &[u8]) -> (Self, &[u8]) {
        let by_text = [Self::Name, Self::Immediate].into_iter();
        let mut told = by_text.filter_map(|by| Some((by, key.strip_suffix(by.behind_key())?)));
        told.next().unwrap_or((Self::Command, key))
    }

    /// Returns the key of the frames of answers to executions of a text.
    pub(in crate::commands) fn framed(self, text: &[u8]) -> Vec<u8> {
        [self.behind_key(), text].concat()
    }
}

/// Returns the key of the frame of an execution's answer, by the second part of the answer's key.
pub(in crate::commands) fn framed(key: &[u8]) -> Option<Vec<u8>> {
    let (by, key) = By::of_key(key);
    let length = key.last_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    Some(by.framed(key.get(..usize::try_from(length).ok()?)?))
}

/// One execution of a SELECT.
#[derive(Clone, Copy)]
pub(in crate::commands) struct SelectExecution<'a> {
    pub(in crate::commands) prepared: &'a Arc<Prepared>,
    /// The values of the execution, as COM_STMT_EXECUTE has them over a connection with these capabilities.
    pub(in crate::commands) packet: &'a [u8],
    pub(in crate::commands) capabilities: Capabilities,
    pub(in crate::commands) by: By,
    /// The name of the statement; empty if the execution uses no name.
    pub(in crate::commands) name: &'a str,
    /// What is repeated at the server if the client asks about the execution: the packet, or the text that executes the statement.
    pub(in crate::commands) statement: &'a [u8],
}

/// An execution with what its parameters are bound to.
pub(in crate::commands) struct BoundExecution<'a> {
    pub(in crate::commands) execution: SelectExecution<'a>,
    pub(in crate::commands) values: Vec<Datum>,
}

impl<'a> SelectExecution<'a> {
    pub(in crate::commands) fn by_command(
        session: &Session,
        prepared: &'a Arc<Prepared>,
        packet: &'a [u8],
    ) -> Self {
        let capabilities = session.capabilities();
        Self { prepared, packet, capabilities, by: By::Command, name: "", statement: packet }
    }

    /// Returns the commands that the server must get before the execution, because values differ from the values before.
    pub(in crate::commands) fn owed(&self) -> Vec<OwedCommand> {
        match self.by {
            By::Command => self.prepared.owed(),
            By::Name => self.prepared.owed_by_name(self.name),
            By::Immediate => Vec::new(),
        }
    }

    /// Puts the second part of the key together.
    pub(in crate::commands) fn key_of(&self, key: &mut Vec<u8>) -> Option<&'a PreparedSelect> {
        let select = self.prepared.key_of(self.packet, self.capabilities, key)?;
        key.extend_from_slice(self.by.behind_key());
        Some(select)
    }
}

/// Answers an execution from memory, if possible; `environment` is the first part of the key that a text would have.
pub(in crate::commands) fn take_stored(
    session: &mut Session,
    execution: SelectExecution<'_>,
    environment: u32,
) -> Result<(), Missed> {
    take(session, execution, environment, Session::answer_from_memory)
}

/// Like [`take_stored`], for an answer that may be stale.
pub(super) fn take_bargain(
    session: &mut Session,
    execution: SelectExecution<'_>,
    environment: u32,
) -> Result<(), Missed> {
    take(session, execution, environment, Session::answer_by_bargain)
}

fn take(
    session: &mut Session,
    execution: SelectExecution<'_>,
    environment: u32,
    answer: fn(&mut Session, Key<'_>, &[u8]) -> Result<(), Missed>,
) -> Result<(), Missed> {
    let version = session.state.environment.version();
    let current = session.state.environment.current().map(|it| it.id).ok_or_else(Missed::default)?;
    execution.prepared.heeds_definitions(&session.shared.upstream);
    let mut key = std::mem::take(&mut session.execution_key);
    let select = execution.key_of(&mut key);
    let found = if select.is_some() && execution.prepared.prepared_in.is_of(current, version) {
        let key = Key { environment: key_of_executions(environment), text: &key };
        answer(session, key, execution.statement)
    } else {
        Err(Missed::default())
    };
    if found.is_ok() {
        note_answered(session, execution);
    }
    if key.capacity() <= KEY_BYTES_KEPT {
        session.execution_key = key;
    }
    found
}

/// Notes that an execution was answered from memory, in the same way as its statement was noted before. The statement has heeded the
/// definitions by then ([`take`], or the caller after a wait).
pub(in crate::commands) fn note_answered(session: &mut Session, execution: SelectExecution<'_>) {
    execution.prepared.note_answered(execution.packet, execution.capabilities);
    session.state.served.count_execution(execution.by.kind());
    if execution.by == By::Command {
        session.state.last.note_execution_of(execution.prepared);
    }
}
