//! The header of a body, in the statement that the server shows for a trigger, a procedure or a function.

use std::ops::RangeInclusive;

use crate::cursor::Cursor;

/// Reads `CREATE DEFINER=… TRIGGER … FOR EACH ROW [FOLLOWS other]`.
pub(super) fn trigger(cursor: &mut Cursor<'_>) -> Option<Header> {
    (cursor.word("CREATE") && cursor.seek_word("TRIGGER") && cursor.seek_word("EACH")).then_some(())?;
    cursor.word("ROW").then_some(())?;
    if cursor.any(&["FOLLOWS", "PRECEDES"]) {
        cursor.table_name()?;
    }
    Some(Header::default())
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// The integers that it takes over unchanged, if only the caller sets it.
    pub(super) takes: Option<RangeInclusive<i128>>,
}

/// The header's facts about its body. Triggers, and blocks without a header, have no parameters.
#[derive(Default)]
pub(super) struct Header {
    /// Whether it is a procedure's.
    pub(super) is_procedure: bool,
    pub(super) parameters: Vec<Parameter>,
}

/// Reads `CREATE DEFINER=… FUNCTION f(a INT) RETURNS INT DETERMINISTIC`.
pub(super) fn routine(cursor: &mut Cursor<'_>) -> Option<Header> {
    cursor.word("CREATE").then_some(())?;
    // An account can have any name, but none of these without quotes.
    while !cursor.at_any(&["FUNCTION", "PROCEDURE"]) {
        cursor.next()?;
    }
    let is_function = cursor.word("FUNCTION");
    let _ = is_function || cursor.word("PROCEDURE");
    cursor.table_name()?;
    let parameters = parameters(cursor)?;
    if is_function {
        cursor.word("RETURNS").then_some(())?;
        type_of(cursor)?;
        attributes_of_type(cursor);
    }
    characteristics(cursor)?;
    Some(Header { is_procedure: !is_function, parameters })
}

/// Reads a type's name, with its length or values.
pub(super) fn type_of(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.next().filter(|token| token.is_name())?;
    if !cursor.punct(b'(') {
        return Some(());
    }
    while !cursor.punct(b')') {
        cursor.next().filter(|token| token.is_literal() || token.is(b','))?;
    }
    Some(())
}

/// Reads parameters. Each is a name and a type; a parameter with a default is not understood.
fn parameters(cursor: &mut Cursor<'_>) -> Option<Vec<Parameter>> {
    let mut parameters = Vec::new();
    cursor.punct(b'(').then_some(())?;
    while !cursor.punct(b')') {
        let is_given_back = cursor.any(&["INOUT", "OUT"]);
        cursor.word("IN");
        let name = cursor.identifier()?;
        let bits = integer_bits(cursor);
        type_of(cursor)?;
        let is_unsigned = attributes_of_type(cursor);
        let ends = cursor.punct(b',') || cursor.peek().is_some_and(|token| token.is(b')'));
        ends.then_some(())?;
        let range = |bits: u32| match is_unsigned {
            true => 0..=(1 << bits) - 1,
            false => -(1 << (bits - 1))..=(1 << (bits - 1)) - 1,
        };
        parameters.push(Parameter { name, takes: bits.filter(|_| !is_given_back).map(range) });
    }
    Some(parameters)
}

/// Returns the bits of the integer type whose name comes next.
fn integer_bits(cursor: &Cursor<'_>) -> Option<u32> {
    const TYPES: [(&str, u32); 6] =
        [("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("INTEGER", 32), ("BIGINT", 64)];
    TYPES.iter().find(|(name, _)| cursor.at_word(name)).map(|(_, bits)| *bits)
}

/// Reads UNSIGNED, a character set and the like. Returns whether a number is unsigned: MySQL takes these words in any order, and UNSIGNED
/// or ZEROFILL makes it so, also beside SIGNED.
fn attributes_of_type(cursor: &mut Cursor<'_>) -> bool {
    const WORDS: &[&str] = &["ASCII", "BINARY", "BYTE", "PRECISION", "SIGNED", "UNICODE"];
    let mut is_unsigned = false;
    loop {
        if cursor.words(&["CHARACTER", "SET"]) || cursor.any(&["CHARSET", "COLLATE", "SRID"]) {
            cursor.next();
        } else if cursor.any(&["UNSIGNED", "ZEROFILL"]) {
            is_unsigned = true;
        } else if !cursor.any(WORDS) {
            return is_unsigned;
        }
    }
}

/// Reads COMMENT, DETERMINISTIC and so on, up to the body; `None` if the body is in another language.
fn characteristics(cursor: &mut Cursor<'_>) -> Option<()> {
    const PHRASES: &[&[&str]] = &[
        &["CONTAINS", "SQL"],
        &["DETERMINISTIC"],
        &["LANGUAGE", "SQL"],
        &["MODIFIES", "SQL", "DATA"],
        &["NO", "SQL"],
        &["NOT", "DETERMINISTIC"],
        &["READS", "SQL", "DATA"],
        &["SQL", "SECURITY", "DEFINER"],
        &["SQL", "SECURITY", "INVOKER"],
    ];
    loop {
        if cursor.word("COMMENT") {
            cursor.next().filter(|token| token.is_literal())?;
        } else if !PHRASES.iter().any(|phrase| cursor.words(phrase)) {
            return (!cursor.at_word("LANGUAGE")).then_some(());
        }
    }
}
