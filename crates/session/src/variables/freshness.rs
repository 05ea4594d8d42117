//! `freshness`, `max_staleness` and `transaction_snapshot`: the promise to a session, and how it is kept.

use std::sync::atomic::Ordering;

use freshet_follow::Semisync;
use freshet_protocol::ErrPacket;
use freshet_sql::AssignedValue;

use super::kinds::{number, one_of};
use super::values::{Globals, Locals, MAX_STALENESS_MS_DEFAULT, MAX_STALENESS_MS_MAX, MAX_STALENESS_MS_MIN};
use super::variable::{Lives, Variable, VariableTarget};
use crate::level::{Level, SemisyncMode};
use crate::warnings::Warning;

/// ER_UNKNOWN_ERROR, as the servers use it for warnings without a number of their own.
const WARNING: u16 = 1105;

pub(super) const FRESHNESS: Variable = Variable {
    name: "freshness",
    doc: "The promise, strict, session, eventual or semisync: see docs/freshness.md.",
    lives: Lives::Everywhere,
    number: false,
    show: |target, global| {
        let level = if global { target.globals.level() } else { target.locals.level(target.globals) };
        level.name().to_owned()
    },
    set: set_level,
};

pub(super) const MAX_STALENESS: Variable = Variable {
    name: "max_staleness",
    doc: "How long what was committed may be lacking in an answer, where the level lets it be, in milliseconds: 10 to 86400000.",
    lives: Lives::Everywhere,
    number: true,
    show: |target, global| {
        let ms = if global {
            target.globals.max_staleness_ms.load(Ordering::Relaxed)
        } else {
            target.locals.max_staleness_ms(target.globals)
        };
        ms.to_string()
    },
    set: |target, global, value| {
        let given = number("max_staleness", value, MAX_STALENESS_MS_MIN..=MAX_STALENESS_MS_MAX)?;
        if global {
            let ms = given.as_ref().map_or(MAX_STALENESS_MS_DEFAULT, |given| given.0);
            target.globals.max_staleness_ms.store(ms, Ordering::Relaxed);
        } else {
            target.locals.max_staleness_ms = given.as_ref().map(|given| given.0);
        }
        Ok(given.and_then(|given| given.1))
    },
};

const SNAPSHOTS: [&str; 2] = ["auto", "eager"];

pub(super) const TRANSACTION_SNAPSHOT: Variable = Variable {
    name: "transaction_snapshot",
    doc: "When the server opens the read view of a transaction at REPEATABLE READ: auto, when a statement needs the server, or eager, at \
          the first read. See docs/transactions.md.",
    lives: Lives::Everywhere,
    number: false,
    show: |target, global| {
        let locals = if global { &Locals::default() } else { &*target.locals };
        SNAPSHOTS[usize::from(locals.opens_eagerly(target.globals))].to_owned()
    },
    set: |target, global, value| {
        let eager = one_of("transaction_snapshot", value, &SNAPSHOTS)?.map(|chosen| chosen == 1);
        if global {
            target.globals.eager_snapshots.store(eager.unwrap_or(false), Ordering::Relaxed);
        } else {
            target.locals.eager_snapshots = eager;
        }
        Ok(None)
    },
};

impl Globals {
    pub(crate) fn level(&self) -> Level {
        Level::numbered(usize::from(self.freshness.load(Ordering::Relaxed)))
    }
}

impl Locals {
    /// The level in force.
    pub(crate) fn level(&self, globals: &Globals) -> Level {
        self.freshness.unwrap_or_else(|| globals.level())
    }

    /// Whether the server opens a transaction's read view with the first read.
    pub(crate) fn opens_eagerly(&self, globals: &Globals) -> bool {
        self.eager_snapshots.unwrap_or_else(|| globals.eager_snapshots.load(Ordering::Relaxed))
    }

    /// The `max_staleness` in force, in milliseconds.
    pub(crate) fn max_staleness_ms(&self, globals: &Globals) -> u64 {
        self.max_staleness_ms.unwrap_or_else(|| globals.max_staleness_ms.load(Ordering::Relaxed))
    }
}

fn set_level(
    target: &mut VariableTarget<'_>,
    global: bool,
    value: &AssignedValue,
) -> Result<Option<Warning>, ErrPacket> {
    let chosen = one_of("freshness", value, &Level::NAMES)?.map(Level::numbered);
    if global {
        let level = chosen.unwrap_or(Level::Strict);
        target.globals.freshness.store(level.number(), Ordering::Relaxed);
    } else {
        target.locals.freshness = chosen;
    }
    let asks = chosen == Some(Level::Semisync);
    Ok(if asks { semisync_warning(target, global) } else { None })
}

/// Returns the warning. The level is set all the same: if commits do not wait, it only answers nothing from memory.
fn semisync_warning(target: &VariableTarget<'_>, global: bool) -> Option<Warning> {
    let why = match (target.upstream.semisync(), target.semisync) {
        (Semisync::On, _) => return None,
        (_, SemisyncMode::Off) => "Freshet was started with semisync = off".to_owned(),
        (Semisync::Off, SemisyncMode::Auto) if !global => {
            "commits do not wait for Freshet unless freshness = semisync globally, or it was started with semisync = on"
                .to_owned()
        }
        (Semisync::Off, _) => "commits do not wait for Freshet yet; Freshet_semisync says when they do".to_owned(),
        (Semisync::Not(lack), _) => format!("{}; {}", lack.why, lack.remedy),
    };
    Some(Warning { code: WARNING, message: format!("Nothing is answered from memory at this level: {why}") })
}
