//! Definitions and writes that are under way through us, and what they mean for each other.
//!
//! From the moment when a definition is sent until it is applied, the objects that it names may differ from the catalog's knowledge.
//! Conclusions from other objects still hold. A definition is noted here before it is sent, and forgotten when its fence is lifted. That
//! is after [`crate::Catalog::changed`] has told of it. So a session that looks here first, and at the versions after that, misses no
//! definition.
//!
//! A write may come to the server after a definition that was sent later. So a write is noted here too, with its basis, before it looks
//! for definitions; and a definition looks for writes after it is noted. Of the two, at least one sees the other, and fences for the
//! write everything that the definition may make it change, until the write is applied.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use freshet_cache::Fence;

use crate::name::{Name, is_same_name};
use crate::versions::{Basis, Told};

/// The objects that a definition names. Names are compared without regard to case: taking two names for the same costs a wider fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Defined {
    /// These tables and views: their columns, keys, foreign keys or triggers may change, or the names may stand for other tables.
    Tables(Vec<Name>),
    /// All objects in this schema. No foreign key comes with the definition.
    Schema(String),
    /// A procedure or a function.
    Routine,
    /// All objects.
    Everything,
}

impl Defined {
    /// Whether a conclusion with this basis may not hold while the definition is under way. `Versions::is_current` asks the same about
    /// definitions that have been applied.
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

    /// Returns the tables that the definition names. Each of them may become the child of any table.
    fn tables(&self) -> &[Name] {
        match self {
            Self::Tables(tables) => tables,
            _ => &[],
        }
    }
}

/// All definitions and writes that are under way.
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
    /// Further fences for the write, because of definitions that were sent later.
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

/// A write that is under way until this is dropped. Its further fences for later definitions are dropped with it.
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

    /// Returns the definitions that are under way at this moment, except `own`.
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
    /// Whether a write that was noted before this definition, and is still under way, rests on something that the definition concerns.
    #[must_use]
    pub fn concerns_earlier_writes(&self) -> bool {
        self.earlier_writes().iter().any(|noted| self.concerns(noted))
    }

    /// Fences, for the writes that were noted before this definition, what it may make them change. `everything` is for writes whose
    /// basis the definition concerns. `tables`, the tables that it names and those that hang on them, is for the other writes.
    pub fn fence_earlier_writes(&self, everything: impl FnOnce() -> Fence, tables: impl FnOnce() -> Fence) {
        let (concerned, others): (Vec<_>, Vec<_>) =
            self.earlier_writes().into_iter().partition(|noted| self.concerns(noted));
        hold(&concerned, everything);
        hold(&others, tables);
    }

    /// Returns the tables that the definition names.
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

/// Raises one fence for all of these writes. It stands until the last of them is applied.
fn hold(writes: &[Arc<Noted>], fence: impl FnOnce() -> Fence) {
    if writes.is_empty() {
        return;
    }
    let fence = Arc::new(fence());
    for noted in writes {
        noted.besides.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&fence));
    }
}

/// The definitions that were under way at one moment.
#[derive(Debug)]
pub(crate) struct DefinitionsUnderWay(Vec<Arc<Defined>>);

impl DefinitionsUnderWay {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a conclusion may not hold beside these definitions.
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
