//! The connections that one thread's sessions open at the moment. If many are opened at once, as after a silence, a session whose read a lane
//! could carry waits for one of them: as soon as one is there, its owner may lend it to all.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// How many connections are opened at once before others wait for one of these.
const AT_ONCE: usize = 8;
/// How long a statement waits for one of them, and how often, before a connection is opened for it all the same. A login at a server that is not
/// overloaded takes less. A statement that was slow keeps its kind from lanes for as long as one wait (`template/profile.rs`).
const WAIT_MAX: Duration = Duration::from_millis(100);
const WAITS_MAX: u32 = 3;

thread_local! {
    static OPENINGS: Rc<Openings> = Rc::default();
}

#[derive(Default)]
struct Openings {
    under_way: Cell<usize>,
    waiting: Cell<usize>,
    /// Wakes one of those that wait when a connection is there, and all of them when there is a lane.
    changed: Notify,
}

/// A connection that is being opened, as long as this value lives.
pub(super) struct Opening(Rc<Openings>);

impl Opening {
    pub(super) fn begins() -> Self {
        let openings = here();
        openings.under_way.set(openings.under_way.get() + 1);
        Self(openings)
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.under_way.set(self.0.under_way.get() - 1);
        self.0.changed.notify_one();
    }
}

fn here() -> Rc<Openings> {
    OPENINGS.with(Rc::clone)
}

/// Whether so many connections are being opened that the next session waits for one of them.
pub(super) fn are_many() -> bool {
    here().under_way.get() >= AT_ONCE
}

/// Wakes all that wait: there is a lane.
pub(super) fn note_lane() {
    here().changed.notify_waiters();
}

/// Waits until a connection that is being opened is there, or a lane is. Not for long.
pub(super) async fn ended() {
    let openings = here();
    openings.waiting.set(openings.waiting.get() + 1);
    let counted = Waiting(&openings);
    let ended = openings.changed.notified();
    let _: Result<(), _> = timeout(WAIT_MAX, ended).await;
    drop(counted);
}

/// Returns how many statements wait for connections that are being opened.
pub(super) fn waiting() -> usize {
    here().waiting.get()
}

/// One that waits, as long as this value lives.
struct Waiting<'a>(&'a Openings);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}

/// How often a statement has waited before a connection is opened for it.
#[derive(Debug, Default)]
pub(crate) struct OpeningWaits(u32);

impl OpeningWaits {
    /// Counts a wait. Returns false if there were enough.
    pub(super) fn is_another(&mut self) -> bool {
        self.0 += 1;
        self.0 <= WAITS_MAX
    }
}
