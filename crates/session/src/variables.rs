//! Freshet's own system variables: `query_cache_*`, `have_query_cache`, `fill_wait`, `freshness`, `max_staleness` and
//! `transaction_snapshot`, as one static table.
//! Statements that set or show them are answered here and never forwarded.

mod values;
mod kinds;
mod variable;
mod fill_wait;
mod freshness;

use std::sync::atomic::Ordering;

use freshet_protocol::ErrPacket;
use freshet_sql::{AssignedValue, Flavor};

use crate::warnings::Warning;

use kinds::{boolean, one_of, read_only, size, too_small};

pub use fill_wait::FILL_WAIT_MS_MAX;
pub(crate) use values::{GlobalValues, Locals};
pub use values::{
    Globals, MAX_STALENESS_MS_DEFAULT, MAX_STALENESS_MS_MAX, MAX_STALENESS_MS_MIN, TYPE_DEMAND, TYPE_OFF,
    TYPE_ON,
};
pub(crate) use variable::{Lives, Variable, VariableTarget};

/// The largest `query_cache_size`, in bytes (the range of ApsaraDB's fast query cache).
pub const SIZE_MAX: u64 = 10_485_760_000;
/// The smallest `query_cache_size` except 0, in bytes: with less, the native query cache has no room for a result, and is off.
pub const SIZE_MIN: u64 = 49 * 1024;
/// `query_cache_size` is a multiple of this many bytes.
pub const SIZE_STEP: u64 = 1024;
/// The largest `query_cache_limit`, in bytes.
pub const LIMIT_MAX: u64 = 4_294_967_295;

/// The smallest `query_cache_min_res_unit`, in bytes. The native query cache silently uses it for smaller values.
const MIN_RES_UNIT_MIN: u64 = 512;

/// Every variable of Freshet's own, by name.
pub(crate) static VARIABLES: &[Variable] = &[
    fill_wait::FILL_WAIT,
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
            target.globals.min_res_unit.store(bytes.max(MIN_RES_UNIT_MIN), Ordering::Relaxed);
            Ok(warning)
        },
    },
    Variable {
        name: "query_cache_size",
        doc: "The memory for results, in bytes: a multiple of 1024 up to 10485760000. 0 turns the cache off, and so does less than 50176.",
        lives: Lives::GlobalOnly,
        number: true,
        show: |target, _| target.cache.size().to_string(),
        set: |target, _, value| {
            let default = target.globals.started_with_size.load(Ordering::Relaxed);
            let (bytes, warning) = size("query_cache_size", value, SIZE_MAX, SIZE_STEP, default)?;
            let (bytes, warning) =
                if bytes < SIZE_MIN { (0, too_small(bytes).or(warning)) } else { (bytes, warning) };
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
                target.locals.strip_comments = on.or(Locals::of(target.globals).strip_comments);
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
                target.locals.own_type(target.globals)
            };
            TYPES[usize::from(shown).min(2)].to_owned()
        },
        set: set_type,
    },
    Variable {
        name: "query_cache_wlock_invalidate",
        doc: "Whether LOCK TABLES for writing drops the results of its tables, which nobody is answered from memory then until it ends: OFF or ON.",
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
                target.locals.wlock_invalidate = on.or(Locals::of(target.globals).wlock_invalidate);
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

fn set_type(
    target: &mut VariableTarget<'_>,
    global: bool,
    value: &AssignedValue,
) -> Result<Option<Warning>, ErrPacket> {
    let chosen = one_of("query_cache_type", value, &TYPES)?;
    let chosen = chosen.map(|at| u8::try_from(at).unwrap_or(TYPE_OFF));
    if global {
        let chosen = chosen.unwrap_or_else(|| target.globals.started_with_type.load(Ordering::Relaxed));
        target.globals.query_cache_type.store(chosen, Ordering::Relaxed);
        if chosen == TYPE_OFF {
            // Like in the native query cache: the session that turns the cache off for all has to turn it on again for itself.
            target.locals.query_cache_type = Some(TYPE_OFF);
        }
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
    target.locals.query_cache_type = chosen.or(Locals::of(target.globals).query_cache_type);
    Ok(None)
}

/// Returns the value of a text that SHOW VARIABLES prints.
pub(crate) fn value_of(text: &str) -> AssignedValue {
    text.parse().map_or_else(|_| AssignedValue::Text(text.to_owned()), AssignedValue::Int)
}

/// Returns the variable called `name` (lower case).
pub(crate) fn find(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|variable| variable.name == name)
}

#[cfg(test)]
mod tests;
