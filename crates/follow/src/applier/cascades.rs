//! The rows that foreign keys change together with the rows of an event.
//!
//! Foreign keys act on updates and deletions of parents, never on insertions. Of the updates, only those count that change a column to
//! which a key refers. That makes the difference where a parent is written often: MariaDB announces the children of every parent that is
//! updated, whichever columns change.
//!
//! When parents are deleted or updated, the columns that refer to them tell the children: they are equal to the parents' columns before,
//! and with ON UPDATE CASCADE after, too. The same columns tell the children's children, as far as these refer to them.

use std::sync::Arc;

use freshet_cache::Position;
use freshet_catalog::rows::{ColumnKey, Images, Key, KeyType, key_of_field, may_have_changed};
use freshet_catalog::{ColumnInfo, ForeignKey, Name, OnDelete, OnUpdate};
use freshet_protocol::binlog::{Field, RowsKind};

use super::changed_rows::ChangedRows;
use super::definitions::DefinitionSource;

/// The rows that foreign keys change together with some rows.
#[derive(Debug, Default)]
pub(super) struct Cascades {
    /// Any rows of these tables.
    pub(super) whole: Vec<Name>,
    /// The rows of these tables that refer to the rows of the event.
    pub(super) children: Vec<Referring>,
}

/// The rows of a table that foreign keys delete or update together with the rows of an event. They refer to the event's rows, directly or
/// through other rows.
#[derive(Debug, PartialEq, Eq)]
pub struct Referring {
    /// The table.
    pub table: Name,
    layout: Arc<[ColumnInfo]>,
    /// The columns of the event's rows.
    above: Arc<[ColumnInfo]>,
    /// The ordinals of the columns of which one has to change; none where the event deletes its rows.
    if_changed: Vec<usize>,
    /// The rows are deleted.
    goes: bool,
    columns: Vec<ReferringColumn>,
}

/// What is known of a column: its value before, and after an update. Other columns of a child's rows do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReferringColumn {
    /// The column's ordinal.
    own: usize,
    before: ReferringValue,
    after: ReferringValue,
}

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReferringValue {
    Unknown,
    Null,
    /// The value of this column in the event's row before.
    Before(usize),
    /// The value of this column in the event's row after.
    After(usize),
}

/// The keys in the columns of some rows that refer to others.
#[derive(Debug)]
pub(crate) struct ReferringKeys {
    /// Before the change.
    pub(crate) before: Vec<ColumnKey>,
    /// After it; `None`: the rows are deleted.
    pub(crate) after: Option<Vec<ColumnKey>>,
}

/// The most tables that are followed row by row, one for each way to reach a table; further tables count as changed as a whole.
const CHILDREN_MAX: usize = 32;

/// The circumstances of the rows of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// The position of the event.
    pub(super) at: Position,
    /// The server is a MariaDB.
    pub(super) is_mariadb: bool,
}

/// Returns the rows that foreign keys change together with these rows; `None` if that is not known.
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
    let of_event = |layout: Arc<[ColumnInfo]>| Referring::event(rows, layout);
    if rows.kind() == RowsKind::Delete {
        let followed = || followed(definitions, of_event(layout()?), &[], at);
        let whole = || Cascades { whole: below.on_delete.clone(), children: Vec::new() };
        return Some(if below.all.is_empty() {
            Cascades::default()
        } else {
            followed().unwrap_or_else(whole)
        });
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
    let followed = || followed(definitions, of_event(Arc::clone(layout.as_ref()?)), &kept, at);
    let whole = || below.on_update_of(|name| !kept.contains(&name)).cloned().collect();
    Some(followed().unwrap_or_else(|| Cascades { whole: whole(), children: Vec::new() }))
}

/// The types of the column by which MariaDB marks the end of a row: BIGINT, TIMESTAMP.
const ENDS: [u8; 3] = [7, 8, 17];

/// Whether these may be rows that end in a system-versioned table: MariaDB logs that as an update of a column of its own. The layout
/// shows that column as computed, or not at all. In the latter case it is shorter than the rows, and no layout is given here.
fn may_end(layout: Option<&[ColumnInfo]>, kept: &[&str], rows: ChangedRows<'_>) -> bool {
    match layout {
        Some(layout) => layout.iter().any(|column| column.generated && !kept.contains(&column.name.as_str())),
        None => sets_an_end(rows).unwrap_or(true),
    }
}

/// Whether the rows set a column that marks the end of a row. `None` if the rows cannot be read.
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

/// Returns what happens to the rows that refer to those of an event, in which these columns are `kept`; `None` if that cannot be told row
/// by row.
fn followed(
    definitions: &impl DefinitionSource,
    event: Referring,
    kept: &[&str],
    at: Position,
) -> Option<Cascades> {
    let mut reached = vec![event];
    let mut next = 0;
    while let Some(above) = reached.get(next) {
        let below = definitions.descendants(&above.table.0, &above.table.1)?;
        let mut found = Vec::new();
        for key in below.keys.as_ref()? {
            let is_changed = |name: &str| if next == 0 { !kept.contains(&name) } else { above.changes(name) };
            let act = act(key, above.goes, is_changed)?;
            if act != Act::Nothing {
                let layout = definitions.layout(&key.child.0, &key.child.1, at)?;
                let mut child = above.below(key, act, layout)?;
                if next == 0 && !above.goes {
                    let to = key.columns.iter().map(|(_, to)| ordinal(&above.layout, to));
                    child.if_changed = to.collect::<Option<_>>()?;
                }
                found.push(child);
            }
        }
        found.retain(|child| !reached.iter().skip(1).any(|other| other == child));
        reached.append(&mut found);
        next += 1;
        (reached.len() <= CHILDREN_MAX).then_some(())?;
    }
    Some(Cascades { whole: Vec::new(), children: reached.split_off(1) })
}

/// What a foreign key does to the child's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Nothing,
    Deletes,
    Cascades,
    SetsNull,
}

/// Returns what a key does when the parent's row `goes`, or when some of its columns change. `None`: perhaps anything.
fn act(key: &ForeignKey, goes: bool, is_changed: impl Fn(&str) -> bool) -> Option<Act> {
    if goes {
        return match key.acts.on_delete {
            OnDelete::Nothing => Some(Act::Nothing),
            OnDelete::Deletes => Some(Act::Deletes),
            OnDelete::SetsNull => Some(Act::SetsNull),
            OnDelete::Anything => None,
        };
    }
    if !key.acts_on_update_of()?.into_iter().any(is_changed) {
        return Some(Act::Nothing);
    }
    match key.acts.on_update {
        OnUpdate::Nothing => Some(Act::Nothing),
        OnUpdate::Cascades => Some(Act::Cascades),
        OnUpdate::SetsNull => Some(Act::SetsNull),
        OnUpdate::Anything => None,
    }
}

fn ordinal(columns: &[ColumnInfo], name: &str) -> Option<usize> {
    columns.iter().position(|column| column.name == *name)
}

impl Referring {
    /// Returns the rows of the event themselves.
    fn event(rows: ChangedRows<'_>, layout: Arc<[ColumnInfo]>) -> Self {
        let column = |own| {
            let (before, after) = (ReferringValue::Before(own), ReferringValue::After(own));
            ReferringColumn { own, before, after }
        };
        Self {
            table: rows.table.clone(),
            above: Arc::clone(&layout),
            if_changed: Vec::new(),
            goes: rows.kind() == RowsKind::Delete,
            columns: (0..layout.len()).map(column).collect(),
            layout,
        }
    }

    /// Whether a column of a child's rows may change.
    fn changes(&self, name: &str) -> bool {
        ordinal(&self.layout, name).is_none_or(|own| {
            let is_computed = self.layout.get(own).is_none_or(|column| column.generated || column.on_update);
            is_computed || self.columns.iter().any(|column| column.own == own)
        })
    }

    /// Returns the rows that refer to these through a key that acts on them. `None` if that cannot be told.
    fn below(&self, key: &ForeignKey, act: Act, layout: Arc<[ColumnInfo]>) -> Option<Self> {
        let mut columns = Vec::new();
        for (own, to) in &key.columns {
            let (own, to) = (ordinal(&layout, own)?, ordinal(&self.layout, to)?);
            let (type_of, type_to) = (&layout.get(own)?.key, &self.layout.get(to)?.key);
            type_of.compares_like(type_to).then_some(())?;
            let known = self.columns.iter().find(|column| column.own == to);
            let (before, after) = known.map_or((ReferringValue::Unknown, ReferringValue::Unknown), |known| {
                (self.of_type(known.before, type_of), self.of_type(known.after, type_of))
            });
            let after = if act == Act::SetsNull { ReferringValue::Null } else { after };
            columns.push(ReferringColumn { own, before, after });
        }
        (!columns.is_empty()).then_some(())?;
        let (table, above, if_changed) =
            (key.child.clone(), Arc::clone(&self.above), self.if_changed.clone());
        Some(Self { table, layout, above, if_changed, goes: act == Act::Deletes, columns })
    }

    /// Returns the value for a column of this type: unknown, unless its source compares like that type.
    fn of_type(&self, value: ReferringValue, key: &KeyType) -> ReferringValue {
        let (ReferringValue::Before(column) | ReferringValue::After(column)) = value else { return value };
        match self.above.get(column) {
            Some(above) if above.key.compares_like(key) => value,
            _ => ReferringValue::Unknown,
        }
    }

    /// Returns the child's columns.
    pub(crate) const fn layout(&self) -> &Arc<[ColumnInfo]> {
        &self.layout
    }

    /// Whether the change of this row of the event reaches the rows that refer to it, directly or through others. `None`: the row cannot
    /// be read.
    pub(crate) fn is_reached(&self, row: Images<'_, '_>) -> Option<bool> {
        let before = row.before?;
        if self.if_changed.is_empty() {
            return Some(true);
        }
        let after = row.after?;
        let is_changed = |ordinal: &usize| {
            let column = self.above.get(*ordinal);
            column.is_none_or(|column| may_have_changed(*ordinal, column, before, after))
        };
        Some(self.if_changed.iter().any(is_changed))
    }

    /// Returns the keys of the rows that refer to this row of the event, directly or through others.
    pub(crate) fn keys(&self, row: Images<'_, '_>) -> ReferringKeys {
        let keys = |value: &dyn Fn(&ReferringColumn) -> ReferringValue| {
            let key = |column: &ReferringColumn| (column.own, self.key(value(column), row));
            self.columns.iter().map(key).collect::<Vec<_>>()
        };
        let after = (!self.goes).then(|| keys(&|column| column.after));
        ReferringKeys { before: keys(&|column| column.before), after }
    }

    fn key(&self, value: ReferringValue, row: Images<'_, '_>) -> Option<Key> {
        match value {
            ReferringValue::Unknown => None,
            ReferringValue::Null => Some(Key::Null),
            ReferringValue::Before(at) => key_of_field(&self.above.get(at)?.key, field_of(row.before, at)),
            ReferringValue::After(at) => {
                let column = self.above.get(at)?;
                // A column that is not in an after image has not changed.
                match key_of_field(&column.key, field_of(row.after, at)) {
                    None if !column.generated && field_of(row.after, at) == Field::Absent => {
                        key_of_field(&column.key, field_of(row.before, at))
                    }
                    key => key,
                }
            }
        }
    }
}

fn field_of<'f>(image: Option<&[Field<'f>]>, at: usize) -> Field<'f> {
    image.and_then(|image| image.get(at)).copied().unwrap_or(Field::Absent)
}

/// Whether the table is among these.
pub(super) fn is_among(names: &[Name], schema: &str, table: &str) -> bool {
    names.iter().any(|name| name.0 == schema && name.1 == table)
}

/// Returns the columns that keep their values in every row; `None` if that cannot be told.
fn kept<'a>(layout: &'a [ColumnInfo], rows: ChangedRows<'_>) -> Option<Vec<&'a str>> {
    let mut kept: Vec<(usize, &ColumnInfo)> = layout.iter().enumerate().collect();
    rows.each(|row| {
        let (before, after) = (row.before?, row.after?);
        kept.retain(|(ordinal, column)| !may_have_changed(*ordinal, column, before, after));
        Some(())
    })?;
    Some(kept.into_iter().map(|(_, column)| column.name.as_str()).collect())
}
