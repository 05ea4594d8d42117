//! Dates and times, comparable as the server compares them.

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
