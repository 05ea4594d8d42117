//! The tables and views that a statement may read, from its tokens as they pass.
//!
//! Wherever a table can stand, a name is taken for one. A name too many (an alias, a common table expression, a column in the place of a
//! table) only costs the caller a look-up. So the rules below are few and wide, and work for statements of any length and kind, also
//! those that our parsers do not read.
//!
//! They are the fallback for texts to which the readers of clauses (`ParsedSelect`, `Tokens::analyse`) do not apply.

use crate::TableName;
use crate::cursor::unquote_name;
use crate::reserved::is_reserved;
use crate::token::{Token, TokenKind};
use crate::words::is_in;

/// The most names that are told of one statement; a statement with more may read anything.
const TABLES_MAX: usize = 256;
/// The most readings of these names, and the most names that are told of a text of many statements.
const NAMES_MAX: usize = 3 * TABLES_MAX;
/// How deep parentheses are followed; a statement with deeper ones may read anything.
const DEPTH_MAX: usize = 64;

/// The tables and views that a statement may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reads {
    /// These at most; some of the names may be no tables. Tables that it only writes may be left out.
    Tables(Vec<TableName>),
    /// It cannot be told.
    Unknown,
}

impl Reads {
    /// No table.
    pub const NOTHING: Self = Self::Tables(Vec::new());

    /// Whether it is certain that no table is read.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Tables(names) if names.is_empty())
    }

    /// Returns these and those; too many together may be anything.
    pub(crate) fn and(self, next: Reads) -> Reads {
        match (self, next) {
            (Reads::Tables(all), Reads::Tables(more)) => {
                TableName::union(all, more, NAMES_MAX).map_or(Reads::Unknown, Reads::Tables)
            }
            _ => Reads::Unknown,
        }
    }
}

/// The state inside one pair of parentheses.
#[derive(Clone, Copy, Default)]
struct Level {
    /// A comma is followed by another table.
    in_from: bool,
    /// A SELECT or a similar word stands here, so FROM is followed by tables and is not a part of EXTRACT or TRIM.
    in_query: bool,
}

/// What the next token may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// Anything but a table.
    Other,
    /// A table.
    Table,
    /// A dot and then the table's name, if the last name was a schema's.
    Dot,
    /// The name behind the dot.
    Name,
}

/// The scan: a state for the next token, and one for each open parenthesis.
pub(crate) struct ReadScan<'a> {
    text: &'a [u8],
    level: Level,
    outer: Vec<Level>,
    expect: Expect,
    before: Option<Token>,
    found: Vec<TableName>,
    /// The readings of the last name, each of them in as many entries of `found`.
    readings: Vec<String>,
    lost: bool,
}

/// Words that end a list of tables; none of them can be a name without quotes.
const ENDS_FROM: &[&str] =
    &["GROUP", "HAVING", "INTO", "LIMIT", "ORDER", "SELECT", "SET", "UNION", "VALUES", "WHERE"];

/// Words that can stand in the place of a table and are no table; without quotes they cannot be a name.
const NO_TABLE: &[&str] = &["DUAL", "IGNORE", "LOW_PRIORITY"];

/// Words in front of TABLE that show that it does not begin a query.
const DEFINES_TABLE: &[&str] = &["ALTER", "CREATE", "DROP", "RENAME", "REPLACE", "TEMPORARY", "TRUNCATE"];

/// Words in front of UPDATE that show that it does not begin a statement.
const NO_UPDATE: &[&str] = &["FOR", "KEY", "ON"];

impl<'a> ReadScan<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        ReadScan {
            text,
            level: Level::default(),
            outer: Vec::new(),
            expect: Expect::Other,
            before: None,
            found: Vec::new(),
            readings: Vec::new(),
            lost: false,
        }
    }

    pub fn reads(self) -> Reads {
        if self.lost { Reads::Unknown } else { Reads::NOTHING.and(Reads::Tables(self.found)) }
    }

    /// Takes the next token.
    pub fn see(&mut self, token: Token) {
        match token.kind {
            TokenKind::Word | TokenKind::Name if self.expect == Expect::Name => self.behind_dot(token),
            TokenKind::Word => self.word(token),
            TokenKind::Name if self.expect == Expect::Table => self.table(token),
            TokenKind::Punct(b'(') => self.open(),
            TokenKind::Punct(b')') => {
                self.level = self.outer.pop().unwrap_or_default();
                self.expect = Expect::Other;
            }
            TokenKind::Punct(b',') => self.expect_table_if(self.level.in_from),
            TokenKind::Punct(b'.') if self.expect == Expect::Dot => self.expect = Expect::Name,
            // It is an ODBC escape, or a name that starts with a dot.
            TokenKind::Punct(b'{' | b'.') if self.expect == Expect::Table => self.lost = true,
            TokenKind::Unknown => self.lost = true,
            _ => self.expect = Expect::Other,
        }
        self.before = Some(token);
    }

    fn expect_table_if(&mut self, expected: bool) {
        self.expect = if expected { Expect::Table } else { Expect::Other };
    }

    fn is_before(&self, words: &[&str]) -> bool {
        self.before.is_some_and(|token| token.kind == TokenKind::Word && is_in(token.of(self.text), words))
    }

    fn open(&mut self) {
        if self.outer.len() >= DEPTH_MAX {
            self.lost = true;
            return;
        }
        self.outer.push(self.level);
        // `FROM (a, b)`, but not `USING (a, b)` nor `f(a, b)`.
        let tables = self.expect == Expect::Table && !self.is_before(&["USING"]);
        self.level = Level { in_from: tables, in_query: tables };
        self.expect_table_if(tables);
    }

    fn word(&mut self, token: Token) {
        let after_dot = self.before.is_some_and(|token| token.is(b'.'));
        if after_dot || self.before.is_some_and(|token| matches!(token.kind, TokenKind::At | TokenKind::AtAt))
        {
            self.expect = Expect::Other;
            return;
        }
        let word = token.of(self.text);
        if is_in(word, ENDS_FROM) || is_in(word, &["UPDATE"]) && self.is_before(NO_UPDATE) {
            self.level = Level { in_from: false, in_query: true };
            self.expect = Expect::Other;
        } else if self.leads_to_table(word) {
            self.level.in_from = true;
            self.expect = Expect::Table;
        } else if self.expect == Expect::Table && !is_in(word, NO_TABLE) {
            self.table(token);
            // A keyword may come before the table: `FROM LATERAL (…)`.
            if is_reserved(word) {
                self.expect = Expect::Table;
            }
        } else if self.expect != Expect::Table {
            self.expect = Expect::Other;
        }
    }

    fn leads_to_table(&self, word: &[u8]) -> bool {
        let at_top = self.outer.is_empty();
        if is_in(word, &["FROM"]) {
            return at_top || self.level.in_query;
        }
        is_in(word, &["JOIN", "STRAIGHT_JOIN"])
            || is_in(word, &["TABLE"]) && !self.is_before(DEFINES_TABLE)
            || is_in(word, &["UPDATE"])
            // `DELETE … USING t`; within parentheses USING belongs to CONVERT.
            || at_top && is_in(word, &["USING"])
    }

    /// Takes a table, or the schema of one.
    fn table(&mut self, token: Token) {
        self.expect = Expect::Dot;
        self.readings = names(token.kind, token.of(self.text));
        if self.readings.is_empty() || self.found.len() >= TABLES_MAX {
            self.lost = true;
        }
        self.found.extend(self.readings.iter().map(TableName::bare));
    }

    /// Takes the name behind a schema that was taken for a table.
    fn behind_dot(&mut self, token: Token) {
        self.expect = Expect::Other;
        let names = names(token.kind, token.of(self.text));
        self.lost |= names.is_empty();
        self.found.truncate(self.found.len().saturating_sub(self.readings.len()));
        for schema in &self.readings {
            self.found.extend(names.iter().map(|name| TableName::of(schema, name)));
        }
    }
}

/// Returns the possible readings of a name: beyond ASCII they depend on the client's character set, which is not known here. In UTF-8 and
/// binary the name stands for itself, in latin1 each byte is a character, in ASCII a question mark. None if it is not UTF-8.
fn names(kind: TokenKind, bytes: &[u8]) -> Vec<String> {
    let Some(name) = unquote_name(kind, bytes) else { return Vec::new() };
    if name.is_ascii() {
        return vec![name];
    }
    let by_byte = |beyond: fn(u8) -> char| {
        name.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { beyond(byte) }).collect()
    };
    let readings = [by_byte(latin1), by_byte(|_| '?')];
    [name].into_iter().chain(readings).collect()
}

/// The characters that the servers' latin1, which is Windows' code page 1252, has in the place of control characters.
const LATIN1_0X80: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

fn latin1(byte: u8) -> char {
    let special = byte.checked_sub(0x80).and_then(|at| LATIN1_0X80.get(usize::from(at)));
    special.copied().unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests;
