//! Refusals that a single word, or two in a row, decide.

use crate::functions::{self, Admits};
use crate::modes::Modes;
use crate::reason::Reason;
use crate::token::{Token, TokenKind};
use crate::words::is_in;

/// Checks that the statement starts with SELECT or WITH, behind any parentheses.
pub(super) fn check_select(text: &[u8], tokens: &[Token]) -> Result<(), Reason> {
    let first = tokens.iter().find(|token| !token.is(b'('));
    match first {
        Some(token) if token.is_word(text, "SELECT") || token.is_word(text, "WITH") => Ok(()),
        _ => Err(Reason::NotSelect),
    }
}

/// Refuses words that alone make a result depend on more than tables.
pub(super) fn check_words(text: &[u8], modes: Modes, admits: Admits, tokens: &[Token]) -> Result<(), Reason> {
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let after = tokens.get(at + 1);
        match token.kind {
            TokenKind::At | TokenKind::AtAt => return Err(Reason::Variable),
            TokenKind::Op if token.of(text) == b":=" => return Err(Reason::Variable),
            TokenKind::Word if !before.is_some_and(|before| before.is(b'.')) => {
                check_word(text, modes, admits, *token, after)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_word(
    text: &[u8],
    modes: Modes,
    admits: Admits,
    token: Token,
    after: Option<&Token>,
) -> Result<(), Reason> {
    let word = token.of(text);
    if modes.before_8 && functions::is_new_word(word) {
        return Err(Reason::NotParsed(format!("{} may be a name to MySQL 5.7", upper(word))));
    }
    let then = |next: &str| after.is_some_and(|after| after.is_word(text, next));
    if functions::is_volatile_word(word) && !admits.admits(word) {
        return Err(Reason::Volatile(upper(word)));
    }
    if is_in(word, &["FOR"]) && (then("UPDATE") || then("SHARE")) {
        return Err(Reason::Locks);
    }
    if is_in(word, &["FOR"]) && then("SYSTEM_TIME") {
        return Err(Reason::SystemTime);
    }
    if is_in(word, &["LOCK"]) && then("IN") {
        return Err(Reason::Locks);
    }
    if is_in(word, &["VALUE"]) && then("FOR") {
        return Err(Reason::Sequence);
    }
    if is_in(word, &["INTO"]) {
        return Err(Reason::Into);
    }
    if is_in(word, &["PROCEDURE"]) {
        return Err(Reason::Procedure);
    }
    check_spacing(word, modes, token, after)
}

/// Checks the gap before a parenthesis: `count (x)` is a stored function's call unless IGNORE_SPACE is set.
fn check_spacing(word: &[u8], modes: Modes, token: Token, after: Option<&Token>) -> Result<(), Reason> {
    let spaced = after.is_some_and(|after| after.is(b'(') && after.start > token.end);
    if spaced && functions::needs_adjacent(word, modes) {
        return Err(Reason::UnknownFunction(upper(word)));
    }
    Ok(())
}

fn upper(word: &[u8]) -> String {
    String::from_utf8_lossy(word).to_ascii_uppercase()
}
