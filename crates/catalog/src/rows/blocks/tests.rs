use super::*;

fn holds(blocks: &[KeyBlock], key: u64) -> bool {
    blocks.iter().any(|block| KeyBlock::of(key, block.level) == *block)
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn small_ranges_are_covered_exactly() {
    for low in 0..200u64 {
        for high in low..200 {
            let blocks = cover(low, high);
            assert!(blocks.len() <= COVER_MAX);
            for key in 0..260 {
                assert_eq!(holds(&blocks, key), (low..=high).contains(&key), "{key} in {low}..={high}");
            }
        }
    }
}

#[test]
fn ranges_of_any_size_are_covered() {
    let mut seed = 7;
    for _ in 0..20_000 {
        let shift = random(&mut seed) % 64;
        let low = random(&mut seed) >> shift;
        let len = random(&mut seed) >> (random(&mut seed) % 64);
        let high = low.saturating_add(len);
        let blocks = cover(low, high);
        assert!(!blocks.is_empty() && blocks.len() <= COVER_MAX);
        for key in [low, high, low + (high - low) / 2, low + random(&mut seed) % (high - low).max(1)] {
            assert!(holds(&blocks, key), "{key} in {low}..={high}");
        }
        // At most a twelfth of the range on either side is taken besides.
        let slack = (high - low) / 12 + 1;
        for key in [low.checked_sub(slack + 1), high.checked_add(slack + 1)].into_iter().flatten() {
            assert!(!holds(&blocks, key) || high - low < 3, "{key} beyond {low}..={high}");
        }
    }
}

#[test]
fn ends_of_the_domain() {
    assert_eq!(cover(0, u64::MAX).len(), 4);
    assert_eq!(cover(u64::MAX, u64::MAX), [KeyBlock { level: 0, index: u64::MAX }]);
    assert_eq!(cover(5, 4), []);
    assert_eq!(cover(9, 9), [KeyBlock { level: 0, index: 9 }]);
    assert_eq!(span(3, 8, 1), (0, 3));
}
