//! A given rate of cycles, which does not depend on the answers.
//!
//! A cycle becomes due at a moment on which the answers have no influence, and waits for a free client. Its latency counts from that
//! moment. So a server that stops for a second shows a second of latency in all cycles due meanwhile, and not in one long answer (no
//! coordinated omission).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Semaphore;

/// The least time between two checks for due cycles. The runtime's own timers are ten times as coarse.
const TICK_MIN: Duration = Duration::from_micros(100);
/// The bytes that one read of the system's timer returns: the number of ticks.
const TICKS_BYTES: usize = 8;

/// The due cycles, and the clients that wait for one.
#[derive(Debug)]
pub struct Pace {
    due: RefCell<VecDeque<Instant>>,
    /// One permit for each due cycle.
    free: Semaphore,
}

impl Pace {
    /// Returns an empty pace.
    pub fn new() -> Rc<Pace> {
        Rc::new(Pace { due: RefCell::default(), free: Semaphore::new(0) })
    }

    /// Returns the moment of the first due cycle; `None` if the round is over.
    pub async fn next(&self) -> Option<Instant> {
        self.free.acquire().await.ok()?.forget();
        self.due.borrow_mut().pop_front()
    }

    /// Makes `rate` cycles due each second, until the round is over. Returns the due cycles that no client has taken.
    pub async fn keep(&self, rate: u32, until: Instant) -> io::Result<VecDeque<Instant>> {
        let between = Duration::from_secs(1) / rate;
        let mut timer = ticking(between.max(TICK_MIN))?;
        let mut due = Instant::now();
        while Instant::now() < until {
            timer.read_exact(&mut [0; TICKS_BYTES]).await?;
            self.release(&mut due, between);
        }
        self.free.close();
        Ok(self.due.take())
    }

    /// Adds the cycles that have become due.
    fn release(&self, due: &mut Instant, between: Duration) {
        let now = Instant::now();
        let mut count = 0;
        while *due <= now {
            self.due.borrow_mut().push_back(*due);
            *due += between;
            count += 1;
        }
        self.free.add_permits(count);
    }
}

/// Returns a timer of the system that can be read at each tick. It is read like a pipe, because tokio has no type for such a timer.
fn ticking(every: Duration) -> io::Result<Receiver> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    let tick = Timespec { tv_sec: every.as_secs() as i64, tv_nsec: i64::from(every.subsec_nanos()) };
    let ticks = Itimerspec { it_interval: tick, it_value: tick };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &ticks)?;
    Receiver::from_file_unchecked(timer.into())
}

#[cfg(test)]
mod tests;
