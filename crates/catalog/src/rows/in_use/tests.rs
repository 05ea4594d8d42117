use std::sync::Arc;

use super::*;

#[test]
fn it_waits_for_the_writes_of_before() {
    let (era, reached, in_use) = (Era::default(), ReachedPosition::default(), InUse::default());
    let (before, also_before) = (era.ticket(), era.ticket());
    reached.publish(Position::new(5));
    in_use.bring(0b1, &era, &reached);
    let after = era.ticket();
    assert!(!in_use.is_usable(Position::new(9)));
    drop(before);
    assert!(!in_use.is_usable(Position::new(9)));
    drop(also_before);
    assert!(in_use.is_usable(Position::new(9)) && in_use.is_usable(Position::new(5)));
    assert!(!in_use.is_usable(Position::new(4)));
    // A further level waits for those that were given out since.
    assert!(in_use.has(0b1) && !in_use.has(0b11));
    reached.publish(Position::new(7));
    in_use.bring(0b10, &era, &reached);
    assert!(in_use.has(0b11) && in_use.to_stamp() == 0b11);
    assert!(!in_use.is_usable(Position::new(9)));
    drop(after);
    assert!(in_use.is_usable(Position::new(7)) && !in_use.is_usable(Position::new(6)));
}

/// The handshake with the applier: what it did not stamp is not above what counts as born.
#[test]
fn what_is_not_stamped_is_not_vouched_for() {
    const ROUNDS: u64 = 20_000;
    let (era, reached) = (Era::default(), ReachedPosition::default());
    for round in 1..=ROUNDS {
        let in_use = Arc::new(InUse::default());
        let stamped = std::thread::scope(|scope| {
            let applier = scope.spawn(|| {
                reached.publish(Position::new(round));
                in_use.to_stamp() != 0
            });
            in_use.bring(1, &era, &reached);
            applier.join().unwrap()
        });
        assert!(stamped || !in_use.is_usable(Position::new(round - 1)));
        if round > 500 && cfg!(debug_assertions) {
            break;
        }
    }
}
