//! The values of Freshet's variables: the global ones and a session's own.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::level::Level;

/// `query_cache_type`: which SELECTs may be answered from memory.
pub const TYPE_OFF: u8 = 0;
/// `query_cache_type` 1: all SELECTs that are proven cacheable and have no `SQL_NO_CACHE`.
pub const TYPE_ON: u8 = 1;
/// `query_cache_type` 2: the SELECTs with `SQL_CACHE`.
pub const TYPE_DEMAND: u8 = 2;

/// The default of `max_staleness`, in milliseconds.
pub const MAX_STALENESS_MS_DEFAULT: u64 = 10_000;
/// The least `max_staleness`, in milliseconds: a proof takes a question to the server and back.
pub const MAX_STALENESS_MS_MIN: u64 = 10;
/// The greatest `max_staleness`, in milliseconds.
pub const MAX_STALENESS_MS_MAX: u64 = 86_400_000;

/// The global values.
#[derive(Debug)]
pub struct Globals {
    /// `query_cache_type`: [`TYPE_OFF`], [`TYPE_ON`] or [`TYPE_DEMAND`].
    pub query_cache_type: AtomicU8,
    /// `query_cache_min_res_unit`, in bytes: kept for clients that set it; Freshet has no blocks.
    pub min_res_unit: AtomicU64,
    /// `query_cache_strip_comments`: comments do not belong to the key.
    pub strip_comments: AtomicBool,
    /// `query_cache_wlock_invalidate`: no hits on a table under LOCK TABLES … WRITE.
    pub wlock_invalidate: AtomicBool,
    /// `freshness`: the number of a [`Level`].
    pub freshness: AtomicU8,
    /// `max_staleness`, in milliseconds.
    pub max_staleness_ms: AtomicU64,
    /// `transaction_snapshot` is `eager`.
    pub eager_snapshots: AtomicBool,
    /// `fill_wait`, in milliseconds.
    pub fill_wait_ms: AtomicU64,
    /// The default of `query_cache_size`, in bytes.
    pub started_with_size: AtomicU64,
    /// The default of `query_cache_type`.
    pub started_with_type: AtomicU8,
    /// Grows with every change of the others, so that sessions notice.
    pub(crate) version: AtomicU64,
}

impl Default for Globals {
    fn default() -> Self {
        Self {
            query_cache_type: AtomicU8::new(TYPE_ON),
            min_res_unit: AtomicU64::new(4096),
            strip_comments: AtomicBool::new(false),
            wlock_invalidate: AtomicBool::new(false),
            freshness: AtomicU8::new(Level::Strict.number()),
            max_staleness_ms: AtomicU64::new(MAX_STALENESS_MS_DEFAULT),
            eager_snapshots: AtomicBool::new(false),
            fill_wait_ms: AtomicU64::new(0),
            started_with_size: AtomicU64::new(256 << 20),
            started_with_type: AtomicU8::new(TYPE_ON),
            version: AtomicU64::new(0),
        }
    }
}

/// The global values at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GlobalValues {
    query_cache_type: u8,
    min_res_unit: u64,
    strip_comments: bool,
    wlock_invalidate: bool,
    freshness: u8,
    max_staleness_ms: u64,
    eager_snapshots: bool,
    fill_wait_ms: u64,
}

impl Globals {
    /// Notes a change. Called after it: a session that sees the new version sees the change.
    pub(crate) fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn values(&self) -> GlobalValues {
        GlobalValues {
            query_cache_type: self.query_cache_type.load(Ordering::Relaxed),
            min_res_unit: self.min_res_unit.load(Ordering::Relaxed),
            strip_comments: self.strip_comments.load(Ordering::Relaxed),
            wlock_invalidate: self.wlock_invalidate.load(Ordering::Relaxed),
            freshness: self.freshness.load(Ordering::Relaxed),
            max_staleness_ms: self.max_staleness_ms.load(Ordering::Relaxed),
            eager_snapshots: self.eager_snapshots.load(Ordering::Relaxed),
            fill_wait_ms: self.fill_wait_ms.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn set(&self, values: GlobalValues) {
        self.query_cache_type.store(values.query_cache_type, Ordering::Relaxed);
        self.min_res_unit.store(values.min_res_unit, Ordering::Relaxed);
        self.strip_comments.store(values.strip_comments, Ordering::Relaxed);
        self.wlock_invalidate.store(values.wlock_invalidate, Ordering::Relaxed);
        self.freshness.store(values.freshness, Ordering::Relaxed);
        self.max_staleness_ms.store(values.max_staleness_ms, Ordering::Relaxed);
        self.eager_snapshots.store(values.eager_snapshots, Ordering::Relaxed);
        self.fill_wait_ms.store(values.fill_wait_ms, Ordering::Relaxed);
        self.changed();
    }
}

/// A session's own values; `None` follows the global one.
#[derive(Debug, Default, Clone)]
pub(crate) struct Locals {
    pub(crate) query_cache_type: Option<u8>,
    pub(crate) strip_comments: Option<bool>,
    pub(crate) wlock_invalidate: Option<bool>,
    pub(crate) freshness: Option<Level>,
    pub(crate) max_staleness_ms: Option<u64>,
    pub(crate) eager_snapshots: Option<bool>,
    pub(crate) fill_wait_ms: Option<u64>,
}

impl Locals {
    /// Returns the values of a new session: it takes the native query cache's variables from the present global values.
    pub(crate) fn of(globals: &Globals) -> Self {
        let values = globals.values();
        Self {
            query_cache_type: Some(values.query_cache_type),
            strip_comments: Some(values.strip_comments),
            wlock_invalidate: Some(values.wlock_invalidate),
            ..Self::default()
        }
    }

    /// Returns the type that the session has set, or began with.
    pub(crate) fn own_type(&self, globals: &Globals) -> u8 {
        self.query_cache_type.unwrap_or_else(|| globals.query_cache_type.load(Ordering::Relaxed))
    }

    /// Returns the type in force: a global `OFF` turns every session off.
    pub(crate) fn effective_type(&self, globals: &Globals) -> u8 {
        match globals.query_cache_type.load(Ordering::Relaxed) {
            TYPE_OFF => TYPE_OFF,
            global => self.query_cache_type.unwrap_or(global),
        }
    }

    /// Sets the variable of this name to its earlier value.
    pub(crate) fn take_back(&mut self, name: &str, before: &Self) {
        match name {
            "query_cache_type" => self.query_cache_type = before.query_cache_type,
            "query_cache_strip_comments" => self.strip_comments = before.strip_comments,
            "query_cache_wlock_invalidate" => self.wlock_invalidate = before.wlock_invalidate,
            "freshness" => self.freshness = before.freshness,
            "max_staleness" => self.max_staleness_ms = before.max_staleness_ms,
            "transaction_snapshot" => self.eager_snapshots = before.eager_snapshots,
            "fill_wait" => self.fill_wait_ms = before.fill_wait_ms,
            _ => {}
        }
    }

    pub(crate) fn strips_comments(&self, globals: &Globals) -> bool {
        self.strip_comments.unwrap_or_else(|| globals.strip_comments.load(Ordering::Relaxed))
    }

    pub(crate) fn wlock_invalidates(&self, globals: &Globals) -> bool {
        self.wlock_invalidate.unwrap_or_else(|| globals.wlock_invalidate.load(Ordering::Relaxed))
    }
}
