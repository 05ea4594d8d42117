//! What a change of one table reaches through foreign keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use freshet_cache::Position;
use freshet_sql::Alteration;

use crate::foreign_keys::{ForeignKey, ForeignKeys, OnDelete, OnUpdate, ReadKeys, WantedKeys};
use crate::name::Name;

/// When more tables than this have changed their definitions since the foreign keys were read,
/// every table is taken to reach everything, until all keys have been read again.
pub(crate) const CHANGED_TABLES_MAX: usize = 256;

/// So many changed tables are asked about at once.
const ASKED_TABLES_MAX: usize = 32;

/// The foreign keys in use, those that will replace them, and what changed in between.
#[derive(Debug)]
pub(crate) struct ForeignKeyReach {
    keys: ForeignKeys,
    /// The tables whose definitions changed since their keys were read, and the catalog's clock at that. Any of them may have
    /// become, or ceased to be, a child of any table.
    changed: HashMap<Name, u64>,
    /// Since then, any table may have.
    unknown_since: Option<u64>,
    staged: Option<Staged>,
    /// What was asked for already, as long as keys and changes are the same.
    memory: HashMap<Name, Arc<Descendants>>,
}

/// Foreign keys that were read and do not count yet.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) keys: ReadKeys,
    /// The catalog's clock before they were read: they do not know of later changes.
    pub(crate) asked_at: u64,
    /// They count once everything up to here is applied.
    pub(crate) read_by: Position,
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
    /// The keys that lead to the first of them, if no table has changed since they were read; `None`: there may be others.
    pub keys: Option<Vec<ForeignKey>>,
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

impl Default for ForeignKeyReach {
    fn default() -> Self {
        Self {
            keys: ForeignKeys::default(),
            changed: HashMap::new(),
            unknown_since: Some(0),
            staged: None,
            memory: HashMap::new(),
        }
    }
}

impl ForeignKeyReach {
    pub(crate) fn tables_changed(&mut self, names: Vec<Name>, clock: u64) {
        self.memory.clear();
        self.changed.extend(names.into_iter().map(|name| (name, clock)));
        if self.changed.len() > CHANGED_TABLES_MAX {
            self.anything_changed(clock);
        }
    }

    /// No key has come with the new definitions. They matter where there are keys, which may have ended or go by other columns, and
    /// where it is not known yet whether there are some.
    pub(crate) fn unlinked_changed(&mut self, names: Vec<Name>, clock: u64, applied: Position) {
        self.promote(applied);
        let is_known = self.unknown_since.is_none() && self.keys.is_complete;
        if !is_known || names.iter().any(|name| self.keys.mention(name) || self.changed.contains_key(name)) {
            self.tables_changed(names, clock);
        }
    }

    /// No key has come or ended with the new definition, and none goes by other columns unless it goes by one that changes.
    pub(crate) fn altered(&mut self, name: Name, alteration: &Alteration, clock: u64, applied: Position) {
        self.promote(applied);
        let is_known =
            self.unknown_since.is_none() && self.keys.is_complete && !self.changed.contains_key(&name);
        if !is_known || self.keys.go_by(&name, |column| alteration.touches(column)) {
            self.tables_changed(vec![name], clock);
        }
    }

    /// Keys may have ended and none has come. Those that are not there any more are kept as long as they only make too much
    /// known; where they would have to be seen, all are read again.
    pub(crate) fn schema_changed(&mut self, clock: u64) {
        if !self.keys.is_complete {
            self.anything_changed(clock);
        }
    }

    pub(crate) fn anything_changed(&mut self, clock: u64) {
        self.staged = None;
        self.memory.clear();
        self.changed.clear();
        self.unknown_since = Some(clock);
    }

    /// Whether keys have to be read, or wait to count.
    pub(crate) fn awaits_keys(&self) -> bool {
        self.staged.is_some() || self.unknown_since.is_some() || !self.changed.is_empty()
    }

    /// Returns which keys have to be read; none while those that were read last do not count yet.
    pub(crate) fn wanted(&mut self, applied: Position) -> Option<WantedKeys> {
        self.promote(applied);
        if self.staged.is_some() {
            return None;
        }
        if self.unknown_since.is_some() {
            return Some(WantedKeys::All);
        }
        let changed: Vec<&Name> = self.changed.keys().take(ASKED_TABLES_MAX).collect();
        if changed.is_empty() {
            return None;
        }
        // The children of a table that got another name refer to it by that.
        let children = changed.iter().filter_map(|name| self.keys.children.get(*name)).flatten();
        let mut tables: Vec<Name> = changed.iter().copied().chain(children).cloned().collect();
        tables.sort();
        tables.dedup();
        Some(WantedKeys::Of(tables))
    }

    /// Keeps newer keys until everything up to `read_by` is applied.
    pub(crate) fn stage(&mut self, staged: Staged) {
        let is_outdated = self.unknown_since.is_some_and(|since| since > staged.asked_at);
        // Those of a few tables say nothing where all are unknown.
        let is_too_few = self.unknown_since.is_some() && matches!(staged.keys, ReadKeys::Of(..));
        if !is_outdated && !is_too_few {
            self.staged = Some(staged);
        }
    }

    /// Returns what a change of this table reaches; `None` if that is not known.
    pub(crate) fn of(&mut self, table: &Name, applied: Position) -> Option<Arc<Descendants>> {
        self.promote(applied);
        if self.unknown_since.is_some() {
            return None;
        }
        if let Some(known) = self.memory.get(table) {
            return Some(known.clone());
        }
        let reached = Arc::new(descendants(&self.keys, table, &self.changed));
        self.memory.insert(table.clone(), reached.clone());
        Some(reached)
    }

    /// These tables and what hangs on them; `None` if that is not known.
    pub(crate) fn with_children(&mut self, tables: &[Name], applied: Position) -> Option<Vec<Name>> {
        self.promote(applied);
        let reached = || closure(&self.keys.children, std::iter::empty(), tables.iter());
        self.unknown_since.is_none().then(reached)
    }

    /// Returns all tables above this one, if the list of keys may lack those of tables that our account
    /// cannot see: then the caller has to make sure that our account sees them all. `None` if the keys are
    /// being read again.
    pub(crate) fn unproven_ancestors(&mut self, table: &Name, applied: Position) -> Option<Vec<Name>> {
        self.promote(applied);
        match self.unknown_since {
            Some(_) => None,
            None if self.keys.is_complete => Some(Vec::new()),
            None if !self.changed.is_empty() => None,
            None => Some(closure(&self.keys.parents, std::iter::once(table), std::iter::empty())),
        }
    }

    fn promote(&mut self, applied: Position) {
        let Some(staged) = self.staged.take_if(|staged| staged.read_by <= applied) else { return };
        self.memory.clear();
        match staged.keys {
            ReadKeys::All(keys) => {
                self.keys = keys;
                self.unknown_since = None;
                self.changed.retain(|_, changed_at| *changed_at > staged.asked_at);
            }
            ReadKeys::Of(tables, keys) => {
                self.changed
                    .retain(|name, changed_at| *changed_at > staged.asked_at || !tables.contains(name));
                self.keys.replace(&tables, keys);
            }
        }
    }
}

/// Returns what hangs on one table. A `changed` table may be a child of this one now, and then its children are reached too. Of
/// a renamed table both names are there, so that its children are found under the old one.
fn descendants(keys: &ForeignKeys, table: &Name, changed: &HashMap<Name, u64>) -> Descendants {
    let below = |acting: &dyn Fn(&ForeignKey) -> bool| {
        let own = keys.keys.get(table).into_iter().flatten();
        let first = own.filter(|key| acting(key)).map(|key| &key.child);
        closure(&keys.children, std::iter::empty(), changed.keys().chain(first))
    };
    // Its columns may go by other names now.
    let has_changed = changed.contains_key(table);
    let mut on_update: Vec<_> = Vec::new();
    for key in keys.keys.get(table).into_iter().flatten() {
        if key.acts.on_update == OnUpdate::Nothing {
            continue;
        }
        let columns = key.acts_on_update_of().filter(|_| !has_changed);
        let columns = columns.map(|columns| columns.into_iter().map(str::to_owned).collect());
        on_update.push((columns, below(&|other| other == key)));
    }
    if !changed.is_empty() {
        on_update.push((None, below(&|_| false)));
    }
    let mut by_keys =
        closure(&keys.children, std::iter::once(table).filter(|_| !has_changed), std::iter::empty());
    by_keys.retain(|name| !changed.contains_key(name));
    Descendants {
        all: below(&|_| true),
        by_keys,
        on_delete: below(&|key| key.acts.on_delete != OnDelete::Nothing),
        keys: changed.is_empty().then(|| keys.keys.get(table).cloned().unwrap_or_default()),
        on_update,
    }
}

/// Returns everything that is reached from these in one step or more, and `also` with what that reaches.
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
