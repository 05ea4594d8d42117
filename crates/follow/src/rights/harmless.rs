//! FLUSH statements of our clients that load no rights: FLUSH STATUS and FLUSH TABLES. The server counts them in the same way as a
//! reload.
//!
//! Between two looks no reload has happened if the server's count has grown by exactly the number of our FLUSHes that have succeeded.
//! That is known only if none of ours was under way when the server was asked: see [`Harmless::quiet`].

use std::sync::Mutex;
use std::sync::PoisonError;

/// The FLUSHes that went through us.
#[derive(Debug, Default)]
pub(crate) struct Harmless(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// The number that has succeeded: the server has counted each of them once.
    ended: u64,
    begun: u64,
    under_way: u64,
}

/// A value that stays the same while none begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quiet {
    ended: u64,
    begun: u64,
}

impl Harmless {
    /// Notes that one is sent to the server.
    pub(crate) fn begins(&self) {
        self.change(|counts| {
            counts.begun += 1;
            counts.under_way += 1;
        });
    }

    /// Notes that one is over. A FLUSH that failed, or whose outcome is unknown, may have been counted or not: if it was, it counts as a
    /// reload.
    pub(crate) fn ends(&self, is_counted: bool) {
        self.change(|counts| {
            counts.under_way -= 1;
            counts.ended += u64::from(is_counted);
        });
    }

    /// Returns how many have ended; `None` while one is under way. If the value is the same before and after the server is asked, the
    /// answer counts these, and no others of ours.
    pub(super) fn quiet(&self) -> Option<Quiet> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (counts.under_way == 0).then_some(Quiet { ended: counts.ended, begun: counts.begun })
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The FLUSH statements that were counted until one look.
#[derive(Clone, Copy)]
pub(super) struct FlushCounts {
    /// The server's count; `None` if it does not tell.
    pub(super) server: Option<u64>,
    /// Our count of those that load no rights: see [`Harmless::quiet`].
    pub(super) ours: Option<Quiet>,
}

/// Whether the server was given a FLUSH between two looks that may have loaded rights.
pub(super) fn is_reload(before: FlushCounts, now: FlushCounts) -> bool {
    match (before.server, now.server, before.ours, now.ours) {
        (Some(before), Some(now), Some(then), Some(here)) => {
            now.checked_sub(before) != here.ended.checked_sub(then.ended)
        }
        _ => before.server != now.server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(server: Option<u64>, ours: Option<Quiet>) -> FlushCounts {
        FlushCounts { server, ours }
    }

    #[test]
    fn what_is_not_ours_is_a_reload() {
        let harmless = Harmless::default();
        let start = counts(Some(7), harmless.quiet());
        assert!(!is_reload(start, counts(Some(7), harmless.quiet())));
        assert!(is_reload(start, counts(Some(8), harmless.quiet())));
        harmless.begins();
        assert_eq!(harmless.quiet(), None);
        assert!(is_reload(start, counts(Some(8), None)), "it is not known yet whose it was");
        harmless.ends(true);
        let after = counts(Some(8), harmless.quiet());
        assert!(!is_reload(start, after));
        assert!(is_reload(start, counts(Some(9), harmless.quiet())), "another one besides");
        // Nothing is subtracted later.
        assert!(is_reload(counts(Some(8), None), counts(Some(9), harmless.quiet())));
        harmless.begins();
        harmless.ends(false);
        assert!(is_reload(after, counts(Some(9), harmless.quiet())), "one that failed");
        assert!(!is_reload(after, counts(Some(8), harmless.quiet())), "one that was not counted");
        assert!(is_reload(start, counts(Some(0), harmless.quiet())), "the server counts anew");
        assert!(is_reload(start, counts(None, harmless.quiet())));
    }
}
