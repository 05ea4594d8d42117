//! Our variables, tables and numbers that a statement for the server mentions: our values have to stand there when it is sent.
//!
//! ```text
//! SELECT @@query_cache_size / 1024 AS kb                    a variable
//! SET @old = @@global.query_cache_type                      a variable
//! SELECT * FROM performance_schema.global_status            a table that lists status values, ours not among them
//! SELECT CONNECTION_ID()                                    the number that the client was told
//! ```

use std::ops::Range;

use super::numbers::{ConnectionNumber, Numbers, are_at_once, is_call, may_have_numbers};
use super::parts::{Lists, Scope, is_ours, system_variable};
use super::show::{STATUS, VARIABLES, literal_head};
use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::reserved::is_reserved;
use crate::string::unquote_string;
use crate::token::{Token, TokenKind};
use crate::words::is_in;

/// A mention of something of ours in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Where it stands; empty for a title.
    pub at: Range<usize>,
    /// The mentioned thing.
    pub what: Mentioned,
}

/// The kinds of mentioned things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mentioned {
    /// `@@name`: a value has to stand there.
    Variable {
        /// GLOBAL, SESSION, or neither written.
        scope: Scope,
        /// The variable in lower case.
        name: String,
    },
    /// The number of a connection.
    Connection(ConnectionNumber),
    /// `ROW_COUNT()`: see [`row_counts`].
    RowCount,
    /// The end of a column that has a value of ours and no name: this text, as it was written, is its title.
    Title(Vec<u8>),
    /// A table that we make.
    Made {
        /// Which.
        table: Made,
        /// Its name in the statement, if the statement gives it no name of its own.
        alias: Option<String>,
    },
    /// `information_schema.system_variables` of MariaDB: our values have to stand in its rows.
    SystemVariables {
        /// Its name in the statement, if the statement gives it no name of its own.
        alias: Option<String>,
    },
    /// A table that lists variables or status values: ours have to be among its rows.
    Table {
        /// The kind of its rows.
        lists: Lists,
        /// Whose values it lists.
        scope: Scope,
        /// Its name in the statement, if the statement gives it no name of its own.
        alias: Option<String>,
    },
}

/// A table that we make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// `information_schema.query_cache_info`: the entries.
    QueryCacheInfo,
    /// `performance_schema.persisted_variables`.
    PersistedVariables,
}

/// Returns the mentions of ours in `text`, one statement or several, in order. A table that is named without a schema is in the default
/// schema, `schema`. A text that cannot be read mentions nothing.
pub fn mentions(text: &[u8], modes: Modes, schema: Option<&str>) -> Vec<Mention> {
    if !may_mention(text, schema) {
        return Vec::new();
    }
    let default = schema;
    let schema = of_ours(schema);
    let tokens: Vec<Token> = Lexer::new(text, modes).collect();
    if tokens.iter().any(|token| token.kind == TokenKind::Unknown) {
        return Vec::new();
    }
    let mut found: Vec<Mention> = Vec::new();
    let names = names_in(text, &tokens, modes);
    let mut targets = Targets::default();
    let numbers = Numbers::in_text(text, &tokens, default);
    let lists_tables = may_list_tables(Cursor::new(text, modes, &tokens));
    for at in 0..tokens.len() {
        let cursor = Cursor::new(text, modes, tokens.get(at..).unwrap_or_default());
        let before = at.checked_sub(1).and_then(|before| tokens.get(before)).copied();
        if !targets.is_next(text, before, tokens.get(at).copied()) {
            found.extend(variable(cursor));
        }
        let number = numbers.at(text, &tokens, at);
        found.extend(number.map(|(at, number)| Mention { at, what: Mentioned::Connection(number) }));
        if lists_tables && let Some(before) = before.filter(|before| introduces_table(text, *before)) {
            // Behind a comma or a parenthesis, a single name may be a column.
            let schema = schema.filter(|_| before.kind == TokenKind::Word);
            found.extend(table(cursor, schema).filter(|mention| names.may_be_listed(&mention.what)));
        }
    }
    add_titles(text, &tokens, modes, &mut found);
    found
}

/// Returns the places, in order, where the first statement of `text` asks for the row count of the statement before it, with their
/// titles. Questions in code that is executed at another time (a view, a routine) are left out.
pub fn row_counts(text: &[u8], modes: Modes) -> Vec<Mention> {
    let tokens: Vec<Token> = Lexer::new(text, modes).take_while(|token| !token.is(b';')).collect();
    let mut found: Vec<Mention> = Vec::new();
    if are_at_once(text, &tokens) {
        let is_it = |at: &usize| is_call(text, &tokens, *at, b"ROW_COUNT");
        let mention = |at: usize| {
            let range = tokens.get(at)?.start..tokens.get(at + 2)?.end;
            Some(Mention { at: range, what: Mentioned::RowCount })
        };
        found.extend((0..tokens.len()).filter(is_it).filter_map(mention));
        add_titles(text, &tokens, modes, &mut found);
    }
    found
}

/// The schemas of tables that we make, or to which we add rows.
const SCHEMAS: &[&str] = &["INFORMATION_SCHEMA", "PERFORMANCE_SCHEMA"];

/// Whether a text reads rows at once. A text that is kept (of a view, a routine) must not keep values of ours.
fn may_list_tables(mut cursor: Cursor<'_>) -> bool {
    if cursor.word("CREATE") {
        let _ = cursor.words(&["OR", "REPLACE"]);
        cursor.word("TEMPORARY");
        return cursor.at_word("TABLE");
    }
    cursor.punct(b'(')
        || cursor.at_any(&["DESC", "DESCRIBE", "EXPLAIN", "INSERT", "REPLACE", "SELECT", "WITH"])
}

/// Whether it is worth reading a text for its [`mentions`]: most texts have none. `schema` is the default schema.
#[must_use]
pub fn may_mention(text: &[u8], schema: Option<&str>) -> bool {
    of_ours(schema).is_some() || may_name(text) || may_have_numbers(text, schema)
}

/// Returns the schema if it is one of tables that we make, or to which we add rows.
fn of_ours(schema: Option<&str>) -> Option<&str> {
    schema.filter(|schema| is_in(schema.as_bytes(), SCHEMAS))
}

fn may_name(text: &[u8]) -> bool {
    const SCHEMA: &[u8] = b"_schema";
    let has_schema = || {
        memchr::memchr_iter(b'_', text)
            .any(|at| text.get(at..at + SCHEMA.len()).is_some_and(|here| here.eq_ignore_ascii_case(SCHEMA)))
    };
    let has_variable = memchr::memchr_iter(b'@', text).any(|at| text.get(at + 1) == Some(&b'@'));
    has_variable || has_schema()
}

/// The names of variables and status values in the strings of a statement.
enum NamesInStrings {
    /// It has no strings at all.
    None,
    /// One of them may be a name of ours.
    Ours,
    /// None of them is a name of ours.
    Others,
}

fn names_in(text: &[u8], tokens: &[Token], modes: Modes) -> NamesInStrings {
    let mut strings = tokens.iter().filter(|token| token.kind == TokenKind::Str).peekable();
    if strings.peek().is_none() {
        return NamesInStrings::None;
    }
    let is_ours = |token: &Token| {
        let head = literal_head(&unquote_string(token.of(text), modes).unwrap_or_default());
        VARIABLES.iter().chain(STATUS).any(|ours| ours.starts_with(&head) || head.starts_with(ours))
    };
    if strings.any(is_ours) { NamesInStrings::Ours } else { NamesInStrings::Others }
}

impl NamesInStrings {
    /// Whether our rows are to be among the rows of a table. Some of a session's status values are corrected in the answer, and for that
    /// the statement has to be sent as the client sent it.
    fn may_be_listed(&self, what: &Mentioned) -> bool {
        let is_of_session =
            matches!(what, Mentioned::Table { lists: Lists::Status, scope: Scope::Session, .. });
        if matches!(what, Mentioned::Made { .. } | Mentioned::SystemVariables { .. }) {
            return true;
        }
        match self {
            NamesInStrings::Ours => true,
            NamesInStrings::Others => false,
            NamesInStrings::None => !is_of_session,
        }
    }
}

/// Reads `@@name` of ours.
fn variable(mut cursor: Cursor<'_>) -> Option<Mention> {
    let all = cursor.rest();
    let mark = cursor.next().filter(|token| token.kind == TokenKind::AtAt)?;
    let (scope, name) = system_variable(&mut cursor)?;
    let last = all.get(all.len() - cursor.rest().len() - 1)?;
    // It is a function of this name, or a part of a variable with components.
    if !is_ours(name.as_bytes()) || cursor.peek().is_some_and(|next| next.is(b'.')) {
        return None;
    }
    Some(Mention { at: mark.start..last.end, what: Mentioned::Variable { scope, name } })
}

/// Finds the names to which a SET assigns; these are no mentions of a value.
#[derive(Default)]
struct Targets {
    /// The statement is a SET.
    is_set: bool,
    depth: usize,
}

impl Targets {
    /// Whether the token between these two begins such a name. To be asked for each token in order.
    fn is_next(&mut self, text: &[u8], before: Option<Token>, token: Option<Token>) -> bool {
        if before.is_none_or(|before| before.is(b';')) {
            *self = Self { is_set: token.is_some_and(|token| token.is_word(text, "SET")), depth: 0 };
        }
        match token.map(|token| token.kind) {
            Some(TokenKind::Punct(b'(')) => self.depth += 1,
            Some(TokenKind::Punct(b')')) => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.is_set && self.depth == 0 && before.is_some_and(|it| it.is(b',') || it.is_word(text, "SET"))
    }
}

fn introduces_table(text: &[u8], before: Token) -> bool {
    before.is(b',') || before.is(b'(') || ["FROM", "JOIN"].iter().any(|word| before.is_word(text, word))
}

/// Reads `information_schema.global_status` and similar tables, with the alias if there is one. `default` is the schema of tables that
/// are named without one.
fn table(mut cursor: Cursor<'_>, default: Option<&str>) -> Option<Mention> {
    let first = cursor.peek()?;
    let mut last = first;
    let mut name = cursor.identifier()?;
    let schema = if cursor.punct(b'.') {
        last = cursor.peek()?;
        std::mem::replace(&mut name, cursor.identifier()?)
    } else {
        default?.to_owned()
    };
    if !is_in(schema.as_bytes(), SCHEMAS) {
        return None;
    }
    let is_named = cursor.peek().is_some_and(|next| {
        next.kind == TokenKind::Name
            || next.kind == TokenKind::Word && (cursor.at_word("AS") || !is_reserved(cursor.bytes(next)))
    });
    // A column that is named with schema and table would not find the table any more.
    if cursor.peek().is_some_and(|next| next.is(b'.')) {
        return None;
    }
    let at = first.start..last.end;
    let alias = (!is_named).then(|| name.clone());
    let of_information = schema.eq_ignore_ascii_case("information_schema");
    let (scope, lists) = match name.to_ascii_lowercase().as_str() {
        "query_cache_info" if of_information => {
            return Some(Mention { at, what: Mentioned::Made { table: Made::QueryCacheInfo, alias } });
        }
        "persisted_variables" if !of_information => {
            return Some(Mention { at, what: Mentioned::Made { table: Made::PersistedVariables, alias } });
        }
        "system_variables" if of_information => {
            return Some(Mention { at, what: Mentioned::SystemVariables { alias } });
        }
        "global_variables" => (Scope::Global, Lists::Variables),
        "session_variables" => (Scope::Session, Lists::Variables),
        "global_status" => (Scope::Global, Lists::Status),
        "session_status" => (Scope::Session, Lists::Status),
        _ => return None,
    };
    Some(Mention { at, what: Mentioned::Table { lists, scope, alias } })
}

/// Adds the columns of the first SELECT that have a value of ours and no name.
fn add_titles(text: &[u8], tokens: &[Token], modes: Modes, found: &mut Vec<Mention>) {
    if !tokens.first().is_some_and(|first| first.is_word(text, "SELECT")) {
        return;
    }
    let mut rest = tokens.get(1..).unwrap_or_default();
    while let Some((first, behind)) = rest.split_first()
        && first.kind == TokenKind::Word
        && (is_in(first.of(text), crate::hint::MODIFIERS) || is_in(first.of(text), &["ALL", "DISTINCT"]))
    {
        rest = behind;
    }
    loop {
        let len = item_len(text, rest);
        let item = rest.get(..len).unwrap_or_default();
        found.extend(title(text, item, modes, found));
        match rest.get(len) {
            Some(comma) if comma.is(b',') => rest = rest.get(len + 1..).unwrap_or_default(),
            _ => break,
        }
    }
    found.sort_by_key(|mention| mention.at.start);
}

/// Returns how many tokens the column has that starts at `rest`.
fn item_len(text: &[u8], rest: &[Token]) -> usize {
    const ENDS: &[&str] = &[
        "EXCEPT",
        "FOR",
        "FROM",
        "GROUP",
        "HAVING",
        "INTERSECT",
        "INTO",
        "LIMIT",
        "ORDER",
        "UNION",
        "WHERE",
        "WINDOW",
    ];
    let mut depth = 0usize;
    let ends = |token: &Token| match token.kind {
        TokenKind::Punct(b'(') => {
            depth += 1;
            false
        }
        TokenKind::Punct(b')') => {
            depth = depth.saturating_sub(1);
            false
        }
        TokenKind::Punct(b',' | b';') => depth == 0,
        TokenKind::Word => depth == 0 && is_in(token.of(text), ENDS),
        _ => false,
    };
    rest.iter().position(ends).unwrap_or(rest.len())
}

fn title(text: &[u8], item: &[Token], modes: Modes, found: &[Mention]) -> Option<Mention> {
    let (first, last) = (item.first()?, item.last()?);
    let inside = |mention: &&Mention| mention.at.start >= first.start && mention.at.end <= last.end;
    let is_value = |it: &&Mention| {
        matches!(
            it.what,
            Mentioned::Variable { .. } | Mentioned::RowCount | Mentioned::Connection(ConnectionNumber::Own)
        )
    };
    let value = found.iter().filter(inside).find(is_value)?;
    if value.at.end < last.end && is_named(text, item, modes) {
        return None;
    }
    let written = text.get(first.start..last.end)?.to_vec();
    Some(Mention { at: last.end..last.end, what: Mentioned::Title(written) })
}

/// Whether a column ends with a name of its own: `… AS kb`, `… kb`, `… 'kb'`.
fn is_named(text: &[u8], item: &[Token], modes: Modes) -> bool {
    let [.., before, last] = item else { return false };
    if before.is_word(text, "AS") {
        return true;
    }
    let ends_operand = match before.kind {
        TokenKind::Word => {
            !is_reserved(before.of(text)) || is_in(before.of(text), &["END", "FALSE", "NULL", "TRUE"])
        }
        TokenKind::Punct(punct) => punct == b')',
        _ => before.is_literal() || before.kind == TokenKind::Name,
    };
    let names = match last.kind {
        TokenKind::Word => !is_reserved(last.of(text)),
        TokenKind::Str => unquote_string(last.of(text), modes).is_some(),
        kind => kind == TokenKind::Name,
    };
    ends_operand && names
}
