//! Blanks and comments, and the comments that are code.
//!
//! `/*! … */` is code to both servers, `/*!50110 … */` if the server has at least that version, and `/*M! … */` is code to MariaDB alone;
//! MariaDB skips the versions that only MySQL has. The exact version is not known here. Up to the oldest supported version the content is
//! certainly code; above it nothing is certain, and the text counts as not understood.

use super::{Lexer, Uncuttable, is_blank, is_word_byte};
use crate::modes::Flavor;

/// Every supported MySQL runs the content of a version comment up to this version.
const MYSQL_RUNS_UP_TO: u32 = 50_700;
/// Every supported MariaDB runs the content up to this version, except `MARIADB_SKIPS`.
const MARIADB_RUNS_UP_TO: u32 = 100_200;
/// MariaDB takes these versions of `/*!` for MySQL's own and skips the content.
const MARIADB_SKIPS: std::ops::RangeInclusive<u32> = 50_700..=99_999;

/// What happens to a version comment.
enum Fate {
    Code { skip: usize },
    Comment,
}

impl Lexer<'_> {
    /// Passes everything up to the next token.
    pub(super) fn skip_blanks_and_comments(&mut self) -> Result<(), Uncuttable> {
        let start = self.at;
        while let Some(byte) = self.byte(0) {
            match byte {
                _ if is_word_byte(byte) => break,
                _ if is_blank(byte) => self.at += 1,
                b'#' => self.skip_line(),
                b'-' if self.at_dash_comment()? => self.skip_line(),
                b'/' if self.byte(1) == Some(b'*') => self.open_comment()?,
                b'*' if self.in_version_comment && self.byte(1) == Some(b'/') => {
                    self.in_version_comment = false;
                    self.at += 2;
                }
                _ => break,
            }
        }
        if self.at > start {
            self.after_dot = false;
        }
        if self.byte(0).is_none() && self.in_version_comment { Err(Uncuttable) } else { Ok(()) }
    }

    /// Whether `--` opens a comment here: only before a blank, a control character or the end. Which bytes beyond ASCII are one of these
    /// depends on the character set.
    fn at_dash_comment(&self) -> Result<bool, Uncuttable> {
        match (self.byte(1), self.byte(2)) {
            (Some(b'-'), Some(0x80..)) => Err(Uncuttable),
            (Some(b'-'), behind) => Ok(behind.is_none_or(|b| b <= b' ' || b == 0x7f)),
            _ => Ok(false),
        }
    }

    fn skip_line(&mut self) {
        self.passed_comment = true;
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn open_comment(&mut self) -> Result<(), Uncuttable> {
        self.passed_comment = true;
        let rest = self.text.get(self.at + 2..).unwrap_or_default();
        let mariadb = self.modes.flavor == Flavor::MariaDb;
        let fate = match rest {
            [b'!', tail @ ..] => self.fate(tail, 1)?,
            [b'M', b'!', tail @ ..] if mariadb => self.fate(tail, 2)?,
            _ => Fate::Comment,
        };
        match fate {
            Fate::Code { .. } if self.in_version_comment => Err(Uncuttable),
            Fate::Code { skip } => {
                self.at += 2 + skip;
                self.in_version_comment = true;
                Ok(())
            }
            Fate::Comment => self.skip_comment(),
        }
    }

    /// Returns what happens to a version comment whose mark of `mark` bytes has just been passed.
    fn fate(&self, tail: &[u8], mark: usize) -> Result<Fate, Uncuttable> {
        let digits = tail.iter().take(6).position(|b| !b.is_ascii_digit()).unwrap_or(tail.len().min(6));
        if digits < 5 {
            return Ok(Fate::Code { skip: mark });
        }
        let version = tail.iter().take(digits).fold(0u32, |sum, &b| sum * 10 + u32::from(b - b'0'));
        let code = Fate::Code { skip: mark + digits };
        match self.modes.flavor {
            Flavor::MySql if version <= MYSQL_RUNS_UP_TO => Ok(code),
            Flavor::MariaDb if mark == 1 && MARIADB_SKIPS.contains(&version) => self.skipped_version(),
            Flavor::MariaDb if version <= MARIADB_RUNS_UP_TO => Ok(code),
            _ => Err(Uncuttable),
        }
    }

    /// Returns the fate of a skipped version comment. It may hold a comment of its own; then its end cannot be told here.
    fn skipped_version(&self) -> Result<Fate, Uncuttable> {
        let rest = self.text.get(self.at + 2..).unwrap_or_default();
        let end = find(rest, b"*/").ok_or(Uncuttable)?;
        let content = rest.get(..end).unwrap_or_default();
        if find(content, b"/*").is_some() { Err(Uncuttable) } else { Ok(Fate::Comment) }
    }

    fn skip_comment(&mut self) -> Result<(), Uncuttable> {
        let rest = self.text.get(self.at + 2..).unwrap_or_default();
        let len = find(rest, b"*/").ok_or(Uncuttable)?;
        let content = rest.get(..len).unwrap_or_default();
        if content.first() == Some(&b'+') && contains_ignoring_case(content, b"set_var") {
            self.hint_sets_variable = true;
        }
        self.at += 2 + len + 2;
        Ok(())
    }
}

/// Returns where `needle` first stands in `text`.
pub(crate) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, needle)
}

/// Whether `needle` stands anywhere in `text`, in any case.
#[must_use]
pub fn contains_ignoring_case(text: &[u8], needle: &[u8]) -> bool {
    places(text, needle).next().is_some()
}

/// Whether a name stands in `text` where it does not continue another name, as insert_id does in LAST_INSERT_ID().
pub(crate) fn contains_name(text: &[u8], name: &[u8]) -> bool {
    let continues = |at: usize| at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(is_in_name);
    places(text, name).any(|at| !continues(at))
}

const fn is_in_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// Bytes that are rare in statements.
const RARE: [bool; 256] = {
    let mut rare = [false; 256];
    let (bytes, mut at) = (b"_jkqvxzJKQVXZ", 0);
    while at < bytes.len() {
        rare[bytes[at] as usize] = true;
        at += 1;
    }
    rare
};

/// Returns the places of `needle`, without regard to case. The search goes by its first byte that is rare in statements.
fn places(text: &[u8], needle: &[u8]) -> impl Iterator<Item = usize> {
    let before = needle.iter().position(|byte| RARE[usize::from(*byte)]).unwrap_or_default();
    let rare = needle.get(before).copied().unwrap_or_default();
    let found = memchr::memchr2_iter(rare.to_ascii_lowercase(), rare.to_ascii_uppercase(), text);
    found.filter_map(move |at| {
        let start = at.checked_sub(before)?;
        let window = text.get(start..start + needle.len())?;
        window.eq_ignore_ascii_case(needle).then_some(start)
    })
}
