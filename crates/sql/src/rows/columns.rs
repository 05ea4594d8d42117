//! Which columns a SELECT reads, at most: whatever is named anywhere in it.

use super::ColumnsRead;
use super::source::Source;
use crate::analysis::is_reserved;
use crate::statement::unquote_name;
use crate::token::Kind;

/// The most different identifiers that are listed.
const COLUMNS_MAX: usize = 512;

/// Every identifier of the statement, in order and in lower case; aliases and names of tables do no harm.
pub(super) fn columns_read(source: &Source<'_>) -> ColumnsRead {
    let mut named = Vec::new();
    for (at, token) in source.tokens.iter().enumerate() {
        if token.is(b'*') && !is_product(source, at) && !is_count(source, at) {
            return ColumnsRead::All;
        }
        if source.word(at, "NATURAL") {
            return ColumnsRead::All; // The columns that it compares are not named.
        }
        if token.is_name() && !is_keyword(source, at) {
            let Some(mut name) = unquote_name(token.kind, source.bytes(at)) else {
                return ColumnsRead::All;
            };
            name.make_ascii_lowercase();
            named.push(name);
        }
    }
    named.sort_unstable();
    named.dedup();
    // MySQL's _rowid is the primary key by another name.
    if named.len() > COLUMNS_MAX || named.iter().any(|name| name == "_rowid") {
        return ColumnsRead::All;
    }
    ColumnsRead::Named(named)
}

/// A word that both servers reserve, and that many statements have.
fn is_keyword(source: &Source<'_>, at: usize) -> bool {
    const KEYWORDS: &[&str] = &[
        "AND", "AS", "BETWEEN", "BY", "FROM", "GROUP", "IN", "JOIN", "LEFT", "LIMIT", "ON", "OR", "ORDER",
        "SELECT", "WHERE",
    ];
    source.any(at, KEYWORDS)
}

/// `a * b`: an operand stands on either side.
fn is_product(source: &Source<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| source.token(before).map(|token| (before, token)));
    let operand_before = before.is_some_and(|(before, token)| match token.kind {
        Kind::Punct(b')') | Kind::Param | Kind::Name => true,
        Kind::Word => !is_reserved(source.bytes(before)),
        _ => token.is_literal(),
    });
    let operand_after = source.token(at + 1).is_some_and(|token| match token.kind {
        Kind::Punct(punct) => matches!(punct, b'(' | b'-' | b'+' | b'~' | b'!'),
        Kind::Word => !source.word(at + 1, "FROM"),
        Kind::Op => false,
        _ => true,
    });
    operand_before && operand_after
}

/// `COUNT(*)`.
fn is_count(source: &Source<'_>, at: usize) -> bool {
    at >= 2 && source.is(at - 1, b'(') && source.word(at - 2, "COUNT") && source.is(at + 1, b')')
}
