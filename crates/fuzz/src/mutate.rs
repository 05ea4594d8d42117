//! New inputs out of old ones.

use crate::random::Random;

/// The longest input, bytes.
pub const INPUT_BYTES_MAX: usize = 16 << 10;
/// The most changes that one input is away from the one it was made of.
const CHANGES_MAX: usize = 6;
/// Numbers at the edges of what fields can hold.
const EDGES: [u64; 12] = [0, 1, 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFF, 0x7FFF, 0xFFFF, 0xFF_FFFF, u64::MAX];

/// Returns a changed copy of `input`; `other` gives pieces.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8], is_text: bool) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..=random.below(CHANGES_MAX) {
        if is_text && random.chance(70) {
            change_words(random, &mut out, other);
        } else {
            change_bytes(random, &mut out, other);
        }
    }
    out.truncate(INPUT_BYTES_MAX);
    out
}

/// Returns a place and a length within `len` bytes; short ones more often.
fn span(random: &mut Random, len: usize) -> (usize, usize) {
    let at = random.below(len + 1);
    let most = if random.chance(80) { 16 } else { len };
    (at, random.below((len - at).min(most) + 1))
}

fn change_bytes(random: &mut Random, out: &mut Vec<u8>, other: &[u8]) {
    let len = out.len();
    match random.below(9) {
        0 if len > 0 => {
            let at = random.below(len);
            out[at] = random.byte();
        }
        1 if len > 0 => {
            let at = random.below(len);
            out[at] ^= 1 << random.below(8);
        }
        2 => {
            let (at, count) = span(random, len);
            out.drain(at..at + count);
        }
        3 => {
            let at = random.below(len + 1);
            let byte = random.byte();
            out.splice(at..at, std::iter::repeat_n(byte, 1 + random.below(8)));
        }
        4 => {
            let (from, count) = span(random, len);
            let piece = out[from..from + count].to_vec();
            let at = random.below(len + 1);
            out.splice(at..at, piece);
        }
        5 => {
            let (from, count) = span(random, other.len());
            let (at, gone) = span(random, len);
            out.splice(at..at + gone, other[from..from + count].iter().copied());
        }
        6 => {
            let width = [1, 2, 3, 4, 8][random.below(5)];
            let value = *random.pick(&EDGES);
            let at = random.below(len + 1);
            let end = (at + width).min(len);
            out.splice(at..end, value.to_le_bytes()[..width].iter().copied());
        }
        7 => out.truncate(random.below(len + 1)),
        _ if len > 0 => {
            let at = random.below(len);
            out[at] = out[at].wrapping_add(if random.chance(50) { 1 } else { 255 });
        }
        _ => out.push(random.byte()),
    }
}

/// Cuts a text into words and single characters, blanks with what stands before them.
pub fn words(text: &[u8]) -> Vec<&[u8]> {
    let class = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => 0,
        b' ' | b'\t' | b'\n' => 1,
        _ => 2,
    };
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let kind = class(first);
        let len = match kind {
            2 => 1,
            _ => rest.iter().position(|&byte| class(byte) != kind).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(len);
        out.push(word);
        rest = after;
    }
    out
}

fn change_words(random: &mut Random, out: &mut Vec<u8>, other: &[u8]) {
    let own = out.clone();
    let mut parts = words(&own);
    let others = words(other);
    let len = parts.len();
    if len == 0 {
        return out.extend_from_slice(other);
    }
    match random.below(7) {
        0 => parts.swap(random.below(len), random.below(len)),
        1 => drop(parts.remove(random.below(len))),
        2 => {
            let (at, count) = span(random, len);
            parts.drain(at..at + count);
        }
        3 => {
            let (from, count) = span(random, len);
            let piece = parts[from..from + count].to_vec();
            let at = random.below(len + 1);
            parts.splice(at..at, piece);
        }
        4 if !others.is_empty() => {
            let (from, count) = span(random, others.len());
            let at = random.below(len + 1);
            parts.splice(at..at, others[from..from + count].iter().copied());
        }
        5 if !others.is_empty() => {
            let at = random.below(len);
            parts[at] = others[random.below(others.len())];
        }
        _ => {
            let at = random.below(len + 1);
            parts.insert(at, WORDS[random.below(WORDS.len())].as_bytes());
        }
    }
    *out = parts.concat();
}

/// Words and marks that decide much.
const WORDS: [&str; 64] = [
    " ",
    "(",
    ")",
    ",",
    ";",
    "'",
    "\"",
    "`",
    "/*",
    "*/",
    "/*!",
    "/*!50000 ",
    "/*M! ",
    "-- ",
    "#",
    "\n",
    "\\",
    "@",
    "@@",
    "?",
    ".",
    "=",
    " AND ",
    " OR ",
    " NOT ",
    " SELECT ",
    " FROM ",
    " WHERE ",
    " JOIN ",
    " LEFT JOIN ",
    " ON ",
    " IN (",
    " UNION ",
    " WITH ",
    " AS ",
    " INTO ",
    " UPDATE ",
    " DELETE ",
    " INSERT ",
    " SET ",
    " CALL ",
    " f(",
    " BEGIN ",
    " END ",
    " CASE ",
    " WHEN ",
    " EXISTS (",
    " LIMIT 1",
    " FOR UPDATE",
    " LOCK IN SHARE MODE",
    " NULL ",
    " 1 ",
    " 'x' ",
    " SQL_NO_CACHE ",
    " EXPLAIN ",
    " ANALYZE ",
    " PREPARE ",
    " EXECUTE ",
    " TABLE ",
    " VALUES ",
    " REPLACE ",
    " || ",
    " BETWEEN ",
    " :=",
];
