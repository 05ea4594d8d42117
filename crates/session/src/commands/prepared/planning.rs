//! The plan of an execution of a SELECT: whether it is answered from memory, and how its answer is stored if it is not.

use std::sync::{Arc, OnceLock};

use freshet_cache::Key;
use freshet_catalog::ColumnInfo;
use freshet_catalog::rows::KeyType;
use freshet_sql::Datum;
use freshet_upstream::Error;

use super::execution::{SelectExecution, note_answered, take_bargain, take_stored};
use crate::commands::admitting::{Hinted, is_worth_storing};
use crate::commands::asked::{bound, key_for, statement, touches};
use crate::commands::bargain::{self, BargainDecision};
use crate::commands::caches::create_if_hinted;
use crate::commands::fill_plan::{ExecutedSelect, FillPlan, Fillable, plan_of_execution};
use crate::commands::maintained::{self, Asked, FromCopies, Way};
use crate::commands::patience::Patience;
use crate::environment::key_of_executions;
use crate::preparations::{ComparedWith, CompiledExecution, TypedBy};
use crate::relay::Lost;
use crate::rows::{Named, ReadPlan, StatementText, Tables};
use crate::session::{Missed, PreparedSelect, Session, Touches, Turn, Unfound, Waited};
use crate::template::{Cacheability, Template};
use crate::why::{Refusal, Why};

/// What happens to an execution.
pub(super) enum Planned {
    /// The execution was answered from memory.
    Answered,
    /// The server answers, and nothing is stored.
    Forwarded(Touches, Refusal),
    /// The server answers, and the answer is stored, or is for those who wait for it.
    Stored(FillPlan),
    /// The server answers, the answer is stored, and the answer may be stale later.
    Bargain(FillPlan),
}

impl Planned {
    /// Returns the plan by which the answer is stored, if it is stored.
    fn plan(&mut self) -> Option<&mut FillPlan> {
        match self {
            Self::Stored(plan) | Self::Bargain(plan) => Some(plan),
            Self::Answered | Self::Forwarded(..) => None,
        }
    }

    /// Drops the plan of an answer that nobody gets.
    fn if_of_use(self) -> Self {
        match self {
            Self::Stored(plan) => match plan.is_of_no_use() {
                Some(why) => Self::Forwarded(Touches::ReadView, why.into()),
                None => Self::Stored(plan),
            },
            other => other,
        }
    }
}

/// Decides on an execution, and waits for the answer to an identical one that is under way. `may_be_stale`: query rules let the answer be
/// stale.
///
/// # Errors
/// The client's connection is lost. The inner error: the server's connection is lost.
pub(super) async fn decided(
    session: &mut Session,
    missed: &mut Missed,
    execution: SelectExecution<'_>,
    values: &[Datum],
    may_be_stale: bool,
) -> Result<Result<Planned, Error>, Lost> {
    let mut waited = Waited::default();
    loop {
        let planned = if may_be_stale {
            Box::pin(agreed(session, missed, execution)).await
        } else {
            planned(session, missed, execution, values).await?
        };
        let mut planned = match planned {
            Ok(planned) => planned,
            Err(error) => return Ok(Err(error)),
        };
        let compiled = execution.prepared.select.as_ref().and_then(PreparedSelect::compiled);
        let takes_turns = compiled.as_ref().is_some_and(|compiled| session.takes_turns(&compiled.template));
        let Some(plan) = planned.plan().filter(|_| takes_turns) else { return Ok(Ok(planned.if_of_use())) };
        let mut key = Vec::new();
        if execution.key_of(&mut key).is_none() {
            return Ok(Ok(planned.if_of_use()));
        }
        let key = Key { environment: plan.environment, text: &key };
        match Box::pin(session.turn(key, execution.statement, &mut waited)).await? {
            Turn::Asks(leader) => {
                if let Some(compiled) = &compiled {
                    plan.is_led_by(leader, &compiled.template, session.shared.freshness());
                }
                return Ok(Ok(planned.if_of_use()));
            }
            Turn::Answered { is_noted } => {
                if is_noted {
                    execution.prepared.heeds_definitions(&session.shared.upstream);
                    note_answered(session, execution);
                }
                return Ok(Ok(Planned::Answered));
            }
            Turn::LooksAgain => {}
        }
    }
}

/// Decides on an execution whose answer may be stale.
async fn agreed(
    session: &mut Session,
    missed: &mut Missed,
    execution: SelectExecution<'_>,
) -> Result<Planned, Error> {
    let look = |session: &mut Session, key| take_bargain(session, execution, key);
    Ok(match bargain::planned(session, missed, execution.prepared, look).await? {
        BargainDecision::Answered => Planned::Answered,
        BargainDecision::Stored(plan) => Planned::Bargain(plan),
        BargainDecision::Refused(refusal) => Planned::Forwarded(Touches::Anything, refusal),
    })
}

/// Whether values make an answer depend on the current date: a TIME that is compared with a moment is completed by the current date.
pub(in crate::commands) fn is_dated(template: &Template, values: &[Datum]) -> bool {
    template.tables.have_times && values.iter().any(|value| matches!(value, Datum::Moment(_)))
}

async fn planned(
    session: &mut Session,
    missed: &mut Missed,
    execution: SelectExecution<'_>,
    values: &[Datum],
) -> Result<Result<Planned, Error>, Lost> {
    let Some(select) = &execution.prepared.select else {
        return Ok(Ok(Planned::Forwarded(Touches::Anything, Why::Parameters.into())));
    };
    // The environment of the preparation decides what the text means.
    let version = session.state.environment.version();
    let prepared_in = &execution.prepared.prepared_in;
    if !session.environment().is_some_and(|environment| prepared_in.is_of(environment.id, version)) {
        return Ok(Ok(Planned::Forwarded(Touches::Anything, Why::Parameters.into())));
    }
    let patience = Patience::of(session);
    // The loop runs once, unless the execution waits until its answer can be stored.
    let plan = loop {
        let compiled = compiled(session, select).await;
        let template = &compiled.template;
        if patience.waits_for_verdict(session, template).await {
            continue;
        }
        if let Some(hint) = freshet_sql::cache_hint(&select.text, session.modes()) {
            Box::pin(create_if_hinted(session, &select.text, hint, template)).await?;
        }
        let is_dated = is_dated(template, values);
        let is_cached = matches!(template.verdict, Cacheability::Cache) && !is_dated;
        if template.effects.reads_last_statement || !is_cached {
            let why = if is_dated { Why::Dated } else { Why::AsksBack };
            let refusal = template.verdict.refusal().cloned().unwrap_or_else(|| why.into());
            return Ok(Ok(Planned::Forwarded(touches(session, template), refusal)));
        }
        if let Err(error) = session.find_hidden(&template.tables.known, patience.is_some()).await {
            return Ok(Err(error));
        }
        let environment = match key_for(session, template, select.hint) {
            Ok(environment) => environment,
            Err(why) => return Ok(Ok(Planned::Forwarded(Touches::ReadView, why.into()))),
        };
        // The first look-up came before the environment was known, or a temporary table was in the way. A session that refreshes an answer
        // does not look again.
        if !missed.refreshes {
            match take_stored(session, execution, environment) {
                Ok(()) => return Ok(Ok(Planned::Answered)),
                Err(later) => *missed = missed.and(later),
            }
        }
        // A result that is kept up to date row by row needs no server.
        if missed.may_be_stored() && session.shared.created.are_there() {
            let asked = Asked::Execution(execution, values, (select, &compiled));
            let way = Way { asked, of_texts: environment };
            match Box::pin(maintained::answer(session, way, &patience)).await? {
                FromCopies::Answered => return Ok(Ok(Planned::Answered)),
                FromCopies::Redefined => continue,
                FromCopies::ByServer => {}
            }
        }
        let unfound = Unfound { key: key_of_executions(environment), missed: *missed };
        let hinted = Hinted { template, hint: select.hint };
        if !is_worth_storing(session, hinted, unfound, || key(execution)) {
            break Err(Why::SeldomRead);
        }
        let executed = ExecutedSelect { text: &select.text, compiled: &compiled, values };
        let fillable = plan_of_execution(session, executed, unfound);
        if !matches!(fillable, Fillable::Perhaps(_)) || !patience.waits(session).await {
            break fillable.plan();
        }
    };
    // An answer that is stored, and not given for want of room, is streamed from the server and not stored again.
    let plan = if missed.may_be_stored() { plan } else { Err(Why::AnsweredBefore) };
    Ok(Ok(match plan {
        Ok(plan) => Planned::Stored(plan),
        Err(why) => Planned::Forwarded(Touches::ReadView, why.into()),
    }))
}

/// Returns the second part of the key.
fn key(execution: SelectExecution<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    let _ = execution.key_of(&mut key);
    key
}

/// Returns what is compiled of a SELECT, by the definitions as they are now.
pub(super) async fn compiled(session: &Session, select: &PreparedSelect) -> Arc<CompiledExecution> {
    let known = select.compiled().filter(|known| session.shared.upstream.is_current(&known.template.told));
    if let Some(known) = known {
        return known;
    }
    let bound = bound(session, &select.text).await;
    let (template, deprecations) = (Arc::clone(&bound.compiled.template), bound.compiled.deprecations);
    let plan = ReadPlan::of(statement(session, &select.text), &template.tables);
    let typed_by = typed_by(statement(session, &select.text), &template.tables);
    let compiled =
        Arc::new(CompiledExecution { template, deprecations, plan, typed_by, plan_form: OnceLock::new() });
    if matches!(compiled.template.verdict, Cacheability::Cache) || compiled.template.is_of_its_time {
        select.keep_compiled(&compiled);
    }
    compiled
}

/// Parts of what makes moments of values, or calculates with moments.
const OF_TIME: [&[u8]; 14] = [
    // `{d '2024-02-29'}`
    b"{",
    b"now",
    b"date",
    b"time",
    b"year",
    b"quarter",
    b"month",
    b"week",
    b"day",
    b"hour",
    b"minute",
    b"second",
    b"interval",
    b"convert_tz",
];

/// Returns by what MySQL resolves the types of a statement's parameters. Next to moments MySQL looks at the
/// values themselves: `d - ?` is a DECIMAL once it was executed with 0. So one of two must hold. Every parameter is compared with a
/// column of a known type. Or no moment is in sight: the statement reads tables, and names no column that is a moment or has a type that is
/// not followed here, nor has such a one without its name, as `? IN (SELECT * FROM t)` and `? IN (TABLE t)` may.
fn typed_by(StatementText { text, modes, .. }: StatementText<'_>, tables: &Tables) -> TypedBy {
    let text = text.to_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let selects = text.windows(b"select".len()).filter(|part| *part == b"select").count();
    let stars = || text.iter().filter(|byte| **byte == b'*').count();
    let counts = || text.windows(b"count(*)".len()).filter(|part| *part == b"count(*)").count();
    let is_plain = |column: &ColumnInfo| {
        matches!(
            beside_column(&column.key),
            Some(ComparedWith::Number | ComparedWith::Text | ComparedWith::Bytes)
        )
    };
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_named = |name: &str| text.split(|byte| !is_of_word(byte)).any(|word| word == name.as_bytes());
    let is_out_of_sight =
        |column: &ColumnInfo| column.name.as_bytes().iter().all(is_of_word) && !is_named(&column.name);
    let is_told = |table: &Named| {
        !table.info.columns.is_empty()
            && table.info.columns.iter().all(|it| is_plain(it) || is_out_of_sight(it))
    };
    let are_known = tables.known.iter().all(|table| !table.info.columns.is_empty()) && tables.are_all_base();
    let compared = freshet_sql::compared_markers(&text, modes).filter(|_| are_known);
    let sees_no_moment = || {
        (selects == 1 || stars() == counts())
            && tables.are_all_base()
            && tables.known.iter().all(is_told)
            && !OF_TIME.iter().any(|word| has(word))
            && !is_named("table")
    };
    match compared.and_then(|columns| beside(&columns, tables)) {
        Some(beside) => TypedBy::KindsCompared(beside),
        None if sees_no_moment() => TypedBy::Kinds,
        None => TypedBy::Values,
    }
}

/// Returns what a marker is compared with beside a column of this type; `None` if the type is another one.
const fn beside_column(key: &KeyType) -> Option<ComparedWith> {
    match key {
        KeyType::Integer { .. } | KeyType::Decimal { .. } => Some(ComparedWith::Number),
        KeyType::Text { .. } => Some(ComparedWith::Text),
        KeyType::Bytes { .. } => Some(ComparedWith::Bytes),
        KeyType::Date | KeyType::DateTime { .. } | KeyType::Timestamp { .. } => Some(ComparedWith::Moment),
        _ => None,
    }
}

/// Returns what each marker is compared with, of markers that are compared with these columns of the tables; `None` if one is compared with
/// a column of another type.
fn beside(compared: &[Option<String>], tables: &Tables) -> Option<Box<[ComparedWith]>> {
    let of_marker = |name: &Option<String>| {
        // It counts rows.
        let Some(name) = name else { return Some(ComparedWith::Number) };
        let columns = tables.known.iter().flat_map(|table| table.info.columns.iter());
        let mut named =
            columns.filter(|column| column.name == *name).map(|column| beside_column(&column.key));
        let first = named.next()??;
        named.all(|other| other == Some(first)).then_some(first)
    };
    compared.iter().map(of_marker).collect()
}
