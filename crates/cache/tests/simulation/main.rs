//! Seeded interleavings of everything that happens around the cache, against an oracle that knows the true history.
//!
//! A few thousand steps for each of some seeds here; `cargo run --profile quick -p freshet-cache --example simulate` for
//! as many as one likes.
#![allow(clippy::panic, clippy::unwrap_used)]

mod keyed;
mod oracle;
mod random;
mod server;
mod world;

use world::{ALL_BROKEN, Broken, Summary, run};

const STEPS: u64 = 5_000;
const RARE_SEED: u64 = 3458;

#[test]
fn every_promise_is_kept() {
    let mut sum = Summary::default();
    for seed in 0..60 {
        sum += run(seed, STEPS, Broken::Nothing).unwrap();
    }
    assert!(sum.hits > 1000 && sum.stepwise_hits > 300 && sum.refused_by_fence > 300, "{sum:?}");
    assert!(sum.restarts > 60 && sum.row_hits > 80 && sum.fenced_hits > 10, "{sum:?}");
    assert!(sum.steps > 40, "{sum:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..5 {
        assert_eq!(run(seed, STEPS, Broken::Nothing), run(seed, STEPS, Broken::Nothing));
    }
}

/// The tests' test: whatever rule is broken, some seed shows it. `BornAtApplied` takes millions of steps, so the seed that
/// showed it is named.
#[test]
fn every_broken_rule_is_noticed() {
    for broken in ALL_BROKEN {
        let first = if broken == Broken::BornAtApplied { RARE_SEED } else { 0 };
        let noticed = (first..first + 400).find_map(|seed| run(seed, 2 * STEPS, broken).err());
        assert!(noticed.is_some(), "{broken:?} went unnoticed");
    }
}
