//! Generated columns whose values are computed when they are read.

use std::collections::BTreeSet;

use freshet_sql::{Tokens, pure_expression};
use freshet_upstream::ServerInfo;

/// Returns the first virtual column whose expression may have another value at another reading.
///
/// Stored columns do not matter: their values are in the rows like any others. `columns` are pairs of a name and the expression as
/// information_schema shows it; `times` are the names of the table's columns of type TIME.
pub(crate) fn volatile<'a>(
    server: &ServerInfo,
    columns: impl IntoIterator<Item = (&'a str, &'a str)>,
    times: &BTreeSet<String>,
) -> Option<&'a str> {
    let is_pure = |expression: &str| {
        let text = if server.is_mariadb() { expression.as_bytes().to_vec() } else { unescape(expression) };
        pure_expression(&text, server.modes())
            && !Tokens::cut(&text, server.modes()).is_dated(&mut times.clone())
    };
    columns.into_iter().find(|(_, expression)| !is_pure(expression)).map(|(name, _)| name)
}

/// Undoes the escapes in an expression. MySQL shows expressions as the inside of a string literal: quotes and backslashes are escaped.
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let plain = match byte {
            b'\\' => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b'0') => b'\0',
                Some(b'Z') => 0x1A,
                Some(other) => other,
                None => b'\\',
            },
            other => other,
        };
        out.push(plain);
    }
    out
}

#[cfg(test)]
mod tests;
