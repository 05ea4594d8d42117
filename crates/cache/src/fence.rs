//! A raised fence.

use crate::{Dep, Freshness};
use std::fmt;
use std::sync::Arc;

/// No entry that depends on any of these is served while this lives. Counted: fences nest and overlap.
///
/// There is no way to lift one but to drop it, and none to lift it twice.
#[must_use = "a fence that is dropped at once protects nothing"]
pub struct Fence {
    freshness: Arc<Freshness>,
    deps: Vec<Dep>,
    /// See [`Freshness::fences_raised`].
    number: u64,
    held: Vec<Box<dyn Send + Sync>>,
}

impl Fence {
    /// For [`Freshness::fence`], which has raised them.
    pub(crate) const fn raised(freshness: Arc<Freshness>, deps: Vec<Dep>, number: u64) -> Self {
        Self { freshness, deps, number, held: Vec::new() }
    }

    /// Keeps something until the fence has been lifted, and drops it then.
    pub fn holding(mut self, held: impl Send + Sync + 'static) -> Self {
        self.held.push(Box::new(held));
        self
    }

    /// Its number: see [`Freshness::fences_raised`].
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the dependencies that the fence stands on.
    #[must_use]
    pub fn deps(&self) -> &[Dep] {
        &self.deps
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        self.freshness.lift(&self.deps, self.number);
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("deps", &self.deps).finish_non_exhaustive()
    }
}
