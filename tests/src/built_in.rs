//! The product's lists of built-in functions, read from its source: they are nobody else's to see.

const LISTS: &str = include_str!("../../crates/sql/src/functions/lists.rs");

/// The names of a list.
///
/// # Panics
/// There is no such list.
#[must_use]
pub fn list(name: &str) -> Vec<&'static str> {
    let (_, rest) = LISTS.split_once(&format!("const {name}: ")).expect("there is such a list");
    let (names, _) = rest.split_once("];").expect("it ends");
    names.split('"').skip(1).step_by(2).collect()
}
