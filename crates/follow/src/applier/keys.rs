//! What foreign keys change together with the rows of an event.
//!
//! They act on what is updated or deleted above them, never on what is inserted. And of updates only on those that change a
//! column that is referred to, which is what makes the difference where a parent is written often: MariaDB announces the
//! children of every parent that is updated, whatever is changed of it.
//!
//! Of rows that are deleted, the children's columns are known that refer to them: they are equal to those of the parent.

use std::sync::Arc;

use freshet_cache::Position;
use freshet_catalog::rows::{Key, KeyType, Watch, key_of_field, may_have_changed};
use freshet_catalog::{ColumnInfo, ForeignKey, Name, OnDelete};
use freshet_protocol::binlog::{Field, Rows, RowsKind, TableMap};

use super::Definitions;
use super::rows::unpack;
use super::statement::Announced;

/// What foreign keys change together with some rows.
#[derive(Default)]
pub(super) struct Reached {
    /// Any rows of these tables.
    pub(super) whole: Vec<Name>,
    /// The rows of these that refer to the ones that are deleted.
    pub(super) children: Vec<Child>,
}

/// A table whose rows refer to those that are deleted.
pub(super) struct Child {
    pub(super) name: Name,
    layout: Arc<[ColumnInfo]>,
    /// For each column that refers, its ordinal, that of the parent's column, and how that becomes keys.
    columns: Vec<(usize, usize, KeyType)>,
    sets_null: bool,
}

/// What foreign keys change together with these rows; `None` if that is not known.
pub(super) fn reached(
    definitions: &impl Definitions,
    announced: &Announced,
    rows: &Rows,
    (at, is_mariadb): (Position, bool),
) -> Option<Reached> {
    let (schema, table) = &announced.name;
    if rows.kind == RowsKind::Insert {
        return Some(Reached::default());
    }
    let below = definitions.descendants(schema, table)?;
    let map = &announced.map;
    let layout = || definitions.layout(schema, table, at).filter(|layout| layout.len() == map.columns.len());
    if rows.kind == RowsKind::Delete {
        let followed = below.keys.as_ref().and_then(|keys| followed(definitions, keys, &layout()?, at));
        return Some(
            followed.unwrap_or_else(|| Reached { whole: below.on_delete.clone(), children: Vec::new() }),
        );
    }
    if below.all.is_empty() || below.on_update.is_empty() && !is_mariadb {
        return Some(Reached::default());
    }
    let layout = layout();
    let computes = |layout: &[ColumnInfo]| layout.iter().any(|column| column.generated);
    if below.on_update.is_empty() && layout.as_deref().is_some_and(|layout| !computes(layout)) {
        return Some(Reached::default());
    }
    let kept = layout.as_deref().and_then(|layout| kept(layout, rows, map)).unwrap_or_default();
    if is_mariadb && may_end(layout.as_deref(), &kept, (rows, map)) {
        return Some(Reached { whole: below.all.clone(), children: Vec::new() });
    }
    let whole = below.on_update_of(|name| !kept.contains(&name)).cloned().collect();
    Some(Reached { whole, children: Vec::new() })
}

/// The types of the column by which MariaDB marks the end of a row: BIGINT, TIMESTAMP.
const ENDS: [u8; 3] = [7, 8, 17];

/// Whether these may be rows that end in a system-versioned table: MariaDB logs that as an update of a column of its own. The
/// layout shows it as computed, or not at all; then it is not as long as the rows, and none is given here.
fn may_end(layout: Option<&[ColumnInfo]>, kept: &[&str], (rows, map): (&Rows, &TableMap)) -> bool {
    match layout {
        Some(layout) => layout.iter().any(|column| column.generated && !kept.contains(&column.name.as_str())),
        None => sets_an_end(rows, map).unwrap_or(true),
    }
}

/// `None` if the rows cannot be told.
fn sets_an_end(rows: &Rows, map: &TableMap) -> Option<bool> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let ends: Vec<usize> =
        map.columns.iter().enumerate().filter(|(_, it)| ENDS.contains(&it.kind)).map(|(at, _)| at).collect();
    for change in rows.rows(map).ok()? {
        let change = change.ok()?;
        let (before, after) = (unpack(change.before, &mut before)??, unpack(change.after, &mut after)??);
        let is_set = |at: &usize| {
            after.get(*at).is_some_and(|field| *field != Field::Absent && before.get(*at) != Some(field))
        };
        if ends.iter().any(is_set) {
            return Some(true);
        }
    }
    Some(false)
}

/// What becomes of the children of rows that are deleted; `None` if that cannot be told row by row.
fn followed(
    definitions: &impl Definitions,
    keys: &[ForeignKey],
    parent: &[ColumnInfo],
    at: Position,
) -> Option<Reached> {
    let mut reached = Reached::default();
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
            layout.get(own)?.key.compares_like(&key).then_some((own, to, key))
        };
        let columns: Vec<(usize, usize, KeyType)> = key.columns.iter().map(pair).collect::<Option<_>>()?;
        // What hangs on the children is not told by rows that are in no event.
        let below = definitions.descendants(&key.child.0, &key.child.1)?;
        if sets_null {
            let is_own =
                |name: &str| key.columns.iter().any(|(own, _)| own == name) || is_computed(&layout, name);
            reached.whole.extend(below.on_update_of(is_own).cloned());
        } else {
            reached.whole.extend(below.on_delete.iter().cloned());
        }
        (!columns.is_empty()).then_some(())?;
        reached.children.push(Child { name: key.child.clone(), layout, columns, sets_null });
    }
    Some(reached)
}

fn is_computed(columns: &[ColumnInfo], name: &str) -> bool {
    columns.iter().any(|column| column.name == name && (column.generated || column.on_update))
}

impl Child {
    /// Stamps what the deletion of these rows concerns of this watch on the child.
    pub(super) fn stamp(&self, watch: &Watch, (rows, map): (&Rows, &TableMap), at: Position) {
        let is_known = *watch.layout() == self.layout;
        if !is_known || self.stamp_each(watch, (rows, map), at).is_none() {
            watch.stamp_any(at);
        }
    }

    /// `None` if the rows cannot be told, perhaps after some of them.
    fn stamp_each(&self, watch: &Watch, (rows, map): (&Rows, &TableMap), at: Position) -> Option<()> {
        let mut before = Vec::new();
        for change in rows.rows(map).ok()? {
            let before = unpack(change.ok()?.before, &mut before)??;
            watch.stamp_referring(&self.keys(before), self.sets_null, at);
        }
        Some(())
    }

    /// What the children's columns that refer to a row hold; None for one of which that is not known.
    fn keys(&self, parent: &[Field<'_>]) -> Vec<(usize, Option<Key>)> {
        let key = |(own, to, key): &(usize, usize, KeyType)| {
            (*own, parent.get(*to).and_then(|field| key_of_field(key, *field)))
        };
        self.columns.iter().map(key).collect()
    }
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
