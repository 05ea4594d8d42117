use super::*;

#[test]
fn it_is_opened_late_until_a_transaction_has_needed_the_server() {
    let mut caution = Caution::default();
    assert_eq!(caution.begins(), Opens::Late);
    caution.ends(true, 1);
    assert_eq!([caution.begins(), caution.begins()], [Opens::Before, Opens::Before]);
    caution.ends(false, 1);
    assert_eq!(caution.begins(), Opens::Late);
}

#[test]
fn after_a_conflict_some_open_it_earlier_whatever_comes_between() {
    for (refuted, next) in [(Opens::Late, Opens::Before), (Opens::Before, Opens::First)] {
        let mut caution = Caution::default();
        caution.refute(refuted);
        for _ in 0..CAREFUL_MIN {
            assert_eq!(caution.begins(), next);
            caution.ends(false, 1);
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
    (0..CAREFUL_MAX).for_each(|_| caution.note_proven());
    assert_eq!(lasts(&mut caution), 4);
}
