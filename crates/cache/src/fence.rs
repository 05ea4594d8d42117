//! A raised fence.

use crate::{Dep, Freshness};
use std::fmt;
use std::sync::Arc;

/// While this lives, no entry that depends on any of these is served. Fences are counted: they nest and overlap.
///
/// A fence is lifted by dropping it, and in no other way; so it cannot be lifted twice.
#[must_use = "a fence that is dropped at once protects nothing"]
pub struct Fence {
    freshness: Arc<Freshness>,
    deps: Vec<Dep>,
    /// See [`Freshness::fences_raised`].
    number: u64,
    held: Vec<Box<dyn Send + Sync>>,
}

impl Fence {
    /// Makes the fence that [`Freshness::fence`] has raised.
    pub(crate) const fn raised(freshness: Arc<Freshness>, deps: Vec<Dep>, number: u64) -> Self {
        Self { freshness, deps, number, held: Vec::new() }
    }

    /// Keeps something until the fence has been lifted, and drops it then.
    pub fn holding(mut self, held: impl Send + Sync + 'static) -> Self {
        self.held.push(Box::new(held));
        self
    }

    /// Returns the fence's number: see [`Freshness::fences_raised`].
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
