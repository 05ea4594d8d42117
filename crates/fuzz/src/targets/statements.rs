//! Real statements, out of the tests of the crate that reads them.

use freshet_sql::{Flavor, Modes};

/// Sources whose string literals are statements, or pieces of such.
const SOURCES: [&str; 15] = [
    include_str!("../../../sql/src/analysis/tests.rs"),
    include_str!("../../../sql/src/effects/tests.rs"),
    include_str!("../../../sql/src/binlog/tests.rs"),
    include_str!("../../../sql/src/body/tests.rs"),
    include_str!("../../../sql/src/kill/tests.rs"),
    include_str!("../../../sql/src/ours/tests.rs"),
    include_str!("../../../sql/src/reads/tests.rs"),
    include_str!("../../../sql/src/request/tests.rs"),
    include_str!("../../../sql/src/shape/tests.rs"),
    include_str!("../../../sql/src/key/tests.rs"),
    include_str!("../../../sql/src/rows/tests/reads.rs"),
    include_str!("../../../sql/src/rows/tests/writes.rs"),
    include_str!("../../../sql/src/rows/tests/views.rs"),
    include_str!("../../../sql/src/rows/tests/derived.rs"),
    include_str!("../../../sql/src/rows/tests/hostile.rs"),
];
/// Shorter literals are no statements.
const STATEMENT_BYTES_MIN: usize = 6;

/// The modes in one byte, then the text.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = SOURCES.iter().flat_map(|source| literals(source));
    texts.enumerate().map(|(at, text)| [&[at as u8 % 2], text.as_bytes()].concat()).collect()
}

/// Returns the string literals of a Rust source.
fn literals(source: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // A character, which may be a quote; a lifetime has no second quote.
            '\'' => drop(chars.next_if_eq(&'"')),
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|c| *c != '\n').is_some() {},
            '"' => {
                let text = literal(&mut chars);
                if text.len() >= STATEMENT_BYTES_MIN {
                    out.push(text);
                }
            }
            _ => {}
        }
    }
    out
}

/// Returns the rest of a literal whose first quote has been taken.
fn literal(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('0') => text.push('\0'),
                Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                Some(other) => text.push(other),
                None => break,
            },
            other => text.push(other),
        }
    }
    text
}

/// Returns the modes that the first byte stands for, and the text behind it.
pub fn modes_and_text(input: &[u8]) -> (Modes, &[u8]) {
    let (byte, text) = input.split_first().map_or((0, input), |(byte, text)| (*byte, text));
    let flavor = if byte & 1 == 0 { Flavor::MySql } else { Flavor::MariaDb };
    let modes = Modes {
        ansi_quotes: byte & 2 != 0,
        no_backslash_escapes: byte & 4 != 0,
        pipes_as_concat: byte & 8 != 0,
        ignore_space: byte & 16 != 0,
        empty_string_is_null: byte & 32 != 0,
        ..Modes::new(flavor)
    };
    (modes, text)
}
