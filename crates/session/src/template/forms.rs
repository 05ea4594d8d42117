//! What was compiled of a statement, found by its form in one pass over its text: the template, the hint, and the plan of the rows
//! that it reads. The next statement of the form only brings its values.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ahash::RandomState;
use freshet_sql::{Datum, Hint, Request, Slotted};

use super::Template;
use crate::kept::Kept;
use crate::rows::{ReadPlan, Statement};

/// How many bytes of forms are kept in each shard: 8 MiB in all.
const SHARD_BYTES_MAX: usize = 1 << 19;
/// What a form takes beside its text, about, in bytes; with its plan.
const COMPILED_BYTES: usize = 1536;
/// Forms are looked up on misses only; a few shards keep the event loops out of each other's way.
const SHARDS: usize = 16;

thread_local! {
    /// Where a form is put together to be looked up.
    static FORM: RefCell<Slotted> = RefCell::default();
}

/// What was compiled of a form.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) template: Arc<Template>,
    /// The hint in its first SELECT.
    pub(crate) hint: Option<Hint>,
    /// It has hints of ours somewhere.
    pub(crate) is_hinted: bool,
    /// It is one SELECT.
    is_select: bool,
    /// The plan that its statements share; none if each is read by itself. It is made for the second statement: most forms that are
    /// invented are never seen again.
    plan: OnceLock<Option<ReadPlan>>,
}

impl Compiled {
    pub(crate) fn new(template: Arc<Template>, Statement { text, modes, .. }: Statement<'_>) -> Self {
        let request = freshet_sql::read(text, modes);
        let is_select = matches!(request, Request::Select { .. });
        let hint = if let Request::Select { hint } = request { hint } else { None };
        let is_hinted = freshet_sql::strip_hint(text, modes).is_some();
        Self { template, hint, is_hinted, is_select, plan: OnceLock::new() }
    }
}

/// A statement as what was compiled of its form, and its own values.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) compiled: Arc<Compiled>,
    values: Vec<Datum>,
    /// It is the first of its form, or has none.
    is_first: bool,
}

impl Bound {
    /// The first statement of a form.
    pub(super) const fn new(compiled: Arc<Compiled>) -> Self {
        Self { compiled, values: Vec::new(), is_first: true }
    }

    pub(crate) fn template(&self) -> &Template {
        &self.compiled.template
    }

    /// The plan that `statement`, which this is, shares with others of its form, and its values.
    pub(crate) fn plan(&self, statement: Statement<'_>) -> Option<(&ReadPlan, &[Datum])> {
        let plan = &self.compiled.plan;
        if plan.get().is_none() && !self.is_first {
            // Two threads may both make it, and one is kept: none waits for the other.
            let _ = plan.set(ReadPlan::shared(statement, &self.compiled.template.tables));
        }
        let plan = plan.get().filter(|_| !self.is_first)?.as_ref();
        plan.map(|plan| (plan, self.values.as_slice()))
    }
}

type Shard = Kept<Box<[u8]>, Arc<Compiled>>;

/// All forms.
#[derive(Debug)]
pub(super) struct Forms {
    shards: [Mutex<Shard>; SHARDS],
    hash: RandomState,
}

impl Default for Forms {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::new(Kept::new(SHARD_BYTES_MAX)));
        Self { shards, hash: RandomState::new() }
    }
}

impl Forms {
    /// What was compiled of a statement's form, with the statement's values.
    pub(super) fn bind(&self, statement: Statement<'_>) -> Option<Bound> {
        FORM.with_borrow_mut(|slotted| {
            let compiled = self.of(slotted, statement, |shard, form| shard.get(form).map(Arc::clone))??;
            Some(Bound { compiled, values: std::mem::take(&mut slotted.values), is_first: false })
        })
    }

    /// Keeps what was compiled of a statement for others of its form.
    pub(super) fn keep(&self, statement: Statement<'_>, compiled: &Arc<Compiled>) {
        if !compiled.is_select {
            return;
        }
        FORM.with_borrow_mut(|slotted| {
            self.of(slotted, statement, |shard, form| {
                shard.insert(form.into(), Arc::clone(compiled), form.len() + COMPILED_BYTES);
            })
        });
    }

    /// Reads a statement's form, if it has one, and does something in its shard.
    fn of<T>(
        &self,
        slotted: &mut Slotted,
        Statement { text, modes, schema }: Statement<'_>,
        with: impl FnOnce(&mut Shard, &[u8]) -> T,
    ) -> Option<T> {
        slotted.read(text, modes, schema).then(|| with(&mut self.shard(slotted.form()), slotted.form()))
    }

    fn shard(&self, form: &[u8]) -> MutexGuard<'_, Shard> {
        let at = (self.hash.hash_one(form) % SHARDS as u64) as usize;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
