//! Digests of statements, as users of ProxySQL know them: a text without its values, and a number for that text.
//!
//! [`put_text`] normalises a statement to its *digest text*; [`Digest::of`] is the number by which rules and statistics name
//! that text. Both are pure and total: any bytes are a statement, since what a client sends is not known to be SQL, and
//! statistics must not be what a statement fails at.
//!
//! This room knows no other. It does not use the lexer of the `sql` room: what counts here is to give the same text as
//! ProxySQL does, where it is right about SQL and where it is not (a list's limits, blanks beside `=`, names that begin with a
//! digit), since people have these numbers in their rules. What decides whether anything is cached is never a digest.

mod number;
mod options;
mod output;
mod scan;
mod spooky;

pub use number::{Digest, NotADigest};
pub use options::Options;
pub use scan::put_text;

/// Returns the digest text of `query`.
#[must_use]
pub fn text(query: &[u8], options: &Options) -> Vec<u8> {
    let mut out = Vec::with_capacity(query.len().min(options.digest_length_max));
    put_text(query, options, &mut out);
    out
}

#[cfg(test)]
mod tests;
