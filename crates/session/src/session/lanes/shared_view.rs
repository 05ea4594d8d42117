//! A read view that the reads of many transactions share.
//!
//! A transaction at REPEATABLE READ that the server does not know of shows the state of one moment. Its results from memory are true at
//! that moment (`session/view.rs`). Its other reads need no transaction of the client's own at the server either: they are sent to a lane
//! that is in a transaction itself. Their results are then given by the same rule as stored results ([`freshet_cache::snapshot`]).
//! `contains` is `visible`, read before the lane's read view was opened, and is the `valid_from` of all reads in it. The read view settles
//! once, for all of its reads: a single read would have to wait until the stream passes an end of the binlog that was asked for after it.
//!
//! A read view is handed out for [`AGE_MAX`]. The next reader has the lane begin another one. A read view does not show later writes: the
//! rule refuses its results then, and the client's transaction begins at the server. The server ends a read view that is not replaced, so
//! that neither a definition nor the purge of old rows waits for it.

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

/// How old a read view may be when a read is sent to it.
const AGE_MAX: Duration = Duration::from_millis(20);

/// How long a read view without readers stays open.
const UNUSED_MAX: Duration = Duration::from_millis(40);

/// How long a read waits for its read view to settle: an overloaded server takes its time.
const SETTLING_MAX: Duration = Duration::from_millis(100);

const BEGIN: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/// The stage of a read view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ViewStage {
    /// The server has not said that the read view is open, or Freshet does not know that all it shows is applied.
    Unsettled,
    /// All that the read view shows is applied. When it was open, this many ends of the binlog had been asked for.
    Settled { ends_asked: u64 },
    /// The read view was not opened, or does not settle.
    Failed,
}

/// A read view on a lane.
#[derive(Debug)]
pub(crate) struct SharedView {
    contains: Position,
    since: Instant,
    stage: watch::Sender<ViewStage>,
    is_replaced: Cell<bool>,
}

impl SharedView {
    /// Has a lane open a read view. `None` if the lane takes nothing more.
    pub(super) fn open(lane: &Rc<Lane>, shared: &Arc<Shared>) -> Option<Rc<Self>> {
        // Read before the statement is sent.
        let contains = shared.freshness().valid_from();
        let prefix = query_prefix(lane.capabilities().contains(Capabilities::QUERY_ATTRIBUTES));
        let packet = |statement: &str| [&prefix, statement.as_bytes()].concat();
        let opened = lane.begin(&packet(BEGIN), &packet(END))?;
        let view = Rc::new(Self {
            contains,
            since: Instant::now(),
            stage: watch::Sender::new(ViewStage::Unsettled),
            is_replaced: Cell::new(false),
        });
        let (kept, lane, shared) = (Rc::clone(&view), Rc::clone(lane), Arc::clone(shared));
        tokio::task::spawn_local(async move { kept.attend(&lane, opened, &shared).await });
        Some(view)
    }

    /// Returns what the read view shows at least: `valid_from` of all reads in it.
    pub(crate) fn contains(&self, freshness: &Freshness) -> Position {
        if sabotage::is(Sabotage::OldViews) { freshness.valid_from() } else { self.contains }
    }

    /// Whether a read may still be sent to this read view.
    pub(super) fn is_young(&self) -> bool {
        self.since.elapsed() < AGE_MAX && *self.stage.borrow() != ViewStage::Failed
    }

    /// Notes that the lane has begun another read view.
    pub(super) fn note_replaced(&self) {
        self.is_replaced.set(true);
    }

    /// Waits until all that the read view shows is applied. Returns how many ends of the binlog had been asked for when it was open; `None`
    /// if that is unknown.
    pub(crate) async fn settled(&self) -> Option<u64> {
        let mut stage = self.stage.subscribe();
        match *stage.wait_for(|stage| *stage != ViewStage::Unsettled).await.ok()? {
            ViewStage::Settled { ends_asked } => Some(ends_asked),
            ViewStage::Unsettled | ViewStage::Failed => None,
        }
    }

    /// Accompanies the read view until it is replaced or ended.
    async fn attend(&self, lane: &Lane, opened: oneshot::Receiver<LaneOutcome>, shared: &Shared) {
        let stage = match opened.await {
            Ok(Ok(carried)) if carried.frames.get(HEADER_LEN) == Some(&0) => settle(shared).await,
            _ => ViewStage::Failed,
        };
        self.stage.send_replace(stage);
        if stage == ViewStage::Failed {
            return lane.close();
        }
        sleep(UNUSED_MAX).await;
        if !self.is_replaced.get() {
            lane.end();
        }
    }
}

/// Waits until all is applied that a just opened read view shows.
async fn settle(shared: &Shared) -> ViewStage {
    let (upstream, freshness) = (&shared.upstream, shared.freshness());
    let ends_asked = freshness.ends_asked();
    let look = || {
        if sabotage::is(Sabotage::EarlyViews) {
            return Some(ViewStage::Settled { ends_asked: 0 });
        }
        if freshness.is_settled(ends_asked) {
            return Some(ViewStage::Settled { ends_asked });
        }
        upstream.ask_end();
        None
    };
    found_within(upstream, SETTLING_MAX, look).await.unwrap_or(ViewStage::Failed)
}
