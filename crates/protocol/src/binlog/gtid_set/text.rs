//! The text form of a GTID set.

use std::fmt;

use super::{GNO_MAX, GtidSet};
use crate::binlog::gtid::TAG_LEN_MAX;

/// The text is not a GTID set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidGtid;

impl fmt::Display for InvalidGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a GTID set")
    }
}

impl std::error::Error for InvalidGtid {}

pub(super) fn parse(text: &[u8]) -> Result<GtidSet, InvalidGtid> {
    let text = std::str::from_utf8(text).map_err(|_bytes| InvalidGtid)?;
    let mut set = GtidSet::default();
    for part in text.split(',').map(str::trim) {
        if !part.is_empty() {
            parse_source(part, &mut set)?;
        }
    }
    Ok(set)
}

/// Parses one server: its UUID, then numbers, and tags that hold for the numbers
/// behind them.
fn parse_source(part: &str, set: &mut GtidSet) -> Result<(), InvalidGtid> {
    let mut items = part.split(':').map(str::trim);
    let uuid = parse_uuid(items.next().unwrap_or_default())?;
    let mut tag = String::new();
    let mut numbers = 0;
    for item in items {
        if item.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            tag = parse_tag(item)?;
            continue;
        }
        let (first, last) = parse_range(item)?;
        set.add_range((uuid, tag.clone()), first, last);
        numbers += 1;
    }
    if numbers == 0 {
        return Err(InvalidGtid);
    }
    Ok(())
}

fn parse_uuid(text: &str) -> Result<[u8; 16], InvalidGtid> {
    const DASHES_AT: [usize; 4] = [8, 13, 18, 23];

    let dashed = text.len() == 36;
    let mut uuid = [0; 16];
    let mut digits = 0;
    for (i, byte) in text.bytes().enumerate() {
        if dashed && DASHES_AT.contains(&i) {
            if byte != b'-' {
                return Err(InvalidGtid);
            }
            continue;
        }
        let digit = char::from(byte).to_digit(16).ok_or(InvalidGtid)?;
        let place: &mut u8 = uuid.get_mut(digits / 2).ok_or(InvalidGtid)?;
        // A hexadecimal digit fits in four bits.
        *place = *place << 4 | digit as u8;
        digits += 1;
    }
    if digits == 32 { Ok(uuid) } else { Err(InvalidGtid) }
}

fn parse_tag(text: &str) -> Result<String, InvalidGtid> {
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.len() <= TAG_LEN_MAX && text.chars().all(valid) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(InvalidGtid)
    }
}

fn parse_range(text: &str) -> Result<(u64, u64), InvalidGtid> {
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (parse_number(first)?, parse_number(last)?),
        None => {
            let number = parse_number(text)?;
            (number, number)
        }
    };
    if first <= last { Ok((first, last)) } else { Err(InvalidGtid) }
}

fn parse_number(text: &str) -> Result<u64, InvalidGtid> {
    let number = text.trim().parse().map_err(|_text| InvalidGtid)?;
    if (1..=GNO_MAX).contains(&number) { Ok(number) } else { Err(InvalidGtid) }
}
