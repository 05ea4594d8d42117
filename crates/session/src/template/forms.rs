//! What was compiled of a statement, found by its form in one pass over its text: for a SELECT the template, the hint, and the plan
//! of the rows that it reads; for a write its effects and its rows. Later statements of the form only bring their values.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crossbeam_utils::CachePadded;
use freshet_cache::{STRIPES, stripe};
use freshet_sql::{
    Datum, Deprecations, Effects, Hint, Modes, Places, QueryPlan, Request, RowWrite, Skeleton, Slotted,
    TokenBuffer, Tokens, Unplanned,
};

use super::analysis::{Cacheability, Template};
use crate::kept::Kept;
use crate::rows::{BoundPlan, ReadPlan, StatementText};
use crate::sought::is_plain;
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
    Known(Bound<'a>),
    /// A statement of a new form.
    New(Box<New<'a>>),
}

impl ByForm<'_> {
    /// Whether the statement is known to be [plain](crate::sought).
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Known(bound) if bound.is_plain())
    }
}

/// A statement of a new form, cut once for all its readers.
#[derive(Debug)]
pub(crate) struct New<'a> {
    pub(crate) tokens: Tokens<'a>,
    /// The form, if the statement has one.
    pub(super) form: Option<Box<[u8]>>,
    /// What kind of SELECT it is, once that is read.
    pub(super) kind: Option<SelectKind>,
}

/// Whether a text is one SELECT, and what the SELECT is told of the cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SelectKind {
    pub(crate) is_select: bool,
    /// The hint in the first SELECT.
    pub(crate) hint: Option<Hint>,
}

impl From<&Request> for SelectKind {
    fn from(request: &Request) -> Self {
        match request {
            Request::Select { hint } => Self { is_select: true, hint: *hint },
            _ => Self::default(),
        }
    }
}

impl<'a> New<'a> {
    /// Makes a statement whose form is not looked for.
    pub(crate) fn cut(text: &'a [u8], modes: Modes) -> Self {
        Self { tokens: Tokens::cut(text, modes), form: None, kind: None }
    }

    /// Notes what kind of SELECT it is.
    pub(crate) fn of_kind(self, kind: SelectKind) -> Self {
        Self { kind: Some(kind), ..self }
    }
}

/// What was compiled of a form.
#[derive(Clone, Debug)]
enum CompiledForm {
    Select(Arc<CompiledSelect>),
    Write(Arc<CompiledWrite>),
}

impl CompiledForm {
    /// Whether the rows of a statement of the form are still read from its own text: their common part is not made yet, or there is none.
    fn reads_each(&self) -> bool {
        match self {
            Self::Select(select) => {
                let plans = [&select.plan, &select.plan_without_moments];
                matches!(select.template.verdict, Cacheability::Cache)
                    && plans.into_iter().all(|plan| plan.get().is_none_or(Option::is_none))
            }
            Self::Write(write) => write.rows.get().is_none_or(Option::is_none),
        }
    }

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
    /// The statements are [plain](crate::sought).
    is_plain: bool,
}

/// A statement as its compiled form and its own values.
#[derive(Debug)]
pub(crate) enum Bound<'a> {
    Select(BoundSelect<'a>),
    Write(BoundWrite<'a>),
}

impl<'a> Bound<'a> {
    /// Whether the statement is known to be [plain](crate::sought).
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::Select(select) => select.is_plain(),
            Self::Write(write) => write.is_plain(),
        }
    }

    fn new(compiled: CompiledForm, read: ReadBy<'a>) -> Self {
        match compiled {
            CompiledForm::Select(compiled) => Self::Select(BoundSelect { compiled, read, is_first: false }),
            CompiledForm::Write(compiled) => Self::Write(BoundWrite { compiled, read }),
        }
    }
}

/// What the look-up of a statement has read of it.
#[derive(Debug, Default)]
struct ReadBy<'a> {
    values: Vec<Datum>,
    /// What its skeleton tells, if that is known.
    of_skeleton: Option<Arc<OfSkeleton>>,
    /// The tokens, if the statement was cut and its readers will need them.
    tokens: Option<Box<Tokens<'a>>>,
}

impl ReadBy<'_> {
    fn is_plain(&self) -> bool {
        self.of_skeleton.as_deref().is_some_and(|of_skeleton| of_skeleton.is_plain)
    }

    fn digest_memo(&self) -> Option<&DigestMemo> {
        self.of_skeleton.as_deref().map(|of_skeleton| &of_skeleton.digest_memo)
    }

    /// Returns `statement` (this one) with its tokens.
    fn with_tokens<'s>(&'s self, statement: StatementText<'s>) -> StatementText<'s> {
        StatementText { tokens: self.tokens.as_deref(), ..statement }
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
    /// The plan form that the statements share, if their results are maintained; `None` if each has its own. Made like `plan`.
    plan_form: OnceLock<Option<Box<QueryPlan>>>,
}

impl CompiledSelect {
    pub(super) fn new(template: Arc<Template>, tokens: &Tokens<'_>, kind: SelectKind) -> Self {
        let SelectKind { is_select, hint } = kind;
        let is_hinted = tokens.has_hint();
        let (plan, plan_without_moments, plan_form) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let deprecations = tokens.deprecations().unwrap_or_default();
        Self { template, hint, is_hinted, deprecations, is_select, plan, plan_without_moments, plan_form }
    }
}

/// A SELECT as its compiled form and its values.
#[derive(Debug)]
pub(crate) struct BoundSelect<'a> {
    pub(crate) compiled: Arc<CompiledSelect>,
    read: ReadBy<'a>,
    /// It is the first statement of its form, or has no form, and is read by itself.
    is_first: bool,
}

impl<'a> BoundSelect<'a> {
    /// Makes the first statement of a form.
    pub(super) fn first(compiled: Arc<CompiledSelect>, tokens: Tokens<'a>) -> Self {
        let read = ReadBy { tokens: Some(Box::new(tokens)), ..ReadBy::default() };
        Self { compiled, read, is_first: true }
    }

    /// Returns under which digest the statements of its skeleton are counted, if the skeleton is known.
    pub(crate) fn digest_memo(&self) -> Option<&DigestMemo> {
        self.read.digest_memo()
    }

    /// Whether the statement is known to be [plain](crate::sought).
    pub(crate) fn is_plain(&self) -> bool {
        self.read.is_plain()
    }

    /// Returns the tokens of the statement, if they are kept.
    pub(crate) fn tokens(&self) -> Option<&Tokens<'a>> {
        self.read.tokens.as_deref()
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
        if self.is_first {
            return None;
        }
        if plan.get().is_none() {
            // Two threads may both make the plan, and one is kept: neither waits for the other.
            let _ = plan.set(ReadPlan::shared(self.read.with_tokens(statement), tables));
        }
        let plan = plan.get()?.as_ref();
        plan.map(|plan| BoundPlan { plan, values: &self.read.values })
    }
}

impl BoundSelect<'_> {
    /// Returns the plan form of `statement` (this one).
    ///
    /// # Errors
    /// What has no place in the form.
    pub(crate) fn plan_form(&self, statement: StatementText<'_>) -> Result<QueryPlan, Unplanned> {
        let (tables, statement) = (&self.compiled.template.tables, self.read.with_tokens(statement));
        if !self.is_first {
            let shared = &self.compiled.plan_form;
            if shared.get().is_none() {
                let read = |text: StatementText<'_>| text.plan_form(tables).ok();
                let _ = shared.set(statement.of_form(read, QueryPlan::with_values).map(Box::new));
            }
            if let Some(Some(plan)) = shared.get() {
                return Ok(QueryPlan::clone(plan).with_values(&self.read.values));
            }
        }
        statement.plan_form(tables)
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
pub(crate) struct BoundWrite<'a> {
    compiled: Arc<CompiledWrite>,
    read: ReadBy<'a>,
}

impl BoundWrite<'_> {
    /// Returns under which digest the statements of its skeleton are counted, if the skeleton is known.
    pub(crate) fn digest_memo(&self) -> Option<&DigestMemo> {
        self.read.digest_memo()
    }

    /// Whether the statement is known to be [plain](crate::sought).
    pub(crate) fn is_plain(&self) -> bool {
        self.read.is_plain()
    }

    pub(crate) fn effects(&self) -> &Effects {
        &self.compiled.effects
    }

    /// Returns the rows that `statement` (this one) writes.
    pub(crate) fn rows(&self, statement: StatementText<'_>) -> Option<RowWrite> {
        let statement = self.read.with_tokens(statement);
        let of_form = || statement.of_form(|text| text.row_write(), RowWrite::with_values);
        match self.compiled.rows.get_or_init(of_form) {
            Some(shared) => Some(shared.clone().with_values(&self.read.values)),
            None => statement.row_write(),
        }
    }
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
                let compiled = of_skeleton.compiled.clone();
                let read = ReadBy { values, of_skeleton: Some(of_skeleton), tokens: None };
                return ByForm::Known(Bound::new(compiled, read));
            }
            let tokens = Tokens::cut_into(std::mem::take(buffer), text, modes);
            if !slotted.read_tokens(&tokens, schema) {
                return ByForm::New(Box::new(New { tokens, form: None, kind: None }));
            }
            let form = slotted.form();
            let compiled = self.own().forms.get(form).cloned();
            let Some(compiled) = compiled.filter(|compiled| compiled.is_current(&is_current)) else {
                return ByForm::New(Box::new(New { form: Some(form.into()), tokens, kind: None }));
            };
            if has_skeleton && let Some(places) = slotted.places(text, modes, skeleton) {
                let is_plain = is_plain(skeleton.text(), schema);
                self.keep_skeleton(skeleton, &compiled, places, is_plain);
            }
            let values = std::mem::take(&mut slotted.values);
            // A text without a skeleton comes here each time, and its readers may never come: the memory is worth more than the cut.
            let tokens = if has_skeleton && compiled.reads_each() {
                Some(Box::new(tokens))
            } else {
                *buffer = tokens.into_buffer();
                None
            };
            ByForm::Known(Bound::new(compiled, ReadBy { values, of_skeleton: None, tokens }))
        })
    }

    /// Returns what the statements of this skeleton have in common, if that is known.
    fn of_skeleton(&self, skeleton: &Skeleton) -> Option<Arc<OfSkeleton>> {
        self.own().skeletons.get(skeleton.key()).map(Arc::clone)
    }

    /// Stores what was found for a statement of this skeleton, for others of the skeleton.
    fn keep_skeleton(&self, skeleton: &Skeleton, compiled: &CompiledForm, places: Places, is_plain: bool) {
        // What was compiled stays as long as the skeleton does.
        let bytes = skeleton.key().len() + places.bytes() + COMPILED_BYTES;
        let compiled = compiled.clone();
        let of_skeleton = OfSkeleton { compiled, places, digest_memo: DigestMemo::default(), is_plain };
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
