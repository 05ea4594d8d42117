//! How much one client may take of what all clients share: bytes and time.
//!
//! A [`SharedBudget`] is a number of bytes that all clients together may hold for one purpose. A [`Permit`] is the part that one client
//! holds; it is given back when dropped. Small sizes are free: they are not counted, so that small packets and answers
//! touch nothing that sessions share. Three purposes have a budget of their own, so that clients
//! that use one up do not harm the others:
//!
//! | budget | holds | at the bound |
//! |---|---|---|
//! | `receive` | packets that clients have sent in part or whole | the client is not read from until there is room; then error 1041 |
//! | `send` | answers that clients have not read: from memory, and read ahead from the server | the server answers, and its answer is streamed |
//! | `fill` | copies of answers that are to be stored | the answer is not stored |

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many bytes of a packet a client may hold uncounted.
const RECEIVE_FREE_BYTES: usize = 16 * 1024;
/// How many bytes of an answer from memory a client may hold uncounted.
pub(crate) const SEND_FREE_BYTES: usize = 64 * 1024;
/// How many bytes of a copy for the cache a session may hold uncounted.
const FILL_FREE_BYTES: usize = 16 * 1024;
/// How long to wait after memory is freed: the allocator returns memory that was freed a second ago to the system, when asked for more.
const RETURNED_AFTER: Duration = Duration::from_millis(1100);
/// The smallest size, in bytes, for which that matters: smaller pieces are used again at once.
const KEPT_BYTES_MIN: usize = 1 << 20;
/// A size, in bytes, that no system has addresses for.
const NOBODY_HAS_BYTES: usize = 1 << 60;
/// The unit in which bytes are counted.
const UNIT_BYTES: usize = 1024;

/// What clients may hold and how long they may keep Freshet waiting, by the settings.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How many bytes all packets under way from clients may hold.
    pub receive_bytes_max: usize,
    /// How many bytes all large answers under way to clients may hold.
    pub send_bytes_max: usize,
    /// How many bytes all copies of answers under way to the cache may hold.
    pub fill_bytes_max: usize,
    /// How long a client may send nothing within a packet.
    pub net_read_timeout: Duration,
    /// How long a client may read nothing of an answer.
    pub net_write_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            receive_bytes_max: 128 << 20,
            send_bytes_max: 64 << 20,
            fill_bytes_max: 64 << 20,
            net_read_timeout: Duration::from_secs(30),
            net_write_timeout: Duration::from_secs(60),
        }
    }
}

/// The budgets and time limits of one process, and the counts of clients that met them.
#[derive(Debug)]
pub struct Bounds {
    pub(crate) receive: Arc<SharedBudget>,
    pub(crate) send: Arc<SharedBudget>,
    pub(crate) fill: Arc<SharedBudget>,
    pub(crate) net_read_timeout: Duration,
    pub(crate) net_write_timeout: Duration,
    /// Clients sent away because they did not finish a packet.
    pub(crate) read_timeouts: AtomicU64,
    /// Clients sent away because they did not read.
    pub(crate) write_timeouts: AtomicU64,
    /// Clients that left while they were owed an answer.
    pub(crate) vanished: AtomicU64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self::new(&Limits::default())
    }
}

impl Bounds {
    /// Makes bounds with all room free.
    pub fn new(limits: &Limits) -> Self {
        let budget = |bytes, free| Arc::new(SharedBudget::new(bytes, free));
        Self {
            receive: budget(limits.receive_bytes_max, RECEIVE_FREE_BYTES),
            send: budget(limits.send_bytes_max, SEND_FREE_BYTES),
            fill: budget(limits.fill_bytes_max, FILL_FREE_BYTES),
            net_read_timeout: limits.net_read_timeout,
            net_write_timeout: limits.net_write_timeout,
            read_timeouts: AtomicU64::new(0),
            write_timeouts: AtomicU64::new(0),
            vanished: AtomicU64::new(0),
        }
    }
}

/// Bytes that all clients share for one purpose.
#[derive(Debug)]
pub(crate) struct SharedBudget {
    /// The room in units of [`UNIT_BYTES`].
    room: Arc<Semaphore>,
    units: u32,
    free_bytes: usize,
    /// One holder at a time may go beyond the budget, so that holders of parts never wait for each other forever.
    beyond: Arc<Semaphore>,
    waiting: AtomicUsize,
    waits: AtomicU64,
    refused: AtomicU64,
}

impl SharedBudget {
    /// Makes a budget of `bytes`; the first `free_bytes` of each holder are uncounted. A size above the whole budget
    /// counts as the whole budget: its holder is alone then.
    pub(crate) fn new(bytes: usize, free_bytes: usize) -> Self {
        let units = u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX).min(UNITS_MAX);
        Self {
            room: Arc::new(Semaphore::new(units as usize)),
            units,
            free_bytes,
            beyond: Arc::new(Semaphore::new(1)),
            waiting: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns how many bytes are held now.
    pub(crate) fn used(&self) -> usize {
        (self.units as usize).saturating_sub(self.room.available_permits()) * UNIT_BYTES
    }

    /// Whether somebody waits for room.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Returns how often somebody waited for room, since the start.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// Returns how often there was no room, since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns how many units are counted for a holder of this many bytes.
    fn units_of(&self, bytes: usize) -> u32 {
        if bytes <= self.free_bytes {
            return 0;
        }
        u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).min(self.units)
    }
}

/// Makes the allocator return free memory to the system. By itself, the allocator does so when memory is taken or freed, and keeps all of it
/// while nothing happens. It may also never do so again: a thread that finds nothing to return forgets that another thread has just freed
/// something. Before the allocator refuses an allocation, it returns everything that is free.
pub fn return_idle_memory() {
    let refused = black_box(Vec::<u8>::new().try_reserve_exact(black_box(NOBODY_HAS_BYTES)));
    debug_assert!(refused.is_err(), "no system has so many addresses");
}

/// The most units that a semaphore can count: 512 GiB.
const UNITS_MAX: u32 = u32::MAX >> 3;

/// The part of a budget that one client holds.
#[derive(Debug, Default)]
pub(crate) struct Permit {
    held: Option<OwnedSemaphorePermit>,
    beyond: Option<OwnedSemaphorePermit>,
}

impl Permit {
    /// Whether the permit holds anything.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some() || self.beyond.is_some()
    }

    /// Takes the units that are missing to hold `bytes`, if there is room. Small sizes cost one comparison.
    pub(crate) fn cover(&mut self, budget: &Arc<SharedBudget>, bytes: usize) -> bool {
        let lacking = self.lacking(budget, bytes);
        if lacking == 0 {
            return true;
        }
        let taken = Arc::clone(&budget.room).try_acquire_many_owned(lacking);
        if taken.is_err() {
            budget.refused.fetch_add(1, Ordering::Relaxed);
        }
        self.take(taken.ok())
    }

    /// Like [`Self::cover`], but waits for room up to `wait_max`. One of the waiting holders may go beyond the budget.
    pub(crate) async fn cover_in_time(
        &mut self,
        budget: &Arc<SharedBudget>,
        bytes: usize,
        wait_max: Duration,
    ) -> bool {
        let lacking = self.lacking(budget, bytes);
        if lacking == 0 || self.take(Arc::clone(&budget.room).try_acquire_many_owned(lacking).ok()) {
            return true;
        }
        budget.waits.fetch_add(1, Ordering::Relaxed);
        let _waiter = WaiterGuard::in_line(budget);
        tokio::select! {
            biased;
            room = Arc::clone(&budget.room).acquire_many_owned(lacking) => self.take(room.ok()),
            beyond = Arc::clone(&budget.beyond).acquire_owned() => {
                self.beyond = beyond.ok();
                self.beyond.is_some()
            }
            () = tokio::time::sleep(wait_max) => {
                budget.refused.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }

    /// Gives everything back.
    pub(crate) fn release(&mut self) {
        *self = Self::default();
    }

    /// Gives everything back as soon as the system has the memory back, which has just been freed: memory that others
    /// take meanwhile would be resident in addition.
    pub(crate) fn release_when_returned(&mut self) {
        let held = std::mem::take(self);
        if held.is_large()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                tokio::time::sleep(RETURNED_AFTER).await;
                return_idle_memory();
                drop(held);
            });
        }
    }

    /// Whether the permit is for memory that the allocator does not reuse right away.
    fn is_large(&self) -> bool {
        let units = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        self.beyond.is_some() || units * UNIT_BYTES >= KEPT_BYTES_MIN
    }

    fn lacking(&self, budget: &SharedBudget, bytes: usize) -> u32 {
        let wanted = budget.units_of(bytes);
        if wanted == 0 || self.beyond.is_some() {
            return 0;
        }
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        wanted.saturating_sub(u32::try_from(held).unwrap_or(u32::MAX))
    }

    fn take(&mut self, more: Option<OwnedSemaphorePermit>) -> bool {
        let Some(more) = more else { return false };
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
        true
    }
}

/// Counts a holder that waits for room, until this value is dropped.
struct WaiterGuard<'a>(&'a SharedBudget);

impl<'a> WaiterGuard<'a> {
    fn in_line(budget: &'a SharedBudget) -> Self {
        budget.waiting.fetch_add(1, Ordering::Relaxed);
        Self(budget)
    }
}

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
