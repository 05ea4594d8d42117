use std::sync::{Arc, Mutex};

use super::*;

/// A fence that can be counted: it is up while its `Arc` has a second owner.
type Token = Arc<()>;

struct Bench {
    registry: Settling<Token>,
    everything: Token,
    visible: Arc<Mutex<Vec<Position>>>,
}

fn bench(executed: Option<AppliedGtids>) -> Bench {
    let everything = Token::default();
    let raised = Arc::clone(&everything);
    let visible: Arc<Mutex<Vec<Position>>> = Arc::default();
    let told = Arc::clone(&visible);
    let registry =
        Settling::new(move || Arc::clone(&raised), move |at| told.lock().expect("no panic").push(at), |_| {});
    if let Some(executed) = executed {
        registry.started(executed, at(0));
        registry.seen(at(0));
    }
    Bench { registry, everything, visible }
}

impl Bench {
    fn settle(&self, outcome: WriteOutcome, now_ms: u64) -> Token {
        let token = Token::default();
        self.registry.settle(Arc::clone(&token), outcome, now_ms);
        token
    }
}

fn is_up(token: &Token) -> bool {
    Arc::strong_count(token) > 1
}

fn at(raw: u64) -> Position {
    Position::new(raw)
}

fn gtid(seq: u64) -> Gtid {
    Gtid::MariaDb { domain: 0, server: 1, seq }
}

fn committed(seqs: &[u64]) -> WriteOutcome {
    WriteOutcome::Committed(seqs.iter().map(|seq| gtid(*seq)).collect())
}

#[test]
fn a_gtid_is_awaited_or_already_there() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let early = bench.settle(committed(&[1]), 0);
    assert!(is_up(&early));
    bench.registry.applied(Some(&gtid(1)), at(10), 0);
    assert!(!is_up(&early));
    assert!(!is_up(&bench.settle(committed(&[1]), 0)), "the event overtook the OK packet");
    assert!(!is_up(&bench.settle(WriteOutcome::Nothing, 0)));
    assert_eq!(bench.registry.len(), 0);
}

#[test]
fn all_of_several_gtids_are_awaited() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let fence = bench.settle(committed(&[1, 2, 2]), 0);
    bench.registry.applied(Some(&gtid(1)), at(10), 0);
    assert!(is_up(&fence));
    bench.registry.applied(Some(&gtid(2)), at(20), 0);
    assert!(!is_up(&fence));
}

#[test]
fn without_a_gtid_a_position_read_afterwards_bounds_it() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let first = bench.settle(WriteOutcome::CommittedSomewhere, 0);
    assert!(bench.registry.begin_bound());
    let second = bench.settle(WriteOutcome::CommittedSomewhere, 0);
    bench.registry.bound(Some(at(100)));
    bench.registry.passed(at(99));
    assert!(is_up(&first));
    bench.registry.passed(at(100));
    assert!(!is_up(&first));
    assert!(is_up(&second), "it came after the question was sent");
    assert!(bench.registry.begin_bound());
    bench.registry.bound(Some(at(100)));
    assert!(!is_up(&second), "already applied");
}

#[test]
fn a_question_that_failed_is_asked_again() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let fence = bench.settle(WriteOutcome::CommittedSomewhere, 0);
    assert!(bench.registry.begin_bound());
    assert!(bench.registry.begin_bound());
    bench.registry.bound(None);
    assert!(!is_up(&fence));
}

#[test]
fn a_gtid_that_does_not_come_is_settled_by_position() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let fence = bench.settle(committed(&[7]), 1_000);
    assert!(!bench.registry.tick(1_000 + GTID_WAIT_MS_MAX - 1));
    assert!(bench.registry.tick(1_000 + GTID_WAIT_MS_MAX));
    assert!(bench.registry.begin_bound());
    bench.registry.bound(Some(at(50)));
    assert!(is_up(&fence));
    bench.registry.passed(at(50));
    assert!(!is_up(&fence));
    assert!(bench.registry.lock().by_gtid.is_empty(), "nothing is left behind");
}

#[test]
fn an_unknown_outcome_waits_for_the_thread_to_go_then_for_a_position() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let early = bench.settle(WriteOutcome::Unknown { thread_id: 5, opened_ms: 0 }, 0);
    assert!(bench.registry.begin_list());
    let late = bench.settle(WriteOutcome::Unknown { thread_id: 6, opened_ms: 0 }, 0);
    bench.registry.listed(&HashSet::from([5]));
    assert!(is_up(&early) && !bench.registry.begin_bound());
    bench.registry.listed(&HashSet::new());
    assert!(bench.registry.begin_bound());
    bench.registry.bound(Some(at(9)));
    bench.registry.passed(at(9));
    assert!(!is_up(&early));
    assert!(is_up(&late), "the list was asked for before it broke");
}

#[test]
fn the_end_of_a_generation_lifts_what_is_known_and_keeps_what_is_not() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let known = bench.settle(committed(&[7]), 0);
    let somewhere = bench.settle(WriteOutcome::CommittedSomewhere, 0);
    let unknown = bench.settle(WriteOutcome::Unknown { thread_id: 5, opened_ms: 0 }, 0);
    bench.registry.ended(1_000);
    assert!(!is_up(&known) && !is_up(&somewhere) && is_up(&unknown));
    assert!(!is_up(&bench.settle(committed(&[8]), 0)), "nothing is served between generations");
    bench.registry.started(AppliedGtids::mariadb(), at(1 << 40));
    assert!(is_up(&unknown));
    bench.registry.server_restarted();
    assert!(!is_up(&unknown));
}

#[test]
fn an_unknown_outcome_is_bounded_in_time() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let unknown = bench.settle(WriteOutcome::Unknown { thread_id: 5, opened_ms: 0 }, 0);
    assert!(!bench.registry.is_overdue(UNKNOWN_MS_MAX - 1));
    assert!(bench.registry.is_overdue(UNKNOWN_MS_MAX));
    bench.registry.ended(UNKNOWN_MS_MAX);
    assert!(!is_up(&unknown));
}

#[test]
fn writes_that_are_broken_off_do_not_end_the_stream_before_the_server_has_no_threads_left() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let first = bench.settle(WriteOutcome::Unknown { thread_id: 1, opened_ms: 0 }, 0);
    for thread_id in 2..10_000 {
        bench.settle(WriteOutcome::Unknown { thread_id, opened_ms: 0 }, 0);
    }
    assert!(!bench.registry.is_overdue(0));
    assert!(bench.registry.begin_list());
    bench.registry.listed(&HashSet::new());
    assert!(bench.registry.begin_bound());
    bench.registry.bound(None);
    assert!(!is_up(&first) && bench.registry.len() == 0);
}

#[test]
fn too_many_waiting_fences_become_one_on_everything() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let first = bench.settle(committed(&[1]), 0);
    for seq in 2..=WAITING_MAX as u64 {
        bench.settle(committed(&[seq]), 0);
    }
    assert!(is_up(&first));
    assert_eq!(Arc::strong_count(&bench.everything), 2);
    bench.settle(WriteOutcome::CommittedSomewhere, 0);
    assert!(!is_up(&first));
    assert_eq!(Arc::strong_count(&bench.everything), 3, "raised before the others are lifted");
    assert_eq!(bench.registry.len(), 1);
    assert!(bench.registry.begin_bound());
    bench.registry.bound(Some(at(10)));
    bench.registry.passed(at(10));
    assert_eq!(Arc::strong_count(&bench.everything), 2);
}

#[test]
fn an_acknowledged_commit_is_visible_once_all_before_it_are() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    let told = || bench.visible.lock().expect("no panic").clone();
    bench.settle(committed(&[1]), 0);
    bench.registry.applied(Some(&gtid(1)), at(10), 0);
    assert_eq!(told(), [at(10)], "acknowledged before it was applied");
    bench.registry.applied(Some(&gtid(2)), at(20), 0);
    bench.registry.applied(Some(&gtid(3)), at(30), 0);
    bench.settle(committed(&[3]), 0);
    assert_eq!(told(), [at(10)], "another writer's may not be visible");
    bench.registry.seen(at(20));
    bench.registry.applied(Some(&gtid(4)), at(40), 0);
    assert_eq!(told(), [at(10), at(30)]);
    bench.settle(committed(&[4]), 0);
    assert_eq!(told(), [at(10), at(30), at(40)], "acknowledged after it was applied");
    bench.settle(WriteOutcome::CommittedSomewhere, 0);
    bench.settle(WriteOutcome::Nothing, 0);
    assert_eq!(told().len(), 3);
}

#[test]
fn a_new_generation_is_not_seen_by_what_the_one_before_acknowledged() {
    let bench = bench(Some(AppliedGtids::mariadb()));
    bench.registry.applied(Some(&gtid(1)), at(10), 0);
    bench.registry.ended(0);
    bench.registry.started(AppliedGtids::mariadb(), at(100));
    bench.registry.applied(Some(&gtid(1)), at(110), 0);
    bench.settle(committed(&[1]), 0);
    assert!(bench.visible.lock().expect("no panic").is_empty(), "the start is not known to be visible");
    bench.registry.seen(at(100));
    bench.settle(WriteOutcome::Nothing, 0);
    assert_eq!(*bench.visible.lock().expect("no panic"), [at(110)]);
}
