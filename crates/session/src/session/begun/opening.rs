//! A read view that the server opens for a transaction while its client takes its time.

use std::time::Duration;

use freshet_cache::{Fences, Holds as Held};
use freshet_protocol::{Command, StatusFlags};
use tokio::time::{Instant, timeout_at};

use super::words::{savepoint, start_snapshot};
use crate::registry::Handle;
use crate::relay::Lost;
use crate::session::view::ReadView;
use crate::session::{Lease, query_prefix};
use crate::shared::Shared;

/// How long a transaction may go on with what it has read from memory before the server opens a read view for it.
pub(super) const UNOPENED_MAX: Duration = Duration::from_millis(10);

/// How long it is then waited for the proof of what was read, at most.
const SETTLED_MAX: Duration = Duration::from_millis(20);

/// A read view that is opened while nobody waits for it.
#[derive(Clone, Copy)]
pub(in crate::session) struct Opening {
    pub(in crate::session) due: Instant,
    pub(super) is_read_only: bool,
}

impl Opening {
    /// Has the server open it, and waits a little for the proof that what was served is true in it.
    ///
    /// # Errors
    /// The server is lost.
    pub(in crate::session) async fn open(
        self,
        (handle, lease, view): (&Handle, &mut Lease, &mut ReadView),
        shared: &Shared,
    ) -> Result<Opened, Lost> {
        let freshness = shared.freshness();
        view.opened(freshness.valid_from(), u64::MAX);
        let savepoints: Vec<String> = view.savepoints.iter().map(|name| savepoint(name)).collect();
        // Each in a packet of its own, in one write.
        let statements = [&[start_snapshot(self.is_read_only)], savepoints.as_slice()].concat();
        let Some((last, before)) = statements.split_last() else { return Ok(Opened::Refused(None)) };
        let prefix = query_prefix(lease.has_attributes());
        lease.send(before, &[&prefix, last.as_bytes()].concat()).await?;
        let (mut status, mut is_refused) = (None, false);
        for _ in &statements {
            let relayed = lease.unseen_answer(Command::Query, handle).await?;
            is_refused |= relayed.error.is_some();
            status = relayed.status.or(status);
        }
        if is_refused {
            return Ok(Opened::Refused(status));
        }
        view.is_open_since(freshness.ends_asked());
        if is_proven(view, shared, SETTLED_MAX).await {
            view.is_proven();
        }
        Ok(Opened::Open(status))
    }
}

/// Whether what was served is proven to be true in the server's read view, at once or within this time.
pub(super) async fn is_proven(view: &ReadView, shared: &Shared, wait_max: Duration) -> bool {
    let Some(ends_asked) = view.unproven() else { return true };
    let (freshness, deadline) = (shared.freshness(), Instant::now() + wait_max);
    loop {
        let fences = if shared.writes_unlogged() { Fences::Refuse } else { Fences::Ignore };
        let held =
            if freshness.is_settled(ends_asked) { view.holds(freshness, fences) } else { Held::NotYet };
        match held {
            Held::Proven => return true,
            Held::Changed => return false,
            Held::NotYet if timeout_at(deadline, shared.upstream.more_is_settled()).await.is_err() => {
                return false;
            }
            Held::NotYet => {}
        }
    }
}

/// What became of it, with the last flags of the session.
pub(in crate::session) enum Opened {
    Open(Option<StatusFlags>),
    Refused(Option<StatusFlags>),
}
