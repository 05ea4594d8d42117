//! A given rate, kept whether answers come or not.
//!
//! What is due is due at a moment that the answers have no influence on, and waits for a client that is free. Its latency counts from that
//! moment, so a server that stands still for a second shows a second, and not one long answer (no coordinated omission).

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

/// How often what is due is looked for at most. The runtime's own timers are ten times as coarse.
const TICK_MIN: Duration = Duration::from_micros(100);
/// What is read of the system's timer each time, in bytes: how many ticks there were.
const TICKS_BYTES: usize = 8;

/// What is due, and whom it waits for.
#[derive(Debug)]
pub struct Pace {
    due: RefCell<VecDeque<Instant>>,
    /// As many permits as are due.
    free: Semaphore,
}

impl Pace {
    /// Returns an empty pace.
    pub fn new() -> Rc<Pace> {
        Rc::new(Pace { due: RefCell::default(), free: Semaphore::new(0) })
    }

    /// Returns the moment of the first that is due; `None` if the round is over.
    pub async fn next(&self) -> Option<Instant> {
        self.free.acquire().await.ok()?.forget();
        self.due.borrow_mut().pop_front()
    }

    /// Lets `rate` a second become due, until the round is over. Gives what is due then and was taken by nobody.
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

    /// Takes in whatever has become due.
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

/// Returns a timer of the system that can be read at each tick. It is read like a pipe; tokio has no word for what it is.
fn ticking(every: Duration) -> io::Result<Receiver> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    let tick = Timespec { tv_sec: every.as_secs() as i64, tv_nsec: i64::from(every.subsec_nanos()) };
    let ticks = Itimerspec { it_interval: tick, it_value: tick };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &ticks)?;
    Receiver::from_file_unchecked(timer.into())
}

#[cfg(test)]
mod tests;
