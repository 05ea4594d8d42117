//! What foreign keys change together with the rows of an event.
//!
//! They act on what is updated or deleted above them, never on what is inserted. Of updates, only those count that change a column
//! that is referred to. That makes the difference where a parent is written often: MariaDB announces the children of every
//! parent that is updated, whatever changes in it.
//!
//! When parents are deleted, the children are known by the columns that refer to them: these are equal to the parents' columns.

use std::sync::Arc;

use freshet_cache::Position;
use freshet_catalog::rows::{Key, KeyType, key_of_field, may_have_changed};
use freshet_catalog::{ColumnInfo, ForeignKey, Name, OnDelete};
use freshet_protocol::binlog::{Field, RowsKind};

use super::changed_rows::ChangedRows;
use super::definitions::DefinitionSource;

/// What foreign keys change together with some rows.
#[derive(Debug, Default)]
pub(super) struct Cascades {
    /// Any rows of these tables.
    pub(super) whole: Vec<Name>,
    /// The rows of these tables that refer to the deleted ones.
    pub(super) children: Vec<Referring>,
}

/// The rows of a child table that refer to deleted rows of its parent.
#[derive(Debug)]
pub struct Referring {
    /// The child table.
    pub table: Name,
    /// The foreign key sets its columns to NULL; otherwise the rows are deleted.
    pub sets_null: bool,
    layout: Arc<[ColumnInfo]>,
    columns: Vec<ReferringColumn>,
}

/// A child's column that refers to a column of its parent.
#[derive(Debug)]
struct ReferringColumn {
    /// Its ordinal.
    own: usize,
    /// The ordinal of the parent's column.
    parent: usize,
    /// How the parent's values become keys.
    key: KeyType,
}

/// Where and when the rows of an event stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// The position of the event.
    pub(super) at: Position,
    /// The server is a MariaDB.
    pub(super) is_mariadb: bool,
}

/// What foreign keys change together with these rows; `None` if that is not known.
pub(super) fn cascades(
    definitions: &impl DefinitionSource,
    rows: ChangedRows<'_>,
    Origin { at, is_mariadb }: Origin,
) -> Option<Cascades> {
    let (schema, table) = rows.table;
    if rows.kind() == RowsKind::Insert {
        return Some(Cascades::default());
    }
    let below = definitions.descendants(schema, table)?;
    let layout = || definitions.layout(schema, table, at).filter(|layout| layout.len() == rows.columns());
    if rows.kind() == RowsKind::Delete {
        let followed = below.keys.as_ref().and_then(|keys| followed(definitions, keys, &layout()?, at));
        return Some(
            followed.unwrap_or_else(|| Cascades { whole: below.on_delete.clone(), children: Vec::new() }),
        );
    }
    if below.all.is_empty() || below.on_update.is_empty() && !is_mariadb {
        return Some(Cascades::default());
    }
    let layout = layout();
    let computes = |layout: &[ColumnInfo]| layout.iter().any(|column| column.generated);
    if below.on_update.is_empty() && layout.as_deref().is_some_and(|layout| !computes(layout)) {
        return Some(Cascades::default());
    }
    let kept = layout.as_deref().and_then(|layout| kept(layout, rows)).unwrap_or_default();
    if is_mariadb && may_end(layout.as_deref(), &kept, rows) {
        return Some(Cascades { whole: below.all.clone(), children: Vec::new() });
    }
    let whole = below.on_update_of(|name| !kept.contains(&name)).cloned().collect();
    Some(Cascades { whole, children: Vec::new() })
}

/// The types of the column by which MariaDB marks the end of a row: BIGINT, TIMESTAMP.
const ENDS: [u8; 3] = [7, 8, 17];

/// Whether these may be rows that end in a system-versioned table: MariaDB logs that as an update of a column of its own. The
/// layout shows that column as computed, or not at all; then the layout is shorter than the rows, and none is given here.
fn may_end(layout: Option<&[ColumnInfo]>, kept: &[&str], rows: ChangedRows<'_>) -> bool {
    match layout {
        Some(layout) => layout.iter().any(|column| column.generated && !kept.contains(&column.name.as_str())),
        None => sets_an_end(rows).unwrap_or(true),
    }
}

/// `None` if the rows cannot be told.
fn sets_an_end(rows: ChangedRows<'_>) -> Option<bool> {
    let columns = rows.map.columns.iter().enumerate();
    let ends: Vec<usize> = columns.filter(|(_, it)| ENDS.contains(&it.kind)).map(|(at, _)| at).collect();
    let mut found = false;
    rows.each(|row| {
        let (before, after) = (row.before?, row.after?);
        let is_set = |at: &usize| {
            after.get(*at).is_some_and(|field| *field != Field::Absent && before.get(*at) != Some(field))
        };
        found |= ends.iter().any(is_set);
        Some(())
    })?;
    Some(found)
}

/// What becomes of the children of rows that are deleted; `None` if that cannot be told row by row.
fn followed(
    definitions: &impl DefinitionSource,
    keys: &[ForeignKey],
    parent: &[ColumnInfo],
    at: Position,
) -> Option<Cascades> {
    let mut cascades = Cascades::default();
    for key in keys {
        let sets_null = match key.acts.on_delete {
            OnDelete::Nothing => continue,
            OnDelete::Deletes => false,
            OnDelete::SetsNull => true,
            OnDelete::Anything => return None,
        };
        let layout = definitions.layout(&key.child.0, &key.child.1, at)?;
        let ordinal =
            |columns: &[ColumnInfo], name: &String| columns.iter().position(|column| column.name == *name);
        let pair = |(own, to): &(String, String)| {
            let (own, to) = (ordinal(&layout, own)?, ordinal(parent, to)?);
            let key = parent.get(to)?.key.clone();
            layout.get(own)?.key.compares_like(&key).then_some(ReferringColumn { own, parent: to, key })
        };
        let columns: Vec<ReferringColumn> = key.columns.iter().map(pair).collect::<Option<_>>()?;
        // The children's rows are in no event, so nothing tells which rows below them are reached.
        let below = definitions.descendants(&key.child.0, &key.child.1)?;
        if sets_null {
            let is_own =
                |name: &str| key.columns.iter().any(|(own, _)| own == name) || is_computed(&layout, name);
            cascades.whole.extend(below.on_update_of(is_own).cloned());
        } else {
            cascades.whole.extend(below.on_delete.iter().cloned());
        }
        (!columns.is_empty()).then_some(())?;
        cascades.children.push(Referring { table: key.child.clone(), sets_null, layout, columns });
    }
    Some(cascades)
}

fn is_computed(columns: &[ColumnInfo], name: &str) -> bool {
    columns.iter().any(|column| column.name == name && (column.generated || column.on_update))
}

impl Referring {
    /// The child's columns.
    pub(crate) const fn layout(&self) -> &Arc<[ColumnInfo]> {
        &self.layout
    }

    /// What the child's columns hold that refer to this parent, by their ordinals; `None` for an unknown key.
    pub(crate) fn keys(&self, parent: &[Field<'_>]) -> Vec<(usize, Option<Key>)> {
        let key = |column: &ReferringColumn| {
            let field = parent.get(column.parent);
            (column.own, field.and_then(|field| key_of_field(&column.key, *field)))
        };
        self.columns.iter().map(key).collect()
    }
}

/// Whether one of these is the table.
pub(super) fn is_among(names: &[Name], schema: &str, table: &str) -> bool {
    names.iter().any(|name| name.0 == schema && name.1 == table)
}

/// The columns in which every row has the value that it had; `None` if that cannot be told.
fn kept<'a>(layout: &'a [ColumnInfo], rows: ChangedRows<'_>) -> Option<Vec<&'a str>> {
    let mut kept: Vec<(usize, &ColumnInfo)> = layout.iter().enumerate().collect();
    rows.each(|row| {
        let (before, after) = (row.before?, row.after?);
        kept.retain(|column| !may_have_changed(*column, before, after));
        Some(())
    })?;
    Some(kept.into_iter().map(|(_, column)| column.name.as_str()).collect())
}
