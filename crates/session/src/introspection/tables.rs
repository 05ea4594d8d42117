//! The tables, each with its columns, their meaning, and the source of its rows.

use std::sync::Arc;

use ahash::HashMap;
use freshet_cache::CurvePoint;
use freshet_upstream::lane::LaneFigures;
use freshet_upstream::now_ms;

use super::IntrospectionType::{Integer, Real, Text};
use super::advice::{Advice, AdviceFacts, ServerFigures, Slow, TableFigures, advice};
use super::{IntrospectionType, IntrospectionValue, Table};
use crate::environment::{environment_of, is_of_executions};
use crate::level::Level;
use crate::registry::Process;
use crate::session::Hold;
use crate::shared::Shared;
use crate::statistics::QueryRow;
use crate::status;
use crate::why;

/// How many results are listed, and how many bytes their texts have together.
const LISTED_MAX: usize = 65_536;
const LISTED_BYTES_MAX: usize = 16 << 20;

/// What is shown, and to which client.
pub(crate) struct View {
    pub(crate) shared: Arc<Shared>,
    /// The client that sees only its own rows; `None`: all rows are shown.
    pub(crate) only: Option<Viewer>,
    /// The server's counts, if the statement asks for them.
    pub(crate) server: ServerFigures,
}

/// A client that sees only its own rows.
pub(crate) struct Viewer {
    /// The name it logged in with.
    pub(crate) user: String,
    /// The account that the server has let in.
    pub(crate) account: Vec<u8>,
}

/// One table.
pub(crate) struct IntrospectionTable {
    pub(crate) name: &'static str,
    /// Names, kinds, and meanings.
    pub(crate) columns: &'static [(&'static str, IntrospectionType, &'static str)],
    rows: fn(&View) -> Vec<Vec<IntrospectionValue>>,
}

impl IntrospectionTable {
    /// The table as it is now.
    pub(crate) fn made(&self, view: &View) -> Table {
        self.with((self.rows)(view))
    }

    /// The table without its rows.
    pub(crate) fn empty(&self) -> Table {
        self.with(Vec::new())
    }

    fn with(&self, rows: Vec<Vec<IntrospectionValue>>) -> Table {
        let columns = self.columns.iter().map(|(name, kind, _)| (*name, *kind)).collect();
        Table { name: self.name, columns, rows }
    }
}

/// All of them.
#[rustfmt::skip]
pub(crate) static TABLES: [IntrospectionTable; 13] = [
    IntrospectionTable { name: "queries", rows: queries, columns: &[
        ("schema_name", Text, "The session's default schema."),
        ("user", Text, "Who sent it."),
        ("digest", Text, "The number of its digest text, as ProxySQL has it."),
        ("digest_text", Text, "The statement without its values."),
        ("verdict", Text, "cacheable, never cached, not cached in this session, or not cached now: what became of the last one that the server answered."),
        ("reason", Text, "Why that was not stored: one of freshet.reasons."),
        ("why", Text, "The same as a sentence."),
        ("about", Text, "What of the statement it is about."),
        ("what_to_change", Text, "What to change so that it is stored."),
        ("executions", Integer, "How often it was executed, from memory or by the server."),
        ("hits", Integer, "How often it was answered from memory."),
        ("hit_ratio", Real, "Hits by executions."),
        ("stored", Integer, "How often an answer was stored."),
        ("invalidations", Integer, "How often an answer was asked for that a change had made stale, and stored anew."),
        ("needless", Integer, "How often that turned out the same: the change concerned something else."),
        ("refused", Integer, "How often an answer was not stored; of more than 1,024 for one reason, about how often."),
        ("refusals", Text, "How often for which reason; freshet.refusals has them as rows."),
        ("rows_sent", Integer, "Rows that the server sent."),
        ("rows_affected", Integer, "Rows that the server changed."),
        ("entries", Integer, "Results that are stored and may be served now."),
        ("bytes", Integer, "The memory that these take."),
        ("server_us", Integer, "Microseconds that the server took."),
        ("saved_us", Integer, "Microseconds that it would have taken for the hits, at its average."),
        ("first_seen", Integer, "Seconds since 1970."),
        ("last_seen", Integer, "Seconds since 1970."),
    ] },
    IntrospectionTable { name: "refusals", rows: refusals, columns: &[
        ("schema_name", Text, "The session's default schema."),
        ("user", Text, "Who sent it."),
        ("digest", Text, "The statement's digest."),
        ("reason", Text, "Why answers were not stored: one of freshet.reasons."),
        ("count", Integer, "How often."),
    ] },
    IntrospectionTable { name: "reasons", rows: reasons, columns: &[
        ("reason", Text, "Its name."),
        ("verdict", Text, "never cached, not cached in this session, or not cached now."),
        ("why", Text, "A sentence."),
        ("what_to_change", Text, "What to change."),
    ] },
    IntrospectionTable { name: "query_tables", rows: query_tables, columns: &[
        ("schema_name", Text, "The session's default schema."),
        ("user", Text, "Who sent it."),
        ("digest", Text, "The statement's digest."),
        ("table_schema", Text, "A table or view that it reads: its schema."),
        ("table_name", Text, "And its name."),
    ] },
    IntrospectionTable { name: "tables", rows: tables, columns: &[
        ("table_schema", Text, "Its schema."),
        ("table_name", Text, "Its name. Those are listed that a query in freshet.query_tables reads."),
        ("queries", Integer, "How many digests read it."),
        ("reads", Integer, "How often these were executed, from memory or by the server."),
        ("hits", Integer, "How often they were answered from memory."),
        ("hit_ratio", Real, "Hits by reads."),
        ("stored", Integer, "How often their answers were stored."),
        ("writes", Integer, "Events of the binlog that have changed its rows."),
        ("invalidations", Integer, "How often an answer of these digests was asked for that a change had made stale, of this table or another, and stored anew."),
        ("needless", Integer, "How often that turned out the same."),
        ("entries", Integer, "Results that read it, are stored and may be served now."),
        ("bytes", Integer, "The memory that these take."),
        ("changed_at", Integer, "The position (see Freshet_applied) of its last change; 0 if it has not changed since the stream began."),
        ("write_under_way", Integer, "1 while a write may change any of its rows."),
    ] },
    IntrospectionTable { name: "entries", rows: entries, columns: &[
        ("schema_name", Text, "The default schema that it was asked for in."),
        ("account", Text, "The account that asked."),
        ("digest", Text, "The statement's digest."),
        ("text", Text, "The statement."),
        ("prepared", Integer, "1 for the answer to an execution of a prepared statement."),
        ("may_be_stale", Integer, "1 if it is given until its time is over, whatever is written: a query rule has the attribute {\"freshness\":\"ttl\"}, or a cache has POLICY TTL."),
        ("body_bytes", Integer, "The packets' bytes."),
        ("bytes", Integer, "The memory that it takes."),
    ] },
    IntrospectionTable { name: "sessions", rows: sessions, columns: &[
        ("id", Integer, "The number that the client was told."),
        ("user", Text, "The name it logged in with."),
        ("client", Text, "Its address and port; NULL if it came by a unix socket."),
        ("server_id", Integer, "The server's number of its connection; NULL while it has none."),
        ("is_busy", Integer, "1 while the server works for it."),
        ("silent_ms", Integer, "Milliseconds since its last command."),
        ("schema_name", Text, "Its default schema, as of its last command that was not answered from memory."),
        ("statement", Text, "The beginning of the statement that the server works on."),
        ("holds", Text, "Why it cannot be answered from memory, or must keep its connection, as of its last command that the server has seen."),
    ] },
    IntrospectionTable { name: "lanes", rows: lanes, columns: &[
        ("id", Integer, "The number that the client was told whose connection carries the reads of others."),
        ("user", Text, "The name it logged in with."),
        ("server_id", Integer, "The server's number of the connection."),
        ("carried", Integer, "Reads that it was given since the client has lent it."),
        ("waiting", Integer, "Those of them that are not answered."),
    ] },
    IntrospectionTable { name: "freshness", rows: freshness, columns: &[
        ("stream", Text, "The state of the binlog stream, and why it is off where it is."),
        ("is_live", Integer, "1 while the stream is proven live: without it nothing is answered from memory."),
        ("level", Text, "The global level of freshness."),
        ("applied", Integer, "Every change up to here has invalidated what it concerns."),
        ("visible", Integer, "Every transaction up to here is seen by a query sent now."),
        ("lag_ms", Integer, "How old the last change was when it was applied."),
        ("file", Text, "The binlog's file."),
        ("offset", Integer, "The place in it."),
        ("events", Integer, "Events read."),
        ("transactions", Integer, "Transactions read."),
        ("generations", Integer, "How often the stream has begun."),
    ] },
    IntrospectionTable { name: "rules", rows: rules, columns: &[
        ("rule_id", Integer, "A query rule that counts, as in mysql_query_rules of the admin port."),
        ("hits", Integer, "How many statements have met it."),
        ("username", Text, "Of whose statements it is; NULL: anybody's."),
        ("schemaname", Text, "In which default schema; NULL: any."),
        ("digest", Text, "Of which digest."),
        ("match_digest", Text, "A pattern that the digest text matches."),
        ("match_pattern", Text, "A pattern that the text matches."),
        ("cache_ttl", Integer, "How old an answer from memory may be, in milliseconds."),
        ("destination_hostgroup", Integer, "The hostgroup that its statements are counted under."),
        ("attributes", Text, "What it says besides, in JSON."),
    ] },
    IntrospectionTable { name: "decisions", rows: decisions, columns: &[
        ("schema_name", Text, "The session's default schema."),
        ("user", Text, "Who sent it."),
        ("digest", Text, "A statement that has met query rules."),
        ("digest_text", Text, "The statement without its values."),
        ("rules", Text, "The rules that it has met, in their order."),
        ("cache_ttl", Integer, "How old an answer from memory may be, in milliseconds; NULL: they do not say."),
        ("may_be_stale", Integer, "1 if it is given whatever is written meanwhile."),
        ("destination_hostgroup", Integer, "The hostgroup that it is counted under."),
        ("timeout", Integer, "How long the server may take, in milliseconds."),
        ("delay", Integer, "How long it waits before it is sent, in milliseconds."),
        ("answered_with", Text, "error or ok, where it is answered by the rules."),
        ("executions", Integer, "How often it was executed, from memory or by the server."),
        ("hits", Integer, "How often it was answered from memory."),
    ] },
    IntrospectionTable { name: "curve", rows: curve, columns: &[
        ("size", Integer, "A size that the cache could have, in bytes."),
        ("hit_percent", Real, "About what share of the lookups would be answered from memory then."),
        ("is_now", Integer, "1 for the size that it has."),
        ("sampled", Integer, "On how many sampled lookups that rests, of late."),
    ] },
    IntrospectionTable { name: "advice", rows: advised, columns: &[
        ("topic", Text, "buffer pool, reads and writes, size, memory, table, or slow query."),
        ("verdict", Text, "good; change; unknown where too little was counted."),
        ("found", Text, "What was counted since the start, of the server's or of Freshet's."),
        ("advice", Text, "What to make of it."),
        ("statement", Text, "What carries it out, where it is one statement: to be read before it is sent."),
    ] },
];

/// The stored results of a digest that may be served.
#[derive(Default, Clone, Copy)]
struct Stored {
    entries: u64,
    bytes: u64,
}

impl View {
    fn shows(&self, user: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.user == user)
    }

    fn queries(&self) -> Vec<QueryRow> {
        let statistics = self.shared.statistics.as_ref();
        statistics.map(|statistics| statistics.queries(|user| self.shows(user))).unwrap_or_default()
    }

    fn stored(&self) -> HashMap<u16, Stored> {
        let mut stored: HashMap<u16, Stored> = HashMap::default();
        self.shared.cache.each_servable(freshet_upstream::now_ms(), |tag, bytes| {
            let of = stored.entry(tag).or_default();
            of.entries += 1;
            of.bytes += bytes as u64;
        });
        stored
    }
}

fn queries(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let stored = view.stored();
    let row = |row: QueryRow| {
        let of = stored.get(&row.tag).copied().unwrap_or_default();
        let executions = row.sent + row.hits;
        let said = row.last.as_ref().map(|last| last.why.said());
        let is_select = row.hits > 0 || row.stored > 0 || !row.refused.is_empty();
        let said = if is_select { said } else { Some(why::Why::NotSelect.said()) };
        let refusals: Vec<String> =
            row.refused.iter().map(|(why, count)| format!("{}: {count}", why.said().name)).collect();
        let saved_us = row.saved_us();
        vec![
            row.schema.into(),
            row.user.into(),
            row.digest.into(),
            row.text.into(),
            said.map_or("cacheable", |said| said.lasts.verdict()).into(),
            said.map(|said| said.name).into(),
            said.map(|said| said.sentence).into(),
            row.last.filter(|last| !last.about.is_empty()).map(|last| last.about).into(),
            said.map(|said| said.remedy).into(),
            executions.into(),
            row.hits.into(),
            IntrospectionValue::Real(row.hits as f64 / executions.max(1) as f64),
            row.stored.into(),
            row.refilled.into(),
            row.needless.into(),
            row.refused.iter().map(|(_, count)| u64::from(*count)).sum::<u64>().into(),
            refusals.join(", ").into(),
            row.rows.0.into(),
            row.rows.1.into(),
            of.entries.into(),
            of.bytes.into(),
            row.server_us.into(),
            saved_us.into(),
            row.seen.0.into(),
            row.seen.1.into(),
        ]
    };
    view.queries().into_iter().map(row).collect()
}

fn refusals(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let rows = |row: QueryRow| {
        let QueryRow { schema, user, digest, refused, .. } = row;
        refused.into_iter().map(move |(why, count)| {
            let name = why.said().name;
            let whose = [&schema, &user, &digest].map(|text| IntrospectionValue::from(text.as_str()));
            whose.into_iter().chain([name.into(), u64::from(count).into()]).collect()
        })
    };
    view.queries().into_iter().flat_map(rows).collect()
}

fn reasons(_: &View) -> Vec<Vec<IntrospectionValue>> {
    let row = |said: &why::Said| {
        vec![said.name.into(), said.lasts.verdict().into(), said.sentence.into(), said.remedy.into()]
    };
    why::SAID.iter().map(row).collect()
}

fn query_tables(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let rows = |row: QueryRow| {
        let QueryRow { schema, user, digest, tables, .. } = row;
        tables.into_iter().map(move |(of, name)| {
            let whose = [&schema, &user, &digest].map(|text| IntrospectionValue::from(text.as_str()));
            whose.into_iter().chain([of.into(), name.into()]).collect()
        })
    };
    view.queries().into_iter().flat_map(rows).collect()
}

/// The counts of the queries that read a table.
#[derive(Default)]
struct TableUsage {
    queries: u64,
    sent: u64,
    hits: u64,
    filled: u64,
    refilled: u64,
    needless: u64,
    stored: Stored,
}

fn tables(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let stored = view.stored();
    let mut tables: HashMap<(String, String), TableUsage> = HashMap::default();
    for row in view.queries() {
        let of = stored.get(&row.tag).copied().unwrap_or_default();
        for name in row.tables {
            let usage = tables.entry(name).or_default();
            usage.queries += 1;
            usage.sent += row.sent;
            usage.hits += row.hits;
            usage.filled += row.stored;
            usage.refilled += row.refilled;
            usage.needless += row.needless;
            usage.stored.entries += of.entries;
            usage.stored.bytes += of.bytes;
        }
    }
    let freshness = view.shared.freshness();
    let row = |((schema, name), usage): ((String, String), TableUsage)| {
        let deps = freshness.table(&schema, &name);
        let changed_at = freshness.stamp_of(deps.definition).max(freshness.stamp_of(deps.rows)).get();
        let writes = view.shared.upstream.writes_of(&schema, &name);
        let is_fenced = freshness.is_fenced(deps.definition) || freshness.is_fenced(deps.rows);
        vec![
            schema.into(),
            name.into(),
            usage.queries.into(),
            (usage.sent + usage.hits).into(),
            usage.hits.into(),
            IntrospectionValue::Real(usage.hits as f64 / (usage.sent + usage.hits).max(1) as f64),
            usage.filled.into(),
            writes.into(),
            usage.refilled.into(),
            usage.needless.into(),
            usage.stored.entries.into(),
            usage.stored.bytes.into(),
            changed_at.into(),
            u64::from(is_fenced).into(),
        ]
    };
    tables.into_iter().map(row).collect()
}

fn entries(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let known = view.shared.environments.all();
    let digests: HashMap<u16, String> = view.queries().into_iter().map(|row| (row.tag, row.digest)).collect();
    let found = view.shared.cache.summaries(LISTED_MAX, LISTED_BYTES_MAX, freshet_upstream::now_ms());
    let row = |summary: freshet_cache::Summary| {
        let environment = known.get(&environment_of(summary.environment))?;
        if view.only.as_ref().is_some_and(|only| only.account != environment.account) {
            return None;
        }
        let is_execution = is_of_executions(summary.environment);
        let text = if is_execution { crate::commands::prepared_text(&summary.text) } else { &summary.text };
        Some(vec![
            environment.schema.clone().into(),
            String::from_utf8_lossy(&environment.account).into_owned().into(),
            digests.get(&summary.tag).cloned().into(),
            String::from_utf8_lossy(text).into_owned().into(),
            u64::from(is_execution).into(),
            u64::from(summary.is_bargain).into(),
            summary.body_bytes.into(),
            summary.bytes.into(),
        ])
    };
    found.into_iter().filter_map(row).collect()
}

fn processes(view: &View) -> impl Iterator<Item = Process> {
    let all = view.shared.registry.processes(now_ms()).into_iter();
    all.filter(|process| view.shows(&process.user))
}

fn sessions(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let row = |process: Process| {
        vec![
            u64::from(process.id).into(),
            process.user.into(),
            process.client.map(|client| client.to_string()).into(),
            Some(u64::from(process.server_id)).filter(|id| *id != 0).into(),
            u64::from(process.is_busy).into(),
            process.silent_ms.into(),
            process.schema.into(),
            process.statement.into(),
            // If a session has no connection, nothing holds it.
            if process.server_id == 0 { String::new() } else { Hold::words(process.holds) }.into(),
        ]
    };
    processes(view).map(row).collect()
}

fn lanes(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let row = |process: Process| {
        let LaneFigures { connection_id, carried, waiting } = process.lane?;
        let (id, server_id) = (u64::from(process.id), u64::from(connection_id));
        Some(vec![id.into(), process.user.into(), server_id.into(), carried.into(), waiting.into()])
    };
    processes(view).filter_map(row).collect()
}

fn freshness(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let shared = &view.shared;
    let status = shared.upstream.follow_status();
    let level = shared.globals.freshness.load(std::sync::atomic::Ordering::Relaxed);
    vec![vec![
        status::stream(&status).into(),
        u64::from(shared.freshness().is_live(now_ms())).into(),
        Level::numbered(usize::from(level)).name().into(),
        shared.freshness().applied().get().into(),
        shared.freshness().visible().get().into(),
        status.lag_ms.into(),
        status.file.into(),
        status.offset.into(),
        status.events.into(),
        status.transactions.into(),
        status.generations.into(),
    ]]
}

/// A client that may not see everything sees no rules: they show parts of others' statements.
fn rules(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let set = view.shared.rules.set().filter(|_| view.only.is_none());
    let Some(set) = set else { return Vec::new() };
    let hits: HashMap<i64, u64> = view.shared.rule_hits().into_iter().collect();
    let row = |rule: &freshet_rules::Rule| {
        vec![
            IntrospectionValue::Integer(rule.rule_id),
            hits.get(&rule.rule_id).copied().unwrap_or(0).into(),
            rule.username.clone().into(),
            rule.schemaname.clone().into(),
            rule.digest.clone().into(),
            rule.match_digest.clone().into(),
            rule.match_pattern.clone().into(),
            rule.cache_ttl.into(),
            rule.destination_hostgroup.map(IntrospectionValue::Integer).into(),
            Some(rule.attributes.clone()).filter(|it| !it.is_empty()).into(),
        ]
    };
    set.rules().iter().map(row).collect()
}

fn decisions(view: &View) -> Vec<Vec<IntrospectionValue>> {
    let row = |row: QueryRow| {
        let outcome = row.outcome?;
        let settings = outcome.settings();
        let rules: Vec<String> = outcome.ids().iter().map(ToString::to_string).collect();
        let answered = match (&settings.error_msg, &settings.ok_msg) {
            (Some(_), _) => Some("error"),
            (None, Some(_)) => Some("ok"),
            (None, None) => None,
        };
        Some(vec![
            row.schema.into(),
            row.user.into(),
            row.digest.into(),
            row.text.into(),
            rules.join(", ").into(),
            settings.cache_ttl_ms.into(),
            u64::from(settings.is_bargain == Some(true)).into(),
            settings.hostgroup.map(IntrospectionValue::Integer).into(),
            settings.timeout_ms.into(),
            settings.delay_ms.into(),
            answered.into(),
            (row.sent + row.hits).into(),
            row.hits.into(),
        ])
    };
    view.queries().into_iter().filter_map(row).collect()
}

/// A client that may not see everything gets no advice: it is about all clients' statements.
fn advised(view: &View) -> Vec<Vec<IntrospectionValue>> {
    if view.only.is_some() {
        return Vec::new();
    }
    let row = |Advice { topic, verdict, found, advice, statement }: Advice| {
        vec![topic.into(), verdict.into(), found.into(), advice.into(), statement.into()]
    };
    advice(&facts(view)).into_iter().map(row).collect()
}

/// The curve covers all clients' look-ups, so only clients that may see everything get it.
fn curve(view: &View) -> Vec<Vec<IntrospectionValue>> {
    if view.only.is_some() {
        return Vec::new();
    }
    let (now, (sampled, points)) = (view.shared.cache.size() as u64, view.shared.cache.curve());
    let row = |CurvePoint { size, hits }: CurvePoint| {
        let percent = IntrospectionValue::Real((hits * 1000.0).round() / 10.0);
        vec![size.into(), percent, u64::from(size == now).into(), sampled.into()]
    };
    points.into_iter().map(row).collect()
}

fn facts(view: &View) -> AdviceFacts {
    let (shared, counted) = (&view.shared, view.shared.cache.statistics());
    let mut tables: HashMap<String, TableFigures> = HashMap::default();
    let mut slow = Vec::new();
    let (mut at_server, mut sent, mut answered) = ((0, 0_u64), 0, 0);
    let (sampled, curve) = shared.cache.curve();
    for row in view.queries() {
        at_server = (at_server.0 + row.server_us, at_server.1 + row.sent);
        for (schema, name) in &row.tables {
            let figures = || TableFigures {
                writes: shared.upstream.writes_of(schema, name),
                ..TableFigures::default()
            };
            let of = tables.entry(format!("{schema}.{name}")).or_insert_with(figures);
            of.reads += row.sent + row.hits;
            of.hits += row.hits;
        }
        // The time of errors is part of the total time, and shows nothing about answers.
        let failed = row.refused.iter().filter(|(why, _)| *why == why::Why::Error).map(|(_, times)| *times);
        let fails = failed.map(u64::from).sum::<u64>().saturating_mul(10) > row.sent;
        let is_stored =
            !fails && row.last.as_ref().is_none_or(|last| last.why.said().lasts != why::Lasts::Always);
        if is_stored && !row.tables.is_empty() {
            let refused: u64 = row.refused.iter().map(|(_, times)| u64::from(*times)).sum();
            (sent, answered) = (sent + row.sent.saturating_sub(refused), answered + row.hits);
        }
        let query = row.query.as_ref().filter(|query| is_stored && shared.created.of(query.id).is_none());
        slow.extend(query.map(|query| Slow {
            id: query.id.to_string(),
            text: query.text.to_string(),
            sent: row.sent,
            average_us: row.server_us.checked_div(row.sent).unwrap_or(0),
        }));
    }
    AdviceFacts {
        server: view.server,
        cache_type: shared.globals.query_cache_type.load(std::sync::atomic::Ordering::Relaxed),
        sampled,
        curve,
        average_us: at_server.0.checked_div(at_server.1).unwrap_or(0),
        size: counted.size,
        used: counted.used,
        hits: counted.hits,
        inserts: counted.inserts,
        evicted: counted.lowmem_prunes,
        tables: tables.into_iter().map(|(name, reads)| TableFigures { name, ..reads }).collect(),
        sent,
        answered,
        slow,
    }
}

#[cfg(test)]
mod tests {
    use super::TABLES;

    #[test]
    fn every_column_is_documented() {
        for table in &TABLES {
            assert!(table.columns.iter().all(|(_, _, doc)| doc.ends_with('.')), "{}", table.name);
        }
    }
}
