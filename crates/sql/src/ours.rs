//! Statements that we answer ourselves: our variables, our status, our cache.

mod parts;
mod mention;
mod select;
mod set;
mod show;
#[cfg(test)]
mod tests;

use crate::cursor::Cursor;
use crate::statement::Statement;

pub use mention::{Mention, Mentioned, mentions};
pub use parts::{Assignment, LikeFilter, Lists, Ours, Scope, SelectedVariable, ShowFilter, Value};

impl LikeFilter {
    /// Whether a variable's name passes.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            LikeFilter::Like(pattern) => show::like(pattern.as_bytes(), name.as_bytes()),
            LikeFilter::Names(names) => names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)),
        }
    }
}

/// The statement as one of ours; None if it is not.
pub(crate) fn read(statement: &Statement<'_>) -> Option<Ours> {
    if statement.facts.lost || statement.cut_short {
        return None;
    }
    let mut cursor = statement.cursor();
    if cursor.word("SET") {
        set::read(cursor)
    } else if cursor.word("SHOW") {
        show::read(cursor)
    } else if cursor.word("SELECT") {
        select::read(cursor)
    } else if cursor.word("FLUSH") {
        cursor.skip_all(&["LOCAL", "NO_WRITE_TO_BINLOG"]);
        if whole(cursor, &["STATUS"]) || whole(cursor, &["GLOBAL", "STATUS"]) {
            return Some(Ours::FlushStatus);
        }
        whole(cursor, &["QUERY", "CACHE"]).then_some(Ours::FlushQueryCache)
    } else if cursor.word("RESET") {
        whole(cursor, &["QUERY", "CACHE"]).then_some(Ours::ResetQueryCache)
    } else {
        None
    }
}

/// Whether these words are all that is left.
fn whole(mut cursor: Cursor<'_>, words: &[&str]) -> bool {
    cursor.words(words) && cursor.at_end()
}
