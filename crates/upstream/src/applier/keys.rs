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
    let layout = definitions.layout(schema, table, at);
    let layout = layout.as_deref().filter(|layout| layout.len() == announced.map.columns.len());
    let changes = |name: &str| layout.is_none_or(|layout| is_updated(name, layout, rows, &announced.map));
    Some(below.on_update_of(changes).cloned().collect())
}

/// Whether one of these is the table.
pub(super) fn is_among(names: &[Name], schema: &str, table: &str) -> bool {
    names.iter().any(|name| name.0 == schema && name.1 == table)
}

/// Whether the rows may have other values than before in a column.
fn is_updated(name: &str, layout: &[ColumnInfo], rows: &Rows, map: &TableMap) -> bool {
    let Some(ordinal) = layout.iter().position(|column| column.name == name) else { return true };
    unchanged(ordinal, &layout[ordinal], rows, map).is_none()
}

/// `None` if it has changed in one of them, or that cannot be told.
fn unchanged(ordinal: usize, column: &ColumnInfo, rows: &Rows, map: &TableMap) -> Option<()> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for change in rows.rows(map).ok()? {
        let change = change.ok()?;
        let (Some(before), Some(after)) =
            (unpack(change.before, &mut before)?, unpack(change.after, &mut after)?)
        else {
            return None;
        };
        if may_have_changed((ordinal, column), before, after) {
            return None;
        }
    }
    Some(())
}
