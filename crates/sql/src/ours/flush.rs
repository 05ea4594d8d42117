//! FLUSH and RESET, as far as they concern the cache.

use super::parts::{self, Ours};
use super::set::until_comma;
use crate::cursor::Cursor;
use crate::modes::TableName;

/// Reads what follows FLUSH.
pub(super) fn flushed(mut cursor: Cursor<'_>) -> Option<Ours> {
    let is_local = cursor.at_any(LOCAL);
    cursor.skip_all(LOCAL);
    if whole(cursor, &["STATUS"]) || whole(cursor, &["GLOBAL", "STATUS"]) {
        return Some(Ours::FlushStatus);
    }
    if cursor.any(&["TABLE", "TABLES"]) {
        return flushed_tables(cursor).map(Ours::FlushTables);
    }
    if whole(cursor, QUERY_CACHE) {
        return Some(Ours::FlushQueryCache);
    }
    among_others(cursor, if is_local { "FLUSH LOCAL " } else { "FLUSH " }, false)
}

/// Reads what follows RESET.
pub(super) fn reset(mut cursor: Cursor<'_>) -> Option<Ours> {
    if cursor.word("PERSIST") {
        return reset_persist(cursor);
    }
    if whole(cursor, QUERY_CACHE) {
        return Some(Ours::ResetQueryCache);
    }
    among_others(cursor, "RESET ", true)
}

const LOCAL: &[&str] = &["LOCAL", "NO_WRITE_TO_BINLOG"];
const QUERY_CACHE: &[&str] = &["QUERY", "CACHE"];

/// Reads a list that names the query cache and objects of the server's.
fn among_others(mut cursor: Cursor<'_>, verb: &str, is_reset: bool) -> Option<Ours> {
    let mut rest = Vec::new();
    let mut count = 0;
    loop {
        let part = Cursor::new(cursor.text, cursor.modes, until_comma(&mut cursor));
        if part.at_end() {
            return None;
        }
        if !whole(part, QUERY_CACHE) {
            rest.push(std::str::from_utf8(part.rest_text()).ok()?);
        }
        count += 1;
        if !cursor.punct(b',') {
            break;
        }
    }
    let is_among = !rest.is_empty() && rest.len() < count;
    is_among.then(|| Ours::AmongOthers { is_reset, rest: format!("{verb}{}", rest.join(", ")) })
}

/// Reads what follows FLUSH TABLES: names, or nothing. With a lock, FLUSH TABLES is for backups, and the native query cache keeps its
/// results.
fn flushed_tables(mut cursor: Cursor<'_>) -> Option<Vec<TableName>> {
    let mut names = Vec::new();
    if cursor.at_end() {
        return Some(names);
    }
    loop {
        names.push(cursor.table_name()?);
        if cursor.at_end() {
            return Some(names);
        }
        cursor.punct(b',').then_some(())?;
    }
}

/// Reads what follows RESET PERSIST.
fn reset_persist(mut cursor: Cursor<'_>) -> Option<Ours> {
    if cursor.at_end() {
        return Some(Ours::ResetPersist { name: None, if_exists: false });
    }
    let if_exists = cursor.words(&["IF", "EXISTS"]);
    let name = cursor.identifier()?.to_ascii_lowercase();
    let is_it = cursor.at_end() && parts::is_ours(name.as_bytes());
    is_it.then_some(Ours::ResetPersist { name: Some(name), if_exists })
}

/// Whether these words are all that is left.
fn whole(mut cursor: Cursor<'_>, words: &[&str]) -> bool {
    cursor.words(words) && cursor.at_end()
}
