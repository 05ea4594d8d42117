//! A read view that the reads of many transactions share.
//!
//! A transaction at REPEATABLE READ that the server knows nothing of shows the state of one moment. What it takes from memory is true at that moment
//! (`session/view.rs`). What is not in memory needs no transaction of the client's own at the server either: it is read on a lane that is in a
//! transaction itself, and is then given by the same rule as if it had been stored ([`freshet_cache::snapshot`]). `contains`
//! is `visible`, read before the lane's read view was opened, and stands for the `valid_from` of all that is read in it. The read view settles once, for
//! all of its reads: a single read would have to wait until an end of the binlog is passed that was asked for behind it.
//!
//! A read view is handed out for [`AGE_MAX`]. The next reader has the lane begin another one. What was written since it was opened is not to be had from
//! it: the rule refuses that, and the client's transaction begins at the server. The server ends a read view that nobody replaces, so that neither a
//! definition nor the purge of old rows waits for it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Freshness, Position};
use freshet_protocol::{Capabilities, HEADER_LEN};
use freshet_upstream::Lane;
use freshet_upstream::lane::LaneOutcome;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use crate::session::begun::words::END;
use crate::session::query_prefix;
use crate::settling::found_within;
use crate::shared::Shared;

/// How old a read view is at most when a read is sent to it.
const AGE_MAX: Duration = Duration::from_millis(20);

/// How long a read view stays open that nobody reads any more.
const UNUSED_MAX: Duration = Duration::from_millis(40);

/// How long a read waits for its read view to settle: a server with more to do than it can takes its time.
const SETTLING_MAX: Duration = Duration::from_millis(100);

const BEGIN: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/// Where a read view is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server has not said that it is open, or what it shows is not known to be applied.
    Unsettled,
    /// All that it shows is applied. So many ends of the binlog had been asked for when it was open.
    Settled { ends_asked: u64 },
    /// It was not opened, or does not settle.
    Failed,
}

/// A read view on a lane.
#[derive(Debug)]
pub(crate) struct SharedView {
    contains: Position,
    since: Instant,
    stage: watch::Sender<Stage>,
    is_replaced: Cell<bool>,
}

impl SharedView {
    /// Has a lane open one. `None` if the lane takes nothing more.
    pub(super) fn open(lane: &Rc<Lane>, shared: &Arc<Shared>) -> Option<Rc<Self>> {
        // Before it is sent.
        let contains = shared.freshness().valid_from();
        let prefix = query_prefix(lane.capabilities().contains(Capabilities::QUERY_ATTRIBUTES));
        let packet = |statement: &str| [&prefix, statement.as_bytes()].concat();
        let opened = lane.begin(&packet(BEGIN), &packet(END))?;
        let view = Rc::new(Self {
            contains,
            since: Instant::now(),
            stage: watch::Sender::new(Stage::Unsettled),
            is_replaced: Cell::new(false),
        });
        let (kept, lane, shared) = (Rc::clone(&view), Rc::clone(lane), Arc::clone(shared));
        tokio::task::spawn_local(async move { kept.attend(&lane, opened, &shared).await });
        Some(view)
    }

    /// What it shows at least: `valid_from` of what is read in it.
    pub(crate) fn contains(&self, freshness: &Freshness) -> Position {
        if sabotage::is(Sabotage::OldViews) { freshness.valid_from() } else { self.contains }
    }

    /// Whether a read may still be sent to it.
    pub(super) fn is_young(&self) -> bool {
        self.since.elapsed() < AGE_MAX && *self.stage.borrow() != Stage::Failed
    }

    /// The lane has begun another one.
    pub(super) fn note_replaced(&self) {
        self.is_replaced.set(true);
    }

    /// Waits until all that it shows is applied. How many ends of the binlog had been asked for when it was open; `None` if that is not to be known.
    pub(crate) async fn settled(&self) -> Option<u64> {
        let mut stage = self.stage.subscribe();
        match *stage.wait_for(|stage| *stage != Stage::Unsettled).await.ok()? {
            Stage::Settled { ends_asked } => Some(ends_asked),
            Stage::Unsettled | Stage::Failed => None,
        }
    }

    /// Sees it through until it is replaced or ended.
    async fn attend(&self, lane: &Lane, opened: oneshot::Receiver<LaneOutcome>, shared: &Shared) {
        let stage = match opened.await {
            Ok(Ok(carried)) if carried.frames.get(HEADER_LEN) == Some(&0) => settle(shared).await,
            _ => Stage::Failed,
        };
        self.stage.send_replace(stage);
        if stage == Stage::Failed {
            return lane.close();
        }
        sleep(UNUSED_MAX).await;
        if !self.is_replaced.get() {
            lane.end();
        }
    }
}

/// Waits until all is applied that a read view shows which has just been opened.
async fn settle(shared: &Shared) -> Stage {
    let (upstream, freshness) = (&shared.upstream, shared.freshness());
    let ends_asked = freshness.ends_asked();
    let look = || {
        if sabotage::is(Sabotage::EarlyViews) {
            return Some(Stage::Settled { ends_asked: 0 });
        }
        if freshness.is_settled(ends_asked) {
            return Some(Stage::Settled { ends_asked });
        }
        upstream.ask_end();
        None
    };
    found_within(upstream, SETTLING_MAX, look).await.unwrap_or(Stage::Failed)
}
