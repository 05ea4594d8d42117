//! What was compiled of a statement, found by its form in one pass over its text: of a SELECT the template, the hint, and the plan
//! of the rows that it reads; of a write its effects and its rows. The next statement of the form only brings its values.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use freshet_sql::{
    Datum, Deprecations, Effects, Hint, Modes, Request, RowWrite, Slotted, TokenBuffer, Tokens,
};

use super::analysis::Template;
use crate::kept::Sharded;
use crate::rows::{BoundPlan, ReadPlan, StatementText};

/// How many bytes of forms are kept in each shard: 8 MiB in all.
const SHARD_BYTES_MAX: usize = 1 << 19;
/// What a form takes beside its text, about, in bytes; with its plan.
const COMPILED_BYTES: usize = 1536;
/// Forms are looked up on misses only.
const SHARDS: usize = 16;

thread_local! {
    /// Where a statement is cut and its form put together to be looked up.
    static FORM: RefCell<(Slotted, TokenBuffer)> = RefCell::default();
}

/// What a statement is by its form.
#[derive(Debug)]
pub(crate) enum ByForm<'a> {
    /// One of a known form.
    Known(Bound),
    /// One of a new form.
    New(New<'a>),
}

/// A statement of a new form, cut once for all who read it.
#[derive(Debug)]
pub(crate) struct New<'a> {
    pub(crate) tokens: Tokens<'a>,
    /// Its form, if it has one.
    pub(super) form: Option<Box<[u8]>>,
}

impl<'a> New<'a> {
    /// One whose form nobody looks for.
    pub(crate) fn cut(text: &'a [u8], modes: Modes) -> Self {
        Self { tokens: Tokens::cut(text, modes), form: None }
    }
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
    Select(BoundSelect<'static>),
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
    pub(super) fn new(template: Arc<Template>, tokens: &Tokens<'_>) -> Self {
        let request = tokens.request();
        let is_select = matches!(request, Request::Select { .. });
        let hint = if let Request::Select { hint } = request { hint } else { None };
        let is_hinted = tokens.has_hint();
        let (plan, plan_without_moments) = (OnceLock::new(), OnceLock::new());
        let deprecations = tokens.deprecations().unwrap_or_default();
        Self { template, hint, is_hinted, deprecations, is_select, plan, plan_without_moments }
    }
}

/// A SELECT.
#[derive(Debug)]
pub(crate) struct BoundSelect<'a> {
    pub(crate) compiled: Arc<CompiledSelect>,
    values: Vec<Datum>,
    /// The statement, if it is the first of its form or has none.
    first: Option<Tokens<'a>>,
}

impl<'a> BoundSelect<'a> {
    /// The first statement of a form.
    pub(super) const fn first(compiled: Arc<CompiledSelect>, tokens: Tokens<'a>) -> Self {
        Self { compiled, values: Vec::new(), first: Some(tokens) }
    }

    /// One whose form is known.
    const fn known(compiled: Arc<CompiledSelect>, values: Vec<Datum>) -> BoundSelect<'static> {
        BoundSelect { compiled, values, first: None }
    }

    /// The statement, if it has been cut for good.
    pub(crate) const fn tokens(&self) -> Option<&Tokens<'a>> {
        self.first.as_ref()
    }

    pub(crate) fn template(&self) -> &Template {
        &self.compiled.template
    }

    /// The plan that `statement`, which this is, shares with others of its form, and its values.
    pub(crate) fn plan(&self, statement: StatementText<'_>) -> Option<BoundPlan<'_>> {
        let tables = &self.compiled.template.tables;
        let plan = match statement.zone.is_fixed() || !tables.have_moments() {
            true => &self.compiled.plan,
            false => &self.compiled.plan_without_moments,
        };
        let is_first = self.first.is_some();
        if plan.get().is_none() && !is_first {
            // Two threads may both make it, and one is kept: none waits for the other.
            let _ = plan.set(ReadPlan::shared(statement, tables));
        }
        let plan = plan.get().filter(|_| !is_first)?.as_ref();
        plan.map(|plan| BoundPlan { plan, values: &self.values })
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
    pub(crate) fn rows(&self, statement: StatementText<'_>) -> Option<RowWrite> {
        let shared = self.compiled.rows.get_or_init(|| shared_rows(statement));
        match shared {
            Some(shared) => Some(shared.clone().with_values(&self.values)),
            None => freshet_sql::row_write(statement.text, statement.modes),
        }
    }
}

/// What all statements of the form of this one write. The text with parameters has to say, with the values of this statement, what
/// the statement itself says.
fn shared_rows(StatementText { text, modes, schema, .. }: StatementText<'_>) -> Option<RowWrite> {
    let mut slotted = Slotted::default();
    let has_form = slotted.read(text, modes, schema) && slotted.is_shared();
    let own = freshet_sql::row_write(text, modes).filter(|_| has_form)?;
    let with_slots = freshet_sql::row_write(slotted.text(), modes)?;
    (with_slots.clone().with_values(&slotted.values) == own).then_some(with_slots)
}

/// All forms.
#[derive(Debug)]
pub(super) struct Forms(Sharded<Compiled, SHARDS>);

impl Default for Forms {
    fn default() -> Self {
        Self(Sharded::new(SHARD_BYTES_MAX))
    }
}

impl Forms {
    /// What was compiled of a statement's form, with the statement's values; if nothing was, its tokens. What was compiled counts
    /// only if it `is_current`.
    pub(super) fn bind<'a>(
        &self,
        (text, modes): (&'a [u8], Modes),
        schema: Option<&str>,
        is_current: impl FnOnce(&Template) -> bool,
    ) -> ByForm<'a> {
        FORM.with_borrow_mut(|(slotted, buffer)| {
            let tokens = Tokens::cut_into(std::mem::take(buffer), text, modes);
            if !slotted.read_tokens(&tokens, schema) {
                return ByForm::New(New { tokens, form: None });
            }
            let form = slotted.form();
            let compiled = self.0.of(form).get(form).cloned();
            let compiled = compiled.filter(|compiled| match compiled {
                Compiled::Select(select) => is_current(&select.template),
                Compiled::Write(_) => true,
            });
            let Some(compiled) = compiled else {
                return ByForm::New(New { form: Some(form.into()), tokens });
            };
            *buffer = tokens.into_buffer();
            let values = std::mem::take(&mut slotted.values);
            ByForm::Known(match compiled {
                Compiled::Select(compiled) => Bound::Select(BoundSelect::known(compiled, values)),
                Compiled::Write(compiled) => Bound::Write(BoundWrite { compiled, values }),
            })
        })
    }

    /// Keeps what was compiled of a new SELECT for others of its form.
    pub(super) fn keep_select(&self, form: Option<Box<[u8]>>, compiled: &Arc<CompiledSelect>) {
        if compiled.is_select {
            self.keep(form, || Compiled::Select(Arc::clone(compiled)));
        }
    }

    /// Keeps what a new write of rows of one table does, for others of its form.
    pub(super) fn keep_write(&self, form: Option<Box<[u8]>>, effects: &Effects) {
        let write = || CompiledWrite { effects: effects.clone(), rows: OnceLock::new() };
        self.keep(form, || Compiled::Write(Arc::new(write())));
    }

    fn keep(&self, form: Option<Box<[u8]>>, compiled: impl FnOnce() -> Compiled) {
        if let Some(form) = form {
            let bytes = form.len() + COMPILED_BYTES;
            self.0.of(&form).insert(form, compiled(), bytes);
        }
    }
}

#[cfg(test)]
mod tests;
