//! What query rules say of time: a statement waits before it is sent, and is killed if the server takes too long for it.

use std::sync::Arc;
use std::time::Duration;

use freshet_upstream::{Connection, Error};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::warn;

use super::Session;
use crate::auth::Admitted;
use crate::registry::Ending;
use crate::relay::Lost;
use crate::shared::Shared;
use crate::wire::WireError;

/// The task that kills a statement that takes too long.
pub(super) struct Killer {
    stands_down: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Session {
    /// Waits as long as a rule says. A session that ends meanwhile does not wait.
    ///
    /// # Errors
    /// The session has ended.
    pub(super) async fn delays(&mut self, delay: Duration) -> Result<(), Lost> {
        let handle = Arc::clone(&self.handle);
        tokio::select! {
            biased;
            _ = handle.ends(Ending::Cut) => Err(Lost::Client(WireError::Ended)),
            () = tokio::time::sleep(delay) => Ok(()),
        }
    }

    /// Starts a task that kills the next statement after this time.
    pub(super) fn kills_after(&self, limit: Duration) -> Killer {
        let (stands_down, is_done) = oneshot::channel();
        let (shared, admitted, thread) =
            (Arc::clone(&self.shared), self.admitted.hand_over(), self.handle.thread_id());
        let task = tokio::spawn(async move {
            if tokio::time::timeout(limit, is_done).await.is_ok() {
                return;
            }
            if let Err(error) = kill(&shared, admitted, thread).await {
                warn!(%error, thread, "a statement that took too long could not be killed");
            }
        });
        Killer { stands_down, task }
    }
}

impl Killer {
    /// Ends the task because the statement is over. Returns when the task can kill nothing any more, so that no later statement is killed.
    pub(super) async fn stand_down(self) {
        let _ = self.stands_down.send(());
        let _ = self.task.await;
    }
}

/// Kills the statement on a connection: as the connection's own account, which always may, or as Freshet's account if the password is
/// unknown.
async fn kill(shared: &Shared, admitted: Admitted, thread: u32) -> Result<(), Error> {
    let mut kills = Kills::of(shared, admitted, thread).await;
    let killed = kills.once().await;
    kills.end().await;
    killed
}

/// Kills one statement after the other on a connection.
pub(super) struct Kills<'a> {
    shared: &'a Shared,
    statement: String,
    /// A connection of the account's own, if its password is known.
    own: Option<Connection>,
}

impl<'a> Kills<'a> {
    /// For the connection with the server's number `thread`.
    pub(super) async fn of(shared: &'a Shared, mut admitted: Admitted, thread: u32) -> Self {
        let is_open = crate::auth::open(&shared.gate, &mut admitted).await.is_ok();
        let own = if is_open { admitted.upstream.take() } else { None };
        Self { shared, statement: format!("KILL QUERY {thread}"), own }
    }

    /// Kills the statement that is carried out now.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub(super) async fn once(&mut self) -> Result<(), Error> {
        match &mut self.own {
            Some(own) => own.query(&self.statement).await.map(drop),
            None => self.shared.upstream.ask(&self.statement).await.map(drop),
        }
    }

    /// Closes the connection of the account's own.
    pub(super) async fn end(self) {
        if let Some(own) = self.own {
            own.quit().await;
        }
    }
}
