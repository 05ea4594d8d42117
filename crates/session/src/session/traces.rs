//! What the statements on a connection have left there.

use freshet_protocol::{Command, StatusFlags};
use freshet_sql::{Around, Effects, Temporary, TrackingEffect, Writes, contains_ignoring_case};

use super::StatementFacts;
use crate::environment::sets_only_what_is_read;
use crate::reading::LONG_BYTES_MIN;
use crate::relay::Relayed;

/// What the statements on a connection have left there, until it is reset. Only the lease changes it: all others read it through
/// [`Lease::traces`](super::Lease::traces).
#[derive(Debug, Default)]
pub(crate) struct Traces {
    pub(super) named_locks: bool,
    pub(super) user_variables: bool,
    pub(super) others: bool,
    pub(super) cursor: bool,
    pub(super) unknown_code: bool,
    /// A statement may have written, so that an id may have been given.
    pub(super) writes: bool,
}

impl Traces {
    /// Notes a command that is about to be sent.
    pub(crate) fn sent(&mut self, command: Command, effects: &Effects, text: &[u8]) {
        self.writes |= effects.writes != Writes::Nothing || !effects.calls.is_nothing();
        if !effects.session || effects.moves || command == Command::InitDb || sets_only_what_is_read(text) {
            return;
        }
        const LOCK: &[u8] = b"_lock";
        let is_known = !text.is_empty() && text.len() < LONG_BYTES_MIN;
        let locks = is_known && contains_ignoring_case(text, LOCK);
        let sets = is_known && names_user_variable(text);
        self.named_locks |= locks;
        self.user_variables |= sets;
        let traces = [&b"handler"[..], b"profiling", b"trace"];
        let others = || traces.into_iter().any(|word| contains_ignoring_case(text, word));
        self.others |= !locks && !sets || others();
    }

    /// Notes the answer to a command.
    pub(crate) fn ran(&mut self, facts: &StatementFacts, relayed: &Relayed) {
        self.unknown_code |= facts.runs_unknown_code;
        self.cursor |= relayed.status.is_some_and(|status| status.contains(StatusFlags::CURSOR_EXISTS));
    }
}

/// Whether a reset and a new login undo all effects of such a command on its session.
pub(super) fn is_undone(command: Command, effects: &Effects, text: &[u8]) -> bool {
    match command {
        Command::InitDb | Command::Ping | Command::StmtClose | Command::StmtReset => return true,
        Command::Query | Command::StmtPrepare | Command::StmtExecute | Command::StmtSendLongData => {}
        _ => return false,
    }
    let leaves_session = !effects.session || effects.moves || sets_only_what_is_read(text);
    leaves_session
        && effects.temporary == Temporary::None
        && effects.tracking == TrackingEffect::None
        && effects.around == Around::Nothing
        && effects.locks_tables.is_none()
        && effects.calls.is_nothing()
        && !(effects.unlogged || effects.several || effects.refused || effects.commits_inside)
}

/// Whether a text may name a user variable: `@x`, and not `@@x`.
fn names_user_variable(text: &[u8]) -> bool {
    let at = |index: Option<usize>| index.and_then(|index| text.get(index)) == Some(&b'@');
    let is_single = |index: usize| !at(index.checked_sub(1)) && !at(index.checked_add(1));
    text.iter().enumerate().any(|(index, byte)| *byte == b'@' && is_single(index))
}
