//! One pass over all tokens of a statement, however long, for facts that any part of it can decide.

use crate::TableName;
use crate::calls::{CALLS_MAX, Call, Calls, RoutineKind};
use crate::cursor::unquote_name;
use crate::functions::{self, FunctionClass};
use crate::modes::{Flavor, Modes};
use crate::token::{Token, TokenKind};
use crate::words::is_in;

/// What was found anywhere in a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// A call that may be a stored function's.
    pub unknown_call: bool,
    /// Such a call behind the first SELECT, WITH or VALUES: in a definition of columns, the names before that are no calls.
    pub unknown_call_in_query: bool,
    /// It reads FOUND_ROWS() and the like.
    pub reads_last_statement: bool,
    /// It assigns a user variable or takes a named lock.
    pub changes_session: bool,
    /// It names a variable that changes the meaning of the binlog: sql_log_bin; gtid_seq_no, which commits under a number that was given
    /// before; insert_id, which gives a new row such a number.
    pub names_log_bin: bool,
    /// It names a session_track_* variable.
    pub names_tracking: bool,
    /// It names autocommit.
    pub names_autocommit: bool,
    /// It declares a foreign key.
    pub references: bool,
    /// It could not be cut into tokens to its end.
    pub lost: bool,
}

/// Words before a name after which a parenthesis behind the name is no call.
const NAME_FOLLOWS: &[&str] = &[
    "AS",
    "CALL",
    "DELAYED",
    "HIGH_PRIORITY",
    "IGNORE",
    "INSERT",
    "INTO",
    "LOW_PRIORITY",
    "RECURSIVE",
    "REFERENCES",
    "REPLACE",
    "TABLE",
    "WITH",
];

/// The function that reads a document as a table.
const JSON_TABLE: &str = "JSON_TABLE";

/// System variables that tell about the statement before.
const LAST_STATEMENT_VARIABLES: &[&str] = &["ERROR_COUNT", "IDENTITY", "LAST_INSERT_ID", "WARNING_COUNT"];

/// The scan itself: a few tokens of memory.
pub(crate) struct Scan<'a> {
    text: &'a [u8],
    modes: Modes,
    facts: Facts,
    calls: Calls,
    in_query: bool,
    before: Option<Token>,
    chain: Chain,
    /// Parentheses that are open.
    depth: usize,
    /// The depths of calls of JSON_TABLE, which on MariaDB is a stored function of that name if it has no COLUMNS.
    json_tables: Vec<usize>,
    /// Calls whose arguments decide whether they are the built-in function's or a stored one's.
    counted: Vec<CountedCall>,
}

/// A call whose arguments are being counted.
struct CountedCall {
    name: Token,
    /// Parentheses that are open within it.
    depth: usize,
    arguments: usize,
}

/// The last name, or chain of names joined by dots.
#[derive(Clone, Copy, Default)]
struct Chain {
    /// The token before it.
    before: Option<Token>,
    first: Option<Token>,
    parts: usize,
}

impl<'a> Scan<'a> {
    pub fn new(text: &'a [u8], modes: Modes) -> Self {
        let chain = Chain::default();
        Scan {
            text,
            modes,
            facts: Facts::default(),
            calls: Calls::NOTHING,
            in_query: false,
            before: None,
            chain,
            depth: 0,
            json_tables: Vec::new(),
            counted: Vec::new(),
        }
    }

    pub fn facts(&self) -> Facts {
        let unknown_call = self.facts.unknown_call || self.is_within_a_call();
        Facts { unknown_call, ..self.facts }
    }

    /// Returns the functions that may be stored ones.
    pub fn calls(mut self) -> Calls {
        if self.is_within_a_call() {
            self.unknown_call(None);
        }
        self.calls
    }

    /// Whether a call has not ended yet.
    fn is_within_a_call(&self) -> bool {
        !self.json_tables.is_empty() || !self.counted.is_empty()
    }

    /// Takes the next token.
    pub fn see(&mut self, token: Token) {
        self.count_argument(token);
        match token.kind {
            TokenKind::Word => self.word(token),
            TokenKind::Name => self.extend_chain(token),
            TokenKind::At => self.facts.changes_session |= self.is_before(&["INTO"]),
            TokenKind::Op if token.of(self.text) == b":=" => self.facts.changes_session = true,
            TokenKind::Punct(b'(') => {
                self.depth += 1;
                self.parenthesis(token);
            }
            TokenKind::Punct(b')') => {
                if self.json_tables.last() == Some(&self.depth) {
                    self.json_tables.pop();
                    self.unknown_call(Some(TableName::bare(JSON_TABLE)));
                }
                self.end_counting();
                self.depth = self.depth.saturating_sub(1);
            }
            TokenKind::Unknown => self.facts.lost = true,
            _ => {}
        }
        self.before = Some(token);
    }

    fn count_argument(&mut self, token: Token) {
        let Some(call) = self.counted.last_mut().filter(|call| call.depth == self.depth) else { return };
        let begins_query = token.kind == TokenKind::Word && is_in(token.of(self.text), &["SELECT", "WITH"]);
        if call.arguments == 0 && begins_query && call.name.is_word(self.text, "LATERAL") {
            // A derived table: a query as an argument stands in parentheses of its own.
            self.counted.pop();
        } else if token.is(b',') {
            call.arguments += 1;
        } else if !token.is(b')') {
            call.arguments = call.arguments.max(1);
        }
    }

    fn end_counting(&mut self) {
        let Some(call) = self.counted.pop_if(|call| call.depth == self.depth) else { return };
        let word = call.name.of(self.text).to_ascii_uppercase();
        if word == b"LATERAL" || !functions::is_itself_with(&word, call.arguments) {
            let name = std::str::from_utf8(call.name.of(self.text)).ok();
            self.unknown_call(name.map(TableName::bare));
        }
    }

    /// Whether the token before this one is one of these words.
    fn is_before(&self, words: &[&str]) -> bool {
        self.before.is_some_and(|token| token.kind == TokenKind::Word && is_in(token.of(self.text), words))
    }

    fn extend_chain(&mut self, token: Token) {
        if self.before.is_some_and(|token| token.is(b'.')) && self.chain.parts > 0 {
            self.chain.parts += 1;
        } else {
            self.chain = Chain { before: self.before, first: Some(token), parts: 1 };
        }
    }

    fn word(&mut self, token: Token) {
        self.extend_chain(token);
        let word = token.of(self.text);
        self.in_query |= is_in(word, &["SELECT", "VALUES", "WITH"]) && self.before.is_some();
        self.facts.references |= is_in(word, &["REFERENCES"]);
        self.variable(word);
    }

    fn variable(&mut self, word: &[u8]) {
        const TRACK: &[u8] = b"session_track_";
        let starts_with_track = word.get(..TRACK.len()).is_some_and(|head| head.eq_ignore_ascii_case(TRACK));
        self.facts.names_tracking |= starts_with_track;
        self.facts.names_log_bin |= is_in(word, &["SQL_LOG_BIN", "GTID_SEQ_NO", "INSERT_ID"]);
        self.facts.names_autocommit |= is_in(word, &["AUTOCOMMIT"]);
        if self.chain.before.is_some_and(|token| token.kind == TokenKind::AtAt) {
            self.facts.reads_last_statement |= is_in(word, LAST_STATEMENT_VARIABLES);
        }
    }

    /// Notes a call that may be a stored function's of this name, or of an unreadable name.
    fn unknown_call(&mut self, name: Option<TableName>) {
        self.facts.unknown_call = true;
        self.facts.unknown_call_in_query |= self.in_query;
        match name {
            Some(name) => self.calls.push(Call { kind: RoutineKind::Function, name }),
            None => self.calls = Calls::Unknown,
        }
    }

    /// Takes a parenthesis: a call, if a name stands before it that can be a function's.
    fn parenthesis(&mut self, token: Token) {
        let Some(name) = self.before.filter(Token::is_name) else {
            return;
        };
        if self.is_of_columns() {
            // The COLUMNS of a nested path stand deeper.
            self.json_tables.pop_if(|depth| *depth + 1 == self.depth);
            return;
        }
        if self.chain_is_definition() {
            return;
        }
        if self.chain.parts > 1 || name.kind == TokenKind::Name {
            return self.unknown_call(self.called(name));
        }
        let word = name.of(self.text);
        if functions::depends_on_arguments(word, self.modes) || is_in(word, &["LATERAL"]) {
            if self.counted.len() == CALLS_MAX {
                return self.unknown_call(None);
            }
            return self.counted.push(CountedCall { name, depth: self.depth, arguments: 0 });
        }
        match functions::class(word, name.end != token.start, self.modes) {
            FunctionClass::Unknown
                if functions::is_grammar(word, self.modes) || self.is_in_its_place(word) => {}
            FunctionClass::Unknown if is_in(word, &[JSON_TABLE]) && self.json_tables.len() < CALLS_MAX => {
                self.json_tables.push(self.depth);
            }
            // A result that depends on a sequence is not cached, so advancing a sequence changes nothing that counts.
            FunctionClass::Unknown
                if self.modes.flavor == Flavor::MariaDb && functions::is_of_sequences(word) => {}
            FunctionClass::Unknown => self.unknown_call(self.called(name)),
            FunctionClass::LastStatement => self.facts.reads_last_statement = true,
            FunctionClass::Session => self.facts.changes_session = true,
            _ => {}
        }
    }

    /// Whether a word that may be a stored function's name is grammar, by the token before it: `) AGAINST (`, `MEMBER OF (`.
    fn is_in_its_place(&self, word: &[u8]) -> bool {
        self.chain.before.is_some_and(|before| {
            is_in(word, &["AGAINST"]) && before.is(b')')
                || is_in(word, &["OF"]) && before.is_word(self.text, "MEMBER")
        })
    }

    /// Returns the chain whose last part this is as a function's name. None beyond ASCII, where the meaning depends on the client's
    /// character set, and for names of three parts, which are not those of known functions.
    fn called(&self, last: Token) -> Option<TableName> {
        let part = |token: Token| {
            unquote_name(token.kind, token.of(self.text)).filter(|name| name.is_ascii() && !name.is_empty())
        };
        match self.chain.parts {
            1 => Some(TableName::bare(part(last)?)),
            2 => Some(TableName::of(part(self.chain.first?)?, part(last)?)),
            _ => None,
        }
    }

    /// Whether the token before the name shows that the name is defined or filled, and not called.
    fn chain_is_definition(&self) -> bool {
        let before = self.chain.before;
        before.is_some_and(|token| {
            token.is(b')') || (token.kind == TokenKind::Word && is_in(token.of(self.text), NAME_FOLLOWS))
        })
    }

    /// Whether this is the parenthesis of `JSON_TABLE(doc, '$[*]' COLUMNS (…))`: no call stands behind a string.
    fn is_of_columns(&self) -> bool {
        let follows_path = self.chain.before.is_some_and(|token| token.kind == TokenKind::Str);
        follows_path && self.before.is_some_and(|token| token.is_word(self.text, "COLUMNS"))
    }
}
