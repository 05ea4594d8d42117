//! The simulation of larger machines, as a test: the store's locks do not serialise 32 event loops.

use super::SHARDS;

#[allow(dead_code, reason = "an example of its own, with a table of more cases")]
#[path = "../../examples/scaling.rs"]
mod simulation;

use simulation::{REQUEST_NS, Skew, simulated};

#[test]
fn thirty_two_event_loops_answer_nearly_as_many_times_as_much_as_one() {
    assert_eq!(simulation::SHARDS, SHARDS, "the simulation has the store's shards");
    for (skew, stored) in [(Skew::None, 0), (Skew::Half, 0), (Skew::One, 0), (Skew::None, 10), (Skew::One, 1)]
    {
        let times = simulated(32, skew, stored, REQUEST_NS) / simulated(1, skew, stored, REQUEST_NS);
        assert!(times > 30.0, "{times:.1} times, with {skew:?} and {stored} % stored anew");
    }
}

/// A store with one lock for all would: the test above can fail.
#[test]
fn one_line_for_all_would_serialise_them() {
    let held_all_the_time =
        simulated(32, Skew::One, 100, REQUEST_NS) / simulated(1, Skew::One, 100, REQUEST_NS);
    assert!(held_all_the_time < 8.0, "{held_all_the_time:.1} times");
}
