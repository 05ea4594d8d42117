//! The words for which the text of a statement is searched on its way to the server. If a text has none of them, many readers need not read
//! it.
//!
//! A text is *plain* if it has none of the words outside of its plain literals. That is a fact of its skeleton, so the next text of the
//! skeleton is not searched. The content of a literal changes nothing, although the same word may stand in it: a skeleton is only known
//! for one SELECT, or for one write of the rows of a table. In these, a literal is a value, or at most the title of a column. It names no
//! table and no column that is read. It calls nothing, and is no hint. It is not executed as a text: PREPARE and EXECUTE IMMEDIATE, which
//! execute texts, are other statements, and no stored function or trigger may use them. So a reader that finds a word only in a literal
//! gives the same answer as without the word, or is more careful than it has to be. A text with a comment, a double quote, a backslash, an
//! `@` or a `?` has no skeleton. So a plain text assigns no variable, sets no savepoint, and executes no
//! other text.
//!
//! One reader is different: a write may store a variable of the session that a literal names, if a view of its own shows the tables of
//! variables. So no write that contains a SELECT is plain.

use freshet_sql::contains_ignoring_case;

/// Words of writes whose answers tell of the connection: its number, or a number that was given out on it. Sequences use NEXTVAL, NEXT VALUE
/// FOR, LASTVAL and PREVIOUS VALUE FOR.
pub(crate) const OF_CONNECTION: [&[u8]; 10] = [
    b"connection_id",
    b"thread_id",
    b"insert_id",
    b"identity",
    b"next",
    b"lastval",
    b"previous",
    b"gtid",
    b"_schema",
    b"processlist",
];
/// Words of statements that show facts which the server does not know.
pub(crate) const OF_SERVER: [&[u8]; 2] = [b"status", b"processlist"];
/// The word of a SELECT after which FOUND_ROWS() is asked on the same connection.
pub(crate) const COUNTS_ALL: &[u8] = b"sql_calc_found_rows";
/// The variable with which a statement has a time zone of its own.
pub(crate) const ZONE: &[u8] = b"time_zone";
/// The function that gives the row count of the statement before.
pub(crate) const ROW_COUNT: &[u8] = b"row_count";

/// Whether one of these words stands in a text, in any case.
pub(crate) fn has_any(text: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| contains_ignoring_case(text, word))
}

/// Whether a text is plain; `text` is without its plain literals, and `schema` is the default schema.
pub(crate) fn is_plain(text: &[u8], schema: Option<&str>) -> bool {
    !freshet_sql::may_mention(text, schema)
        && !freshet_sql::may_be_hinted(text)
        && !has_any(text, &OF_CONNECTION)
        && !has_any(text, &OF_SERVER)
        && !has_any(text, &[COUNTS_ALL, ZONE, ROW_COUNT])
        && !is_write_that_selects(text)
}

/// Whether a SELECT stands in a text that does not begin with one.
fn is_write_that_selects(text: &[u8]) -> bool {
    const SELECT: &[u8] = b"select";
    let begins = |text: &[u8]| text.get(..SELECT.len()).is_some_and(|word| word.eq_ignore_ascii_case(SELECT));
    !begins(text.trim_ascii_start()) && contains_ignoring_case(text, SELECT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_plain_if_no_reader_is_to_look_at_it() {
        for (text, schema, expected) in [
            ("SELECT a FROM t WHERE id = \u{1} AND b = \u{2}", Some("s"), true),
            ("UPDATE t SET a = \u{1} WHERE id = \u{1}", None, true),
            ("SELECT a FROM t WHERE id = \u{1}", Some("information_schema"), false),
            ("SELECT a FROM t WHERE id = \u{1}", Some("sys"), false),
            ("SELECT a FROM information_schema.tables", Some("s"), false),
            ("SELECT CONNECTION_ID () FROM t", Some("s"), false),
            ("SELECT a FROM sys.session", Some("s"), false),
            ("SELECT * FROM session_status", Some("s"), false),
            ("SELECT SQL_NO_CACHE a FROM t", Some("s"), false),
            ("SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT \u{1}", Some("s"), false),
            ("SELECT ROW_COUNT()", Some("s"), false),
            ("UPDATE t SET a = (SELECT v FROM w WHERE n = \u{2}) WHERE id = \u{1}", None, false),
            ("INSERT INTO t VALUES (NEXTVAL(q))", Some("s"), false),
            ("INSERT INTO t VALUES (LAST_INSERT_ID(\u{1}))", Some("s"), false),
            ("SET STATEMENT time_zone = \u{2} FOR DELETE FROM t", Some("s"), false),
        ] {
            assert_eq!(is_plain(text.as_bytes(), schema), expected, "{text}");
        }
    }
}
