//! What was compiled of a statement, found by its form in one pass over its text: for a SELECT the template, the hint, and the plan
//! of the rows that it reads; for a write its effects and its rows. Later statements of the form only bring their values.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crossbeam_utils::CachePadded;
use freshet_cache::{STRIPES, stripe};
use freshet_sql::{
    Datum, Deprecations, Effects, Hint, Modes, Places, Request, RowWrite, Skeleton, Slotted, TokenBuffer,
    Tokens,
};

use super::analysis::Template;
use crate::kept::Kept;
use crate::rows::{BoundPlan, ReadPlan, StatementText};
use crate::statistics::DigestMemo;

/// How many bytes of forms and skeletons are kept for each event loop: at least and at most, and for as many loops as there are cores together.
const OWN_BYTES_MIN: usize = 1 << 20;
const OWN_BYTES_MAX: usize = 8 << 20;
const BYTES_MAX: usize = 32 << 20;
/// About how many bytes a form takes beside its text, with its plan.
const COMPILED_BYTES: usize = 1536;
/// One in this many of these bytes is for skeletons.
const SKELETONS_SHARE: usize = 2;

thread_local! {
    /// The buffers in which a statement's skeleton, its tokens and its form are put together for a look-up.
    static FORM: RefCell<(Skeleton, Slotted, TokenBuffer)> = RefCell::default();
}

/// A statement by its form.
#[derive(Debug)]
pub(crate) enum ByForm<'a> {
    /// A statement of a known form.
    Known(Bound),
    /// A statement of a new form.
    New(Box<New<'a>>),
}

/// A statement of a new form, cut once for all its readers.
#[derive(Debug)]
pub(crate) struct New<'a> {
    pub(crate) tokens: Tokens<'a>,
    /// The form, if the statement has one.
    pub(super) form: Option<Box<[u8]>>,
}

impl<'a> New<'a> {
    /// Makes a statement whose form is not looked for.
    pub(crate) fn cut(text: &'a [u8], modes: Modes) -> Self {
        Self { tokens: Tokens::cut(text, modes), form: None }
    }
}

/// What was compiled of a form.
#[derive(Clone, Debug)]
enum CompiledForm {
    Select(Arc<CompiledSelect>),
    Write(Arc<CompiledWrite>),
}

impl CompiledForm {
    /// Whether what it rests on is still so.
    fn is_current(&self, is_current: impl Fn(&Template) -> bool) -> bool {
        match self {
            Self::Select(select) => is_current(&select.template),
            Self::Write(_) => true,
        }
    }
}

/// What was compiled of the form of all statements of one skeleton, and what else they have in common.
#[derive(Debug)]
struct OfSkeleton {
    compiled: CompiledForm,
    places: Places,
    digest_memo: DigestMemo,
}

/// A statement as its compiled form and its own values.
#[derive(Debug)]
pub(crate) enum Bound {
    Select(BoundSelect<'static>),
    Write(BoundWrite),
}

impl Bound {
    fn new(compiled: CompiledForm, values: Vec<Datum>, of_skeleton: Option<Arc<OfSkeleton>>) -> Self {
        match compiled {
            CompiledForm::Select(compiled) => Self::Select(BoundSelect::known(compiled, values, of_skeleton)),
            CompiledForm::Write(compiled) => Self::Write(BoundWrite { compiled, values, of_skeleton }),
        }
    }
}

/// What was compiled of the form of a SELECT.
#[derive(Debug)]
pub(crate) struct CompiledSelect {
    pub(crate) template: Arc<Template>,
    /// The hint in the first SELECT.
    pub(crate) hint: Option<Hint>,
    /// A hint of Freshet's stands somewhere in the text.
    pub(crate) is_hinted: bool,
    /// The syntax about which a server may warn; none if that is unknown.
    pub(crate) deprecations: Deprecations,
    /// The text is one SELECT.
    is_select: bool,
    /// The plan that the statements share; `None` if each is read by itself. The plan is made for the second statement: most invented forms
    /// are never seen again.
    plan: OnceLock<Option<ReadPlan>>,
    /// The plan for time zones in which moments cannot be told, if the tables have moments.
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

/// A SELECT as its compiled form and its values.
#[derive(Debug)]
pub(crate) struct BoundSelect<'a> {
    pub(crate) compiled: Arc<CompiledSelect>,
    values: Vec<Datum>,
    /// What its skeleton tells, if that is known.
    of_skeleton: Option<Arc<OfSkeleton>>,
    /// The tokens of the statement, if it is the first of its form or has no form.
    first: Option<Box<Tokens<'a>>>,
}

impl<'a> BoundSelect<'a> {
    /// Makes the first statement of a form.
    pub(super) fn first(compiled: Arc<CompiledSelect>, tokens: Tokens<'a>) -> Self {
        Self { compiled, values: Vec::new(), of_skeleton: None, first: Some(Box::new(tokens)) }
    }

    /// Makes a statement whose form is known.
    const fn known(
        compiled: Arc<CompiledSelect>,
        values: Vec<Datum>,
        of_skeleton: Option<Arc<OfSkeleton>>,
    ) -> BoundSelect<'static> {
        BoundSelect { compiled, values, of_skeleton, first: None }
    }

    /// Returns under which digest the statements of its skeleton are counted, if the skeleton is known.
    pub(crate) fn digest_memo(&self) -> Option<&DigestMemo> {
        self.of_skeleton.as_deref().map(|of_skeleton| &of_skeleton.digest_memo)
    }

    /// Returns the tokens of the statement, if they are kept.
    pub(crate) fn tokens(&self) -> Option<&Tokens<'a>> {
        self.first.as_deref()
    }

    pub(crate) fn template(&self) -> &Template {
        &self.compiled.template
    }

    /// Returns the plan that `statement` (this one) shares with others of its form, and its values.
    pub(crate) fn plan(&self, statement: StatementText<'_>) -> Option<BoundPlan<'_>> {
        let tables = &self.compiled.template.tables;
        let plan = match statement.zone.is_fixed() || !tables.have_moments() {
            true => &self.compiled.plan,
            false => &self.compiled.plan_without_moments,
        };
        let is_first = self.first.is_some();
        if plan.get().is_none() && !is_first {
            // Two threads may both make the plan, and one is kept: neither waits for the other.
            let _ = plan.set(ReadPlan::shared(statement, tables));
        }
        let plan = plan.get().filter(|_| !is_first)?.as_ref();
        plan.map(|plan| BoundPlan { plan, values: &self.values })
    }
}

/// What was compiled of the form of a write of rows of one table. It depends on no definition.
#[derive(Debug)]
pub(crate) struct CompiledWrite {
    /// The effects, with every name in full.
    effects: Effects,
    /// The rows that the statements write, with parameters; `None` if each is read by itself. Made for the second statement.
    rows: OnceLock<Option<RowWrite>>,
}

/// A write of rows of one table.
#[derive(Debug)]
pub(crate) struct BoundWrite {
    compiled: Arc<CompiledWrite>,
    values: Vec<Datum>,
    /// What its skeleton tells, if that is known.
    of_skeleton: Option<Arc<OfSkeleton>>,
}

impl BoundWrite {
    /// Returns under which digest the statements of its skeleton are counted, if the skeleton is known.
    pub(crate) fn digest_memo(&self) -> Option<&DigestMemo> {
        self.of_skeleton.as_deref().map(|of_skeleton| &of_skeleton.digest_memo)
    }

    pub(crate) fn effects(&self) -> &Effects {
        &self.compiled.effects
    }

    /// Returns the rows that `statement` (this one) writes.
    pub(crate) fn rows(&self, statement: StatementText<'_>) -> Option<RowWrite> {
        let shared = self.compiled.rows.get_or_init(|| shared_rows(statement));
        match shared {
            Some(shared) => Some(shared.clone().with_values(&self.values)),
            None => freshet_sql::row_write(statement.text, statement.modes),
        }
    }
}

/// Returns what all statements of this form write. The text with parameters, filled with the values of this statement, must mean the same as
/// the statement itself.
fn shared_rows(StatementText { text, modes, schema, .. }: StatementText<'_>) -> Option<RowWrite> {
    let mut slotted = Slotted::default();
    let has_form = slotted.read(text, modes, schema) && slotted.is_shared();
    let own = freshet_sql::row_write(text, modes).filter(|_| has_form)?;
    let with_slots = freshet_sql::row_write(slotted.text(), modes)?;
    (with_slots.clone().with_values(&slotted.values) == own).then_some(with_slots)
}

/// The forms of one event loop, and the skeletons of their texts.
#[derive(Debug)]
struct OwnForms {
    forms: Kept<Box<[u8]>, CompiledForm>,
    skeletons: Kept<Box<[u8]>, Arc<OfSkeleton>>,
}

impl OwnForms {
    fn new(bytes_max: usize) -> Self {
        let for_skeletons = bytes_max / SKELETONS_SHARE;
        Self { forms: Kept::new(bytes_max - for_skeletons), skeletons: Kept::new(for_skeletons) }
    }
}

/// All forms. Each thread keeps its own: each miss looks for its form, and most misses of an application have a few forms, so all threads
/// would wait for the same lock and write the same count of references. A form is compiled once for each thread. Threads beyond
/// [`STRIPES`] share the forms of others: hence the locks.
#[derive(Debug)]
pub(super) struct Forms(Box<[CachePadded<Mutex<OwnForms>>]>);

impl Default for Forms {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let own = (BYTES_MAX / cores).clamp(OWN_BYTES_MIN, OWN_BYTES_MAX);
        Self((0..STRIPES).map(|_| CachePadded::new(Mutex::new(OwnForms::new(own)))).collect())
    }
}

impl Forms {
    fn own(&self) -> MutexGuard<'_, OwnForms> {
        self.0[stripe()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was compiled of a statement's form, with the statement's values; if nothing was, returns its tokens. A compiled form
    /// counts only if it `is_current`.
    pub(super) fn bind<'a>(
        &self,
        text: &'a [u8],
        modes: Modes,
        schema: Option<&str>,
        is_current: impl Fn(&Template) -> bool,
    ) -> ByForm<'a> {
        FORM.with_borrow_mut(|(skeleton, slotted, buffer)| {
            let has_skeleton = skeleton.read(text, modes, schema);
            if has_skeleton
                && let Some(of_skeleton) = self.of_skeleton(skeleton)
                && of_skeleton.compiled.is_current(&is_current)
                && let Some(values) = skeleton.values(text, modes, &of_skeleton.places)
            {
                return ByForm::Known(Bound::new(of_skeleton.compiled.clone(), values, Some(of_skeleton)));
            }
            let tokens = Tokens::cut_into(std::mem::take(buffer), text, modes);
            if !slotted.read_tokens(&tokens, schema) {
                return ByForm::New(Box::new(New { tokens, form: None }));
            }
            let form = slotted.form();
            let compiled = self.own().forms.get(form).cloned();
            let Some(compiled) = compiled.filter(|compiled| compiled.is_current(&is_current)) else {
                return ByForm::New(Box::new(New { form: Some(form.into()), tokens }));
            };
            *buffer = tokens.into_buffer();
            if has_skeleton && let Some(places) = slotted.places(text, modes, skeleton) {
                self.keep_skeleton(skeleton, &compiled, places);
            }
            ByForm::Known(Bound::new(compiled, std::mem::take(&mut slotted.values), None))
        })
    }

    /// Returns what the statements of this skeleton have in common, if that is known.
    fn of_skeleton(&self, skeleton: &Skeleton) -> Option<Arc<OfSkeleton>> {
        self.own().skeletons.get(skeleton.key()).map(Arc::clone)
    }

    /// Stores what was found for a statement of this skeleton, for others of the skeleton.
    fn keep_skeleton(&self, skeleton: &Skeleton, compiled: &CompiledForm, places: Places) {
        // What was compiled stays as long as the skeleton does.
        let bytes = skeleton.key().len() + places.bytes() + COMPILED_BYTES;
        let compiled = compiled.clone();
        let of_skeleton = OfSkeleton { compiled, places, digest_memo: DigestMemo::default() };
        self.own().skeletons.insert(skeleton.key().into(), Arc::new(of_skeleton), bytes);
    }

    /// Stores what was compiled of a new SELECT for others of its form.
    pub(super) fn keep_select(&self, form: Option<Box<[u8]>>, compiled: &Arc<CompiledSelect>) {
        if compiled.is_select {
            self.keep(form, || CompiledForm::Select(Arc::clone(compiled)));
        }
    }

    /// Stores what a new write of rows of one table does, for others of its form.
    pub(super) fn keep_write(&self, form: Option<Box<[u8]>>, effects: &Effects) {
        let write = || CompiledWrite { effects: effects.clone(), rows: OnceLock::new() };
        self.keep(form, || CompiledForm::Write(Arc::new(write())));
    }

    fn keep(&self, form: Option<Box<[u8]>>, compiled: impl FnOnce() -> CompiledForm) {
        if let Some(form) = form {
            let bytes = form.len() + COMPILED_BYTES;
            self.own().forms.insert(form, compiled(), bytes);
        }
    }
}

#[cfg(test)]
mod tests;
