//! Statements that differ in their literals alone are read once: the literals become parameters, and the next statement
//! brings its own values along.
//!
//! Only literals are taken for parameters that stand where a value is compared, listed or counted. Any other, such as a
//! column's alias in quotes, means more than its value, and the statement is read by itself.

use super::conjunct;
use super::{Condition, Datum, RowReads};
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::token::{Kind, Token};

/// The longest statement, in bytes.
const TEXT_MAX: usize = 2048;
/// The most literals.
const VALUES_MAX: usize = 48;

/// Behind these words a literal is a value and nothing else.
const WORDS: [&str; 8] = ["AND", "BETWEEN", "LIMIT", "NOT", "OFFSET", "ON", "OR", "WHERE"];
/// And behind these operators.
const OPERATORS: [&[u8]; 5] = [b"<=", b">=", b"<>", b"!=", b"<=>"];

/// A statement whose literals are parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slotted {
    /// The statement with `?` for each literal, and behind it the kind of each: all that [`row_reads_of`] makes something of,
    /// but for the values.
    ///
    /// [`row_reads_of`]: super::row_reads_of
    pub form: Vec<u8>,
    /// How much of `form` is the statement.
    text_bytes: usize,
    /// The values, in the order of the text. None of them is NULL, a parameter, or unknown.
    pub values: Vec<Datum>,
}

impl Slotted {
    /// The statement, which no server ever sees.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.form.get(..self.text_bytes).unwrap_or_default()
    }
}

/// Takes the literals out of `text`. `None`: one of them may be more than a value, or its value is not told by the text alone.
#[must_use]
pub fn slotted(text: &[u8], modes: Modes) -> Option<Slotted> {
    if text.len() > TEXT_MAX {
        return None;
    }
    let mut writer =
        Writer { text, modes, form: Vec::with_capacity(text.len() + 1), values: Vec::new(), end: 0 };
    let (mut sign, mut before): (Option<Token>, Option<Token>) = (None, None);
    for token in Lexer::new(text, modes) {
        if token.is_literal() {
            before.filter(|before| takes_value(*before, text))?;
            writer.value(sign.take(), token)?;
        } else {
            if let Some(sign) = sign.take() {
                writer.copy(sign);
                before = Some(sign);
            }
            match token.kind {
                Kind::Unknown | Kind::Param | Kind::At | Kind::AtAt => return None,
                Kind::Punct(b'-' | b'+') if before.is_some_and(|before| takes_sign(before, text)) => {
                    sign = Some(token);
                    continue;
                }
                // What a pattern starts with decides what is made of it.
                Kind::Word if token.is_word(text, "LIKE") => return None,
                _ => writer.copy(token),
            }
        }
        before = Some(token);
    }
    if let Some(sign) = sign {
        writer.copy(sign);
    }
    writer.finish()
}

/// Whether a literal behind this token is a value.
fn takes_value(before: Token, text: &[u8]) -> bool {
    match before.kind {
        Kind::Punct(punct) => matches!(punct, b'=' | b'<' | b'>' | b'(' | b','),
        Kind::Op => OPERATORS.contains(&before.of(text)),
        Kind::Word => WORDS.iter().any(|word| before.is_word(text, word)),
        _ => false,
    }
}

/// Whether a sign behind this token belongs to a literal. No server counts rows with one.
fn takes_sign(before: Token, text: &[u8]) -> bool {
    takes_value(before, text) && !before.is_word(text, "LIMIT") && !before.is_word(text, "OFFSET")
}

struct Writer<'a> {
    text: &'a [u8],
    modes: Modes,
    form: Vec<u8>,
    values: Vec<Datum>,
    /// Where the token before ended.
    end: usize,
}

impl Writer<'_> {
    fn copy(&mut self, token: Token) {
        self.gap(token.start);
        self.form.extend_from_slice(token.of(self.text));
        self.end = token.end;
    }

    fn value(&mut self, sign: Option<Token>, token: Token) -> Option<()> {
        let is_negative = sign.is_some_and(|sign| sign.is(b'-'));
        let is_number = matches!(token.kind, Kind::Int | Kind::Real);
        if self.values.len() == VALUES_MAX || sign.is_some() && !is_number {
            return None;
        }
        self.gap(sign.unwrap_or(token).start);
        self.form.push(b'?');
        self.end = token.end;
        self.values.push(conjunct::value(token.kind, token.of(self.text), is_negative, self.modes)?);
        Some(())
    }

    /// Whether there is a gap decides what a word before a parenthesis is.
    fn gap(&mut self, start: usize) {
        if start > self.end {
            self.form.push(b' ');
        }
    }

    fn finish(mut self) -> Option<Slotted> {
        let text_bytes = self.form.len();
        self.form.push(0);
        for value in &self.values {
            self.form.push(match value {
                Datum::Int(_) => b'i',
                Datum::Decimal(_) => b'd',
                Datum::Text(_) => b't',
                Datum::Null | Datum::InRow(_) | Datum::Moment(_) | Datum::Param(_) | Datum::Other => {
                    return None;
                }
            });
        }
        Some(Slotted { form: self.form, text_bytes, values: self.values })
    }
}

impl RowReads {
    /// The same with values in the places of parameters; those that have none stay.
    #[must_use]
    pub fn with_values(mut self, values: &[Datum]) -> Self {
        for occurrence in &mut self.occurrences {
            let pins = occurrence.alternatives.iter_mut().flatten();
            pins.for_each(|pin| fill(&mut pin.condition, values));
        }
        self
    }
}

fn fill(condition: &mut Condition, values: &[Datum]) {
    let put = |datum: &mut Datum| {
        if let Datum::Param(number) = datum
            && let Some(value) = values.get(usize::from(*number))
        {
            *datum = value.clone();
        }
    };
    match condition {
        Condition::OneOf(data) => data.iter_mut().for_each(put),
        Condition::Between { low, high } => {
            [low, high].into_iter().flatten().for_each(|(datum, _)| put(datum));
        }
        Condition::Prefix(datum) => put(datum),
        Condition::IsNull => {}
    }
}
