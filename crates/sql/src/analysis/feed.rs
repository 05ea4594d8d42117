//! Rewrites a statement's tokens for the parser.
//!
//! Kept exactly: names, dots, parentheses, commas, the words that structure a query, and every call. Made uniform: all literals are one
//! number, all operators one operator, joins of all kinds one join. Left out: parts that hold no name of a table and no call, such as
//! types, units, character sets, collations, index hints, directions.

mod special;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token as SqlToken, Word};

use super::frame::Frame;
use super::vocabulary::{UNITS, Use, usage};
use super::walk::Census;
use crate::cursor::unquote_name;
use crate::hint;
use crate::reason::Reason;
use crate::token::{Token, TokenKind};
use crate::words::{Upper, is_in};

/// The most operators, set operations included, that the parser is given: each nests the tree by one.
const OPERATORS_MAX: usize = 1000;
/// The most joins that the parser is given: it calls itself for each join that follows another without ON, and does not count them. A
/// server joins 61 tables at most.
const JOINS_MAX: usize = 128;
/// The most tokens that the parser is given.
const FED_MAX: usize = 20_000;

/// How many literals of a list the parser is given, so that it still counts the arguments of a call.
const LITERALS_KEPT: usize = 4;

/// Returns the tokens for the parser.
pub(super) fn feed(text: &[u8], tokens: &[Token]) -> Result<Vec<SqlToken>, Reason> {
    let mut feeder = Feeder {
        text,
        tokens,
        at: 0,
        out: Vec::with_capacity(tokens.len().min(FED_MAX)),
        frames: Vec::new(),
        operators: 0,
        joins: 0,
        cases: 0,
        interval: None,
        modifiers: false,
        in_window_clause: false,
        json_table_has_columns: false,
    };
    while let Some(token) = feeder.next() {
        feeder.one(token)?;
        let is_deep = feeder.operators > OPERATORS_MAX || feeder.joins > JOINS_MAX;
        if is_deep || feeder.out.len() > FED_MAX {
            return Err(Reason::TooLarge);
        }
    }
    Ok(feeder.out)
}

/// Counts the words among the parser's tokens that bring tables.
pub(super) fn census(tokens: &[SqlToken]) -> Census {
    let mut census = Census::default();
    for token in tokens {
        match token {
            SqlToken::Word(word) if word.keyword == Keyword::SELECT => census.selects += 1,
            SqlToken::Word(word) if word.keyword == Keyword::FROM => census.froms += 1,
            SqlToken::Word(word) if word.keyword == Keyword::JOIN => census.joins += 1,
            _ => {}
        }
    }
    census
}

struct Feeder<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
    at: usize,
    out: Vec<SqlToken>,
    frames: Vec<Frame>,
    operators: usize,
    joins: usize,
    /// The number of open CASEs: only inside them is END a keyword.
    cases: usize,
    /// An INTERVAL that waits for its unit: its depth, and the token with which its value starts.
    interval: Option<(usize, usize)>,
    /// Between SELECT and its first column.
    modifiers: bool,
    /// A WINDOW has been fed: an AS behind it belongs to a window.
    in_window_clause: bool,
    /// The open JSON_TABLE has had its COLUMNS.
    json_table_has_columns: bool,
}

impl<'a> Feeder<'a> {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).copied();
        self.at += usize::from(token.is_some());
        token
    }

    fn peek(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn then(&self, ahead: usize, word: &str) -> bool {
        self.peek(ahead).is_some_and(|token| token.is_word(self.text, word))
    }

    fn then_punct(&self, ahead: usize, punct: u8) -> bool {
        self.peek(ahead).is_some_and(|token| token.is(punct))
    }

    fn frame(&self) -> Frame {
        self.frames.last().copied().unwrap_or(Frame::Plain)
    }

    fn one(&mut self, token: Token) -> Result<(), Reason> {
        match token.kind {
            TokenKind::Word => self.word(token),
            TokenKind::Name => self.name(token),
            TokenKind::Str => self.string(),
            TokenKind::Int | TokenKind::Real | TokenKind::Literal | TokenKind::Param => {
                self.value();
                Ok(())
            }
            TokenKind::Op => {
                self.operator();
                Ok(())
            }
            TokenKind::Punct(punct) => self.punct(punct),
            TokenKind::At | TokenKind::AtAt => Err(Reason::Variable),
            TokenKind::Unknown => Err(Reason::NotReadable),
        }
    }

    /// Whether the last token fed ends an operand, so that an operator can follow.
    fn after_operand(&self) -> bool {
        match self.out.last() {
            Some(SqlToken::Word(word)) => matches!(word.keyword, Keyword::NoKeyword | Keyword::END),
            Some(SqlToken::Number(..) | SqlToken::RParen) => true,
            _ => false,
        }
    }

    /// Feeds a literal. Of a list of literals, all beyond the first few are left out.
    fn value(&mut self) {
        let mut last = self.out.iter().rev();
        let long = (0..LITERALS_KEPT).all(|_| {
            matches!((last.next(), last.next()), (Some(SqlToken::Comma), Some(SqlToken::Number(..))))
        });
        if long {
            self.out.pop();
        } else {
            self.out.push(SqlToken::Number("1".to_owned(), false));
        }
    }

    fn string(&mut self) -> Result<(), Reason> {
        let last_is_as = matches!(self.out.last(), Some(SqlToken::Word(word)) if word.keyword == Keyword::AS);
        if last_is_as {
            self.identifier("alias".to_owned(), None);
        } else if !self.after_operand() {
            self.value();
        }
        Ok(())
    }

    fn name(&mut self, token: Token) -> Result<(), Reason> {
        self.modifiers = false;
        let name = unquote_name(token.kind, token.of(self.text)).ok_or(Reason::NotReadable)?;
        let quote = (token.kind == TokenKind::Name).then_some('`');
        self.identifier(name, quote);
        Ok(())
    }

    fn identifier(&mut self, value: String, quote_style: Option<char>) {
        self.out.push(SqlToken::Word(Word { value, quote_style, keyword: Keyword::NoKeyword }));
    }

    fn keyword(&mut self, keyword: Keyword, value: &str) {
        self.in_window_clause |= keyword == Keyword::WINDOW;
        self.joins += usize::from(keyword == Keyword::JOIN);
        self.out.push(SqlToken::Word(Word { value: value.to_owned(), quote_style: None, keyword }));
    }

    /// Feeds an operator between two operands; an operator in front of an operand is left out.
    fn operator(&mut self) {
        self.modifiers = false;
        if self.after_operand() {
            self.operators += 1;
            self.out.push(SqlToken::Plus);
        }
    }

    fn punct(&mut self, punct: u8) -> Result<(), Reason> {
        self.modifiers = false;
        match punct {
            b'(' => self.open(),
            b')' => self.close()?,
            b',' => self.comma()?,
            b'.' => self.out.push(SqlToken::Period),
            b'*' if !self.after_operand() => self.out.push(SqlToken::Mul),
            b'*' | b'+' | b'-' | b'/' | b'%' | b'&' | b'|' | b'^' | b'=' | b'<' | b'>' | b'~' | b'!' => {
                self.operator();
            }
            // An ODBC escape: { fn f(x) }, { d '2020-02-02' }, { oj a LEFT JOIN b … }.
            b'{' if self.peek(0).is_some_and(|next| next.kind == TokenKind::Word) => self.at += 1,
            b'}' => {}
            _ => return Err(Reason::NotParsed(format!("{} is not expected", char::from(punct)))),
        }
        Ok(())
    }

    fn comma(&mut self) -> Result<(), Reason> {
        if self.interval.is_some_and(|(depth, _)| depth >= self.frames.len()) {
            self.interval = None;
        }
        match self.frame() {
            Frame::Convert => return self.skip_rest_of_frame(),
            Frame::Tables => self.keyword(Keyword::JOIN, "JOIN"),
            _ => self.out.push(SqlToken::Comma),
        }
        Ok(())
    }

    fn open(&mut self) {
        let frame = self.frame_opened_by();
        self.frames.push(frame);
        self.out.push(SqlToken::LParen);
        match frame {
            Frame::JsonTable => self.keyword(Keyword::SELECT, "SELECT"),
            Frame::Extract => self.at += 1, // The unit.
            _ => {}
        }
    }

    fn frame_opened_by(&self) -> Frame {
        let before = self.at.checked_sub(2).and_then(|at| self.tokens.get(at));
        let query_follows = ["SELECT", "WITH", "VALUES", "TABLE"].iter().any(|word| self.then(0, word));
        let Some(before) = before.filter(|_| !query_follows) else {
            return Frame::Plain;
        };
        let behind_dot = self.at.checked_sub(3).and_then(|at| self.tokens.get(at));
        let qualified = behind_dot.is_some_and(|dot| dot.is(b'.'));
        let in_tables = before.is(b'(') && self.frame() == Frame::Tables;
        if before.kind == TokenKind::Word && !qualified {
            let word = before.of(self.text);
            let tables = matches!(self.frame(), Frame::Plain | Frame::Tables);
            if tables && is_in(word, &["FROM", "JOIN", "STRAIGHT_JOIN"]) {
                return Frame::Tables;
            }
            if is_in(word, &["AS"]) && self.in_window_clause {
                return Frame::Window;
            }
            return Frame::behind(word);
        }
        if in_tables { Frame::Tables } else { Frame::Plain }
    }

    fn close(&mut self) -> Result<(), Reason> {
        let closed = self.frames.pop();
        if closed == Some(Frame::JsonTable) && !std::mem::take(&mut self.json_table_has_columns) {
            return Err(Reason::UnknownFunction("JSON_TABLE".to_owned())); // Without COLUMNS it is a call.
        }
        if self.interval.is_some_and(|(depth, _)| depth > self.frames.len()) {
            self.interval = None;
        }
        self.out.push(SqlToken::RParen);
        Ok(())
    }

    /// Leaves out the rest of this parenthesis; its end is next. The rest must not hold a query.
    fn skip_rest_of_frame(&mut self) -> Result<(), Reason> {
        let mut depth = 0usize;
        while let Some(token) = self.peek(0) {
            match token.kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') if depth == 0 => return Ok(()),
                TokenKind::Punct(b')') => depth -= 1,
                _ => {}
            }
            self.leave_out(token)?;
        }
        Ok(())
    }

    /// Leaves out the next token, which must not open a query.
    fn leave_out(&mut self, token: Token) -> Result<(), Reason> {
        let word = token.of(self.text);
        if token.kind == TokenKind::Word && is_in(word, &["SELECT", "TABLE", "VALUES", "WITH"]) {
            return Err(refused(word));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, token: Token) -> Result<(), Reason> {
        let bytes = token.of(self.text);
        let before = self.at.checked_sub(2).and_then(|at| self.tokens.get(at));
        if before.is_some_and(|before| before.is(b'.')) || self.then_punct(0, b'.') {
            return self.name(token);
        }
        if bytes.first() == Some(&b'_')
            && self.peek(0).is_some_and(|next| matches!(next.kind, TokenKind::Str | TokenKind::Literal))
        {
            return Ok(()); // A character set in front of its literal.
        }
        if self.modifiers && is_in(bytes, hint::MODIFIERS) {
            return Ok(());
        }
        if self.takes_unit(bytes) {
            self.interval = None;
            return Ok(());
        }
        let upper = Upper::of(bytes);
        let usage = upper.as_ref().and_then(|upper| usage(upper.as_str()));
        if self.then_punct(0, b'(') && usage != Some(Use::Refused) && self.is_call(bytes, usage) {
            return self.name(token);
        }
        self.modifiers = false;
        match usage {
            None => self.name(token),
            Some(Use::Structure(keyword)) => {
                self.structure(keyword, upper.as_ref().map_or("", |upper| upper.as_str()))
            }
            Some(Use::Operator) => self.word_operator(bytes),
            Some(Use::Nothing) => Ok(()),
            Some(Use::Value) => {
                self.value();
                Ok(())
            }
            Some(Use::Special) => self.special(token, upper.as_ref().map_or("", |upper| upper.as_str())),
            Some(Use::Refused) => Err(refused(bytes)),
        }
    }

    /// Whether a word before a parenthesis is a function's name rather than grammar.
    fn is_call(&self, word: &[u8], usage: Option<Use>) -> bool {
        match usage {
            None => true,
            Some(Use::Special) => is_in(
                word,
                &[
                    "CHAR",
                    "CONVERT",
                    "DATABASE",
                    "DATE",
                    "DEFAULT",
                    "IF",
                    "INSERT",
                    "LEFT",
                    "MATCH",
                    "MOD",
                    "REPEAT",
                    "REPLACE",
                    "RIGHT",
                    "SCHEMA",
                    "TIME",
                    "TIMESTAMP",
                ],
            ),
            Some(_) => false,
        }
    }

    /// Whether this word is the unit for which an INTERVAL waits.
    fn takes_unit(&self, word: &[u8]) -> bool {
        self.interval.is_some_and(|(depth, from)| {
            depth == self.frames.len() && self.at > from + 1 && is_in(word, UNITS)
        })
    }

    fn structure(&mut self, keyword: Keyword, word: &str) -> Result<(), Reason> {
        match (self.frame(), keyword) {
            (Frame::Cast, Keyword::AS) | (Frame::Convert | Frame::Char, Keyword::USING) => {
                return self.skip_rest_of_frame();
            }
            (Frame::Extract, Keyword::FROM) => return Ok(()),
            (Frame::Trim | Frame::Substring, Keyword::FROM) => {
                self.separate();
                return Ok(());
            }
            (Frame::Concatenation, Keyword::ORDER) => {
                self.at += usize::from(self.then(0, "BY"));
                self.separate();
                return Ok(());
            }
            (Frame::Concatenation, Keyword::LIMIT) => {
                self.separate();
                return Ok(());
            }
            _ => {}
        }
        let is_between_queries = matches!(keyword, Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT);
        if is_between_queries && self.awaits_name() {
            // The parser would take the word for a name, and refuse it with the spelling of the text.
            return Err(refused(word.as_bytes()));
        }
        match keyword {
            Keyword::SELECT => self.modifiers = true,
            Keyword::CASE => self.cases += 1,
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::JOIN => self.operators += 1,
            _ => {}
        }
        self.interval = None;
        self.keyword(keyword, word);
        Ok(())
    }

    /// Whether a table or a column follows the last token.
    fn awaits_name(&self) -> bool {
        match self.out.last() {
            Some(SqlToken::Word(word)) => matches!(word.keyword, Keyword::FROM | Keyword::JOIN),
            Some(SqlToken::Comma | SqlToken::LParen) => true,
            _ => false,
        }
    }

    /// Feeds a comma, if one operand has been given already.
    fn separate(&mut self) {
        if self.after_operand() || matches!(self.out.last(), Some(SqlToken::Mul)) {
            self.out.push(SqlToken::Comma);
        }
    }

    fn word_operator(&mut self, word: &[u8]) -> Result<(), Reason> {
        let is_in_word = is_in(word, &["IN"]);
        match self.frame() {
            Frame::Position if is_in_word => self.separate(),
            Frame::Against if is_in_word && !self.then_punct(0, b'(') => return self.skip_rest_of_frame(),
            _ => self.operator(),
        }
        Ok(())
    }
}

fn refused(word: &[u8]) -> Reason {
    Reason::NotParsed(format!("{} is not expected", String::from_utf8_lossy(word)))
}
