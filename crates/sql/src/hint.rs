//! SQL_CACHE and SQL_NO_CACHE: where they stand, which of them counts, and their misuse.

use std::ops::Range;

use crate::token::{Token, TokenKind};
use crate::words::is_in;

/// SQL_CACHE or SQL_NO_CACHE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// SQL_CACHE.
    Cache,
    /// SQL_NO_CACHE.
    NoCache,
}

/// The words that may stand between SELECT and its first column, in order.
pub(crate) const MODIFIERS: &[&str] = &[
    "ALL",
    "DISTINCT",
    "DISTINCTROW",
    "HIGH_PRIORITY",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "SQL_CACHE",
    "SQL_CALC_FOUND_ROWS",
    "SQL_NO_CACHE",
    "SQL_SMALL_RESULT",
    "STRAIGHT_JOIN",
];

/// The error that MariaDB gives for a misuse of the hints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintError {
    /// The number of the error.
    pub code: u16,
    /// The SQLSTATE.
    pub sqlstate: &'static str,
    /// The message.
    pub message: String,
}

/// Follows the tokens of one statement and notes its hints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    depth: usize,
    /// The statement starts with WITH, so its first SELECT is the first one outside of parentheses.
    with: Option<bool>,
    main_seen: bool,
    /// The statement is one in which every SELECT is a subquery.
    has_no_main: bool,
    /// Between a SELECT and its first column; true for the first SELECT.
    modifiers_of_main: Option<bool>,
    pending: Option<(Token, Hint, bool)>,
    cache: bool,
    no_cache: bool,
    twice: Option<Hint>,
    misplaced: Option<Hint>,
    /// UPDATE, DELETE or INSERT stands outside of parentheses.
    changes_rows: bool,
    /// Where hints stand in the text.
    pub spans: Vec<Range<usize>>,
}

impl Hints {
    /// Takes the next token.
    pub fn see(&mut self, text: &[u8], token: Token) {
        if let Some((word, hint, main)) = self.pending.take()
            && starts_column(text, token)
        {
            self.note(word, hint, main);
        }
        match token.kind {
            TokenKind::Punct(b'(') => self.depth += 1,
            TokenKind::Punct(b')') => self.depth = self.depth.saturating_sub(1),
            TokenKind::Word => return self.word(text, token),
            _ => {}
        }
        if !matches!(token.kind, TokenKind::Punct(b'(')) {
            self.with.get_or_insert(false);
        }
        self.modifiers_of_main = None;
    }

    fn word(&mut self, text: &[u8], token: Token) {
        let word = token.of(text);
        self.has_no_main |= self.with.is_none() && is_in(word, &["DELETE", "SET", "UPDATE"]);
        let with = *self.with.get_or_insert(is_in(word, &["WITH"]));
        if is_in(word, &["SELECT"]) {
            let main = !self.main_seen && !self.has_no_main && (!with || self.depth == 0);
            self.main_seen |= main;
            self.modifiers_of_main = Some(main);
            return;
        }
        if self.depth == 0 && !self.main_seen {
            // Behind these words of an INSERT, every SELECT is a subquery.
            self.has_no_main |= self.changes_rows && is_in(word, &["SET", "VALUE", "VALUES"]);
            self.changes_rows |= is_in(word, &["DELETE", "INSERT", "REPLACE", "UPDATE"]);
        }
        let Some(main) = self.modifiers_of_main else {
            return;
        };
        if is_in(word, &["SQL_CACHE"]) {
            self.pending = Some((token, Hint::Cache, main));
        } else if is_in(word, &["SQL_NO_CACHE"]) {
            self.pending = Some((token, Hint::NoCache, main));
        } else if !is_in(word, MODIFIERS) {
            self.modifiers_of_main = None;
        }
    }

    fn note(&mut self, word: Token, hint: Hint, main: bool) {
        self.spans.push(word.start..word.end);
        if !main {
            self.misplaced.get_or_insert(hint);
            return;
        }
        let seen = match hint {
            Hint::Cache => &mut self.cache,
            Hint::NoCache => &mut self.no_cache,
        };
        if *seen {
            self.twice.get_or_insert(hint);
        }
        *seen = true;
    }

    /// Whether the statement is a SELECT, and does not change rows behind a WITH.
    pub fn is_select(&self) -> bool {
        !self.changes_rows
    }

    /// Returns the hint of the first SELECT. With both, the careful one counts until the error is reported.
    pub fn hint(&self) -> Option<Hint> {
        match (self.cache, self.no_cache) {
            (_, true) => Some(Hint::NoCache),
            (true, false) => Some(Hint::Cache),
            (false, false) => None,
        }
    }

    /// Returns the error that MariaDB would give.
    pub fn error(&self) -> Option<HintError> {
        if self.cache && self.no_cache {
            let message = "Incorrect usage of SQL_NO_CACHE and SQL_CACHE".to_owned();
            return Some(HintError { code: 1221, sqlstate: "HY000", message });
        }
        if let Some(hint) = self.twice {
            let message = format!("Option '{}' used twice in statement", name(hint));
            return Some(HintError { code: 1225, sqlstate: "HY000", message });
        }
        let hint = self.misplaced?;
        let message = format!("Incorrect usage/placement of '{}'", name(hint));
        Some(HintError { code: 1234, sqlstate: "42000", message })
    }
}

fn name(hint: Hint) -> &'static str {
    match hint {
        Hint::Cache => "SQL_CACHE",
        Hint::NoCache => "SQL_NO_CACHE",
    }
}

/// Whether a column can start here: if not, the word before was itself a column of that name.
fn starts_column(text: &[u8], token: Token) -> bool {
    match token.kind {
        TokenKind::Word => !is_in(token.of(text), &["AS", "FROM", "INTO", "LIMIT", "UNION", "WHERE"]),
        TokenKind::Punct(punct) => b"(*@-+~!{".contains(&punct),
        TokenKind::Op | TokenKind::Unknown => false,
        _ => true,
    }
}
