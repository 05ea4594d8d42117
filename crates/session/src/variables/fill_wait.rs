//! `fill_wait`: how long a SELECT waits until its answer can be stored.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::kinds::number;
use super::values::{Globals, Locals};
use super::variable::{Lives, Variable};

/// The greatest `fill_wait`, in milliseconds.
pub const FILL_WAIT_MS_MAX: u64 = 60_000;

pub(super) const FILL_WAIT: Variable = Variable {
    name: "fill_wait",
    doc: "How long a SELECT that follows a write to what it reads waits until its answer can be stored, in milliseconds: 0 to 60000.",
    lives: Lives::Everywhere,
    number: true,
    show: |target, global| {
        let locals = if global { &Locals::default() } else { &*target.locals };
        locals.fill_wait(target.globals).as_millis().to_string()
    },
    set: |target, global, value| {
        let given = number("fill_wait", value, 0..=FILL_WAIT_MS_MAX)?;
        let ms = given.as_ref().map(|given| given.0);
        if global {
            target.globals.fill_wait_ms.store(ms.unwrap_or(0), Ordering::Relaxed);
        } else {
            target.locals.fill_wait_ms = ms;
        }
        Ok(given.and_then(|given| given.1))
    },
};

impl Locals {
    /// The `fill_wait` in force.
    pub(crate) fn fill_wait(&self, globals: &Globals) -> Duration {
        let ms = self.fill_wait_ms.unwrap_or_else(|| globals.fill_wait_ms.load(Ordering::Relaxed));
        Duration::from_millis(ms)
    }
}
