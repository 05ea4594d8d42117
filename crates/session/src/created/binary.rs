//! Rows of answers to executions: the binary form of what a row of the text protocol shows.

use freshet_protocol::HEADER_LEN;
use freshet_views::Kind;

/// The type of a column, from its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColumnType(u8);

/// The byte that means NULL in a row of the text protocol.
const NULL: u8 = 0xFB;
/// The first bits of a row's NULL map belong to no column.
const MAP_OFFSET: usize = 2;
/// The length of a column definition's end: a length, a character set, a length, the type, flags, digits, and two filler bytes.
const ENDING_BYTES: usize = 13;
const TYPE_AT: usize = 7;

impl ColumnType {
    /// Returns the type of a column, from its definition packet.
    pub(super) fn of(definition: &[u8]) -> Option<Self> {
        let ending: &[u8; ENDING_BYTES] = definition.get(HEADER_LEN..)?.last_chunk()?;
        Some(Self(ending[TYPE_AT]))
    }

    /// Puts a value in the binary form; `None` if that form is unknown.
    fn put(self, shown: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self.0 {
            // TINYINT; SMALLINT and YEAR; INT and MEDIUMINT; BIGINT.
            1 => out.extend_from_slice(&number(shown)?[..1]),
            2 | 13 => out.extend_from_slice(&number(shown)?[..2]),
            3 | 9 => out.extend_from_slice(&number(shown)?[..4]),
            8 => out.extend_from_slice(&number(shown)?),
            // TIMESTAMP, DATE and DATETIME.
            7 | 10 | 12 => put_moment(shown, out)?,
            // TIME.
            11 => put_time(shown, out)?,
            // DECIMAL, BIT, ENUM, SET, BLOB and texts.
            0 | 15 | 16 | 246..=254 => put_bytes(shown, out),
            _ => return None,
        }
        Some(())
    }
}

/// Returns an integer of any width, the low bytes first.
fn number(shown: &[u8]) -> Option<[u8; 8]> {
    let number: i128 = std::str::from_utf8(shown).ok()?.parse().ok()?;
    number.to_le_bytes().first_chunk().copied()
}

/// Puts `YYYY-MM-DD`, and after it a time if there is one: as short as possible.
fn put_moment(shown: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let shown = std::str::from_utf8(shown).ok()?;
    let part = |at: std::ops::Range<usize>| shown.get(at)?.parse::<u8>().ok();
    let year: u16 = shown.get(..4)?.parse().ok()?;
    let [low, high] = year.to_le_bytes();
    let day = [low, high, part(5..7)?, part(8..10)?];
    let time = match shown.len() {
        10 => [0; 3],
        _ => [part(11..13)?, part(14..16)?, part(17..19)?],
    };
    let fraction = shown.get(20..).unwrap_or_default();
    let micros: u32 = if fraction.is_empty() { 0 } else { format!("{fraction:0<6}").parse().ok()? };
    let length = match (micros, time) {
        (0, [0, 0, 0]) => 4,
        (0, _) => 7,
        _ => 11,
    };
    let all = [&day[..], &time, &micros.to_le_bytes()].concat();
    out.push(length);
    out.extend_from_slice(all.get(..usize::from(length))?);
    Some(())
}

/// Puts a time: as short as possible.
fn put_time(shown: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let number = Kind::Time(0).parse(shown)?;
    let all = u64::try_from(number.abs()).ok()?;
    let (seconds, micros) = (all / 1_000_000, u32::try_from(all % 1_000_000).ok()?);
    let days = u32::try_from(seconds / 86_400).ok()?.to_le_bytes();
    let part = |of: u64| u8::try_from(of).ok();
    let time = [part(seconds / 3600 % 24)?, part(seconds / 60 % 60)?, part(seconds % 60)?];
    let all = [&[u8::from(number < 0)][..], &days, &time, &micros.to_le_bytes()].concat();
    let length = match (seconds, micros) {
        (0, 0) => 0,
        (_, 0) => 8,
        _ => 12,
    };
    out.push(length);
    out.extend_from_slice(all.get(..usize::from(length))?);
    Some(())
}

/// Puts bytes after their length.
fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let length = (bytes.len() as u64).to_le_bytes();
    match bytes.len() {
        0..=0xFA => out.push(length[0]),
        0xFB..=0xFFFF => out.extend([0xFC, length[0], length[1]]),
        0x1_0000..=0xFF_FFFF => out.extend([0xFD, length[0], length[1], length[2]]),
        _ => {
            out.push(0xFE);
            out.extend(length);
        }
    }
    out.extend_from_slice(bytes);
}

/// A value in a row of the text protocol.
enum TextValue<'r> {
    Null,
    Text(&'r [u8]),
}

/// Takes a value from the beginning of a row of the text protocol; `None` if the row has no more, or ends within the value.
fn take<'r>(row: &mut &'r [u8]) -> Option<TextValue<'r>> {
    let (first, rest) = row.split_first()?;
    let bytes_of_length = match *first {
        NULL => {
            *row = rest;
            return Some(TextValue::Null);
        }
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        short => {
            let (value, rest) = rest.split_at_checked(short.into())?;
            *row = rest;
            return Some(TextValue::Text(value));
        }
    };
    let (length, rest) = rest.split_at_checked(bytes_of_length)?;
    let mut all = [0; 8];
    all[..bytes_of_length].copy_from_slice(length);
    let (value, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(all)).ok()?)?;
    *row = rest;
    Some(TextValue::Text(value))
}

/// Returns a row of the text protocol in the binary form; `None` if one of its values has no known binary form.
pub(super) fn row(types: &[ColumnType], mut shown: &[u8]) -> Option<Vec<u8>> {
    let map_at = 1;
    let map_bytes = (types.len() + MAP_OFFSET).div_ceil(8);
    let mut out = vec![0; map_at + map_bytes];
    for (at, kind) in types.iter().enumerate() {
        match take(&mut shown)? {
            TextValue::Text(value) => kind.put(value, &mut out)?,
            TextValue::Null => out[map_at + (at + MAP_OFFSET) / 8] |= 1 << ((at + MAP_OFFSET) % 8),
        }
    }
    shown.is_empty().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &[Option<&[u8]>]) -> Vec<u8> {
        values.iter().fold(Vec::new(), |mut out, value| {
            match value {
                Some(value) => put_bytes(value, &mut out),
                None => out.push(NULL),
            }
            out
        })
    }

    #[test]
    fn values_are_in_the_width_of_their_columns() {
        let types = [1, 13, 9, 8, 246, 253].map(ColumnType);
        let values: [Option<&[u8]>; 6] =
            [Some(b"-1"), Some(b"2024"), None, Some(b"18446744073709551615"), Some(b"-0.50"), None];
        let expected = [&[0, 0b1001_0000, 0xFF][..], &[0xE8, 0x07], &[0xFF; 8], b"\x05-0.50"].concat();
        assert_eq!(row(&types, &shown(&values)), Some(expected));
    }

    #[test]
    fn moments_are_as_short_as_they_can_be() {
        let of =
            |kind, text: &[u8]| row(&[ColumnType(kind)], &shown(&[Some(text)])).map(|row| row[2..].to_vec());
        assert_eq!(of(10, b"2024-02-29"), Some(vec![4, 0xE8, 0x07, 2, 29]));
        assert_eq!(of(12, b"2024-02-29 00:00:00.000"), Some(vec![4, 0xE8, 0x07, 2, 29]));
        assert_eq!(of(7, b"2024-02-29 23:59:01"), Some(vec![7, 0xE8, 0x07, 2, 29, 23, 59, 1]));
        let micros = [&[11, 0xE8, 0x07, 2, 29, 0, 0, 0][..], &120_000_u32.to_le_bytes()].concat();
        assert_eq!(of(12, b"2024-02-29 00:00:00.12"), Some(micros));
    }

    #[test]
    fn long_texts_have_long_lengths() {
        let long = vec![b'x'; 70_000];
        let row = row(&[ColumnType(252)], &shown(&[Some(&long)])).unwrap();
        assert_eq!(row[2..6], [0xFD, 0x70, 0x11, 0x01]);
        assert_eq!(row.len(), 6 + long.len());
    }

    #[test]
    fn what_is_not_understood_has_no_binary_form() {
        assert_eq!(row(&[ColumnType(5)], &shown(&[Some(b"1.5")])), None, "DOUBLE");
        assert_eq!(row(&[ColumnType(3)], &shown(&[Some(b"x")])), None);
        assert_eq!(row(&[ColumnType(3)], &shown(&[Some(b"1"), None])), None, "a column too many");
        assert_eq!(row(&[ColumnType(3), ColumnType(3)], &shown(&[Some(b"1")])), None, "one too few");
    }
}
