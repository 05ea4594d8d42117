//! The newest writes that a session has been shown.

use crate::shared::Shared;

/// The writes through Freshet that a session may have been shown: none whose fences were raised later.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SeenWrites {
    fence: u64,
    /// Fences that were exchanged for other fences are gone before their writes are applied.
    exchanged: u64,
}

impl SeenWrites {
    /// Returns what the session may have seen by now. Called when an answer is complete.
    pub(super) fn by_now(shared: &Shared) -> Self {
        let exchanged = shared.upstream.fences_exchanged();
        Self { fence: shared.freshness().fences_raised(), exchanged }
    }

    /// Whether all seen writes are applied. The caller reads the stamps after this call. The fences are read before the fences that replaced
    /// them.
    pub(super) fn is_applied(self, shared: &Shared) -> bool {
        shared.freshness().oldest_fence() > self.fence && shared.upstream.fences_exchanged() == self.exchanged
    }
}
