//! Statements that Freshet answers itself: its variables, its status, its cache.

// The parts that these statements share.
mod parts;

// The statements: variables and status, the cache, and caches for single queries.
mod set;
mod show;
mod select;
mod described;
mod flush;
mod caches;

// Freshet's own within a statement for the server, and among several statements.
mod mention;
mod numbers;
mod several;

#[cfg(test)]
mod tests;

use crate::lex::Lexer;
use crate::modes::{Modes, TableName};
use crate::statement::{STATEMENTS_MAX, Statement};

pub use caches::{CacheHint, CacheSource, CacheStatement, CreateCache, Method, cache_hint, skips_cache};
pub use mention::{Made, Mention, Mentioned, may_mention, mentions, row_counts};
pub use numbers::ConnectionNumber;
pub use parts::{
    AssignedValue, Assignment, Keeps, LikeFilter, Lists, Ours, Scope, SelectedVariable, ShowFilter,
};
pub use several::{Piece, pieces};

impl LikeFilter {
    /// Whether a variable's name satisfies the filter.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            LikeFilter::Like(pattern) => show::like(pattern.as_bytes(), name.as_bytes()),
            LikeFilter::Names(names) => names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)),
        }
    }
}

/// Returns the statement as one of ours; None if it is not.
pub(crate) fn read(statement: &Statement<'_>) -> Option<Ours> {
    if statement.facts.lost || statement.cut_short {
        return None;
    }
    let mut cursor = statement.cursor();
    if let Some(statement) = caches::read(cursor) {
        return Some(Ours::Caches(Box::new(statement)));
    }
    if cursor.word("SET") {
        set::read(cursor)
    } else if cursor.word("SHOW") {
        show::read(cursor).or_else(|| described::shown(cursor))
    } else if cursor.any(&["DESC", "DESCRIBE", "EXPLAIN"]) {
        described::read(cursor)
    } else if cursor.word("SELECT") {
        select::read(cursor)
    } else if cursor.word("FLUSH") {
        flush::flushed(cursor)
    } else if cursor.word("RESET") {
        flush::reset(cursor)
    } else {
        None
    }
}

/// Returns the tables whose results a text of several statements drops from the cache, if all goes well: `None` for no table, an empty
/// list for all.
#[must_use]
pub fn empties(text: &[u8], modes: Modes) -> Option<Vec<TableName>> {
    let contains = |word: &[u8]| crate::lex::contains_ignoring_case(text, word);
    if !contains(b"flush") && !contains(b"reset") {
        return None;
    }
    let mut lexer = Lexer::new(text, modes);
    let mut all: Option<Vec<TableName>> = None;
    for _ in 0..STATEMENTS_MAX {
        let Some(statement) = Statement::next(&mut lexer, text, modes) else { return all };
        match read(&statement) {
            Some(Ours::FlushTables(names)) if !names.is_empty() => all.get_or_insert_default().extend(names),
            Some(Ours::FlushTables(_) | Ours::ResetQueryCache | Ours::AmongOthers { is_reset: true, .. }) => {
                return Some(Vec::new());
            }
            _ => {}
        }
    }
    Some(Vec::new())
}
