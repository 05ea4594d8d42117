//! SHOW TABLES, SHOW COLUMNS and DESCRIBE of the schema `freshet`, in the forms that clients use to discover a schema: without LIKE
//! and WHERE.

use freshet_protocol::ErrPacket;
use freshet_sql::contains_ignoring_case;

use super::{RowFormat, is_absent, put};
use crate::introspection::{
    IntrospectionTable, IntrospectionType, IntrospectionValue, Rowset, SCHEMA, TABLES,
};
use crate::relay::Lost;
use crate::session::{Flow, Session};

/// What a statement asks for.
#[derive(Debug, PartialEq, Eq)]
enum ShowTarget {
    Tables,
    /// The columns of the table of this name.
    Columns(String),
    /// USE: only that the schema exists.
    Use,
}

/// The longest statement that may ask for one of these, in bytes: longer texts are not read.
const TEXT_BYTES_MAX: usize = 256;

/// Whether a statement may ask for one of these: few do.
pub(in crate::commands) fn may_be_shown(text: &[u8]) -> bool {
    text.len() <= TEXT_BYTES_MAX && contains_ignoring_case(text, SCHEMA.as_bytes())
}

/// Answers a statement that asks for one of these, if it does not mean a schema of the server.
pub(in crate::commands) async fn show(session: &mut Session, text: &[u8]) -> Option<Result<Flow, Lost>> {
    let (target, is_full) = read(std::str::from_utf8(text).ok()?)?;
    if session.shared.options.engine.is_none() || !is_absent(session).await {
        return None;
    }
    Some(put_shown(session, target, is_full))
}

/// Like [`show`], in a session that has said `USE freshet`, where the schema need not be named.
pub(super) fn shown_inside(session: &mut Session, text: &str) -> Option<Result<Flow, Lost>> {
    let (target, is_full) = read(text).or_else(|| read(&with_schema(text)?))?;
    Some(put_shown(session, target, is_full))
}

/// Adds the schema to a SHOW or DESCRIBE that names none.
fn with_schema(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (last, first) = (words.last()?, words.first()?);
    let is_show = first.eq_ignore_ascii_case("show");
    let is_named = last.contains('.');
    match words.len() {
        2 | 3 if is_show && last.eq_ignore_ascii_case("tables") => Some(format!("{text} FROM {SCHEMA}")),
        2 if !is_show && !is_named => Some(format!("{first} {SCHEMA}.{last}")),
        4 | 5 if is_show && !is_named => Some(format!("{text} FROM {SCHEMA}")),
        _ => None,
    }
}

fn put_shown(session: &mut Session, target: ShowTarget, is_full: bool) -> Result<Flow, Lost> {
    let found = match target {
        ShowTarget::Use => return choose(session),
        ShowTarget::Tables => tables(is_full),
        ShowTarget::Columns(name) => match TABLES.iter().find(|table| table.name.eq_ignore_ascii_case(&name))
        {
            Some(table) => columns(table, is_full),
            None => {
                let why = format!("Table '{SCHEMA}.{name}' doesn't exist");
                return session.refuse(&ErrPacket::new(1146, "42S02", why));
            }
        },
    };
    put(session, &found, RowFormat::Text)
}

/// Carries out `USE freshet`.
pub(super) fn choose(session: &mut Session) -> Result<Flow, Lost> {
    session.state.reads_ours = true;
    session.put_ok(0);
    Ok(Flow::Continue)
}

/// Returns what a text asks for, and whether it asks for FULL.
fn read(text: &str) -> Option<(ShowTarget, bool)> {
    let text = text.trim().trim_end_matches(';');
    let words: Vec<String> =
        text.split_ascii_whitespace().map(|word| word.replace('`', "").to_ascii_lowercase()).collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_full = words.first() == Some(&"show") && words.get(1) == Some(&"full");
    if is_full {
        words.remove(1);
    }
    let of_schema =
        |name: &str| name.split_once('.').filter(|(schema, _)| *schema == SCHEMA).map(|it| it.1.to_owned());
    let target = match words[..] {
        ["use", SCHEMA] => ShowTarget::Use,
        ["show", "tables", "from" | "in", SCHEMA] => ShowTarget::Tables,
        ["show", "columns" | "fields", "from" | "in", name, "from" | "in", SCHEMA] => {
            ShowTarget::Columns(name.to_owned())
        }
        ["show", "columns" | "fields", "from" | "in", name] | ["desc" | "describe", name] => {
            ShowTarget::Columns(of_schema(name)?)
        }
        _ => return None,
    };
    Some((target, is_full))
}

fn tables(is_full: bool) -> Rowset {
    let titles = [format!("Tables_in_{SCHEMA}"), "Table_type".to_owned()];
    let count = if is_full { 2 } else { 1 };
    let row = |table: &IntrospectionTable| -> Vec<IntrospectionValue> {
        [table.name, "SYSTEM VIEW"].into_iter().take(count).map(IntrospectionValue::from).collect()
    };
    let mut rows: Vec<&IntrospectionTable> = TABLES.iter().collect();
    rows.sort_by_key(|table| table.name);
    Rowset { columns: titles.into_iter().take(count).collect(), rows: rows.into_iter().map(row).collect() }
}

/// Returns the rows for a table's columns. FULL adds the meaning of each column, as its comment.
fn columns(table: &IntrospectionTable, is_full: bool) -> Rowset {
    let titles = ["Field", "Type", "Null", "Key", "Default", "Extra", "Comment"];
    let count = if is_full { titles.len() } else { titles.len() - 1 };
    let row = |&(name, kind, meaning): &(&str, IntrospectionType, &str)| -> Vec<IntrospectionValue> {
        let kind = match kind {
            IntrospectionType::Integer => "bigint",
            IntrospectionType::Real => "double",
            IntrospectionType::Text => "text",
        };
        let values = [
            name.into(),
            kind.into(),
            "YES".into(),
            "".into(),
            IntrospectionValue::Null,
            "".into(),
            meaning.into(),
        ];
        values.into_iter().take(count).collect()
    };
    let titles = titles.into_iter().take(count).map(str::to_owned).collect();
    Rowset { columns: titles, rows: table.columns.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_told_by_its_words() {
        let columns = || ShowTarget::Columns("queries".to_owned());
        for (text, expected) in [
            ("SHOW TABLES FROM freshet", Some((ShowTarget::Tables, false))),
            ("show full tables in `Freshet`;", Some((ShowTarget::Tables, true))),
            ("DESC freshet.queries", Some((columns(), false))),
            ("SHOW FULL COLUMNS FROM `queries` FROM `freshet`", Some((columns(), true))),
            ("SHOW COLUMNS FROM freshet.queries", Some((columns(), false))),
            ("SHOW COLUMNS FROM other.queries", None),
            ("SHOW TABLES FROM freshet LIKE 'q%'", None),
            ("DESCRIBE SELECT 1", None),
            ("USE `freshet`;", Some((ShowTarget::Use, false))),
            ("USE other", None),
            ("FULL SHOW", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn a_schema_that_is_chosen_need_not_be_named() {
        let read = |text: &str| with_schema(text).and_then(|text| read(&text)).map(|(target, _)| target);
        for text in ["SHOW TABLES", "show full tables ;"] {
            assert_eq!(read(text), Some(ShowTarget::Tables), "{text}");
        }
        for text in ["DESC queries;", "SHOW FULL COLUMNS FROM `queries`", "SHOW FIELDS IN queries"] {
            assert_eq!(read(text), Some(ShowTarget::Columns("queries".to_owned())), "{text}");
        }
        for text in ["SHOW TABLES FROM other", "DESC other.queries", "SHOW INDEX FROM queries", "SHOW"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
