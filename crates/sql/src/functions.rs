//! The servers' built-in functions, and what a call of each means.
//!
//! The lists allow: a name that is in none of them may be a stored or a loadable function and do anything. Only functions that every
//! supported server has are listed, because on a server without the function a stored one may have its name.

mod before_8;
mod lists;
/// What a result may depend on beside rows and the session's environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admits {
    /// Nothing.
    RowsAlone,
    /// The time, and values that differ at each call, on whatever connection.
    Time,
    /// The time, values that differ at each call, and chance. RAND() continues a sequence that belongs to the connection.
    TimeAndChance,
}

impl Admits {
    /// Whether this function, or word without parentheses, is admitted. `word` is in any letters.
    pub(crate) fn admits(self, word: &[u8]) -> bool {
        match self {
            Self::RowsAlone => false,
            Self::Time => is_of_time_or_chance(word) && !crate::words::is_in(word, &["RAND"]),
            Self::TimeAndChance => is_of_time_or_chance(word),
        }
    }
}

/// Functions, and words without parentheses, that depend only on the time, chance and the session's environment. UNIX_TIMESTAMP() does so
/// without arguments.
const TIME_AND_CHANCE: &[&str] = &[
    "CURDATE",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURTIME",
    "DATABASE",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "NOW",
    "RAND",
    "SCHEMA",
    "SYSDATE",
    "UNIX_TIMESTAMP",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "UUID",
    "UUID_SHORT",
];

#[cfg(test)]
mod tests;

use crate::modes::{Flavor, Modes};
use crate::words::Upper;

/// What a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionClass {
    /// The result depends on the arguments and the session's environment alone.
    Pure,
    /// The result depends on more, such as the time, but nothing is changed.
    Volatile,
    /// It reads state that the statement before it left behind.
    LastStatement,
    /// It changes state of the session, such as a named lock.
    Session,
    /// Not known: it may do anything.
    Unknown,
}

/// Returns what a call of `name`, unqualified and unquoted, means.
///
/// `spaced` says that a blank stands between the name and its parenthesis: without IGNORE_SPACE that turns some of the built-in names
/// into a stored function's.
pub(crate) fn class(name: &[u8], spaced: bool, modes: Modes) -> FunctionClass {
    let Some(upper) = Upper::of(name) else {
        return FunctionClass::Unknown;
    };
    let name = upper.as_str();
    if spaced && !modes.ignore_space && has(lists::NEED_ADJACENT_PARENTHESIS, name) {
        return FunctionClass::Unknown;
    }
    if modes.before_8 && has(before_8::NOT_IN_5_7, name) {
        return FunctionClass::Unknown;
    }
    if modes.before_8 && has(before_8::PURE_5_7, name) {
        return FunctionClass::Pure;
    }
    let (own, own_volatile) = match modes.flavor {
        Flavor::MySql => (lists::PURE_MYSQL, lists::VOLATILE_MYSQL),
        Flavor::MariaDb => (lists::PURE_MARIADB, lists::VOLATILE_MARIADB),
    };
    if has(lists::PURE, name) || has(own, name) {
        FunctionClass::Pure
    } else if has(lists::VOLATILE, name) || has(own_volatile, name) {
        FunctionClass::Volatile
    } else if has(lists::LAST_STATEMENT, name) {
        FunctionClass::LastStatement
    } else if has(lists::SESSION, name) {
        FunctionClass::Session
    } else {
        FunctionClass::Unknown
    }
}

/// Whether an unqualified word is the time, the user or the like even without parentheses.
pub(crate) fn is_volatile_word(word: &[u8]) -> bool {
    crate::words::is_in(word, lists::VOLATILE_WORDS)
}

/// Whether a function, or a word without parentheses, depends on the time or on chance, and otherwise only on its arguments and the
/// session's environment. `word` is in any letters.
fn is_of_time_or_chance(word: &[u8]) -> bool {
    crate::words::is_in(word, TIME_AND_CHANCE)
}

/// Whether a word in front of a parenthesis is grammar, so that no stored function can have the name.
pub(crate) fn is_grammar(word: &[u8], modes: Modes) -> bool {
    crate::words::is_in(word, lists::GRAMMAR) && !(modes.before_8 && is_new_word(word))
}

/// Whether MySQL 8.0 or a later version has reserved this word. In 5.7 it is a name.
pub(crate) fn is_new_word(word: &[u8]) -> bool {
    crate::words::is_in(word, before_8::NEW_WORDS)
}

/// Whether a name that is in no list is one of MariaDB's own functions for sequences.
pub(crate) fn is_of_sequences(name: &[u8]) -> bool {
    crate::words::is_in(name, &["LASTVAL", "NEXTVAL", "SETVAL"])
}

/// Whether a pure function is pure, and the built-in one, with this number of arguments: UNIX_TIMESTAMP() is the time, and see
/// [`is_itself_with`].
pub(crate) fn is_pure_with(name: &[u8], arguments: usize) -> bool {
    (name != b"UNIX_TIMESTAMP" || arguments > 0) && is_itself_with(name, arguments)
}

/// Whether a function of this name, in upper case, is the built-in one with this number of arguments: MariaDB looks for a stored function
/// if a POINT has not two arguments, or another geometry none.
pub(crate) fn is_itself_with(name: &[u8], arguments: usize) -> bool {
    match name {
        b"POINT" => arguments == 2,
        b"GEOMETRYCOLLECTION"
        | b"LINESTRING"
        | b"MULTILINESTRING"
        | b"MULTIPOINT"
        | b"MULTIPOLYGON"
        | b"POLYGON" => arguments > 0,
        _ => true,
    }
}

/// Whether for some number of arguments this is not the built-in function. `word` is in any letters.
pub(crate) fn depends_on_arguments(word: &[u8], modes: Modes) -> bool {
    modes.flavor == Flavor::MariaDb
        && Upper::of(word).is_some_and(|upper| !is_itself_with(upper.as_str().as_bytes(), 0))
}

fn has(list: &[&str], name: &str) -> bool {
    list.binary_search(&name).is_ok()
}

/// Whether a blank between this name and its parenthesis makes the call a stored function's.
pub(crate) fn needs_adjacent(name: &[u8], modes: Modes) -> bool {
    !modes.ignore_space && crate::words::is_in(name, lists::NEED_ADJACENT_PARENTHESIS)
}
