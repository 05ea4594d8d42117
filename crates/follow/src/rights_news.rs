//! News of rights for those who serve what may be out of date: whether any account's rights may have changed since.
//!
//! The epoch of accounts also changes whenever the stream is lost, since nothing is known from then on. This one does not: what is served for a
//! bounded time whatever changes is served meanwhile too.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How often rights are known to have changed, and who is just changing them through us.
#[derive(Debug, Default)]
pub(crate) struct RightsNews {
    epoch: AtomicU64,
    under_way: AtomicUsize,
}

impl RightsNews {
    /// Rights may have changed.
    pub(crate) fn changed(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Changes whenever rights may have changed; `None` while somebody changes them through us. To be read before a statement is sent: what it
    /// shows was read by the rights of this epoch or of a later one.
    pub(crate) fn epoch(&self) -> Option<u64> {
        (self.under_way.load(Ordering::SeqCst) == 0).then(|| self.epoch.load(Ordering::SeqCst))
    }

    pub(crate) fn begins(&self) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
    }

    /// The epoch is another one before anybody can read it again.
    pub(crate) fn ends(&self) {
        self.changed();
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_a_change_or_while_it_was_under_way_is_of_no_epoch_after_it() {
        let news = RightsNews::default();
        let before = news.epoch();
        assert!(before.is_some());
        news.begins();
        news.begins();
        assert_eq!(news.epoch(), None);
        news.ends();
        assert_eq!(news.epoch(), None, "another one is under way still");
        news.ends();
        assert!(news.epoch() > before);
    }
}
