//! A column's value in its canonical form.

/// The precision up to which a DECIMAL's digits, without point, fit a signed 64-bit integer.
pub(super) const ORDERED_DIGITS_MAX: u8 = 18;

/// The canonical form of a column's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// NULL.
    Null,
    /// A value whose number sorts as the values do.
    Ordered(u64),
    /// Any other value.
    Text(Vec<u8>),
}
