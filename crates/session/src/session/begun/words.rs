//! What the first words of a statement say of what the server does with tables for it.

use freshet_sql::{Effects, TransactionEffect, Writes};

use crate::reading::LONG_BYTES_MIN;

/// Whether a statement ends a transaction or marks a place in it, and reads nothing. SET, where it does anything to a transaction, turns
/// autocommit on or off.
pub(super) fn is_mark(text: &[u8], effects: &Effects) -> bool {
    const WORDS: [&str; 4] = ["COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"];
    let reads_nothing = effects.reads.is_nothing() && effects.calls.is_nothing();
    let sets = || reads_nothing && first_word_is(text, "SET") && !second_word_is(text, "STATEMENT");
    !effects.several && (WORDS.iter().any(|word| first_word_is(text, word)) || sets())
}

pub(super) fn first_word_is(text: &[u8], word: &str) -> bool {
    let first = text.split(|byte| !byte.is_ascii_alphabetic()).next();
    first.is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
}

fn second_word_is(text: &[u8], word: &str) -> bool {
    let mut words = text.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words.nth(1).is_some_and(|second| second.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a text may set a savepoint, by itself or as what was prepared by its text. A long one is not gone through.
pub(in crate::session) fn may_mark(text: &[u8]) -> bool {
    const WORD: &[u8] = b"SAVEPOINT";
    let names = || text.windows(WORD.len()).any(|part| part.eq_ignore_ascii_case(WORD));
    text.len() >= LONG_BYTES_MIN || names() || first_word_is(text, "EXECUTE")
}

/// Whether a statement concerns nothing but the session: SET, USE, and SHOW of what is no table. What is said of transactions holds
/// for the next one, and the one that is begun must be none.
pub(super) fn is_of_session(text: &[u8], effects: &Effects) -> bool {
    const SHOWN: [&str; 6] = ["VARIABLES", "STATUS", "WARNINGS", "ERRORS", "COUNT", "SESSION"];
    const OF_TRANSACTIONS: [&[u8]; 4] = [b"transaction", b"tx_", b"isolation", b"read_only"];
    let Effects { writes, reads, calls, transaction, several, .. } = effects;
    let is_plain = *writes == Writes::Nothing
        && reads.is_nothing()
        && calls.is_nothing()
        && *transaction == TransactionEffect::None
        && !several;
    let mut words = text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let is = |word: Option<&[u8]>, known: &str| {
        word.is_some_and(|word| word.eq_ignore_ascii_case(known.as_bytes()))
    };
    let (first, second) = (words.next(), words.next());
    let starts_so = is(first, "SET")
        || is(first, "USE")
        || is(first, "SHOW") && SHOWN.iter().any(|known| is(second, known));
    let names = |word: &&[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    is_plain && starts_so && text.len() < LONG_BYTES_MIN && !OF_TRANSACTIONS.iter().any(names)
}

/// The statement that sets a savepoint.
pub(in crate::session) fn savepoint(name: &str) -> String {
    format!("SAVEPOINT `{}`", name.replace('`', "``"))
}

/// The statement that opens a read view.
pub(super) fn start_snapshot(is_read_only: bool) -> String {
    let read_only = if is_read_only { ", READ ONLY" } else { "" };
    format!("START TRANSACTION WITH CONSISTENT SNAPSHOT{read_only}")
}
