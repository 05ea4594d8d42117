//! The system variables that are ours: `query_cache_*`, `have_query_cache`, `freshness`, `max_staleness` and
//! `transaction_snapshot`, as one static table.
//! Statements that set or show them are answered here and never forwarded.

mod freshness;
mod kinds;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use freshet_cache::Cache;
use freshet_follow::Upstream;
use freshet_protocol::ErrPacket;
use freshet_sql::{Flavor, Scope, Value};
use tokio::sync::Notify;

use crate::level::{Level, SemisyncMode};
use kinds::{boolean, one_of, read_only, size};

pub use freshness::{MAX_STALENESS_MS_DEFAULT, MAX_STALENESS_MS_MAX, MAX_STALENESS_MS_MIN};

/// `query_cache_type`: which SELECTs may be answered from memory.
pub const TYPE_OFF: u8 = 0;
/// All that are proven cacheable and do not say `SQL_NO_CACHE`.
pub const TYPE_ON: u8 = 1;
/// Those that say `SQL_CACHE`.
pub const TYPE_DEMAND: u8 = 2;

/// The largest `query_cache_size`, in bytes (the range of ApsaraDB's fast query cache).
pub const SIZE_MAX: u64 = 10_485_760_000;
/// `query_cache_size` is a multiple of this many bytes.
pub const SIZE_STEP: u64 = 1024;
/// The largest `query_cache_limit`, in bytes.
pub const LIMIT_MAX: u64 = 4_294_967_295;

/// The global values.
#[derive(Debug)]
pub struct Globals {
    /// `query_cache_type`: [`TYPE_OFF`], [`TYPE_ON`] or [`TYPE_DEMAND`].
    pub query_cache_type: AtomicU8,
    /// `query_cache_min_res_unit`, in bytes: kept for those who set it; there are no blocks here.
    pub min_res_unit: AtomicU64,
    /// `query_cache_strip_comments`: comments do not belong to the key.
    pub strip_comments: AtomicBool,
    /// `query_cache_wlock_invalidate`: no hits on a table that somebody holds under LOCK TABLES … WRITE.
    pub wlock_invalidate: AtomicBool,
    /// `freshness`: the number of a [`Level`].
    pub freshness: AtomicU8,
    /// `max_staleness`, in milliseconds.
    pub max_staleness_ms: AtomicU64,
    /// `transaction_snapshot` is `eager`.
    pub eager_snapshots: AtomicBool,
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
}

impl Globals {
    /// To be called after a change: a session that sees the new version sees the change.
    fn changed(&self) {
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
}

impl Locals {
    /// The type in force: a global `OFF` turns every session off.
    pub(crate) fn effective_type(&self, globals: &Globals) -> u8 {
        match globals.query_cache_type.load(Ordering::Relaxed) {
            TYPE_OFF => TYPE_OFF,
            global => self.query_cache_type.unwrap_or(global),
        }
    }

    pub(crate) fn strips_comments(&self, globals: &Globals) -> bool {
        self.strip_comments.unwrap_or_else(|| globals.strip_comments.load(Ordering::Relaxed))
    }

    pub(crate) fn wlock_invalidates(&self, globals: &Globals) -> bool {
        self.wlock_invalidate.unwrap_or_else(|| globals.wlock_invalidate.load(Ordering::Relaxed))
    }
}

/// What the table's handlers work on.
pub(crate) struct Target<'a> {
    pub(crate) globals: &'a Globals,
    pub(crate) cache: &'a Cache,
    pub(crate) locals: &'a mut Locals,
    pub(crate) flavor: Flavor,
    pub(crate) upstream: &'a Upstream,
    pub(crate) semisync: SemisyncMode,
    /// Told when the cache's size has changed.
    pub(crate) resized: &'a Notify,
}

/// Where a variable lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lives {
    Everywhere,
    GlobalOnly,
    ReadOnly,
}

/// One variable: the docs and the answers are made of this.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) lives: Lives,
    /// Its value as SHOW VARIABLES prints it.
    show: fn(&Target<'_>, global: bool) -> String,
    /// How `SELECT @@name` types it.
    pub(crate) number: bool,
    set: fn(&mut Target<'_>, global: bool, value: &Value) -> Result<Option<Warning>, ErrPacket>,
}

/// A warning of a SET that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) code: u16,
    pub(crate) message: String,
}

/// Every variable that is ours, by name.
pub(crate) static VARIABLES: &[Variable] = &[
    freshness::FRESHNESS,
    Variable {
        name: "have_query_cache",
        doc: "Whether there is a query cache: YES.",
        lives: Lives::ReadOnly,
        number: false,
        show: |_, _| "YES".to_owned(),
        set: |_, _, _| read_only("have_query_cache"),
    },
    freshness::MAX_STALENESS,
    Variable {
        name: "query_cache_limit",
        doc: "The largest result that is cached, in bytes: 0 to 4294967295.",
        lives: Lives::GlobalOnly,
        number: true,
        show: |target, _| target.cache.limit().to_string(),
        set: |target, _, value| {
            let (bytes, warning) = size("query_cache_limit", value, LIMIT_MAX, 1, 1 << 20)?;
            target.cache.set_limit(usize::try_from(bytes).unwrap_or(usize::MAX));
            Ok(warning)
        },
    },
    Variable {
        name: "query_cache_min_res_unit",
        doc: "Accepted and kept, without effect: there are no blocks here.",
        lives: Lives::GlobalOnly,
        number: true,
        show: |target, _| target.globals.min_res_unit.load(Ordering::Relaxed).to_string(),
        set: |target, _, value| {
            let (bytes, warning) = size("query_cache_min_res_unit", value, LIMIT_MAX, 8, 4096)?;
            target.globals.min_res_unit.store(bytes, Ordering::Relaxed);
            Ok(warning)
        },
    },
    Variable {
        name: "query_cache_size",
        doc: "The memory for results, in bytes: 0 to 10485760000, a multiple of 1024. 0 turns the cache off.",
        lives: Lives::GlobalOnly,
        number: true,
        show: |target, _| target.cache.size().to_string(),
        set: |target, _, value| {
            let (bytes, warning) = size("query_cache_size", value, SIZE_MAX, SIZE_STEP, 256 << 20)?;
            crate::shared::resize(target.cache, target.resized, usize::try_from(bytes).unwrap_or(usize::MAX));
            Ok(warning)
        },
    },
    Variable {
        name: "query_cache_strip_comments",
        doc: "Whether comments are left out of the key: OFF or ON.",
        lives: Lives::Everywhere,
        number: true,
        show: |target, global| {
            on_off(if global {
                target.globals.strip_comments.load(Ordering::Relaxed)
            } else {
                target.locals.strips_comments(target.globals)
            })
        },
        set: |target, global, value| {
            let on = boolean("query_cache_strip_comments", value)?;
            if global {
                target.globals.strip_comments.store(on.unwrap_or(false), Ordering::Relaxed);
            } else {
                target.locals.strip_comments = on;
            }
            Ok(None)
        },
    },
    Variable {
        name: "query_cache_type",
        doc: "0 or OFF: no caching; 1 or ON: all but SQL_NO_CACHE; 2 or DEMAND: only SQL_CACHE.",
        lives: Lives::Everywhere,
        number: false,
        show: |target, global| {
            let shown = if global {
                target.globals.query_cache_type.load(Ordering::Relaxed)
            } else {
                target.locals.effective_type(target.globals)
            };
            TYPES[usize::from(shown).min(2)].to_owned()
        },
        set: set_type,
    },
    Variable {
        name: "query_cache_wlock_invalidate",
        doc: "Whether nobody is answered from memory while a client holds LOCK TABLES: OFF or ON.",
        lives: Lives::Everywhere,
        number: true,
        show: |target, global| {
            on_off(if global {
                target.globals.wlock_invalidate.load(Ordering::Relaxed)
            } else {
                target.locals.wlock_invalidates(target.globals)
            })
        },
        set: |target, global, value| {
            let on = boolean("query_cache_wlock_invalidate", value)?;
            if global {
                target.globals.wlock_invalidate.store(on.unwrap_or(false), Ordering::Relaxed);
            } else {
                target.locals.wlock_invalidate = on;
            }
            Ok(None)
        },
    },
    freshness::TRANSACTION_SNAPSHOT,
];

const TYPES: [&str; 3] = ["OFF", "ON", "DEMAND"];

fn on_off(on: bool) -> String {
    if on { "ON" } else { "OFF" }.to_owned()
}

fn set_type(target: &mut Target<'_>, global: bool, value: &Value) -> Result<Option<Warning>, ErrPacket> {
    let chosen = one_of("query_cache_type", value, &TYPES)?;
    let chosen = chosen.map(|at| u8::try_from(at).unwrap_or(TYPE_OFF));
    if global {
        target.globals.query_cache_type.store(chosen.unwrap_or(TYPE_ON), Ordering::Relaxed);
        return Ok(None);
    }
    let enables = chosen.is_some_and(|kind| kind != TYPE_OFF);
    if enables && target.globals.query_cache_type.load(Ordering::Relaxed) == TYPE_OFF {
        return Err(match target.flavor {
            Flavor::MySql => ErrPacket::new(
                1651,
                "HY000",
                "Query cache is disabled; set the global query_cache_type=1 to enable it",
            ),
            Flavor::MariaDb => ErrPacket::new(
                1925,
                "HY000",
                "Query cache is globally disabled and you can't enable it only for this session",
            ),
        });
    }
    target.locals.query_cache_type = chosen;
    Ok(None)
}

/// The variable called `name` (lower case).
pub(crate) fn find(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|variable| variable.name == name)
}

impl Variable {
    /// Its value as SHOW VARIABLES prints it.
    pub(crate) fn shown(&self, target: &Target<'_>, scope: Scope) -> String {
        (self.show)(target, scope == Scope::Global)
    }

    /// Sets it.
    ///
    /// # Errors
    /// MySQL's own: 1238 (read only), 1229 (global only), 1231 (wrong value), 1232 (wrong type), 1651 or 1925.
    pub(crate) fn set(
        &self,
        target: &mut Target<'_>,
        scope: Scope,
        value: &Value,
    ) -> Result<Option<Warning>, ErrPacket> {
        match (self.lives, scope) {
            (Lives::ReadOnly, _) => read_only(self.name),
            (Lives::GlobalOnly, Scope::Session | Scope::Unspecified) => Err(ErrPacket::new(
                1229,
                "HY000",
                format!("Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL", self.name),
            )),
            (_, Scope::Global) => {
                let set = (self.set)(target, true, value);
                target.globals.changed();
                set
            }
            (_, Scope::Session | Scope::Unspecified) => (self.set)(target, false, value),
        }
    }
}

#[cfg(test)]
mod tests;
