//! Texts that no server accepts as a statement, told by their first words: nothing of them runs.
//!
//! The lists hold every word that may stand there, for both servers and for later versions as far as these are known. Texts with these
//! words are read elsewhere. If a server accepts another word after all, its answer is no parse error: a session that sends a text on the
//! word of these lists has to check that.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::token::{Token, TokenKind};
use crate::words::is_in;

/// The words with which a statement of either server can start, or a statement of a stored program, in order.
const STARTS: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "BACKUP",
    "BEGIN",
    "BINLOG",
    "CACHE",
    "CALL",
    "CASE",
    "CHANGE",
    "CHECK",
    "CHECKSUM",
    "CLONE",
    "CLOSE",
    "COMMIT",
    "CONTINUE",
    "CREATE",
    "CURSOR",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DELIMITER",
    "DESC",
    "DESCRIBE",
    "DO",
    "DROP",
    "ELSE",
    "END",
    "EXCEPTION",
    "EXECUTE",
    "EXIT",
    "EXPLAIN",
    "FETCH",
    "FLUSH",
    "FOR",
    "FORALL",
    "FROM",
    "FUNCTION",
    "GET",
    "GOTO",
    "GRANT",
    "HANDLER",
    "HELP",
    "IF",
    "IMPORT",
    "INSERT",
    "INSTALL",
    "ITERATE",
    "KILL",
    "LEAVE",
    "LOAD",
    "LOCK",
    "LOOP",
    "MASTER",
    "MERGE",
    "OPEN",
    "OPTIMIZE",
    "PACKAGE",
    "PREPARE",
    "PROCEDURE",
    "PURGE",
    "RAISE",
    "RELEASE",
    "RENAME",
    "REPAIR",
    "REPEAT",
    "REPLACE",
    "RESET",
    "RESIGNAL",
    "RESTART",
    "RETURN",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "SHUTDOWN",
    "SIGNAL",
    "SLAVE",
    "START",
    "STOP",
    "TABLE",
    "TRUNCATE",
    "UNINSTALL",
    "UNLOCK",
    "UPDATE",
    "USE",
    "VALUES",
    "WHILE",
    "WITH",
    "XA",
];

/// The words that can follow CREATE, ALTER or DROP, in order.
const DEFINED: &[&str] = &[
    "AGGREGATE",
    "ALGORITHM",
    "CATALOG",
    "CONNECTION",
    "DATABASE",
    "DEFAULT",
    "DEFINER",
    "EVENT",
    "EXTERNAL",
    "FULLTEXT",
    "FUNCTION",
    "GLOBAL",
    "HYPERGRAPH",
    "IGNORE",
    "INDEX",
    "INSTANCE",
    "JSON",
    "LANGUAGE",
    "LIBRARY",
    "LOCAL",
    "LOGFILE",
    "MATERIALIZED",
    "OFFLINE",
    "ONLINE",
    "OR",
    "PACKAGE",
    "PREPARE",
    "PRIMARY",
    "PROCEDURE",
    "PUBLIC",
    "REDO",
    "RELATIONAL",
    "RESOURCE",
    "ROLE",
    "SCHEMA",
    "SEQUENCE",
    "SERVER",
    "SPATIAL",
    "SQL",
    "STATISTICS",
    "SYNONYM",
    "SYSTEM",
    "TABLE",
    "TABLES",
    "TABLESPACE",
    "TEMPORARY",
    "TRIGGER",
    "TYPE",
    "UNDO",
    "UNIQUE",
    "USER",
    "VECTOR",
    "VIEW",
    "VIEWS",
];

/// Whether no server accepts this text as a statement, whatever its modes. Only ASCII letters at its very beginning are looked at; they
/// mean the same in every character set that a client can have.
pub(super) fn is_refused_text(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_part = |byte: &u8| !byte.is_ascii() || byte.is_ascii_digit() || matches!(byte, b'_' | b'$');
    let is_other = rest.first().is_some_and(is_part) || rest.trim_ascii_start().first().is_some_and(is_named);
    !word.is_empty() && !is_other && !is_in(word, STARTS)
}

/// Whether this byte behind a first word makes the word a name: of a label, or of a variable, which MariaDB sets without SET under
/// `sql_mode` ORACLE.
fn is_named(byte: &u8) -> bool {
    matches!(byte, b':' | b'.' | b'@')
}

/// Whether no server accepts the text at the cursor as a statement.
pub(super) fn is_refused(mut cursor: Cursor<'_>) -> bool {
    let Some(first) = cursor.next().filter(|token| token.kind == TokenKind::Word) else { return false };
    let word = cursor.bytes(first);
    let next = cursor.peek().and_then(|token| cursor.bytes(token).first().copied());
    if next.as_ref().is_some_and(is_named) || !word.is_ascii() {
        return false;
    }
    if !is_in(word, STARTS) {
        return true;
    }
    let defines = is_in(word, &["ALTER", "CREATE", "DROP"]);
    let what = cursor.peek().filter(|token| token.kind == TokenKind::Word).map(|token| cursor.bytes(token));
    let defines_nothing =
        || cursor.at_end() || what.is_some_and(|what| what.is_ascii() && !is_in(what, DEFINED));
    defines && defines_nothing() || is_cut_off(cursor, word)
}

/// Whether a number, a string or nothing stands where a table has to be named.
fn is_cut_off(mut cursor: Cursor<'_>, word: &[u8]) -> bool {
    let is_expected = match word.to_ascii_uppercase().as_slice() {
        b"INSERT" | b"REPLACE" => cursor.word("INTO"),
        b"ALTER" | b"CREATE" | b"DROP" | b"RENAME" | b"TRUNCATE" => cursor.word("TABLE"),
        b"UPDATE" => true,
        _ => false,
    };
    let cannot_name = |token: Token| {
        // In every mode: the content of double quotes may be a name.
        let is_quoted = token.kind == TokenKind::Str && cursor.bytes(token).starts_with(b"'");
        is_quoted || matches!(token.kind, TokenKind::Int | TokenKind::Real)
    };
    // Words that both servers reserve.
    let is_reserved = cursor.at_any(&["FROM", "INTO", "SELECT", "SET", "WHERE"]);
    is_expected && (is_reserved || cursor.peek().is_none_or(cannot_name))
}

/// Whether a text begins as a compound statement of MariaDB's does.
pub(super) fn is_compound(text: &[u8], modes: Modes) -> bool {
    let mut lexer = Lexer::new(text, modes);
    let Some(first) = lexer.next() else { return false };
    let is = |word| first.is_word(text, word);
    ["CASE", "IF", "LOOP", "REPEAT", "WHILE"].iter().any(|word| is(word))
        || is("BEGIN") && lexer.next().is_some_and(|token| token.is_word(text, "NOT"))
}
