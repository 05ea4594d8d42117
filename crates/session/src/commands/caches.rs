//! `SHOW PROXIED QUERIES`, `CREATE CACHE`, `SHOW CACHES` and similar statements: Readyset's words for what is known of queries, and for
//! caches that are made for one query each ([`crate::created`]).

mod asked;
mod hinted;
mod listed;

use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_cache::{Dep, Fences, Key, Lookup, Position};
use freshet_protocol::ErrPacket;
use freshet_sql::{CacheSource, CacheStatement, CreateCache, Method, Modes, Request};
use freshet_upstream::now_ms;

pub(super) use self::hinted::create_if_hinted;

use self::asked::{AskedQuery, error};
use super::introspect::{RowFormat, put};
use super::maintained;
use super::maintained::bound_for_certain;
use crate::created::{
    CacheOptions, CreatedCache, FileError, Frame, NamedQuery, NotCreated, NotedFrame, Policy, QueryId,
    StoredResult, Tries, Upkeep,
};
use crate::environment::{environment_of, is_of_executions};
use crate::introspection::Rowset;
use crate::maintaining::{KeeperAnswer, ResultQuestion, question};
use crate::privileges::{self, Privilege};
use crate::relay::Lost;
use crate::session::hit::READ_UNFENCED;
use crate::session::{Flow, Session};
use crate::statistics::QueryRow;
use crate::template::Cacheability;
use crate::why::Refusal;

/// The longest TTL of a policy, in seconds: a year.
const TTL_S_MAX: u64 = 365 * 86_400;
/// How many stored results a new cache takes over, and how many bytes their texts may have.
const ADOPTED_MAX: usize = 1024;
const ADOPTED_BYTES_MAX: usize = 4 << 20;

/// How many stored results are made from copies at once, so that the next change finds them there.
const WARMED_MAX: usize = 64;
/// How long CREATE CACHE waits for the new cache's tables; loading goes on after that.
const LOADED_WITHIN: Duration = Duration::from_secs(600);
/// How often Freshet checks whether the tables of a new cache are loaded.
const LOADING_LOOKED_AT_EVERY: Duration = Duration::from_millis(20);

/// The answer to a statement on caches.
enum CacheReply {
    Rows(Rowset),
    Ok,
}

/// Carries out a statement on caches.
pub(super) async fn handle(session: &mut Session, statement: &CacheStatement) -> Result<Flow, Lost> {
    match carry_out(session, statement).await? {
        Ok(CacheReply::Rows(found)) => put(session, &found, RowFormat::Text),
        Ok(CacheReply::Ok) => {
            session.state.last.warnings.clear();
            session.put_ok(0);
            Ok(Flow::Continue)
        }
        Err(error) => session.refuse(&error),
    }
}

/// Returns the rows of a statement that shows something. Returns the error of any other statement.
pub(super) async fn found(
    session: &mut Session,
    statement: &CacheStatement,
) -> Result<Result<Rowset, ErrPacket>, Lost> {
    Ok(match carry_out(session, statement).await? {
        Ok(CacheReply::Rows(found)) => Ok(found),
        Ok(CacheReply::Ok) => Ok(Rowset { columns: Vec::new(), rows: Vec::new() }),
        Err(error) => Err(error),
    })
}

/// Returns the names of the columns that a statement shows; none if the statement answers OK.
pub(super) fn titles(statement: &CacheStatement) -> &'static [&'static str] {
    match statement {
        CacheStatement::ShowProxied { .. } => &listed::PROXIED,
        CacheStatement::ShowCaches { .. } => &listed::CACHES,
        CacheStatement::ExplainCreate(_) => &listed::EXPLAINED,
        CacheStatement::ExplainLast => &listed::LAST,
        CacheStatement::ExplainCaches => &listed::EXPORTED,
        CacheStatement::Status => &listed::STATUS,
        CacheStatement::Tables => &listed::TABLES,
        CacheStatement::Version => &listed::VERSION,
        CacheStatement::Create(_)
        | CacheStatement::Drop { .. }
        | CacheStatement::DropAll(_)
        | CacheStatement::DropAllProxied => &[],
    }
}

async fn carry_out(
    session: &mut Session,
    statement: &CacheStatement,
) -> Result<Result<CacheReply, ErrPacket>, Lost> {
    match statement {
        CacheStatement::ExplainLast => return Ok(Ok(CacheReply::Rows(listed::last(session)))),
        CacheStatement::Version => return Ok(Ok(CacheReply::Rows(listed::version()))),
        _ => {}
    }
    if let Err(error) = may(session).await? {
        return Ok(Err(error));
    }
    let created = Arc::clone(&session.shared.created);
    Ok(match statement {
        CacheStatement::ShowProxied { supported, method, id, limit } => {
            match listed::proxied(session, *supported || method.is_some(), id.as_deref()) {
                Ok(all) => {
                    Ok(CacheReply::Rows(listed::of_proxied(of_method(session, all, *method).await, *limit)))
                }
                Err(error) => Err(error),
            }
        }
        CacheStatement::ShowCaches { method, id } => {
            Ok(CacheReply::Rows(listed::caches(session, *method, id.as_deref())))
        }
        CacheStatement::ExplainCaches => Ok(CacheReply::Rows(listed::exported(session))),
        CacheStatement::Status => Ok(CacheReply::Rows(listed::status(session))),
        CacheStatement::Tables => Ok(CacheReply::Rows(listed::tables(session))),
        CacheStatement::ExplainCreate(asked) => match source(session, asked).await? {
            Ok(asked) => {
                let kept = kept(session, &asked).await;
                let kept = kept.map_or_else(|why| format!("refreshed: {why}"), |_| "maintained".to_owned());
                Ok(CacheReply::Rows(listed::explained(&asked, kept)))
            }
            Err(error) => Err(error),
        },
        CacheStatement::Create(asked) => create(session, asked).await?,
        CacheStatement::Drop { name, if_exists } => match created.named(name) {
            Some(cache) => dropped(created.drop_where(|other| other.query.id == cache.query.id)),
            None if *if_exists => Ok(CacheReply::Ok),
            None => Err(error(format!("there is no cache '{name}'; SHOW CACHES lists them"))),
        },
        CacheStatement::DropAll(method) => dropped(created.drop_where(|cache| {
            method.is_none_or(|method| (method == Method::Deep) == listed::is_deep(cache))
        })),
        CacheStatement::DropAllProxied => {
            session.shared.digests(true);
            Ok(CacheReply::Ok)
        }
        CacheStatement::ExplainLast | CacheStatement::Version => Ok(CacheReply::Ok),
    })
}

/// Whether the client may see and change what concerns all clients: clients with the right to set global variables, and the account that
/// Freshet itself logs in with.
async fn may(session: &mut Session) -> Result<Result<(), ErrPacket>, Lost> {
    let is_own = session.admitted.user == session.shared.upstream.config().user.as_bytes();
    if is_own { Ok(Ok(())) } else { privileges::require(session, Privilege::SetGlobal).await }
}

fn dropped(result: Result<usize, FileError>) -> Result<CacheReply, ErrPacket> {
    result.map(|_| CacheReply::Ok).map_err(|why| error(format!("it is still there: {why}")))
}

async fn source(session: &mut Session, asked: &CreateCache) -> Result<Result<AskedQuery, ErrPacket>, Lost> {
    let text = match &asked.from {
        CacheSource::Id(id) => return Ok(by_id(session, id)),
        CacheSource::Select(text) => text,
    };
    if let Err(error) = session.learn().await {
        return Ok(Err(error.to_err_packet()));
    }
    let text = as_statement(text, session.modes());
    if !matches!(freshet_sql::read(&text, session.modes()), Request::Select { .. }) {
        return Ok(Err(error("a cache is made for one SELECT")));
    }
    let schema = session.state.environment.schema().unwrap_or_default().to_owned();
    let bound = bound_for_certain(session, &text, &schema).await;
    let template = bound.template();
    let unsupported = match &template.verdict {
        Cacheability::Cache => None,
        Cacheability::Never(why) | Cacheability::NotNow(why) => Some(why.to_string()),
    };
    Ok(Ok(AskedQuery { query: template.query.clone(), schema, unsupported }))
}

/// Returns a listed text, in which `$1` may stand for a value, as a statement with markers.
fn as_statement(text: &[u8], modes: Modes) -> Vec<u8> {
    freshet_sql::with_markers(text, modes)
}

fn by_id(session: &Session, id: &str) -> Result<AskedQuery, ErrPacket> {
    if let Some(proxied) = listed::all_proxied(session)?.into_iter().find(|it| it.query.id.to_string() == id)
    {
        let unsupported = proxied.supported.strip_prefix("unsupported: ").map(str::to_owned);
        return Ok(AskedQuery { query: proxied.query, schema: proxied.schema, unsupported });
    }
    match session.shared.created.named(id) {
        Some(cache) => {
            Ok(AskedQuery { query: cache.query.clone(), schema: cache.schema.clone(), unsupported: None })
        }
        None => Err(error(format!("there is no query '{id}'; SHOW PROXIED QUERIES lists them"))),
    }
}

async fn create(session: &mut Session, asked: &CreateCache) -> Result<Result<CacheReply, ErrPacket>, Lost> {
    let options = match options(asked) {
        Ok(options) => options,
        Err(error) => return Ok(Err(error)),
    };
    let source = match source(session, asked).await? {
        Ok(source) => source,
        Err(error) => return Ok(Err(error)),
    };
    let is_shallow = options.method == Some(Method::Shallow);
    let kept = if is_shallow { None } else { Some(kept(session, &source).await) };
    let AskedQuery { query, schema, unsupported } = source;
    let unsupported = if options.policy.is_some() { never_agreed_on(session, &query) } else { unsupported };
    if let Some(why) = unsupported {
        return Ok(Err(error(format!("this query is never stored: {why}"))));
    }
    let name = asked.name.clone().unwrap_or_else(|| query.id.to_string());
    let id = query.id;
    let cache = CreatedCache::new(query, name.clone(), &schema, options);
    let load = match kept {
        Some(Err(why)) if asked.method == Some(Method::Deep) => {
            return Ok(Err(error(format!("this query is not maintained: {why}"))));
        }
        Some(Err(why)) => {
            cache.note_upkeep(Upkeep::Refreshed(why));
            None
        }
        Some(Ok(load)) => {
            cache.note_upkeep(Upkeep::NotYet("a table is being loaded"));
            Some(load)
        }
        None => None,
    };
    Ok(match session.shared.created.create(cache) {
        Ok(()) => {
            if options.policy.is_none() {
                adopt(session, id).await;
            }
            session.shared.refreshes.notify_one();
            match load {
                Some(load) => loaded(session, id, asked, load).await?,
                None => Ok(CacheReply::Ok),
            }
        }
        Err(NotCreated::Exists(_)) if asked.if_not_exists => Ok(CacheReply::Ok),
        Err(NotCreated::Exists(other)) => Err(error(format!("the query has a cache already: '{other}'"))),
        Err(NotCreated::NameTaken) => {
            Err(error(format!("there is a cache '{name}' of another query; DROP CACHE drops it")))
        }
        Err(NotCreated::TooMany) => Err(error("there are 4,096 caches, which is the most")),
        Err(NotCreated::File(why)) => Err(error(format!("it would not be there after a restart: {why}"))),
    })
}

/// Returns the options of a cache that is to be created, if the cache can be created.
fn options(asked: &CreateCache) -> Result<CacheOptions, ErrPacket> {
    let CreateCache { always, method, .. } = *asked;
    let Some((ttl_s, refresh_s)) = asked.policy else {
        return Ok(CacheOptions { always, method, ..CacheOptions::default() });
    };
    if method == Some(Method::Deep) {
        return Err(error("POLICY TTL is of SHALLOW caches: what is maintained is never stale"));
    }
    let seconds = 1..=TTL_S_MAX;
    if !seconds.contains(&ttl_s) || refresh_s.is_some_and(|refresh| !(1..=ttl_s).contains(&refresh)) {
        return Err(error(format!("POLICY: TTL is from 1 to {TTL_S_MAX} seconds, REFRESH from 1 to TTL")));
    }
    let policy = Some(Policy { ttl_s, refresh_s });
    Ok(CacheOptions { always, method: Some(Method::Shallow), policy, ..CacheOptions::default() })
}

/// Returns why an answer of this query is never stored, even if it may be stale; see [`super::bargain`].
fn never_agreed_on(session: &Session, query: &NamedQuery) -> Option<String> {
    let text = as_statement(query.text.as_bytes(), session.modes());
    let reason = freshet_sql::tables_at_a_moment(&text, session.modes()).err()?;
    Some(Refusal::from(reason).to_string())
}

/// Returns what has to be loaded so that the results of a query are maintained, or why they are not maintained.
async fn kept(session: &Session, asked: &AskedQuery) -> Result<ResultQuestion, String> {
    let text = as_statement(asked.query.text.as_bytes(), session.modes());
    maintained::maintainable(session, &text, &asked.schema).await
}

/// Returns the queries whose results would be kept by this method.
async fn of_method(
    session: &Session,
    all: Vec<listed::Proxied>,
    method: Option<Method>,
) -> Vec<listed::Proxied> {
    let Some(method) = method else { return all };
    let mut kept_so = Vec::new();
    for query in all {
        let text = as_statement(query.query.text.as_bytes(), session.modes());
        let is_deep = maintained::maintainable(session, &text, &query.schema).await.is_ok();
        if is_deep == (method == Method::Deep) {
            kept_so.push(query);
        }
    }
    kept_so
}

/// Has the tables of a new cache loaded, and waits for that unless the statement says CONCURRENTLY.
async fn loaded(
    session: &mut Session,
    id: QueryId,
    asked: &CreateCache,
    load: ResultQuestion,
) -> Result<Result<CacheReply, ErrPacket>, Lost> {
    let shared = Arc::clone(&session.shared);
    let until = Instant::now() + LOADED_WITHIN;
    loop {
        let answer = session.waits_for(shared.maintaining.ask(load.clone())).await?;
        // Without the stream nothing can be copied. Loading starts when a client asks after the stream has come back.
        let goes_on = shared.freshness().is_live(now_ms()) && Instant::now() < until;
        let Some(cache) = shared.created.of(id) else { return Ok(Ok(CacheReply::Ok)) };
        match answer {
            KeeperAnswer::Never(why) if asked.method == Some(Method::Deep) => {
                return Ok(dropped(shared.created.drop_where(|other| other.query.id == id))
                    .and_then(|_| Err(error(format!("this query is not maintained: {why}")))));
            }
            KeeperAnswer::Never(why) => cache.note_upkeep(Upkeep::Refreshed(why)),
            KeeperAnswer::Rows(..) | KeeperAnswer::Loaded => {
                cache.note_upkeep(Upkeep::Maintained);
                let results = cache.all_results();
                for result in results.iter().take(WARMED_MAX) {
                    let warmed = async {
                        if let Some(asked) = question::of_result(&shared, result).await {
                            shared.maintaining.ask(asked).await;
                        }
                    };
                    session.waits_for(warmed).await?;
                }
            }
            KeeperAnswer::NotYet(_) if goes_on && !asked.concurrently => {
                session.waits_for(tokio::time::sleep(LOADING_LOOKED_AT_EVERY)).await?;
                continue;
            }
            KeeperAnswer::NotYet(why) => cache.note_upkeep(Upkeep::NotYet(why)),
        }
        return Ok(Ok(CacheReply::Ok));
    }
}

/// Notes the stored results of a query, so that they are asked for again: once at first, and then when a change drops them.
async fn adopt(session: &Session, id: QueryId) {
    let shared = &session.shared;
    // Read first: a result that may be served after this was not taken from anybody before it.
    let (Some(cache), Some(rights)) = (shared.created.of(id), shared.upstream.rights_epoch()) else { return };
    let rows = shared.statistics.as_ref().map(|statistics| statistics.queries(|_| true)).unwrap_or_default();
    let is_its = |row: &QueryRow| row.query.as_ref().is_some_and(|query| query.id == id);
    let tags: Vec<u16> = rows.iter().filter(|row| is_its(row)).map(|row| row.tag).collect();
    let environments = shared.environments.all();
    let of_tags = |tag: u16| tags.contains(&tag);
    for summary in shared.cache.summaries_of(of_tags, ADOPTED_MAX, ADOPTED_BYTES_MAX, now_ms()) {
        let key = summary.environment;
        let environment = environments.get(&environment_of(key)).filter(|it| it.id == environment_of(key));
        let Some(environment) = environment.filter(|_| !summary.is_bargain && !is_of_executions(key)) else {
            continue;
        };
        let schema = environment.schema.as_deref();
        let behind = shared.sources();
        let bound = shared.templates.of(&summary.text, environment.modes, schema, behind).await;
        let tables = bound.template().tables.known.iter().map(|named| Arc::clone(&named.info)).collect();
        let stored = Key { environment: key, text: &summary.text };
        let frame = shared.cache.show(stored, |entry| Frame::of_entry(entry, READ_UNFENCED)).flatten();
        // Read after the definitions: nothing that the result depends on has changed before them.
        let is_servable = matches!(shared.cache.look(stored, now_ms(), Fences::Ignore), Lookup::Hit(()));
        if let Some(frame) = frame.filter(|_| is_servable) {
            let noted =
                NotedFrame { frame: Arc::new(frame), rights, tables, noted_ms: now_ms(), proven: None };
            cache.note_frame(stored, noted);
        }
        cache.note(StoredResult {
            environment: Arc::clone(environment),
            key,
            text: summary.text.into(),
            deps: vec![Dep::EVERYTHING],
            valid_from: Position::ZERO,
            tag: summary.tag,
            rights,
            warnings: 0,
            tries: Tries::default(),
        });
    }
}
