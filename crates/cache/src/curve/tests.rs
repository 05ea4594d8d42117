use std::sync::Arc;

use super::*;
use crate::{Cache, Fences, Fill, Freshness, Key, Lookup, Position};

/// Returns a cache that is live.
fn cache(size: usize) -> Cache {
    let freshness = Arc::new(Freshness::new());
    freshness.publish_visible(Position::new(1));
    freshness.publish_applied(Position::new(1));
    freshness.lives_until(u64::MAX);
    Cache::with_hash_seed(freshness, size, 1 << 20, 7)
}

/// Returns the next of a sequence of numbers that look random.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// As sysbench's `special`: most ask for few keys.
fn special(state: &mut u64, keys: u64, hot: u64) -> u64 {
    if random(state) % 100 < 75 { random(state) % hot } else { random(state) % keys }
}

fn fill(bytes: usize) -> Fill {
    Fill {
        valid_from: Position::new(1),
        deps: Vec::new(),
        body: vec![b'x'; bytes],
        status_at: [0; 2],
        status: 0,
        text_prefix: 0,
        body_prefix: 0,
        rows: 1,
        cost_us: 100,
        tag: 0,
        expires_ms: 0,
        refresh_ms: 0,
    }
}

/// Asks so often, and stores each result that is not there. Returns the share of hits in the last half.
fn ask(cache: &Cache, times: u64, mut next: impl FnMut() -> (u64, usize)) -> f64 {
    let (mut hits, mut counted) = (0, 0);
    for time in 0..times {
        let (number, bytes) = next();
        let text = number.to_le_bytes();
        let key = Key { environment: 1, text: &text };
        let is_hit = matches!(cache.get(key, 1, Fences::Ignore, |_| ()), Lookup::Hit(()));
        if !is_hit {
            cache.insert(key, fill(bytes));
        }
        if time >= times / 2 {
            counted += 1;
            hits += u64::from(is_hit);
        }
    }
    hits as f64 / f64::from(counted)
}

const KEYS: u64 = 40_000;
const TIMES: u64 = 400_000;

/// Returns the bytes that all results take.
fn whole(bytes_of: impl Fn(u64) -> usize) -> usize {
    let all = cache(1 << 30);
    let mut number = 0;
    ask(&all, KEYS, || {
        number += 1;
        (number - 1, bytes_of(number - 1))
    });
    all.used()
}

/// Checks that the curve of a cache that has room for a fifth of all results is right within five points, at each size that it names.
fn assert_right(bytes_of: impl Fn(u64) -> usize + Copy, hot: u64) {
    let whole = whole(bytes_of);
    let observed = cache(whole / 5);
    let mut state = 1;
    let mut next = || {
        let key = special(&mut state, KEYS, hot);
        (key, bytes_of(key))
    };
    ask(&observed, TIMES, &mut next);
    let (lookups, points) = observed.curve();
    assert!(lookups >= HALVED_AFTER / 2, "{lookups}");
    assert!(points.len() >= 7, "{points:?}");
    for CurvePoint { size, hits } in points {
        let other = cache(usize::try_from(size).unwrap());
        let found = ask(&other, TIMES, &mut next);
        assert!((hits - found).abs() < 0.05, "{size} of {whole} bytes: said {hits:.3}, found {found:.3}");
    }
}

#[test]
fn it_is_right_within_five_points_where_a_fifth_of_the_keys_is_hot() {
    assert_right(|_| 120, KEYS / 5);
}

#[test]
fn it_is_right_where_few_keys_are_hot_and_results_differ_in_size() {
    assert_right(|key| 40 + (key * 37 % 11) as usize * 60, KEYS / 50);
}

/// As sysbench's `special` with its other draws around the middle, where a fifth of the keys is hot.
fn special_around_the_middle(state: &mut u64, keys: u64) -> u64 {
    const SUMMED: u64 = 12;
    let hot = keys / 5;
    match random(state) % 100 < 75 {
        true => (keys - hot) / 2 + random(state) % hot,
        false => (0..SUMMED).map(|_| random(state) % keys).sum::<u64>() / SUMMED,
    }
}

/// Returns the largest share of hits that a cache with room for so many results can have, if it knows all that comes.
fn best(asked: &[u64], room: usize) -> f64 {
    let mut counts = std::collections::HashMap::new();
    asked.iter().for_each(|key| *counts.entry(*key).or_insert(0_u64) += 1);
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts.iter().take(room).sum::<u64>() as f64 / asked.len() as f64
}

#[test]
fn a_cache_that_is_far_too_small_serves_the_hottest() {
    const KEYS: u64 = 8_000;
    let all = cache(1 << 30);
    let mut number = 0;
    ask(&all, KEYS, || {
        number += 1;
        (number - 1, 120)
    });
    let mut state = 1;
    let asked: Vec<u64> = (0..20 * KEYS).map(|_| special_around_the_middle(&mut state, KEYS)).collect();
    for fortieths in [1, 2, 4, 8] {
        let small = cache(all.used() * fortieths / 40);
        let mut next = asked.iter();
        let found = ask(&small, asked.len() as u64, || (*next.next().unwrap(), 120));
        let best = best(&asked[asked.len() / 2..], KEYS as usize * fortieths / 40);
        assert!(found >= 0.7 * best, "{fortieths}/40: {found:.3} where {best:.3} can be reached");
    }
}

#[test]
fn what_changes_is_no_hit_in_any_size() {
    let curve = Curve::default();
    let hash = (0..).find(|hash| is_sampled(*hash, RATE_LOG2_MIN)).unwrap();
    for _ in 0..1000 {
        curve.note(hash, || 1 << 20, Sampled::Stale);
        curve.note(hash, || 1 << 20, Sampled::Hit(300));
    }
    let (lookups, points) = curve.points();
    assert!((900..=1000).contains(&lookups), "those that filled the models do not count: {lookups}");
    assert!(!points.is_empty() && points.iter().all(|point| (point.hits - 0.5).abs() < 1e-2), "{points:?}");
}

#[test]
fn another_size_begins_anew_and_many_keys_are_sampled_less() {
    let curve = Curve::default();
    for hash in (0..4_000_000_u64).map(|number| number.wrapping_mul(0x2545_F491_4F6C_DD1D)) {
        curve.note(hash, || 1 << 30, Sampled::Miss);
    }
    let entries = |curve: &Curve| {
        curve.models.lock().unwrap().models.iter().map(|(_, model)| model.len()).max().unwrap()
    };
    assert!(curve.rarer_log2.load(Ordering::Relaxed) > 3);
    assert!((ENTRIES_MAX / 4..=ENTRIES_MAX).contains(&entries(&curve)), "{}", entries(&curve));
    let rate_log2 = RATE_LOG2_MIN + curve.rarer_log2.load(Ordering::Relaxed);
    let hash = (0..).find(|hash| is_sampled(*hash, rate_log2)).unwrap();
    curve.note(hash, || 1 << 20, Sampled::Miss);
    assert_eq!((entries(&curve), curve.rarer_log2.load(Ordering::Relaxed)), (1, 0));
    assert!(curve.points().1.is_empty(), "one lookup says nothing");
    curve.note(hash, || 0, Sampled::Miss);
    assert_eq!(entries(&curve), 1, "what is off has no curve");
}
