//! Statements that begin, mark and end a transaction, and do nothing else.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::reserved::structures;
use crate::statement::Statement;
use crate::token::{Kind, Token};
use crate::words::is_in;

/// What such a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionControl {
    /// BEGIN [WORK]; START TRANSACTION [READ ONLY] [WITH CONSISTENT SNAPSHOT].
    Begin {
        /// It may write nothing but temporary tables.
        read_only: bool,
        /// What it reads is to be as of now.
        snapshot: bool,
    },
    /// COMMIT, and nothing begins after it but by `completion_type`.
    Commit,
    /// ROLLBACK, likewise.
    Rollback,
    /// SAVEPOINT, with its name.
    Savepoint(String),
    /// ROLLBACK TO [SAVEPOINT], with its name.
    RollbackTo(String),
    /// RELEASE SAVEPOINT, with its name.
    Release(String),
}

const WORDS: [&str; 6] = ["BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"];

/// Keywords of either server that are no names without quotes, and that no query that is understood here has.
const KEYWORDS: &[&str] = &[
    "CUBE",
    "CUME_DIST",
    "CURRENT_DATE",
    "CURRENT_ROLE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DELETE_DOMAIN_ID",
    "DENSE_RANK",
    "DO_DOMAIN_IDS",
    "DUAL",
    "EMPTY",
    "EXTERNAL",
    "FIRST_VALUE",
    "FUNCTION",
    "GENERATED",
    "GET",
    "GROUPING",
    "IGNORE_DOMAIN_IDS",
    "IO_AFTER_GTIDS",
    "IO_BEFORE_GTIDS",
    "LAG",
    "LAST_VALUE",
    "LEAD",
    "LIBRARY",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "MASTER_DEMOTE_TO_REPLICA",
    "MASTER_DEMOTE_TO_SLAVE",
    "MASTER_SSL_VERIFY_SERVER_CERT",
    "NTH_VALUE",
    "NTILE",
    "OF",
    "OPTIMIZER_COSTS",
    "PAGE_CHECKSUM",
    "PARSE_VCOL_EXPR",
    "PERCENT_RANK",
    "PORTION",
    "QUALIFY",
    "RANK",
    "REF_SYSTEM_ID",
    "RETURNING",
    "ROW_NUMBER",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORED",
    "SYSTEM",
    "TABLESAMPLE",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "VIRTUAL",
];

/// Reads a text that is one such statement; None for any other, and for forms that say more. READ WRITE is one of those: it is
/// refused by a server that is read only.
pub fn transaction_control(text: &[u8], modes: Modes) -> Option<TransactionControl> {
    let text = without_end(text);
    let mut lexer = Lexer::new(text, modes);
    let first = lexer.clone().next()?;
    if modes.other_syntax || !WORDS.iter().any(|word| first.is_word(text, word)) {
        return None;
    }
    let has_others = lexer.clone().any(|token| token.is(b';'));
    let statement = Statement::next(&mut lexer, text, modes)?;
    let is_alone = !has_others && !statement.cut_short && !statement.facts.lost;
    is_alone.then_some(())?;
    let mut cursor = statement.cursor();
    let control = read(&mut cursor)?;
    cursor.at_end().then_some(control)
}

/// A text without the blanks and semicolons at its end, which the servers leave out. What is behind any other semicolon is a
/// statement to them, even if it is empty or a comment.
fn without_end(text: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| *byte == b';' || byte.is_ascii_whitespace();
    let length = text.iter().rposition(|byte| !is_end(byte)).map_or(0, |last| last + 1);
    text.get(..length).unwrap_or_default()
}

fn read(cursor: &mut Cursor<'_>) -> Option<TransactionControl> {
    if cursor.word("BEGIN") {
        cursor.word("WORK");
        return Some(TransactionControl::Begin { read_only: false, snapshot: false });
    }
    if cursor.words(&["START", "TRANSACTION"]) {
        return started(cursor);
    }
    if cursor.word("COMMIT") {
        ends_plainly(cursor);
        return Some(TransactionControl::Commit);
    }
    if cursor.word("ROLLBACK") {
        if cursor.word("TO") || cursor.words(&["WORK", "TO"]) {
            cursor.word("SAVEPOINT");
            return name(cursor).map(TransactionControl::RollbackTo);
        }
        ends_plainly(cursor);
        return Some(TransactionControl::Rollback);
    }
    if cursor.word("SAVEPOINT") {
        return name(cursor).map(TransactionControl::Savepoint);
    }
    cursor.words(&["RELEASE", "SAVEPOINT"]).then(|| name(cursor).map(TransactionControl::Release))?
}

/// What follows START TRANSACTION: each characteristic once, in any order. What is left over is seen by the caller.
fn started(cursor: &mut Cursor<'_>) -> Option<TransactionControl> {
    let (mut read_only, mut snapshot) = (false, false);
    if cursor.at_end() {
        return Some(TransactionControl::Begin { read_only, snapshot });
    }
    loop {
        if !read_only && cursor.words(&["READ", "ONLY"]) {
            read_only = true;
        } else if !snapshot && cursor.words(&["WITH", "CONSISTENT", "SNAPSHOT"]) {
            snapshot = true;
        } else {
            return None;
        }
        if !cursor.punct(b',') {
            return Some(TransactionControl::Begin { read_only, snapshot });
        }
    }
}

/// What follows COMMIT and ROLLBACK and changes nothing. NO CHAIN and NO RELEASE do: they overrule `completion_type`, to the same
/// end as where it says nothing.
fn ends_plainly(cursor: &mut Cursor<'_>) {
    cursor.word("WORK");
    cursor.words(&["AND", "NO", "CHAIN"]);
    cursor.words(&["NO", "RELEASE"]);
}

/// A name. Names of savepoints are compared without case; what that is beyond ASCII is not known here. The server has an error for a
/// keyword without quotes, where that is one to it.
fn name(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_known = |word: &[u8]| structures(word) || is_in(word, KEYWORDS);
    let is_keyword = |token: Token| token.kind == Kind::Word && is_known(cursor.bytes(token));
    if cursor.peek().is_some_and(is_keyword) {
        return None;
    }
    cursor.identifier().filter(|name| name.is_ascii() && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::TransactionControl::*;
    use super::*;
    use crate::modes::Flavor;

    fn read(text: &str) -> Option<TransactionControl> {
        transaction_control(text.as_bytes(), Modes::new(Flavor::MySql))
    }

    #[test]
    fn plain_forms_are_read() {
        let begin = |read_only, snapshot| Some(Begin { read_only, snapshot });
        for (text, expected) in [
            ("BEGIN", begin(false, false)),
            ("/* a */ begin work ;", begin(false, false)),
            ("START TRANSACTION", begin(false, false)),
            ("start transaction read only", begin(true, false)),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT", begin(false, true)),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", begin(true, true)),
            ("COMMIT", Some(Commit)),
            ("COMMIT WORK AND NO CHAIN NO RELEASE", Some(Commit)),
            ("ROLLBACK", Some(Rollback)),
            ("ROLLBACK WORK;; \n;", Some(Rollback)),
            ("SAVEPOINT `select`;", Some(Savepoint("select".into()))),
            ("SAVEPOINT `A b`", Some(Savepoint("A b".into()))),
            ("ROLLBACK WORK TO s", Some(RollbackTo("s".into()))),
            ("ROLLBACK TO SAVEPOINT S", Some(RollbackTo("S".into()))),
            ("RELEASE SAVEPOINT s", Some(Release("s".into()))),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn all_others_are_left_alone() {
        for text in [
            "BEGIN NOT ATOMIC SELECT 1; END",
            "START TRANSACTION READ WRITE",
            "START TRANSACTION READ ONLY, READ ONLY",
            "START TRANSACTION READ ONLY,",
            "START SLAVE",
            "COMMIT AND CHAIN",
            "COMMIT RELEASE",
            "ROLLBACK AND CHAIN",
            "COMMIT; DELETE FROM t",
            "BEGIN /*! NOT ATOMIC */",
            "SAVEPOINT",
            "SAVEPOINT s t",
            "SAVEPOINT é",
            "SAVEPOINT select",
            "RELEASE SAVEPOINT Virtual",
            "BEGIN; -- a",
            "; BEGIN",
            "BEGIN; ; /* a */",
            "RELEASE s",
            "SELECT 1",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
