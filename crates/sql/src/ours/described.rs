//! SHOW COLUMNS and DESCRIBE of `information_schema.query_cache_info`, which most servers do not have.

use super::parts::{LikeFilter, Ours};
use super::show::string;
use crate::cursor::Cursor;
use crate::modes::TableName;
use crate::token::TokenKind;

/// Reads what follows SHOW.
pub(super) fn shown(mut cursor: Cursor<'_>) -> Option<Ours> {
    let full = cursor.word("FULL");
    (cursor.any(&["COLUMNS", "FIELDS"]) && cursor.any(&["FROM", "IN"])).then_some(())?;
    let mut table = cursor.table_name()?;
    if cursor.any(&["FROM", "IN"]) {
        table.schema = Some(cursor.identifier()?);
    }
    let like = if cursor.word("LIKE") { Some(LikeFilter::Like(string(&mut cursor)?)) } else { None };
    (is_it(&table) && cursor.at_end()).then_some(Ours::ShowColumns { full, like })
}

/// Reads what follows DESCRIBE: the table, and perhaps a column or a pattern.
pub(super) fn read(mut cursor: Cursor<'_>) -> Option<Ours> {
    let table = cursor.table_name()?;
    let like = match cursor.peek() {
        None => None,
        Some(token) if token.kind == TokenKind::Str => Some(LikeFilter::Like(string(&mut cursor)?)),
        Some(_) => Some(LikeFilter::Names(vec![cursor.identifier()?])),
    };
    (is_it(&table) && cursor.at_end()).then_some(Ours::ShowColumns { full: false, like })
}

fn is_it(table: &TableName) -> bool {
    let is_schema = |schema: &String| schema.eq_ignore_ascii_case("information_schema");
    table.schema.as_ref().is_some_and(is_schema) && table.name.eq_ignore_ascii_case("query_cache_info")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::{Flavor, Modes};
    use crate::request::{Request, read};

    #[test]
    fn what_describes_the_table_is_ours() {
        let of = |text: &str| match read(text.as_bytes(), Modes::new(Flavor::MySql)) {
            Request::Ours(Ours::ShowColumns { full, like }) => Some((full, like)),
            _ => None,
        };
        let hits = || Some(LikeFilter::Names(vec!["hits".to_owned()]));
        let pattern = || Some(LikeFilter::Like("h%".to_owned()));
        for (text, expected) in [
            ("DESCRIBE information_schema.QUERY_CACHE_INFO", Some((false, None))),
            ("desc `INFORMATION_SCHEMA`.query_cache_info hits;", Some((false, hits()))),
            ("EXPLAIN information_schema.query_cache_info 'h%'", Some((false, pattern()))),
            ("SHOW FULL FIELDS IN query_cache_info IN information_schema LIKE 'h%'", Some((true, pattern()))),
            ("SHOW COLUMNS FROM information_schema.query_cache_info", Some((false, None))),
            ("SHOW COLUMNS FROM query_cache_info", None),
            ("SHOW COLUMNS FROM information_schema.tables", None),
            ("DESCRIBE information_schema.query_cache_info hits hits", None),
            ("EXPLAIN SELECT * FROM information_schema.query_cache_info", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
