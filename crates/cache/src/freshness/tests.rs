use super::*;
use std::sync::atomic::AtomicBool;

const fn at(raw: u64) -> Position {
    Position::new(raw)
}

#[test]
fn a_stamp_above_valid_from_kills_and_never_goes_back() {
    let freshness = Freshness::new();
    let table = freshness.table("s", "t");
    let deps = [table.definition, table.rows];
    freshness.stamp(table.rows, at(5));
    assert_eq!(freshness.check(&deps, at(5), Fences::Refuse), Verdict::Servable);
    assert_eq!(freshness.check(&deps, at(4), Fences::Refuse), Verdict::Stale);
    freshness.stamp(table.rows, at(3));
    assert_eq!(freshness.stamp_of(table.rows), at(5));
    freshness.stamp(Dep::EVERYTHING, at(9));
    assert_eq!(freshness.check(&[], at(8), Fences::Refuse), Verdict::Stale, "all depend on everything");
    assert_eq!(freshness.stamp_of(Dep::EVERYTHING), at(9));
    assert!(freshness.is_dead(&deps, at(8)));
}

#[test]
fn fences_are_counted_and_go_with_their_owner() {
    let freshness = Arc::new(Freshness::new());
    let rows = freshness.table("s", "t").rows;
    let one = freshness.fence([rows, rows]);
    let two = freshness.fence(vec![rows]);
    drop(one);
    assert_eq!(freshness.check(&[rows], at(1), Fences::Refuse), Verdict::Fenced);
    freshness.stamp(rows, at(2));
    assert_eq!(
        freshness.check(&[rows], at(1), Fences::Refuse),
        Verdict::Stale,
        "need not wait for the fence"
    );
    drop(two);
    assert_eq!(freshness.check(&[rows], at(2), Fences::Refuse), Verdict::Servable);
    let all = freshness.fence([Dep::EVERYTHING]);
    assert_eq!(freshness.check(&[], at(2), Fences::Refuse), Verdict::Fenced);
    drop(all);
}

#[test]
fn valid_from_is_the_lesser_and_neither_goes_back() {
    let freshness = Freshness::new();
    freshness.publish_visible(at(7));
    assert_eq!(freshness.valid_from(), Position::ZERO);
    freshness.publish_applied(at(5));
    freshness.publish_applied(at(4));
    assert_eq!(freshness.valid_from(), at(5));
    freshness.publish_applied(at(9));
    freshness.publish_visible(at(6));
    assert_eq!(freshness.valid_from(), at(7));
}

#[test]
fn liveness_ends_at_its_millisecond() {
    let freshness = Freshness::new();
    assert!(!freshness.is_live(0) && !freshness.is_followed());
    freshness.lives_until(10);
    assert!(freshness.is_live(9) && !freshness.is_live(10) && freshness.is_followed());
    freshness.lives_until(0);
    assert!(!freshness.is_live(0) && !freshness.is_followed());
}

#[test]
fn names_are_not_joined_before_they_are_hashed() {
    let freshness = Freshness::new();
    assert_ne!(freshness.table("ab", "c"), freshness.table("a", "bc"));
    assert_eq!(freshness.table("ab", "c"), freshness.table("ab", "c"));
    assert_eq!(freshness.table("a", "b").definition.0 + 1, freshness.table("a", "b").rows.0);
}

/// The orderings, on real threads. One thread writes (fence, commit, stamp, applied), one settles (lifts the fence when `applied` has
/// passed), the others check. No check may be served a state that was shown to be over before the check began.
#[test]
fn no_check_passes_what_was_committed_before_it() {
    const COMMITS: u64 = 20_000;
    let freshness = Arc::new(Freshness::new());
    let rows = freshness.table("s", "t").rows;
    let committed = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let (send, settle) = std::sync::mpsc::sync_channel::<(Fence, Position)>(4);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..=COMMITS {
                let fence = freshness.fence([rows]);
                committed.store(n, Ordering::Release);
                send.send((fence, at(n))).unwrap();
                freshness.stamp(rows, at(n));
                freshness.publish_applied(at(n));
            }
            done.store(true, Ordering::Relaxed);
            drop(send);
        });
        scope.spawn(|| {
            for (fence, commit) in settle {
                while freshness.applied() < commit {
                    std::hint::spin_loop();
                }
                drop(fence);
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let shown = committed.load(Ordering::Acquire);
                let stale = at(shown.saturating_sub(1));
                assert!(
                    shown == 0 || freshness.check(&[rows], stale, Fences::Refuse) != Verdict::Servable,
                    "{shown}"
                );
            }
        });
    });
    assert_eq!(freshness.check(&[rows], at(COMMITS), Fences::Refuse), Verdict::Servable);
}

#[test]
fn rows_are_told_apart_and_share_their_watch() {
    let freshness = Freshness::new();
    let (any, one, other) = (freshness.any(7), freshness.row(7, 1), freshness.row(7, 2));
    assert!(one.slot().is_some() && any.slot().is_none() && one != freshness.row(8, 1));
    freshness.stamp(one, at(5));
    assert_eq!(freshness.check(&[any, one], at(4), Fences::Refuse), Verdict::Stale);
    assert_eq!(freshness.check(&[any, other], at(4), Fences::Refuse), Verdict::Servable);
    freshness.stamp(any, at(6));
    assert_eq!(freshness.check(&[any, other], at(5), Fences::Refuse), Verdict::Stale);
    freshness.stamp(other, at(1 << 60));
    assert_eq!(freshness.stamp_of(Dep::EVERYTHING), at(1 << 60), "a position that no slot can tell");
}

#[test]
fn a_new_generation_drops_all_and_begins_with_nothing_stamped() {
    let freshness = Freshness::new();
    let deps = [freshness.any(7), freshness.row(7, 1)];
    freshness.stamp(deps[1], at(5));
    freshness.restart(at(1 << 55));
    assert_eq!(freshness.applied(), at(1 << 55));
    assert_eq!(freshness.check(&deps, at((1 << 55) - 1), Fences::Ignore), Verdict::Stale);
    assert_eq!(freshness.check(&deps, at(1 << 55), Fences::Refuse), Verdict::Servable);
    freshness.stamp(deps[1], at((1 << 55) + 1));
    assert_eq!(freshness.stamp_of(deps[1]), at((1 << 55) + 1));
}

#[test]
fn a_fence_has_a_number_and_holds_what_it_is_given_until_it_is_lifted() {
    let freshness = Arc::new(Freshness::new());
    assert_eq!((freshness.fences_raised(), freshness.oldest_fence()), (0, u64::MAX));
    let (row, held) = (freshness.row(7, 1), Arc::new(()));
    let one = freshness.fence([row]).holding(Arc::clone(&held)).holding(Arc::clone(&held));
    let two = freshness.fence([row]);
    assert_eq!((freshness.fences_raised(), freshness.oldest_fence()), (2, 1));
    assert_eq!(freshness.check(&[row], at(0), Fences::Refuse), Verdict::Fenced);
    assert_eq!(freshness.check(&[row], at(0), Fences::Ignore), Verdict::Servable);
    assert_eq!(Arc::strong_count(&held), 3);
    drop(one);
    assert_eq!((Arc::strong_count(&held), freshness.oldest_fence()), (1, 2));
    drop(two);
    assert_eq!((freshness.fences_raised(), freshness.oldest_fence()), (2, u64::MAX));
    assert_eq!(freshness.check(&[row], at(0), Fences::Refuse), Verdict::Servable);
}

#[test]
fn more_fences_than_a_bucket_can_count_stand_on_everything() {
    let freshness = Arc::new(Freshness::new());
    let row = freshness.row(7, 1);
    let many = freshness.fence(vec![row; 10_000]);
    assert!(many.deps().contains(&Dep::EVERYTHING) && freshness.is_fenced(Dep::EVERYTHING));
    drop(many);
    assert!(!freshness.is_fenced(Dep::EVERYTHING) && !freshness.is_fenced(row));
}

/// Rows in two buckets that are always full, with new generations in between, on real threads: a thread that knows of a stamp finds it.
#[test]
fn no_reader_misses_the_last_stamp_of_a_row() {
    const ROWS: usize = 40;
    const STAMPS: u64 = 200_000;
    const RESTART_EVERY: u64 = 1_000;
    let freshness = Freshness::with_row_bits(3, 1, 6);
    let rows: Vec<Dep> = (0..ROWS as u64).map(|row| freshness.row(7, row)).collect();
    let stamped: Vec<AtomicU64> = (0..ROWS).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    let next =
        |random: u64| random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (rows, stamped, freshness, done) = (&rows, &stamped, &freshness, &done);
            scope.spawn(move || {
                let mut random = reader;
                while !done.load(Ordering::Relaxed) {
                    random = next(random);
                    let row = (random >> 33) as usize % ROWS;
                    let known = at(stamped[row].load(Ordering::Acquire));
                    let seen = freshness.stamp_of(rows[row]).max(freshness.stamp_of(Dep::EVERYTHING));
                    assert!(seen >= known, "row {row}: {seen} in place of {known}");
                    let before = at(known.get().saturating_sub(1));
                    assert!(freshness.is_dead(&rows[row..=row], before) || known == before, "row {row}");
                }
            });
        }
        let mut random = 99;
        for position in 1..=STAMPS {
            random = next(random);
            let row = (random >> 33) as usize % ROWS;
            if position % RESTART_EVERY == 0 {
                freshness.restart(at(position));
            } else {
                freshness.stamp(rows[row], at(position));
                stamped[row].store(position, Ordering::Release);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn unlogged_writes_are_stamped_above_all_that_answers_may_rest_on() {
    let freshness = Freshness::new();
    freshness.publish_applied(Position::new(10));
    freshness.publish_visible(Position::new(12));
    let before = freshness.valid_from();
    let dep = freshness.table("d", "t").definition;
    freshness.stamp_unlogged(&[dep]);
    assert_eq!(freshness.stamp_of(dep), Position::new(13));
    assert!(freshness.is_dead(&[dep], before) && freshness.is_dead(&[dep], Position::new(12)));
}

#[test]
fn unlogged_writes_never_move_past_a_transaction_that_is_still_to_come() {
    let freshness = Freshness::new();
    freshness.publish_applied(Position::new(10));
    freshness.publish_visible(Position::new(10));
    let dep = freshness.table("d", "t").definition;
    for _ in 0..1000 {
        freshness.stamp_unlogged(&[dep]);
    }
    assert_eq!((freshness.applied(), freshness.visible()), (Position::new(10), Position::new(10)));
    assert_eq!((freshness.stamp_of(dep), freshness.unlogged()), (Position::new(11), Position::new(11)));
}
