//! Values: NULL, or one number. The type of the column tells what the number means.

use std::io::Write as _;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use freshet_sql::{Collation, DataType};

use crate::decimal;
pub use crate::decimal::Number;
use crate::utc::{Date, DateTime};

/// NULL, or a number.
pub type Cell = Option<Number>;

/// A value that a caller hands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// NULL, or a value that is a number: see [`Kind`].
    Number(Cell),
    /// A text in UTF-8, or bytes.
    Text(Box<[u8]>),
}

/// A schema and a table, as the server reports them.
pub type TableName = (String, String);

/// A needed column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnSpec {
    /// In lower case.
    pub name: String,
    /// What its numbers mean.
    pub kind: Kind,
    /// The names of an ENUM, from its number 1 on, or those of a SET, from its lowest bit on.
    pub names: Option<Arc<[Vec<u8>]>>,
    /// The number of bytes of each value: for a BINARY, which is filled up with zeros.
    pub filled_bytes: Option<u32>,
}

/// What the numbers of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An integer, with the width of all its values.
    Integer(Width),
    /// A DECIMAL: a whole number of its last digit.
    Decimal {
        /// All its digits.
        digits: u8,
        /// The digits behind the point.
        scale: u8,
    },
    /// `year * 10000 + month * 100 + day`.
    Date,
    /// Microseconds of a calendar whose months and years are all of one length, with this many digits behind the point shown.
    Moment(u8),
    /// Microseconds of UTC since 1970, with this many digits behind the point shown: the shown text depends on the time zone.
    Stamp(u8),
    /// A time of up to 838 hours, of either sign: microseconds, with this many digits behind the point shown.
    Time(u8),
    /// A year, 1901 to 2155.
    Year,
    /// The number of a name.
    Enum,
    /// A bit for each name.
    Set,
    /// So many bits.
    Bit(u8),
    /// The number of a text in its table.
    Text {
        /// How the texts are compared, if that is known.
        collation: Option<Collation>,
        /// The servers sort by the whole text.
        is_short: bool,
    },
    /// A number that equal texts share, and no others.
    Folded(Collation),
}

/// The width of the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 32 bits with a sign.
    Small,
    /// 64 bits with a sign.
    Wide,
    /// 64 bits without a sign.
    Unsigned,
    /// 128 bits with a sign.
    Huge,
}

/// The most digits behind the point of a moment.
const DIGITS_MAX: u8 = 6;
/// The most bits of a BIT.
const BITS_MAX: u8 = 64;
/// The most digits of an integer of any width.
const INTEGER_DIGITS_MAX: u8 = 20;
const MICROS: Number = 1_000_000;
/// The most hours of a TIME.
const HOURS_MAX: u32 = 838;
/// The servers sort texts by their first 1,024 bytes or more, and a character, or its weight, has at most four bytes.
const SORTED_CHARS_MAX: u32 = 255;
/// The most bytes of a text that are part of its number.
const FOLDED_BYTES_MAX: usize = 14;

impl Kind {
    /// Returns the kind of a declared type.
    ///
    /// # Errors
    /// The reason, in words that follow the name of the column.
    pub fn of(declared: &DataType) -> Result<Self, String> {
        let scale = || u8::try_from(declared.scale.unwrap_or(0)).unwrap_or(u8::MAX).min(DIGITS_MAX);
        match &*declared.name {
            "tinyint" | "smallint" | "mediumint" => Ok(Self::Integer(Width::Small)),
            "int" if !declared.is_unsigned => Ok(Self::Integer(Width::Small)),
            "int" => Ok(Self::Integer(Width::Wide)),
            "bigint" if !declared.is_unsigned => Ok(Self::Integer(Width::Wide)),
            "bigint" => Ok(Self::Integer(Width::Unsigned)),
            "year" => Ok(Self::Year),
            "timestamp" => Ok(Self::Stamp(scale())),
            "enum" if declared.names.is_some() => Ok(Self::Enum),
            "enum" => Err("is an ENUM whose names are not told apart here".to_owned()),
            "set" if declared.names.is_some() => Ok(Self::Set),
            "set" => Err("is a SET whose names are not told apart here".to_owned()),
            "bit" => bit_of(declared),
            "decimal" => decimal_of(declared),
            "date" => Ok(Self::Date),
            "datetime" => Ok(Self::Moment(scale())),
            "time" => Ok(Self::Time(scale())),
            "char" | "varchar" => {
                let collation = declared.collation.as_deref().unwrap_or_default();
                let is_utf8 = ["utf8mb4_", "utf8mb3_", "utf8_", "ascii_", "uca1400_"]
                    .iter()
                    .any(|charset| collation.starts_with(charset));
                if !is_utf8 {
                    return Err(format!("is a text in {collation}"));
                }
                let is_short = declared.length.is_some_and(|chars| chars <= SORTED_CHARS_MAX);
                Ok(Self::Text { collation: Collation::of_name(&collation.to_lowercase()), is_short })
            }
            "binary" | "varbinary" => {
                let is_short = declared.length.is_some_and(|bytes| bytes <= SORTED_CHARS_MAX);
                Ok(Self::Text { collation: Some(Collation::BYTES), is_short })
            }
            other => Err(format!("is of the type {declared}").replace(&declared.to_string(), other)),
        }
    }

    /// Whether values of both are compared as numbers.
    #[must_use]
    pub(crate) fn compares_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Date, Self::Date)
            | (Self::Moment(_), Self::Moment(_))
            | (Self::Time(_), Self::Time(_))
            | (Self::Stamp(_), Self::Stamp(_))
            | (Self::Year, Self::Year) => true,
            (Self::Folded(one), Self::Folded(other)) => one == other,
            _ => self.digits().zip(other.digits()).is_some_and(|((_, one), (_, other))| one == other),
        }
    }

    /// Returns the digits of an exact number: how many it has at most, and how many of them behind the point.
    pub(crate) const fn digits(self) -> Option<(u8, u8)> {
        match self {
            Self::Integer(_) => Some((INTEGER_DIGITS_MAX, 0)),
            Self::Decimal { digits, scale } => Some((digits, scale)),
            Self::Date
            | Self::Moment(_)
            | Self::Time(_)
            | Self::Stamp(_)
            | Self::Year
            | Self::Enum
            | Self::Set
            | Self::Bit(_)
            | Self::Text { .. }
            | Self::Folded(_) => None,
        }
    }

    /// Returns the width of its numbers.
    pub(crate) const fn width(self) -> Width {
        match self {
            Self::Integer(width) => width,
            Self::Decimal { digits: ..=9, .. }
            | Self::Date
            | Self::Year
            | Self::Enum
            | Self::Bit(..=31)
            | Self::Text { .. } => Width::Small,
            Self::Decimal { digits: 10..=18, .. }
            | Self::Moment(_)
            | Self::Stamp(_)
            | Self::Time(_)
            | Self::Bit(32..=63) => Width::Wide,
            Self::Set | Self::Bit(_) => Width::Unsigned,
            Self::Decimal { .. } | Self::Folded(_) => Width::Huge,
        }
    }

    /// Returns the number of a text that a server shows for a value of this kind, in UTC; `None` if it stands for no number, or the text
    /// itself is shown. For an ENUM, a SET and a BIT it is the number with which the servers calculate.
    #[must_use]
    pub fn parse(self, text: &[u8]) -> Option<Number> {
        match self {
            Self::Integer(_) => std::str::from_utf8(text).ok()?.parse().ok(),
            Self::Set | Self::Bit(_) => std::str::from_utf8(text).ok()?.parse::<u64>().ok().map(Number::from),
            // MariaDB shows a year 0 as `0000` or as `0`, and an ENUM's 0 is none of its names.
            Self::Year | Self::Enum => {
                std::str::from_utf8(text).ok()?.parse().ok().filter(|number| *number > 0)
            }
            Self::Stamp(_) => date_time(text).map(DateTime::in_utc),
            Self::Decimal { scale, .. } => decimal::parse(text, scale),
            Self::Date => date(text).and_then(date_number),
            Self::Moment(_) => moment(text),
            Self::Time(_) => time(text),
            Self::Folded(collation) => folded(collation, text),
            Self::Text { .. } => None,
        }
    }

    /// Writes a number as the servers show it, where the clock is so many seconds ahead of UTC.
    fn show(self, number: Number, offset_s: i32, out: &mut Vec<u8>) {
        let shown = match self {
            Self::Year => write!(out, "{number:04}"),
            Self::Stamp(digits) => {
                let DateTime { date, seconds, micros } = DateTime::at(number, offset_s);
                show_moment(moment_number(date, seconds, micros).unwrap_or(0), digits, out)
            }
            Self::Decimal { scale, .. } => out.write_all(decimal::show(number, scale).as_bytes()),
            Self::Bit(bits) => {
                let bytes = u64::try_from(number).unwrap_or(u64::MAX).to_be_bytes();
                let shown = usize::from(bits).div_ceil(8).min(bytes.len());
                out.write_all(&bytes[bytes.len() - shown..])
            }
            Self::Integer(_) | Self::Enum | Self::Set | Self::Text { .. } | Self::Folded(_) => {
                write!(out, "{number}")
            }
            Self::Date => {
                write!(out, "{:04}-{:02}-{:02}", number / 10_000, number / 100 % 100, number % 100)
            }
            Self::Moment(digits) => show_moment(number, digits, out),
            Self::Time(digits) => show_time(number, digits, out),
        };
        debug_assert!(shown.is_ok(), "a vector takes everything");
    }
}

impl ColumnSpec {
    /// Returns the column for a declared type.
    ///
    /// # Errors
    /// As for [`Kind::of`].
    pub fn of(name: &str, declared: &DataType) -> Result<Self, String> {
        let kind = Kind::of(declared)?;
        let filled_bytes = declared.length.filter(|_| *declared.name == *"binary");
        Ok(Self { name: name.to_owned(), kind, names: declared.names.clone(), filled_bytes })
    }

    /// Returns the column for the numbers that equal texts share.
    #[must_use]
    pub fn folded(&self) -> Option<Self> {
        match self.kind {
            Kind::Text { collation: Some(collation), .. } => {
                Some(Self { kind: Kind::Folded(collation), ..self.clone() })
            }
            _ => None,
        }
    }

    /// Whether its values are bytes, which are no text.
    #[must_use]
    pub fn has_bytes(&self) -> bool {
        matches!(self.kind, Kind::Text { collation: Some(Collation::BYTES), .. })
    }

    /// Returns its key among the columns of its table.
    pub(crate) fn place(&self) -> (String, bool) {
        (self.name.clone(), matches!(self.kind, Kind::Folded(_)))
    }

    /// Writes a number as the servers show it, where the clock is so many seconds ahead of UTC.
    pub(crate) fn show(&self, number: Number, offset_s: i32, out: &mut Vec<u8>) {
        match (&self.names, self.kind) {
            (Some(names), Kind::Enum) => {
                let at = usize::try_from(number - 1).ok();
                out.extend_from_slice(at.and_then(|at| names.get(at)).map_or(&[], Vec::as_slice));
            }
            (Some(names), Kind::Set) => {
                let is_in = |(at, _): &(usize, &Vec<u8>)| number >> at & 1 == 1;
                let shown: Vec<&[u8]> =
                    names.iter().enumerate().filter(is_in).map(|(_, name)| name.as_slice()).collect();
                out.extend_from_slice(&shown.join(&b','));
            }
            (_, kind) => kind.show(number, offset_s, out),
        }
    }

    /// Whether its values are shown by names, which are texts in ASCII.
    pub(crate) const fn is_named(&self) -> bool {
        matches!(self.kind, Kind::Enum | Kind::Set)
    }

    /// Whether the servers sort its values by their numbers. MySQL sorts a SET of 64 names by a signed or an unsigned number, depending
    /// on how the statement is executed.
    pub(crate) fn is_sorted_by_number(&self) -> bool {
        self.kind != Kind::Set || self.names.as_ref().is_some_and(|names| names.len() < usize::from(BITS_MAX))
    }

    /// Returns the number of a shown text: a name of an ENUM, or names of a SET in the order of their declaration.
    pub(crate) fn number_of(&self, shown: &[u8]) -> Option<Number> {
        let names = self.names.as_ref()?;
        let place = |name: &[u8]| names.iter().position(|own| own == name);
        match self.kind {
            Kind::Enum => Number::try_from(place(shown)? + 1).ok(),
            Kind::Set if shown.is_empty() => Some(0),
            Kind::Set => {
                let places: Option<Vec<usize>> = shown.split(|byte| *byte == b',').map(place).collect();
                let places = places.filter(|places| places.is_sorted_by(|one, next| one < next))?;
                Some(places.into_iter().map(|place| 1 << place).sum())
            }
            _ => None,
        }
    }
}

fn bit_of(declared: &DataType) -> Result<Kind, String> {
    match declared.length.and_then(|bits| u8::try_from(bits).ok()) {
        Some(bits @ 1..=BITS_MAX) => Ok(Kind::Bit(bits)),
        _ => Err("is a BIT of unknown length".to_owned()),
    }
}

/// Returns the kind of a DECIMAL, if its digits fit.
fn decimal_of(declared: &DataType) -> Result<Kind, String> {
    let small = |digits: Option<u32>| u8::try_from(digits?).ok();
    match (small(declared.length), small(declared.scale)) {
        (Some(digits @ 1..=decimal::DIGITS_MAX), Some(scale)) if scale <= digits => {
            Ok(Kind::Decimal { digits, scale })
        }
        _ => Err(format!("is a DECIMAL of more than {} digits", decimal::DIGITS_MAX)),
    }
}

/// Returns a number that equal texts share: the text itself if it is short, else a hash of it for which no two texts with the same value
/// are known. `None` if it is not known which texts are equal to it.
fn folded(collation: Collation, text: &[u8]) -> Option<Number> {
    let text = collation.equal_by_index(text)?;
    let mut bytes = [0; size_of::<Number>()];
    let kept = if text.len() <= FOLDED_BYTES_MAX {
        bytes[0] = u8::try_from(text.len()).ok()?;
        text
    } else {
        bytes[0] = u8::try_from(FOLDED_BYTES_MAX + 1).ok()?;
        digest(&SHA256, &text).as_ref()[..FOLDED_BYTES_MAX].to_vec().into()
    };
    bytes[1..=kept.len()].copy_from_slice(&kept);
    Some(Number::from_be_bytes(bytes))
}

/// Returns the number of a date; `None` if there is no such day. The servers' handling of `2024-00-00` depends on `sql_mode`: MySQL
/// groups it with `0000-00-00`, and warns of it.
#[must_use]
pub fn date_number(date: Date) -> Option<Number> {
    let Date { year, month, day } = date;
    let number = Number::from(year) * 10_000 + Number::from(month) * 100 + Number::from(day);
    is_day(date).then_some(number)
}

/// Returns the number of a moment: its day, its seconds within the day, its microseconds. `None` as for [`date_number`].
#[must_use]
pub fn moment_number(date: Date, seconds: u32, micros: u32) -> Option<Number> {
    let Date { year, month, day } = date;
    let days = (Number::from(year) * 13 + Number::from(month)) * 32 + Number::from(day);
    let number = (days * 86_400 + Number::from(seconds)) * MICROS + Number::from(micros);
    is_day(date).then_some(number)
}

fn digits<const N: usize>(text: &[u8]) -> Option<u32> {
    let text = text.get(..N)?;
    text.iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

/// Reads `YYYY-MM-DD`, and nothing else.
fn date(text: &[u8]) -> Option<Date> {
    let is_cut = text.len() == 10 && text[4] == b'-' && text[7] == b'-';
    let (year, month, day) = (digits::<4>(text)?, digits::<2>(text.get(5..)?)?, digits::<2>(text.get(8..)?)?);
    let is_date = is_cut && month <= 12 && day <= 31;
    let (year, month, day) = (u16::try_from(year).ok()?, u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    is_date.then_some(Date { year, month, day })
}

fn moment(text: &[u8]) -> Option<Number> {
    let DateTime { date, seconds, micros } = date_time(text)?;
    moment_number(date, seconds, micros)
}

/// Reads `YYYY-MM-DD hh:mm:ss`, with up to six digits behind a point.
fn date_time(text: &[u8]) -> Option<DateTime> {
    let date = date(text.get(..10)?)?;
    let time = text.get(10..)?;
    let is_cut = time.len() >= 9 && time[0] == b' ' && time[3] == b':' && time[6] == b':';
    let (hour, minute, second) =
        (digits::<2>(time.get(1..)?)?, digits::<2>(time.get(4..)?)?, digits::<2>(time.get(7..)?)?);
    if !is_cut || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let micros = fraction(time.get(9..)?)?;
    Some(DateTime { date, seconds: hour * 3600 + minute * 60 + second, micros })
}

/// Reads microseconds: nothing, or up to six digits behind a point.
fn fraction(text: &[u8]) -> Option<u32> {
    match text {
        [] => Some(0),
        [b'.', digits @ ..] if !digits.is_empty() && digits.len() <= usize::from(DIGITS_MAX) => {
            let padded: Vec<u8> = digits.iter().copied().chain(std::iter::repeat(b'0')).take(6).collect();
            self::digits::<6>(&padded)
        }
        _ => None,
    }
}

/// Reads `hh:mm:ss` or `hhh:mm:ss`, with a sign if it is negative, and up to six digits behind a point.
fn time(text: &[u8]) -> Option<Number> {
    let (sign, text) = text.strip_prefix(b"-").map_or((1, text), |text| (-1, text));
    let of_hours = text.iter().position(|byte| *byte == b':').filter(|of_hours| matches!(of_hours, 2 | 3))?;
    let (hours, rest) = text.split_at(of_hours);
    let hours = if of_hours == 2 { digits::<2>(hours)? } else { digits::<3>(hours)? };
    let (minutes, seconds) = (digits::<2>(rest.get(1..)?)?, digits::<2>(rest.get(4..)?)?);
    let is_time = rest[3] == b':' && hours <= HOURS_MAX && minutes <= 59 && seconds <= 59;
    let micros = fraction(rest.get(6..)?)?;
    let seconds = Number::from((hours * 60 + minutes) * 60 + seconds);
    is_time.then_some(sign * (seconds * MICROS + Number::from(micros)))
}

fn show_time(number: Number, digits: u8, out: &mut Vec<u8>) -> std::io::Result<()> {
    let (sign, all) = (if number < 0 { "-" } else { "" }, number.abs());
    let (seconds, micros) = (all / MICROS, all % MICROS);
    write!(out, "{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    show_fraction(micros, digits, out)
}

/// The digits behind the point of a second.
fn show_fraction(micros: Number, digits: u8, out: &mut Vec<u8>) -> std::io::Result<()> {
    if digits > 0 {
        let scaled = micros / 10_i128.pow(u32::from(DIGITS_MAX - digits.min(DIGITS_MAX)));
        write!(out, ".{scaled:0width$}", width = usize::from(digits))?;
    }
    Ok(())
}

fn show_moment(number: Number, digits: u8, out: &mut Vec<u8>) -> std::io::Result<()> {
    let (seconds, micros) = (number / MICROS, number % MICROS);
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    let (months, day) = (days / 32, days % 32);
    write!(
        out,
        "{:04}-{:02}-{day:02} {:02}:{:02}:{:02}",
        months / 13,
        months % 13,
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )?;
    show_fraction(micros, digits, out)
}

/// Whether this is a day of the calendar.
fn is_day(Date { year, month, day }: Date) -> bool {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    year > 0 && (1..=days).contains(&day)
}
