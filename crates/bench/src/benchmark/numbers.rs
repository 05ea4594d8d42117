//! Formats numbers for people.

use super::sample::Spread;

/// The sign for a number that is not known.
const UNKNOWN: &str = "–";

/// Returns a whole number with commas, as 1,234,567.
pub fn whole(number: f64) -> String {
    if number.is_nan() {
        return UNKNOWN.to_owned();
    }
    let digits = format!("{:.0}", number.max(0.0));
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number of three digits or more; a number below 100 has some digits behind the point.
pub fn short(number: f64) -> String {
    match number.abs() {
        size if size.is_nan() => UNKNOWN.to_owned(),
        size if size >= 1_000.0 => whole(number),
        size if size >= 99.95 => format!("{number:.0}"),
        size if size >= 9.995 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// Returns a ratio and its spread, as "2.88 × (2.80–2.95)".
pub fn ratio(spread: Spread) -> String {
    format!("{:.2} × ({:.2}–{:.2})", spread.median, spread.least, spread.most)
}

/// Returns half of the distance between the least and the most, in percent of the median, as "± 4 %".
pub fn wobble(spread: Spread) -> String {
    let half = (spread.most - spread.least) / 2.0;
    format!("± {:.0} %", 100.0 * half / spread.median.max(f64::MIN_POSITIVE))
}

/// Returns the median and its wobble, as "64.0 ± 4 %"; the median alone if it is zero or not known.
pub fn steadiness(spread: Spread) -> String {
    let median = short(spread.median);
    if spread.median > 0.0 { format!("{median} {}", wobble(spread)) } else { median }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let wholes = [(0.0, "0"), (999.4, "999"), (1_000.0, "1,000"), (1_234_567.0, "1,234,567")];
        for (number, text) in wholes {
            assert_eq!(whole(number), text);
        }
        for (number, text) in
            [(0.0, "0.00"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"), (1234.5, "1,234")]
        {
            assert_eq!(short(number), text);
        }
        assert_eq!((whole(f64::NAN), short(f64::NAN)), ("–".to_owned(), "–".to_owned()));
        let spread = Spread { median: 2.0, least: 1.9, most: 2.3 };
        assert_eq!(ratio(spread), "2.00 × (1.90–2.30)");
        assert_eq!(wobble(spread), "± 10 %");
        assert_eq!(wobble(Spread::default()), "± 0 %");
        assert_eq!(steadiness(spread), "2.00 ± 10 %");
        assert_eq!(steadiness(Spread { most: 1.0, ..Spread::default() }), "0.00");
        assert_eq!(steadiness(Spread::of([f64::NAN])), "–");
    }
}
