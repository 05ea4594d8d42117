//! When definitions changed, object by object, and the bases of conclusions from definitions.
//!
//! Every change that is told advances one clock, and is noted under the names that it concerns. A conclusion holds as long as nothing in
//! its basis has changed since its definitions began to be read.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::changed::Changed;
use crate::name::Name;

/// The most names that are told apart. With more, everything counts as changed. At some 100 bytes each that is 10 MiB.
const NAMES_MAX: usize = 100_000;

/// The basis of a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Basis {
    /// Every table, view and routine that was looked at, in the form in which the catalog compares names.
    pub(crate) names: Vec<Name>,
    /// Code was looked at, or something was taken for code. Then any routine's change counts: a new routine may have a name that meant
    /// something else before.
    pub(crate) runs_code: bool,
    /// The definition led to something unknown: any change may make that known.
    pub(crate) is_open: bool,
    /// The clock when the reading began.
    pub(crate) read_at: u64,
}

/// The basis of a conclusion.
#[derive(Debug, Default)]
pub struct Told {
    /// The whole basis held when the clock showed this.
    held_at: AtomicU64,
    on: Vec<Arc<Basis>>,
    /// The conclusion rests on every definition.
    on_everything: bool,
}

/// A conclusion from more than this many objects rests on every definition.
const TOLD_MAX: usize = 1_024;

impl Clone for Told {
    fn clone(&self) -> Self {
        Self {
            held_at: AtomicU64::new(self.held_at.load(Ordering::Relaxed)),
            on: self.on.clone(),
            on_everything: self.on_everything,
        }
    }
}

impl Told {
    /// Makes the basis of a conclusion that rests on nothing yet. `clock` was read before anything was looked at.
    #[must_use]
    pub fn at(clock: u64) -> Self {
        Self { held_at: AtomicU64::new(clock), ..Self::default() }
    }

    /// Adds a definition's basis.
    pub fn rest_on(&mut self, basis: &Arc<Basis>) {
        if self.on.iter().any(|known| Arc::ptr_eq(known, basis)) {
            return;
        }
        if self.on.len() < TOLD_MAX {
            self.on.push(Arc::clone(basis));
        } else {
            self.rest_on_everything();
        }
    }

    /// Makes every change of any definition end the conclusion.
    pub fn rest_on_everything(&mut self) {
        self.on_everything = true;
    }

    /// Adds everything on which the other conclusion rests.
    pub fn join(&mut self, other: &Self) {
        other.on.iter().for_each(|basis| self.rest_on(basis));
        self.on_everything |= other.on_everything;
        let earlier = other.held_at.load(Ordering::Relaxed).min(self.held_at.load(Ordering::Relaxed));
        self.held_at.store(earlier, Ordering::Relaxed);
    }

    /// Whether some basis satisfies `is_such`. A conclusion that rests on everything satisfies it.
    pub(crate) fn rests_on_any(&self, is_such: impl Fn(&Basis) -> bool) -> bool {
        self.on_everything || self.on.iter().any(|basis| is_such(basis))
    }

    /// Whether the conclusion held at this reading of the clock, as far as that is remembered.
    pub(crate) fn held_at(&self, clock: u64) -> bool {
        self.held_at.load(Ordering::Relaxed) == clock
    }

    /// Returns what is known of changes since the clock showed `since`.
    pub(crate) fn changed_since(&self, since: u64, versions: &Versions) -> ChangedSince {
        if versions.clock() == since {
            ChangedSince::Nothing
        } else if self.on.iter().any(|basis| versions.is_named_since(basis, since)) {
            ChangedSince::Named
        } else if self.on_everything || !self.on.iter().all(|basis| versions.is_unchanged_since(basis, since))
        {
            ChangedSince::Perhaps
        } else {
            ChangedSince::Nothing
        }
    }

    /// Whether the conclusion holds now. Remembers that it does.
    pub(crate) fn holds_by(&self, versions: &Versions) -> bool {
        let clock = versions.clock();
        let holds = self.held_at(clock)
            || !self.on_everything && self.on.iter().all(|basis| versions.is_current(basis));
        if holds {
            self.held_at.store(clock, Ordering::Relaxed);
        }
        holds
    }
}

/// What is known of changes of the definitions on which a conclusion rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedSince {
    /// Nothing has changed.
    Nothing,
    /// Something may have changed, or is being changed by a definition through us.
    Perhaps,
    /// One of the objects that are named in it has changed.
    Named,
}

/// When definitions changed last.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    clock: u64,
    everything: u64,
    code: u64,
    schemas: HashMap<String, u64>,
    names: HashMap<Name, u64>,
}

impl Versions {
    /// Returns the number of changes that have been told.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    /// Returns the same clock, with everything changed just now.
    pub(crate) fn renewed(&self) -> Self {
        Self { clock: self.clock + 1, everything: self.clock + 1, ..Self::default() }
    }

    /// Notes a change. Its names are in the form in which the catalog compares them.
    pub(crate) fn changed(&mut self, what: Changed<'_>) {
        self.clock += 1;
        match what {
            Changed::Altered(name, _) => drop(self.names.insert(name.clone(), self.clock)),
            Changed::Tables(names) | Changed::Unlinked(names) => {
                for name in names {
                    self.names.insert(name.clone(), self.clock);
                }
            }
            Changed::Routine => self.code = self.clock,
            Changed::Schema(schema) => {
                self.schemas.insert(schema.to_owned(), self.clock);
            }
            Changed::Everything => self.everything = self.clock,
        }
        if self.names.len() + self.schemas.len() > NAMES_MAX {
            *self = Self { clock: self.clock, everything: self.clock, ..Self::default() };
        }
    }

    /// Whether nothing in this basis has changed since it began to be read.
    pub(crate) fn is_current(&self, basis: &Basis) -> bool {
        self.is_unchanged_since(basis, basis.read_at)
    }

    /// Whether nothing in this basis has changed since the clock showed `since`.
    fn is_unchanged_since(&self, basis: &Basis, since: u64) -> bool {
        let is_newer = |at: u64| at > since;
        let has_changed = is_newer(self.everything)
            || basis.is_open && is_newer(self.clock)
            || basis.runs_code && is_newer(self.code)
            || self.is_named_since(basis, since);
        !has_changed
    }

    /// Whether a definition of something that is named in this basis has changed since the clock showed `since`.
    fn is_named_since(&self, basis: &Basis, since: u64) -> bool {
        basis.names.iter().any(|name| {
            let (own, schema) = (self.names.get(name), self.schemas.get(&name.0));
            own.into_iter().chain(schema).any(|at| *at > since)
        })
    }
}

#[cfg(test)]
mod tests;
