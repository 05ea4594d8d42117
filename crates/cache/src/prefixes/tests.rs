use super::*;

const ROOM: usize = 1 << 20;

fn prefix<'a>(text: &'a [u8], body: &'a [u8]) -> Prefix<'a> {
    Prefix { text, body }
}

/// Holds a prefix with nothing saved.
fn hold(prefixes: &mut Prefixes, hash: u64, it: Prefix<'_>, budget: &Budget) -> Option<PrefixNumber> {
    prefixes.hold(hash, it, &mut 0, budget)
}

#[test]
fn one_is_stored_when_it_is_met_again_and_freed_with_its_last_holder() {
    let (mut prefixes, budget) = (Prefixes::default(), Budget::new(ROOM));
    let it = prefix(b"SELECT a FROM t WHERE id=", b"columns");
    assert_eq!(hold(&mut prefixes, 7 << 32, it, &budget), None);
    let first = hold(&mut prefixes, 7 << 32, it, &budget);
    assert_eq!(hold(&mut prefixes, 7 << 32, it, &budget), first);
    assert!(prefixes.get(first) == Some(it) && prefixes.get(None) == Some(Prefix::default()));
    assert!(budget.used() == prefixes.charge() && budget.used() >= it.len());
    prefixes.audit([first, first].into_iter().flatten());
    prefixes.let_go(first, &budget);
    assert!(prefixes.get(first) == Some(it));
    prefixes.let_go(first, &budget);
    assert_eq!((budget.used(), prefixes.charge()), (0, 0));
    assert!(prefixes.get(first).is_none(), "nothing is taken for a prefix that is gone");
    prefixes.audit(std::iter::empty());
}

#[test]
fn numbers_are_given_again() {
    let (mut prefixes, budget) = (Prefixes::default(), Budget::new(ROOM));
    let mut last = None;
    for round in 1..100_u64 {
        let text = round.to_le_bytes();
        assert_eq!(hold(&mut prefixes, round << 33, prefix(&text, b""), &budget), None);
        let number = hold(&mut prefixes, round << 33, prefix(&text, b""), &budget);
        prefixes.let_go(last, &budget);
        last = number;
    }
    assert_eq!(prefixes.held.len(), 2);
    prefixes.audit(last.into_iter());
}

#[test]
fn another_of_the_same_hash_is_not_taken_for_it() {
    let (mut prefixes, budget) = (Prefixes::default(), Budget::new(ROOM));
    let _ = hold(&mut prefixes, 7 << 32, prefix(b"one", b""), &budget);
    let one = hold(&mut prefixes, 7 << 32, prefix(b"one", b""), &budget);
    assert_eq!(hold(&mut prefixes, 7 << 32, prefix(b"two", b""), &budget), None);
    // Nor if the same bytes are divided at another place.
    assert_eq!(hold(&mut prefixes, 7 << 32, prefix(b"on", b"e"), &budget), None);
    prefixes.audit(one.into_iter());
}

#[test]
fn what_is_saved_pays_for_it_and_without_room_there_is_none() {
    let it = prefix(&[1; 100], &[2; 100]);
    for (saved, room) in [(0, it.charge()), (100, it.charge() - 100), (1000, 0)] {
        let (mut prefixes, budget) = (Prefixes::default(), Budget::new(room));
        let mut left = saved;
        assert_eq!(prefixes.hold(7 << 32, it, &mut left, &budget), None);
        assert!(prefixes.hold(7 << 32, it, &mut left, &budget).is_some());
        assert_eq!(budget.used() + saved - left, it.charge());
        let (mut prefixes, budget, mut left) =
            (Prefixes::default(), Budget::new(room.saturating_sub(1)), saved.min(150));
        let _ = prefixes.hold(7 << 32, it, &mut left, &budget);
        assert_eq!(prefixes.hold(7 << 32, it, &mut left, &budget), None);
        assert_eq!((budget.used(), left), (0, saved.min(150)));
    }
}
