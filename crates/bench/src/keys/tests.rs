use super::*;

fn counts(distribution: Distribution) -> Vec<u32> {
    let mut keys = Keys::new(7, 100, distribution);
    let mut counts = vec![0; 101];
    for _ in 0..100_000 {
        counts[keys.next_key() as usize] += 1;
    }
    counts
}

#[test]
fn uniform_is_even() {
    let counts = counts(Distribution::Uniform);
    assert_eq!(counts[0], 0);
    assert!(counts[1..].iter().all(|&count| (700..1300).contains(&count)), "{counts:?}");
}

#[test]
fn zipf_falls() {
    let counts = counts(Distribution::Zipf);
    assert_eq!(counts[0], 0);
    assert!(counts[1] > 5 * counts[10] && counts[10] > 5 * counts[90] && counts[100] > 0, "{counts:?}");
}

#[test]
fn percents_are_below_a_hundred() {
    let mut keys = Keys::new(1, 1, Distribution::Uniform);
    assert!((0..10_000).map(|_| keys.percent()).max() == Some(99));
}
