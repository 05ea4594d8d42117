//! Numbers of connections in a statement. A client knows itself and others by the numbers that Freshet gave out; the server knows them by
//! its own.
//!
//! If a statement concerns the server's own lists of connections and locks, `CONNECTION_ID()` stays the server's, because these lists are
//! searched for the server's number. A written number for which a list is searched is replaced by the server's.

use std::ops::Range;

use crate::token::{Token, TokenKind};
use crate::words::is_in;

const NAME: &[u8] = b"CONNECTION_ID";
/// The smallest number that Freshet gives out.
const NUMBER_MIN: u32 = 0x8000_0000;
/// Statements whose value is that of the moment. A text that is kept (of a view, a routine, a default) asks anew each time.
const AT_ONCE: &[&str] = &["CALL", "DELETE", "DO", "INSERT", "REPLACE", "SELECT", "SET", "UPDATE"];
/// Schemas in which the server tells of connections by its own numbers.
const SYSTEM: &[&str] = &["INFORMATION_SCHEMA", "MYSQL", "PERFORMANCE_SCHEMA", "SYS"];
/// Functions that give the server's number of a connection.
const TELLING: &[&str] = &["IS_USED_LOCK"];
/// Tables and views that list connections.
const LISTS: &[&str] = &["INNODB_TRX", "PROCESSLIST", "SESSION", "THREADS"];
/// The columns of the lists that have the number.
const COLUMNS: &[&str] = &["CONN_ID", "ID", "PROCESSLIST_ID", "TRX_MYSQL_THREAD_ID"];

/// Whether a text may have such numbers, at a first glance.
pub(super) fn may_have_numbers(text: &[u8], schema: Option<&str>) -> bool {
    let ends_with = |end: usize, word: &[u8]| {
        end.checked_sub(word.len())
            .and_then(|at| text.get(at..end))
            .is_some_and(|it| it.eq_ignore_ascii_case(word))
    };
    schema.is_some_and(|schema| is_in(schema.as_bytes(), SYSTEM))
        || memchr::memchr_iter(b'(', text).any(|at| ends_with(text[..at].trim_ascii_end().len(), NAME))
        || memchr::memchr_iter(b'.', text).any(|at| ends_with(at, b"sys") || ends_with(at, b"sys`"))
}

/// A number of a connection in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionNumber {
    /// `CONNECTION_ID()`: the number that the client was told has to stand there.
    Own,
    /// A number of ours for which a list of the server's connections is searched: the server's number has to stand there.
    Listed(u32),
}

/// Whose numbers a statement concerns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// `CONNECTION_ID()` is the client's.
    Clients,
    /// The statement concerns the server's lists.
    Servers,
    /// The statement stays unchanged: it keeps its text for later, or has columns whose titles are the number's text.
    Kept,
}

impl Numbers {
    pub(super) fn in_text(text: &[u8], tokens: &[Token], schema: Option<&str>) -> Self {
        if !are_at_once(text, tokens) {
            return Self::Kept;
        }
        let is_system = |pair: &[Token]| {
            let [name, dot] = pair else { return false };
            dot.is(b'.') && is_in(unquoted(name.of(text)), SYSTEM)
        };
        let is_inside = schema.is_some_and(|schema| is_in(schema.as_bytes(), SYSTEM));
        let is_told = |token: &Token| token.kind == TokenKind::Word && is_in(token.of(text), TELLING);
        if is_inside || tokens.windows(2).any(is_system) || tokens.iter().any(is_told) {
            return if lists_connections(text, tokens, is_inside) { Self::Servers } else { Self::Kept };
        }
        // A column of a SELECT within another, or behind another statement, has its text as its title.
        let is_second = |at: usize| at > 0 && tokens[at - 1].is(b';') && tokens[at].is_word(text, "SELECT");
        let is_column =
            |at: usize| at > 1 && tokens[at - 1].is_word(text, "SELECT") && is_call(text, tokens, at, NAME);
        if (0..tokens.len()).any(|at| is_second(at) || is_column(at)) {
            return Self::Kept;
        }
        Self::Clients
    }

    /// Returns the number that begins at this token.
    pub(super) fn at(
        self,
        text: &[u8],
        tokens: &[Token],
        at: usize,
    ) -> Option<(Range<usize>, ConnectionNumber)> {
        match self {
            Self::Kept => None,
            Self::Clients => connection_id(text, tokens, at),
            Self::Servers => process(text, tokens, at),
        }
    }
}

/// Whether a SELECT is from one of the lists. `is_inside`: the lists need no schema.
fn lists_connections(text: &[u8], tokens: &[Token], is_inside: bool) -> bool {
    let is_list = |token: &Token| is_in(unquoted(token.of(text)), LISTS);
    let introduces = |token: &Token| ["FROM", "JOIN"].iter().any(|word| token.is_word(text, word));
    let is_named = |of: &[Token]| match of {
        [before, schema, dot, list] => {
            introduces(before) && is_in(unquoted(schema.of(text)), SYSTEM) && dot.is(b'.') && is_list(list)
        }
        _ => false,
    };
    let is_bare = |of: &[Token]| matches!(of, [before, list] if introduces(before) && is_list(list));
    tokens.first().is_some_and(|first| first.is_word(text, "SELECT"))
        && (tokens.windows(4).any(is_named) || is_inside && tokens.windows(2).any(is_bare))
}

/// Whether the value of each statement is that of the moment.
pub(super) fn are_at_once(text: &[u8], tokens: &[Token]) -> bool {
    // Any statement may follow its FOR.
    if tokens
        .windows(2)
        .any(|of| matches!(of, [set, word] if set.is_word(text, "SET") && word.is_word(text, "STATEMENT")))
    {
        return false;
    }
    let starts = |at: usize| at == 0 || tokens.get(at - 1).is_some_and(|before| before.is(b';'));
    let is_at_once = |token: &Token| is_in(token.of(text), AT_ONCE);
    tokens.iter().enumerate().all(|(at, token)| !starts(at) || token.is(b';') || is_at_once(token))
}

/// Whether a function of the server's is called at this token without arguments, and not one of that name in a schema.
pub(super) fn is_call(text: &[u8], tokens: &[Token], at: usize, function: &[u8]) -> bool {
    let Some([name, open, close, ..]) = tokens.get(at..) else { return false };
    let is_of_schema = at.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|it| it.is(b'.'));
    let is_name = name.kind == TokenKind::Word && name.of(text).eq_ignore_ascii_case(function);
    is_name && open.is(b'(') && close.is(b')') && !is_of_schema
}

/// Returns the place of `CONNECTION_ID()`, unless it is a function of that name in a schema.
fn connection_id(text: &[u8], tokens: &[Token], at: usize) -> Option<(Range<usize>, ConnectionNumber)> {
    is_call(text, tokens, at, NAME).then_some(())?;
    Some((tokens.get(at)?.start..tokens.get(at + 2)?.end, ConnectionNumber::Own))
}

/// Returns the number in `id = 2147483650`.
fn process(text: &[u8], tokens: &[Token], at: usize) -> Option<(Range<usize>, ConnectionNumber)> {
    let [column, equals, number] = tokens.get(at..at + 3)? else { return None };
    if !equals.is(b'=') || !is_in(unquoted(column.of(text)), COLUMNS) {
        return None;
    }
    let value = std::str::from_utf8(number.of(text)).ok()?.parse().ok()?;
    (value >= NUMBER_MIN).then_some((number.start..number.end, ConnectionNumber::Listed(value)))
}

fn unquoted(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name)
}
