//! What a change of one table reaches through foreign keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use freshet_cache::Position;
use freshet_sql::Alteration;

use crate::foreign_keys::{ForeignKey, ForeignKeys, OnDelete, OnUpdate, ReadKeys, WantedKeys};
use crate::name::Name;

/// When more tables than this have changed their definitions since the foreign keys were read, every table is taken to reach every other,
/// until all keys have been read again.
pub(crate) const CHANGED_TABLES_MAX: usize = 256;

/// The most changed tables whose keys are read at once.
const ASKED_TABLES_MAX: usize = 32;

/// The foreign keys in use, the keys that will replace them, and the changes in between.
#[derive(Debug)]
pub(crate) struct ForeignKeyReach {
    keys: ForeignKeys,
    /// The tables whose definitions changed since their keys were read, and the catalog's clock at the change. Any of them may have
    /// become, or ceased to be, a child of any table.
    changed: HashMap<Name, u64>,
    /// Since this reading of the clock, any table may have become a child of any table.
    unknown_since: Option<u64>,
    staged: Option<Staged>,
    /// The answers so far, as long as keys and changes are the same.
    memory: HashMap<Name, Arc<Descendants>>,
}

/// Foreign keys that were read and do not count yet.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) keys: ReadKeys,
    /// The catalog's clock before the keys were read: they do not know of later changes.
    pub(crate) asked_at: u64,
    /// The keys count once everything up to this position is applied.
    pub(crate) read_by: Position,
}

/// What a change of a table's rows changes through foreign keys. The table itself is included only if it reaches itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Descendants {
    /// All tables that some change may reach.
    pub all: Vec<Name>,
    /// Those of `all` that foreign keys of unchanged tables lead to. The others are in `all` because it is not known what leads to them.
    pub by_keys: Vec<Name>,
    /// The tables that a DELETE reaches.
    pub on_delete: Vec<Name>,
    /// The keys that lead to the direct children, if no table has changed since they were read; `None`: there may be others.
    pub keys: Option<Vec<ForeignKey>>,
    /// The tables that an UPDATE of one of these columns reaches; names are in lower case; `None`: any column.
    pub on_update: Vec<(Option<Vec<String>>, Vec<Name>)>,
}

impl Descendants {
    /// Returns the tables that an update reaches. `changes` says whether it may change a column of this name.
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

    /// Notes new definitions with which no foreign key has come. They matter where there are keys, which may have ended or use other
    /// columns now, and where it is not known yet whether there are keys.
    pub(crate) fn unlinked_changed(&mut self, names: Vec<Name>, clock: u64, applied: Position) {
        self.promote(applied);
        let is_known = self.unknown_since.is_none() && self.keys.is_complete;
        if !is_known || names.iter().any(|name| self.keys.mention(name) || self.changed.contains_key(name)) {
            self.tables_changed(names, clock);
        }
    }

    /// Notes a new definition with which no key has come or ended. A key uses other columns only if one of its columns changes.
    pub(crate) fn altered(&mut self, name: Name, alteration: &Alteration, clock: u64, applied: Position) {
        self.promote(applied);
        let is_known =
            self.unknown_since.is_none() && self.keys.is_complete && !self.changed.contains_key(&name);
        if !is_known || self.keys.go_by(&name, |column| alteration.touches(column)) {
            self.tables_changed(vec![name], clock);
        }
    }

    /// Notes a change of a schema: keys may have ended and none has come. Keys that have ended stay in the list as long as they only make
    /// the answers too wide. If the list is not complete, our account would have to see their tables, so all keys are read again.
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

    /// Whether keys have to be read, or wait until they count.
    pub(crate) fn awaits_keys(&self) -> bool {
        self.staged.is_some() || self.unknown_since.is_some() || !self.changed.is_empty()
    }

    /// Returns which keys have to be read; none while the keys that were read last do not count yet.
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
        // The children of a renamed table refer to it by the new name.
        let children = changed.iter().filter_map(|name| self.keys.children.get(*name)).flatten();
        let mut tables: Vec<Name> = changed.iter().copied().chain(children).cloned().collect();
        tables.sort();
        tables.dedup();
        Some(WantedKeys::Of(tables))
    }

    /// Keeps newer keys until everything up to `read_by` is applied.
    pub(crate) fn stage(&mut self, staged: Staged) {
        let is_outdated = self.unknown_since.is_some_and(|since| since > staged.asked_at);
        // Keys of a few tables are not enough where all are unknown.
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

    /// Returns these tables and the tables that hang on them; `None` if that is not known.
    pub(crate) fn with_children(&mut self, tables: &[Name], applied: Position) -> Option<Vec<Name>> {
        self.promote(applied);
        let reached = || closure(&self.keys.children, std::iter::empty(), tables.iter());
        self.unknown_since.is_none().then(reached)
    }

    /// Returns all tables above this one, if the list of keys may lack those of tables that our account cannot see: then the caller has
    /// to make sure that our account sees all of them. `None` if the keys are being read again.
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

/// Returns what hangs on one table. A `changed` table may be a child of this one now, and then its children are reached too. A renamed
/// table is listed under both names, so that its children are found under the old one.
fn descendants(keys: &ForeignKeys, table: &Name, changed: &HashMap<Name, u64>) -> Descendants {
    let below = |acting: &dyn Fn(&ForeignKey) -> bool| {
        let own = keys.keys.get(table).into_iter().flatten();
        let first = own.filter(|key| acting(key)).map(|key| &key.child);
        closure(&keys.children, std::iter::empty(), changed.keys().chain(first))
    };
    // Its columns may have other names now.
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

/// Returns all tables that are reached from these in one step or more, and `also` with the tables that those reach.
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
