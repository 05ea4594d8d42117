//! The lists of queries and their caches, in the columns that Readyset shows.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use freshet_protocol::ErrPacket;
use freshet_sql::Method;
use freshet_upstream::now_ms;

use super::asked::{AskedQuery, error, row};
use crate::created::{CreatedCache, NamedQuery, Policy, QueryId, Upkeep};
use crate::introspection::{IntrospectionValue, Rowset};
use crate::maintaining::CopyState;
use crate::session::{Destination, Session};
use crate::statistics::QueryRow;
use crate::why::Lasts;

pub(super) const PROXIED: [&str; 4] = ["query id", "proxied query", "Readyset supported", "count"];
pub(super) const CACHES: [&str; 9] = [
    "query id",
    "cache name",
    "query text",
    "properties",
    "count",
    "results",
    "refreshed",
    "note",
    "seconds since it was found equal",
];
pub(super) const EXPLAINED: [&str; 4] = ["query id", "query", "Readyset supported", "kept"];
pub(super) const LAST: [&str; 2] = ["Query_destination", "Readyset_reason"];
pub(super) const EXPORTED: [&str; 1] = ["query text"];
pub(super) const STATUS: [&str; 2] = ["name", "value"];
pub(super) const TABLES: [&str; 3] = ["table", "status", "description"];
pub(super) const VERSION: [&str; 1] = ["Freshet"];

fn found<const N: usize>(titles: [&str; N], rows: Vec<Vec<IntrospectionValue>>) -> Rowset {
    Rowset { columns: titles.map(str::to_owned).to_vec(), rows }
}

/// A query that Freshet has seen.
pub(super) struct Proxied {
    pub(super) query: NamedQuery,
    pub(super) schema: String,
    /// `yes`, `pending`, or `unsupported: ` and the reason.
    pub(super) supported: String,
    /// How often the server was asked.
    sent: u64,
}

/// Returns every SELECT that is counted, in the order of their ids.
pub(super) fn all_proxied(session: &Session) -> Result<Vec<Proxied>, ErrPacket> {
    let Some(statistics) = &session.shared.statistics else {
        return Err(error("queries are not counted: query_statistics is off"));
    };
    let mut by_id: BTreeMap<QueryId, Proxied> = BTreeMap::new();
    let is_select = |row: &QueryRow| row.hits > 0 || row.stored > 0 || !row.refused.is_empty();
    for row in statistics.queries(|_| true).into_iter().filter(is_select) {
        let sent = row.sent;
        let proxied = proxied_of(row, session);
        by_id.entry(proxied.query.id).and_modify(|known| known.sent += sent).or_insert(proxied);
    }
    Ok(by_id.into_values().collect())
}

fn proxied_of(row: QueryRow, session: &Session) -> Proxied {
    let schema = Some(&*row.schema).filter(|schema| !schema.is_empty());
    let is_known = row.query.is_some();
    let supported = match &row.last {
        Some(refusal) if refusal.why.said().lasts == Lasts::Always => format!("unsupported: {refusal}"),
        Some(_) if !is_known => "pending".to_owned(),
        _ => "yes".to_owned(),
    };
    let query = row.query.unwrap_or_else(|| {
        NamedQuery::new(schema, freshet_sql::rewritten(row.text.as_bytes(), session.modes()))
    });
    Proxied { query, schema: row.schema, supported, sent: row.sent }
}

/// Returns the queries of SHOW PROXIED QUERIES: queries without a cache.
pub(super) fn proxied(
    session: &Session,
    supported: bool,
    id: Option<&str>,
) -> Result<Vec<Proxied>, ErrPacket> {
    let shown = all_proxied(session)?.into_iter().filter(|query| {
        session.shared.created.of(query.query.id).is_none()
            && (!supported || query.supported == "yes")
            && id.is_none_or(|id| query.query.id.to_string() == id)
    });
    Ok(shown.collect())
}

/// Returns the rows of SHOW PROXIED QUERIES, up to `limit`.
pub(super) fn of_proxied(all: Vec<Proxied>, limit: Option<u64>) -> Rowset {
    let limit = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let rows = all.into_iter().take(limit).map(|query| {
        let id = query.query.id.to_string();
        row([id.into(), (*query.query.text).into(), query.supported.into(), query.sent.into()])
    });
    found(PROXIED, rows.collect())
}

/// Returns the rows of SHOW CACHES.
pub(super) fn caches(session: &Session, method: Option<Method>, id: Option<&str>) -> Rowset {
    let statistics = session.shared.statistics.as_ref();
    let mut hits: BTreeMap<QueryId, u64> = BTreeMap::new();
    for row in statistics.map(|it| it.queries(|_| true)).unwrap_or_default() {
        if let Some(query) = row.query {
            *hits.entry(query.id).or_default() += row.hits;
        }
    }
    let is_of = |cache: &CreatedCache| method.is_none_or(|method| (method == Method::Deep) == is_deep(cache));
    let shown = session
        .shared
        .created
        .all()
        .into_iter()
        .filter(|cache| is_of(cache) && id.is_none_or(|id| cache.query.id.to_string() == id));
    let rows = shown.map(|cache| {
        row([
            cache.query.id.to_string().into(),
            cache.name.clone().into(),
            (*cache.query.text).into(),
            properties(&cache).into(),
            hits.get(&cache.query.id).copied().unwrap_or(0).into(),
            cache.all_results().len().into(),
            (cache.refreshed.load(Ordering::Relaxed) + cache.maintained.load(Ordering::Relaxed)).into(),
            note(&cache).into(),
            cache.checked_ms().map(|at| now_ms().saturating_sub(at) / 1000).into(),
        ])
    });
    found(CACHES, rows.collect())
}

/// Whether the cache's results are made from copies of rows, or will be.
pub(super) fn is_deep(cache: &CreatedCache) -> bool {
    matches!(cache.upkeep(), Upkeep::Maintained | Upkeep::NotYet(_))
}

fn properties(cache: &CreatedCache) -> String {
    let always = if cache.options.always { ", always" } else { "" };
    let kept = match cache.options.policy {
        Some(Policy { ttl_s, refresh_s }) => {
            let refresh = refresh_s.map(|seconds| format!(", refresh {seconds} s")).unwrap_or_default();
            format!("shallow, ttl {ttl_s} s{refresh}")
        }
        None if is_deep(cache) => "deep, maintained".to_owned(),
        None => "shallow, refreshed".to_owned(),
    };
    let automatic = if cache.options.is_automatic { ", automatic" } else { "" };
    format!("{kept}{always}{automatic}")
}

/// Returns what could be better about a cache.
fn note(cache: &CreatedCache) -> Option<String> {
    cache.gave_up().or_else(|| match cache.upkeep() {
        Upkeep::Maintained | Upkeep::Unknown => None,
        Upkeep::NotYet(why) => Some(why.to_owned()),
        Upkeep::Refreshed(why) => Some(format!("not maintained: {why}")),
    })
}

/// Returns the row of EXPLAIN CREATE CACHE.
pub(super) fn explained(asked: &AskedQuery, kept: String) -> Rowset {
    let supported = asked.unsupported.as_ref().map_or("yes".to_owned(), |why| format!("unsupported: {why}"));
    let cells =
        row([asked.query.id.to_string().into(), (*asked.query.text).into(), supported.into(), kept.into()]);
    found(EXPLAINED, vec![cells])
}

/// Returns the row of EXPLAIN LAST STATEMENT.
pub(super) fn last(session: &Session) -> Rowset {
    let (destination, reason) = match session.last_destination() {
        Destination::Nowhere => (IntrospectionValue::Null, String::new()),
        Destination::Memory => ("readyset".into(), "ok".to_owned()),
        Destination::Server(None) => ("upstream".into(), String::new()),
        Destination::Server(Some(why)) => ("upstream".into(), why.said().sentence.to_owned()),
    };
    let said = [Some(reason).filter(|reason| !reason.is_empty()), session.destination.hint()];
    let reason = said.into_iter().flatten().collect::<Vec<_>>().join("; ");
    found(LAST, vec![row([destination, reason.into()])])
}

/// Returns the rows of EXPLAIN CACHES: the statements that make the caches. They must be sent with the same default schema.
pub(super) fn exported(session: &Session) -> Rowset {
    let statement = |cache: &CreatedCache| {
        let always = if cache.options.always { "ALWAYS " } else { "" };
        let method = match cache.options.method {
            Some(Method::Deep) => "DEEP ",
            Some(Method::Shallow) => "SHALLOW ",
            None => "",
        };
        let policy = cache.options.policy.map(|Policy { ttl_s, refresh_s }| {
            let refresh =
                refresh_s.map(|seconds| format!("REFRESH EVERY {seconds} SECONDS ")).unwrap_or_default();
            format!("POLICY TTL {ttl_s} SECONDS {refresh}")
        });
        let policy = policy.unwrap_or_default();
        let name = format!("`{}`", cache.name.replace('`', "``"));
        format!("CREATE {method}CACHE {policy}{always}{name} FROM {}", cache.query.text)
    };
    let all = session.shared.created.all();
    let created = all.iter().filter(|cache| !cache.options.is_automatic);
    let rows = created.map(|cache| row([statement(cache).into()])).collect();
    found(EXPORTED, rows)
}

/// Returns the rows of SHOW FRESHET STATUS.
pub(super) fn status(session: &Session) -> Rowset {
    let shared = &session.shared;
    let follow = shared.upstream.follow_status();
    let is_live = shared.freshness().is_live(now_ms());
    let line = |name: &str, value: String| row([name.into(), value.into()]);
    let rows = vec![
        line(
            "Database Connection",
            if shared.upstream.server().is_some() { "Connected" } else { "Not Connected" }.to_owned(),
        ),
        line("Connection Count", shared.clients().to_string()),
        line("Status", if is_live { "Online" } else { "Offline" }.to_owned()),
        line("Stream", crate::status::stream(&follow)),
        line("Caches", shared.created.all().len().to_string()),
        line("Results", shared.cache.entries().to_string()),
        line("Memory", format!("{} of {} bytes", shared.cache.used(), shared.cache.size())),
    ];
    found(STATUS, rows)
}

/// Returns the rows of SHOW FRESHET TABLES: the tables that counted queries read.
pub(super) fn tables(session: &Session) -> Rowset {
    let mut known: BTreeMap<String, bool> = BTreeMap::new();
    let statistics = session.shared.statistics.as_ref();
    for row in statistics.map(|it| it.queries(|_| true)).unwrap_or_default() {
        let is_stored = row.last.as_ref().is_none_or(|why| why.why.said().lasts != Lasts::Always);
        for (schema, name) in row.tables {
            *known.entry(format!("`{schema}`.`{name}`")).or_default() |= is_stored;
        }
    }
    let is_live = session.shared.freshness().is_live(now_ms());
    let copies = session.shared.maintaining.copies();
    let copies = copies.into_iter().map(|((schema, name), state)| (format!("`{schema}`.`{name}`"), state));
    let copies: BTreeMap<String, CopyState> = copies.collect();
    let rows = known.into_iter().map(|(name, is_stored)| {
        let copied = copies.get(&name).map(|state| format!("copied: {state}")).unwrap_or_default();
        let (status, description) = match (is_stored, is_live) {
            (true, true) => ("Online", copied),
            (true, false) => ("Offline", "the binlog stream is off".to_owned()),
            (false, _) => ("Not Cached", "freshet.queries says of each query why".to_owned()),
        };
        row([name.into(), status.into(), description.into()])
    });
    found(TABLES, rows.collect())
}

/// Returns the row of SHOW FRESHET VERSION.
pub(super) fn version() -> Rowset {
    found(VERSION, vec![row([env!("CARGO_PKG_VERSION").into()])])
}
