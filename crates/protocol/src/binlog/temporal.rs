//! Dates and times, comparable as the server compares them.

mod unpack;

use std::fmt;

pub(super) use unpack::{
    date, datetime, datetime_old, fraction_len, time, time_old, timestamp, timestamp_old,
};

/// A DATE; zero parts are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

/// A DATETIME; zero parts are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DateTime {
    /// Its day.
    pub date: Date,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micros: u32,
    /// Fractional digits of the column, 0 to 6.
    pub decimals: u8,
}

/// A TIME, from -838:59:59.999999 to 838:59:59.999999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time {
    /// Signed length in microseconds.
    pub micros: i64,
    /// Fractional digits of the column, 0 to 6.
    pub decimals: u8,
}

/// A TIMESTAMP: a moment, whatever the session's time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Seconds since 1970 UTC; 0 is the zero timestamp.
    pub seconds: i64,
    /// 0 to 999,999.
    pub micros: u32,
    /// Fractional digits of the column, 0 to 6.
    pub decimals: u8,
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, hour, minute, second) = (self.date, self.hour, self.minute, self.second);
        write!(f, "{date} {hour:02}:{minute:02}:{second:02}")?;
        write_fraction(f, self.micros, self.decimals)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.micros < 0 {
            f.write_str("-")?;
        }
        let micros = self.micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        write!(f, "{hours:02}:{minutes:02}:{:02}", seconds % 60)?;
        // Less than a million.
        write_fraction(f, (micros % 1_000_000) as u32, self.decimals)
    }
}

impl fmt::Display for Timestamp {
    /// Seconds since 1970, as `UNIX_TIMESTAMP()` gives them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seconds)?;
        write_fraction(f, self.micros, self.decimals)
    }
}

fn write_fraction(f: &mut fmt::Formatter<'_>, micros: u32, decimals: u8) -> fmt::Result {
    if decimals == 0 {
        return Ok(());
    }
    let digits = micros / 10u32.pow(6 - u32::from(decimals.min(6)));
    write!(f, ".{digits:0width$}", width = usize::from(decimals))
}
