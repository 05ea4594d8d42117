//! Statements that define something. They are read in the same way when they are sent and when the binlog repeats them.

use crate::TableName;
use crate::cursor::{Cursor, unquote_name};
use crate::string::unquote_string;
use crate::token::TokenKind;

/// What a defining statement touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DdlTouches {
    /// Definition and rows of these tables or views.
    Tables(Vec<TableName>),
    /// The rows of these tables, all of them.
    Emptied(Vec<TableName>),
    /// These temporary tables appear.
    TemporaryCreated(Vec<TableName>),
    /// These temporary tables go.
    TemporaryDropped(Vec<TableName>),
    /// A whole schema; None is the current one.
    Schema(Option<String>),
    /// A trigger, on this table if it is named, else somewhere in this schema (None is the current one).
    Trigger { on: Option<TableName>, schema: Option<String> },
    /// A procedure or a function.
    Routine(TableName),
    /// Something that can give any number of names another meaning: a package of routines, a loadable function.
    Code,
    /// Accounts, roles, privileges: of these user names, in lower case; None where that cannot be told.
    Accounts(Option<Vec<String>>),
    /// Something on which no result depends.
    Nothing,
    /// Anything.
    Everything,
}

/// The statements that this module reads, by their first word.
pub(crate) const FIRST_WORDS: &[&str] = &["ALTER", "CREATE", "DROP", "GRANT", "RENAME", "REVOKE", "TRUNCATE"];

/// Reads a defining statement. `cursor` stands at its first word.
pub(crate) fn touched(mut cursor: Cursor<'_>) -> DdlTouches {
    let found = if cursor.word("CREATE") {
        create(&mut cursor)
    } else if cursor.word("ALTER") {
        alter(&mut cursor)
    } else if cursor.word("DROP") {
        drop(&mut cursor)
    } else if cursor.word("RENAME") {
        rename(&mut cursor)
    } else if cursor.word("TRUNCATE") {
        cursor.word("TABLE");
        cursor.table_name().map(|name| DdlTouches::Emptied(vec![name]))
    } else if cursor.at_any(&["GRANT", "REVOKE"]) {
        let before = if cursor.word("GRANT") { "TO" } else { "FROM" };
        Some(DdlTouches::Accounts(cursor.seek_word(before).then(|| accounts(cursor)).flatten()))
    } else {
        None
    };
    found.unwrap_or(DdlTouches::Everything)
}

/// Whether a statement, if it is one on accounts, may take rights from an existing user. `cursor` stands at its first word. `ALTER USER`
/// changes only logins.
pub(crate) fn may_take_rights(mut cursor: Cursor<'_>) -> bool {
    let gives = cursor.at_word("GRANT") || cursor.words(&["ALTER", "USER"]);
    let replaces = || cursor.clone().words(&["CREATE", "OR"]);
    !gives && (!cursor.at_word("CREATE") || replaces())
}

/// Whether a statement may define a view, or something that a view runs.
pub(crate) fn may_define_view(cursor: Cursor<'_>) -> bool {
    const DEFINED: &[&str] = &["FUNCTION", "PACKAGE", "RENAME", "VIEW"];
    cursor.at_word("RENAME")
        || cursor.at_any(&["ALTER", "CREATE"])
            && cursor.rest().iter().any(|token| DEFINED.iter().any(|word| token.is_word(cursor.text, word)))
}

fn create(cursor: &mut Cursor<'_>) -> Option<DdlTouches> {
    cursor.words(&["OR", "REPLACE"]);
    skip_view_options(cursor);
    let temporary = cursor.word("TEMPORARY");
    if cursor.any(&["TABLE", "SEQUENCE"]) {
        return create_table(cursor, temporary);
    }
    if cursor.word("VIEW") {
        return named(cursor);
    }
    cursor.any(&["ONLINE", "OFFLINE"]);
    cursor.any(&["UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"]);
    if cursor.word("INDEX") {
        return on_table(cursor);
    }
    if cursor.any(&["DATABASE", "SCHEMA"]) {
        cursor.skip_if_exists();
        return Some(DdlTouches::Schema(Some(cursor.identifier()?)));
    }
    if cursor.word("TRIGGER") {
        cursor.skip_if_exists();
        let schema = cursor.table_name()?.schema;
        let on = if cursor.seek_word("ON") { cursor.table_name() } else { None };
        return Some(DdlTouches::Trigger { on, schema });
    }
    other(cursor)
}

/// Reads definitions of accounts, routines, and objects on which no result depends.
fn other(cursor: &mut Cursor<'_>) -> Option<DdlTouches> {
    if cursor.any(&["USER", "ROLE"]) || cursor.words(&["DEFAULT", "ROLE"]) {
        return Some(DdlTouches::Accounts(accounts(*cursor)));
    }
    cursor.skip_all(&["AGGREGATE", "UNDO"]);
    if cursor.any(&["FUNCTION", "PROCEDURE"]) {
        cursor.skip_if_exists();
        let name = cursor.table_name()?;
        // A stored function has parameters before RETURNS, at least a pair of parentheses.
        let is_loadable = cursor.at_word("RETURNS");
        return Some(if is_loadable { DdlTouches::Code } else { DdlTouches::Routine(name) });
    }
    if cursor.word("PACKAGE") {
        return Some(DdlTouches::Code);
    }
    const HARMLESS: &[&str] = &["EVENT", "LOGFILE", "RESOURCE", "SERVER", "TABLESPACE"];
    cursor.any(HARMLESS).then_some(DdlTouches::Nothing)
}

fn create_table(cursor: &mut Cursor<'_>, temporary: bool) -> Option<DdlTouches> {
    cursor.skip_if_exists();
    let name = cursor.table_name()?;
    if temporary {
        return Some(DdlTouches::TemporaryCreated(vec![name]));
    }
    Some(DdlTouches::Tables(vec![name]))
}

fn alter(cursor: &mut Cursor<'_>) -> Option<DdlTouches> {
    skip_view_options(cursor);
    if cursor.word("VIEW") {
        return named(cursor);
    }
    cursor.skip_all(&["ONLINE", "OFFLINE", "IGNORE"]);
    if cursor.any(&["TABLE", "SEQUENCE"]) {
        return alter_table(cursor);
    }
    if cursor.any(&["DATABASE", "SCHEMA"]) {
        return Some(alter_schema(cursor));
    }
    other(cursor)
}

/// Reads what follows ALTER DATABASE, which may leave the schema out; then its options follow at once.
fn alter_schema(cursor: &mut Cursor<'_>) -> DdlTouches {
    const OPTIONS: &[&str] = &["CHARACTER", "CHARSET", "COLLATE", "COMMENT", "DEFAULT", "ENCRYPTION", "READ"];
    if cursor.at_any(OPTIONS) {
        return DdlTouches::Schema(None);
    }
    cursor.identifier().map_or(DdlTouches::Everything, |name| DdlTouches::Schema(Some(name)))
}

/// Returns the table itself, its new name, and the partner of an exchange.
fn alter_table(cursor: &mut Cursor<'_>) -> Option<DdlTouches> {
    cursor.skip_if_exists();
    let mut tables = vec![cursor.table_name()?];
    while let Some(token) = cursor.next() {
        let is = |word| token.is_word(cursor.text, word);
        if is("RENAME") && !cursor.at_any(&["COLUMN", "INDEX", "KEY"]) {
            cursor.any(&["TO", "AS"]);
            cursor.punct(b'=');
            tables.push(cursor.table_name()?);
        } else if is("TABLE") {
            // EXCHANGE PARTITION … WITH TABLE, and MariaDB's CONVERT PARTITION … TO TABLE and CONVERT TABLE … TO.
            tables.push(cursor.table_name()?);
        }
        if tables.len() > TABLES_MAX {
            return None;
        }
    }
    Some(DdlTouches::Tables(tables))
}

fn drop(cursor: &mut Cursor<'_>) -> Option<DdlTouches> {
    let temporary = cursor.word("TEMPORARY");
    if cursor.any(&["TABLE", "TABLES", "SEQUENCE"]) {
        cursor.skip_if_exists();
        let names = names(cursor)?;
        return Some(if temporary { DdlTouches::TemporaryDropped(names) } else { DdlTouches::Tables(names) });
    }
    if cursor.any(&["VIEW", "VIEWS"]) {
        cursor.skip_if_exists();
        return Some(DdlTouches::Tables(names(cursor)?));
    }
    cursor.any(&["ONLINE", "OFFLINE"]);
    if cursor.word("INDEX") {
        return on_table(cursor);
    }
    if cursor.any(&["DATABASE", "SCHEMA"]) {
        cursor.skip_if_exists();
        return Some(DdlTouches::Schema(Some(cursor.identifier()?)));
    }
    if cursor.word("TRIGGER") {
        cursor.skip_if_exists();
        return Some(DdlTouches::Trigger { on: None, schema: cursor.table_name()?.schema });
    }
    other(cursor)
}

fn rename(cursor: &mut Cursor<'_>) -> Option<DdlTouches> {
    if cursor.word("USER") {
        return Some(DdlTouches::Accounts(accounts(*cursor)));
    }
    if !cursor.any(&["TABLE", "TABLES"]) {
        return None;
    }
    cursor.skip_if_exists();
    let mut tables = Vec::new();
    loop {
        tables.push(cursor.table_name()?);
        skip_wait(cursor);
        if !cursor.word("TO") {
            return None;
        }
        tables.push(cursor.table_name()?);
        if !cursor.punct(b',') {
            return Some(DdlTouches::Tables(tables));
        }
        if tables.len() >= TABLES_MAX {
            return None;
        }
    }
}

/// The most user names that a statement may mention before it counts as one about any account.
const ACCOUNTS_MAX: usize = 256;

/// Returns every user name that may be meant from here on, in lower case: all words and strings, whether they are user names or not.
/// `None` where an account may be meant that has no name there: the session's own, all accounts, or the nameless one, whose rights on
/// schemas are everybody's.
pub(crate) fn accounts(mut cursor: Cursor<'_>) -> Option<Vec<String>> {
    const NOT_NAMED: &[&str] = &["CURRENT_ROLE", "CURRENT_USER", "PUBLIC"];
    const NOT_NAMED_IF_CALLED: &[&str] = &["SESSION_USER", "SYSTEM_USER", "USER"];
    const BEFORE_SECRET: &[&str] = &["AS", "BY", "REPLACE", "USING"];
    let mut users = Vec::new();
    let mut is_secret = false;
    while let Some(token) = cursor.peek() {
        let bytes = cursor.bytes(token);
        let is_called = cursor.peek_at(1).is_some_and(|next| next.is(b'('));
        match token.kind {
            TokenKind::Word if cursor.at_any(NOT_NAMED) => return None,
            TokenKind::Word if is_called && cursor.at_any(NOT_NAMED_IF_CALLED) => return None,
            TokenKind::Unknown => return None,
            TokenKind::Word | TokenKind::Name | TokenKind::Str => {
                let name = match token.kind {
                    TokenKind::Str => unquote_string(bytes, cursor.modes),
                    kind => unquote_name(kind, bytes),
                };
                // A secret may be empty, or be no text; a user without a name is the nameless one.
                match name.filter(|name| name.is_ascii() && !name.is_empty()) {
                    Some(name) => users.push(user_name(&name)),
                    None if is_secret => {}
                    None => return None,
                }
            }
            _ => {}
        }
        is_secret = cursor.at_any(BEFORE_SECRET) || token.is(b'=') || token.is(b'(') || token.is(b'@');
        is_secret |= token.kind == TokenKind::At;
        if users.len() > ACCOUNTS_MAX {
            return None;
        }
        cursor.next();
    }
    (!users.is_empty()).then_some(users)
}

/// Whether what follows SET is a password or a default role.
pub(crate) fn sets_account(mut cursor: Cursor<'_>) -> bool {
    cursor.at_word("PASSWORD") || cursor.words(&["DEFAULT", "ROLE"])
}

/// Returns the [`accounts`] of such a SET. Without the name of an account, it is the session's own.
pub(crate) fn accounts_set(mut cursor: Cursor<'_>) -> Option<Vec<String>> {
    if cursor.words(&["PASSWORD", "FOR"]) { accounts(cursor) } else { None }
}

/// Returns a user name in the form in which it is compared here: it ignores differences that a server may ignore.
pub fn user_name(name: &str) -> String {
    name.trim_end().to_ascii_lowercase()
}

/// Passes MariaDB's `WAIT 5` and `NOWAIT`.
pub(crate) fn skip_wait(cursor: &mut Cursor<'_>) {
    if cursor.word("WAIT") {
        cursor.next();
    }
    cursor.word("NOWAIT");
}

/// The most tables that a statement may name; a statement with more counts as naming all.
const TABLES_MAX: usize = 1024;

/// Returns a list of tables, as in DROP TABLE.
pub(crate) fn names(cursor: &mut Cursor<'_>) -> Option<Vec<TableName>> {
    let mut names = vec![cursor.table_name()?];
    while cursor.punct(b',') {
        if names.len() >= TABLES_MAX {
            return None;
        }
        names.push(cursor.table_name()?);
    }
    let ends = cursor.peek().is_none_or(|token| token.kind == crate::token::TokenKind::Word);
    ends.then_some(names)
}

fn named(cursor: &mut Cursor<'_>) -> Option<DdlTouches> {
    cursor.skip_if_exists();
    Some(DdlTouches::Tables(vec![cursor.table_name()?]))
}

/// Reads CREATE INDEX … ON t.
fn on_table(cursor: &mut Cursor<'_>) -> Option<DdlTouches> {
    if !cursor.seek_word("ON") {
        return None;
    }
    Some(DdlTouches::Tables(vec![cursor.table_name()?]))
}

/// Passes ALGORITHM = …, DEFINER = …, SQL SECURITY …, in front of VIEW and others.
fn skip_view_options(cursor: &mut Cursor<'_>) {
    loop {
        if cursor.words(&["SQL", "SECURITY"]) {
            cursor.next();
        } else if cursor.word("ALGORITHM") {
            cursor.punct(b'=');
            cursor.next();
        } else if cursor.word("DEFINER") {
            cursor.punct(b'=');
            skip_account(cursor);
        } else {
            return;
        }
    }
}

/// Passes `'user'@'host'`, `user@host`, CURRENT_USER, CURRENT_USER().
fn skip_account(cursor: &mut Cursor<'_>) {
    cursor.next();
    if cursor.punct(b'(') {
        cursor.close();
    }
    if cursor.peek().is_some_and(|token| token.kind == crate::token::TokenKind::At) {
        cursor.next();
        cursor.next();
        while cursor.punct(b'.') {
            cursor.next();
        }
    }
}
