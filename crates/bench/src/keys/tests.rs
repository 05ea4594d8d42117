use super::*;

fn draw(distribution: Distribution, hot_keys: f64, rest: Rest) -> Draw {
    Draw { distribution, hot_keys, hot_draws: 75, rest }
}

fn counts(draw: Draw) -> Vec<u32> {
    let mut keys = Keys::new(7, 100, draw);
    let mut counts = vec![0; 101];
    for _ in 0..100_000 {
        counts[keys.next_key() as usize] += 1;
    }
    counts
}

#[test]
fn uniform_is_even() {
    let counts = counts(draw(Distribution::Uniform, 1.0, Rest::Uniform));
    assert_eq!(counts[0], 0);
    assert!(counts[1..].iter().all(|&count| (700..1300).contains(&count)), "{counts:?}");
}

#[test]
fn zipf_falls() {
    let counts = counts(draw(Distribution::Zipf, 1.0, Rest::Uniform));
    assert_eq!(counts[0], 0);
    assert!(counts[1] > 5 * counts[10] && counts[10] > 5 * counts[90] && counts[100] > 0, "{counts:?}");
}

#[test]
fn percents_are_below_a_hundred() {
    let mut keys = Keys::new(1, 1, draw(Distribution::Uniform, 1.0, Rest::Uniform));
    assert!((0..10_000).map(|_| keys.percent()).max() == Some(99));
}

#[test]
fn special_has_its_hot_keys_in_the_middle() {
    for rest in [Rest::Uniform, Rest::Gaussian] {
        let counts = counts(draw(Distribution::Special, 20.0, rest));
        assert_eq!(counts[0], 0);
        let hot: u32 = counts[41..=60].iter().sum();
        let (least, most) = if rest == Rest::Uniform { (78_000, 82_000) } else { (91_000, 97_000) };
        assert!((least..most).contains(&hot), "{rest:?}: {counts:?}");
        assert_eq!(counts[1] > 100, rest == Rest::Uniform, "{rest:?}: {counts:?}");
    }
}
