//! `freshet digest`: what ProxySQL calls a statement.

use freshet_digest::{Digest, Options, text};

/// Returns what is to be printed: its number, and the text that the number is of.
pub fn of(statement: &str) -> String {
    let text = text(statement.as_bytes(), &Options::default());
    format!("{} {}\n", Digest::of(&text), String::from_utf8_lossy(&text))
}
