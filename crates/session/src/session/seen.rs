//! How new the newest is that a session has been shown.

use crate::shared::Shared;

/// What a session has been shown of writes through us: nothing of those whose fences were raised later.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    fence: u64,
    /// Fences that were exchanged for another are gone before their writes are applied.
    exchanged: u64,
}

impl Seen {
    /// To be read when an answer is complete.
    pub(super) fn by_now(shared: &Shared) -> Self {
        let exchanged = shared.upstream.fences_exchanged();
        Self { fence: shared.freshness().fences_raised(), exchanged }
    }

    /// Whether all of it is applied. The stamps have to be read after this, and the fences are looked at before what they
    /// were exchanged for.
    pub(super) fn is_applied(self, shared: &Shared) -> bool {
        shared.freshness().oldest_fence() > self.fence && shared.upstream.fences_exchanged() == self.exchanged
    }
}
