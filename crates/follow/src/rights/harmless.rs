//! FLUSH statements of our clients that load no rights: FLUSH STATUS and FLUSH TABLES. The server counts them as it counts a reload.
//!
//! Two looks see the same number of reloads if the server's count has grown between them by just as many as have ended well through us.
//! That is only known where none of ours was under way when the server was asked: see [`Harmless::quiet`].

use std::sync::Mutex;
use std::sync::PoisonError;

/// Those that went through us.
#[derive(Debug, Default)]
pub(crate) struct Harmless(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// These have ended well: the server has counted each of them once.
    ended: u64,
    begun: u64,
    under_way: u64,
}

/// What stays the same while none begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quiet {
    ended: u64,
    begun: u64,
}

impl Harmless {
    /// One is sent to the server.
    pub(crate) fn begins(&self) {
        self.change(|counts| {
            counts.begun += 1;
            counts.under_way += 1;
        });
    }

    /// It is over. One that failed, or of which that is not known, may have been counted or not: it is taken for a reload if it was.
    pub(crate) fn ends(&self, is_counted: bool) {
        self.change(|counts| {
            counts.under_way -= 1;
            counts.ended += u64::from(is_counted);
        });
    }

    /// Returns how many have ended; `None` while one is under way. If it is the same before the server is asked and after that, the
    /// answer counts these, and no others of ours.
    pub(super) fn quiet(&self) -> Option<Quiet> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (counts.under_way == 0).then_some(Quiet { ended: counts.ended, begun: counts.begun })
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// How many FLUSH statements were counted until one look.
#[derive(Clone, Copy)]
pub(super) struct FlushCounts {
    /// By the server; `None` where it does not say.
    pub(super) server: Option<u64>,
    /// By us, of those that load no rights: see [`Harmless::quiet`].
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
        // Nothing is made up for later.
        assert!(is_reload(counts(Some(8), None), counts(Some(9), harmless.quiet())));
        harmless.begins();
        harmless.ends(false);
        assert!(is_reload(after, counts(Some(9), harmless.quiet())), "one that failed");
        assert!(!is_reload(after, counts(Some(8), harmless.quiet())), "one that was not counted");
        assert!(is_reload(start, counts(Some(0), harmless.quiet())), "the server counts anew");
        assert!(is_reload(start, counts(None, harmless.quiet())));
    }
}
