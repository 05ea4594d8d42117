//! `freshet digest`: ProxySQL's digest of a statement.

use freshet_digest::{Digest, Options, text};

/// Returns the text to print: the digest, and the digest text.
pub fn of(statement: &str) -> String {
    let text = text(statement.as_bytes(), &Options::default());
    format!("{} {}\n", Digest::of(&text), String::from_utf8_lossy(&text))
}
