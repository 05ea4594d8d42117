//! SET in all its forms.

use super::{Around, Effects, TrackingEffect, TransactionEffect, Writes, of_cursor};
use crate::cursor::Cursor;
use crate::ddl;
use crate::statement::Statement;
use crate::token::TokenKind;

/// Returns the effects of a SET; None if it is another statement.
pub(super) fn effects(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Option<Effects> {
    if !cursor.word("SET") {
        return None;
    }
    let facts = statement.facts;
    let tracking = if facts.names_tracking { TrackingEffect::Sets } else { TrackingEffect::None };
    let mut effects = Effects {
        session: true,
        tracking,
        unlogged: facts.names_log_bin,
        around: if sets_globals(statement) { Around::Globals } else { Around::Nothing },
        ..Effects::none()
    };
    if cursor.at_word("STATEMENT") && !is_assignment(&cursor) {
        return Some(for_statement(cursor, statement, effects));
    }
    if ddl::sets_account(cursor) {
        // It changes what an account may see.
        effects.writes = ddl::accounts_set(cursor).map_or(Writes::Everything, Writes::Accounts);
        effects.transaction = TransactionEffect::MayCommit;
        effects.around = Around::Accounts;
    }
    effects.calls = statement.calls.clone();
    if statement.cut_short {
        effects.writes = Writes::Everything;
    }
    if facts.names_autocommit || statement.cut_short {
        effects.transaction = TransactionEffect::MayCommit;
    }
    Some(effects)
}

/// Whether the SET assigns a global variable: `GLOBAL a`, `@@GLOBAL.a`, and the same with PERSIST. Commas within an expression count as
/// those between assignments.
fn sets_globals(statement: &Statement<'_>) -> bool {
    let is_scope = |at: usize| {
        let token = statement.head[at];
        token.is_word(statement.text, "GLOBAL") || token.is_word(statement.text, "PERSIST")
    };
    let begins = |at: usize| {
        let before = statement.head[..at].iter().rev().find(|token| token.kind != TokenKind::AtAt);
        before.is_some_and(|token| token.is(b',') || token.is_word(statement.text, "SET"))
    };
    statement.cut_short || (0..statement.head.len()).any(|at| is_scope(at) && begins(at))
}

/// Whether the word here is itself the name of an assigned variable.
fn is_assignment(cursor: &Cursor<'_>) -> bool {
    cursor.peek_at(1).is_some_and(|token| token.is(b'=') || cursor.bytes(token) == b":=")
}

/// Returns the effects of MariaDB's SET STATEMENT a = 1, b = 2 FOR statement. The variables get their old values back.
fn for_statement(mut cursor: Cursor<'_>, statement: &Statement<'_>, set: Effects) -> Effects {
    let has_statement = cursor.seek_word("FOR");
    while cursor.punct(b'(') {}
    // A nested one is an error, and could go on forever.
    if !has_statement || cursor.at_word("SET") {
        return Effects { unlogged: set.unlogged, tracking: obscured(set.tracking), ..Effects::worst() };
    }
    let inner = of_cursor(cursor, statement);
    let set = Effects { tracking: obscured(set.tracking), ..set };
    let transaction =
        if statement.facts.names_autocommit { TransactionEffect::MayCommit } else { inner.transaction };
    Effects { transaction, ..inner.and(set) }
}

/// Returns the effect for a statement that runs while the variables are set.
fn obscured(tracking: TrackingEffect) -> TrackingEffect {
    if tracking == TrackingEffect::None { tracking } else { TrackingEffect::Obscured }
}
