//! A read view that the server opens for a transaction while its client takes its time.

use std::time::Duration;

use freshet_cache::{Fences, Holds};
use freshet_protocol::{Command, StatusFlags};
use tokio::time::Instant;

use super::shown::{self, ServerSide};
use super::words::{savepoint, starts};
use crate::relay::Lost;
use crate::session::State;
use crate::session::tx::Begun;
use crate::session::view::ReadView;
use crate::settling::found_within;
use crate::shared::Shared;

/// How long a transaction may go on with its reads from memory before the server opens a read view for it.
pub(super) const UNOPENED_MAX: Duration = Duration::from_millis(10);

/// The same for a transaction whose reads need no read view of its own, whether or not they are in memory: `RIDING_MAX` in all, and
/// `THINKING_MAX` for its client to take its time over one command.
pub(super) const RIDING_MAX: Duration = Duration::from_secs(1);
pub(super) const THINKING_MAX: Duration = Duration::from_millis(100);

/// How long Freshet then waits at most for the proof of the served results.
const SETTLED_MAX: Duration = Duration::from_millis(20);

/// A read view that opens while no statement waits for it.
#[derive(Clone, Copy)]
pub(in crate::session) struct Opening {
    pub(in crate::session) due: Instant,
    pub(super) begun: Begun,
}

impl Opening {
    /// Has the server open the read view.
    ///
    /// # Errors
    /// The server is lost.
    pub(in crate::session) async fn open(
        self,
        ServerSide { handle, lease, view }: ServerSide<'_>,
        shared: &Shared,
    ) -> Result<Opened, Lost> {
        let freshness = shared.freshness();
        view.opened(freshness.valid_from(), u64::MAX);
        let savepoints = view.savepoints.here().iter().map(|name| savepoint(name)).collect();
        let starts = starts(self.begun, view.said(), true);
        let questions = shown::questions(view, shared, starts.len());
        let asked = questions.len();
        // Each statement in a packet of its own, all in one write.
        let statements: Vec<String> = [starts, questions, savepoints].concat();
        if statements.is_empty() {
            return Ok(Opened::Refused(None));
        }
        lease.send_all(&statements).await?;
        let (mut status, mut is_refused) = (None, false);
        for _ in 0..statements.len() - asked {
            let relayed = lease.unseen_answer(Command::Query, handle).await?;
            is_refused |= relayed.error.is_some();
            status = relayed.status.or(status);
            shown::read(ServerSide { handle, lease, view }, shared).await?;
        }
        if is_refused {
            return Ok(Opened::Refused(status));
        }
        view.note_open(freshness);
        view.asks_if_unsettled(&shared.upstream, freshness);
        Ok(Opened::Open(status))
    }
}

/// Waits a little for the proof that the served results are true in the read view that was opened.
pub(in crate::session) async fn is_proven_soon(view: &mut ReadView, shared: &Shared) -> bool {
    is_proven(view, shared, SETTLED_MAX).await
}

/// Whether the served results are proven to be true in the server's read view, at once or within this time.
pub(super) async fn is_proven(view: &mut ReadView, shared: &Shared, wait_max: Duration) -> bool {
    let look = || match is_proven_now(view, shared) {
        Holds::Proven => Some(true),
        Holds::Changed => Some(false),
        Holds::NotYet => {
            if view.settles(&shared.upstream, shared.freshness()) {
                shared.upstream.ask_probe();
            } else {
                shared.upstream.ask_end();
            }
            None
        }
    };
    found_within(&shared.upstream, wait_max, look).await.unwrap_or(false)
}

/// Whether no table of a served result has been redefined, as far as is known at once or within this time.
pub(super) async fn is_as_defined(view: &ReadView, shared: &Shared, wait_max: Duration) -> bool {
    let look = || match view.are_as_defined(shared.freshness()) {
        Holds::Proven => Some(true),
        Holds::Changed => Some(false),
        Holds::NotYet => {
            shared.upstream.ask_end();
            None
        }
    };
    found_within(&shared.upstream, wait_max, look).await.unwrap_or(false)
}

/// Whether the served results are proven at this moment.
pub(in crate::session) fn is_proven_now(view: &mut ReadView, shared: &Shared) -> Holds {
    if !view.is_unproven() {
        return Holds::Proven;
    }
    view.settles(&shared.upstream, shared.freshness());
    let fences = if shared.writes_unlogged() { Fences::Refuse } else { Fences::Ignore };
    let held = view.holds(shared.freshness(), fences);
    if held == Holds::Proven {
        view.note_proven();
    }
    held
}

/// The outcome of the opening, with the last flags of the session.
pub(in crate::session) enum Opened {
    Open(Option<StatusFlags>),
    Refused(Option<StatusFlags>),
}

impl Opened {
    /// Notes the outcome. Returns whether the read view is open.
    pub(in crate::session) fn note(self, state: &mut State) -> bool {
        match self {
            Self::Open(status) => {
                state.tx.answered(true, status, false);
                true
            }
            Self::Refused(status) => {
                state.note_not_entered(status);
                state.view_mut().tries_no_more();
                false
            }
        }
    }
}
