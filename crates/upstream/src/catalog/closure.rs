//! What a change of one table reaches through foreign keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use freshet_cache::Position;

use super::{ForeignKeys, Name};

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
    memory: HashMap<Name, Arc<[Name]>>,
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
    pub(super) fn of(&mut self, table: &Name, applied: Position) -> Option<Arc<[Name]>> {
        self.promote(applied);
        let Since::Tables(changed) = &self.since else { return None };
        if let Some(known) = self.memory.get(table) {
            return Some(known.clone());
        }
        // A changed table may be a child of this one now, and then its children are reached too. Of
        // a renamed table both names are here, so that its children are found under the old one.
        let reached = closure(&self.keys.children, std::iter::once(table), changed);
        let reached: Arc<[Name]> = reached.into();
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
            Since::Tables(_) => Some(closure(&self.keys.parents, std::iter::once(table), &[])),
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

/// Everything that is reached from these in one step or more, and `also` with what that reaches.
fn closure<'a>(
    edges: &'a HashMap<Name, Vec<Name>>,
    from: impl Iterator<Item = &'a Name>,
    also: &'a [Name],
) -> Vec<Name> {
    let mut seen: HashSet<&Name> = also.iter().collect();
    let mut open: Vec<&Name> = from.chain(also).collect();
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
