//! Statements that read or write rows.

use super::{Effects, Writes};
use crate::TableName;
use crate::cursor::Cursor;
use crate::modes::Flavor;
use crate::reserved::is_reserved;
use crate::statement::Statement;
use crate::token::{Token, TokenKind};

/// The most tables that are told of a statement; one that may write more counts as writing everything.
const TABLES_MAX: usize = 256;

/// Returns the effects of a statement that reads or writes rows; None if it is none.
pub(super) fn effects(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Option<Effects> {
    let writes = if cursor.any(&["SELECT", "VALUES", "TABLE", "DO"]) {
        Some(Writes::Nothing)
    } else if cursor.any(&["INSERT", "REPLACE"]) {
        inserted(&mut cursor)
    } else if cursor.word("UPDATE") {
        updated(&mut cursor)
    } else if cursor.word("DELETE") {
        deleted(&mut cursor, statement)
    } else if cursor.word("WITH") {
        behind_with(cursor, statement)
    } else if cursor.words(&["LOAD", "DATA"]) || cursor.words(&["LOAD", "XML"]) {
        loaded(&mut cursor)
    } else {
        return None;
    };
    let writes = writes.unwrap_or(Writes::Everything);
    let fires = writes != Writes::Nothing;
    Some(Effects { writes, fires, calls: statement.calls.clone(), ..Effects::none() })
}

/// Words between the verb and the first table; none of them can be a table's name without quotes.
const MODIFIERS: &[&str] = &["DELAYED", "HIGH_PRIORITY", "IGNORE", "LOW_PRIORITY"];

fn inserted(cursor: &mut Cursor<'_>) -> Option<Writes> {
    cursor.skip_all(MODIFIERS);
    cursor.word("INTO");
    Some(Writes::Tables(vec![cursor.table_name()?]))
}

/// Returns the tables of an UPDATE: any table between UPDATE and SET may be the updated one.
fn updated(cursor: &mut Cursor<'_>) -> Option<Writes> {
    cursor.skip_all(MODIFIERS);
    let (tables, ended) = table_positions(cursor, &["SET"])?;
    (ended && !tables.is_empty()).then_some(Writes::Tables(tables))
}

/// Returns the tables of a DELETE: any table or alias before WHERE may be the one: `DELETE a FROM t AS a`, `DELETE FROM a USING t AS a`.
fn deleted(cursor: &mut Cursor<'_>, statement: &Statement<'_>) -> Option<Writes> {
    cursor.skip_all(&["HISTORY", "IGNORE", "LOW_PRIORITY", "QUICK"]);
    let until: &[&str] = match cursor.modes.flavor {
        Flavor::MariaDb => &["WHERE", "ORDER", "LIMIT", "RETURNING"],
        Flavor::MySql => &["WHERE", "ORDER", "LIMIT"], // RETURNING may be an alias.
    };
    let (tables, ended) = table_positions(cursor, until)?;
    let whole = ended || !statement.cut_short;
    (whole && !tables.is_empty()).then_some(Writes::Tables(tables))
}

/// Collects every name that stands where a table can stand, up to one of the words outside of parentheses.
/// The flag says whether that word was found. None if a name cannot be read.
fn table_positions(cursor: &mut Cursor<'_>, until: &[&str]) -> Option<(Vec<TableName>, bool)> {
    const BEFORE_TABLE: &[&str] = &["FROM", "INTO", "JOIN", "LATERAL", "STRAIGHT_JOIN", "USING"];
    let mut tables = Vec::new();
    let mut depth = 0usize;
    let mut expect_table = true;
    while let Some(token) = cursor.peek() {
        if depth == 0 && cursor.at_any(until) {
            return Some((TableName::union(Vec::new(), tables, TABLES_MAX)?, true));
        }
        if expect_table && can_be_table(cursor, token) {
            let table = target(cursor)?;
            tables.push(table);
            expect_table = false;
            continue;
        }
        match token.kind {
            TokenKind::Punct(b'(') => depth += 1,
            TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
            // An ODBC escape: `{oj a LEFT JOIN b …}`.
            TokenKind::Punct(b'{') => return None,
            _ => {}
        }
        expect_table = matches!(token.kind, TokenKind::Punct(b',' | b'('))
            || cursor.at_any(BEFORE_TABLE)
            || (expect_table && token.kind == TokenKind::Word);
        cursor.next();
    }
    Some((TableName::union(Vec::new(), tables, TABLES_MAX)?, false))
}

/// Whether a token can be a table's name. A keyword is no table, but a table may follow it.
fn can_be_table(cursor: &Cursor<'_>, token: Token) -> bool {
    token.kind == TokenKind::Name || (token.kind == TokenKind::Word && !is_reserved(cursor.bytes(token)))
}

/// Reads `t`, `s.t`, `t.*` or `s.t.*`.
fn target(cursor: &mut Cursor<'_>) -> Option<TableName> {
    let first = cursor.identifier()?;
    let mut second = None;
    while cursor.punct(b'.') && !cursor.punct(b'*') {
        if second.is_some() {
            return Some(TableName { schema: Some(first), name: second? }); // A column behind the table.
        }
        second = Some(cursor.identifier()?);
    }
    Some(match second {
        Some(name) => TableName { schema: Some(first), name },
        None => TableName { schema: None, name: first },
    })
}

/// Returns the writes of WITH … SELECT, UPDATE or DELETE.
fn behind_with(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Option<Writes> {
    let mut depth = 0usize;
    while let Some(token) = cursor.next() {
        match token.kind {
            TokenKind::Punct(b'(') => depth += 1,
            TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
            TokenKind::Word if depth == 0 && token.is_word(cursor.text, "UPDATE") => {
                return updated(&mut cursor);
            }
            TokenKind::Word if depth == 0 && token.is_word(cursor.text, "DELETE") => {
                return deleted(&mut cursor, statement);
            }
            TokenKind::Word if depth == 0 && token.is_word(cursor.text, "SELECT") => {
                return Some(Writes::Nothing);
            }
            TokenKind::Word if depth == 0 && token.is_word(cursor.text, "INSERT") => return None,
            TokenKind::Word if depth == 0 && token.is_word(cursor.text, "REPLACE") => return None,
            _ => {}
        }
    }
    (!statement.cut_short).then_some(Writes::Nothing)
}

/// Returns the table of LOAD DATA … INTO TABLE t.
fn loaded(cursor: &mut Cursor<'_>) -> Option<Writes> {
    while cursor.seek_word("INTO") {
        if cursor.word("TABLE") {
            return Some(Writes::Tables(vec![cursor.table_name()?]));
        }
    }
    None
}
