//! `EXPLAIN FRESHET <select>`: what Freshet would do with one statement in this session now. The answer says whether the statement would
//! come from memory, and if not, why and what to change.
//!
//! The statement is not executed, and nothing is stored. The server prepares it and drops it, so that a client that may not execute it
//! learns nothing about it.

use freshet_cache::{Fences, Key, Lookup};
use freshet_digest::Digest;
use freshet_protocol::ErrPacket;
use freshet_sql::{HintError, Request};
use freshet_upstream::{Error, now_ms};

use super::asked::{bound, hint_of, key_for, statement, strips};
use super::bargain;
use super::fill_plan::{FillPlan, Fillable, plan};
use super::introspect::{RowFormat, put};
use crate::introspection::{IntrospectionValue, Rowset};
use crate::relay::Lost;
use crate::rows::{Behind, Depends, ReadPlan, StatementText, deps_of_reading};
use crate::session::{Came, Flow, Missed, Session, Unfound};
use crate::template::{BoundSelect, Cacheability};
use crate::why::{Refusal, Why};

/// The names of the columns.
pub(super) const TITLES: [&str; 2] = ["Item", "Value"];

/// ER_UNSUPPORTED_PS: the server does not refuse the statement, but cannot prepare it.
const NOT_PREPARABLE: u16 = 1295;

/// What EXPLAIN FRESHET says of a statement, line by line.
#[derive(Default)]
struct Lines(Vec<Vec<IntrospectionValue>>);

impl Lines {
    fn add(&mut self, item: &str, value: impl Into<String>) {
        self.0.push(vec![item.into(), value.into().into()]);
    }

    fn found(self) -> Rowset {
        Rowset { columns: TITLES.map(str::to_owned).to_vec(), rows: self.0 }
    }
}

/// Whether the statement would be answered from memory.
enum Now {
    /// The statement would be answered from memory.
    Hit,
    /// The server would be asked, and the answer stored.
    Fill(&'static str),
    /// The server would be asked, and the answer not stored.
    Refused(Refusal),
    /// The answer depends on facts that are not known before the statement is executed.
    Perhaps(&'static str),
}

/// Answers EXPLAIN FRESHET.
pub(super) async fn handle(session: &mut Session, text: &[u8]) -> Result<Flow, Lost> {
    match found(session, text).await? {
        Ok(found) => put(session, &found, RowFormat::Text),
        Err(error) => session.refuse(&error),
    }
}

/// Returns the rows of the answer.
pub(super) async fn found(session: &mut Session, text: &[u8]) -> Result<Result<Rowset, ErrPacket>, Lost> {
    session.resolve_doubts().await;
    if let Err(error) = session.learn().await {
        return Ok(Err(error.to_err_packet()));
    }
    session.refresh_key();
    let mut lines = Lines::default();
    let digest_text = freshet_digest::text(text, &session.shared.rules.digests());
    let digest = Digest::of(&digest_text);
    lines.add("digest", digest.to_string());
    lines.add("digest_text", String::from_utf8_lossy(&digest_text));
    if !matches!(freshet_sql::read(text, session.modes()), Request::Select { .. }) {
        refused(&mut lines, &Why::NotSelect.into());
        return Ok(Ok(lines.found()));
    }
    // The rules decide on the explained statement from here on, and not on the EXPLAIN around it.
    session.decide(text, Came::Text);
    let parameters = match session.tries(text).await? {
        Ok(parameters) => parameters,
        Err(error) if error.code == NOT_PREPARABLE => 0,
        Err(error) => return Ok(Err(error)),
    };
    let bound = bound(session, text).await;
    session.heed_policy(bound.template().query.id);
    let now = judged(session, text, parameters, &bound).await;
    tell(session, &mut lines, now);
    depends(session, &mut lines, text, &bound);
    counted(session, &mut lines, digest);
    Ok(Ok(lines.found()))
}

/// Returns what would happen to the statement.
async fn judged(session: &mut Session, text: &[u8], parameters: usize, bound: &BoundSelect<'_>) -> Now {
    let template = bound.template();
    if let Some(HintError { message, .. }) = freshet_sql::hint_error(text, session.modes()) {
        return Now::Refused(Refusal::about(Why::Error, message));
    }
    if template.effects.reads_last_statement {
        return Now::Refused(Why::AsksBack.into());
    }
    if let Some(refusal) = template.verdict.refusal().filter(|_| !session.ruled.is_bargain()) {
        return Now::Refused(refusal.clone());
    }
    if session.ruled.is_bargain() {
        return agreed(session, text, bound).await.unwrap_or_else(Now::Refused);
    }
    if let Err(error) = session.find_hidden(&template.tables.known, true).await {
        return Now::Refused(Refusal::about(Why::TemporaryTable, error.to_string()));
    }
    let hint = hint_of(session, text, bound.compiled.hint);
    let environment = match key_for(session, template, hint) {
        Ok(environment) => environment,
        Err(Why::Settings) => return Now::Refused(settings(session)),
        Err(why) => return Now::Refused(why.into()),
    };
    if session.shared.cache.size() == 0 {
        return Now::Refused(Why::NoSize.into());
    }
    if parameters > 0 {
        return Now::Perhaps("It may be, for values of its parameters with which it was executed before.");
    }
    let strips = session.state.locals.strips_comments(&session.shared.globals);
    let key_text = freshet_sql::key_text(text, session.modes(), strips);
    let (found, missed) = (look(session, Key { environment, text: &key_text }), Missed::default());
    let depends = |behind: Behind<'_>| -> Depends {
        let statement = StatementText { tokens: bound.tokens(), ..statement(session, text) };
        deps_of_reading(statement, &template.tables, bound.plan(statement), behind)
    };
    match found {
        Err(why) => Now::Refused(why.into()),
        Ok(Lookup::Hit(())) if session.state.tx.surely_autocommits() => Now::Hit,
        Ok(Lookup::Hit(())) => {
            Now::Perhaps("It is stored, and given if it is as of the transaction's moment.")
        }
        Ok(Lookup::Fenced) => Now::Refused(Why::WriteUnderWay.into()),
        Ok(Lookup::NotLive) => Now::Refused(Why::Stream.into()),
        Ok(found) => match plan(session, template, Unfound { key: environment, missed }, depends) {
            Fillable::Perhaps(Ok(FillPlan { unstored: Some(why), .. })) => Now::Refused(why.into()),
            Fillable::Surely(_) | Fillable::Perhaps(Ok(_)) => Now::Fill(absent(&found)),
            Fillable::Perhaps(Err(why)) | Fillable::Never(why) => Now::Refused(why.into()),
        },
    }
}

/// Like [`judged`], for a statement whose answer may be stale, by a query rule.
async fn agreed(session: &mut Session, text: &[u8], bound: &BoundSelect<'_>) -> Result<Now, Refusal> {
    let lost = |error: Error| Refusal::about(Why::TemporaryTable, error.to_string());
    let (environment, names) = bargain::key_for(session, text, Some(bound.template()), bound.compiled.hint)
        .await
        .map_err(lost)??;
    let key_text = freshet_sql::key_text(text, session.modes(), strips(session, text));
    if session.shared.cache.has_bargain(Key { environment, text: &key_text }, now_ms()) {
        return Ok(Now::Hit);
    }
    match bargain::unshared(session, &names).await.map_err(lost)? {
        Some(refusal) => Err(refusal),
        None => Ok(Now::Fill(absent(&Lookup::Miss))),
    }
}

/// Returns what a look-up would find at the session's level.
fn look(session: &Session, key: Key<'_>) -> Result<Lookup<()>, Why> {
    let (now, level) = (now_ms(), session.state.locals.level(&session.shared.globals));
    if !session.shared.freshness().is_live(now) {
        return Err(Why::Stream);
    }
    let fences = session.passes_fences(level, now).ok_or(Why::Level)?;
    Ok(session.shared.cache.look(key, now, if fences { Fences::Ignore } else { Fences::Refuse }))
}

const fn absent(found: &Lookup<()>) -> &'static str {
    match found {
        Lookup::Stale { .. } => {
            "A change has made the stored answer stale. The next execution is stored again."
        }
        _ => {
            "It is not stored: it was not executed yet in this session's settings, or was evicted. The next execution is stored."
        }
    }
}

/// Returns the refusal that names the session's setting.
fn settings(session: &Session) -> Refusal {
    let refused = session.environment().and_then(|environment| environment.refused);
    Refusal::about(Why::Settings, refused.unwrap_or_default())
}

fn tell(session: &Session, lines: &mut Lines, now: Now) {
    let cacheable = |lines: &mut Lines| lines.add("verdict", "cacheable");
    match now {
        Now::Hit => {
            cacheable(lines);
            lines.add("hit_now", "YES");
            lines.add("why", "It is stored and would be answered from memory.");
        }
        Now::Fill(why) => {
            cacheable(lines);
            lines.add("hit_now", "NO");
            lines.add("why", why);
        }
        Now::Perhaps(why) => {
            cacheable(lines);
            lines.add("hit_now", "MAYBE");
            lines.add("why", why);
        }
        Now::Refused(refusal) => refused(lines, &refusal),
    }
    let level = session.state.locals.level(&session.shared.globals).name();
    let by = if session.ruled.policy().is_some() { "the policy of its cache" } else { "a query rule" };
    let agreed = session.ruled.is_bargain().then(|| session.ruled.storing(|| 0).expires_ms);
    lines.add(
        "freshness",
        agreed.map_or_else(|| level.to_owned(), |age| format!("ttl: may be stale for {age} ms, by {by}")),
    );
}

/// Adds a refusal, and what to change.
fn refused(lines: &mut Lines, refusal: &Refusal) {
    let said = refusal.why.said();
    lines.add("verdict", said.lasts.verdict());
    lines.add("hit_now", "NO");
    lines.add("reason", said.name);
    lines.add("why", said.sentence);
    if !refusal.about.is_empty() {
        lines.add("about", refusal.about.clone());
    }
    lines.add("change", said.remedy);
}

/// Adds what the answers depend on: each table, and by which rows.
fn depends(session: &Session, lines: &mut Lines, text: &[u8], bound: &BoundSelect<'_>) {
    let template = bound.template();
    if !matches!(template.verdict, Cacheability::Cache) {
        return;
    }
    if template.tables.by_names {
        lines.add("read_by", "names: its grammar is not understood here, so it depends on the whole of each table whose name is in it");
    }
    let plan = ReadPlan::of(statement(session, text), &template.tables);
    for (table, rows) in plan.in_words(&template.tables) {
        lines.add("depends_on", format!("{table}: {rows}"));
    }
}

/// Adds the counts of the statement's digest, for this user and schema.
fn counted(session: &Session, lines: &mut Lines, digest: Digest) {
    let Some(statistics) = &session.shared.statistics else { return };
    let Some(row) = statistics.query_of(session.whose(), digest) else { return };
    let count = [("executions", row.sent + row.hits), ("hits", row.hits), ("stored", row.stored)];
    count.iter().for_each(|(name, count)| lines.add(name, count.to_string()));
    for (why, count) in &row.refused {
        lines.add("not_stored", format!("{count} × {}: {}", why.said().name, why.said().sentence));
    }
    if let Some(last) = &row.last {
        lines.add("last_not_stored", format!("{}: {last} {}", last.why.said().name, last.why.said().remedy));
    }
}
