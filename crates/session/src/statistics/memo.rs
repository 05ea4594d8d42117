//! The digest of statements that have the same one, so that it is not made anew for each of them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Under which tag the statements of one skeleton, or the executions of one prepared statement, were counted last, and for whom. The tag
/// has 16 bits, and the hash of who they were counted for the others; 0 is none.
#[derive(Debug, Default)]
pub(crate) struct DigestMemo(AtomicU64);

const TAG_BITS: u64 = 0xFFFF;

impl DigestMemo {
    pub(super) fn tag(&self, whose: u64) -> Option<u16> {
        let noted = self.0.load(Ordering::Relaxed);
        (noted != 0 && noted & !TAG_BITS == whose & !TAG_BITS).then_some((noted & TAG_BITS) as u16)
    }

    pub(super) fn note(&self, whose: u64, tag: u16) {
        self.0.store(whose & !TAG_BITS | u64::from(tag), Ordering::Relaxed);
    }
}
