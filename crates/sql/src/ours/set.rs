//! SET of our variables, alone or among the server's.

use super::parts::{AssignedValue, Assignment, Keeps, Ours, Scope, is_ours, scope, system_variable};
use crate::cursor::{Cursor, unquote_name};
use crate::modes::Flavor;
use crate::string::unquote_string;
use crate::token::{Token, TokenKind};
use crate::words::is_in;

/// Reads what follows SET.
pub(super) fn read(mut cursor: Cursor<'_>) -> Option<Ours> {
    if !names_ours(&cursor) {
        return None;
    }
    if cursor.word("STATEMENT") {
        return for_statement(cursor);
    }
    if is_of_transaction(cursor) {
        return None;
    }
    let mut ours = Vec::new();
    let mut rest: Vec<String> = Vec::new();
    // GLOBAL and SESSION hold for all later assignments, up to the next such word; `@@global.` holds for its own variable alone.
    let mut sticky: Option<Token> = None;
    loop {
        let part = until_comma(&mut cursor);
        let part_cursor = Cursor::new(cursor.text, cursor.modes, part);
        let keyword = part_cursor.peek().filter(|_| part_cursor.at_any(SCOPES));
        sticky = keyword.or(sticky);
        let inherited = sticky.filter(|_| keyword.is_none() && is_plain_assignment(&part_cursor));
        match assignment(part_cursor, inherited) {
            Some(assignment) => ours.push(assignment),
            None => rest.push(written(part_cursor, inherited)?),
        }
        if !cursor.punct(b',') {
            break;
        }
    }
    if ours.is_empty() {
        return None;
    }
    if rest.is_empty() {
        return Some(Ours::SetVariables(ours));
    }
    Some(Ours::SetMixed { ours, rest: format!("SET {}", rest.join(", ")) })
}

/// Whether the SET is SET TRANSACTION, which takes no assignments.
fn is_of_transaction(mut cursor: Cursor<'_>) -> bool {
    cursor.any(&["GLOBAL", "LOCAL", "SESSION"]);
    cursor.word("TRANSACTION") && cursor.at_any(&["ISOLATION", "READ"])
}

const SCOPES: &[&str] = &["GLOBAL", "LOCAL", "PERSIST", "PERSIST_ONLY", "SESSION"];

/// Whether this is `name = …`, which takes the scope of the assignment before it.
fn is_plain_assignment(cursor: &Cursor<'_>) -> bool {
    let sign = cursor.peek_at(1).filter(|_| cursor.peek().is_some_and(|token| token.is_name()));
    sign.is_some_and(|sign| sign.is(b'=') || sign.is(b'.') || cursor.bytes(sign) == b":=")
}

/// Returns a part of the SET as it was written, with the scope that it inherits.
fn written(cursor: Cursor<'_>, inherited: Option<Token>) -> Option<String> {
    let part = std::str::from_utf8(cursor.rest_text()).ok()?;
    match inherited {
        None => Some(part.to_owned()),
        Some(scope) => Some(format!("{} {part}", std::str::from_utf8(cursor.bytes(scope)).ok()?)),
    }
}

/// Whether the SET names a variable of ours; for most a glance shows that it does not.
fn names_ours(cursor: &Cursor<'_>) -> bool {
    let is_ours = |token: &Token| {
        let name = unquote_name(token.kind, cursor.bytes(*token));
        name.is_some_and(|name| is_ours(name.as_bytes()))
    };
    cursor.rest().iter().any(|token| token.is_name() && is_ours(token))
}

/// Reads what follows SET STATEMENT. A scope is an error there, which the server reports.
fn for_statement(cursor: Cursor<'_>) -> Option<Ours> {
    let mut behind = cursor;
    if cursor.modes.flavor != Flavor::MariaDb || !behind.seek_word("FOR") || behind.at_end() {
        return None;
    }
    // A nested one is the server's, or a text of many would cause a deep recursion.
    if behind.at_word("SET")
        && behind.peek_at(1).is_some_and(|token| token.is_word(cursor.text, "STATEMENT"))
        && names_ours(&behind)
    {
        return None;
    }
    let count = cursor.rest().len() - behind.rest().len() - 1;
    let mut parts = Cursor::new(cursor.text, cursor.modes, cursor.rest().get(..count)?);
    let (mut ours, mut rest): (_, Vec<&[u8]>) = (Vec::new(), Vec::new());
    loop {
        let part = Cursor::new(cursor.text, cursor.modes, until_comma(&mut parts));
        if !is_plain_assignment(&part) {
            return None;
        }
        match assignment(part, None) {
            Some(assignment) => ours.push(assignment),
            None => rest.push(part.rest_text()),
        }
        if !parts.punct(b',') {
            break;
        }
    }
    if ours.is_empty() {
        return None;
    }
    let statement = behind.rest_text();
    let rest = if rest.is_empty() {
        statement.to_vec()
    } else {
        [b"SET STATEMENT ", &*rest.join(&b", "[..]), b" FOR ", statement].concat()
    };
    Some(Ours::SetStatement { ours, rest })
}

/// Returns the tokens up to the next comma outside of parentheses.
pub(super) fn until_comma<'a>(cursor: &mut Cursor<'a>) -> &'a [Token] {
    let all = cursor.rest();
    let mut depth = 0usize;
    let mut count = 0usize;
    while let Some(token) = cursor.peek() {
        match token.kind {
            TokenKind::Punct(b',') if depth == 0 => break,
            TokenKind::Punct(b'(') => depth += 1,
            TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        cursor.next();
        count += 1;
    }
    all.get(..count).unwrap_or_default()
}

/// Reads one assignment, if it is of ours.
fn assignment(mut cursor: Cursor<'_>, inherited: Option<Token>) -> Option<Assignment> {
    let (scope, name, keeps) = if cursor.peek()?.kind == TokenKind::AtAt {
        cursor.next();
        let is_scoped = cursor.peek_at(1).is_some_and(|token| token.is(b'.'));
        let keeps = if is_scoped { Keeps::at(&cursor) } else { Keeps::Not };
        let (scope, name) = system_variable(&mut cursor)?;
        (scope, name, keeps)
    } else {
        let own = match inherited {
            Some(token) => with_keeps(&mut Cursor::new(cursor.text, cursor.modes, &[token])),
            None => with_keeps(&mut cursor),
        };
        (own.0, cursor.identifier()?.to_ascii_lowercase(), own.1)
    };
    let sign = cursor.next()?;
    let assigns = sign.is(b'=') || cursor.bytes(sign) == b":=";
    if !is_ours(name.as_bytes()) || !assigns || cursor.at_end() {
        return None;
    }
    Some(Assignment { scope, name, value: value(cursor), keeps })
}

fn with_keeps(cursor: &mut Cursor<'_>) -> (Scope, Keeps) {
    let keeps = Keeps::at(cursor);
    (scope(cursor), keeps)
}

fn value(mut cursor: Cursor<'_>) -> AssignedValue {
    let written = String::from_utf8_lossy(cursor.rest_text()).into_owned();
    let negative = cursor.punct(b'-');
    if !negative {
        cursor.punct(b'+');
    }
    let (Some(token), true) = (cursor.next(), cursor.at_end()) else {
        return AssignedValue::Other(written);
    };
    let bytes = cursor.bytes(token);
    match token.kind {
        TokenKind::Int => match String::from_utf8_lossy(bytes).parse::<i128>() {
            Ok(number) => AssignedValue::Int(if negative { -number } else { number }),
            Err(_) => AssignedValue::Other(written),
        },
        TokenKind::Str => match unquote_string(bytes, cursor.modes) {
            Some(text) if !negative => AssignedValue::Text(text),
            _ => AssignedValue::Other(written),
        },
        TokenKind::Word if bytes.eq_ignore_ascii_case(b"DEFAULT") => AssignedValue::Default,
        TokenKind::Word if is_in(bytes, &["TRUE", "FALSE"]) => {
            let number = i128::from(bytes.eq_ignore_ascii_case(b"TRUE"));
            AssignedValue::Int(if negative { -number } else { number })
        }
        TokenKind::Real => AssignedValue::Real(written),
        TokenKind::Word if bytes.eq_ignore_ascii_case(b"NULL") => AssignedValue::Other(written),
        TokenKind::Word => AssignedValue::Text(written),
        _ => AssignedValue::Other(written),
    }
}
