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
    assert_eq!((freshness.stamp_of(table.rows), freshness.newest_stamp(&deps)), (at(5), at(5)));
    freshness.stamp(Dep::EVERYTHING, at(9));
    assert_eq!(freshness.check(&[], at(8), Fences::Refuse), Verdict::Stale, "all depend on everything");
    assert_eq!(freshness.newest_stamp(&deps), at(9));
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

#[test]
fn a_cell_is_sixteen_bytes_and_all_are_a_few_mebibytes() {
    const { assert!(Freshness::FIXED_BYTES < 3 << 20) };
}

/// The orderings, on real threads: one writes (fence, commit, stamp, applied), one settles (lifts the fence when applied has
/// passed), others check, and none may be served what was shown to be over before it began.
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
