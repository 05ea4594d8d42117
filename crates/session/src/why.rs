//! Why an answer is not stored: a closed list of reasons, each with a sentence and a remedy.
//!
//! `EXPLAIN FRESHET` shows them for one statement, and `freshet.queries` counts them by digest. The reason is decided where a statement is
//! refused, on the way to the server; an answer from memory has no reason.

use std::fmt;

use freshet_sql::Reason;

/// One reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Why {
    NotSelect,
    SeveralStatements,
    OtherSyntax,
    NotParsed,
    TooLong,
    Variable,
    Volatile,
    UnknownFunction,
    Locks,
    Into,
    Procedure,
    SystemTime,
    NoTable,
    SystemSchema,
    NameBeyondAscii,
    NoSchema,
    Dated,
    AsksBack,
    Table,
    Definition,
    ManyForms,
    CacheOff,
    NoSize,
    NotDemanded,
    NoCacheHint,
    TemporaryTable,
    UnknownCode,
    Transaction,
    Wrote,
    TablesLocked,
    Session,
    Settings,
    Parameters,
    Stream,
    Level,
    Unsettled,
    WriteUnderWay,
    SeldomRead,
    AnsweredBefore,
    Error,
    TooLarge,
    CopyBudget,
    NotShared,
    NoRoom,
    ChangedMeanwhile,
    QueryRule,
}

/// For how long a reason prevents storing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// The statement, or a table that it names, has to change.
    Always,
    /// The session or its transaction has to change.
    InSession,
    /// At another time the answer may be stored.
    Now,
}

impl Lasts {
    /// Returns the verdict on a statement, in a word.
    pub(crate) const fn verdict(self) -> &'static str {
        match self {
            Self::Always => "never cached",
            Self::InSession => "not cached in this session",
            Self::Now => "not cached now",
        }
    }
}

/// The texts of a reason.
pub(crate) struct Said {
    why: Why,
    /// The name in `freshet.queries`.
    pub(crate) name: &'static str,
    pub(crate) lasts: Lasts,
    /// A sentence.
    pub(crate) sentence: &'static str,
    /// What to change.
    pub(crate) remedy: &'static str,
}

/// How many reasons there are.
pub(crate) const COUNT: usize = 46;

const fn said(
    why: Why,
    name: &'static str,
    lasts: Lasts,
    sentence: &'static str,
    remedy: &'static str,
) -> Said {
    Said { why, name, lasts, sentence, remedy }
}

/// All reasons, in the order of their numbers.
#[rustfmt::skip]
pub(crate) static SAID: [Said; COUNT] = [
    said(Why::NotSelect, "not_select", Lasts::Always,
        "It is not a SELECT, or it changes rows.",
        "Nothing: only answers to SELECT are stored."),
    said(Why::SeveralStatements, "several_statements", Lasts::Always,
        "The text holds several statements.",
        "Send each statement in a text of its own."),
    said(Why::OtherSyntax, "sql_mode", Lasts::InSession,
        "The session's sql_mode changes the grammar in a way that Freshet does not read.",
        "Set a sql_mode without ORACLE, MSSQL, DB2, POSTGRESQL and the like in this session."),
    said(Why::NotParsed, "not_understood", Lasts::Always,
        "Freshet does not understand the text for certain.",
        "Write the part that is named in another way; a text with a syntax error cannot be stored."),
    said(Why::TooLong, "too_long", Lasts::Always,
        "The text is too long or too deeply nested to be analysed.",
        "Shorten the text: fewer values in a list, or fewer nested subqueries."),
    said(Why::Variable, "variable", Lasts::Always,
        "It reads or assigns a user variable or a system variable.",
        "Put the variable's value into the text, or make it a parameter of a prepared statement."),
    said(Why::Volatile, "volatile_function", Lasts::Always,
        "It calls a function whose result depends on more than its arguments, such as NOW() or RAND().",
        "Compute the value in the application and put it into the text, rounded to what is needed: a date instead of a moment."),
    said(Why::UnknownFunction, "stored_function", Lasts::Always,
        "It calls a function that is not known to be built in.",
        "Write the function's expression into the statement: what a stored function reads is not known."),
    said(Why::Locks, "locks_rows", Lasts::Always,
        "It locks rows (FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE).",
        "Leave the locking clause out where the rows are only read."),
    said(Why::Into, "into", Lasts::Always,
        "It writes its result into variables or a file (INTO).",
        "Leave INTO out."),
    said(Why::Procedure, "procedure", Lasts::Always,
        "It has a PROCEDURE clause.",
        "Leave PROCEDURE out."),
    said(Why::SystemTime, "system_time", Lasts::Always,
        "It reads a sequence, or a table as of a time (FOR SYSTEM_TIME).",
        "Nothing: what it reads changes without a change of rows."),
    said(Why::NoTable, "no_table", Lasts::Always,
        "It reads no table.",
        "Nothing: the server answers it as fast."),
    said(Why::SystemSchema, "system_schema", Lasts::Always,
        "It reads a schema of the server's own, whose changes are in no binlog.",
        "Nothing: mysql, information_schema, performance_schema and sys are never stored."),
    said(Why::NameBeyondAscii, "name_not_ascii", Lasts::InSession,
        "A table's name is not in ASCII, and what it names is not certain: the client's character set is not UTF-8, or there is a WITH.",
        "SET NAMES utf8mb4, or read the table through a view with a name in ASCII."),
    said(Why::NoSchema, "no_default_schema", Lasts::InSession,
        "A table is named without a schema, and the session has no default schema.",
        "Choose a schema (USE), or write it before the table's name."),
    said(Why::Dated, "current_date", Lasts::Always,
        "A TIME in it may be taken as a date and time, which depends on the current date.",
        "Compare the TIME column with a TIME, or write CAST(… AS TIME)."),
    said(Why::AsksBack, "last_statement", Lasts::Always,
        "It asks about the statement before it (FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID() and the like).",
        "Nothing: its answer is another one each time."),
    said(Why::Table, "table", Lasts::Always,
        "A table or view that it reads cannot be depended on.",
        "Read tables of InnoDB, MyISAM or Aria whose changes are all in the binlog; `freshet check` tells what the server lacks."),
    said(Why::Definition, "definition", Lasts::Now,
        "The definition of a table or view cannot be read now, or is just changing.",
        "Wait until the change of the definition is done; if it stays so, grant Freshet's account SELECT on the table and look into the log."),
    said(Why::ManyForms, "many_new_forms", Lasts::Now,
        "Too many statements of new forms came at once, and this one was not analysed.",
        "Wait a second. If it stays so, use parameters in the place of generated names and lists."),
    said(Why::CacheOff, "query_cache_type_off", Lasts::InSession,
        "query_cache_type is OFF in this session.",
        "SET query_cache_type = ON, in the session or globally."),
    said(Why::NoSize, "query_cache_size_0", Lasts::Now,
        "query_cache_size is 0.",
        "SET GLOBAL query_cache_size to the bytes that results may take."),
    said(Why::NotDemanded, "no_sql_cache", Lasts::InSession,
        "query_cache_type is DEMAND, and the statement does not say SQL_CACHE.",
        "Write SELECT SQL_CACHE, or SET query_cache_type = ON."),
    said(Why::NoCacheHint, "sql_no_cache", Lasts::Always,
        "The statement says SQL_NO_CACHE, or SKIP CACHE in a hint.",
        "Leave that out."),
    said(Why::TemporaryTable, "temporary_table", Lasts::InSession,
        "A temporary table of this session stands, or may stand, in the place of a table that it names.",
        "Drop the temporary table, or give it a name that no table has."),
    said(Why::UnknownCode, "unknown_code", Lasts::InSession,
        "Code ran in this session of which it is not known yet what it did.",
        "Let Freshet's account see routines and triggers (SHOW_ROUTINE or SELECT on mysql.proc, TRIGGER)."),
    said(Why::Transaction, "transaction", Lasts::InSession,
        "A transaction is open, or may be, and it is not known as of when it reads; or SET TRANSACTION holds for the next one.",
        "Begin transactions with BEGIN or START TRANSACTION at READ COMMITTED or REPEATABLE READ, and end them soon."),
    said(Why::Wrote, "own_write", Lasts::InSession,
        "The transaction has itself written what the statement reads.",
        "Nothing: only the server knows what is not committed. After COMMIT it is stored again."),
    said(Why::TablesLocked, "lock_tables", Lasts::InSession,
        "LOCK TABLES is in force in this session.",
        "UNLOCK TABLES."),
    said(Why::Session, "session_unknown", Lasts::InSession,
        "A statement may have changed the session, and the server has not said yet what it is like now.",
        "Nothing: it is read before the next SELECT. If it stays so, leave session_track_… as the server has them."),
    said(Why::Settings, "session_settings", Lasts::InSession,
        "The session's settings do not let results be shared.",
        "Use utf8mb4, latin1 or ascii as character set, and READ COMMITTED or REPEATABLE READ as isolation level."),
    said(Why::Parameters, "parameters", Lasts::InSession,
        "The execution is of a kind that is not stored: with a cursor, with a value that was sent in pieces, with values of other types \
         than before, or prepared in another environment.",
        "Execute it without a cursor and without COM_STMT_SEND_LONG_DATA, give each parameter always the same type, and prepare it \
         again after the session's settings have changed."),
    said(Why::Stream, "stream", Lasts::Now,
        "The binlog stream is not proven live, so nothing is stored and nothing is served.",
        "Look at Freshet_stream (SHOW STATUS LIKE 'freshet_stream') and run `freshet check`."),
    said(Why::Level, "level_not_proven", Lasts::Now,
        "The proof that the session's freshness level needs is not there now.",
        "Raise max_staleness, or look at Freshet_semisync where the level is semisync."),
    said(Why::Unsettled, "write_not_visible", Lasts::Now,
        "A change of what it reads is not known yet to be visible to everybody.",
        "Nothing: the next execution is stored. SET fill_wait has a statement wait for that."),
    said(Why::WriteUnderWay, "write_under_way", Lasts::Now,
        "A write is under way that may change what it reads.",
        "Nothing: after the write it is stored again. Shorter transactions keep less from being stored."),
    said(Why::SeldomRead, "seldom_read", Lasts::Now,
        "Of the results of such statements that were stored, fewer than one in 16 was read again. So one is stored when it is asked for a second time.",
        "Nothing; when more of them are asked for again, all are stored. SQL_CACHE in a statement has its result stored at once."),
    said(Why::AnsweredBefore, "stored_not_given", Lasts::Now,
        "Its answer is stored, and could not be given: the client's buffer was full, or the transaction's moment is not settled yet.",
        "Raise send_buffers_size if Freshet_send_refused grows."),
    said(Why::Error, "error", Lasts::Now,
        "The server answered with an error.",
        "Mend the statement, or grant what it needs."),
    said(Why::TooLarge, "query_cache_limit", Lasts::Always,
        "The result is larger than query_cache_limit, or than the whole cache.",
        "SET GLOBAL query_cache_limit to more, or have the statement return fewer rows (LIMIT)."),
    said(Why::CopyBudget, "fill_buffers_size", Lasts::Now,
        "Copies of answers under way used all of fill_buffers_size.",
        "Raise fill_buffers_size."),
    said(Why::NotShared, "not_shareable", Lasts::Now,
        "The answer holds what is this session's alone: warnings of its rows, a change of the session, or an open cursor.",
        "Look at SHOW WARNINGS behind it, and mend what it warns of."),
    said(Why::NoRoom, "no_room", Lasts::Now,
        "No room could be made for the result.",
        "Raise query_cache_size."),
    said(Why::ChangedMeanwhile, "changed_meanwhile", Lasts::Now,
        "What it reads changed while the server answered, or the binlog stream broke.",
        "Nothing: the next execution may be stored. Tables that are written all the time are not worth storing."),
    said(Why::QueryRule, "query_rule", Lasts::InSession,
        "A query rule keeps it from the cache, or no rule names it where only what rules name is cached.",
        "Look at runtime_mysql_query_rules and mysql-query_cache_rules_only at the admin port."),
];

impl Why {
    /// Returns the texts of the reason.
    pub(crate) fn said(self) -> &'static Said {
        &SAID[self as usize]
    }

    /// Returns the reason of this number.
    pub(crate) fn numbered(number: usize) -> Option<Self> {
        SAID.get(number).map(|said| said.why)
    }
}

/// A reason, and its detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: Why,
    /// The part of the statement that causes it; empty if the reason says all.
    pub(crate) about: String,
}

impl Refusal {
    pub(crate) fn about(why: Why, about: impl Into<String>) -> Self {
        Self { why, about: about.into() }
    }
}

impl From<Why> for Refusal {
    fn from(why: Why) -> Self {
        Self { why, about: String::new() }
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self { why: of_text(&reason), about: reason.text() }
    }
}

/// Returns the reason why a text alone forbids caching.
fn of_text(reason: &Reason) -> Why {
    match reason {
        Reason::NotSelect => Why::NotSelect,
        Reason::SeveralStatements => Why::SeveralStatements,
        Reason::OtherSyntax => Why::OtherSyntax,
        Reason::NotReadable | Reason::NotParsed(_) => Why::NotParsed,
        Reason::TooLarge => Why::TooLong,
        Reason::Variable | Reason::HintSetsVariable => Why::Variable,
        Reason::Volatile(_) => Why::Volatile,
        Reason::UnknownFunction(_) => Why::UnknownFunction,
        Reason::Locks => Why::Locks,
        Reason::Into => Why::Into,
        Reason::Procedure => Why::Procedure,
        Reason::Sequence | Reason::SystemTime => Why::SystemTime,
        Reason::NoTable => Why::NoTable,
        Reason::SystemSchema(_) => Why::SystemSchema,
        Reason::NameBeyondAscii => Why::NameBeyondAscii,
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.about.is_empty() { self.why.said().sentence } else { &self.about })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_the_order_of_their_numbers_and_say_something() {
        for (number, said) in SAID.iter().enumerate() {
            assert_eq!(said.why as usize, number, "{}", said.name);
            assert!(said.sentence.ends_with('.') && said.remedy.ends_with('.'), "{}", said.name);
            assert_eq!(SAID.iter().filter(|other| other.name == said.name).count(), 1, "{}", said.name);
        }
    }
}
