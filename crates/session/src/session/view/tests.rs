use super::*;

const FROM: Position = Position::new(7);

fn begun(manner: Option<Manner>) -> ReadView {
    let mut view = ReadView::default();
    view.begin(manner, Characteristics::default());
    view
}

/// A transaction at REPEATABLE READ from which something was served.
fn bound() -> ReadView {
    let mut view = begun(Some(Manner::Shared));
    view.serves(Moment::AsOf(FROM));
    view
}

#[test]
fn the_manner_is_unknown_or_is_decided_once_for_one_version_of_the_environment() {
    let mut view = ReadView::default();
    view.begin_undecided(3);
    assert!(view.is_undecided(3) && !view.is_undecided(4) && !view.is_known());
    view.decide(None);
    assert!(view.is_undecided(3), "it may be known later");
    view.decide(Some(Manner::Each));
    assert_eq!((view.manner(), view.is_undecided(3)), (Some(Manner::Each), false));
    view.begin_undecided(3);
    view.lose();
    assert_eq!((view.manner(), view.is_undecided(3)), (None, false));
    assert!(!begun(None).is_undecided(0));
}

#[test]
fn what_is_said_and_who_has_begun_hold_for_one_transaction() {
    let said = Characteristics { isolation: Some(Isolation::RepeatableRead), read_only: None };
    let mut view = ReadView::default();
    view.begin_by_itself(Some(Manner::Shared), said);
    view.lose();
    assert_eq!((view.said(), view.is_by_itself()), (said, true));
    view.begin(Some(Manner::Shared), Characteristics::default());
    assert!(view.said().is_empty() && !view.is_by_itself());
}

/// A read view that is settled and proven.
fn open() -> AtServer {
    let proof = Proof { untouched: None, within: Some(FROM) };
    AtServer::Open { contains: FROM, ends_asked: 1, is_settled: true, is_proven: true, proof }
}

#[test]
fn each_row_of_the_table_of_read_views() {
    let freshness = Freshness::new();
    let (from, ends_asked) = (freshness.valid_from(), freshness.ends_asked());
    let anew = |contains, ends_asked| {
        let proof = Proof::default();
        AtServer::Open { contains, ends_asked, is_settled: false, is_proven: true, proof }
    };
    let perhaps = AtServer::Perhaps { contains: from };
    let each = [AtServer::None, AtServer::Unknown, perhaps, open()];
    for at_server in each {
        let after = |happens: fn(&mut ReadView, &Freshness)| {
            let mut view = ReadView { at_server, ..begun(Some(Manner::Shared)) };
            happens(&mut view, &freshness);
            view.at_server
        };
        let opened = after(|view, _| view.opened(Position::new(9), 3));
        assert_eq!(opened, anew(Position::new(9), 3), "an earlier proof is of another read view");
        assert_eq!(after(|view, _| view.note_not_open()), AtServer::None);
        let read = if at_server == AtServer::None { perhaps } else { at_server };
        assert_eq!(after(ReadView::note_read_at_server), read);
        let shown = if at_server == perhaps { anew(from, ends_asked) } else { at_server };
        let by_rows = after(|view, freshness| {
            let _ = view.opened_by_rows(freshness);
        });
        assert_eq!(by_rows, shown);
        assert_eq!(after(|view, _| view.lose()), AtServer::Unknown);
        assert_eq!(after(|view, _| view.end()), AtServer::None);
    }
}

#[test]
fn whoever_goes_back_to_before_the_first_read_has_read_nothing() {
    let definition = Dep::DEFINITIONS;
    let mut view = begun(Some(Manner::Shared));
    assert!(view.marks(&Mark::Set("early")).is_some());
    view.serves(Moment::AsOf(FROM));
    assert!(view.marks(&Mark::Set("late")).is_some());
    view.served().push(definition);
    view.named.push(definition);
    assert!(view.marks(&Mark::BackTo("late")).is_some());
    assert!(
        view.is_bound() && !view.served.is_empty() && !view.named.is_empty(),
        "something was read before"
    );
    assert!(view.marks(&Mark::BackTo("nosuch")).is_none() && view.is_bound());
    assert!(view.marks(&Mark::BackTo("early")).is_some());
    assert!(!view.is_bound() && view.served.is_empty() && view.named.is_empty());
    view.serves(Moment::AsOf(FROM));
    assert!(view.marks(&Mark::Remove("early")).is_some() && view.is_bound(), "nothing is undone");
}

#[test]
fn a_transaction_is_bound_by_its_first_answer_and_only_where_all_reads_share_a_moment() {
    let view = bound();
    assert!(view.is_bound() && view.bound_since().is_some());
    let mut each = begun(Some(Manner::Each));
    each.serves(Moment::AsOf(FROM));
    assert!(!each.is_bound() && each.bound_since().is_none());
    let mut later = bound();
    let since = later.bound_since();
    later.serves(Moment::AsOf(Position::new(9)));
    assert_eq!(later.bound_since(), since, "the first answer counts");
    later.tries_no_more();
    assert!(later.is_bound() && later.bound_since().is_none());
    later.serves(Moment::AsOf(Position::new(9)));
    assert_eq!(later.bound_since(), None);
}

#[test]
fn an_opened_read_view_needs_a_proof_if_something_was_served() {
    let mut view = bound();
    view.opened(FROM, 0);
    assert!(view.is_unproven() && view.is_shared_view() && view.bound_since().is_none());
    view.note_proven();
    assert!(!view.is_unproven());
    let mut view = begun(Some(Manner::Shared));
    view.opened(FROM, 0);
    assert!(!view.is_unproven());
    view.binds(FROM, &Freshness::new());
    assert!(view.is_unproven() && view.is_bound());
}
