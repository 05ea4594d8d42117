//! Why a statement is not cacheable, in words for users.

use std::fmt;

/// Why a statement is not cacheable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Not a SELECT.
    NotSelect,
}

impl Reason {
    /// A sentence for users.
    pub fn text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is not a SELECT")
    }
}
