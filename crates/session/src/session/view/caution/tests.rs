use super::*;

#[test]
fn it_is_opened_late_until_a_transaction_has_needed_the_server() {
    let mut caution = Caution::default();
    assert_eq!(caution.begins(), Opens::Late);
    caution.ends(Needs::View, Opens::Late, 1);
    assert_eq!([caution.begins(), caution.begins()], [Opens::Before, Opens::Before]);
    caution.ends(Needs::Nothing, Opens::Late, 1);
    assert_eq!(caution.begins(), Opens::Late);
}

#[test]
fn after_a_conflict_some_open_it_earlier_whatever_comes_between() {
    for (refuted, next) in [(Opens::Late, Opens::Before), (Opens::Before, Opens::First)] {
        let mut caution = Caution::default();
        caution.refute(refuted);
        for _ in 0..CAREFUL_MIN {
            assert_eq!(caution.begins(), next);
            caution.ends(Needs::Nothing, Opens::Late, 1);
        }
        assert_eq!(caution.begins(), Opens::Late);
    }
}

#[test]
fn a_conflict_is_remembered_the_longer_the_more_there_are() {
    let mut caution = Caution::default();
    let lasts = |caution: &mut Caution| {
        caution.refute(Opens::First);
        (0..2 * CAREFUL_MAX).take_while(|_| caution.begins() == Opens::First).count()
    };
    let times: Vec<usize> = (0..8).map(|_| lasts(&mut caution)).collect();
    assert_eq!(times[..3], [4, 8, 16]);
    assert_eq!(times.last(), Some(&256));
    (0..CAREFUL_MAX).for_each(|_| caution.note_proven(Opens::Before));
    assert_eq!(lasts(&mut caution), 4);
}

#[test]
fn where_there_are_lanes_it_is_opened_late_again_after_a_while() {
    let mut caution = Caution { since_write: SINCE_WRITE_MIN, ..Caution::default() };
    caution.note_lanes(true);
    let mut befores = |needs: Needs| {
        assert_eq!(caution.begins(), Opens::Late);
        caution.ends(needs, Opens::Late, 1);
        (0..100)
            .take_while(|_| caution.next_opens() == Opens::Before && caution.begins() == Opens::Before)
            .count()
    };
    assert_eq!([Needs::View; 4].map(&mut befores), [0, 4, 16, 16]);
    assert_eq!([Needs::Nothing, Needs::Nothing, Needs::Nothing, Needs::View].map(&mut befores), [0, 0, 0, 2]);
    caution.ends(Needs::Writes, Opens::Late, 1);
    assert!((0..100).all(|_| caution.begins() == Opens::Before), "it would have been opened for the write");
    let befores = (0..100).take_while(|_| {
        caution.ends(Needs::View, Opens::Before, 1);
        caution.begins() == Opens::Before
    });
    assert_eq!(befores.count() + 1, SINCE_WRITE_MIN as usize);
    caution.note_lanes(false);
    caution.ends(Needs::View, Opens::Late, 1);
    assert!((0..100).all(|_| caution.begins() == Opens::Before), "there are none any more");
}
