//! Moments as microseconds of UTC since 1970, and as the calendar has them.

use crate::decimal::Number;

const MICROS: Number = 1_000_000;
const SECONDS_OF_DAY: Number = 86_400;

/// Days since 1970-01-01 of a day of the calendar. Years begin with March here, so that the leap day is their last.
fn days((year, month, day): (Number, Number, Number)) -> Number {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    of_years + (month * 153 + 2) / 5 + day - 1 - 719_468
}

/// The same the other way round.
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

/// A day of the calendar, seconds within the day, microseconds.
pub(crate) type Parts = ((u16, u8, u8), u32, u32);

/// Of a moment of UTC.
pub(crate) fn of_parts(((year, month, day), seconds, micros): Parts) -> Number {
    let days = days((year.into(), month.into(), day.into()));
    (days * SECONDS_OF_DAY + Number::from(seconds)) * MICROS + Number::from(micros)
}

/// What a clock shows which is so many seconds ahead.
pub(crate) fn parts(stamp: Number, offset_s: i32) -> Parts {
    let (seconds, micros) = (stamp.div_euclid(MICROS) + Number::from(offset_s), stamp.rem_euclid(MICROS));
    let (year, month, day) = date(seconds.div_euclid(SECONDS_OF_DAY));
    let small = |number: Number| u8::try_from(number).unwrap_or(1);
    let day = (u16::try_from(year).unwrap_or(0), small(month), small(day));
    let seconds = u32::try_from(seconds.rem_euclid(SECONDS_OF_DAY)).unwrap_or(0);
    (day, seconds, u32::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_other() {
        assert_eq!(days((1970, 1, 1)), 0);
        assert_eq!(days((2000, 2, 29)), 11_016);
        for day in -800_000..800_000 {
            assert_eq!(days(date(day)), day);
        }
    }

    #[test]
    fn moments_are_those_of_a_clock() {
        assert_eq!(of_parts(((1970, 1, 1), 1, 500_000)), 1_500_000);
        let stamp = of_parts(((2024, 2, 29), 84_600, 0));
        assert_eq!(parts(stamp, 3600), ((2024, 3, 1), 1_800, 0));
        assert_eq!(parts(stamp, -86_400 * 60), ((2023, 12, 31), 84_600, 0));
    }
}
