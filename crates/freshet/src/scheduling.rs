//! How the system schedules an event loop while many of its clients wait for the server.
//!
//! A thread that is woken may take the processor from whoever has it. Where a server on the same machine has many commands of an event loop,
//! each of its answers would do that to the server and to the clients, and the event loop would handle one answer each time. Under the policy
//! `SCHED_BATCH`, a thread that is woken waits for its turn: by then several answers have come, and the server has gone on. Where a processor is
//! idle, or the server is elsewhere, both policies are the same.
//!
//! Threads that an event loop starts while it has this policy have it too: those that read long texts.
//!
//! Few commands at the server, and answers from memory, are answered sooner under the usual policy, so an event loop goes back to it.

use std::cell::Cell;

use rustix::process::getpriority_process;
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id, thread_schedule_policy,
};
use tracing::debug;

/// How many commands at the server are many, for one event loop. With eight clients on two event loops, the usual policy was better.
const MANY: usize = 16;
/// One wait in so many is looked at.
const LOOKED_AT_EVERY: u32 = 4;
/// After how many waits the policy is decided anew.
const DECIDED_EVERY: u32 = 16 * LOOKED_AT_EVERY;
/// In how many of those looked at there must have been many for the one policy, and at most for the other.
const OFTEN: u32 = 12;
const SELDOM: u32 = 4;

thread_local! {
    static LOOP: Cell<EventLoop> = const { Cell::new(EventLoop::new()) };
}

/// What is known of this thread's event loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EventLoop {
    /// How many waits came since the policy was decided.
    waits: u32,
    /// Those looked at during which the server had many commands.
    of_many: u32,
    is_batch: bool,
    /// The system has refused, or the operator has set something else.
    is_fixed: bool,
}

impl EventLoop {
    const fn new() -> Self {
        Self { waits: 0, of_many: 0, is_batch: false, is_fixed: false }
    }

    /// Notes a wait. Returns whether the policy is to be `SCHED_BATCH`, if that is to change.
    fn waits(&mut self, at_server: impl FnOnce() -> usize) -> Option<bool> {
        self.waits += 1;
        if !self.waits.is_multiple_of(LOOKED_AT_EVERY) {
            return None;
        }
        self.of_many += u32::from(at_server() >= MANY);
        if self.waits < DECIDED_EVERY {
            return None;
        }
        let of_many = std::mem::take(&mut self.of_many);
        self.waits = 0;
        let wanted = of_many >= OFTEN || self.is_batch && of_many > SELDOM;
        (wanted != self.is_batch && !self.is_fixed).then_some(wanted)
    }
}

/// To be called whenever this thread's event loop is about to wait for something to happen.
pub fn waits() {
    LOOP.with(|of_thread| {
        let mut event_loop = of_thread.get();
        if let Some(is_batch) = event_loop.waits(freshet_session::at_server) {
            match set(is_batch) {
                true => event_loop.is_batch = is_batch,
                false => event_loop.is_fixed = true,
            }
        }
        of_thread.set(event_loop);
    });
}

/// Sets this thread's policy. Returns false if that is not possible.
fn set(is_batch: bool) -> bool {
    let (usual, batch) = (NormalThreadSchedulePolicy::Other, NormalThreadSchedulePolicy::Batch);
    let (before, policy) = if is_batch { (usual, batch) } else { (batch, usual) };
    // Another policy is the operator's. A policy is set together with a niceness, so only a thread with the usual one can keep it.
    let is_ours = thread_schedule_policy().is_ok_and(|now| now == ThreadSchedulePolicy::Normal(before));
    if !is_ours || getpriority_process(None) != Ok(0) {
        return false;
    }
    let niceness = ThreadPriority::Os(Default::default());
    let policy = ThreadSchedulePolicy::Normal(policy);
    let outcome = set_thread_priority_and_policy(thread_native_id(), niceness, policy);
    if let Err(error) = &outcome {
        debug!(?error, "the scheduling policy of an event loop cannot be changed");
    }
    outcome.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [bool; 0] = [];

    /// As many commands as are many, in every second wait that is looked at.
    fn by_turns(wait: u32) -> usize {
        if (wait / LOOKED_AT_EVERY).is_multiple_of(2) { MANY } else { 0 }
    }

    /// Returns the decisions of so many waits.
    fn decisions(event_loop: &mut EventLoop, waits: u32, at_server: impl Fn(u32) -> usize) -> Vec<bool> {
        let mut decisions = Vec::new();
        for wait in 0..waits {
            if let Some(is_batch) = event_loop.waits(|| at_server(wait)) {
                event_loop.is_batch = is_batch;
                decisions.push(is_batch);
            }
        }
        decisions
    }

    #[test]
    fn many_commands_at_the_server_for_long_decide_and_few_take_it_back() {
        let mut event_loop = EventLoop::new();
        assert_eq!(decisions(&mut event_loop, 640, |_| MANY - 1), NONE);
        assert_eq!(decisions(&mut event_loop, 640, by_turns), NONE);
        assert_eq!(decisions(&mut event_loop, 640, |_| MANY), [true]);
        assert_eq!(decisions(&mut event_loop, 640, by_turns), NONE);
        assert_eq!(decisions(&mut event_loop, 640, |_| 1), [false]);
    }

    #[test]
    fn what_the_system_refuses_is_not_asked_for_again() {
        let mut event_loop = EventLoop { is_fixed: true, ..EventLoop::new() };
        assert_eq!(decisions(&mut event_loop, 640, |_| MANY), NONE);
    }
}
