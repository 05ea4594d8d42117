//! The connections that one thread's sessions open at the moment. If many are opened at once, as after a silence, a session whose read a lane
//! could carry waits: one of these connections may become a lane, which carries the reads of all.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

/// How many connections are opened at once before reads wait for a lane.
const OPENED_AT_ONCE: usize = 8;
/// How long a read waits before it looks for a lane again, and for how long it does so, before a connection is opened for it all the same. A
/// statement that was slow keeps its form from lanes for as long as one wait (`template/profile.rs`).
const WAIT_MAX: Duration = Duration::from_millis(100);
const WAITS_MAX: Duration = Duration::from_millis(300);

thread_local! {
    static OPENINGS: Rc<Openings> = Rc::default();
}

#[derive(Default)]
struct Openings {
    under_way: Rc<Cell<usize>>,
    waiting: Rc<Cell<usize>>,
    /// Wakes one read that waits when a connection is there, and all of them when a lane is.
    changed: Notify,
}

/// One more in a count, as long as this value lives.
struct Counted(Rc<Cell<usize>>);

impl Counted {
    fn among(all: &Rc<Cell<usize>>) -> Self {
        all.set(all.get() + 1);
        Self(Rc::clone(all))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A connection that is being opened, as long as this value lives.
pub(super) struct ConnectionOpening {
    openings: Rc<Openings>,
    _counted: Counted,
}

impl ConnectionOpening {
    pub(super) fn begins() -> Self {
        let openings = here();
        Self { _counted: Counted::among(&openings.under_way), openings }
    }
}

impl Drop for ConnectionOpening {
    fn drop(&mut self) {
        // It looks again on its next turn: this one does not count any more then.
        if self.openings.waiting.get() > 0 {
            self.openings.changed.notify_one();
        }
    }
}

fn here() -> Rc<Openings> {
    OPENINGS.with(Rc::clone)
}

/// Whether so many connections are being opened that reads wait for a lane.
pub(super) fn are_many() -> bool {
    OPENINGS.with(|openings| openings.under_way.get()) >= OPENED_AT_ONCE
}

/// Wakes all reads that wait: there is a lane.
pub(super) fn note_lane() {
    OPENINGS.with(|openings| openings.changed.notify_waiters());
}

/// Returns how many reads wait for a lane.
pub(super) fn waiting() -> usize {
    OPENINGS.with(|openings| openings.waiting.get())
}

/// The waits of one read.
#[derive(Debug, Default)]
pub(crate) struct LaneWaits {
    /// When the first one began.
    since: Option<Instant>,
}

impl LaneWaits {
    /// Whether the read has waited for long enough.
    pub(super) fn are_over(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= WAITS_MAX)
    }

    /// Waits until a connection that is being opened is there, or a lane is. Not for long.
    pub(super) async fn another(&mut self) {
        self.since.get_or_insert_with(Instant::now);
        let openings = here();
        let _counted = Counted::among(&openings.waiting);
        let _: Result<(), _> = timeout(WAIT_MAX, openings.changed.notified()).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::{JoinHandle, LocalSet, spawn_local, yield_now};

    use super::*;

    async fn waits() -> Duration {
        let began = Instant::now();
        LaneWaits::default().another().await;
        began.elapsed()
    }

    async fn three_that_wait() -> Vec<JoinHandle<Duration>> {
        let waiting = (0..3).map(|_| spawn_local(waits())).collect();
        yield_now().await;
        assert_eq!(super::waiting(), 3);
        waiting
    }

    #[tokio::test]
    async fn a_connection_that_is_there_ends_one_wait_and_a_lane_ends_all() {
        LocalSet::new()
            .run_until(async {
                let mut openings: Vec<_> = (0..OPENED_AT_ONCE).map(|_| ConnectionOpening::begins()).collect();
                assert!(are_many());
                let waiting = three_that_wait().await;
                drop(openings.pop());
                assert!(!are_many());
                yield_now().await;
                assert_eq!(super::waiting(), 2, "one looks again");
                note_lane();
                yield_now().await;
                assert_eq!(super::waiting(), 0);
                for waited in waiting {
                    assert!(waited.await.unwrap() < WAIT_MAX);
                }
                // Nobody has waited for these.
                drop(openings);
                assert!(waits().await >= WAIT_MAX);
            })
            .await;
    }

    #[tokio::test]
    async fn waits_are_over_after_a_while() {
        let mut waits = LaneWaits::default();
        let mut times = 0;
        while !waits.are_over() {
            waits.another().await;
            times += 1;
        }
        assert!((1..=3).contains(&times), "{times}");
    }
}
