//! What was compiled of a statement, found by its form in one pass over its text: of a SELECT the template, the hint, and the plan
//! of the rows that it reads; of a write its effects and its rows. The next statement of the form only brings its values.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ahash::RandomState;
use freshet_sql::{Datum, Deprecations, Effects, Hint, Request, RowWrite, Slotted};

use super::analysis::Template;
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
#[derive(Clone, Debug)]
enum Compiled {
    Select(Arc<CompiledSelect>),
    Write(Arc<CompiledWrite>),
}

/// A statement as what was compiled of its form, and its own values.
#[derive(Debug)]
pub(crate) enum Bound {
    Select(BoundSelect),
    Write(BoundWrite),
}

/// What was compiled of the form of a SELECT.
#[derive(Debug)]
pub(crate) struct CompiledSelect {
    pub(crate) template: Arc<Template>,
    /// The hint in its first SELECT.
    pub(crate) hint: Option<Hint>,
    /// It has hints of ours somewhere.
    pub(crate) is_hinted: bool,
    /// The syntax in it of which a server may warn; none where that is not told.
    pub(crate) deprecations: Deprecations,
    /// It is one SELECT.
    is_select: bool,
    /// The plan that its statements share; none if each is read by itself. It is made for the second statement: most forms that are
    /// invented are never seen again.
    plan: OnceLock<Option<ReadPlan>>,
    /// The same where moments cannot be told in the session's time zone, if the tables have any.
    plan_without_moments: OnceLock<Option<ReadPlan>>,
}

impl CompiledSelect {
    pub(super) fn new(template: Arc<Template>, Statement { text, modes, .. }: Statement<'_>) -> Self {
        let request = freshet_sql::read(text, modes);
        let is_select = matches!(request, Request::Select { .. });
        let hint = if let Request::Select { hint } = request { hint } else { None };
        let is_hinted = freshet_sql::strip_hint(text, modes).is_some();
        let (plan, plan_without_moments) = (OnceLock::new(), OnceLock::new());
        let deprecations = Deprecations::of(text, modes).unwrap_or_default();
        Self { template, hint, is_hinted, deprecations, is_select, plan, plan_without_moments }
    }
}

/// A SELECT.
#[derive(Debug)]
pub(crate) struct BoundSelect {
    pub(crate) compiled: Arc<CompiledSelect>,
    values: Vec<Datum>,
    /// It is the first of its form, or has none.
    is_first: bool,
}

impl BoundSelect {
    /// The first statement of a form.
    pub(super) const fn new(compiled: Arc<CompiledSelect>) -> Self {
        Self { compiled, values: Vec::new(), is_first: true }
    }

    pub(crate) fn template(&self) -> &Template {
        &self.compiled.template
    }

    /// The plan that `statement`, which this is, shares with others of its form, and its values.
    pub(crate) fn plan(&self, statement: Statement<'_>) -> Option<(&ReadPlan, &[Datum])> {
        let tables = &self.compiled.template.tables;
        let plan = match statement.zone.is_fixed() || !tables.have_moments() {
            true => &self.compiled.plan,
            false => &self.compiled.plan_without_moments,
        };
        if plan.get().is_none() && !self.is_first {
            // Two threads may both make it, and one is kept: none waits for the other.
            let _ = plan.set(ReadPlan::shared(statement, tables));
        }
        let plan = plan.get().filter(|_| !self.is_first)?.as_ref();
        plan.map(|plan| (plan, self.values.as_slice()))
    }
}

/// What was compiled of the form of a write of rows of one table. It rests on no definition.
#[derive(Debug)]
pub(crate) struct CompiledWrite {
    /// With every name in full.
    effects: Effects,
    /// The rows that its statements write, with parameters; none if each is read by itself. It is made for the second.
    rows: OnceLock<Option<RowWrite>>,
}

/// A write of rows of one table.
#[derive(Debug)]
pub(crate) struct BoundWrite {
    compiled: Arc<CompiledWrite>,
    values: Vec<Datum>,
}

impl BoundWrite {
    pub(crate) fn effects(&self) -> &Effects {
        &self.compiled.effects
    }

    /// The rows that `statement`, which this is, writes.
    pub(crate) fn rows(&self, statement: Statement<'_>) -> Option<RowWrite> {
        let shared = self.compiled.rows.get_or_init(|| shared_rows(statement));
        match shared {
            Some(shared) => Some(shared.clone().with_values(&self.values)),
            None => freshet_sql::row_write(statement.text, statement.modes),
        }
    }
}

/// What all statements of the form of this one write. The text with parameters has to say, with the values of this statement, what
/// the statement itself says.
fn shared_rows(Statement { text, modes, schema, .. }: Statement<'_>) -> Option<RowWrite> {
    let mut slotted = Slotted::default();
    let has_form = slotted.read(text, modes, schema) && slotted.is_shared();
    let own = freshet_sql::row_write(text, modes).filter(|_| has_form)?;
    let with_slots = freshet_sql::row_write(slotted.text(), modes)?;
    (with_slots.clone().with_values(&slotted.values) == own).then_some(with_slots)
}

type Shard = Kept<Box<[u8]>, Compiled>;

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
            let compiled = self.of(slotted, statement, |shard, form| shard.get(form).cloned())??;
            let values = std::mem::take(&mut slotted.values);
            Some(match compiled {
                Compiled::Select(compiled) => {
                    Bound::Select(BoundSelect { compiled, values, is_first: false })
                }
                Compiled::Write(compiled) => Bound::Write(BoundWrite { compiled, values }),
            })
        })
    }

    /// Keeps what was compiled of a SELECT for others of its form.
    pub(super) fn keep_select(&self, statement: Statement<'_>, compiled: &Arc<CompiledSelect>) {
        if compiled.is_select {
            self.keep(statement, || Compiled::Select(Arc::clone(compiled)));
        }
    }

    /// Keeps what a write of rows of one table does, for others of its form.
    pub(super) fn keep_write(&self, statement: Statement<'_>, effects: &Effects) {
        let write = || CompiledWrite { effects: effects.clone(), rows: OnceLock::new() };
        self.keep(statement, || Compiled::Write(Arc::new(write())));
    }

    fn keep(&self, statement: Statement<'_>, compiled: impl FnOnce() -> Compiled) {
        FORM.with_borrow_mut(|slotted| {
            self.of(slotted, statement, |shard, form| {
                shard.insert(form.into(), compiled(), form.len() + COMPILED_BYTES);
            })
        });
    }

    /// Reads a statement's form, if it has one, and does something in its shard.
    fn of<T>(
        &self,
        slotted: &mut Slotted,
        Statement { text, modes, schema, .. }: Statement<'_>,
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
