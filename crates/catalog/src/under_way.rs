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
//!
//! Each command looks here, and each write is noted here, while definitions are rare. So a command writes no cache line that other
//! threads write: it takes the shared side of the definitions' lock, and notes a write among those of its own thread.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;
use crossbeam_utils::sync::ShardedLock;
use freshet_cache::{Fence, STRIPES, stripe};

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
#[derive(Debug)]
pub(crate) struct UnderWay {
    /// By numbers in the order in which they were noted.
    definitions: ShardedLock<BTreeMap<u64, Arc<Defined>>>,
    /// The number of the last definition. Written with the exclusive side of the definitions' lock held.
    defined: AtomicU64,
    /// The writes, by the thread that noted them.
    writes: Box<[CachePadded<Mutex<NotedWrites>>]>,
}

impl Default for UnderWay {
    fn default() -> Self {
        let writes = (0..STRIPES).map(|_| CachePadded::default()).collect();
        Self { definitions: ShardedLock::default(), defined: AtomicU64::new(0), writes }
    }
}

/// The writes that one thread has noted, by their numbers.
#[derive(Debug, Default)]
struct NotedWrites {
    noted: u64,
    under_way: BTreeMap<u64, Arc<Noted>>,
}

/// A write that is under way.
#[derive(Debug)]
struct Noted {
    told: Told,
    /// The number of the last definition when the write was noted. The write looks for definitions later, so it finds each that has a
    /// higher number and is noted by then.
    behind: u64,
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
        let mut definitions = self.among.definitions.write().unwrap_or_else(PoisonError::into_inner);
        definitions.remove(&self.number);
    }
}

/// A write that is under way until this is dropped. Its further fences for later definitions are dropped with it.
#[derive(Debug)]
#[must_use = "a write that is forgotten at once is not heeded"]
pub struct Writing {
    among: Arc<UnderWay>,
    stripe: usize,
    number: u64,
}

impl Drop for Writing {
    fn drop(&mut self) {
        let noted = self.among.writes(self.stripe).under_way.remove(&self.number);
        drop(noted); // The lock is not held while fences are lifted.
    }
}

impl UnderWay {
    pub(crate) fn define(self: &Arc<Self>, what: Defined) -> Definition {
        let what = Arc::new(what);
        let mut definitions = self.definitions.write().unwrap_or_else(PoisonError::into_inner);
        let number = self.defined.fetch_add(1, Ordering::Relaxed) + 1;
        definitions.insert(number, Arc::clone(&what));
        drop(definitions);
        Definition { among: Arc::clone(self), number, what }
    }

    pub(crate) fn write(self: &Arc<Self>, told: Told) -> Writing {
        let stripe = stripe();
        let mut writes = self.writes(stripe);
        writes.noted += 1;
        let number = writes.noted;
        // The locks order this and the look for definitions that follows. Either that look comes before a definition: then this number is
        // lower than the definition's, and the definition finds the write. Or the look finds the definition.
        let behind = self.defined.load(Ordering::Relaxed);
        writes.under_way.insert(number, Arc::new(Noted { told, behind, besides: Mutex::default() }));
        drop(writes);
        Writing { among: Arc::clone(self), stripe, number }
    }

    /// Returns the definitions that are under way at this moment, except `own`.
    pub(crate) fn definitions(&self, own: Option<&Definition>) -> DefinitionsUnderWay {
        let own = own.map(|own| own.number);
        let definitions = self.definitions.read().unwrap_or_else(PoisonError::into_inner);
        let others = definitions.iter().filter(|(number, _)| Some(**number) != own);
        DefinitionsUnderWay(others.map(|(_, what)| Arc::clone(what)).collect())
    }

    fn writes(&self, stripe: usize) -> MutexGuard<'_, NotedWrites> {
        // Each change of a list is one operation, so a poisoned lock guards sound data. The same is true of the definitions.
        self.writes[stripe].lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut earlier = Vec::new();
        for stripe in 0..STRIPES {
            let writes = self.among.writes(stripe);
            earlier.extend(writes.under_way.values().filter(|noted| noted.behind < self.number).cloned());
        }
        earlier
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
