//! A cache of one query: its name, and the facts that are noted of its results.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ahash::HashMap;
use freshet_cache::{Dep, Key, Position};
use freshet_catalog::TableInfo;
use freshet_digest::Digest;
use freshet_sql::Method;
use freshet_upstream::now_ms;
use freshet_views::MaintainedQuery;

use super::frame::Frame;
use crate::environment::Environment;
use crate::maintaining::KeeperAnswer;

/// How many environments have frames of answers that are kept.
const FRAMES_MAX: usize = 256;
/// How many results of one cache are refreshed. Further results are stored like those of any query.
const RESULTS_MAX: usize = 1024;

/// The name of a query: `q_` and 16 hexadecimal digits of a hash of its default schema and its rewritten text, the same over restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueryId(u64);

impl QueryId {
    /// Returns the id of a rewritten text in this schema.
    pub(crate) fn of(schema: Option<&str>, rewritten: &str) -> Self {
        let named = [schema.unwrap_or_default().as_bytes(), b"\0", rewritten.as_bytes()].concat();
        Self(Digest::of(&named).0)
    }

    /// Reads an id in its written form.
    pub(crate) fn parse(written: &str) -> Option<Self> {
        let digits = written.strip_prefix("q_").filter(|digits| digits.len() == 16)?;
        u64::from_str_radix(digits, 16).ok().map(Self)
    }
}

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q_{:016x}", self.0)
    }
}

/// A query as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedQuery {
    pub(crate) id: QueryId,
    /// The rewritten text.
    pub(crate) text: Arc<str>,
}

impl NamedQuery {
    pub(crate) fn new(schema: Option<&str>, rewritten: String) -> Self {
        Self { id: QueryId::of(schema, &rewritten), text: rewritten.into() }
    }
}

/// The options with which a cache was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheOptions {
    /// ALWAYS.
    pub(crate) always: bool,
    /// DEEP, SHALLOW, or neither.
    pub(crate) method: Option<Method>,
    /// Freshet has created the cache by itself, because it pays.
    pub(crate) is_automatic: bool,
    /// POLICY TTL.
    pub(crate) policy: Option<Policy>,
}

/// How old the answers of a cache may be, whatever is written meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    /// In seconds; not 0.
    pub(crate) ttl_s: u64,
    /// From which age on an answer is refreshed, in seconds: not 0, and not more than the TTL.
    pub(crate) refresh_s: Option<u64>,
}

impl Policy {
    const MS: u64 = 1000;
    /// How much older an answer gets before a client refreshes it, if it is not refreshed in the background.
    const CLAIMED_AFTER_MS: u64 = 1000;

    /// Returns from which age on an answer is refreshed in the background, in milliseconds.
    pub(crate) fn refresh_ms(self) -> Option<u64> {
        self.refresh_s.map(|seconds| seconds.saturating_mul(Self::MS))
    }

    /// Returns until when an answer is given that was asked for at this time, and from when on the first client that asks refreshes it:
    /// answers that can be refreshed in the background have been refreshed by then. In milliseconds; 0 is never.
    pub(crate) fn times(self, asked_ms: u64) -> (u64, u64) {
        let expires_ms = asked_ms.saturating_add(self.ttl_s.saturating_mul(Self::MS));
        let claimed = |age: u64| asked_ms.saturating_add(age).saturating_add(Self::CLAIMED_AFTER_MS);
        (expires_ms, self.refresh_ms().map_or(0, claimed))
    }
}

/// A cache of one query.
#[derive(Debug)]
pub(crate) struct CreatedCache {
    pub(crate) query: NamedQuery,
    pub(crate) name: String,
    /// The default schema; empty if there is none.
    pub(crate) schema: String,
    pub(crate) options: CacheOptions,
    /// The stored results that are to be refreshed, by the keys of the entries.
    results: Mutex<HashMap<ResultKey, Arc<StoredResult>>>,
    pub(crate) refreshed: AtomicU64,
    /// The frames of answers, by the first parts of keys and the select lists as they are written.
    frames: Mutex<HashMap<FrameKey, NotedFrame>>,
    upkeep: Mutex<Upkeep>,
    /// Until when waits for writes under way are shorter, because they were in vain, in monotonic milliseconds.
    vain_until_ms: AtomicU64,
    /// When a result was found equal to the server's, in monotonic milliseconds; 0: not yet.
    checked_ms: AtomicU64,
    is_distrusted: AtomicBool,
    /// How often a result was made from copies of rows.
    pub(crate) maintained: AtomicU64,
    /// Why the last result that was given up is not refreshed any more.
    gave_up: Mutex<Option<String>>,
}

/// How a cache's results are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Upkeep {
    /// The upkeep has not been tried.
    #[default]
    Unknown,
    /// Results are made from copies of the tables' rows.
    Maintained,
    /// Results will be made from copies, with the reason why not yet.
    NotYet(&'static str),
    /// Results are refreshed, with the reason why they are not maintained.
    Refreshed(String),
}

impl From<&KeeperAnswer> for Upkeep {
    /// Returns the upkeep that an answer of the keeper shows.
    fn from(answer: &KeeperAnswer) -> Self {
        match answer {
            KeeperAnswer::Rows(..) | KeeperAnswer::Loaded => Self::Maintained,
            KeeperAnswer::NotYet(why) => Self::NotYet(why),
            KeeperAnswer::Never(why) => Self::Refreshed(why.clone()),
        }
    }
}

/// The key of an entry.
type ResultKey = (u32, Box<[u8]>);

/// A stored result of a cache's query, and what is needed to ask for it again.
#[derive(Debug, Clone)]
pub(crate) struct StoredResult {
    pub(crate) environment: Arc<Environment>,
    /// The first part of the result's key.
    pub(crate) key: u32,
    /// The second part of the key, which is the statement.
    pub(crate) text: Box<[u8]>,
    pub(crate) deps: Vec<Dep>,
    pub(crate) valid_from: Position,
    /// The tag of the digest under which the statement is counted.
    pub(crate) tag: u16,
    /// The epoch of rights in which the server gave the answer to a client.
    pub(crate) rights: u64,
    /// How many warnings the text causes.
    pub(crate) warnings: u16,
    pub(crate) tries: Tries,
}

/// The outcome of refreshing a result.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tries {
    /// How often in a row a change has come before the answer was complete.
    pub(crate) outrun: u32,
    /// Until when the result is not asked for again, in monotonic milliseconds.
    pub(crate) not_before_ms: u64,
    /// How often its query had been answered from memory at the last refresh.
    pub(crate) hits: u64,
    /// How many refreshes in a row no client has read.
    pub(crate) unread: u32,
}

impl Tries {
    /// Returns the tries of an answer that took this long, under a policy.
    pub(crate) fn by_policy(policy: Policy, took: Duration) -> Self {
        let age_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let asked_ms = now_ms().saturating_sub(age_ms);
        let refresh_ms = policy.refresh_ms().unwrap_or(u64::MAX);
        Self { not_before_ms: asked_ms.saturating_add(refresh_ms), ..Self::default() }
    }
}

/// The packets around the rows of one of the server's answers.
#[derive(Debug, Clone)]
pub(crate) struct NotedFrame {
    pub(crate) frame: Arc<Frame>,
    /// The epoch of rights in which the answer was given.
    pub(crate) rights: u64,
    /// The definitions of its tables before the question. If they still hold when everything is applied that was committed before
    /// `noted_ms`, the columns are those of these definitions.
    pub(crate) tables: Vec<Arc<TableInfo>>,
    /// When the answer was complete, in monotonic milliseconds.
    pub(crate) noted_ms: u64,
    /// The query of the rows, once the frame is known to be of the definitions of `tables`.
    pub(crate) proven: Option<Arc<MaintainedQuery>>,
}

impl NotedFrame {
    /// Whether the frame was given in this epoch, by these definitions.
    pub(crate) fn is_of<'t>(
        &self,
        rights: u64,
        tables: impl ExactSizeIterator<Item = &'t Arc<TableInfo>>,
    ) -> bool {
        let are_same = self.tables.len() == tables.len()
            && self.tables.iter().zip(tables).all(|(own, other)| Arc::ptr_eq(own, other));
        self.rights == rights && are_same
    }

    /// Whether the frame would be the same by these definitions: all facts of the shown columns are unchanged.
    pub(crate) fn is_alike(&self, rights: u64, tables: &[Arc<TableInfo>], query: &MaintainedQuery) -> bool {
        let Some(proven) = &self.proven else { return false };
        let are_same = self.tables.len() == tables.len()
            && self.tables.iter().zip(tables).all(|(own, other)| own.name == other.name);
        let mut shown = query.shown();
        self.rights == rights
            && are_same
            && proven.shows_alike(query)
            && shown.all(|(name, column)| {
                let pair = self.tables.iter().zip(tables).find(|(own, _)| own.name == *name);
                pair.is_some_and(|(own, other)| {
                    let told = told_of(own, &column.name);
                    told.is_some() && told == told_of(other, &column.name)
                })
            })
    }
}

/// Returns what clients are told of a column.
fn told_of<'t>(table: &'t TableInfo, name: &str) -> Option<&'t str> {
    let at = table.columns.iter().position(|column| column.name == name)?;
    table.described.get(at).map(|told| &**told)
}

/// The first part of a key, and the text up to its last FROM: the server names a computed column as it is written, `COUNT( * )` or
/// `count(*)`.
type FrameKey = (u32, Box<[u8]>);

/// The longest select list that has a frame, in bytes.
const SELECT_LIST_BYTES_MAX: usize = 4096;

fn frame_key(Key { environment, text }: Key<'_>) -> Option<FrameKey> {
    const FROM: &[u8] = b"from";
    let last = text.windows(FROM.len()).rposition(|word| word.eq_ignore_ascii_case(FROM))?;
    (last <= SELECT_LIST_BYTES_MAX).then(|| (environment, text[..last].into()))
}

impl CreatedCache {
    pub(crate) fn new(query: NamedQuery, name: String, schema: &str, options: CacheOptions) -> Self {
        Self {
            query,
            name,
            schema: schema.to_owned(),
            options,
            results: Mutex::default(),
            refreshed: AtomicU64::new(0),
            frames: Mutex::default(),
            upkeep: Mutex::default(),
            vain_until_ms: AtomicU64::new(0),
            checked_ms: AtomicU64::new(0),
            is_distrusted: AtomicBool::new(false),
            maintained: AtomicU64::new(0),
            gave_up: Mutex::default(),
        }
    }

    /// Whether the results may be made from copies of rows.
    pub(crate) fn may_be_maintained(&self) -> bool {
        self.options.method != Some(Method::Shallow) && !self.is_distrusted()
    }

    /// Whether waits for writes and definitions under way were in vain recently.
    pub(crate) fn waits_in_vain(&self) -> bool {
        now_ms() < self.vain_until_ms.load(Ordering::Relaxed)
    }

    /// Notes that a wait was in vain, so that waits are shorter for this long.
    pub(crate) fn note_in_vain(&self, for_ms: u64) {
        self.vain_until_ms.store(now_ms() + for_ms, Ordering::Relaxed);
    }

    /// Notes a stored result.
    pub(crate) fn note(&self, result: StoredResult) {
        let mut results = self.results();
        let key = (result.key, result.text.clone());
        if results.len() < RESULTS_MAX || results.contains_key(&key) {
            results.insert(key, Arc::new(result));
        }
    }

    /// Notes the frame of the answer to a text under this key.
    pub(crate) fn note_frame(&self, key: Key<'_>, noted: NotedFrame) {
        let Some(key) = frame_key(key) else { return };
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if frames.len() < FRAMES_MAX || frames.contains_key(&key) {
            frames.insert(key, noted);
        }
    }

    /// Notes that the frame of such a text's answers is of these definitions, and of this query.
    pub(crate) fn prove_frame(&self, key: Key<'_>, tables: &[Arc<TableInfo>], query: &MaintainedQuery) {
        let Some(key) = frame_key(key) else { return };
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(noted) = frames.get_mut(&key).filter(|noted| noted.is_of(noted.rights, tables.iter())) {
            noted.proven = Some(Arc::new(query.clone()));
        }
    }

    /// Returns the frame of the answer to a text under this key, if the server has given one.
    pub(crate) fn frame(&self, key: Key<'_>) -> Option<NotedFrame> {
        let key = frame_key(key)?;
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// Returns how the results are kept.
    pub(crate) fn upkeep(&self) -> Upkeep {
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how the results are kept.
    pub(crate) fn note_upkeep(&self, upkeep: Upkeep) {
        *self.upkeep.lock().unwrap_or_else(PoisonError::into_inner) = upkeep;
    }

    /// Notes a stored result, if none is noted under this key yet.
    pub(crate) fn note_if_new(&self, key: Key<'_>, result: impl FnOnce() -> StoredResult) {
        if !self.results().contains_key(&(key.environment, key.text.into()) as &ResultKey) {
            self.note(result());
        }
    }

    /// Notes that a result was compared with the server's, and found equal.
    pub(crate) fn note_checked(&self, now_ms: u64) {
        self.checked_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Returns when a result was compared last; `None`: never.
    pub(crate) fn checked_ms(&self) -> Option<u64> {
        Some(self.checked_ms.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    /// Notes that a result was not the server's: results are not made from copies any more.
    pub(crate) fn distrust(&self) {
        self.is_distrusted.store(true, Ordering::Release);
        self.note_upkeep(Upkeep::Refreshed("a result was not the server's; see the log".to_owned()));
    }

    /// Whether a result was not the server's.
    pub(crate) fn is_distrusted(&self) -> bool {
        self.is_distrusted.load(Ordering::Acquire)
    }

    /// Replaces the noted result, unless it is no longer there.
    pub(crate) fn renew(&self, result: StoredResult) {
        if let Some(place) = self.results().get_mut(&(result.key, result.text.clone())) {
            *place = Arc::new(result);
        }
    }

    /// Notes that a result has been refreshed and stored.
    pub(crate) fn note_refreshed(&self) {
        self.refreshed.fetch_add(1, Ordering::Relaxed);
        *self.gave_up.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Stops refreshing a result, until a client asks for it.
    pub(crate) fn give_up(&self, result: &StoredResult, why: Option<String>) {
        self.results().remove(&(result.key, result.text.clone()));
        *self.gave_up.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Returns why a result was given up last, if none has been refreshed since.
    pub(crate) fn gave_up(&self) -> Option<String> {
        self.gave_up.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets all results, which are not looked for any more.
    pub(crate) fn forget_results(&self) {
        self.results().clear();
    }

    /// Returns all noted results.
    pub(crate) fn all_results(&self) -> Vec<Arc<StoredResult>> {
        self.results().values().cloned().collect()
    }

    fn results(&self) -> MutexGuard<'_, HashMap<ResultKey, Arc<StoredResult>>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
