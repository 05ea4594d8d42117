//! The client's values for a statement's markers, in the same form as values in a text.

use freshet_protocol::Parameter;
use freshet_sql::Datum;

/// Returns the values of `parameters`. Their texts are in UTF-8 (`are_utf8`), or may be in another character set.
pub(crate) fn bind(parameters: &[Parameter<'_>], are_utf8: bool) -> Vec<Datum> {
    parameters.iter().map(|parameter| datum(parameter, are_utf8)).collect()
}

fn datum(parameter: &Parameter<'_>, is_utf8: bool) -> Datum {
    match *parameter {
        Parameter::Null => Datum::Null,
        Parameter::Int(value) => Datum::Int(i128::from(value)),
        Parameter::UInt(value) => Datum::Int(i128::from(value)),
        Parameter::Text(text) if is_plain(text, is_utf8) => Datum::Text(text.to_vec()),
        Parameter::Decimal(digits) => decimal(digits).map_or(Datum::Other, Datum::Decimal),
        Parameter::DateTime { is_date, year, parts, micros } => date_time(is_date, year, parts, micros),
        Parameter::Float(value) => integer(value).map_or(Datum::Other, Datum::Double),
        // Sent as it is: where the session's strings are in UTF-8, no server converts them.
        Parameter::Text(bytes) if is_utf8 && !bytes.is_empty() => Datum::Bytes(bytes.to_vec()),
        Parameter::Bytes(bytes) if !bytes.is_empty() => Datum::Bytes(bytes.to_vec()),
        Parameter::Text(_) | Parameter::Bytes(_) | Parameter::Other => Datum::Other,
    }
}

/// Returns an integer that a DOUBLE distinguishes from all others: see [`Datum::Double`].
fn integer(value: f64) -> Option<i64> {
    const BOUND: f64 = (1_i64 << f64::MANTISSA_DIGITS) as f64;
    (value.fract() == 0.0 && value.abs() < BOUND).then_some(value as i64)
}

/// Whether a string can be compared here: see [`Datum::Text`].
fn is_plain(text: &[u8], is_utf8: bool) -> bool {
    let is_shown = |byte: &u8| matches!(byte, b' '..=b'~' | 0x80..) && *byte != b'\\';
    // MariaDB may take an empty string for NULL (`EMPTY_STRING_IS_NULL`).
    !text.is_empty() && text.iter().all(is_shown) && (text.is_ascii() || is_utf8 && is_of_three_bytes(text))
}

/// Whether a text is UTF-8 without characters of four bytes, which older collations do not distinguish.
fn is_of_three_bytes(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok() && !text.iter().any(|byte| *byte >= 0xF0)
}

/// Returns a number with a point and without an exponent: see [`Datum::Decimal`].
fn decimal(digits: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(digits).ok()?;
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let sign = if unsigned.len() < text.len() { "-" } else { "" };
    Some(format!("{sign}{whole}.{fraction}"))
}

/// Returns a moment as a text in the canonical form, which is also the server's form.
fn date_time(is_date: bool, year: u16, parts: [u8; 5], micros: u32) -> Datum {
    let [month, day, hour, minute, second] = parts;
    let date = format!("{year:04}-{month:02}-{day:02}");
    Datum::Moment(match (is_date, micros) {
        (true, _) => date.into_bytes(),
        (false, 0) => format!("{date} {hour:02}:{minute:02}:{second:02}").into_bytes(),
        (false, _) => format!("{date} {hour:02}:{minute:02}:{second:02}.{micros:06}").into_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(parameter: Parameter<'_>) -> Datum {
        bind(&[parameter], false).remove(0)
    }

    #[test]
    fn values_become_what_they_would_be_in_a_text() {
        assert_eq!(one(Parameter::Null), Datum::Null);
        assert_eq!(one(Parameter::Int(-1)), Datum::Int(-1));
        assert_eq!(one(Parameter::UInt(u64::MAX)), Datum::Int(i128::from(u64::MAX)));
        assert_eq!(one(Parameter::Text(b"a b")), Datum::Text(b"a b".to_vec()));
        assert_eq!(one(Parameter::Decimal(b"-1.50")), Datum::Decimal("-1.50".to_owned()));
        assert_eq!(one(Parameter::Float(-7.0)), Datum::Double(-7));
        assert_eq!(one(Parameter::Float(9_007_199_254_740_991.0)), Datum::Double(9_007_199_254_740_991));
        assert_eq!(one(Parameter::Decimal(b"7")), Datum::Decimal("7.0".to_owned()));
        let date = |is_date, micros| {
            one(Parameter::DateTime { is_date, year: 2024, parts: [2, 9, 1, 2, 3], micros })
        };
        assert_eq!(date(true, 0), Datum::Moment(b"2024-02-09".to_vec()));
        assert_eq!(date(false, 0), Datum::Moment(b"2024-02-09 01:02:03".to_vec()));
        assert_eq!(date(false, 50), Datum::Moment(b"2024-02-09 01:02:03.000050".to_vec()));
    }

    #[test]
    fn what_cannot_be_compared_here_is_not() {
        for text in [&b""[..], b"\xc3\xa1", b"a\\b", b"\0", b"\x7f"] {
            assert_eq!(one(Parameter::Text(text)), Datum::Other, "{text:?}");
        }
        for (text, are_utf8) in
            [(&b"\xc3\xa1"[..], true), (b"\xf0\x9f\x98\x80", true), (b"\xe1", true), (b"", true)]
        {
            let expected = match text {
                b"\xc3\xa1" => Datum::Text(text.to_vec()),
                b"" => Datum::Other,
                bytes => Datum::Bytes(bytes.to_vec()),
            };
            assert_eq!(bind(&[Parameter::Text(text)], are_utf8), [expected], "{text:?}");
        }
        assert_eq!(one(Parameter::Bytes(b"\xe1")), Datum::Bytes(b"\xe1".to_vec()));
        for digits in [&b""[..], b".", b"1e5", b"1.", b"- 1", b"1.5.2", b"--1", b"0x1"] {
            assert_eq!(one(Parameter::Decimal(digits)), Datum::Other, "{digits:?}");
        }
        for float in [0.5, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0, -1e300] {
            assert_eq!(one(Parameter::Float(float)), Datum::Other, "{float}");
        }
        assert_eq!(one(Parameter::Other), Datum::Other);
    }
}
