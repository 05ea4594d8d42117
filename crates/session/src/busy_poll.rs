//! An event loop with one busy client does not sleep at once: it looks for what comes next, for some microseconds.
//!
//! A thread that sleeps is woken later than a packet arrives, and on an idle processor that takes longer than the server takes for a point
//! select. With several busy clients, an event loop hardly ever sleeps, and looking would take the processor from the server and the
//! clients. So an event loop looks only
//!
//! - if it has heard from one session alone for [`ALONE_MIN`] times in a row, and
//! - as long as what it looked for came in time, on most occasions ([`Credit`]).
//!
//! All of this belongs to the thread of the event loop.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::yield_now;

/// How often in a row the event loop must have heard from one session.
const ALONE_MIN: u32 = 16;

thread_local! {
    static POLL: Rc<Poll> = Rc::new(Poll::new());
}

/// What one event loop looks for.
struct Poll {
    /// For how long it looks; zero means never.
    longest: Cell<Duration>,
    /// The session that was heard last, and how often it was heard in a row after the first time.
    last: Cell<(u32, u32)>,
    /// Until when it looks now; `None` if it does not.
    until: Cell<Option<Instant>>,
    credit: Cell<Credit>,
    wake: Notify,
}

/// Whether looking pays: it gains by each packet that comes in time, and loses by each that does not. Without credit, the event loop only
/// tries now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Credit {
    left: u32,
    /// The occasions since the last try without credit.
    passed: u32,
}

impl Credit {
    const MOST: u32 = 32;
    /// What a wait in vain costs, if what comes in time earns one.
    const PRICE: u32 = 4;
    /// Without credit, one occasion in so many is tried.
    const TRIED_EVERY: u32 = 64;

    const fn new() -> Self {
        Self { left: Self::MOST, passed: 0 }
    }

    /// Returns whether the next occasion is taken.
    const fn takes(&mut self) -> bool {
        self.passed += 1;
        let takes = self.left > 0 || self.passed >= Self::TRIED_EVERY;
        if takes {
            self.passed = 0;
        }
        takes
    }

    fn came(&mut self) {
        self.left = (self.left + 1).min(Self::MOST);
    }

    const fn waited_in_vain(&mut self) {
        self.left = self.left.saturating_sub(Self::PRICE);
    }
}

impl Poll {
    fn new() -> Self {
        Self {
            longest: Cell::new(Duration::ZERO),
            last: Cell::new((0, 0)),
            until: Cell::new(None),
            credit: Cell::new(Credit::new()),
            wake: Notify::new(),
        }
    }

    fn heard(&self, session: u32) {
        let (last, times) = self.last.get();
        let times = if last == session { times.saturating_add(1) } else { 0 };
        self.last.set((session, times));
        if times < ALONE_MIN || self.longest.get().is_zero() {
            return self.until.set(None);
        }
        let mut credit = self.credit.get();
        let now = Instant::now();
        let looks_until = self.until.get();
        match looks_until {
            Some(until) if now <= until => credit.came(),
            // The system has taken the processor from this thread meanwhile.
            Some(_) => credit.waited_in_vain(),
            None => {}
        }
        let takes = credit.takes();
        self.credit.set(credit);
        self.until.set(takes.then(|| now + self.longest.get()));
        if takes && looks_until.is_none() {
            self.wake.notify_one();
        }
    }

    /// Looks as long as something is looked for. Each turn gives way to whatever has arrived.
    async fn look(&self) {
        while let Some(until) = self.until.get() {
            if Instant::now() < until {
                yield_now().await;
                continue;
            }
            self.until.set(None);
            let mut credit = self.credit.get();
            credit.waited_in_vain();
            self.credit.set(credit);
        }
    }
}

/// Notes that this thread's event loop has sent something for a session, by the session's number: a statement to the server, or an answer
/// to its client. So something may come back soon.
pub(crate) fn expects(session: u32) {
    POLL.with(|poll| poll.heard(session));
}

/// Looks, on this thread, for what is expected, for at most `longest` each time; to be run beside the sessions of an event loop. Never
/// returns, but for a `longest` of zero.
pub async fn busy_poll(longest: Duration) {
    if longest.is_zero() {
        return;
    }
    let poll = POLL.with(Rc::clone);
    poll.longest.set(longest);
    loop {
        poll.wake.notified().await;
        poll.look().await;
    }
}

#[cfg(test)]
mod tests {
    use super::{ALONE_MIN, Credit, Poll};
    use std::time::Duration;

    fn poll() -> Poll {
        let poll = Poll::new();
        poll.longest.set(Duration::from_secs(1));
        poll
    }

    #[test]
    fn an_event_loop_looks_only_for_a_session_that_is_alone() {
        let poll = poll();
        for _ in 0..ALONE_MIN {
            poll.heard(1);
            assert!(poll.until.get().is_none());
        }
        poll.heard(1);
        assert!(poll.until.get().is_some());
        poll.heard(2);
        assert!(poll.until.get().is_none(), "another session is there");
        for session in 0..100 {
            poll.heard(session % 2);
            assert!(poll.until.get().is_none());
        }
    }

    #[test]
    fn an_event_loop_that_may_not_look_does_not() {
        let poll = Poll::new();
        (0..100).for_each(|_| poll.heard(1));
        assert!(poll.until.get().is_none());
    }

    #[test]
    fn looking_in_vain_ends() {
        let mut credit = Credit::new();
        let mut taken = 0;
        for _ in 0..Credit::TRIED_EVERY {
            if credit.takes() {
                taken += 1;
                credit.waited_in_vain();
            }
        }
        assert_eq!(taken, Credit::MOST / Credit::PRICE);
        let tries = (0..10 * Credit::TRIED_EVERY).filter(|_| credit.takes()).count();
        assert_eq!(tries, 10, "and is tried again now and then");
        credit.came();
        assert!(credit.takes() && credit.takes());
    }

    #[test]
    fn what_comes_too_late_has_not_come_in_time() {
        let poll = Poll::new();
        poll.longest.set(Duration::from_nanos(1));
        for _ in 0..ALONE_MIN + 4 {
            poll.heard(1);
            std::thread::sleep(Duration::from_micros(10));
        }
        assert_eq!(poll.credit.get().left, Credit::MOST - 3 * Credit::PRICE);
    }

    #[tokio::test]
    async fn looking_ends_in_time() {
        let poll = Poll::new();
        poll.longest.set(Duration::from_micros(1));
        (0..=ALONE_MIN).for_each(|_| poll.heard(1));
        poll.look().await;
        assert!(poll.until.get().is_none());
        assert!(poll.credit.get().left < Credit::MOST);
    }
}
