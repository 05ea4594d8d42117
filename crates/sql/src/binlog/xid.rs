//! XA statements and the identity of their branches.

use super::{BinlogEffect, Xid};
use crate::cursor::Cursor;
use crate::string::unquote_bytes;
use crate::token::TokenKind;

/// The longest part of an xid, in bytes.
const PART_BYTES_MAX: usize = 64;

/// Reads what follows XA.
pub(super) fn effect(mut cursor: Cursor<'_>) -> Option<BinlogEffect> {
    let verb = cursor.next()?;
    let xid = xid(&mut cursor)?;
    let is = |word| verb.is_word(cursor.text, word);
    if is("START") || is("BEGIN") {
        Some(BinlogEffect::XaStart { xid })
    } else if is("END") {
        Some(BinlogEffect::XaEnd { xid })
    } else if is("PREPARE") {
        Some(BinlogEffect::XaPrepare { xid })
    } else if is("COMMIT") {
        Some(BinlogEffect::XaCommit { xid })
    } else if is("ROLLBACK") {
        Some(BinlogEffect::XaRollback { xid })
    } else {
        None
    }
}

/// Reads `gtrid [, bqual [, formatID]]`.
fn xid(cursor: &mut Cursor<'_>) -> Option<Xid> {
    let gtrid = part(cursor)?;
    let bqual = if cursor.punct(b',') { part(cursor)? } else { Vec::new() };
    let format_id = if cursor.punct(b',') { number(cursor)? } else { 1 };
    Some(Xid { format_id, gtrid, bqual })
}

/// Reads a string, `X'1F'`, or `0x1F`.
fn part(cursor: &mut Cursor<'_>) -> Option<Vec<u8>> {
    let token = cursor.next()?;
    let bytes = cursor.bytes(token);
    let content = match token.kind {
        TokenKind::Str => unquote_bytes(bytes, cursor.modes)?,
        TokenKind::Literal => hex(bytes)?,
        _ => return None,
    };
    (content.len() <= PART_BYTES_MAX).then_some(content)
}

fn hex(literal: &[u8]) -> Option<Vec<u8>> {
    let quoted = literal.strip_prefix(b"X'").or(literal.strip_prefix(b"x'"));
    let digits = match quoted {
        Some(rest) => rest.strip_suffix(b"'")?,
        None => literal.strip_prefix(b"0x")?,
    };
    let nibble = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let padded = [b"0".repeat(digits.len() % 2), digits.to_vec()].concat();
    padded.chunks(2).map(|pair| Some(nibble(*pair.first()?)? << 4 | nibble(*pair.get(1)?)?)).collect()
}

fn number(cursor: &mut Cursor<'_>) -> Option<i64> {
    let negative = cursor.punct(b'-');
    let token = cursor.next()?;
    let text = std::str::from_utf8(cursor.bytes(token)).ok()?;
    let value: i64 = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}
