//! SELECTs whose answers may be stale: by a query rule (`attributes` `{"freshness":"ttl"}`, ProxySQL's bargain), or by the policy of
//! their query's cache (`CREATE CACHE POLICY TTL …`, Readyset's).
//!
//! An answer is stored for as long as the rule's `cache_ttl` or the policy's TTL, under a key of its own, and depends on nothing: no write
//! drops it, and it needs no binlog. More answers may be stored this way than can be proven fresh, but within bounds: the answer is a
//! function of tables, of the session's state that the key holds, of the time and of chance; and executing the statement changes nothing.
//! Rights are a part of the key by the account and by the epoch of rights (`Upstream::rights_epoch`). Transactions get no such answers.

use std::pin::pin;
use std::sync::Arc;

use freshet_cache::Key;
use freshet_catalog::{Name, TableKind, is_system_schema};
use freshet_protocol::ErrPacket;
use freshet_sql::{Effects, Hint, HintError, Reads};
use freshet_upstream::{Error, Rows, now_ms};

use super::asked::{bound, hint_error, hint_of, strips, touches, wants_cache, without_hint};
use super::fill_plan::{FillPlan, creates_by_policy};
use super::filling::{Sought, count_not_cached, fill};
use super::refusals::unavailable;
use super::text::TextQuery;
use crate::environment::{Environment, key_of_executions};
use crate::relay::Lost;
use crate::session::{Deeds, Flow, Forward, Message, Missed, Prepared, Session, Turn, Unfound, Waited};
use crate::template::{BoundSelect, Template};
use crate::why::{Refusal, Why};

/// Looks for a text's answer that may be stale. Returns `None` if the text's answer may not be stale, or if that is not known yet.
pub(super) fn from_memory(session: &mut Session, text: &[u8]) -> Option<Result<(), Missed>> {
    let key = session.key_of_bargain().filter(|_| !session.holds().hide_tables())?;
    Some(look(session, text, key))
}

fn look(session: &mut Session, text: &[u8], key: u32) -> Result<(), Missed> {
    let key_text = freshet_sql::key_text(text, session.modes(), strips(session, text));
    let found = session.answer_by_bargain(Key { environment: key, text: &key_text }, &key_text);
    if let Err(missed) = found {
        session.ruled.has_looked(Unfound { key, missed });
    }
    found
}

/// Answers a query from memory, or has the server answer it and stores the answer. The session's environment is known.
pub(super) async fn handle(
    session: &mut Session,
    query: TextQuery<'_>,
    known: Option<BoundSelect<'_>>,
) -> Result<Flow, Lost> {
    let text = query.text();
    let bound = match known {
        Some(known) => known,
        None => bound(session, text).await,
    };
    let template = bound.template();
    if let Some(HintError { code, sqlstate, message }) = hint_error(session, &bound, text) {
        return session.refuse(&ErrPacket::new(code, sqlstate, &message));
    }
    let stripped = if bound.compiled.is_hinted { without_hint(session, query) } else { None };
    let payload = stripped.as_deref().unwrap_or(query.packet);
    let (key, names) = match key_for(session, text, Some(template), bound.compiled.hint).await {
        Err(error) => return unavailable(session, &error),
        Ok(Err(refusal)) => return forward_uncached(session, template, payload, text, &refusal).await,
        Ok(Ok(found)) => found,
    };
    let missed = match session.ruled.looked_under(key) {
        Some(missed) => missed,
        None => match look(session, text, key) {
            Ok(()) => return Ok(Flow::Continue),
            Err(missed) => missed,
        },
    };
    let refusal = match unshared(session, &names).await {
        Err(error) => return unavailable(session, &error),
        Ok(None) if !missed.may_be_stored() => Some(Why::AnsweredBefore.into()),
        Ok(refusal) => refusal,
    };
    if let Some(refusal) = refusal {
        return forward_uncached(session, template, payload, text, &refusal).await;
    }
    // The statement is known to read tables, and to run no code.
    let effects = Effects { reads: Reads::NOTHING, ..session.certain(text, template.effects.clone()) };
    let key_text = freshet_sql::key_text(text, session.modes(), strips(session, text));
    let mut plan = FillPlan {
        warnings: session.warnings_of(bound.compiled.deprecations),
        created: creates_by_policy(session, template),
        ..FillPlan::bargain(key, Some(template))
    };
    let question = Key { environment: key, text: &key_text };
    let mut waited = Waited::default();
    while session.takes_turns(template) {
        match Box::pin(session.turn(question, text, &mut waited)).await? {
            Turn::Asks(leader) => {
                plan.leader = leader;
                break;
            }
            Turn::Answered { .. } => return Ok(Flow::Continue),
            Turn::LooksAgain if look(session, text, key).is_ok() => return Ok(Flow::Continue),
            Turn::LooksAgain => {}
        }
    }
    let forward = Forward::new(Message::query(payload, text), &effects);
    let relayed = pin!(fill(session, forward, Sought { key_text: &key_text, missed }, plan)).await?;
    session.note_template(relayed.tag, template);
    Ok(Flow::Continue)
}

async fn forward_uncached(
    session: &mut Session,
    template: &Template,
    payload: &[u8],
    text: &[u8],
    refusal: &Refusal,
) -> Result<Flow, Lost> {
    let effects = session.certain(text, template.effects.clone());
    let touches = touches(session, template);
    let deeds = Deeds { touches, ..Deeds::from(&effects) };
    let relayed = session.forward(Forward::new(Message::query(payload, text), deeds)).await?;
    count_not_cached(session, relayed.error);
    session.count_refused(&relayed, refusal);
    Ok(Flow::Continue)
}

/// What happens to an execution of a prepared SELECT whose answer may be stale.
pub(super) enum BargainDecision {
    /// The execution was answered from memory.
    Answered,
    /// The server answers, and the answer is stored.
    Stored(FillPlan),
    /// The server answers, and nothing is stored.
    Refused(Refusal),
}

/// Decides on an execution. `look` looks for an answer under the first part of a key.
///
/// # Errors
/// The connection is lost.
pub(super) async fn planned(
    session: &mut Session,
    missed: &mut Missed,
    prepared: &Prepared,
    look: impl FnOnce(&mut Session, u32) -> Result<(), Missed>,
) -> Result<BargainDecision, Error> {
    let version = session.state.environment.version();
    let is_of = |environment: &Arc<Environment>| prepared.prepared_in.is_of(environment.id, version);
    let is_of_now = session.environment().is_some_and(is_of);
    // The environment of the preparation decides what the text means.
    let Some(select) = prepared.select.as_ref().filter(|_| is_of_now) else {
        return Ok(BargainDecision::Refused(Why::Parameters.into()));
    };
    let compiled = select.compiled();
    let template = compiled.as_ref().map(|compiled| &*compiled.template);
    let (key, names) = match key_for(session, &select.text, template, select.hint).await? {
        Err(refusal) => return Ok(BargainDecision::Refused(refusal)),
        Ok(found) => found,
    };
    match look(session, key) {
        Ok(()) => return Ok(BargainDecision::Answered),
        Err(later) => *missed = missed.and(later),
    }
    if !missed.may_be_stored() {
        return Ok(BargainDecision::Refused(Why::AnsweredBefore.into()));
    }
    Ok(match unshared(session, &names).await? {
        Some(refusal) => BargainDecision::Refused(refusal),
        None => BargainDecision::Stored(FillPlan::bargain(key_of_executions(key), template)),
    })
}

/// Returns the environment part of a text's key and the tables that the text names, or why there is no key.
///
/// # Errors
/// The connection is lost.
pub(super) async fn key_for(
    session: &mut Session,
    text: &[u8],
    template: Option<&Template>,
    hint: Option<Hint>,
) -> Result<Result<(u32, Vec<Name>), Refusal>, Error> {
    let hint = hint_of(session, text, hint);
    let names = match named(session, text, template, hint) {
        Err(refusal) => return Ok(Err(refusal)),
        Ok(names) => names,
    };
    let asked = names.iter().map(|(schema, name)| (&**schema, &**name)).collect::<Vec<_>>();
    session.find_hidden_among(&asked).await?;
    if names.iter().any(|(schema, name)| session.state.hidden.tables().shadow(schema, name)) {
        return Ok(Err(Why::TemporaryTable.into()));
    }
    let key = session.key_of_bargain().ok_or_else(|| session.bars().into());
    Ok(key.map(|key| (key, names)))
}

/// Returns the tables and views that a text names, in full, or why the server is asked whatever they are.
fn named(
    session: &Session,
    text: &[u8],
    template: Option<&Template>,
    hint: Option<Hint>,
) -> Result<Vec<Name>, Refusal> {
    wants_cache(session, template, hint)?;
    if !session.state.tx.surely_autocommits() {
        return Err(Why::Transaction.into());
    }
    let tells_time = session.environment().is_some_and(|environment| environment.tells_time);
    if !tells_time || session.state.deeds.stop_time() {
        return Err(Refusal::about(Why::Settings, "the session's timestamp is set"));
    }
    let tables = freshet_sql::tables_at_a_moment(text, session.modes())?;
    in_full(session, tables).ok_or_else(|| Why::NoSchema.into())
}

/// Returns why these tables and views may show another session something else, or may run code; `None` if neither is so. If the catalog
/// does not know (for example without the binlog stream), the server is asked; the server's reply clears tables only, and no views. The
/// question may lose the row counts and warnings of the statement before, like [`Session::learn`].
///
/// # Errors
/// The connection is lost.
pub(super) async fn unshared(session: &mut Session, names: &[Name]) -> Result<Option<Refusal>, Error> {
    let is_live = session.shared.freshness().is_live(now_ms());
    for of @ (schema, name) in names {
        let upstream = &session.shared.upstream;
        let known = if is_live { upstream.table(schema, name).await.ok() } else { None };
        let is_shared = match known {
            Some(info) if info.kind != TableKind::Unseen => {
                info.shows_all_alike && !info.runs_unknown_code && !info.runs_any_code()
            }
            _ => is_shared_table(session, of).await?,
        };
        if !is_shared {
            let about =
                format!("`{schema}`.`{name}` may run functions, or show another session something else");
            return Ok(Some(Refusal::about(Why::Table, about)));
        }
    }
    Ok(None)
}

/// Whether the server says that the name is a table, is no system table, and has no columns that are computed when they are read.
async fn is_shared_table(session: &mut Session, of: &Name) -> Result<bool, Error> {
    if is_system_schema(&of.0) {
        return Ok(false);
    }
    let named = named_so(of);
    let question = format!(
        "SELECT COUNT(*) = 1 AND NOT EXISTS \
         (SELECT 1 FROM information_schema.COLUMNS WHERE EXTRA LIKE '%VIRTUAL%' AND {named}) \
         FROM information_schema.TABLES WHERE {TABLES} AND {named}"
    );
    match session.ask(&question).await {
        Ok(rows) => Ok(rows.text(0, 0) == Some("1")),
        Err(Error::Server(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a statement reads tables alone, by what Freshet's own connection hears from the server. If so, the statement runs no code that
/// asks about the statement before it, and a question may come between the two.
pub(super) async fn reads_tables_alone(session: &Session, text: &[u8]) -> bool {
    let Ok(tables) = freshet_sql::tables_at_a_moment(text, session.modes()) else { return false };
    let Some(names) = in_full(session, tables) else { return false };
    let names: Vec<&Name> = names.iter().collect();
    if names.is_empty() {
        return true;
    }
    let told = session.shared.upstream.ask(&tables_among(&names)).await;
    told.is_ok_and(|rows| is_count(&rows, names.len()))
}

fn in_full(session: &Session, tables: Vec<freshet_sql::TableName>) -> Option<Vec<Name>> {
    let full = |table: freshet_sql::TableName| {
        let schema = table.schema.or_else(|| session.state.environment.schema().map(str::to_owned))?;
        Some((schema, table.name))
    };
    tables.into_iter().map(full).collect()
}

/// The kinds of tables in `information_schema.TABLES` that are no views.
const TABLES: &str = "TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')";

/// Returns the question how many of these names are tables.
fn tables_among(names: &[&Name]) -> String {
    let named: Vec<String> = names.iter().map(|of| named_so(of)).collect();
    format!("SELECT COUNT(*) FROM information_schema.TABLES WHERE {TABLES} AND ({})", named.join(" OR "))
}

/// Returns the condition that a row of information_schema is about this table.
fn named_so((schema, name): &Name) -> String {
    format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", literal(schema), literal(name))
}

fn is_count(rows: &Rows, count: usize) -> bool {
    rows.text(0, 0).is_some_and(|found| found == count.to_string())
}

/// Returns a name, which is in ASCII, as a literal that means the same in every mode and character set.
fn literal(name: &str) -> String {
    let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("_utf8mb4 0x{hex}")
}
