//! Names of tables, views and routines.

/// A schema and a name in it.
pub type Name = (String, String);

/// Whether a server that does not tell names apart by case takes these two for the same.
#[must_use]
pub fn is_same_name(one: &Name, other: &Name) -> bool {
    one.0.eq_ignore_ascii_case(&other.0) && one.1.eq_ignore_ascii_case(&other.1)
}
