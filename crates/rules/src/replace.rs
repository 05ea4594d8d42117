//! The replacement of a rule, for the parts that its pattern has found.

use regex::bytes::{Captures, Regex};

/// A `replace_pattern`: text, with `\0` for the whole match and `\1` to `\9` for its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Group(usize),
}

impl Replacement {
    /// Reads a replacement for this pattern.
    ///
    /// # Errors
    /// A backslash before anything but a digit or another backslash, and a group that the pattern does not have.
    pub(crate) fn read(text: &str, pattern: &Regex) -> Result<Self, String> {
        let (mut parts, mut plain) = (Vec::new(), Vec::new());
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'\\' {
                plain.push(byte);
                continue;
            }
            match bytes.next() {
                Some(b'\\') => plain.push(b'\\'),
                Some(digit @ b'0'..=b'9') => {
                    let group = usize::from(digit - b'0');
                    if group >= pattern.captures_len() {
                        return Err(format!(
                            "replace_pattern names \\{group}, which match_pattern does not have"
                        ));
                    }
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(Part::Group(group));
                }
                _ => {
                    return Err("replace_pattern has a backslash that is not before a digit or a backslash"
                        .to_owned());
                }
            }
        }
        parts.push(Part::Text(plain));
        Ok(Self(parts))
    }

    /// Returns the text with the matches of the pattern replaced: the first, or all of them.
    pub(crate) fn apply(&self, pattern: &Regex, text: &[u8], all: bool) -> Vec<u8> {
        let (mut out, mut from) = (Vec::with_capacity(text.len()), 0);
        for found in pattern.captures_iter(text).take(if all { usize::MAX } else { 1 }) {
            let Some(whole) = found.get(0) else { continue };
            out.extend_from_slice(&text[from..whole.start()]);
            self.put(&found, &mut out);
            from = whole.end();
        }
        out.extend_from_slice(&text[from..]);
        out
    }

    fn put(&self, found: &Captures<'_>, out: &mut Vec<u8>) {
        for part in &self.0 {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Group(group) => {
                    out.extend_from_slice(found.get(*group).map_or(&[], |it| it.as_bytes()));
                }
            }
        }
    }
}
