//! The weights of characters, as the servers define them.
//!
//! A file has one line for each weight, in ascending order, with the characters of this weight: `eEèé`. The least weight is the blank's,
//! which has no line. The last lines are the characters with several weights, each with a character for each weight: `æÆ = ae`.
//!
//! A character that is in no file has no weight here: characters that do not count or count as a blank, characters whose weight changes
//! beside certain others (a middle dot behind an `l`), and characters that the two servers weigh differently. Ideographs and Hangul
//! syllables are in no file either: each is equal to itself alone, and they sort behind all others in the order of their codes.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// `general_ci`: one weight for each character.
pub(super) static GENERAL: LazyLock<Weights> = LazyLock::new(|| Weights::read(include_str!("general.txt")));
/// `unicode_ci`: Unicode's collation algorithm, version 4.0.
pub(super) static UNICODE: LazyLock<Weights> = LazyLock::new(|| Weights::read(include_str!("unicode.txt")));
/// `unicode_520_ci`: version 5.2.
pub(super) static UNICODE_520: LazyLock<Weights> =
    LazyLock::new(|| Weights::read(include_str!("unicode_520.txt")));
/// `uca1400_ai_ci` and `0900_ai_ci`: versions 14 and 9, as far as they agree.
pub(super) static UCA1400: LazyLock<Weights> = LazyLock::new(|| Weights::read(include_str!("uca1400.txt")));

const IDEOGRAPHS: RangeInclusive<char> = '\u{4E00}'..='\u{9FFF}';
const SYLLABLES: RangeInclusive<char> = '\u{AC00}'..='\u{D7A3}';

/// Ideographs and syllables sort behind this byte.
const BEHIND_LETTERS: u8 = 0xFF;
/// For sorting, the servers keep two bytes of each weight, and two weights of each ideograph or syllable.
const WEIGHTS_OF_RULE: usize = 2;
/// A text with more weights may be cut for sorting: the servers keep 1,024 bytes.
const WEIGHTS_MAX: usize = 510;
/// Stands for no code and for no form.
const NONE: u8 = 0;

/// How a collation sorts Hangul syllables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Syllables {
    /// By their codes.
    Sorted,
    /// The order is not known.
    Unsorted,
}

/// What is known of a character.
struct Form {
    /// Its weights, each as the first character that has it.
    equal: String,
    /// Its weights as bytes, which sort as the weights do. No weight's bytes begin another's.
    sorted: Vec<u8>,
}

impl Form {
    fn weights(&self) -> usize {
        self.equal.chars().count()
    }
}

/// The weights of one family of collations.
pub(super) struct Weights {
    /// The byte of each character of ASCII.
    plain: [u8; 128],
    /// For each code the number of its form, from 1.
    numbers: Vec<u16>,
    forms: Vec<Form>,
}

impl Weights {
    fn read(file: &str) -> Self {
        let mut weights = Self { plain: [NONE; 128], numbers: Vec::new(), forms: Vec::new() };
        let mut codes = Codes { first: NONE, second: None };
        for line in std::iter::once(" ").chain(file.lines()) {
            match line.split_once(" = ") {
                Some((members, of)) => weights.add_expansion(members, of),
                None => weights.add_weight(line, &mut codes),
            }
        }
        weights
    }

    fn add_weight(&mut self, members: &str, codes: &mut Codes) {
        let Some(equal) = members.chars().next() else { return };
        let sorted = codes.next(equal.is_ascii());
        for byte in members.bytes().filter(u8::is_ascii) {
            self.plain[usize::from(byte)] = sorted[0];
        }
        self.add(members, Form { equal: equal.into(), sorted });
    }

    fn add_expansion(&mut self, members: &str, of: &str) {
        let sorted =
            of.chars().filter_map(|char| self.form(char)).flat_map(|form| form.sorted.clone()).collect();
        self.add(members, Form { equal: of.into(), sorted });
    }

    fn add(&mut self, members: &str, form: Form) {
        self.forms.push(form);
        let number = u16::try_from(self.forms.len()).unwrap_or_default();
        for at in members.chars().filter_map(place) {
            self.numbers.resize(self.numbers.len().max(at + 1), 0);
            self.numbers[at] = number;
        }
    }

    fn form(&self, char: char) -> Option<&Form> {
        let number = *self.numbers.get(place(char)?)?;
        self.forms.get(usize::from(number.checked_sub(1)?))
    }

    /// Whether each character of a text has one weight.
    pub(super) fn are_single(&self, text: &[u8]) -> bool {
        let is_single = |char| self.form(char).is_none_or(|form| form.weights() == 1);
        std::str::from_utf8(text).is_ok_and(|text| text.chars().all(is_single))
    }

    /// Returns a form that is the same for equal texts.
    pub(super) fn equal(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut equal = String::with_capacity(text.len());
        for char in std::str::from_utf8(text).ok()?.chars() {
            match self.form(char) {
                Some(form) => equal.push_str(&form.equal),
                None if is_by_rule(char) => equal.push(char),
                None => return None,
            }
        }
        Some(equal.into_bytes())
    }

    /// Returns a form that sorts as the texts do. Each text is printable ASCII or not.
    pub(super) fn sorted(&self, text: &[u8], syllables: Syllables) -> Option<Vec<u8>> {
        let mut sorted = Vec::with_capacity(text.len());
        let mut weights = 0;
        for char in std::str::from_utf8(text).ok()?.chars() {
            match self.form(char) {
                Some(form) => {
                    sorted.extend_from_slice(&form.sorted);
                    weights += form.weights();
                }
                None if SYLLABLES.contains(&char) && syllables == Syllables::Unsorted => return None,
                None if is_by_rule(char) => {
                    let code = u16::try_from(u32::from(char)).ok()?;
                    sorted.push(BEHIND_LETTERS);
                    sorted.extend(code.to_be_bytes());
                    weights += WEIGHTS_OF_RULE;
                }
                None => return None,
            }
        }
        (weights <= WEIGHTS_MAX).then_some(sorted)
    }

    /// Returns such a form for printable ASCII alone.
    pub(super) fn sorted_plain(&self, text: &[u8]) -> Option<Vec<u8>> {
        let code = |byte: &u8| self.plain.get(usize::from(*byte)).copied().filter(|code| *code != NONE);
        text.iter().map(code).collect()
    }
}

/// Whether a character has no line and is nevertheless known.
fn is_by_rule(char: char) -> bool {
    IDEOGRAPHS.contains(&char) || SYLLABLES.contains(&char)
}

fn place(char: char) -> Option<usize> {
    usize::try_from(u32::from(char)).ok()
}

/// Ascending codes: one byte for a weight of an ASCII character, two for any other.
struct Codes {
    first: u8,
    /// The second byte of the last code, if it has two.
    second: Option<u8>,
}

impl Codes {
    fn next(&mut self, is_short: bool) -> Vec<u8> {
        match self.second.and_then(|second| second.checked_add(1)).filter(|_| !is_short) {
            Some(second) => self.second = Some(second),
            None => {
                self.first += 1;
                self.second = (!is_short).then_some(0);
            }
        }
        std::iter::once(self.first).chain(self.second).collect()
    }
}
