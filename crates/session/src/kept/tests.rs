use super::*;

const EACH: usize = 100;
const MANY: u32 = 100_000;

fn kept() -> Kept<u32, u32> {
    Kept::new(1000 * EACH)
}

/// An entry that is used now and then outlives any number of entries that are used once, or twice.
#[test]
fn what_is_invented_never_pushes_out_what_is_used_often() {
    for times in [1, 2] {
        let mut kept = kept();
        for n in 0..100 {
            kept.insert(n, n, EACH);
        }
        let often = |kept: &mut Kept<u32, u32>| (0..100).filter(|n| kept.get(n) == Some(n)).count();
        often(&mut kept);
        for n in 100..MANY {
            kept.insert(n, n, EACH);
            (1..times).for_each(|_| assert_eq!(kept.get(&n), Some(&n), "what is new is there"));
            if n % 500 == 0 {
                assert_eq!(often(&mut kept), 100, "{n}");
            }
        }
    }
}

/// An entry that was used often and is not used any more is dropped in the end.
#[test]
fn what_is_used_no_more_is_forgotten() {
    let mut kept = kept();
    for n in 0..1000 {
        kept.insert(n, n, EACH);
        (0..20).for_each(|_| assert!(kept.get(&n).is_some()));
    }
    for n in 1000..10_000 {
        kept.insert(n, n, EACH);
        assert!(kept.get(&n).is_some());
    }
    assert_eq!((0..1000).filter(|n| kept.get(n).is_some()).count(), 0);
}

/// The map never holds more than its bound, and an insert looks at few others on average.
#[test]
fn bytes_and_work_are_bounded() {
    let mut kept = kept();
    for n in 0..MANY {
        kept.insert(n, n, 1 + (n as usize * 37) % (2 * EACH));
        assert!(kept.bytes <= kept.bytes_max);
        assert!(n % 1000 != 0 || kept.slots.values().map(|slot| slot.bytes).sum::<usize>() == kept.bytes);
    }
    assert!(kept.bytes > kept.bytes_max / 2);
    assert!(kept.looked_at < 12 * MANY as usize, "{}", kept.looked_at);
    kept.insert(0, 0, kept.bytes_max);
    assert!(kept.slots.get(&0).is_none_or(|slot| slot.bytes < kept.bytes_max), "too large to be kept");
}

#[test]
fn the_latest_value_counts() {
    let mut kept = kept();
    kept.insert(1, 1, EACH);
    kept.insert(1, 2, 2 * EACH);
    assert_eq!(kept.get(&1), Some(&2));
    assert_eq!(kept.bytes, 2 * EACH);
}
