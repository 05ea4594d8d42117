//! What the first words of a statement tell about the server's work with tables.

use freshet_sql::{Characteristics, Effects, TransactionEffect, Writes, contains_ignoring_case};

use crate::reading::LONG_BYTES_MIN;
use crate::session::tx::Begun;

/// Whether a statement ends a transaction or marks a place in it, and reads nothing. A SET that affects a transaction turns
/// autocommit on or off.
pub(super) fn is_mark(text: &[u8], effects: &Effects) -> bool {
    const WORDS: [&str; 4] = ["COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"];
    let reads_nothing = effects.reads_nothing();
    let sets = || reads_nothing && first_word_is(text, "SET") && !second_word_is(text, "STATEMENT");
    !effects.several && (WORDS.iter().any(|word| first_word_is(text, word)) || sets())
}

/// Whether the transaction ends before the text does anything else. A statement before the end in the same text still belongs to the
/// transaction.
pub(super) fn only_ends(effects: &Effects) -> bool {
    let is_nothing = effects.writes == Writes::Nothing && effects.reads_nothing();
    let ends = matches!(
        effects.transaction,
        TransactionEffect::Ends | TransactionEffect::RollsBack | TransactionEffect::Begins
    );
    ends && (!effects.several || is_nothing)
}

pub(in crate::session) fn first_word_is(text: &[u8], word: &str) -> bool {
    let first = text.split(|byte| !byte.is_ascii_alphabetic()).next();
    first.is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
}

fn second_word_is(text: &[u8], word: &str) -> bool {
    let mut words = text.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words.nth(1).is_some_and(|second| second.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a text may set a savepoint, directly or as an EXECUTE of a prepared text. A long text is not searched.
pub(in crate::session) fn may_mark(text: &[u8]) -> bool {
    const WORD: &[u8] = b"SAVEPOINT";
    text.len() >= LONG_BYTES_MIN || contains_ignoring_case(text, WORD) || first_word_is(text, "EXECUTE")
}

/// Whether a statement concerns only the session: SET, USE, and SHOW of no table. A SET about transactions holds
/// for the next one, so the begun transaction must not count as the next.
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
    let names = |word: &&[u8]| contains_ignoring_case(text, word);
    is_plain && starts_so && text.len() < LONG_BYTES_MIN && !OF_TRANSACTIONS.iter().any(names)
}

/// Returns the statement that sets a savepoint.
pub(in crate::session) fn savepoint(name: &str) -> String {
    format!("SAVEPOINT `{}`", name.replace('`', "``"))
}

/// Returns the statements by which the server begins a transaction. `said`: the characteristics of this transaction alone. With `snapshot`,
/// the last statement opens a read view.
pub(super) fn starts(begun: Begun, said: Characteristics, snapshot: bool) -> Vec<String> {
    let mut statements = Vec::new();
    if said.isolation.is_some() {
        if begun.is_at_server {
            // Characteristics of one transaction cannot be set within another.
            statements.push(END.to_owned());
        }
        statements.extend(characterizes(Characteristics { read_only: None, ..said }));
    }
    let snapshot = if snapshot { " WITH CONSISTENT SNAPSHOT" } else { "" };
    let access = match (begun.is_read_only, said.read_only) {
        (true, _) => "READ ONLY",
        (false, Some(false)) => "READ WRITE",
        (false, _) => "",
    };
    let separator = match (snapshot, access) {
        (_, "") => "",
        ("", _) => " ",
        _ => ", ",
    };
    statements.push(format!("START TRANSACTION{snapshot}{separator}{access}"));
    statements
}

/// Returns the statements that begin a transaction at the server as the client has begun it.
pub(super) fn plain(begun: Begun, said: Characteristics) -> Vec<String> {
    if begun.is_explicit { starts(begun, said, false) } else { characterizes(said).into_iter().collect() }
}

/// The statement that ends a transaction, and does nothing else, whatever `completion_type` is.
pub(in crate::session) const END: &str = "COMMIT AND NO CHAIN NO RELEASE";

/// Returns the statement that sets these characteristics of the next transaction, if there are any.
pub(super) fn characterizes(said: Characteristics) -> Option<String> {
    let isolation = said.isolation.map(|level| format!("ISOLATION LEVEL {}", level.words()));
    let access = said.read_only.map(|only| if only { "READ ONLY" } else { "READ WRITE" }.to_owned());
    let parts: Vec<String> = isolation.into_iter().chain(access).collect();
    (!parts.is_empty()).then(|| format!("SET TRANSACTION {}", parts.join(", ")))
}
