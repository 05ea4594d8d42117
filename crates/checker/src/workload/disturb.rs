//! Disturbs the server and the stream while clients are at work: crashes, cuts and stalls.
//!
//! Each kind has its own thread and its own dice, so that the kinds meet in all combinations.

use std::fmt;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;

use super::outages::Outages;
use crate::Failure;
use crate::dice::Dice;
use crate::judge::{Nanos, Recorder};
use crate::relay::Orders;
use crate::target::Target;

/// The time between two checks whether the time is over.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The shortest stall, in milliseconds.
const STALL_MS_MIN: usize = 1_000;
/// The longest stall, in milliseconds.
pub const STALL_MS_MAX: usize = 3_000;
/// The most cuts in a row, with pauses between them.
const CUTS_MAX: usize = 4;
const CUT_PAUSE_MS_MAX: usize = 300;
/// The most events of the timeline that are kept. Further ones are only counted.
const TIMELINE_MAX: usize = 100_000;
/// The time before a violation in which disturbances are reported, in nanoseconds.
const BEFORE: Nanos = 12_000_000_000;

/// A kind of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The server is killed, and comes back.
    Restart,
    /// Freshet's stream is broken, by the server or on the way.
    Cut,
    /// The stream is held up for a while.
    Stall,
}

/// The planned disturbances.
#[derive(Clone, Debug, Default)]
pub struct Disturb {
    /// The command that kills the server, and returns when the server is back; None if the server is not killed.
    pub crash: Option<String>,
    /// The address for orders to the relay on the stream's way; None if the stream is neither cut there nor held up.
    pub relay: Option<SocketAddr>,
    /// The server is told to end the thread that sends the stream.
    pub with_kills: bool,
    /// The usual time between two restarts, two cuts and two stalls; None if there are none.
    pub every: [Option<Duration>; 3],
}

/// The disturbances that have happened.
#[derive(Debug, Default)]
pub struct Disturbances {
    /// Restarts, cuts and stalls.
    pub counts: [u64; 3],
    timeline: Vec<(Nanos, String)>,
}

impl Disturbances {
    /// Returns the disturbances shortly before a moment, in words.
    #[must_use]
    pub fn before(&self, at: Nanos) -> Vec<String> {
        let near = self.timeline.iter().filter(|(when, _)| when + BEFORE > at && *when < at + BEFORE / 4);
        near.map(|(when, what)| format!("{} ms: {what}", when / 1_000_000)).collect()
    }
}

impl fmt::Display for Disturbances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [restarts, cuts, stalls] = self.counts;
        write!(f, "disturbances: {restarts} restarts, {cuts} cuts, {stalls} stalls")
    }
}

/// The source of disturbances.
#[derive(Debug)]
pub struct Disturber<'a> {
    /// The planned disturbances.
    pub disturb: &'a Disturb,
    /// The server itself.
    pub server: &'a Target,
    /// The list of outages.
    pub outages: &'a Outages,
    /// The clock.
    pub recorder: &'a Recorder,
    /// The disturbances that have happened.
    pub done: Mutex<Disturbances>,
    /// The time is over.
    pub stop: &'a AtomicBool,
}

impl Disturber<'_> {
    /// Disturbs in this way until the time is over.
    ///
    /// # Errors
    /// If the server does not come back, or the relay is gone.
    pub fn work(&self, kind: Disturbance, mut dice: Dice) -> Result<(), Failure> {
        let Some(every) = self.disturb.every[kind as usize] else { return Ok(()) };
        let mut orders = match self.disturb.relay {
            Some(relay) if kind != Disturbance::Restart => Some(Orders::to(relay)?),
            _ => None,
        };
        // Before the first restart: in a short run before a server that takes long to come back, the stream may be away from then on.
        let mut comes_soon = kind == Disturbance::Stall;
        loop {
            // Four fifths to six fifths of the usual time.
            let usual = every * 4 / 5 + every * u32::try_from(dice.below(400))? / 1_000;
            let pause = if std::mem::take(&mut comes_soon) { usual / 3 } else { usual };
            if !self.pause(pause) {
                return Ok(());
            }
            match (kind, &mut orders) {
                (Disturbance::Restart, _) => self.restart()?,
                (Disturbance::Cut, orders) => self.cut(&mut dice, orders.as_mut())?,
                (Disturbance::Stall, Some(orders)) => self.stall(&mut dice, orders)?,
                (Disturbance::Stall, None) => return Err("without a relay nothing can be held up".into()),
            }
        }
    }

    /// Pauses. Returns false if the time is over.
    fn pause(&self, duration: Duration) -> bool {
        let until = Instant::now() + duration;
        while Instant::now() < until && !self.stop.load(Ordering::Relaxed) {
            thread::sleep(LOOK_EVERY);
        }
        !self.stop.load(Ordering::Relaxed)
    }

    fn note(&self, what: String) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if done.timeline.len() < TIMELINE_MAX {
            done.timeline.push((self.recorder.now(), what));
        }
    }

    fn count(&self, kind: Disturbance, what: String) {
        self.note(what);
        self.done.lock().unwrap_or_else(PoisonError::into_inner).counts[kind as usize] += 1;
    }

    fn restart(&self) -> Result<(), Failure> {
        let Some(crash) = &self.disturb.crash else { return Err("no command is given that restarts".into()) };
        self.note("the server is killed".to_owned());
        self.outages.begin(self.recorder.now());
        let status = Command::new("sh").args(["-c", crash]).status();
        let is_back = status.as_ref().is_ok_and(std::process::ExitStatus::success);
        // The end is noted in any case: a client that waits for it must not wait for ever.
        self.outages.end(self.recorder.now());
        if !is_back {
            return Err(format!("{crash}: {status:?}").into());
        }
        self.count(Disturbance::Restart, "the server is back".to_owned());
        Ok(())
    }

    /// Cuts the stream once or several times in a row, at the server or on the way.
    fn cut(&self, dice: &mut Dice, mut relay: Option<&mut Orders>) -> Result<(), Failure> {
        let mut left = 1 + dice.below(CUTS_MAX);
        while left > 0 {
            let by_relay = relay.is_some() && (!self.disturb.with_kills || dice.percent(50));
            let (cut, how) = match relay.as_mut().filter(|_| by_relay) {
                Some(relay) => (relay.cut()?, "on the way"),
                None => (self.kill().unwrap_or(0), "by the server"),
            };
            // While the server is away, or Freshet has not reconnected, there is nothing to cut.
            if cut > 0 {
                self.count(Disturbance::Cut, format!("the stream is cut {how}"));
                left -= 1;
            }
            if !self.pause(Duration::from_millis(u64::try_from(dice.below(CUT_PAUSE_MS_MAX))?)) {
                break;
            }
        }
        Ok(())
    }

    fn kill(&self) -> Result<usize, mysql::Error> {
        let mut conn = self.server.connect("")?;
        let streams: Vec<u64> =
            conn.query("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")?;
        let killed = streams.iter().filter(|id| conn.query_drop(format!("KILL {id}")).is_ok());
        Ok(killed.count())
    }

    fn stall(&self, dice: &mut Dice, relay: &mut Orders) -> Result<(), Failure> {
        let ms = STALL_MS_MIN + dice.below(STALL_MS_MAX - STALL_MS_MIN);
        // Where there is none, it is waited for, as in `cut`.
        while relay.hold()? == 0 {
            if !self.pause(LOOK_EVERY) {
                return relay.release();
            }
        }
        self.note(format!("the stream stalls for {ms} ms"));
        thread::sleep(Duration::from_millis(u64::try_from(ms)?));
        relay.release()?;
        self.count(Disturbance::Stall, "the stream goes on".to_owned());
        Ok(())
    }
}
