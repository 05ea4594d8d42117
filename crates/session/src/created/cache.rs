//! A cache of one query: what it is called, and what is noted of its results.

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
use freshet_views::Query;

use super::frame::Frame;
use crate::environment::Environment;
use crate::maintaining::Answer;

/// Of how many environments the frames of answers are known.
const FRAMES_MAX: usize = 256;
/// How many results of one cache are refreshed. Others are stored as those of any query are.
const RESULTS_MAX: usize = 1024;

/// What a query is called by: `q_` and 16 hexadecimal digits of a hash of its default schema and its rewritten text, the same over restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueryId(u64);

impl QueryId {
    /// That of a rewritten text in this schema.
    pub(crate) fn of(schema: Option<&str>, rewritten: &str) -> Self {
        let named = [schema.unwrap_or_default().as_bytes(), b"\0", rewritten.as_bytes()].concat();
        Self(Digest::of(&named).0)
    }

    /// One that was written.
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

/// What was said of a cache when it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheOptions {
    /// ALWAYS.
    pub(crate) always: bool,
    /// DEEP, SHALLOW, or neither.
    pub(crate) method: Option<Method>,
    /// Nobody has created it: it pays.
    pub(crate) is_automatic: bool,
    /// POLICY TTL.
    pub(crate) policy: Option<Policy>,
}

/// How old the answers of a cache may be, whatever is written meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    /// In seconds; not 0.
    pub(crate) ttl_s: u64,
    /// From which age on an answer is asked for again, in seconds: not 0, and not more than that.
    pub(crate) refresh_s: Option<u64>,
}

impl Policy {
    const MS: u64 = 1000;
    /// How much older an answer gets before a client makes it anew, where that is not done in the background.
    const CLAIMED_AFTER_MS: u64 = 1000;

    /// From which age on it is asked for again in the background, in milliseconds.
    pub(crate) fn refresh_ms(self) -> Option<u64> {
        self.refresh_s.map(|seconds| seconds.saturating_mul(Self::MS))
    }

    /// Until when an answer is given that was asked for at this time, and from when on the first client that asks has it made anew: what can be asked for
    /// in the background has been by then. In milliseconds; 0 is never.
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
    /// The default schema; empty where there is none.
    pub(crate) schema: String,
    pub(crate) options: CacheOptions,
    /// What is stored of it and is to be asked for again, by the keys of the entries.
    results: Mutex<HashMap<ResultKey, Arc<StoredResult>>>,
    pub(crate) refreshed: AtomicU64,
    /// What is around the rows of its answers, by the first parts of keys and the select lists as they are written.
    frames: Mutex<HashMap<FrameKey, NotedFrame>>,
    upkeep: Mutex<Upkeep>,
    /// Writes under way were waited for in vain, so that it is waited less until then, in monotonic milliseconds.
    vain_until_ms: AtomicU64,
    /// When a result was found equal to the server's, in monotonic milliseconds; 0: not yet.
    checked_ms: AtomicU64,
    is_distrusted: AtomicBool,
    /// How often a result was made from copies of rows.
    pub(crate) maintained: AtomicU64,
    /// Why a result is not refreshed any more, the last time that one was given up.
    gave_up: Mutex<Option<String>>,
}

/// How a cache's results are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Upkeep {
    /// It has not been tried.
    #[default]
    Unknown,
    /// They are made from copies of the tables' rows.
    Maintained,
    /// They will be: why not yet.
    NotYet(&'static str),
    /// They are asked for again: why they are not maintained.
    Refreshed(String),
}

impl From<&Answer> for Upkeep {
    /// What an answer of the keeper says of it.
    fn from(answer: &Answer) -> Self {
        match answer {
            Answer::Rows(..) | Answer::Loaded => Self::Maintained,
            Answer::NotYet(why) => Self::NotYet(why),
            Answer::Never(why) => Self::Refreshed(why.clone()),
        }
    }
}

/// The key of an entry.
type ResultKey = (u32, Box<[u8]>);

/// What is stored of a cache's query, and how to ask for it again.
#[derive(Debug, Clone)]
pub(crate) struct StoredResult {
    pub(crate) environment: Arc<Environment>,
    /// The first part of its key.
    pub(crate) key: u32,
    /// The second, which is the statement.
    pub(crate) text: Box<[u8]>,
    pub(crate) deps: Vec<Dep>,
    pub(crate) valid_from: Position,
    /// The digest that it is counted under.
    pub(crate) tag: u16,
    /// The epoch of rights in which the server has answered it to a client.
    pub(crate) rights: u64,
    /// How many warnings its text brings about.
    pub(crate) warnings: u16,
    pub(crate) tries: Tries,
}

/// What has come of asking for a result again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tries {
    /// How often in a row a change has outrun the answer.
    pub(crate) outrun: u32,
    /// It is not asked for again before, in monotonic milliseconds.
    pub(crate) not_before_ms: u64,
    /// How often its query had been answered from memory when it was asked for again.
    pub(crate) hits: u64,
    /// How often in a row nobody had been answered meanwhile.
    pub(crate) unread: u32,
}

impl Tries {
    /// Those of an answer that was asked for so long ago, and may be as old as a policy says.
    pub(crate) fn by_policy(policy: Policy, took: Duration) -> Self {
        let age_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let asked_ms = now_ms().saturating_sub(age_ms);
        let refresh_ms = policy.refresh_ms().unwrap_or(u64::MAX);
        Self { not_before_ms: asked_ms.saturating_add(refresh_ms), ..Self::default() }
    }
}

/// What is around the rows of an answer that the server has given.
#[derive(Debug, Clone)]
pub(crate) struct NotedFrame {
    pub(crate) frame: Arc<Frame>,
    /// The epoch of rights in which it was given.
    pub(crate) rights: u64,
    /// What was known of its tables before it was asked for. If that is still so when everything is applied that was committed before
    /// `noted_ms`, the columns are those of these definitions.
    pub(crate) tables: Vec<Arc<TableInfo>>,
    /// When it was complete, in monotonic milliseconds.
    pub(crate) noted_ms: u64,
    /// The query that it was around the rows of, once it is known to be of the definitions of `tables`.
    pub(crate) proven: Option<Arc<Query>>,
}

impl NotedFrame {
    /// Whether it was given in this epoch, by these definitions.
    pub(crate) fn is_of<'t>(
        &self,
        rights: u64,
        tables: impl ExactSizeIterator<Item = &'t Arc<TableInfo>>,
    ) -> bool {
        let are_same = self.tables.len() == tables.len()
            && self.tables.iter().zip(tables).all(|(own, other)| Arc::ptr_eq(own, other));
        self.rights == rights && are_same
    }

    /// Whether it would be the same by these definitions, in which all that is told of the columns that are shown is what it was.
    pub(crate) fn is_alike(&self, rights: u64, tables: &[Arc<TableInfo>], query: &Query) -> bool {
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

/// What is told of a column to clients.
fn told_of<'t>(table: &'t TableInfo, name: &str) -> Option<&'t str> {
    let at = table.columns.iter().position(|column| column.name == name)?;
    table.described.get(at).map(|told| &**told)
}

/// The first part of a key, and the text up to its last FROM: the server calls a column that is computed as it is written, `COUNT( * )` or `count(*)`.
type FrameKey = (u32, Box<[u8]>);

/// A longer select list has no frame, in bytes.
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

    /// Whether its results may be made from copies of rows.
    pub(crate) fn may_be_maintained(&self) -> bool {
        self.options.method != Some(Method::Shallow) && !self.is_distrusted()
    }

    /// Whether writes and definitions under way were waited for in vain of late.
    pub(crate) fn waits_in_vain(&self) -> bool {
        now_ms() < self.vain_until_ms.load(Ordering::Relaxed)
    }

    /// They were, so that it is waited less for so long.
    pub(crate) fn note_in_vain(&self, for_ms: u64) {
        self.vain_until_ms.store(now_ms() + for_ms, Ordering::Relaxed);
    }

    /// Notes what is stored of it.
    pub(crate) fn note(&self, result: StoredResult) {
        let mut results = self.results();
        let key = (result.key, result.text.clone());
        if results.len() < RESULTS_MAX || results.contains_key(&key) {
            results.insert(key, Arc::new(result));
        }
    }

    /// Notes what is around the rows of the answer to a text under such a key.
    pub(crate) fn note_frame(&self, key: Key<'_>, noted: NotedFrame) {
        let Some(key) = frame_key(key) else { return };
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if frames.len() < FRAMES_MAX || frames.contains_key(&key) {
            frames.insert(key, noted);
        }
    }

    /// What is around the rows of an answer to such a text is that of these definitions, and of this query.
    pub(crate) fn prove_frame(&self, key: Key<'_>, tables: &[Arc<TableInfo>], query: &Query) {
        let Some(key) = frame_key(key) else { return };
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(noted) = frames.get_mut(&key).filter(|noted| noted.is_of(noted.rights, tables.iter())) {
            noted.proven = Some(Arc::new(query.clone()));
        }
    }

    /// What is around the rows of the answer to a text under such a key, if the server has given one.
    pub(crate) fn frame(&self, key: Key<'_>) -> Option<NotedFrame> {
        let key = frame_key(key)?;
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// How its results are kept.
    pub(crate) fn upkeep(&self) -> Upkeep {
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how they are kept.
    pub(crate) fn note_upkeep(&self, upkeep: Upkeep) {
        *self.upkeep.lock().unwrap_or_else(PoisonError::into_inner) = upkeep;
    }

    /// Notes what is stored of it, if nothing is noted of it yet.
    pub(crate) fn note_if_new(&self, key: Key<'_>, result: impl FnOnce() -> StoredResult) {
        if !self.results().contains_key(&(key.environment, key.text.into()) as &ResultKey) {
            self.note(result());
        }
    }

    /// A result was compared with the server's, and found equal.
    pub(crate) fn note_checked(&self, now_ms: u64) {
        self.checked_ms.store(now_ms, Ordering::Relaxed);
    }

    /// When one was compared last; `None`: none was.
    pub(crate) fn checked_ms(&self) -> Option<u64> {
        Some(self.checked_ms.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    /// A result was not the server's: none is made from copies any more.
    pub(crate) fn distrust(&self) {
        self.is_distrusted.store(true, Ordering::Release);
        self.note_upkeep(Upkeep::Refreshed("a result was not the server's; see the log".to_owned()));
    }

    /// Whether that has happened.
    pub(crate) fn is_distrusted(&self) -> bool {
        self.is_distrusted.load(Ordering::Acquire)
    }

    /// Takes the place of what was noted before, unless that is no longer there.
    pub(crate) fn renew(&self, result: StoredResult) {
        if let Some(place) = self.results().get_mut(&(result.key, result.text.clone())) {
            *place = Arc::new(result);
        }
    }

    /// It has been asked for again, and the answer is stored.
    pub(crate) fn note_refreshed(&self) {
        self.refreshed.fetch_add(1, Ordering::Relaxed);
        *self.gave_up.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A result is not refreshed any more, until a client asks for it.
    pub(crate) fn give_up(&self, result: &StoredResult, why: Option<String>) {
        self.results().remove(&(result.key, result.text.clone()));
        *self.gave_up.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Why one was given up last, and none has been noted since.
    pub(crate) fn gave_up(&self) -> Option<String> {
        self.gave_up.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// None of them is looked for any more.
    pub(crate) fn forget_results(&self) {
        self.results().clear();
    }

    /// All of them.
    pub(crate) fn all_results(&self) -> Vec<Arc<StoredResult>> {
        self.results().values().cloned().collect()
    }

    fn results(&self) -> MutexGuard<'_, HashMap<ResultKey, Arc<StoredResult>>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
