//! Definitions and writes that are under way through us, and what they mean for each other.
//!
//! From the moment at which a definition is sent until it is applied, what it names may be other than the catalog says. What was
//! concluded from anything else still holds. A definition is noted here before it is sent, and forgotten when its fence is lifted,
//! which is after [`crate::Catalog::changed`] has told of it. So a session that looks
//! here first, and at the versions after that, misses none.
//!
//! A write may come to the server after a definition that was sent later. So it is noted here too, with what it was told by, before
//! it looks for definitions; and a definition looks for writes after it is noted. Of the two, one sees the other, and fences
//! for the write what the definition may make it change, until the write is applied.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use freshet_cache::Fence;

use crate::name::{Name, is_same_name};
use crate::versions::{Basis, Told};

/// What a definition names. Names are compared without regard to case: to take two for one costs a wider fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Defined {
    /// These tables and views: their columns, their keys, their foreign keys, their triggers, or which tables they are.
    Tables(Vec<Name>),
    /// Whatever is in this schema. No foreign key comes with it.
    Schema(String),
    /// A procedure or a function.
    Routine,
    /// Anything.
    Everything,
}

impl Defined {
    /// Whether what was concluded from this may not hold while the definition is under way. It is the question of
    /// `Versions::is_current`, which asks it for definitions that have been applied.
    fn concerns(&self, basis: &Basis) -> bool {
        basis.is_open
            || match self {
                Self::Tables(tables) => {
                    basis.names.iter().any(|name| tables.iter().any(|it| is_same_name(it, name)))
                }
                Self::Schema(schema) => basis.names.iter().any(|name| name.0.eq_ignore_ascii_case(schema)),
                Self::Routine => basis.runs_code,
                Self::Everything => true,
            }
    }

    /// Returns the tables among it, each of which may become the child of any table.
    fn tables(&self) -> &[Name] {
        match self {
            Self::Tables(tables) => tables,
            _ => &[],
        }
    }
}

/// All that is under way.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    list: Mutex<List>,
}

/// By numbers in the order in which they were noted.
#[derive(Debug, Default)]
struct List {
    noted: u64,
    definitions: BTreeMap<u64, Arc<Defined>>,
    writes: BTreeMap<u64, Arc<Noted>>,
}

impl List {
    fn next(&mut self) -> u64 {
        self.noted += 1;
        self.noted
    }
}

/// A write that is under way.
#[derive(Debug)]
struct Noted {
    told: Told,
    /// What stands for it besides, because of definitions that were sent later.
    besides: Mutex<Vec<Arc<Fence>>>,
}

/// A definition that is under way until this is dropped.
#[derive(Debug)]
#[must_use = "a definition that is forgotten at once is not heeded"]
pub struct Definition {
    among: Arc<UnderWay>,
    number: u64,
    what: Arc<Defined>,
}

impl Drop for Definition {
    fn drop(&mut self) {
        self.among.list().definitions.remove(&self.number);
    }
}

/// A write that is under way until this is dropped, and with it what was fenced for it because of later definitions.
#[derive(Debug)]
#[must_use = "a write that is forgotten at once is not heeded"]
pub struct Writing {
    among: Arc<UnderWay>,
    number: u64,
}

impl Drop for Writing {
    fn drop(&mut self) {
        let noted = self.among.list().writes.remove(&self.number);
        drop(noted); // The lock is not held while fences are lifted.
    }
}

impl UnderWay {
    pub(crate) fn define(self: &Arc<Self>, what: Defined) -> Definition {
        let what = Arc::new(what);
        let mut list = self.list();
        let number = list.next();
        list.definitions.insert(number, Arc::clone(&what));
        drop(list);
        Definition { among: Arc::clone(self), number, what }
    }

    pub(crate) fn write(self: &Arc<Self>, told: Told) -> Writing {
        let noted = Arc::new(Noted { told, besides: Mutex::default() });
        let mut list = self.list();
        let number = list.next();
        list.writes.insert(number, noted);
        drop(list);
        Writing { among: Arc::clone(self), number }
    }

    /// Returns the definitions that are under way at this moment, but for this one.
    pub(crate) fn definitions(&self, own: Option<&Definition>) -> DefinitionsUnderWay {
        let own = own.map(|own| own.number);
        let list = self.list();
        let others = list.definitions.iter().filter(|(number, _)| Some(**number) != own);
        DefinitionsUnderWay(others.map(|(_, what)| Arc::clone(what)).collect())
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // Each change of the list is one operation, so a poisoned lock guards sound data.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Definition {
    /// Whether a write that was noted before this, and is under way still, was told by something that this concerns.
    #[must_use]
    pub fn concerns_earlier_writes(&self) -> bool {
        self.earlier_writes().iter().any(|noted| self.concerns(noted))
    }

    /// Fences for the writes that were noted before this what this may make them change: `everything` where it concerns what
    /// they were told by, and `tables`, which are those that it names and what hangs on them, for the others.
    pub fn fence_earlier_writes(&self, everything: impl FnOnce() -> Fence, tables: impl FnOnce() -> Fence) {
        let (concerned, others): (Vec<_>, Vec<_>) =
            self.earlier_writes().into_iter().partition(|noted| self.concerns(noted));
        hold(&concerned, everything);
        hold(&others, tables);
    }

    /// Returns the tables that it names.
    #[must_use]
    pub fn tables(&self) -> &[Name] {
        self.what.tables()
    }

    fn concerns(&self, noted: &Noted) -> bool {
        noted.told.rests_on_any(|basis| self.what.concerns(basis))
    }

    fn earlier_writes(&self) -> Vec<Arc<Noted>> {
        self.among.list().writes.range(..self.number).map(|(_, noted)| Arc::clone(noted)).collect()
    }
}

/// One fence for all of these writes, until the last of them is applied.
fn hold(writes: &[Arc<Noted>], fence: impl FnOnce() -> Fence) {
    if writes.is_empty() {
        return;
    }
    let fence = Arc::new(fence());
    for noted in writes {
        noted.besides.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&fence));
    }
}

/// DefinitionsUnderWay that were under way at one moment.
#[derive(Debug)]
pub(crate) struct DefinitionsUnderWay(Vec<Arc<Defined>>);

impl DefinitionsUnderWay {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether what was told may not hold beside them.
    pub(crate) fn concern(&self, told: &Told) -> bool {
        !self.is_empty() && told.rests_on_any(|basis| self.0.iter().any(|what| what.concerns(basis)))
    }

    pub(crate) fn concern_schemas(&self) -> bool {
        self.0.iter().any(|what| matches!(what.as_ref(), Defined::Schema(_) | Defined::Everything))
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().flat_map(|what| what.tables())
    }
}

#[cfg(test)]
mod tests;
