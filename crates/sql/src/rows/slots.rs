//! Statements that differ only in their literals are read once. The literals become parameters, and the next statement brings its own
//! values.
//!
//! A *form* is the common part of such statements: all of their tokens, with a mark for each literal. If a finding depends on the tokens
//! of a text and not on the content of its literals, the form is enough for it.
//!
//! A literal is a parameter only where it stands for a value that is compared, listed or counted. Any other literal, such as a column's
//! alias in quotes, means more than its value: then the rows read are found for each statement by itself.

use super::conjunct;
use super::{Condition, Datum, Given, OnDuplicate, Pin, QueryPlan, RowReads, RowWrite};
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::token::{Token, TokenKind};
use crate::tokens::Tokens;
use crate::words::is_in;

/// The longest statement, in bytes.
pub(super) const TEXT_MAX: usize = 2048;
/// The most literals that become parameters.
const VALUES_MAX: usize = 48;

/// Behind these words a literal is only a value.
const WORDS: &[&str] = &["AND", "BETWEEN", "LIMIT", "NOT", "OFFSET", "ON", "OR", "WHERE"];
/// Behind these operators a literal is only a value, too.
const OPERATORS: [&[u8]; 5] = [b"<=", b">=", b"<>", b"!=", b"<=>"];
/// The mark of a literal that is no parameter.
const NO_VALUE: u8 = b'-';
/// The byte behind the statement. It can occur in a statement too, but only within a quoted name.
const TEXT_END: u8 = 0;
/// The byte behind the marks. No statement that can be cut contains it.
const MARKS_END: u8 = 0xFF;

/// A statement's form, and the values of its literals. It can be filled repeatedly, and keeps its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slotted {
    /// The statement with `?` for each literal, [`TEXT_END`], a mark for the kind of each literal, [`MARKS_END`], and the modes and the
    /// schema under which the statement is read.
    form: Vec<u8>,
    /// The marks, until they are put behind the statement.
    marks: Vec<u8>,
    /// The length of the statement within `form`, in bytes.
    text_bytes: usize,
    is_shared: bool,
    /// The literals, in the order of the text.
    pub(super) literals: Vec<Literal>,
    /// The values, in the order of the text. No value is NULL, a parameter or unknown. If [`Slotted::is_shared`], every literal has one.
    pub values: Vec<Datum>,
}

/// A literal of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) token: Token,
    /// It has the sign of a negative number.
    pub(super) is_negative: bool,
    /// It is one of the values.
    pub(super) has_value: bool,
}

impl Slotted {
    /// Returns the common part of two statements that differ only in the values of their literals.
    #[must_use]
    pub fn form(&self) -> &[u8] {
        &self.form
    }

    /// Returns the statement with parameters, which no server ever sees.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.form.get(..self.text_bytes).unwrap_or_default()
    }

    /// Whether the form and the values hold everything that [`row_reads_of`] uses.
    ///
    /// [`row_reads_of`]: super::row_reads_of
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Reads `text` in one pass, where names without a schema are found in `schema`. False if it has no form: it is too long, has
    /// parameters or variables of its own, sets variables in a hint, or cannot be cut into tokens.
    pub fn read(&mut self, text: &[u8], modes: Modes, schema: Option<&str>) -> bool {
        self.read_from(Lexer::new(text, modes), schema)
    }

    /// Returns the same for a text that has already been cut.
    pub fn read_tokens(&mut self, tokens: &Tokens<'_>, schema: Option<&str>) -> bool {
        self.read_from(tokens.walk(), schema)
    }

    fn read_from(&mut self, lexer: Lexer<'_>, schema: Option<&str>) -> bool {
        self.form.clear();
        self.marks.clear();
        self.literals.clear();
        self.values.clear();
        self.is_shared = true;
        let (text, modes) = (lexer.text(), lexer.modes());
        let mut writer = FormWriter { text, modes, end: 0, slotted: self };
        if text.len() > TEXT_MAX || writer.write(lexer).is_none() {
            return false;
        }
        self.text_bytes = self.form.len();
        self.form.push(TEXT_END);
        self.form.append(&mut self.marks);
        self.form.push(MARKS_END);
        self.form.extend(modes.bytes());
        self.form.extend_from_slice(schema.unwrap_or_default().as_bytes());
        true
    }
}

/// Whether a literal behind this token is a value.
fn takes_value(before: Token, text: &[u8]) -> bool {
    match before.kind {
        TokenKind::Punct(punct) => matches!(punct, b'=' | b'<' | b'>' | b'(' | b','),
        TokenKind::Op => OPERATORS.contains(&before.of(text)),
        TokenKind::Word => is_in(before.of(text), WORDS),
        _ => false,
    }
}

/// Whether a sign behind this token belongs to a literal. No server accepts a sign in a number of rows.
fn takes_sign(before: Token, text: &[u8]) -> bool {
    takes_value(before, text) && !before.is_word(text, "LIMIT") && !before.is_word(text, "OFFSET")
}

fn is_negative(sign: Option<Token>) -> bool {
    sign.is_some_and(|sign| sign.is(b'-'))
}

struct FormWriter<'a> {
    text: &'a [u8],
    modes: Modes,
    /// Where the token before ended.
    end: usize,
    slotted: &'a mut Slotted,
}

impl FormWriter<'_> {
    /// Writes the form; None if the text has none.
    fn write(&mut self, mut lexer: Lexer<'_>) -> Option<()> {
        let (mut sign, mut before): (Option<Token>, Option<Token>) = (None, None);
        for token in lexer.by_ref() {
            if token.is_literal() {
                self.literal(sign.take(), token, before);
                before = Some(token);
                continue;
            }
            if let Some(sign) = sign.take() {
                self.copy(sign);
                before = Some(sign);
            }
            match token.kind {
                TokenKind::Unknown | TokenKind::Param | TokenKind::At | TokenKind::AtAt => return None,
                TokenKind::Punct(b'-' | b'+')
                    if before.is_some_and(|before| takes_sign(before, self.text)) =>
                {
                    sign = Some(token);
                    continue;
                }
                // The beginning of a pattern decides whether it says more than the other conditions.
                TokenKind::Word if token.is_word(self.text, "LIKE") => self.slotted.is_shared = false,
                _ => {}
            }
            self.copy(token);
            before = Some(token);
        }
        if let Some(sign) = sign {
            self.copy(sign);
        }
        (!lexer.hint_sets_variable()).then_some(())
    }

    fn copy(&mut self, token: Token) {
        self.gap(token.start);
        self.slotted.form.extend_from_slice(token.of(self.text));
        self.end = token.end;
    }

    fn literal(&mut self, sign: Option<Token>, token: Token, before: Option<Token>) {
        self.gap(sign.unwrap_or(token).start);
        self.slotted.form.push(b'?');
        self.end = token.end;
        let kind = self.value(sign, token, before).unwrap_or(NO_VALUE);
        let has_value = kind != NO_VALUE;
        self.slotted.marks.push(kind);
        self.slotted.literals.push(Literal { token, is_negative: is_negative(sign), has_value });
        self.slotted.is_shared &= has_value;
    }

    /// Notes the value of a literal, and returns its kind; None if the literal is no parameter.
    fn value(&mut self, sign: Option<Token>, token: Token, before: Option<Token>) -> Option<u8> {
        before.filter(|before| takes_value(*before, self.text))?;
        let is_number = matches!(token.kind, TokenKind::Int | TokenKind::Real);
        if self.slotted.values.len() == VALUES_MAX || sign.is_some() && !is_number {
            return None;
        }
        let value = conjunct::value(token.kind, token.of(self.text), is_negative(sign), self.modes)?;
        let kind = match value {
            Datum::Int(_) => b'i',
            Datum::Decimal(_) => b'd',
            Datum::Text(_) => b't',
            Datum::Null
            | Datum::InRow(_)
            | Datum::Double(_)
            | Datum::Moment(_)
            | Datum::Shown(_)
            | Datum::Param(_)
            | Datum::Other => return None,
            Datum::Bytes(_) => b'b',
        };
        self.slotted.values.push(value);
        Some(kind)
    }

    /// Notes a gap between tokens: it decides the meaning of a word before a parenthesis.
    fn gap(&mut self, start: usize) {
        if start > self.end {
            self.slotted.form.push(b' ');
        }
    }
}

impl RowReads {
    /// Returns the reads with values in the places of parameters. A parameter without a value stays.
    #[must_use]
    pub fn with_values(mut self, values: &[Datum]) -> Self {
        for occurrence in &mut self.occurrences {
            let pins = occurrence.alternatives.iter_mut().flatten();
            pins.for_each(|pin| fill(&mut pin.condition, values));
        }
        self
    }
}

impl QueryPlan {
    /// Returns the plan with values in the places of parameters. A parameter without a value stays.
    #[must_use]
    pub fn with_values(mut self, values: &[Datum]) -> Self {
        self.root.each_value(&mut |datum| put(datum, values));
        self
    }
}

impl RowWrite {
    /// Returns the write with values in the places of parameters. A parameter without a value stays.
    #[must_use]
    pub fn with_values(mut self, values: &[Datum]) -> Self {
        let of_pins = |pins: &mut Vec<Pin>| pins.iter_mut().for_each(|pin| fill(&mut pin.condition, values));
        let of_assigned = |assigned: &mut Vec<(String, Datum)>| {
            assigned.iter_mut().for_each(|(_, datum)| put(datum, values));
        };
        match &mut self {
            Self::Insert { rows, .. } => rows.iter_mut().flatten().for_each(|datum| put(datum, values)),
            Self::Upsert { rows, assigned, .. } => {
                rows.iter_mut().flatten().for_each(|datum| put(datum, values));
                assigned.iter_mut().for_each(of_assigned);
            }
            Self::Update { assigned, pins, .. } => {
                of_assigned(assigned);
                of_pins(pins);
            }
            Self::Delete { pins, .. } => of_pins(pins),
            Self::Fill { given, on_duplicate, .. } => {
                for given in given {
                    match given {
                        Given::Value(datum) => put(datum, values),
                        Given::Taken { pins, .. } => of_pins(pins),
                        Given::Other => {}
                    }
                }
                if let OnDuplicate::Updated(assigned) = on_duplicate {
                    of_assigned(assigned);
                }
            }
        }
        self
    }
}

fn put(datum: &mut Datum, values: &[Datum]) {
    if let Datum::Param(number) = datum
        && let Some(value) = values.get(usize::from(*number))
    {
        *datum = value.clone();
    }
}

fn fill(condition: &mut Condition, values: &[Datum]) {
    match condition {
        Condition::OneOf(data) => data.iter_mut().for_each(|datum| put(datum, values)),
        Condition::Between { low, high } => {
            [low, high].into_iter().flatten().for_each(|(datum, _)| put(datum, values));
        }
        Condition::Like(datum) => put(datum, values),
        Condition::IsNull => {}
    }
}
