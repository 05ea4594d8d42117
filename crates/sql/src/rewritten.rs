//! A statement in the form for lists of statements: names in backticks, keywords in capitals, `$1` and so on in the place of its values.
//!
//! Spellings that mean the same have the same form: values, lists of values of any length, case of keywords and functions, quotes of
//! names, white space, comments, and whether `AS` is written. The form of a form is itself.

use crate::cursor::unquote_name;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::reserved::{is_reserved, structures};
use crate::token::{Token, TokenKind};
use crate::tokens::Tokens;
use crate::words::is_in;

/// Words with a meaning in certain places of a query that may also be names; they are written without quotes.
const IN_PLACES: &[&str] = &[
    "AGAINST",
    "ANY",
    "BOOLEAN",
    "CURRENT",
    "DAY",
    "END",
    "ESCAPE",
    "EXPANSION",
    "FIRST",
    "FOLLOWING",
    "HOUR",
    "LANGUAGE",
    "LAST",
    "LATERAL",
    "MICROSECOND",
    "MINUTE",
    "MODE",
    "MONTH",
    "NEXT",
    "NULLS",
    "OFFSET",
    "OVER",
    "PRECEDING",
    "QUARTER",
    "QUERY",
    "RECURSIVE",
    "ROLLUP",
    "ROW",
    "ROWS",
    "SECOND",
    "SIGNED",
    "SOME",
    "TIES",
    "UNBOUNDED",
    "WEEK",
    "YEAR",
];
/// Words that turn a string behind them into a moment.
const OF_MOMENTS: &[&str] = &["DATE", "TIME", "TIMESTAMP"];
/// Words for a cache, which say nothing about the statement.
const HINTS: &[&str] = &["SQL_CACHE", "SQL_NO_CACHE"];

/// The kind of the last written token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing, or a token without a space behind it.
    Tight,
    /// A name, a value or a closing parenthesis: a name behind it is an alias.
    Term,
    /// Anything else.
    Other,
}

/// Returns the rewritten text of a statement.
#[must_use]
pub fn rewritten(text: &[u8], modes: Modes) -> String {
    of(text, Lexer::new(text, modes))
}

/// Returns a text, which may have been rewritten, as one that can be prepared: with `?` in the place of `$1` and so on.
#[must_use]
pub fn with_markers(text: &[u8], modes: Modes) -> Vec<u8> {
    let (mut out, mut behind) = (Vec::with_capacity(text.len()), 0);
    for token in
        Lexer::new(text, modes).filter(|token| token.kind == TokenKind::Word && is_value(text, *token))
    {
        out.extend_from_slice(text.get(behind..token.start).unwrap_or_default());
        out.push(b'?');
        behind = token.end;
    }
    out.extend_from_slice(text.get(behind..).unwrap_or_default());
    out
}

impl Tokens<'_> {
    /// Returns the text, rewritten: [`rewritten`].
    #[must_use]
    pub fn rewritten(&self) -> String {
        of(self.text, self.walk())
    }
}

fn of(text: &[u8], mut tokens: Lexer<'_>) -> String {
    let mut tokens = tokens.take_all(usize::MAX);
    if tokens.iter().any(|token| token.is(b';')) {
        tokens.to_mut().retain(|token| !token.is(b';'));
    }
    let mut out = Writer { text: String::with_capacity(text.len() + 64), last: Last::Tight, values: 0 };
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        out.token(text, &tokens, at);
        let list = if token.is_word(text, "IN") { values_in(text, &tokens, at + 1) } else { None };
        at = match list {
            Some(behind) => {
                out.put("(", Last::Tight);
                out.value();
                out.tight(")", Last::Term);
                behind
            }
            None => at + 1,
        };
    }
    out.text
}

/// Returns the place behind a list of only values that begins here.
fn values_in(text: &[u8], tokens: &[Token], from: usize) -> Option<usize> {
    tokens.get(from).filter(|token| token.is(b'('))?;
    let inner = tokens.get(from + 1..)?;
    let end = inner.iter().position(|token| token.is(b')')).filter(|end| *end > 0)?;
    let is_one = |token: &Token| is_value(text, *token) || token.is(b',') || token.is(b'-');
    inner.get(..end)?.iter().all(is_one).then_some(from + end + 2)
}

/// Whether the token is a literal, a marker, or the sign for one in a rewritten text.
fn is_value(text: &[u8], token: Token) -> bool {
    let is_numbered = || {
        let word = token.of(text);
        let digits = word.strip_prefix(b"$").unwrap_or_default();
        token.kind == TokenKind::Word && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    };
    token.is_literal() || token.kind == TokenKind::Param || is_numbered()
}

struct Writer {
    text: String,
    last: Last,
    values: usize,
}

impl Writer {
    fn put(&mut self, piece: &str, last: Last) {
        if self.last != Last::Tight {
            self.text.push(' ');
        }
        self.tight(piece, last);
    }

    fn tight(&mut self, piece: &str, last: Last) {
        self.text.push_str(piece);
        self.last = last;
    }

    fn value(&mut self) {
        self.values += 1;
        let value = format!("${}", self.values);
        self.put(&value, Last::Term);
    }

    fn token(&mut self, text: &[u8], tokens: &[Token], at: usize) {
        let token = tokens[at];
        let bytes = token.of(text);
        let written = String::from_utf8_lossy(bytes);
        match token.kind {
            _ if is_value(text, token) => self.value(),
            TokenKind::Punct(b'.') => self.tight(".", Last::Tight),
            TokenKind::Punct(b',') => self.tight(",", Last::Other),
            TokenKind::Punct(b')') => self.tight(")", Last::Term),
            TokenKind::Punct(b'(') if at > 0 && is_function(text, tokens, at - 1) => {
                self.tight("(", Last::Tight)
            }
            TokenKind::Punct(b'(') | TokenKind::At | TokenKind::AtAt => self.put(&written, Last::Tight),
            TokenKind::Word if !follows_point(tokens, at) => self.word(text, tokens, at),
            TokenKind::Word | TokenKind::Name => {
                self.name(&unquote_name(token.kind, bytes).unwrap_or_default())
            }
            _ => self.put(&written, Last::Other),
        }
    }

    fn word(&mut self, text: &[u8], tokens: &[Token], at: usize) {
        let token = tokens[at];
        let bytes = token.of(text);
        let written = String::from_utf8_lossy(bytes);
        let is_before_string = tokens.get(at + 1).is_some_and(|next| next.kind == TokenKind::Str);
        let is_before_point = tokens.get(at + 1).is_some_and(|next| next.is(b'.'));
        if is_before_point {
            self.name(&written);
        } else if is_in(bytes, HINTS) {
            // It says nothing about the question.
        } else if is_function(text, tokens, at) {
            self.put(&written.to_ascii_lowercase(), Last::Other);
        } else if is_in(bytes, IN_PLACES) || is_before_string && written.starts_with('_') {
            self.put(&written, Last::Other);
        } else if structures(bytes) || is_before_string && is_in(bytes, OF_MOMENTS) {
            self.put(&written.to_ascii_uppercase(), Last::Other);
        } else {
            self.name(&written);
        }
    }

    /// Writes a name, with AS before it if it is an alias.
    fn name(&mut self, name: &str) {
        if self.last == Last::Term {
            self.put("AS", Last::Other);
        }
        let quoted = format!("`{}`", name.replace('`', "``"));
        self.put(&quoted, Last::Term);
    }
}

fn follows_point(tokens: &[Token], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|token| token.is(b'.'))
}

/// Whether the token is a word that is no keyword, with a parenthesis behind it.
fn is_function(text: &[u8], tokens: &[Token], at: usize) -> bool {
    let is_called = tokens.get(at + 1).is_some_and(|next| next.is(b'('));
    tokens[at].kind == TokenKind::Word && is_called && !is_reserved(tokens[at].of(text))
}

#[cfg(test)]
mod tests {
    use super::{rewritten, with_markers};
    use crate::modes::{Flavor, Modes};

    fn of(text: &str) -> String {
        rewritten(text.as_bytes(), Modes::new(Flavor::MySql))
    }

    #[test]
    fn names_are_quoted_and_values_numbered() {
        for (text, shown) in [
            (
                "SELECT e.emp_no, s1.salary AS initial_salary FROM employees e JOIN salaries s1 ON e.emp_no = s1.emp_no \
                 WHERE s1.to_date = '9999-01-01' -- a comment",
                "SELECT `e`.`emp_no`, `s1`.`salary` AS `initial_salary` FROM `employees` AS `e` JOIN `salaries` AS `s1` \
                 ON `e`.`emp_no` = `s1`.`emp_no` WHERE `s1`.`to_date` = $1",
            ),
            (
                "select count(*) n from t where a in (1,2, 3) and b=?",
                "SELECT count(*) AS `n` FROM `t` WHERE `a` IN ($1) AND `b` = $2",
            ),
            ("SELECT SQL_NO_CACHE a FROM t LIMIT 10 OFFSET 5;", "SELECT `a` FROM `t` LIMIT $1 OFFSET $2"),
            (
                "SELECT `from`.x FROM `from` WHERE d > DATE '2020-01-01' - INTERVAL 1 DAY",
                "SELECT `from`.`x` FROM `from` WHERE `d` > DATE $1 - INTERVAL $2 DAY",
            ),
            (
                "SELECT a FROM t WHERE b IN (SELECT c FROM u) ORDER BY a DESC",
                "SELECT `a` FROM `t` WHERE `b` IN (SELECT `c` FROM `u`) ORDER BY `a` DESC",
            ),
        ] {
            assert_eq!(of(text), shown);
            assert_eq!(of(shown), shown, "it comes to itself");
            let prepared = with_markers(shown.as_bytes(), Modes::new(Flavor::MySql));
            assert_eq!(of(std::str::from_utf8(&prepared).unwrap()), shown);
            assert!(!prepared.contains(&b'$'));
        }
    }

    #[test]
    fn spellings_of_one_statement_come_to_one_text() {
        let one = of("SELECT a.b c FROM a WHERE x IN (1, 2) AND y = 'z'");
        for other in [
            "select  `a`.b AS c from a where x in (-3) and y = \"q\"",
            "SELECT /* a comment */ a.`b` c FROM a WHERE x IN (?,?,?) AND y=?;",
            "SELECT SQL_CACHE a.b AS `c` FROM `a` WHERE x IN (0x1F) AND y = $7",
        ] {
            assert_eq!(of(other), one, "{other}");
        }
    }
}
