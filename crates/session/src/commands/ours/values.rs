//! The variables as a session sees and sets them, and values in the texts of statements.

use freshet_protocol::ErrPacket;
use freshet_sql::Scope;

use crate::local::ShownCell;
use crate::session::Session;
use crate::variables::{self, Lives, VariableTarget};

pub(super) fn unknown(name: &str) -> ErrPacket {
    ErrPacket::new(1193, "HY000", format!("Unknown system variable '{name}'"))
}

pub(super) fn target(session: &mut Session) -> VariableTarget<'_> {
    let flavor = session.flavor();
    let shared = &session.shared;
    VariableTarget {
        globals: &shared.globals,
        cache: &shared.cache,
        resized: &shared.resized,
        locals: &mut session.state.locals,
        flavor,
        upstream: &shared.upstream,
        semisync: shared.options.semisync,
    }
}

/// Returns a variable's value as SELECT types it.
///
/// # Errors
/// The server's own errors: 1193 (no such variable), 1238 (no session variable).
pub(super) fn selected(session: &mut Session, scope: Scope, name: &str) -> Result<ShownCell, ErrPacket> {
    let variable = variables::find(name).ok_or_else(|| unknown(name))?;
    if variable.lives != Lives::Everywhere && scope == Scope::Session {
        let message = format!("Variable '{name}' is a GLOBAL variable");
        return Err(ErrPacket::new(1238, "HY000", message));
    }
    let shown = variable.shown(&target(session), scope);
    Ok(match (variable.number, shown.as_str()) {
        (true, "ON") => ShownCell::Number("1".to_owned()),
        (true, "OFF") => ShownCell::Number("0".to_owned()),
        (true, _) => ShownCell::Number(shown),
        (false, _) => ShownCell::text(shown),
    })
}

/// Returns the text as a string literal of the session.
pub(in crate::commands) fn quoted(session: &Session, text: &[u8]) -> Vec<u8> {
    let modes = session.modes();
    let mut inner = Vec::with_capacity(text.len() + 2);
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if first == b'\'' || first == b'\\' && !modes.no_backslash_escapes {
            inner.push(first);
        }
        // A backslash that is half of a character is not doubled.
        let len = modes.multi_byte.filter(|_| !first.is_ascii()).map_or(1, |it| it.len(rest));
        let (character, others) = rest.split_at(len.min(rest.len()));
        inner.extend_from_slice(character);
        rest = others;
    }
    [b"'", &*inner, b"'"].concat()
}

/// Returns `text` with each `quote` twice.
pub(in crate::commands) fn doubled(text: &[u8], quote: u8) -> Vec<u8> {
    text.iter().flat_map(|&byte| std::iter::repeat_n(byte, if byte == quote { 2 } else { 1 })).collect()
}
