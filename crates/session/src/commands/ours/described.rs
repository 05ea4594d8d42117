//! SHOW COLUMNS and DESCRIBE of `information_schema.query_cache_info`.

use freshet_sql::LikeFilter;

use super::made::COLUMNS;
use crate::local::{self, ShownCell};
use crate::session::Session;

/// The titles of SHOW COLUMNS. SHOW FULL COLUMNS has three more.
const TITLES: [&str; 6] = ["Field", "Type", "Null", "Key", "Default", "Extra"];
const TITLES_IN_FULL: [&str; 9] =
    ["Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment"];

/// Answers with the columns of MariaDB's plugin. Columns whose values Freshet does not know may be NULL.
pub(super) fn put(session: &mut Session, full: bool, like: Option<&LikeFilter>) {
    let is_wanted = |name: &str| like.is_none_or(|like| like.matches(name));
    let mut rows = Vec::new();
    for column in COLUMNS.iter().filter(|column| is_wanted(column.name)) {
        let null = if column.is_untold { "YES" } else { "NO" };
        let collation = if column.is_text() { Some("utf8mb3_general_ci") } else { None };
        let cells = |values: &[Option<&str>]| -> Vec<ShownCell> {
            values.iter().map(|value| value.map_or(ShownCell::Null, ShownCell::text)).collect()
        };
        let (name, kind, empty) = (Some(column.name), Some(column.kind), Some(""));
        rows.push(if full {
            cells(&[name, kind, collation, Some(null), empty, None, empty, Some("select"), empty])
        } else {
            cells(&[name, kind, Some(null), empty, None, empty])
        });
    }
    let titles: &[&str] = if full { &TITLES_IN_FULL } else { &TITLES };
    local::put_rows(session, titles, &rows);
}
