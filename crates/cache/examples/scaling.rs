//! Whether the store would serialise the event loops of a larger machine: `cargo run --profile quick -p freshet-cache --example scaling [ns a request]`.
//!
//! `hit_cost` measures a hit on one thread and on two. Two cores tell little of 32, so this example simulates the larger machine. The
//! event loops answer one request after the other, and each of them writes to shared memory exactly where the store does. A hit takes one
//! part of its shard's lock, shared, and gives it back. An insert takes all parts. A line that another core has written last cannot be
//! used until it is fetched. Everything else in a request is the event loop's own: counters are kept by thread, and are added up by their
//! reader.
#![allow(clippy::print_stdout, missing_docs)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const KEYS: u64 = 20_000;
/// As in `cache.rs`, and in `crossbeam_utils::sync::ShardedLock`, which is that lock.
pub const SHARDS: usize = 64;
const PARTS: usize = 8;
/// What one core needs to fetch a line that another core has written last, in nanoseconds: 60 to 100 on one socket, more between two.
const FETCH_NS: u64 = 100;
/// How long an insert holds all parts of its shard's lock, in nanoseconds.
const STORE_NS: u64 = 1_000;
/// How long a whole request takes, system calls included, unless the argument says otherwise.
pub const REQUEST_NS: u64 = 5_000;
const REQUESTS: u64 = 400_000;

fn main() {
    let request_ns = std::env::args().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(REQUEST_NS);
    println!("simulated, {request_ns} ns a request: so many times the requests of one event loop");
    println!("{:<44} {:>6} {:>6} {:>6} {:>6}", "event loops", 2, 8, 32, 64);
    for (name, skew, stored) in [
        ("20,000 keys alike, all hits", Skew::None, 0),
        ("a hundredth of the keys asked for by half", Skew::Half, 0),
        ("one key alone", Skew::One, 0),
        ("20,000 keys alike, a tenth stored anew", Skew::None, 10),
        ("one key alone, a hundredth stored anew", Skew::One, 1),
    ] {
        let one = simulated(1, skew, stored, request_ns);
        let times = |loops| simulated(loops, skew, stored, request_ns) / one;
        println!("{name:<44} {:>6.1} {:>6.1} {:>6.1} {:>6.1}", times(2), times(8), times(32), times(64));
    }
}

/// Which keys are asked for.
#[derive(Debug, Clone, Copy)]
pub enum Skew {
    None,
    Half,
    One,
}

impl Skew {
    fn key(self, random: u64) -> u64 {
        let key = (random >> 33) % KEYS;
        match self {
            Self::One => 0,
            Self::Half if random >> 63 == 0 => key / 100,
            Self::None | Self::Half => key,
        }
    }
}

/// A cache line that is written: until when it cannot be used, and which event loop has written it last.
#[derive(Clone, Copy)]
struct Line {
    free_ns: u64,
    last: u64,
}

impl Line {
    /// Lets event loop `by` write the line at `now` or as soon as it is free, and keep it for so long. Returns when that is done.
    fn write(&mut self, by: u64, now: u64, keeps_ns: u64) -> u64 {
        let begins = now.max(self.free_ns);
        let fetched = if self.last == by { begins } else { begins + FETCH_NS };
        *self = Self { free_ns: fetched + keeps_ns, last: by };
        self.free_ns
    }
}

/// Returns how many requests a second so many event loops answer. `stored`: how many requests of a hundred store a result.
pub fn simulated(loops: u64, skew: Skew, stored: u64, request_ns: u64) -> f64 {
    let mut lines = vec![Line { free_ns: 0, last: u64::MAX }; SHARDS * PARTS];
    // When each event loop comes to the store the next time.
    let mut due: BinaryHeap<Reverse<(u64, u64)>> =
        (0..loops).map(|at| Reverse((at * request_ns / loops, at))).collect();
    let (mut random, mut now) = (7, 0);
    for _ in 0..REQUESTS {
        let Some(Reverse((at_ns, by))) = due.pop() else { break };
        random = next(random);
        let shard = (next(skew.key(random)) >> 58) as usize * PARTS;
        let own = shard + by as usize % PARTS;
        let done = if (random >> 20) % 100 < stored {
            // An insert takes one part after the other, and holds all of them until the result is stored.
            let taken = (shard..shard + PARTS).fold(at_ns, |at, part| lines[part].write(by, at, 5));
            for part in &mut lines[shard..shard + PARTS] {
                part.free_ns = taken + STORE_NS;
            }
            taken + STORE_NS
        } else {
            let taken = lines[own].write(by, at_ns, 5);
            // Others may take their share meanwhile.
            lines[own].write(by, taken, 5)
        };
        now = done;
        due.push(Reverse((done + request_ns, by)));
    }
    REQUESTS as f64 / now as f64
}

fn next(random: u64) -> u64 {
    random
        .wrapping_add(0x9e37_79b9_7f4a_7c15)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
        .rotate_left(31)
        .wrapping_mul(0x94d0_49bb_1331_11eb)
}
