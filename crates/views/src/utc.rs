//! Moments as microseconds of UTC since 1970, and in the form of the calendar.

use crate::decimal::Number;

const MICROS: Number = 1_000_000;
const SECONDS_OF_DAY: Number = 86_400;

/// Returns the days from 1970-01-01 to a day of the calendar. Years begin with March here, so that the leap day is their last.
fn days(year: Number, month: Number, day: Number) -> Number {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    of_years + (month * 153 + 2) / 5 + day - 1 - 719_468
}

/// Returns the day of the calendar that is so many days after 1970-01-01.
fn date(days: Number) -> (Number, Number, Number) {
    let days = days + 719_468;
    let (era, days) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (days - days / 1_460 + days / 36_524 - days / 146_096) / 365;
    let days = days - (year * 365 + year / 4 - year / 100);
    let month = (days * 5 + 2) / 153;
    let day = days - (month * 153 + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (era * 400 + year, month, day)
}

/// A written date. There need not be such a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

/// What a clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateTime {
    pub(crate) date: Date,
    /// The second of the day.
    pub(crate) seconds: u32,
    pub(crate) micros: u32,
}

impl DateTime {
    /// Returns the moment at which a clock of UTC shows this.
    pub(crate) fn in_utc(self) -> Number {
        let Self { date: Date { year, month, day }, seconds, micros } = self;
        let days = days(year.into(), month.into(), day.into());
        (days * SECONDS_OF_DAY + Number::from(seconds)) * MICROS + Number::from(micros)
    }

    /// Returns what a clock that is so many seconds ahead of UTC shows at this moment.
    pub(crate) fn at(stamp: Number, offset_s: i32) -> Self {
        let (seconds, micros) = (stamp.div_euclid(MICROS) + Number::from(offset_s), stamp.rem_euclid(MICROS));
        let (year, month, day) = date(seconds.div_euclid(SECONDS_OF_DAY));
        let small = |number: Number| u8::try_from(number).unwrap_or(1);
        Self {
            date: Date { year: u16::try_from(year).unwrap_or(0), month: small(month), day: small(day) },
            seconds: u32::try_from(seconds.rem_euclid(SECONDS_OF_DAY)).unwrap_or(0),
            micros: u32::try_from(micros).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_other() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2000, 2, 29), 11_016);
        for number in -800_000..800_000 {
            let (year, month, day) = date(number);
            assert_eq!(days(year, month, day), number);
        }
    }

    #[test]
    fn moments_are_those_of_a_clock() {
        let shown = |year, month, day, seconds| {
            let date = Date { year, month, day };
            DateTime { date, seconds, micros: 0 }
        };
        assert_eq!(DateTime { micros: 500_000, ..shown(1970, 1, 1, 1) }.in_utc(), 1_500_000);
        let stamp = shown(2024, 2, 29, 84_600).in_utc();
        assert_eq!(DateTime::at(stamp, 3600), shown(2024, 3, 1, 1_800));
        assert_eq!(DateTime::at(stamp, -86_400 * 60), shown(2023, 12, 31, 84_600));
    }
}
