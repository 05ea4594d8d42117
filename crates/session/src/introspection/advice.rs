//! Advice on settings, with reasons: the usual guidelines for query caches, applied to the counts of the server and Freshet.
//!
//! The facts come as numbers. This module asks nothing, and sets nothing.

use freshet_cache::CurvePoint;

use crate::variables::{SIZE_MAX, SIZE_MIN};

/// The counts and settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct AdviceFacts {
    /// What the server has counted since its start.
    pub(crate) server: ServerFigures,
    /// `query_cache_type`: 0 off, 1 on, 2 demand.
    pub(crate) cache_type: u8,
    /// What the cache may hold, and what it holds, in bytes.
    pub(crate) size: u64,
    pub(crate) used: u64,
    pub(crate) hits: u64,
    /// How often the server was asked what the queries ask that Freshet has counted one by one, and how often memory answered them.
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) inserts: u64,
    /// Results evicted because their memory was needed.
    pub(crate) evicted: u64,
    pub(crate) tables: Vec<TableFigures>,
    /// Queries that take long.
    pub(crate) slow: Vec<Slow>,
    /// How many sampled look-ups the curve rests on: the share that a cache of each size would answer. The present size is one of the sizes.
    pub(crate) sampled: u64,
    pub(crate) curve: Vec<CurvePoint>,
    /// How long the server took for one statement on average, in microseconds; 0 if it has had none.
    pub(crate) average_us: u64,
}

/// How often a table was read, how many of these reads were hits, and how often it was changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableFigures {
    /// `schema.name`.
    pub(crate) name: String,
    pub(crate) reads: u64,
    pub(crate) hits: u64,
    /// Events of the binlog that have changed its rows.
    pub(crate) writes: u64,
}

/// The server's counts and settings; 0 for values that the server does not report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerFigures {
    /// Pages asked for, and pages read from disk.
    pub(crate) pool_requests: u64,
    pub(crate) pool_reads: u64,
    /// `innodb_buffer_pool_size`, in bytes.
    pub(crate) pool_size: u64,
    /// `innodb_buffer_pool_chunk_size`, in bytes, and `innodb_buffer_pool_instances`: the pool is a multiple of their product.
    pub(crate) pool_chunk: u64,
    pub(crate) pool_instances: u64,
    pub(crate) selects: u64,
    /// INSERTs, UPDATEs, DELETEs and REPLACEs.
    pub(crate) writes: u64,
}

/// A query whose statements take long at the server.
#[derive(Debug, Clone)]
pub(crate) struct Slow {
    /// The query's name for CREATE CACHE.
    pub(crate) id: String,
    pub(crate) text: String,
    /// How often the server has answered, and how long one answer took on average, in microseconds.
    pub(crate) sent: u64,
    pub(crate) average_us: u64,
}

/// One piece of advice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    pub(crate) topic: &'static str,
    /// `good`, `change`, or `unknown` where too little was counted.
    pub(crate) verdict: &'static str,
    pub(crate) found: String,
    pub(crate) advice: String,
    /// The statement that carries out the advice.
    pub(crate) statement: Option<String>,
}

const GOOD: &str = "good";
const CHANGE: &str = "change";
const UNKNOWN: &str = "unknown";

/// Counts below this prove nothing.
const COUNTED_MIN: u64 = 1000;
/// If the buffer pool finds less than this in memory, in percent, it needs the memory itself.
const POOL_HITS_MIN: u64 = 80;
/// With this many reads for each write, reads are the load; with less than one, writes are.
const READS_PER_WRITE_MANY: u64 = 10;
/// A share of hits below this is low, for a table or for all, in percent.
const HITS_LOW: u64 = 10;
/// Below this, nothing is found again.
const HITS_NONE: u64 = 1;
/// If this many of the stored results are evicted, in percent, the cache is too small.
const EVICTED_MANY: u64 = 10;
/// A cache of up to this part of the buffer pool can take its memory from there.
const POOL_SHARE_MAX: u64 = 5;
/// A size that finds this much less than the best, in percent of all look-ups, is as good.
const AS_GOOD: f64 = 2.0;
/// This much more is worth another size, in percent of all look-ups.
const WORTH_IT: f64 = 3.0;
/// Where less than this is found of a thousand reads, the size does not matter.
const FOUND_NONE: f64 = 5.0;
/// `query_cache_size` is a multiple of this.
const SIZE_STEP: u64 = 1024;
/// A query is slow if its statements take this many microseconds on average.
const SLOW_US: u64 = 100_000;
/// A slow query must have been asked this often.
const SLOW_SENT_MIN: u64 = 3;
/// How many tables, and how many queries, are named.
const NAMED_MAX: usize = 10;

impl Advice {
    fn new(topic: &'static str, verdict: &'static str, found: String, advice: impl Into<String>) -> Self {
        Self { topic, verdict, found, advice: advice.into(), statement: None }
    }

    fn by(self, statement: String) -> Self {
        Self { statement: Some(statement), ..self }
    }
}

/// Returns all advice from these facts.
pub(crate) fn advice(facts: &AdviceFacts) -> Vec<Advice> {
    let mut all = vec![buffer_pool(&facts.server), cache_type(facts), affordable(facts, size(facts))];
    all.extend(memory(facts));
    all.extend(tables(facts));
    all.extend(slow(facts));
    all
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0)
}

fn buffer_pool(server: &ServerFigures) -> Advice {
    let topic = "buffer pool";
    if server.pool_requests < COUNTED_MIN {
        let found = format!("{} pages were asked for since the server's start", server.pool_requests);
        return Advice::new(topic, UNKNOWN, found, "Ask again when the server has worked for a while.");
    }
    let hits = server.pool_hits();
    let found = format!("{hits} % of the pages that were asked for were in memory");
    if server.lacks_memory() {
        return Advice::new(
            topic,
            CHANGE,
            found,
            "Below 80 %, do not enable a query cache on the server's machine: its memory is better given to innodb_buffer_pool_size.",
        );
    }
    Advice::new(topic, GOOD, found, "At 80 % and more, the server can spare the memory of a query cache.")
}

fn cache_type(facts: &AdviceFacts) -> Advice {
    let topic = "reads and writes";
    let (reads, writes) = (facts.server.selects.saturating_add(facts.hits), facts.server.writes);
    let AdviceFacts { server, hits, .. } = facts;
    let found = format!(
        "{} reads and {writes} writes at the server since its start; {hits} answers from memory",
        server.selects
    );
    if reads + writes < COUNTED_MIN {
        return Advice::new(topic, UNKNOWN, found, "Ask again when the server has worked for a while.");
    }
    let (wanted, why) = wanted_type(facts, reads);
    let advice = format!("query_cache_type is {}. {why}{}", facts.cache_type, worth_it(facts, wanted));
    // With 1, what 2 stores is stored too. And nothing more is stored where the server lacks memory, or little was found again.
    let finds_little = little_found(facts).is_some();
    let is_kept = facts.cache_type == 1 && wanted == 2 && !finds_little
        || facts.cache_type != 1 && wanted != 0 && (facts.server.lacks_memory() || finds_little);
    if facts.cache_type == wanted || is_kept {
        return Advice::new(topic, GOOD, found, advice);
    }
    Advice::new(topic, CHANGE, found, advice).by(format!("SET GLOBAL query_cache_type = {wanted}"))
}

/// Returns how much is found again of what may be stored, in percent, if that is little, and much was stored and asked for.
fn little_found(facts: &AdviceFacts) -> Option<u64> {
    let asked = facts.sent.saturating_add(facts.answered);
    let is_counted = facts.inserts >= COUNTED_MIN && asked >= COUNTED_MIN;
    is_counted.then(|| percent(facts.answered, asked)).filter(|found| *found < HITS_LOW)
}

/// Returns the type that fits, and why.
fn wanted_type(facts: &AdviceFacts, reads: u64) -> (u8, &'static str) {
    let writes = facts.server.writes;
    if facts.cache_type == 0 && facts.server.lacks_memory() {
        return (0, "As long as the buffer pool lacks memory (see above), leave the cache off.");
    }
    if reads < writes {
        return (
            0,
            "There are more writes than reads: turn the cache off for all, and on (1 or 2) in the sessions that read.",
        );
    }
    if let Some(found) = little_found(facts) {
        return if found < HITS_NONE {
            (0, "Next to nothing is found again: turn the cache off, or see in freshet.queries why.")
        } else {
            (2, "Less than a tenth is found again: with 2, only what asks for it by SQL_CACHE is stored.")
        };
    }
    if reads < writes.saturating_mul(READS_PER_WRITE_MANY) {
        return (
            2,
            "There are up to ten reads for a write: with 2, only what asks for it by SQL_CACHE is stored. With 1 all is, which costs memory alone.",
        );
    }
    (1, "There are more than ten reads for each write: with 1, whatever can be stored is.")
}

/// Names the tables whose statements should ask for the cache, where only those are stored that do.
fn worth_it(facts: &AdviceFacts, wanted: u8) -> String {
    if wanted != 2 {
        return String::new();
    }
    let is_worth_it = |of: &&TableFigures| {
        let reads_many = of.reads >= of.writes.saturating_mul(READS_PER_WRITE_MANY);
        of.reads >= COUNTED_MIN && reads_many && percent(of.hits, of.reads) >= HITS_LOW
    };
    let mut worth_it: Vec<&TableFigures> = facts.tables.iter().filter(is_worth_it).collect();
    worth_it.sort_by_key(|of| std::cmp::Reverse(of.hits));
    let names: Vec<&str> = worth_it.iter().take(NAMED_MAX).map(|of| of.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" These tables are read at least ten times for each change: {}.", names.join(", "))
}

/// Takes the statement from advice to take more memory, where the buffer pool lacks it.
fn affordable(facts: &AdviceFacts, advice: Advice) -> Advice {
    if advice.verdict != CHANGE || !facts.server.lacks_memory() {
        return advice;
    }
    let text = format!("{} But first see the advice on the buffer pool.", advice.advice);
    Advice { advice: text, statement: None, ..advice }
}

fn size(facts: &AdviceFacts) -> Advice {
    let topic = "size";
    let found = format!(
        "{} of {} bytes are used; {} results were stored, and {} evicted for want of room",
        facts.used, facts.size, facts.inserts, facts.evicted
    );
    let set = |to: u64| format!("SET GLOBAL query_cache_size = {}", to / SIZE_STEP * SIZE_STEP);
    let default = facts.server.pool_size / 10;
    if facts.size == 0 {
        let advice = "Without a size nothing is stored. A tenth of innodb_buffer_pool_size is a beginning, or a fifth of what all results take.";
        let of_pool = Advice::new(topic, CHANGE, found, advice);
        return if default < SIZE_STEP { of_pool } else { of_pool.by(set(default)) };
    }
    if let Some((best, now)) = best_size(facts) {
        return of_curve(facts, best, now);
    }
    if facts.inserts < COUNTED_MIN {
        return Advice::new(topic, UNKNOWN, found, "Ask again when more was stored.");
    }
    // What a smaller cache has evicted, before the present size was set, says nothing about this one.
    let is_full = facts.used >= facts.size / 2;
    if is_full && percent(facts.evicted, facts.inserts) >= EVICTED_MANY {
        let advice = "Many results leave before they change. Twice the size holds more of them, if there is the memory.";
        return Advice::new(topic, CHANGE, found, advice).by(set(facts.size.saturating_mul(2)));
    }
    if facts.evicted == 0 && facts.used.saturating_mul(4) < facts.size {
        let advice = "Less than a quarter was ever needed. Memory is taken as it is needed: a smaller size only bounds it.";
        return Advice::new(topic, GOOD, found, advice).by(set((facts.used * 2).max(SIZE_STEP * SIZE_STEP)));
    }
    Advice::new(topic, GOOD, found, "What is stored has room.")
}

/// Returns the smallest size that finds about as much as any, and the present size, if enough was sampled.
fn best_size(facts: &AdviceFacts) -> Option<(CurvePoint, CurvePoint)> {
    let now = size_now(facts).filter(|_| facts.sampled >= COUNTED_MIN)?;
    // A size that cannot be set is left out; and memory in use is not known to be useless.
    let may_be = |point: &&CurvePoint| {
        (SIZE_MIN..=SIZE_MAX).contains(&point.size) && (point.size >= facts.used || point.size >= now.size)
    };
    let sizes: Vec<&CurvePoint> = facts.curve.iter().filter(may_be).collect();
    let most = sizes.iter().map(|point| point.hits).fold(0.0, f64::max);
    let best = sizes.into_iter().find(|point| (most - point.hits) * 100.0 <= AS_GOOD).copied().unwrap_or(now);
    // The gain of the larger size is too small.
    let is_as_good = best.size > now.size && (best.hits - now.hits) * 100.0 < WORTH_IT;
    Some((if is_as_good { now } else { best }, now))
}

/// Returns the present size. Right after a change the curve is for other sizes: the present one finds as much as the next smaller size of
/// the curve.
fn size_now(facts: &AdviceFacts) -> Option<CurvePoint> {
    let below = facts.curve.iter().rfind(|point| point.size <= facts.size);
    // Nothing is known of a size below all others.
    let point = below?;
    Some(CurvePoint { size: facts.size, hits: point.hits })
}

fn of_curve(facts: &AdviceFacts, best: CurvePoint, now: CurvePoint) -> Advice {
    let topic = "size";
    let percent = |point: CurvePoint| format!("{:.0} %", point.hits * 100.0);
    let one = |point: &CurvePoint| {
        let mark = if point.size == now.size { " (now)" } else { "" };
        format!("{}{mark} {}", in_units(point.size), percent(*point))
    };
    let points: Vec<String> = facts.curve.iter().map(one).collect();
    let found = format!("what would be found of {} sampled lookups: {}", facts.sampled, points.join(", "));
    let set = format!("SET GLOBAL query_cache_size = {}", best.size.div_ceil(SIZE_STEP) * SIZE_STEP);
    // Of a thousand reads, and the server's time for them in milliseconds.
    let of_thousand = |share: f64| (share * 1000.0, share * facts.average_us as f64);
    if best.size > now.size {
        let (fewer, ms) = of_thousand(best.hits - now.hits);
        let advice = format!(
            "With {} about {} would be found: of 1,000 reads that are looked up, {fewer:.0} fewer would ask the server, {ms:.0} ms of its time at {} µs for a statement. It takes the memory; and where much is written it is less, since changes of results that are not stored are not seen.",
            in_units(best.size),
            percent(best),
            facts.average_us
        );
        return Advice::new(topic, CHANGE, found, advice).by(set);
    }
    let (of_now, ms) = of_thousand(now.hits);
    if of_now < FOUND_NONE {
        return Advice::new(topic, GOOD, found, "No size would find much: freshet.queries says why.");
    }
    let found = format!(
        "{found}. Of 1,000 reads, the present size saves the server {of_now:.0}, {ms:.0} ms of its time"
    );
    if best.size < now.size {
        let advice = format!(
            "{} would find about as much. Memory is taken as it is needed: a smaller size only bounds it.",
            in_units(best.size)
        );
        return Advice::new(topic, GOOD, found, advice).by(set);
    }
    Advice::new(topic, GOOD, found, "More memory would find next to nothing more.")
}

fn in_units(bytes: u64) -> String {
    if bytes >= 10 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

/// Returns advice on where the cache's memory comes from.
fn memory(facts: &AdviceFacts) -> Option<Advice> {
    let pool = facts.server.pool_size;
    if facts.size == 0 || pool == 0 {
        return None;
    }
    let size = best_size(facts).map_or(facts.size, |(best, now)| best.size.max(now.size));
    let found = format!("innodb_buffer_pool_size is {pool}, query_cache_size {}", facts.size);
    let step = facts.server.pool_step();
    let least = format!(
        "Where Freshet runs on the server's machine and there is no memory to spare, it is to be taken from the buffer pool, in steps of {}.",
        in_units(step)
    );
    let advice = Advice::new("memory", GOOD, found, least);
    // Most of the pool is left.
    let left = pool.saturating_sub(size) / step * step;
    let is_room = size <= pool / POOL_SHARE_MAX && left >= pool / 2 && left < pool;
    let is_room = is_room && !facts.server.lacks_memory();
    Some(if is_room { advice.by(format!("SET GLOBAL innodb_buffer_pool_size = {left}")) } else { advice })
}

impl ServerFigures {
    /// Returns the share of the pages asked for that were in memory, in percent.
    fn pool_hits(&self) -> u64 {
        percent(self.pool_requests.saturating_sub(self.pool_reads), self.pool_requests)
    }

    /// Whether the buffer pool is known to have too little memory.
    fn lacks_memory(&self) -> bool {
        self.pool_requests >= COUNTED_MIN && self.pool_hits() < POOL_HITS_MIN
    }

    /// Returns the unit of the buffer pool's size, in bytes.
    const fn pool_step(&self) -> u64 {
        let instances = if self.pool_instances == 0 { 1 } else { self.pool_instances };
        let step = self.pool_chunk.saturating_mul(instances);
        if step == 0 { 1 << 20 } else { step }
    }
}

/// Returns advice on tables whose results are seldom found again.
fn tables(facts: &AdviceFacts) -> Vec<Advice> {
    let is_low = |of: &&TableFigures| of.reads >= COUNTED_MIN && percent(of.hits, of.reads) < HITS_LOW;
    let mut low: Vec<&TableFigures> = facts.tables.iter().filter(is_low).collect();
    low.sort_by_key(|of| std::cmp::Reverse(of.reads - of.hits));
    let one = |TableFigures { name, reads, hits, writes }: &TableFigures| {
        let found = format!("{name}: {hits} of {reads} reads were from memory; {writes} events changed it");
        let advice = "Its results are seldom asked for again before they change. SQL_NO_CACHE in its statements, or a query rule with cache_ttl = 0, \
                      leaves the memory to others; freshet.queries says which statements these are.";
        Advice::new("table", CHANGE, found, advice)
    };
    low.into_iter().take(NAMED_MAX).map(one).collect()
}

/// Returns advice on queries that are worth a created cache.
fn slow(facts: &AdviceFacts) -> Vec<Advice> {
    let is_slow = |slow: &&Slow| slow.average_us >= SLOW_US && slow.sent >= SLOW_SENT_MIN;
    let mut all: Vec<&Slow> = facts.slow.iter().filter(is_slow).collect();
    all.sort_by_key(|slow| std::cmp::Reverse(slow.average_us.saturating_mul(slow.sent)));
    let one = |slow: &Slow| {
        let found = format!(
            "the server took {} ms on average, {} times: {}",
            slow.average_us / 1000,
            slow.sent,
            slow.text
        );
        let advice =
            "With a cache of its own, its results are kept up to date, or asked for again, and not dropped.";
        Advice::new("slow query", CHANGE, found, advice).by(format!("CREATE CACHE FROM {}", slow.id))
    };
    all.into_iter().take(NAMED_MAX).map(one).collect()
}

#[cfg(test)]
mod tests;
