//! Connections that sessions have given up, for the next session that needs one just like that: of the same login, in the same environment.
//!
//! On such a connection nothing of the session before is left that the next one could see, but for two things that are known of it: what
//! `LAST_INSERT_ID()` says there, and the statements that are prepared there, which are taken for those of the same text.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use freshet_upstream::{Connection, now_ms};

use super::Lease;
use crate::auth::{Epoch, LoginFit};
use crate::shared::Shared;

/// How long a connection waits for a session, in milliseconds.
const KEPT_MS_MAX: u64 = 3_000;
/// How often it is looked at whether it has waited for longer.
const SWEEP_PERIOD: Duration = Duration::from_secs(1);

thread_local! {
    static POOL: Pool = Pool::default();
}

/// What two sessions have in common of which one may have the connection of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PoolFit {
    /// Where what all sessions share lies.
    shared: usize,
    /// The environment's identity.
    environment: u32,
    login: LoginFit,
}

/// A connection that waits.
struct Waiting {
    fit: PoolFit,
    lease: Lease,
    epoch: Epoch,
    since_ms: u64,
    _counted: Counted,
}

/// One that is counted as long as it waits.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn among(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(all))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connections of one thread that wait, the last to come last.
#[derive(Default)]
struct Pool {
    waiting: RefCell<HashMap<u32, Vec<Waiting>>>,
    /// Somebody closes those that have waited for too long.
    is_swept: Cell<bool>,
}

impl PoolFit {
    pub(super) fn new(shared: &Arc<Shared>, environment: u32, login: LoginFit) -> Self {
        Self { shared: Arc::as_ptr(shared) as usize, environment, login }
    }
}

/// Keeps a connection for the next one.
pub(super) fn put(shared: &Shared, fit: PoolFit, lease: Lease, epoch: Epoch) {
    let environment = fit.environment;
    let counted = Counted::among(&shared.pooled);
    let waiting = Waiting { fit, lease, epoch, since_ms: now_ms(), _counted: counted };
    POOL.with(|pool| {
        pool.waiting.borrow_mut().entry(environment).or_default().push(waiting);
        if !pool.is_swept.replace(true) {
            tokio::task::spawn_local(sweep());
        }
    });
}

/// A connection, the one that came last, so that the others come of age.
pub(super) async fn take(fit: &PoolFit, now: Epoch) -> Option<Lease> {
    while let Some(mut waiting) = POOL.with(|pool| pool.pop(fit)) {
        if waiting.may_serve(now) && waiting.lease.is_quiet().await {
            return Some(waiting.lease);
        }
        close(waiting.lease);
    }
    None
}

/// Closes those that have waited for too long, for as long as there are any.
async fn sweep() {
    loop {
        tokio::time::sleep(SWEEP_PERIOD).await;
        let (over, are_none) = POOL.with(Pool::sweep);
        over.into_iter().for_each(|waiting| close(waiting.lease));
        if are_none {
            return;
        }
    }
}

pub(super) fn close(mut lease: Lease) {
    if let Some(connection) = lease.take() {
        tokio::task::spawn_local(Connection::quit(connection));
    }
}

impl Waiting {
    fn may_serve(&self, now: Epoch) -> bool {
        self.epoch.begins_alike(now) && self.is_young()
    }

    fn is_young(&self) -> bool {
        now_ms().saturating_sub(self.since_ms) < KEPT_MS_MAX
    }
}

impl Pool {
    fn pop(&self, fit: &PoolFit) -> Option<Waiting> {
        let mut all = self.waiting.borrow_mut();
        let waiting = all.get_mut(&fit.environment)?;
        let at = waiting.iter().rposition(|waiting| waiting.fit == *fit)?;
        Some(waiting.remove(at))
    }

    /// Takes those out that have waited for too long, and says whether there are no others.
    fn sweep(&self) -> (Vec<Waiting>, bool) {
        let mut all = self.waiting.borrow_mut();
        let over = all.values_mut().flat_map(|of| of.extract_if(.., |waiting| !waiting.is_young())).collect();
        all.retain(|_, of| !of.is_empty());
        self.is_swept.set(!all.is_empty());
        (over, all.is_empty())
    }
}
