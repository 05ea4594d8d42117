//! Connections that sessions have given up, for the next session of the same login in the same environment that needs one.
//!
//! Such a connection has nothing of the session before that the next session could see, except for two known facts: the value of
//! `LAST_INSERT_ID()` on it, and its prepared statements, which the next session uses for the same texts.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use freshet_upstream::{Connection, Error, Lane, now_ms};
use tokio::sync::oneshot;
use tracing::debug;

use super::Lease;
use crate::auth::{Admitted, Epoch, LoginFit};
use crate::environment::Environment;
use crate::registry::Handle;
use crate::shared::Shared;

/// How long a connection waits for a session, in milliseconds.
const KEPT_MS_MAX: u64 = 3_000;
/// If many sessions have a connection, the next session waits so long for one that is given up, before another is opened.
const SOUGHT_MAX: Duration = Duration::from_millis(50);
/// A session does not wait if no matching connection was given up for this long, in milliseconds.
const COMES_MS: u64 = 1_000;
/// How often the pool checks whether a connection has waited too long.
const SWEEP_PERIOD: Duration = Duration::from_secs(1);

thread_local! {
    static POOL: Pool = Pool::default();
}

/// What two sessions have in common if one may take over the connection of the other.
#[derive(Debug, Clone)]
pub(super) struct PoolFit {
    /// The address of the state that all sessions share.
    shared: usize,
    /// The environment of both sessions.
    pub(super) environment: Arc<Environment>,
    login: LoginFit,
    /// The collation to which MariaDB goes back when the session is reset.
    collation: u8,
}

/// The state of the connection that a session has given up.
#[derive(Debug)]
pub(super) struct GivenUp {
    /// The next connection must fit this.
    pub(super) fit: PoolFit,
    /// The value of `LAST_INSERT_ID()` for the client.
    pub(super) insert_id: u64,
    /// The SETs and the USE that have led to the environment, if the session has had no connection yet.
    pub(super) said: Option<Vec<String>>,
}

impl GivenUp {
    /// Takes a connection that another session has given up in the same environment. If many sessions have one, and somebody `waits` for
    /// it, waits a little for a connection that is given up. Returns `None` if there was one.
    pub(super) async fn take_over(
        self,
        lease: &mut Lease,
        handle: &Handle,
        shared: &Shared,
        waits: bool,
    ) -> Option<Self> {
        let Some(epoch) = shared.gate.epoch() else { return Some(self) };
        let mut taken = take(&self.fit, epoch).await;
        if taken.is_none()
            && waits
            && shared.are_many_connected()
            && POOL.with(|pool| pool.has_come(&self.fit))
        {
            taken = next(&self.fit).await;
        }
        let Some(mut taken) = taken else { return Some(self) };
        if let Err(error) = self.restores_insert_id(&mut taken).await {
            debug!(%error, "a connection that was given up is lost");
            return Some(self);
        }
        lease.note_taken_over(taken);
        handle.goes_on();
        handle.set_thread_id(lease.thread_id());
        None
    }

    /// Sets `LAST_INSERT_ID()` on a connection to the client's value.
    ///
    /// # Errors
    /// The connection is lost, or is useless.
    pub(super) async fn restores_insert_id(&self, lease: &mut Lease) -> Result<(), Error> {
        let id = self.insert_id;
        lease.note_id_moves_here(id);
        if lease.insert_id() != Some(id) {
            let done = lease.ask(&format!("DO LAST_INSERT_ID({id})")).await;
            if done.is_err() {
                // The client would get another value.
                lease.lose();
            }
            done?;
            lease.note_insert_id(Some(id));
        }
        Ok(())
    }
}

/// A connection that a session has given up.
#[derive(Debug)]
pub(super) struct ReleasedConnection {
    pub(super) fit: PoolFit,
    pub(super) lease: Lease,
    /// The state of accounts at that time.
    pub(super) epoch: Epoch,
}

impl ReleasedConnection {
    /// Keeps the connection for the next session.
    pub(super) fn put(mut self, shared: &Shared) {
        let is_of_now = || shared.gate.epoch().is_some_and(|now| self.epoch.begins_alike(now));
        POOL.with(|pool| pool.given_up_ms.borrow_mut().insert(self.fit.environment.id, now_ms()));
        let seeker = POOL.with(|pool| pool.seeker(&self.fit)).filter(|_| is_of_now());
        if let Some(seeker) = seeker {
            match seeker.send(self.lease) {
                Ok(()) => return,
                Err(unsent) => self.lease = unsent,
            }
        }
        if shared.full.is_now() {
            // The session that needs a connection may be on another thread, and of another login.
            return close(self.lease);
        }
        let environment = self.fit.environment.id;
        let pooled = PooledConnection {
            released: self,
            since_ms: now_ms(),
            _counted: PooledCount::among(&shared.pooled),
        };
        POOL.with(|pool| {
            pool.pooled.borrow_mut().entry(environment).or_default().push(pooled);
            if !pool.is_swept.replace(true) {
                tokio::task::spawn_local(sweep());
            }
        });
    }

    /// Makes a lane of the connection that belongs to nobody: when nobody uses the lane any more, the connection is kept for the next
    /// session. `None` if it cannot be a lane.
    pub(super) fn into_lane(mut self, shared: &Arc<Shared>) -> Option<Rc<Lane>> {
        let (lane, returning) = Lane::start(self.lease.take_to_lend()?);
        lane.belongs_to_nobody();
        self.lease.lend_as(returning);
        let shared = Arc::clone(shared);
        tokio::task::spawn_local(async move {
            let Some(lent) = self.lease.lent() else { return };
            let connection = lent.await;
            self.lease.give_back(connection);
            match self.lease.has_diagnostics() {
                false if !self.lease.is_lost() => self.put(&shared),
                _ => close(self.lease),
            }
        });
        Some(lane)
    }
}

/// A released connection that waits in the pool.
struct PooledConnection {
    released: ReleasedConnection,
    since_ms: u64,
    _counted: PooledCount,
}

/// A session that waits for a connection.
struct Seeker {
    fit: PoolFit,
    reply: oneshot::Sender<Lease>,
}

/// Counts a connection for as long as it waits.
struct PooledCount(Arc<AtomicUsize>);

impl PooledCount {
    fn among(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(all))
    }
}

impl Drop for PooledCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The waiting connections of one thread, the newest last.
#[derive(Default)]
struct Pool {
    pooled: RefCell<HashMap<u32, Vec<PooledConnection>>>,
    /// When the last connection of each environment was given up, in monotonic milliseconds.
    given_up_ms: RefCell<HashMap<u32, u64>>,
    /// Sessions that wait for a connection, the oldest first.
    seekers: RefCell<VecDeque<Seeker>>,
    /// Whether a task closes the connections that have waited too long.
    is_swept: Cell<bool>,
}

impl PoolFit {
    pub(super) fn new(shared: &Arc<Shared>, environment: &Arc<Environment>, admitted: &Admitted) -> Self {
        Self {
            shared: Arc::as_ptr(shared) as usize,
            environment: Arc::clone(environment),
            login: LoginFit::of(&admitted.login, admitted.channel),
            collation: admitted.login.collation,
        }
    }

    /// Whether nothing distinguishes the two sessions. One identity of their environments is not enough: it does not say how transactions
    /// begin, for example.
    fn is(&self, other: &Self) -> bool {
        let is_environment =
            || Arc::ptr_eq(&self.environment, &other.environment) || self.environment.is(&other.environment);
        let is_login = || self.login == other.login && self.collation == other.collation;
        self.shared == other.shared && is_login() && is_environment()
    }
}

/// Takes the newest waiting connection, so that the others grow old and are closed.
async fn take(fit: &PoolFit, now: Epoch) -> Option<Lease> {
    while let Some(mut pooled) = POOL.with(|pool| pool.pop(fit)) {
        if pooled.may_serve(now) && pooled.released.lease.is_quiet().await {
            return Some(pooled.released.lease);
        }
        close(pooled.released.lease);
    }
    None
}

/// Returns the next connection that is given up, if that is soon.
async fn next(fit: &PoolFit) -> Option<Lease> {
    let (reply, mut given) = oneshot::channel();
    POOL.with(|pool| pool.seekers.borrow_mut().push_back(Seeker { fit: fit.clone(), reply }));
    let mut found = match tokio::time::timeout(SOUGHT_MAX, &mut given).await {
        Ok(lease) => lease.ok()?,
        Err(_) => {
            // A connection may have arrived just now.
            given.close();
            given.try_recv().ok()?
        }
    };
    if found.is_quiet().await {
        return Some(found);
    }
    close(found);
    None
}

/// Closes the connections that have waited too long, as long as there are any.
async fn sweep() {
    loop {
        tokio::time::sleep(SWEEP_PERIOD).await;
        let (over, are_none) = POOL.with(Pool::sweep);
        over.into_iter().for_each(|pooled| close(pooled.released.lease));
        if are_none {
            return;
        }
    }
}

/// Closes the connection that has waited longest, to make room for another kind of connection.
pub(super) fn makes_room() {
    if let Some(pooled) = POOL.with(Pool::oldest) {
        close(pooled.released.lease);
    }
}

fn close(mut lease: Lease) {
    if let Some(connection) = lease.take() {
        tokio::task::spawn_local(Connection::quit(connection));
    }
}

impl PooledConnection {
    fn may_serve(&self, now: Epoch) -> bool {
        self.released.epoch.begins_alike(now) && self.is_young()
    }

    fn is_young(&self) -> bool {
        now_ms().saturating_sub(self.since_ms) < KEPT_MS_MAX
    }
}

impl Pool {
    /// Whether a matching connection was given up recently, so that another may be soon.
    fn has_come(&self, fit: &PoolFit) -> bool {
        let last = self.given_up_ms.borrow().get(&fit.environment.id).copied();
        last.is_some_and(|at_ms| now_ms().saturating_sub(at_ms) < COMES_MS)
    }

    /// Returns the session that has waited longest for such a connection.
    fn seeker(&self, fit: &PoolFit) -> Option<oneshot::Sender<Lease>> {
        let mut seekers = self.seekers.borrow_mut();
        seekers.retain(|seeker| !seeker.reply.is_closed());
        let at = seekers.iter().position(|seeker| seeker.fit.is(fit))?;
        seekers.remove(at).map(|seeker| seeker.reply)
    }

    fn pop(&self, fit: &PoolFit) -> Option<PooledConnection> {
        let mut all = self.pooled.borrow_mut();
        let pooled = all.get_mut(&fit.environment.id)?;
        let at = pooled.iter().rposition(|pooled| pooled.released.fit.is(fit))?;
        Some(pooled.remove(at))
    }

    fn oldest(&self) -> Option<PooledConnection> {
        let mut all = self.pooled.borrow_mut();
        let first = |of: &Vec<PooledConnection>| of.first().map(|pooled| pooled.since_ms);
        let of = all.values_mut().filter(|of| !of.is_empty()).min_by_key(|of| first(of))?;
        Some(of.remove(0))
    }

    /// Removes the connections that have waited too long, and returns whether none are left.
    fn sweep(&self) -> (Vec<PooledConnection>, bool) {
        let mut all = self.pooled.borrow_mut();
        let over = all.values_mut().flat_map(|of| of.extract_if(.., |pooled| !pooled.is_young())).collect();
        all.retain(|_, of| !of.is_empty());
        self.given_up_ms.borrow_mut().retain(|_, at_ms| now_ms().saturating_sub(*at_ms) < COMES_MS);
        self.is_swept.set(!all.is_empty());
        (over, all.is_empty())
    }
}
