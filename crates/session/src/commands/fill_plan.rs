//! Whether an answer may be stored, and what it depends on.

use std::sync::Arc;

use freshet_cache::{Dep, Fences, Freshness, Position, Verdict};
use freshet_catalog::TableInfo;
use freshet_sql::Datum;
use freshet_upstream::now_ms;

use super::asked::statement;
use super::patience::Patience;
use crate::coalescing::{Leader, QuestionBasis};
use crate::counters::Count;
use crate::created::CreatedCache;
use crate::preparations::CompiledExecution;
use crate::rows::{Behind, BoundPlan, Depends, StatementText, deps_of_execution, deps_of_reading};
use crate::session::{Session, Unfound};
use crate::template::{BoundSelect, Template};
use crate::why::Why;

/// What is needed to store an answer.
pub(super) struct FillPlan {
    /// The first part of the answer's key.
    pub(super) environment: u32,
    pub(super) depends: Depends,
    /// The dependency on the rights by which the tables are read, if changes count.
    pub(super) rights: Option<Dep>,
    pub(super) valid_from: Position,
    /// How many warnings the statement's text causes.
    pub(super) warnings: u16,
    /// The turn by which other sessions wait for this answer.
    pub(super) leader: Option<Box<Leader>>,
    /// Why the answer is not stored. Only the sessions that wait for it get it then.
    pub(super) unstored: Option<Why>,
    /// What is noted for the created cache of the answer's query, if there is one.
    pub(super) created: Option<Box<Creates>>,
    /// The answer shows nothing that is not applied.
    pub(super) is_settled: bool,
    /// A row in the answer shows that the transaction's read view is open.
    pub(super) tells_of_view: bool,
    /// The statement returns all rows that it finds, if the session does not limit them.
    pub(super) returns_what_it_finds: bool,
}

/// What is noted for the created cache of a query.
pub(super) struct Creates {
    pub(super) cache: Arc<CreatedCache>,
    /// The epoch of rights.
    pub(super) rights: u64,
    /// The definitions of the query's tables.
    pub(super) tables: Vec<Arc<TableInfo>>,
}

impl FillPlan {
    /// Returns why the answer is not copied, if it is not: it is not stored, and nobody waits for it.
    pub(super) fn is_of_no_use(&self) -> Option<Why> {
        self.unstored.filter(|_| self.leader.is_none())
    }

    /// Returns the plan, or why the answer is not copied.
    pub(super) fn if_of_use(self) -> Result<Self, Why> {
        self.is_of_no_use().map_or(Ok(self), Err)
    }

    /// Returns the plan of an answer that is only for those who wait for it.
    pub(super) fn not_stored(self, why: Why) -> Self {
        Self { unstored: Some(why), ..self }
    }

    /// Makes other sessions wait for this answer, if there is a leader.
    pub(super) fn is_led_by(
        &mut self,
        leader: Option<Box<Leader>>,
        template: &Template,
        freshness: &Freshness,
    ) {
        self.leader = leader;
        if let Some(leader) = self.leader.as_ref().filter(|_| self.valid_from != Position::MAX) {
            let (read, tables) = (self.depends.all(), template.tables.whole(freshness));
            leader.rests_on(QuestionBasis { read, tables, valid_from: self.valid_from });
        }
    }

    /// Makes the plan of an answer that is served until it expires, whatever changes; `environment`: the first part of the answer's key,
    /// `template`: of the statement, if it is known.
    pub(super) fn bargain(environment: u32, template: Option<&Template>) -> Self {
        let depends = Depends { deps: Vec::new(), absent: None };
        Self {
            environment,
            depends,
            rights: None,
            valid_from: Position::MAX,
            warnings: 0,
            leader: None,
            unstored: None,
            created: None,
            is_settled: false,
            tells_of_view: false,
            returns_what_it_finds: template.is_some_and(|template| template.returns_what_it_finds),
        }
    }
}

/// Returns what is noted for the cache whose policy lets an answer be stale, if the policy has the answer refreshed in the background.
pub(super) fn creates_by_policy(session: &Session, template: &Template) -> Option<Box<Creates>> {
    let agreed = session.ruled.agreed()?;
    agreed.policy.refresh_s?;
    let created = &session.shared.created;
    let cache = created.of(template.query.id).filter(|_| created.policies() == agreed.policies)?;
    Some(Box::new(Creates { cache, rights: agreed.rights, tables: Vec::new() }))
}

/// Whether an answer may be stored.
pub(super) enum Fillable {
    /// The answer may be stored.
    Surely(FillPlan),
    /// The answer may be stored once a write is known to be visible or a definition is known. With a plan it is known what the answer
    /// depends on.
    Perhaps(Result<FillPlan, Why>),
    /// The answer may not be stored.
    Never(Why),
}

impl Fillable {
    /// Returns the plan, or why there is none.
    pub(super) fn plan(self) -> Result<FillPlan, Why> {
        match self {
            Self::Surely(plan) | Self::Perhaps(Ok(plan)) => Ok(plan),
            Self::Perhaps(Err(why)) | Self::Never(why) => Err(why),
        }
    }

    /// Returns the plan of an answer that others may wait for at once.
    pub(super) fn for_others(self, session: &Session) -> Option<FillPlan> {
        match self {
            Self::Surely(plan) => Some(plan),
            Self::Perhaps(plan) if !Patience::of(session).is_some() => plan.ok(),
            Self::Perhaps(_) | Self::Never(_) => None,
        }
    }
}

/// Whether the answer that is now asked for may be stored. `valid_from` is read before anything else: the definitions that
/// the verdict rests on must be known to be the current ones *after* it. `depends` returns the answer's dependencies.
pub(super) fn plan(
    session: &Session,
    template: &Template,
    unfound: Unfound,
    depends: impl FnOnce(Behind<'_>) -> Depends,
) -> Fillable {
    let Some(valid_from) = session.valid_from() else { return Fillable::Never(Why::Transaction) };
    plan_from(session, template, unfound, valid_from, depends)
}

/// Like [`plan`], for an answer that is valid from `valid_from`.
fn plan_from(
    session: &Session,
    template: &Template,
    unfound: Unfound,
    valid_from: Position,
    depends: impl FnOnce(Behind<'_>) -> Depends,
) -> Fillable {
    let shared = &session.shared;
    let freshness = shared.freshness();
    if !session.has_keys_of_its_rights() {
        return Fillable::Never(Why::ChangedMeanwhile);
    }
    if !shared.upstream.is_current(&template.told) {
        return Fillable::Perhaps(Err(Why::Definition));
    }
    if !freshness.is_live(now_ms()) {
        return Fillable::Never(Why::Stream);
    }
    let mut depends = depends(Behind { valid_from, freshness, watches: shared.upstream.watches() });
    let rights = rights(session, template);
    depends.deps.push(rights);
    if session.has_written(&depends.deps) {
        return Fillable::Never(Why::Wrote);
    }
    let created = || {
        let cache = shared.created.of(template.query.id).filter(|cache| cache.options.policy.is_none());
        let (cache, epoch) = cache.zip(shared.upstream.rights_epoch())?;
        let tables = template.tables.known.iter().map(|named| Arc::clone(&named.info)).collect();
        Some(Box::new(Creates { cache, rights: epoch, tables }))
    };
    let plan = |depends| FillPlan {
        environment: unfound.key,
        depends,
        rights: Some(rights),
        valid_from,
        warnings: 0,
        leader: None,
        unstored: None,
        created: created(),
        is_settled: false,
        tells_of_view: template.shows_rows_read && session.reads_show_view(),
        returns_what_it_finds: template.returns_what_it_finds,
    };
    match freshness.check(&depends.deps, valid_from, Fences::Refuse) {
        Verdict::Servable => Fillable::Surely(plan(depends)),
        // A write is under way that may concern this answer. If the write does concern it, the write's stamp is above `valid_from`,
        // whether the answer shows the write or not. An answer that is stored already has the same fate.
        Verdict::Fenced if unfound.missed.fenced => {
            Fillable::Perhaps(Ok(plan(depends).not_stored(Why::WriteUnderWay)))
        }
        Verdict::Fenced => Fillable::Perhaps(Ok(plan(depends))),
        Verdict::Stale => {
            // The last change is not yet known to be visible: this answer could not be kept, the next one can.
            shared.upstream.ask_probe();
            shared.counters.add(Count::Unsettled);
            Fillable::Perhaps(Ok(plan(depends).not_stored(Why::Unsettled)))
        }
    }
}

/// Like [`plan`], for a SELECT as text, with the warnings of the text in the plan.
pub(super) fn plan_of_text(
    session: &Session,
    text: &[u8],
    bound: &BoundSelect<'_>,
    unfound: Unfound,
) -> Fillable {
    let Some(valid_from) = session.valid_from() else { return Fillable::Never(Why::Transaction) };
    plan_of_text_from(session, text, bound, unfound, valid_from)
}

/// Like [`plan_of_text`], for an answer that is valid from `valid_from`.
pub(super) fn plan_of_text_from(
    session: &Session,
    text: &[u8],
    bound: &BoundSelect<'_>,
    unfound: Unfound,
    valid_from: Position,
) -> Fillable {
    let template = bound.template();
    let depends = |behind: Behind<'_>| {
        let statement = StatementText { tokens: bound.tokens(), ..statement(session, text) };
        deps_of_reading(statement, &template.tables, bound.plan(statement), behind)
    };
    let warned = |plan| FillPlan { warnings: session.warnings_of(bound.compiled.deprecations), ..plan };
    match plan_from(session, template, unfound, valid_from, depends) {
        Fillable::Surely(plan) => Fillable::Surely(warned(plan)),
        Fillable::Perhaps(plan) => Fillable::Perhaps(plan.map(warned)),
        Fillable::Never(why) => Fillable::Never(why),
    }
}

/// An execution of a prepared SELECT: its text, what is compiled of it, and its values.
#[derive(Clone, Copy)]
pub(super) struct ExecutedSelect<'a> {
    pub(super) text: &'a [u8],
    pub(super) compiled: &'a CompiledExecution,
    pub(super) values: &'a [Datum],
}

/// Like [`plan`], for an execution.
pub(super) fn plan_of_execution(
    session: &Session,
    executed: ExecutedSelect<'_>,
    unfound: Unfound,
) -> Fillable {
    let Some(valid_from) = session.valid_from() else { return Fillable::Never(Why::Transaction) };
    plan_of_execution_from(session, executed, unfound, valid_from)
}

/// Like [`plan_of_execution`], for an answer that is valid from `valid_from`.
pub(super) fn plan_of_execution_from(
    session: &Session,
    ExecutedSelect { text, compiled, values }: ExecutedSelect<'_>,
    unfound: Unfound,
    valid_from: Position,
) -> Fillable {
    let template = &compiled.template;
    let depends = |behind: Behind<'_>| {
        let bound = BoundPlan { plan: &compiled.plan, values };
        deps_of_execution(statement(session, text), bound, &template.tables, behind)
    };
    plan_from(session, template, unfound, valid_from, depends)
}

/// Returns the dependency on the rights by which the tables are read. A view also uses the rights of its definer.
pub(super) fn rights(session: &Session, template: &Template) -> Dep {
    let user = session.environment().and_then(|environment| environment.sole_user.as_deref());
    match user {
        Some(user) if template.tables.below.is_empty() && template.tables.are_all_base() => {
            session.shared.freshness().account(user)
        }
        _ => Dep::ACCOUNTS,
    }
}
