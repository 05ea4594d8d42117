//! Exact numbers, kept as the server packs them and printed as it prints them.

use std::fmt;

use crate::Malformed;

/// Digits in four packed bytes.
const GROUP_DIGITS: usize = 9;
/// Bytes that so many digits of an incomplete group take.
const PART_BYTES: [usize; GROUP_DIGITS] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
/// The most digits that either server allows.
const PRECISION_MAX: u8 = 65;

/// A DECIMAL value, not yet unpacked.
///
/// Two of the same column are equal exactly if their bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal<'a> {
    precision: u8,
    scale: u8,
    packed: &'a [u8],
}

/// Bytes that a value takes, from the column's parameters.
pub(super) fn packed_len(meta: u16) -> Result<usize, Malformed> {
    let (whole, scale) = digits(meta)?;
    Ok(part_len(whole) + part_len(scale))
}

fn part_len(digits: usize) -> usize {
    digits / GROUP_DIGITS * 4 + PART_BYTES[digits % GROUP_DIGITS]
}

/// Digits before and after the point.
fn digits(meta: u16) -> Result<(usize, usize), Malformed> {
    let [precision, scale] = meta.to_le_bytes();
    if precision > PRECISION_MAX || scale > precision {
        return Err(Malformed::new("decimal column with impossible digits"));
    }
    Ok((usize::from(precision - scale), usize::from(scale)))
}

impl<'a> Decimal<'a> {
    /// `packed` has the length that [`packed_len`] gives.
    pub(super) fn new(meta: u16, packed: &'a [u8]) -> Self {
        let [precision, scale] = meta.to_le_bytes();
        Decimal { precision, scale, packed }
    }

    /// Returns all its digits, most significant first, without point and sign; as many
    /// as the column's precision. The buffer starts with them.
    pub fn digits(&self) -> [u8; PRECISION_MAX as usize] {
        let mut out = [0; PRECISION_MAX as usize];
        let scale = usize::from(self.scale);
        let whole = usize::from(self.precision) - scale;
        let mut bytes = self.packed.iter().enumerate().map(|(i, byte)| {
            let sign_bit = if i == 0 { 0x80 } else { 0 };
            let inverted = if self.sign_bit() { 0 } else { 0xff };
            byte ^ sign_bit ^ inverted
        });
        let mut at = 0;
        for group in groups(whole, scale) {
            let len = if group == GROUP_DIGITS { 4 } else { PART_BYTES[group] };
            let mut number =
                bytes.by_ref().take(len).fold(0u32, |number, byte| number << 8 | u32::from(byte));
            for digit in out[at..at + group].iter_mut().rev() {
                *digit = (number % 10) as u8;
                number /= 10;
            }
            at += group;
        }
        out
    }

    /// Returns all digits of the column, before and after the point.
    pub fn precision(&self) -> u8 {
        self.precision
    }

    /// Digits after the point.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Whether it is below zero, or a zero that the server wrote as negative.
    pub fn is_negative(&self) -> bool {
        !self.sign_bit()
    }

    fn sign_bit(&self) -> bool {
        self.packed.first().is_none_or(|first| first & 0x80 != 0)
    }
}

/// Returns how the digits are grouped: an incomplete group at either end.
fn groups(whole: usize, scale: usize) -> impl Iterator<Item = usize> {
    std::iter::once(whole % GROUP_DIGITS)
        .chain(std::iter::repeat_n(GROUP_DIGITS, whole / GROUP_DIGITS + scale / GROUP_DIGITS))
        .chain(std::iter::once(scale % GROUP_DIGITS))
}

impl fmt::Display for Decimal<'_> {
    /// As the server prints it: no leading zeros but one before the point, and
    /// all digits after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits();
        let digits = &digits[..usize::from(self.precision)];
        let (whole, fraction) = digits.split_at(digits.len() - usize::from(self.scale));
        if self.is_negative() && digits.iter().any(|digit| *digit != 0) {
            f.write_str("-")?;
        }
        let leading = whole.iter().take_while(|digit| **digit == 0).count();
        write_digits(f, &whole[leading..], "0")?;
        if fraction.is_empty() {
            return Ok(());
        }
        f.write_str(".")?;
        write_digits(f, fraction, "")
    }
}

fn write_digits(f: &mut fmt::Formatter<'_>, digits: &[u8], if_none: &str) -> fmt::Result {
    if digits.is_empty() {
        return f.write_str(if_none);
    }
    for digit in digits {
        write!(f, "{digit}")?;
    }
    Ok(())
}
