//! The fences that wait, and the proofs for which they wait.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use freshet_cache::Position;
use freshet_protocol::binlog::Gtid;

use super::WriteOutcome;
use super::executed::{AppliedGtids, GtidFate, ShownGtids};
use super::owners::{Judging, Owners};
use super::unseen::Unseen;

/// A longer wait for a GTID is turned into a wait for a position, in milliseconds. A longer wait would do no harm; this is for GTIDs that
/// never come, such as one that a filter keeps from us.
const GTID_WAIT_MS_MAX: u64 = 200;

/// How long the outcome of a write on a broken connection may stay open before the stream is started anew, in milliseconds.
const UNKNOWN_MS_MAX: u64 = 600_000;

/// The most fences that wait at once. At this bound all of those with a known outcome are exchanged for one fence on everything, which
/// lasts until all of them are settled.
const WAITING_MAX: usize = 65_536;

/// The most writes on broken connections whose outcome is open at once. At this bound the stream is started anew, which ends the wait.
/// Each of them keeps a thread of the server, so the server's `max_connections` comes first: no client can empty the cache by breaking
/// off writes.
const UNKNOWN_MAX: usize = WAITING_MAX / 2;

/// All fences that wait. `F` is the fence: dropping it lifts it.
///
/// The lock is held for a few map operations only, and never while a fence is dropped.
pub(crate) struct Settling<F> {
    inner: Mutex<SettlingState<F>>,
    /// How often fences were exchanged for one on everything.
    exchanged: AtomicU64,
    on_everything: Box<dyn Fn() -> F + Send + Sync>,
    on_visible: Box<dyn Fn(Position) + Send + Sync>,
    on_owners: Box<dyn Fn(Owners) + Send + Sync>,
}

struct SettlingState<F> {
    /// `None` between two generations: then no earlier result can be served again.
    executed: Option<AppliedGtids>,
    applied: Position,
    unseen: Unseen,
    judging: Judging,
    next_id: u64,
    by_id: HashMap<u64, WaitingFence<F>>,
    by_gtid: HashMap<Gtid, Vec<u64>>,
    /// In the order of arrival; entries that were settled meanwhile are skipped.
    by_age: VecDeque<(u64, u64)>,
    unbound: Vec<F>,
    asked: Vec<F>,
    bound: BTreeMap<Position, Vec<F>>,
    /// The number of fences in `bound`.
    bound_len: usize,
    /// In the order of arrival.
    unknown: Vec<Unknown<F>>,
    /// The present server was started at this moment or later.
    server_started_ms: u64,
}

struct WaitingFence<F> {
    fence: F,
    /// The GTIDs that have not come yet.
    missing: Vec<Gtid>,
}

struct Unknown<F> {
    fence: F,
    thread_id: u32,
    opened_ms: u64,
    since_ms: u64,
    /// The list of processes that is under way was asked for after this entry arrived.
    listed: bool,
}

impl<F> Settling<F> {
    /// Makes a registry in which nothing waits, without a stream. `on_everything` raises a fence on everything. `on_visible` is told what
    /// every snapshot from now on contains, where acknowledgements prove it. `on_owners` is told whose the transactions are, where that
    /// is known.
    pub(crate) fn new(
        on_everything: impl Fn() -> F + Send + Sync + 'static,
        on_visible: impl Fn(Position) + Send + Sync + 'static,
        on_owners: impl Fn(Owners) + Send + Sync + 'static,
    ) -> Self {
        let inner = SettlingState {
            executed: None,
            applied: Position::ZERO,
            unseen: Unseen::default(),
            judging: Judging::default(),
            next_id: 0,
            by_id: HashMap::new(),
            by_gtid: HashMap::new(),
            by_age: VecDeque::new(),
            unbound: Vec::new(),
            asked: Vec::new(),
            bound: BTreeMap::new(),
            bound_len: 0,
            unknown: Vec::new(),
            server_started_ms: 0,
        };
        Self {
            inner: Mutex::new(inner),
            exchanged: AtomicU64::new(0),
            on_everything: Box::new(on_everything),
            on_visible: Box::new(on_visible),
            on_owners: Box::new(on_owners),
        }
    }

    /// Hands over a fence. `true` if a position is wanted now: see [`Self::begin_bound`].
    pub(crate) fn settle(&self, fence: F, outcome: WriteOutcome, now_ms: u64) -> bool {
        let mut inner = self.lock();
        let lifted = inner.settle(fence, outcome, now_ms);
        let collapsed = if inner.len() > WAITING_MAX { inner.take_committed() } else { Vec::new() };
        if !collapsed.is_empty() {
            let everything = (self.on_everything)();
            // Release, and before any of them is lifted: a thread that sees one lifted sees this count.
            self.exchanged.fetch_add(1, Ordering::Release);
            inner.unbound.push(everything);
        }
        let wants_bound = !inner.unbound.is_empty();
        let (visible, owners) = (inner.unseen.visible(), inner.owners(now_ms));
        drop(inner);
        (self.on_owners)(owners);
        // Before the fence is lifted: a session that finds it gone can store what it reads.
        visible.into_iter().for_each(|visible| (self.on_visible)(visible));
        drop((lifted, collapsed));
        wants_bound
    }

    /// Returns a count that grows when fences are exchanged for one on everything, before they are lifted.
    pub(crate) fn exchanged(&self) -> u64 {
        self.exchanged.load(Ordering::Acquire)
    }

    /// Notes that the stream has applied a transaction up to `at`; `applied` was published.
    pub(crate) fn applied(&self, gtid: Option<&Gtid>, at: Position, now_ms: u64) {
        let mut inner = self.lock();
        let is_acknowledged = gtid.is_some_and(|gtid| inner.by_gtid.contains_key(gtid));
        inner.unseen.applied(gtid, at, is_acknowledged);
        inner.judging.applied(gtid, at, is_acknowledged, now_ms);
        let lifted = inner.applied(gtid, at);
        let (visible, owners) = (inner.unseen.visible(), inner.owners(now_ms));
        drop(inner);
        (self.on_owners)(owners);
        visible.into_iter().for_each(|visible| (self.on_visible)(visible));
        drop(lifted);
    }

    /// Notes that the stream has moved to `at` without a transaction; `applied` was published.
    pub(crate) fn passed(&self, at: Position) {
        let mut inner = self.lock();
        let lifted = inner.applied(None, at);
        // Without a look at the time.
        let owners = inner.owners(0);
        drop(inner);
        (self.on_owners)(owners);
        drop(lifted);
    }

    /// Notes the server's word that every snapshot from now on contains everything up to `at`.
    pub(crate) fn seen(&self, at: Position) {
        self.lock().unseen.seen(at);
    }

    /// Notes the start of a generation, with the transactions that were `executed` at its start; everything is stamped. To be called
    /// before `at` is published as applied: a fill that begins after that may miss a commit that is acknowledged later, and such a commit
    /// must find its fence kept. Transactions before `at` count as unseen until [`Self::seen`] says otherwise.
    pub(crate) fn started(&self, executed: AppliedGtids, at: Position) {
        let mut inner = self.lock();
        inner.executed = Some(executed);
        inner.applied = at;
        inner.unseen = Unseen::since(at);
        inner.judging = Judging::since(at);
    }

    /// Notes the end of the generation. Everything was stamped above all stored results, so the fences of known commits have nothing left
    /// to protect. Fences with an open outcome stay, since their writes may still change what the next generation stores.
    pub(crate) fn ended(&self, now_ms: u64) {
        let mut inner = self.lock();
        inner.executed = None;
        let lifted = inner.take_committed();
        let is_full = inner.unknown.len() >= UNKNOWN_MAX;
        let overdue = inner.take_unknown(|unknown| is_full || unknown.is_overdue(now_ms));
        inner.unknown.iter_mut().for_each(|unknown| unknown.listed = false);
        drop(inner);
        drop((lifted, overdue));
    }

    /// To be called now and then: turns long waits for a GTID into waits for a position, and gives up waiting for acknowledgements.
    /// `true` if a position is wanted.
    pub(crate) fn tick(&self, now_ms: u64) -> bool {
        let mut inner = self.lock();
        inner.unbind_old(now_ms);
        let (wants_bound, owners) = (!inner.unbound.is_empty(), inner.owners(now_ms));
        drop(inner);
        (self.on_owners)(owners);
        wants_bound
    }

    /// Whether the end of the binlog has to be read. If so, it has to be read after this call, and handed to [`Self::bound`].
    pub(crate) fn begin_bound(&self) -> bool {
        let mut inner = self.lock();
        let unbound = mem::take(&mut inner.unbound);
        inner.asked.extend(unbound);
        !inner.asked.is_empty()
    }

    /// Takes in the end of the binlog that was read after [`Self::begin_bound`]; `None` if it lies before all that this stream brings.
    pub(crate) fn bound(&self, end: Option<Position>) {
        let mut inner = self.lock();
        let asked = mem::take(&mut inner.asked);
        let lifted = match end {
            Some(end) if end > inner.applied => {
                inner.bound_len += asked.len();
                inner.bound.entry(end).or_default().extend(asked);
                Vec::new()
            }
            _ => asked,
        };
        drop(inner);
        drop(lifted);
    }

    /// Whether the server's list of processes has to be read; if so, it has to be asked for after this call.
    pub(crate) fn begin_list(&self) -> bool {
        let mut inner = self.lock();
        inner.unknown.iter_mut().for_each(|unknown| unknown.listed = true);
        !inner.unknown.is_empty()
    }

    /// Takes in the list of processes that was asked for after [`Self::begin_list`]: the fences of threads that are gone now wait for a
    /// position.
    pub(crate) fn listed(&self, alive: &HashSet<u32>) {
        let mut inner = self.lock();
        let gone = inner.take_unknown(|unknown| unknown.listed && !alive.contains(&unknown.thread_id));
        inner.unbound.extend(gone);
    }

    /// Whether a write's outcome has been open for so long that the stream should be started anew.
    pub(crate) fn is_overdue(&self, now_ms: u64) -> bool {
        let inner = self.lock();
        inner.unknown.len() >= UNKNOWN_MAX
            || inner.unknown.first().is_some_and(|oldest| oldest.is_overdue(now_ms))
    }

    /// Notes that the next server was started after the one that was followed before, so that every thread of the earlier server has
    /// ended. To be called between [`Self::ended`] and [`Self::started`].
    pub(crate) fn server_restarted(&self) {
        let gone = self.lock().take_unknown(|_| true);
        drop(gone);
    }

    /// Notes that the next server was started at `at_ms` or later, which ended every thread on an earlier connection. To be called where
    /// [`Self::server_restarted`] may be.
    pub(crate) fn server_started(&self, at_ms: u64) {
        let mut inner = self.lock();
        inner.server_started_ms = inner.server_started_ms.max(at_ms);
        let gone = inner.take_unknown(|unknown| unknown.opened_ms < at_ms);
        drop(inner);
        drop(gone);
    }

    /// Returns how many transactions were applied, if [`Self::has_applied`] needs that.
    pub(crate) fn applied_count(&self) -> u64 {
        self.lock().executed.as_ref().map_or(0, AppliedGtids::count)
    }

    /// Whether all of these are applied. `since`: [`Self::applied_count`], read before the server was asked for them. A thread that sees
    /// `true` sees their stamps.
    pub(crate) fn has_applied(&self, shown: &ShownGtids, since: u64) -> bool {
        self.lock().executed.as_ref().is_some_and(|executed| executed.have_all(shown, since))
    }

    /// Returns the number of fences that wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Locks the state. A panic under the lock is impossible unless memory runs out; the maps are whole in any case.
    fn lock(&self) -> MutexGuard<'_, SettlingState<F>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> SettlingState<F> {
    fn len(&self) -> usize {
        self.by_id.len() + self.unbound.len() + self.asked.len() + self.bound_len + self.unknown.len()
    }

    /// Returns the fence if it can be lifted now.
    fn settle(&mut self, fence: F, outcome: WriteOutcome, now_ms: u64) -> Option<F> {
        let is_followed = self.executed.is_some();
        match outcome {
            WriteOutcome::Nothing => return Some(fence),
            WriteOutcome::Unknown { .. } if !is_followed && self.unknown.len() >= UNKNOWN_MAX => {
                return Some(fence);
            }
            // Its thread ended with its server: its changes are in the binlog by now, or nowhere.
            WriteOutcome::Unknown { opened_ms, .. } if is_followed && opened_ms < self.server_started_ms => {
                self.unbound.push(fence);
            }
            WriteOutcome::Unknown { thread_id, opened_ms } => {
                self.unknown.push(Unknown { fence, thread_id, opened_ms, since_ms: now_ms, listed: false });
            }
            // No earlier result can be served, and every later one is read after this commit.
            _ if !is_followed => return Some(fence),
            WriteOutcome::Committed(gtids) if !gtids.is_empty() => {
                return self.await_gtids(fence, &gtids, now_ms);
            }
            WriteOutcome::Committed(_) | WriteOutcome::CommittedSomewhere => self.unbound.push(fence),
        }
        None
    }

    fn await_gtids(&mut self, fence: F, gtids: &[Gtid], now_ms: u64) -> Option<F> {
        let executed = self.executed.as_ref()?;
        let mut awaited: Vec<&Gtid> = Vec::new();
        for gtid in gtids {
            match executed.known(gtid) {
                GtidFate::Applied => {
                    self.unseen.acknowledged(gtid);
                    self.judging.acknowledged(gtid);
                }
                GtidFate::Awaited if awaited.contains(&gtid) => {}
                GtidFate::Awaited => awaited.push(gtid),
                GtidFate::Unreliable => {
                    self.unbound.push(fence);
                    return None;
                }
            }
        }
        if awaited.is_empty() {
            return Some(fence);
        }
        let id = self.next_id;
        self.next_id += 1;
        let missing: Vec<Gtid> = awaited.into_iter().cloned().collect();
        for gtid in &missing {
            self.by_gtid.entry(gtid.clone()).or_default().push(id);
        }
        self.by_age.push_back((now_ms, id));
        self.by_id.insert(id, WaitingFence { fence, missing });
        None
    }

    fn owners(&mut self, now_ms: u64) -> Owners {
        self.judging.owners(self.applied, now_ms)
    }

    fn applied(&mut self, gtid: Option<&Gtid>, at: Position) -> Vec<F> {
        self.applied = self.applied.max(at);
        let mut lifted = Vec::new();
        if let (Some(executed), Some(gtid)) = (&mut self.executed, gtid) {
            executed.add(gtid);
            for id in self.by_gtid.remove(gtid).unwrap_or_default() {
                lifted.extend(self.one_less(id, gtid));
            }
        }
        while let Some(first) = self.bound.first_entry().filter(|first| *first.key() <= at) {
            let fences = first.remove();
            self.bound_len -= fences.len();
            lifted.extend(fences);
        }
        lifted
    }

    fn one_less(&mut self, id: u64, gtid: &Gtid) -> Option<F> {
        let waiting = self.by_id.get_mut(&id)?;
        waiting.missing.retain(|missing| missing != gtid);
        if !waiting.missing.is_empty() {
            return None;
        }
        self.by_id.remove(&id).map(|waiting| waiting.fence)
    }

    fn unbind_old(&mut self, now_ms: u64) {
        while let Some(&(since_ms, id)) = self.by_age.front() {
            if since_ms + GTID_WAIT_MS_MAX > now_ms && self.by_id.contains_key(&id) {
                break;
            }
            self.by_age.pop_front();
            self.unbind(id);
        }
    }

    fn unbind(&mut self, id: u64) {
        let Some(waiting) = self.by_id.remove(&id) else { return };
        for gtid in &waiting.missing {
            if let Some(ids) = self.by_gtid.get_mut(gtid) {
                ids.retain(|other| *other != id);
                if ids.is_empty() {
                    self.by_gtid.remove(gtid);
                }
            }
        }
        self.unbound.push(waiting.fence);
    }

    /// Returns all fences whose commit is known to have happened.
    fn take_committed(&mut self) -> Vec<F> {
        self.by_gtid.clear();
        self.by_age.clear();
        let mut fences: Vec<F> = self.by_id.drain().map(|(_, waiting)| waiting.fence).collect();
        fences.append(&mut self.unbound);
        fences.append(&mut self.asked);
        fences.extend(mem::take(&mut self.bound).into_values().flatten());
        self.bound_len = 0;
        fences
    }

    fn take_unknown(&mut self, which: impl Fn(&Unknown<F>) -> bool) -> Vec<F> {
        let (taken, kept) = mem::take(&mut self.unknown).into_iter().partition(which);
        self.unknown = kept;
        Vec::into_iter(taken).map(|unknown: Unknown<F>| unknown.fence).collect()
    }
}

impl<F> Unknown<F> {
    fn is_overdue(&self, now_ms: u64) -> bool {
        self.since_ms + UNKNOWN_MS_MAX <= now_ms
    }
}

#[cfg(test)]
mod tests;
