//! What stands in front of a body, in the statement that the server shows for a trigger, a procedure or a function.

use crate::cursor::Cursor;

/// `CREATE DEFINER=… TRIGGER … FOR EACH ROW [FOLLOWS other]`.
pub(super) fn trigger(cursor: &mut Cursor<'_>) -> Option<()> {
    (cursor.word("CREATE") && cursor.seek_word("TRIGGER") && cursor.seek_word("EACH")).then_some(())?;
    cursor.word("ROW").then_some(())?;
    if cursor.any(&["FOLLOWS", "PRECEDES"]) {
        cursor.table_name()?;
    }
    Some(())
}

/// `CREATE DEFINER=… FUNCTION f(a INT) RETURNS INT DETERMINISTIC`: the names of the parameters.
pub(super) fn routine(cursor: &mut Cursor<'_>) -> Option<Vec<String>> {
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
    Some(parameters)
}

/// A type's name, with its length or values.
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

/// Each is a name and a type; what has a default is not understood.
fn parameters(cursor: &mut Cursor<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    cursor.punct(b'(').then_some(())?;
    while !cursor.punct(b')') {
        cursor.any(&["IN", "INOUT", "OUT"]);
        names.push(cursor.identifier()?);
        type_of(cursor)?;
        attributes_of_type(cursor);
        let ends = cursor.punct(b',') || cursor.peek().is_some_and(|token| token.is(b')'));
        ends.then_some(())?;
    }
    Some(names)
}

/// UNSIGNED, a character set and the like.
fn attributes_of_type(cursor: &mut Cursor<'_>) {
    const WORDS: &[&str] =
        &["ASCII", "BINARY", "BYTE", "PRECISION", "SIGNED", "UNICODE", "UNSIGNED", "ZEROFILL"];
    loop {
        if cursor.words(&["CHARACTER", "SET"]) || cursor.any(&["CHARSET", "COLLATE", "SRID"]) {
            cursor.next();
        } else if !cursor.any(WORDS) {
            return;
        }
    }
}

/// COMMENT, DETERMINISTIC and so on, up to the body; `None` where it is in another language.
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
