use std::time::Duration;

use super::*;
use crate::counters::Counters;
use crate::crew::Tally;
use crate::processor::{Machine, Time};
use crate::round::{Memory, Used};

#[test]
fn medians_and_spreads() {
    for (numbers, expected) in [
        (vec![], (0.0, 0.0, 0.0)),
        (vec![4.0], (4.0, 4.0, 4.0)),
        (vec![9.0, 1.0, 2.0], (2.0, 1.0, 9.0)),
        (vec![8.0, 1.0, 2.0, 4.0], (3.0, 1.0, 8.0)),
    ] {
        let spread = Spread::of(numbers.clone());
        assert_eq!((spread.median, spread.least, spread.most), expected, "{numbers:?}");
    }
}

fn outcome(own: u64) -> Outcome {
    let machine = Machine { busy: 950_000, interrupts: 100_000, all: 1_000_000 };
    let mut tally = Tally { statements: 1_000, reads: 500, refused: 10, ..Tally::default() };
    (0..1_000).for_each(|_| tally.latency.add(Duration::from_micros(100)));
    Outcome {
        tally,
        counters: Counters { hits: 250, ..Counters::default() },
        elapsed: Duration::from_millis(500),
        used: Used { server: 100_000, proxy: Time { user: 20_000, system: 30_000 }, own, machine },
        connections: Some(17),
        memory: Memory { server: 3 << 20, proxy: 1 << 20 },
    }
}

#[test]
fn what_a_round_comes_to() {
    let sample = Sample::new(&outcome(300_000));
    assert_eq!(sample.per_second, 2_000.0);
    assert_eq!((sample.server_us, sample.proxy_us, sample.client_us), (100.0, 50.0, 300.0));
    assert_eq!(sample.proxy_user_us, 20.0);
    assert_eq!((sample.client_cores, sample.busy, sample.others), (0.6, 95.0, 40.0));
    assert_eq!((sample.hits, sample.refused, sample.connections), (50.0, 1.0, 17.0));
    assert_eq!((sample.server_mib, sample.proxy_mib), (3.0, 1.0));
    assert!((sample.p999_us / 100.0 - 1.0).abs() < 0.07);
}

#[test]
fn clients_that_are_busy_are_named() {
    assert!(Sample::new(&outcome(300_000)).is_by_client());
    assert!(!Sample::new(&outcome(200_000)).is_by_client());
    let mut idle = outcome(300_000);
    idle.used.machine.busy = 600_000;
    assert!(!Sample::new(&idle).is_by_client());
}

#[test]
fn a_round_without_answers_is_zeros() {
    let outcome = Outcome { connections: Some(0), ..Outcome::default() };
    assert_eq!(Sample::new(&outcome), Sample::default());
    assert!(Sample::new(&Outcome::default()).connections.is_nan());
}
