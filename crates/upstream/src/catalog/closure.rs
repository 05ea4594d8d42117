//! What a change of one table reaches through foreign keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use freshet_cache::Position;

use super::foreign_keys::{ForeignKeys, OnUpdate};
use super::{ForeignKey, Name};

/// When more tables than this have changed their definitions since the foreign keys were read,
/// every table is taken to reach everything, until they have been read again.
pub(super) const CHANGED_TABLES_MAX: usize = 64;

/// The foreign keys in use, those that will replace them, and what changed in between.
#[derive(Debug)]
pub(super) struct Reach {
    keys: ForeignKeys,
    since: Since,
    staged: Option<(ForeignKeys, Position)>,
    /// What was asked for already, as long as keys and changes are the same.
    memory: HashMap<Name, Arc<Descendants>>,
}

/// What a change of a table's rows changes through foreign keys, itself not included unless it reaches itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Descendants {
    /// Whatever the change is.
    pub all: Vec<Name>,
    /// Of these, what foreign keys lead to that have not changed since they were read. The others are among them because it
    /// is not known what leads to them.
    pub by_keys: Vec<Name>,
    /// If rows are deleted.
    pub on_delete: Vec<Name>,
    /// If one of these columns of a row is updated, whose names are in lower case; `None`: any column.
    pub on_update: Vec<(Option<Vec<String>>, Vec<Name>)>,
}

impl Descendants {
    /// What an update reaches. `changes` says whether it may change a column of this name.
    pub fn on_update_of(&self, changes: impl Fn(&str) -> bool) -> impl Iterator<Item = &Name> {
        let changes = move |columns: &Vec<String>| columns.iter().any(|column| changes(column));
        let acts = self.on_update.iter().filter(move |(columns, _)| columns.as_ref().is_none_or(&changes));
        acts.flat_map(|(_, reached)| reached)
    }
}

/// The definition changes that the keys in use do not know.
#[derive(Debug)]
enum Since {
    /// Any of these tables may have become, or ceased to be, a child of any table.
    Tables(Vec<Name>),
    /// Any table may have.
    Unknown,
}

impl Default for Reach {
    fn default() -> Self {
        Self { keys: ForeignKeys::default(), since: Since::Unknown, staged: None, memory: HashMap::new() }
    }
}

impl Reach {
    pub(super) fn tables_changed(&mut self, names: Vec<Name>) {
        self.staged = None;
        self.memory.clear();
        let Since::Tables(changed) = &mut self.since else { return };
        for name in names {
            if !changed.contains(&name) {
                changed.push(name);
            }
        }
        if changed.len() > CHANGED_TABLES_MAX {
            self.since = Since::Unknown;
        }
    }

    pub(super) fn anything_changed(&mut self) {
        self.staged = None;
        self.memory.clear();
        self.since = Since::Unknown;
    }

    /// Whether the keys in use are outdated and no others wait to replace them.
    pub(super) fn is_wanting(&self) -> bool {
        let outdated = match &self.since {
            Since::Tables(changed) => !changed.is_empty(),
            Since::Unknown => true,
        };
        outdated && self.staged.is_none()
    }

    /// Keeps newer keys until everything up to `read_by` is applied.
    pub(super) fn stage(&mut self, keys: ForeignKeys, read_by: Position) {
        self.staged = Some((keys, read_by));
    }

    /// What a change of this table reaches; `None` if that is not known.
    pub(super) fn of(&mut self, table: &Name, applied: Position) -> Option<Arc<Descendants>> {
        self.promote(applied);
        let Since::Tables(changed) = &self.since else { return None };
        if let Some(known) = self.memory.get(table) {
            return Some(known.clone());
        }
        let reached = Arc::new(descendants(&self.keys, table, changed));
        self.memory.insert(table.clone(), reached.clone());
        Some(reached)
    }

    /// All tables above this one, if the list of keys may lack those of tables that our account
    /// cannot see: then whoever asks has to make sure that it sees them all. `None` if the keys are
    /// being read again.
    pub(super) fn unproven_ancestors(&mut self, table: &Name, applied: Position) -> Option<Vec<Name>> {
        self.promote(applied);
        match &self.since {
            Since::Unknown => None,
            Since::Tables(_) if self.keys.is_complete => Some(Vec::new()),
            Since::Tables(changed) if !changed.is_empty() => None,
            Since::Tables(_) => Some(closure(&self.keys.parents, std::iter::once(table), std::iter::empty())),
        }
    }

    fn promote(&mut self, applied: Position) {
        if let Some((keys, _)) = self.staged.take_if(|(_, read_by)| *read_by <= applied) {
            self.keys = keys;
            self.since = Since::Tables(Vec::new());
            self.memory.clear();
        }
    }
}

/// What hangs on one table. A `changed` table may be a child of this one now, and then its children are reached too. Of
/// a renamed table both names are there, so that its children are found under the old one.
fn descendants(keys: &ForeignKeys, table: &Name, changed: &[Name]) -> Descendants {
    let below = |acting: &dyn Fn(&ForeignKey) -> bool| {
        let own = keys.keys.get(table).into_iter().flatten();
        let first = own.filter(|key| acting(key)).map(|key| &key.child);
        closure(&keys.children, std::iter::empty(), changed.iter().chain(first))
    };
    // Its columns may go by other names now.
    let has_changed = changed.contains(table);
    let mut on_update: Vec<_> = Vec::new();
    for key in keys.keys.get(table).into_iter().flatten() {
        let columns = match &key.acts.on_update {
            OnUpdate::Never => continue,
            OnUpdate::OfColumns(columns) if !has_changed => Some(columns.clone()),
            OnUpdate::OfColumns(_) | OnUpdate::OfAny => None,
        };
        on_update.push((columns, below(&|other| other == key)));
    }
    if !changed.is_empty() {
        on_update.push((None, below(&|_| false)));
    }
    let mut by_keys =
        closure(&keys.children, std::iter::once(table).filter(|_| !has_changed), std::iter::empty());
    by_keys.retain(|name| !changed.contains(name));
    Descendants { all: below(&|_| true), by_keys, on_delete: below(&|key| key.acts.on_delete), on_update }
}

/// Everything that is reached from these in one step or more, and `also` with what that reaches.
fn closure<'a>(
    edges: &'a HashMap<Name, Vec<Name>>,
    from: impl Iterator<Item = &'a Name>,
    also: impl Iterator<Item = &'a Name>,
) -> Vec<Name> {
    let mut seen: HashSet<&Name> = also.collect();
    let mut open: Vec<&Name> = from.chain(seen.iter().copied()).collect();
    while let Some(name) = open.pop() {
        for next in edges.get(name).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    let mut reached: Vec<Name> = seen.into_iter().cloned().collect();
    reached.sort();
    reached
}

#[cfg(test)]
mod tests;
