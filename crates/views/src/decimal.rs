//! Exact numbers with a fixed number of digits behind the point, in units of their last digit.

/// The number of a value.
pub type Number = i128;

/// The most digits of a column or of a literal, so that an `i128` holds its number.
pub(crate) const DIGITS_MAX: u8 = 38;
/// How many digits the servers keep in one word. They compute a quotient to full words, and cut it off there.
const WORD_DIGITS: u8 = 9;
/// The most digits behind the point of an average on every server.
const AVERAGE_SCALE_MAX: u8 = 30;
/// The most digits of a sum's column: 10^11 rows do not overflow it.
pub(crate) const SUM_DIGITS_MAX: u8 = 27;
/// The most digits of a quotient's whole part together with the digits that are added behind the point.
const QUOTIENT_DIGITS_MAX: u8 = 37;

/// A literal as a number of another scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scaled {
    /// The literal is this number.
    Exact(Number),
    /// The literal lies between this number and the next.
    Above(Number),
}

/// Reads digits with a sign and a point. Returns the number in units of the last digit, and how many digits are behind the point; `None`
/// for any other text, or one that is too long.
pub(crate) fn parts(text: &str) -> Option<(Number, u8)> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_short = whole.len() + fraction.len() <= usize::from(DIGITS_MAX);
    let is_number = !(whole.is_empty() && fraction.is_empty())
        && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_short || !is_number {
        return None;
    }
    let number = whole
        .bytes()
        .chain(fraction.bytes())
        .fold(0, |number: Number, byte| number * 10 + Number::from(byte - b'0'));
    Some((if is_negative { -number } else { number }, u8::try_from(fraction.len()).ok()?))
}

/// Returns the number of a value that a server shows with this scale.
pub(crate) fn parse(text: &[u8], scale: u8) -> Option<Number> {
    let (number, own) = parts(std::str::from_utf8(text).ok()?)?;
    (own == scale).then_some(number)
}

/// Returns a literal with a point; `None` if it has too many digits.
pub(crate) fn literal(text: &str, scale: u8) -> Option<Scaled> {
    let (number, own) = parts(text)?;
    Some(scaled(number, own, scale))
}

/// Returns a number of one scale in another. A number that is too large for any column counts as above, or below, all values of a column.
pub(crate) fn scaled(number: Number, from: u8, to: u8) -> Scaled {
    if to >= from {
        let unit = 10_i128.pow((to - from).into());
        return match number.checked_mul(unit) {
            Some(number) => Scaled::Exact(number),
            None if number < 0 => Scaled::Above(Number::MIN),
            None => Scaled::Above(Number::MAX),
        };
    }
    let unit = 10_i128.pow((from - to).into());
    let floor = number.div_euclid(unit);
    if floor * unit == number { Scaled::Exact(floor) } else { Scaled::Above(floor) }
}

/// Returns the number as the servers show it.
pub(crate) fn show(number: Number, scale: u8) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let (unit, number) = (10_u128.pow(scale.into()), number.unsigned_abs());
    match usize::from(scale) {
        0 => format!("{sign}{number}"),
        width => format!("{sign}{}.{:0width$}", number / unit, number % unit),
    }
}

/// Whether sums of a column with this many digits fit.
pub(crate) const fn can_sum(digits: u8) -> bool {
    digits <= SUM_DIGITS_MAX
}

/// Whether [`average`] gives the average of such a column, with `more` further digits behind the point. Where the digits fill whole
/// words, the servers cut the quotient off there, and do not agree on the sign of a zero.
pub(crate) const fn can_average(digits: u8, scale: u8, more: u8) -> bool {
    let shown = scale.saturating_add(more);
    digits.saturating_add(more) <= QUOTIENT_DIGITS_MAX
        && can_sum(digits)
        && shown <= AVERAGE_SCALE_MAX
        && !shown.is_multiple_of(WORD_DIGITS)
}

/// Returns a quotient with `more` digits more than the sum. The servers round it half away from zero.
pub(crate) fn average(sum: Number, of: u64, more: u8) -> Number {
    let (unit, count) = (10_i128.pow(more.into()), Number::from(of));
    let (whole, rest) = (sum.abs() / count, sum.abs() % count);
    let rounded = whole * unit + (rest * unit * 2 + count) / (count * 2);
    if sum < 0 { -rounded } else { rounded }
}
