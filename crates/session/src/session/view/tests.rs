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

#[test]
fn each_row_of_the_table_of_read_views() {
    let freshness = Freshness::new();
    let open = |view: &ReadView| matches!(view.at_server, AtServer::Open { .. });
    let perhaps = AtServer::Perhaps { contains: freshness.valid_from() };
    let each = [AtServer::None, AtServer::Unknown, perhaps];
    for at_server in each {
        let view = || ReadView { at_server, ..begun(Some(Manner::Shared)) };
        let after = |happens: fn(&mut ReadView, &Freshness)| {
            let mut view = view();
            happens(&mut view, &freshness);
            view
        };
        assert!(open(&after(|view, _| view.opened(FROM, 0))));
        assert_eq!(after(|view, _| view.note_not_open()).at_server, AtServer::None);
        let read = after(ReadView::note_read_at_server).at_server;
        assert_eq!(read, if at_server == AtServer::None { perhaps } else { at_server });
        assert_eq!(after(|view, _| view.lose()).at_server, AtServer::Unknown);
        assert_eq!(after(|view, _| view.end()).at_server, AtServer::None);
    }
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
