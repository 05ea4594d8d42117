//! Digests of statements in ProxySQL's form: a text without its values, and a number for that text.
//!
//! [`put_text`] normalises a statement to its *digest text*; [`Digest::of`] is the number by which rules and statistics name that text.
//! Both are pure and total: any bytes are a statement, since a client may send something that is no SQL, and a statement must not fail
//! because of statistics.
//!
//! This room knows no other. It does not use the lexer of the `sql` room: it has to give the same text as ProxySQL, where ProxySQL is
//! right about SQL and where it is not (a list's limits, blanks beside `=`, names that begin with a digit), since people have these
//! numbers in their rules. A digest never decides whether anything is cached.

// How texts are normalised.
mod options;

// The digest text.
mod scan;
mod output;

// Its number.
mod number;
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
