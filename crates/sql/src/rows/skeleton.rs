//! Statements that differ only in plain literals, told apart without being cut into tokens.
//!
//! A *skeleton* is a text with a mark for each plain literal: an integer, or a string in single quotes. Everything else stays as it is,
//! blanks too. The content of a plain literal changes nothing about the tokens around it, so all texts of a skeleton have the same tokens
//! but for these contents. What was found out about one text, and follows from its form, holds for the next text of its skeleton: only the
//! values are to be taken from their places.
//!
//! A text has no skeleton if a byte of it could mean different things in different places or modes: comments, double quotes, backslashes,
//! bytes beyond ASCII. Such a text is read in full.

use super::Datum;
use super::conjunct;
use super::slots::{Literal, Slotted, TEXT_MAX};
use crate::modes::Modes;
use crate::token::TokenKind;

/// The most digits of a plain integer: any such number has the same kind of value.
const DIGITS_MAX: usize = 18;
/// The marks of literals, which no skeleton's text contains.
const INT: u8 = 1;
const TEXT: u8 = 2;
/// The byte behind the text.
const END: u8 = 0;

/// What a byte may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    /// A byte that stays, whatever comes next.
    Plain,
    /// A word.
    Word,
    /// A number, or a name that begins with digits.
    Digit,
    /// A string.
    Quote,
    /// A name in backticks.
    Name,
    /// A comment, if the same byte comes next.
    Dash,
    /// A comment, if an asterisk comes next.
    Slash,
    /// Anything that is read in full.
    Odd,
}

static CLASSES: [ByteClass; 256] = {
    let (mut classes, mut at) = ([ByteClass::Odd; 256], 0);
    while at < 256 {
        let byte = at as u8;
        classes[at] = match byte {
            b'0'..=b'9' => ByteClass::Digit,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => ByteClass::Word,
            b'\'' => ByteClass::Quote,
            b'`' => ByteClass::Name,
            b'-' => ByteClass::Dash,
            b'/' => ByteClass::Slash,
            b'"' | b'#' | b'?' | b'@' | b'\\' => ByteClass::Odd,
            b'\t' | b'\n' | b'\r' | b' '..=b'~' => ByteClass::Plain,
            _ => ByteClass::Odd,
        };
        at += 1;
    }
    classes
};

fn class(byte: u8) -> ByteClass {
    CLASSES[usize::from(byte)]
}

/// A text's skeleton, and where its plain literals are. It can be filled repeatedly, and keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Skeleton {
    /// The text with its marks, [`END`], and the modes and the schema under which the text is read.
    key: Vec<u8>,
    /// The kind of each literal, and where it begins and ends.
    literals: Vec<(u8, usize, usize)>,
}

impl Skeleton {
    /// The longest text that has a skeleton, in bytes.
    pub const TEXT_BYTES_MAX: usize = TEXT_MAX;

    /// Returns the common part of two texts of one skeleton.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the text without its plain literals: a mark stands for each.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        let end = self.key.iter().position(|byte| *byte == END).unwrap_or(self.key.len());
        self.key.get(..end).unwrap_or_default()
    }

    /// Reads `text` in one pass, where names without a schema are found in `schema`. False if it has no skeleton.
    pub fn read(&mut self, text: &[u8], modes: Modes, schema: Option<&str>) -> bool {
        self.key.clear();
        self.literals.clear();
        if text.len() > TEXT_MAX || self.write(text).is_none() {
            return false;
        }
        self.key.push(END);
        self.key.extend(modes.bytes());
        self.key.extend_from_slice(schema.unwrap_or_default().as_bytes());
        true
    }

    fn write(&mut self, text: &[u8]) -> Option<()> {
        let (mut at, mut written) = (0, 0);
        while let Some(byte) = text.get(at) {
            let (kind, length) = match class(*byte) {
                ByteClass::Plain => {
                    at += 1;
                    continue;
                }
                ByteClass::Word => {
                    at += 1;
                    while text.get(at).is_some_and(|next| is_word(*next)) {
                        at += 1;
                    }
                    continue;
                }
                class => Self::cut(class, text, at)?,
            };
            if let Some(kind) = kind {
                self.key.extend_from_slice(text.get(written..at).unwrap_or_default());
                self.key.push(kind);
                written = at + length;
                self.literals.push((kind, at, written));
            }
            at += length;
        }
        self.key.extend_from_slice(text.get(written..).unwrap_or_default());
        Some(())
    }

    /// Returns the length of what begins at this byte, and its kind, if it is a literal; `None` if it is read in full.
    fn cut(class: ByteClass, text: &[u8], at: usize) -> Option<(Option<u8>, usize)> {
        let rest = text.get(at..)?;
        let next = rest.get(1).copied();
        match class {
            ByteClass::Digit => {
                let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
                Some((Some(INT), number_len(rest).filter(|_| before != Some(b'.'))?))
            }
            ByteClass::Quote => Some((Some(TEXT), quoted_len(rest)?)),
            ByteClass::Name => Some((None, quoted_len(rest)?)),
            ByteClass::Dash => (next != Some(b'-')).then_some((None, 1)),
            ByteClass::Slash => (next != Some(b'*')).then_some((None, 1)),
            ByteClass::Plain | ByteClass::Word | ByteClass::Odd => None,
        }
    }

    /// Returns the values of the text, in their order, from these places; `None` if one of them is not as it was in the first text.
    #[must_use]
    pub fn values(&self, text: &[u8], modes: Modes, Places(places): &Places) -> Option<Vec<Datum>> {
        let mut values = Vec::with_capacity(places.len());
        for place in places {
            let (_, start, end) = *self.literals.get(place.at)?;
            let value = conjunct::value(place.kind, text.get(start..end)?, place.is_negative, modes);
            values.push(value.filter(|value| place.is_like(value))?);
        }
        Some(values)
    }
}

/// Where the values of the texts of a skeleton are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places(Box<[ValuePlace]>);

impl Places {
    /// Returns how many bytes this takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// Where one value is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ValuePlace {
    /// The number of the literal in its text.
    at: usize,
    kind: TokenKind,
    is_negative: bool,
}

impl ValuePlace {
    fn is_like(&self, value: &Datum) -> bool {
        matches!((self.kind, value), (TokenKind::Int, Datum::Int(_)) | (TokenKind::Str, Datum::Text(_)))
    }
}

impl Slotted {
    /// Returns where the texts of a skeleton have the values that this text of the skeleton has; `None` if the skeleton does not tell all of
    /// them. All texts of the skeleton whose values [are there](Skeleton::values) have the same form.
    #[must_use]
    pub fn places(&self, text: &[u8], modes: Modes, skeleton: &Skeleton) -> Option<Places> {
        if self.literals.len() != skeleton.literals.len() {
            return None;
        }
        let mut places = Vec::with_capacity(self.values.len());
        for (at, (own, (kind, start, end))) in self.literals.iter().zip(&skeleton.literals).enumerate() {
            let Literal { token, is_negative, has_value } = *own;
            let expected = if *kind == INT { TokenKind::Int } else { TokenKind::Str };
            if (token.kind, token.start, token.end) != (expected, *start, *end) {
                return None;
            }
            let place = ValuePlace { at, kind: token.kind, is_negative };
            match conjunct::value(token.kind, token.of(text), is_negative, modes) {
                Some(value) if has_value && place.is_like(&value) => places.push(place),
                // What stands there is no value, whatever it is.
                Some(_) if !has_value => {}
                // Another content might be a value.
                _ => return None,
            }
        }
        Some(Places(places.into()))
    }
}

/// Whether a byte goes on with a word.
fn is_word(byte: u8) -> bool {
    matches!(class(byte), ByteClass::Word | ByteClass::Digit)
}

/// Returns the length of the integer that the text begins with; `None` for any other number, or a name that begins with digits.
fn number_len(text: &[u8]) -> Option<usize> {
    let length = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let ends = text.get(length).is_none_or(|next| *next != b'.' && class(*next) != ByteClass::Word);
    (ends && length <= DIGITS_MAX).then_some(length)
}

/// Returns the length of the string or name that the text begins with, with its quotes. `None` if it contains a quote or a byte that is
/// read in full, or is not closed.
fn quoted_len(text: &[u8]) -> Option<usize> {
    let (quote, body) = text.split_first()?;
    let end = body.iter().position(|byte| byte == quote || *byte == b'\\' || !matches!(byte, b' '..=b'~'))?;
    let is_closed = body.get(end) == Some(quote) && body.get(end + 1) != Some(quote);
    is_closed.then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::modes::Flavor;
    use crate::multi_byte::MultiByte;

    /// Reads the first text in full, and returns the values and the form of the second one as its skeleton tells them.
    fn by_skeleton(first: &str, second: &str, modes: Modes) -> Option<(Vec<Datum>, Vec<u8>)> {
        let (mut slotted, mut skeleton, mut other) =
            (Slotted::default(), Skeleton::default(), Skeleton::default());
        let has_form = slotted.read(first.as_bytes(), modes, Some("s"));
        let have_skeletons = skeleton.read(first.as_bytes(), modes, Some("s"))
            && other.read(second.as_bytes(), modes, Some("s"));
        if !has_form || !have_skeletons || skeleton.key() != other.key() {
            return None;
        }
        let places = slotted.places(first.as_bytes(), modes, &skeleton)?;
        let values = other.values(second.as_bytes(), modes, &places)?;
        Some((values, slotted.form().to_vec()))
    }

    fn in_full(text: &str, modes: Modes) -> (Vec<Datum>, Vec<u8>) {
        let mut slotted = Slotted::default();
        assert!(slotted.read(text.as_bytes(), modes, Some("s")), "{text}");
        (slotted.values.clone(), slotted.form().to_vec())
    }

    #[test]
    fn the_next_text_of_a_skeleton_needs_no_cut() {
        let modes = Modes::new(Flavor::MySql);
        for (first, second) in [
            ("SELECT c FROM t1 WHERE id=5", "SELECT c FROM t1 WHERE id=123456789012345678"),
            ("SELECT c FROM `t 1` WHERE a = 'x' AND b = -7", "SELECT c FROM `t 1` WHERE a = '' AND b = -70"),
            ("SELECT 1, 'a' FROM t LIMIT 3", "SELECT 2, 'bc' FROM t LIMIT 4"),
            ("SELECT a FROM t WHERE b IN (1, '2', 3)", "SELECT a FROM t WHERE b IN (10, '20', 30)"),
            ("UPDATE t SET a = 'x' WHERE id = 1", "UPDATE t SET a = 'y' WHERE id = 2"),
            ("SELECT a FROM t WHERE b LIKE 'x%' AND c = 1", "SELECT a FROM t WHERE b LIKE 'y%' AND c = 2"),
            ("SELECT n-1 FROM t WHERE a = 5 / 2", "SELECT n-2 FROM t WHERE a = 6 / 3"),
        ] {
            assert_eq!(by_skeleton(first, second, modes), Some(in_full(second, modes)), "{second}");
        }
    }

    #[test]
    fn what_may_mean_something_else_is_read_in_full() {
        let modes = Modes::new(Flavor::MySql);
        for text in [
            "SELECT \"1\"",
            "SELECT 1 /* 2 */",
            "SELECT 1 -- 2",
            "SELECT 1 # 2",
            "SELECT 'it''s'",
            "SELECT 'a\\b'",
            "SELECT 'é'",
            "SELECT 1.5",
            "SELECT .5",
            "SELECT 1e5",
            "SELECT 0x1F",
            "SELECT 1234567890123456789",
            "SELECT a FROM 2t",
            "SELECT a FROM t.2t",
            "SELECT @a",
            "SELECT ?",
            "SELECT 'a",
            "SELECT `a",
        ] {
            assert!(!Skeleton::default().read(text.as_bytes(), modes, None), "{text}");
        }
        for (first, second) in [
            ("SELECT a FROM t WHERE b = n'a'", "SELECT a FROM t WHERE b = n'b'"),
            ("SELECT a FROM t WHERE b = x'12'", "SELECT a FROM t WHERE b = x'34'"),
            ("SELECT a FROM t WHERE b = b'10'", "SELECT a FROM t WHERE b = b'11'"),
        ] {
            assert_eq!(by_skeleton(first, second, modes), None, "{first}");
        }
        let empty = Modes { empty_string_is_null: true, ..modes };
        let (one, other) = ("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = ''");
        assert_eq!(by_skeleton(one, other, empty), None);
        assert_eq!(by_skeleton(other, one, empty), None);
    }

    /// Pieces that texts are made of, and that go well or badly together.
    const PIECES: &[&str] = &[
        "SELECT", "a", "t1", "FROM", "WHERE", "=", "<", "(", ")", ",", ".", "-", "+", "*", "/", "IN", "AND",
        "LIMIT", "LIKE", "INTERVAL", "`n 1`", "e", "x", "n", "_utf8", ";", "||", "!=", " ", "\n", "{d", "}",
        ":", "AS", "N", "b", "!", "$", "\t", "~", "%", "&", "|", ">",
    ];

    fn text_of(pieces: &[(usize, u32, u8)], values: u32) -> String {
        let mut text = String::new();
        for (piece, value, how) in pieces {
            let value = value.wrapping_mul(values) % 1000;
            match how % 6 {
                0 => text.push_str(&value.to_string()),
                1 => text.push_str(&format!("'{}'", ["", "a", "1", "x y", "%"][value as usize % 5])),
                2 => text.push_str(PIECES[piece % PIECES.len()]),
                _ => text.push_str(&format!("{} ", PIECES[piece % PIECES.len()])),
            }
        }
        text
    }

    /// Texts in two variants, with other values in the same places.
    fn pairs() -> impl Strategy<Value = (String, String)> {
        let pieces = proptest::collection::vec((any::<usize>(), any::<u32>(), any::<u8>()), 1..24);
        pieces.prop_map(|pieces| (text_of(&pieces, 1), text_of(&pieces, 7919)))
    }

    fn all_modes() -> impl Strategy<Value = Modes> {
        any::<[bool; 5]>().prop_map(|[flavor, ansi_quotes, empty_string_is_null, backslashes, multi_byte]| {
            Modes {
                ansi_quotes,
                empty_string_is_null,
                no_backslash_escapes: !backslashes,
                multi_byte: multi_byte.then_some(MultiByte::Gbk),
                ..Modes::new(if flavor { Flavor::MySql } else { Flavor::MariaDb })
            }
        })
    }

    #[test]
    fn a_skeleton_tells_what_a_full_reading_tells() {
        const PAIRS: u32 = 20_000;
        let told = std::cell::Cell::new(0);
        let run = TestRunner::new(ProptestConfig::with_cases(PAIRS)).run(
            &(pairs(), all_modes()),
            |((first, second), modes)| {
                if let Some(by_skeleton) = by_skeleton(&first, &second, modes) {
                    told.set(told.get() + 1);
                    prop_assert_eq!(by_skeleton, in_full(&second, modes), "{} as {}", second, first);
                }
                Ok(())
            },
        );
        run.unwrap();
        assert!(told.get() > PAIRS / 20, "only {} pairs were told by their skeletons", told.get());
    }

    #[test]
    fn more_values_than_a_form_has_and_the_longest_numbers_are_told_alike() {
        let modes = Modes::new(Flavor::MySql);
        let list = |value: &str, count: usize| {
            format!("SELECT a FROM t WHERE b IN ({}) AND c = 'x' LIMIT 3", vec![value; count].join(", "))
        };
        for count in [47, 48, 49, 60] {
            let (first, second) = (list("1", count), list("999999999999999999", count));
            assert_eq!(by_skeleton(&first, &second, modes), Some(in_full(&second, modes)), "{count}");
        }
    }
}
