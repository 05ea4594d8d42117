//! Statements that begin, mark and end a transaction, and do nothing else.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::reserved::structures;
use crate::statement::Statement;
use crate::token::{Token, TokenKind};
use crate::words::{begins_as_select, is_in};

/// How a transaction isolates what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl Isolation {
    const ALL: [Self; 4] =
        [Self::ReadUncommitted, Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    /// Returns the words of SET TRANSACTION.
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

/// The characteristics that are given for one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Characteristics {
    /// Its level of isolation, if one is named.
    pub isolation: Option<Isolation>,
    /// READ ONLY, or else READ WRITE, if one of them is named.
    pub read_only: Option<bool>,
}

impl Characteristics {
    /// Whether no characteristic is given.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Returns these characteristics, with those that are given later.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self { isolation: later.isolation.or(self.isolation), read_only: later.read_only.or(self.read_only) }
    }
}

/// What follows the end of a transaction, as far as the statement tells. `completion_type` decides the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// AND CHAIN: another begins at once. AND NO CHAIN: none does.
    pub chain: Option<bool>,
    /// RELEASE: the session ends. NO RELEASE: it does not.
    pub release: Option<bool>,
}

/// What such a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionControl {
    /// BEGIN [WORK]; START TRANSACTION [READ ONLY | READ WRITE] [WITH CONSISTENT SNAPSHOT].
    Begin {
        /// Whether it may write only temporary tables; `None` if it may do what the session's transactions may.
        read_only: Option<bool>,
        /// Whether it opens its snapshot at once (WITH CONSISTENT SNAPSHOT).
        snapshot: bool,
    },
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK.
    Rollback(Completion),
    /// SAVEPOINT, with its name.
    Savepoint(String),
    /// ROLLBACK TO [SAVEPOINT], with its name.
    RollbackTo(String),
    /// RELEASE SAVEPOINT, with its name.
    Release(String),
    /// SET TRANSACTION, for the next transaction alone.
    Characterize(Characteristics),
}

const WORDS: [&str; 7] = ["BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET"];

/// Keywords of either server that are no names without quotes, and that stand in no query that is understood here.
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

/// Whether a text may be such a statement, by its first letters. A text that begins with a blank or a comment is not looked at.
pub fn may_control_transaction(text: &[u8]) -> bool {
    let [first, _, third, ..] = text else { return false };
    match first | 0x20 {
        b'b' | b'c' | b'r' => true,
        b's' => third | 0x20 != b'l',
        _ => false,
    }
}

/// Reads a text that is one such statement; None for any other.
pub fn transaction_control(text: &[u8], modes: Modes) -> Option<TransactionControl> {
    if begins_as_select(text) {
        return None;
    }
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

/// Returns a text without the blanks and semicolons at its end, which the servers leave out. Anything behind another semicolon is a
/// statement to them, even if it is empty or a comment.
fn without_end(text: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| *byte == b';' || byte.is_ascii_whitespace();
    let length = text.iter().rposition(|byte| !is_end(byte)).map_or(0, |last| last + 1);
    text.get(..length).unwrap_or_default()
}

fn read(cursor: &mut Cursor<'_>) -> Option<TransactionControl> {
    if cursor.word("BEGIN") {
        cursor.word("WORK");
        return Some(TransactionControl::Begin { read_only: None, snapshot: false });
    }
    if cursor.words(&["START", "TRANSACTION"]) {
        return started(cursor);
    }
    if cursor.words(&["SET", "TRANSACTION"]) {
        return characterized(cursor);
    }
    if cursor.word("COMMIT") {
        return completion(cursor).map(TransactionControl::Commit);
    }
    if cursor.word("ROLLBACK") {
        if cursor.word("TO") || cursor.words(&["WORK", "TO"]) {
            cursor.word("SAVEPOINT");
            return name(cursor).map(TransactionControl::RollbackTo);
        }
        return completion(cursor).map(TransactionControl::Rollback);
    }
    if cursor.word("SAVEPOINT") {
        return name(cursor).map(TransactionControl::Savepoint);
    }
    cursor.words(&["RELEASE", "SAVEPOINT"]).then(|| name(cursor).map(TransactionControl::Release))?
}

/// Reads what follows START TRANSACTION: each characteristic once, in any order. The caller sees the rest.
fn started(cursor: &mut Cursor<'_>) -> Option<TransactionControl> {
    let (mut read_only, mut snapshot) = (None, false);
    if cursor.at_end() {
        return Some(TransactionControl::Begin { read_only, snapshot });
    }
    loop {
        if let (None, Some(said)) = (read_only, access(cursor)) {
            read_only = Some(said);
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

/// Reads what follows SET TRANSACTION: each characteristic once, in any order.
fn characterized(cursor: &mut Cursor<'_>) -> Option<TransactionControl> {
    let mut said = Characteristics::default();
    loop {
        if let (None, Some(is_read_only)) = (said.read_only, access(cursor)) {
            said.read_only = Some(is_read_only);
        } else if said.isolation.is_none() && cursor.words(&["ISOLATION", "LEVEL"]) {
            let is_named = |level: &Isolation| {
                let words: Vec<&str> = level.words().split(' ').collect();
                cursor.words(&words)
            };
            said.isolation = Some(Isolation::ALL.into_iter().find(is_named)?);
        } else {
            return None;
        }
        if !cursor.punct(b',') {
            return Some(TransactionControl::Characterize(said));
        }
    }
}

/// Reads READ ONLY or READ WRITE. Returns whether it is READ ONLY.
fn access(cursor: &mut Cursor<'_>) -> Option<bool> {
    let is_read_only = cursor.words(&["READ", "ONLY"]);
    (is_read_only || cursor.words(&["READ", "WRITE"])).then_some(is_read_only)
}

/// Reads what follows COMMIT and ROLLBACK. The servers refuse both CHAIN and RELEASE.
fn completion(cursor: &mut Cursor<'_>) -> Option<Completion> {
    cursor.word("WORK");
    let chain = if cursor.words(&["AND", "NO", "CHAIN"]) {
        Some(false)
    } else {
        cursor.words(&["AND", "CHAIN"]).then_some(true)
    };
    let release =
        if cursor.words(&["NO", "RELEASE"]) { Some(false) } else { cursor.word("RELEASE").then_some(true) };
    let are_both = chain == Some(true) && release == Some(true);
    (!are_both).then_some(Completion { chain, release })
}

/// Reads a name. Names of savepoints are compared without case; how that works beyond ASCII is not known here. The server reports an
/// error for a keyword without quotes.
fn name(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_known = |word: &[u8]| structures(word) || is_in(word, KEYWORDS);
    let is_keyword = |token: Token| token.kind == TokenKind::Word && is_known(cursor.bytes(token));
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
        let plain = Completion::default();
        let no = Some(false);
        let isolation =
            |level, read_only| Some(Characterize(Characteristics { isolation: level, read_only }));
        for (text, expected) in [
            ("BEGIN", begin(None, false)),
            ("/* a */ begin work ;", begin(None, false)),
            ("START TRANSACTION", begin(None, false)),
            ("start transaction read only", begin(Some(true), false)),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT", begin(None, true)),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", begin(Some(true), true)),
            ("START TRANSACTION READ WRITE", begin(Some(false), false)),
            ("COMMIT", Some(Commit(plain))),
            ("COMMIT AND CHAIN", Some(Commit(Completion { chain: Some(true), ..plain }))),
            ("COMMIT RELEASE", Some(Commit(Completion { release: Some(true), ..plain }))),
            (
                "ROLLBACK WORK AND CHAIN NO RELEASE",
                Some(Rollback(Completion { chain: Some(true), release: no })),
            ),
            ("SET TRANSACTION READ WRITE", isolation(None, no)),
            (
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                isolation(Some(Isolation::RepeatableRead), None),
            ),
            (
                "set transaction read only, isolation level Read /* a */ Committed;",
                isolation(Some(Isolation::ReadCommitted), Some(true)),
            ),
            ("COMMIT WORK AND NO CHAIN NO RELEASE", Some(Commit(Completion { chain: no, release: no }))),
            ("ROLLBACK", Some(Rollback(plain))),
            ("ROLLBACK WORK;; \n;", Some(Rollback(plain))),
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
            "START TRANSACTION READ WRITE, READ ONLY",
            "START TRANSACTION READ ONLY, READ ONLY",
            "START TRANSACTION READ ONLY,",
            "START SLAVE",
            "COMMIT AND CHAIN RELEASE",
            "SET SESSION TRANSACTION READ ONLY",
            "SET TRANSACTION",
            "SET TRANSACTION ISOLATION LEVEL",
            "SET TRANSACTION READ ONLY, READ WRITE",
            "SET autocommit = 0",
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
