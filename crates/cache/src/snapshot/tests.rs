use super::*;

const fn at(position: u64) -> Position {
    Position::new(position)
}

fn with(applied: u64) -> (Freshness, Dep, Dep) {
    let freshness = Freshness::with_hash_seed(7);
    freshness.publish_applied(at(applied));
    let [one, other] = ["one", "other"].map(|name| freshness.table("s", name).rows);
    (freshness, one, other)
}

/// Asks where the binlog ends, and has the answer passed at once.
fn settle(freshness: &Freshness) {
    let number = freshness.ask_end();
    freshness.end_passed(number);
}

#[test]
fn a_moment_is_a_bound() {
    assert!(Moment::AsOf(at(5)).admits(at(5), at(5)) && !Moment::AsOf(at(5)).admits(at(6), at(6)));
    let snapshot = Moment::Snapshot { contains: at(5), within: at(8) };
    assert!(snapshot.admits(at(5), at(8)));
    assert!(!snapshot.admits(at(6), at(8)), "it may lie beyond the snapshot");
    assert!(!snapshot.admits(at(5), at(7)), "something in the snapshot is not stamped yet");
}

#[test]
fn a_result_is_settled_by_a_question_that_is_asked_after_it() {
    let (freshness, one, _) = with(5);
    let early = freshness.ask_end();
    let complete = Validity { valid_from: at(5), ends_asked: freshness.ends_asked() };
    freshness.end_passed(early);
    let moment = Moment::now(&freshness);
    assert_eq!(freshness.check_as_of(&[one], complete, moment), Ruling::Unsettled);
    settle(&freshness);
    assert_eq!(freshness.check_as_of(&[one], complete, moment), Ruling::Servable);
}

#[test]
fn what_was_read_after_the_moment_is_refused_although_it_is_servable() {
    let (freshness, one, other) = with(5);
    let moment = Moment::now(&freshness);
    freshness.stamp(one, at(6));
    freshness.publish_applied(at(6));
    let complete = Validity { valid_from: at(6), ends_asked: freshness.ends_asked() };
    settle(&freshness);
    assert_eq!(freshness.check_as_of(&[one], complete, moment), Ruling::Moved);
    assert_eq!(
        freshness.check_as_of(&[other], Validity { valid_from: at(5), ..complete }, moment),
        Ruling::Servable
    );
    assert_eq!(freshness.check_as_of(&[one], complete, Moment::now(&freshness)), Ruling::Servable);
    assert_eq!(
        freshness.check_as_of(&[one], Validity { valid_from: at(5), ..complete }, Moment::now(&freshness)),
        Ruling::Stale
    );
}

#[test]
fn fences_are_looked_at_whatever_the_moment_is() {
    let freshness = std::sync::Arc::new(with(5).0);
    let one = freshness.table("s", "one").rows;
    let complete = Validity { valid_from: at(5), ends_asked: freshness.ends_asked() };
    settle(&freshness);
    let fence = freshness.fence([one]);
    for moment in [Moment::now(&freshness), Moment::Snapshot { contains: at(5), within: at(5) }] {
        assert_eq!(freshness.check_as_of(&[one], complete, moment), Ruling::Fenced);
    }
    drop(fence);
    assert_eq!(freshness.check_as_of(&[one], complete, Moment::now(&freshness)), Ruling::Servable);
}

#[test]
fn what_was_served_holds_until_a_snapshot_if_nothing_has_changed_it() {
    let (freshness, one, other) = with(5);
    let holds = |deps: &[Dep]| freshness.holds_until(deps, at(5), at(7), Fences::Refuse);
    assert_eq!(holds(&[one]), Holds::NotYet);
    freshness.stamp(other, at(6));
    freshness.publish_applied(at(7));
    assert_eq!((holds(&[one]), holds(&[one, other])), (Holds::Proven, Holds::Changed));
}

#[test]
fn a_write_under_way_may_be_in_the_snapshot_and_in_no_binlog() {
    let freshness = std::sync::Arc::new(with(5).0);
    let one = freshness.table("s", "one").rows;
    let fence = freshness.fence([one]);
    let holds = |fences| freshness.holds_until(&[one], at(5), at(5), fences);
    assert_eq!((holds(Fences::Refuse), holds(Fences::Ignore)), (Holds::NotYet, Holds::Proven));
    freshness.stamp_unlogged(&[one]);
    drop(fence);
    assert_eq!(holds(Fences::Refuse), Holds::Changed);
}

#[test]
fn what_was_untouched_holds_whatever_own_writers_did_since() {
    let (freshness, one, _) = with(5);
    let freshness = std::sync::Arc::new(freshness);
    freshness.publish_owners(at(5), at(5));
    let untouched = freshness.untouched(&[one], at(5)).unwrap();
    freshness.stamp(one, at(6));
    freshness.publish_applied(at(8));
    assert_eq!(freshness.holds_untouched(untouched, at(8)), Holds::NotYet, "whose they are is not known");
    freshness.publish_owners(at(7), at(5));
    assert_eq!(freshness.holds_untouched(untouched, at(8)), Holds::NotYet);
    freshness.publish_owners(at(8), at(5));
    assert_eq!(freshness.holds_untouched(untouched, at(8)), Holds::Proven);
    freshness.publish_owners(at(9), at(9));
    assert_eq!(
        freshness.holds_untouched(untouched, at(8)),
        Holds::Changed,
        "the foreign one may be in the snapshot"
    );
}

#[test]
fn what_is_fenced_or_changed_or_in_no_binlog_is_not_untouched() {
    let freshness = std::sync::Arc::new(with(5).0);
    let [one, other] = ["one", "other"].map(|name| freshness.table("s", name).rows);
    let fence = freshness.fence([one]);
    assert_eq!(freshness.untouched(&[one], at(5)), None);
    drop(fence);
    let untouched = freshness.untouched(&[one], at(5)).unwrap();
    freshness.publish_owners(at(8), at(5));
    assert_eq!(freshness.holds_untouched(untouched, at(8)), Holds::Proven);
    freshness.stamp_unlogged(&[other]);
    assert_eq!(freshness.holds_untouched(untouched, at(8)), Holds::Changed);
    freshness.stamp(one, at(9));
    assert_eq!(freshness.untouched(&[one], at(5)), None);
}

#[test]
fn what_is_written_touches_what_it_would_be_fenced_on() {
    let (_, one, other) = with(5);
    assert!(is_touched(&[one], [other, one].into_iter()));
    assert!(!is_touched(&[one], [other].into_iter()));
}
