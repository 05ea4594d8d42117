//! What foreign keys change together with the rows of an event.
//!
//! They act on what is updated or deleted above them, never on what is inserted. And of updates only on those that change a
//! column that is referred to, which is what makes the difference where a parent is written often: MariaDB announces the
//! children of every parent that is updated, whatever is changed of it.

use freshet_cache::Position;
use freshet_protocol::binlog::{Rows, RowsKind, TableMap};

use super::Definitions;
use super::rows::unpack;
use super::statement::Announced;
use crate::catalog::{ColumnInfo, Name};
use crate::rows::may_have_changed;

/// The tables that foreign keys change together with these rows; `None` if that is not known.
pub(super) fn reached(
    definitions: &impl Definitions,
    announced: &Announced,
    rows: &Rows,
    at: Position,
) -> Option<Vec<Name>> {
    let (schema, table) = &announced.name;
    if rows.kind == RowsKind::Insert {
        return Some(Vec::new());
    }
    let below = definitions.descendants(schema, table)?;
    if rows.kind == RowsKind::Delete {
        return Some(below.on_delete.clone());
    }
    if below.on_update.is_empty() {
        return Some(Vec::new());
    }
    let map = &announced.map;
    let layout = definitions.layout(schema, table, at).filter(|layout| layout.len() == map.columns.len());
    let kept = layout.as_deref().and_then(|layout| kept(layout, rows, map)).unwrap_or_default();
    Some(below.on_update_of(|name| !kept.contains(&name)).cloned().collect())
}

/// Whether one of these is the table.
pub(super) fn is_among(names: &[Name], schema: &str, table: &str) -> bool {
    names.iter().any(|name| name.0 == schema && name.1 == table)
}

/// The columns in which every row has the value that it had; `None` if that cannot be told.
fn kept<'a>(layout: &'a [ColumnInfo], rows: &Rows, map: &TableMap) -> Option<Vec<&'a str>> {
    let mut kept: Vec<(usize, &ColumnInfo)> = layout.iter().enumerate().collect();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for change in rows.rows(map).ok()? {
        let change = change.ok()?;
        let (before, after) = (unpack(change.before, &mut before)??, unpack(change.after, &mut after)??);
        kept.retain(|column| !may_have_changed(*column, before, after));
    }
    Some(kept.into_iter().map(|(_, column)| column.name.as_str()).collect())
}
