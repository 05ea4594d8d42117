//! Seeded interleavings of everything that happens around the cache, against an oracle that knows the true history.
//!
//! This runs a few thousand steps for each of some seeds; `cargo run --profile quick -p freshet-cache --example simulate` runs as many as
//! are wanted.
#![allow(clippy::panic, clippy::unwrap_used)]

mod keyed;
mod oracle;
mod random;
mod server;
mod world;

use world::{
    ALL_BROKEN, BROKEN_FOR_TRANSACTIONS, Broken, Summary, born_within_a_transaction,
    first_answer_after_the_opening, own_writer_after_the_opening, run, run_with_transactions, torn_by_choice,
};

const STEPS: u64 = 5_000;

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
fn transactions_are_shown_one_moment() {
    let mut sum = Summary::default();
    for seed in 0..200 {
        sum += run_with_transactions(seed, STEPS, Broken::Nothing).unwrap();
    }
    assert!(sum.hits_of_begun > 500 && sum.hits_of_opened > 200, "{sum:?}");
    assert!(sum.unsettled > 200 && sum.moved > 200 && sum.conflicts > 100, "{sum:?}");
}

/// Faults that random runs meet once in millions of steps.
const RARE: [Broken; 6] = [
    Broken::SettledLate,
    Broken::UnloggedAtOpening,
    Broken::UntouchedBeforeOpening,
    Broken::ForeignAsOwn,
    Broken::WithinVisible,
    Broken::StampsForValidFrom,
];

#[test]
fn transactions_are_shown_one_moment_in_rare_runs() {
    for schedule in RARE {
        let summary = torn_by_choice(schedule, Broken::Nothing).unwrap();
        assert!(summary.hits_of_begun == 1, "{schedule:?}: {summary:?}");
    }
}

#[test]
fn own_writers_after_the_opening_are_no_conflict() {
    let summary = own_writer_after_the_opening().unwrap();
    assert_eq!((summary.untouched, summary.conflicts), (1, 0), "{summary:?}");
}

#[test]
fn a_moment_behind_the_opening_is_not_that_of_the_snapshot() {
    first_answer_after_the_opening(true).unwrap();
    first_answer_after_the_opening(false).unwrap_err();
}

#[test]
fn every_broken_rule_of_transactions_is_noticed() {
    for broken in BROKEN_FOR_TRANSACTIONS {
        let is_noticed = match broken {
            rare if RARE.contains(&rare) => torn_by_choice(rare, rare).is_err(),
            _ => (0..400).any(|seed| run_with_transactions(seed, 2 * STEPS, broken).is_err()),
        };
        assert!(is_noticed, "{broken:?} went unnoticed");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..5 {
        assert_eq!(run(seed, STEPS, Broken::Nothing), run(seed, STEPS, Broken::Nothing));
    }
}

/// The tests' test: for each broken rule, some seed shows the fault, or the schedule that is made for it.
#[test]
fn every_broken_rule_is_noticed() {
    for broken in ALL_BROKEN {
        let is_noticed = match broken {
            Broken::BornAtApplied => born_within_a_transaction(broken).is_err(),
            _ => (0..400).any(|seed| run(seed, 2 * STEPS, broken).is_err()),
        };
        assert!(is_noticed, "{broken:?} went unnoticed");
    }
}

#[test]
fn a_watch_that_is_born_within_a_transaction_serves_nothing_from_before_it() {
    let summary = born_within_a_transaction(Broken::Nothing).unwrap();
    assert_eq!((summary.hits, summary.refused_by_stamp), (0, 1), "{summary:?}");
}
