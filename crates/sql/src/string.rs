//! The content of string literals.

use crate::modes::Modes;

/// Returns the content of a string token, without its quotes and escapes; None if it is not UTF-8.
pub(crate) fn unquote_string(token: &[u8], modes: Modes) -> Option<String> {
    unquote_bytes(token, modes).and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Returns the same content as bytes; None if the token has no quotes.
pub(crate) fn unquote_bytes(token: &[u8], modes: Modes) -> Option<Vec<u8>> {
    let token = token.strip_prefix(b"N").or(token.strip_prefix(b"n")).unwrap_or(token);
    let quote = *token.first().filter(|&&byte| byte == b'\'' || byte == b'"')?;
    let inner = token.get(1..token.len().checked_sub(1)?)?;
    let mut content = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        let more = modes.multi_byte.filter(|_| !byte.is_ascii());
        if let Some(multi_byte) = more {
            let rest = inner.get(inner.len() - bytes.len() - 1..)?;
            content.push(byte);
            content.extend(bytes.by_ref().take(multi_byte.len(rest) - 1));
        } else if byte == b'\\' && !modes.no_backslash_escapes {
            unescape(bytes.next()?, &mut content);
        } else {
            if byte == quote {
                bytes.next();
            }
            content.push(byte);
        }
    }
    Some(content)
}

/// Adds an escaped character. `\%` and `\_` keep their backslash, which LIKE reads.
fn unescape(escaped: u8, content: &mut Vec<u8>) {
    match escaped {
        b'0' => content.push(0),
        b'b' => content.push(8),
        b'n' => content.push(b'\n'),
        b'r' => content.push(b'\r'),
        b't' => content.push(b'\t'),
        b'Z' => content.push(0x1a),
        b'%' | b'_' => content.extend([b'\\', escaped]),
        other => content.push(other),
    }
}
