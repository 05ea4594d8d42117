use super::*;
use crate::large::LARGE_MIN;
use crate::slab::{HITS_EXACT, HITS_MAX};
use crate::{Dep, Moment, Position};
use proptest::prelude::*;
use std::collections::HashMap;

const MIB: usize = 1 << 20;

fn live(size: usize) -> Cache {
    let freshness = Arc::new(Freshness::with_hash_seed(1));
    freshness.lives_until(u64::MAX);
    Cache::with_hash_seed(freshness, size, MIB, 1)
}

fn key(environment: u32, text: &[u8]) -> Key<'_> {
    Key { environment, text }
}

fn fill(valid_from: u64, deps: &[Dep], body: Vec<u8>) -> Fill {
    let valid_from = Position::new(valid_from);
    // All tests run with prefixes too.
    let body_prefix = body.len() / 2;
    Fill {
        valid_from,
        deps: deps.to_vec(),
        body,
        status_at: [7, u32::MAX],
        status: 2,
        text_prefix: 2,
        body_prefix,
        rows: 3,
        cost_us: 4,
        tag: 5,
        expires_ms: 0,
        refresh_ms: 0,
    }
}

fn body_of(cache: &Cache, key: Key<'_>) -> Lookup<Vec<u8>> {
    cache.get(key, 0, Fences::Refuse, |entry| entry.body.to_vec())
}

fn stale<R>(cache: &Cache, body: &[u8]) -> Lookup<R> {
    Lookup::Stale { body: cache.fingerprint(body) }
}

#[test]
fn a_fingerprint_does_not_depend_on_where_the_body_lies() {
    let cache = live(8 * MIB);
    let dep = cache.freshness().table("s", "t").rows;
    for (at, len) in [0, 1, 127, 128, 5000, LARGE_MIN, LARGE_MIN + 1].into_iter().enumerate() {
        let body: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let position = 2 * at as u64;
        cache.insert(key(1, b"q"), fill(position, &[dep], body.clone()));
        cache.freshness().stamp(dep, Position::new(position + 1));
        assert_eq!(body_of(&cache, key(1, b"q")), stale(&cache, &body), "{len}");
    }
}

#[test]
fn hits_are_counted_one_by_one_at_first_and_then_about() {
    let cache = live(MIB);
    cache.insert(key(1, b"q"), fill(7, &[], b"body".to_vec()));
    let hit = |times: u16| {
        (0..times).for_each(|_| assert!(matches!(body_of(&cache, key(1, b"q")), Lookup::Hit(_))));
        cache.summaries(1, usize::MAX, 0)[0].hits
    };
    assert_eq!((hit(0), hit(5), hit(HITS_EXACT - 5)), (0, 5, HITS_EXACT));
    let about = hit(4_000);
    assert!((3_000..5_200).contains(&about), "{about} hits");
    assert_eq!(hit(20_000), HITS_MAX);
}

#[test]
fn what_has_expired_is_not_served_and_makes_room_for_its_like() {
    let cache = live(MIB);
    let at = |now: u64| cache.get(key(1, b"q"), now, Fences::Refuse, |entry| entry.body.to_vec());
    let fill = |expires_ms, body: &[u8]| Fill { expires_ms, ..fill(7, &[], body.to_vec()) };
    cache.insert(key(1, b"q"), fill(1000, b"one"));
    assert_eq!(at(975), Lookup::Hit(b"one".to_vec()));
    assert_eq!(at(1000), Lookup::Miss, "it may be a little early, and is never late");
    assert_eq!(cache.entries(), 0);
    // Nothing was written since: a result that is asked for now is valid from the same position.
    cache.insert(key(1, b"q"), fill(1000, b"one"));
    assert_eq!(cache.insert(key(1, b"q"), fill(2000, b"two")), Insert::Stored);
    assert_eq!(at(1500), Lookup::Hit(b"two".to_vec()));
    assert_eq!(cache.insert(key(1, b"q"), fill(1500, b"old")), Insert::Outdated);
    assert_eq!((cache.sweep(100_000, 1900), cache.servable(100, 1900)), (0, 1));
    assert_eq!(cache.servable(100, 2000), 0);
    assert!(cache.summaries(9, 99, 2000).is_empty());
    assert_eq!(cache.sweep(100_000, 2000), 1);
    cache.insert(key(1, b"q"), fill(0, b"ever"));
    assert_eq!(at(u64::MAX / 2), Lookup::Hit(b"ever".to_vec()));
}

#[test]
fn what_has_a_tag_can_be_purged() {
    let cache = live(MIB);
    for number in 0..1000_u16 {
        let fill = Fill { tag: number % 5, ..fill(7, &[], b"body".to_vec()) };
        cache.insert(key(1, &number.to_le_bytes()), fill);
    }
    assert_eq!(cache.purge(|tag| tag == 3), 200);
    assert_eq!((cache.entries(), cache.purge(|tag| tag == 3)), (800, 0));
}

#[test]
fn a_reader_of_one_moment_takes_what_is_settled_and_not_its_own() {
    let cache = live(MIB);
    let freshness = Arc::clone(cache.freshness());
    let [one, other] = ["one", "other"].map(|name| freshness.table("s", name).rows);
    cache.insert(key(1, b"one"), fill(0, &[one], b"1".to_vec()));
    cache.insert(key(1, b"both"), fill(0, &[one, other], b"2".to_vec()));
    let moment = Moment::now(&freshness);
    let mut served = Vec::new();
    let mut get = |text: &'static [u8], written: &[Dep]| {
        let reader = MomentReader { moment, written };
        cache.get_as_of(TimedKey { key: key(1, text), now_ms: 0 }, reader, &mut served, |entry| {
            Some(entry.body.to_vec())
        })
    };
    assert_eq!(get(b"one", &[]), Lookup::Unsettled);
    let number = freshness.ask_end();
    freshness.end_passed(number);
    assert_eq!(get(b"one", &[]), Lookup::Hit(b"1".to_vec()));
    assert_eq!(get(b"one", &[other]), Lookup::Hit(b"1".to_vec()));
    assert_eq!(get(b"both", &[other]), Lookup::Moved);
    freshness.stamp(other, Position::new(1));
    freshness.publish_applied(Position::new(1));
    cache.insert(key(1, b"both"), fill(0, &[other], b"3".to_vec()));
    assert_eq!(get(b"both", &[]), stale(&cache, b"2"));
    assert_eq!(served, [one, one]);
    let statistics = cache.statistics();
    assert_eq!((statistics.unsettled, statistics.moved, statistics.hits), (1, 1, 2));
}

#[test]
fn returns_what_was_stored() {
    let cache = live(MIB);
    assert_eq!(body_of(&cache, key(1, b"q")), Lookup::Miss);
    drop((cache.freshness().fence([]), cache.freshness().fence([])));
    let deps: Vec<Dep> = (0..200).map(|n| cache.freshness().table("s", &n.to_string()).rows).collect();
    assert_eq!(cache.insert(key(1, b"q"), fill(5, &deps, b"body".to_vec())), Insert::Stored);
    let seen = cache.get(key(1, b"q"), 0, Fences::Refuse, |e| {
        (e.valid_from.get(), e.body.to_vec(), e.status_at, e.status, e.rows, e.cost_us, e.fences_raised)
    });
    assert_eq!(seen, Lookup::Hit((5, b"body".to_vec(), [7, u32::MAX], 2, 3, 4, 2)));
    assert_eq!(body_of(&cache, key(2, b"q")), Lookup::Miss, "another environment");
    assert_eq!(body_of(&cache, key(1, b"q ")), Lookup::Miss, "another text");
    cache.freshness().stamp(deps[199], Position::new(6));
    assert_eq!(body_of(&cache, key(1, b"q")), stale(&cache, b"body"), "the last of many dependencies counts");
}

#[test]
fn a_large_body_is_used_outside_of_the_lock() {
    let cache = live(8 * MIB);
    let large = vec![9; LARGE_MIN];
    cache.insert(key(1, b"q"), fill(5, &[], large.clone()));
    let seen = cache.get(key(1, b"q"), 0, Fences::Refuse, |entry| {
        let used = cache.used();
        cache.clear();
        assert!(cache.used() > LARGE_MIN && cache.used() < used, "what is being copied still counts");
        entry.body.to_vec()
    });
    assert_eq!(seen, Lookup::Hit(large));
    assert_eq!(cache.used(), 0, "and no longer than that");
}

#[test]
fn every_refusal_has_its_reason() {
    let cache = live(64 << 10);
    let freshness = Arc::clone(cache.freshness());
    let deps = freshness.table("s", "t");
    let q = key(1, b"q");
    cache.set_limit(100);
    assert_eq!(cache.insert(q, fill(1, &[], vec![0; 101])), Insert::TooLarge);
    cache.set_limit(MIB);
    assert_eq!(cache.insert(q, fill(1, &[], vec![0; 64 << 10])), Insert::TooLarge);
    cache.resize(MIB);
    assert_eq!(cache.insert(key(1, &[b' '; TEXT_MAX + 1]), fill(1, &[], vec![])), Insert::TooLarge);
    assert_eq!(cache.insert(key(1, &[b' '; TEXT_MAX]), fill(1, &[], vec![1])), Insert::Stored);
    assert_eq!(body_of(&cache, key(1, &[b' '; TEXT_MAX])), Lookup::Hit(vec![1]), "a key in many pieces");
    cache.clear();
    freshness.stamp(deps.rows, Position::new(2));
    assert_eq!(cache.insert(q, fill(1, &[deps.rows], vec![])), Insert::Stale);
    assert_eq!(cache.insert(q, fill(2, &[deps.rows], vec![])), Insert::Stored);
    let fence = freshness.fence([deps.definition]);
    assert_eq!(body_of(&cache, q), Lookup::Hit(vec![]), "a fence elsewhere");
    let on_rows = freshness.fence([deps.rows]);
    assert_eq!(body_of(&cache, q), Lookup::Fenced);
    drop((fence, on_rows));
    assert_eq!(body_of(&cache, q), Lookup::Hit(vec![]));
    freshness.stamp(deps.rows, Position::new(3));
    assert_eq!((body_of(&cache, q), cache.entries()), (stale(&cache, b""), 0), "the dead are reclaimed");
    freshness.lives_until(10);
    assert_eq!(cache.get(q, 10, Fences::Refuse, |_| ()), Lookup::NotLive);
    assert_eq!(cache.get(q, 9, Fences::Refuse, |_| ()), Lookup::Miss);
    freshness.lives_until(0);
    assert_eq!(cache.insert(q, fill(9, &[], vec![])), Insert::NotLive);
    cache.resize(0);
    assert_eq!(cache.insert(q, fill(9, &[], vec![])), Insert::Off);
    while cache.trim() {}
    assert_eq!(cache.used(), 0);
}

#[test]
fn one_stamp_on_everything_drops_all_and_the_sweep_gives_the_memory_back() {
    let cache = live(8 * MIB);
    for n in 0..5000u32 {
        cache.insert(key(n, b"q"), fill(1, &[], vec![1; 100]));
    }
    assert_eq!(cache.sweep(10_000, 0), 0);
    for n in 5000..6000u32 {
        cache.insert(key(n, b"q"), fill(8, &[], vec![1; 100]));
    }
    cache.freshness().stamp(Dep::EVERYTHING, Position::new(7));
    while cache.entries() > 1000 {
        cache.sweep(1000, 0);
        assert_eq!(cache.audit(), cache.used());
    }
    assert_eq!(cache.statistics().invalidated, 5000);
    assert_eq!(body_of(&cache, key(5000, b"q")), Lookup::Hit(vec![1; 100]));
    assert!(cache.used() < 1000 * 450, "indexes shrink too: {}", cache.used());
}

#[test]
fn a_newer_result_replaces_and_an_older_one_does_not() {
    let cache = live(MIB);
    let q = key(1, b"q");
    for (valid_from, body, stored) in [(5, b"a", b"a"), (7, b"b", b"b"), (6, b"c", b"b")] {
        assert!(cache.insert(q, fill(valid_from, &[], body.to_vec())).is_in_memory());
        assert_eq!(body_of(&cache, q), Lookup::Hit(stored.to_vec()));
    }
    assert_eq!(cache.entries(), 1);
    assert_eq!(cache.audit(), cache.used());
}

/// A working set that is used again and again mostly stays, although twice the size of the cache passes through in every round. (With
/// "least recently used", the evicted entry would always be the next one needed: every lookup would miss.)
#[test]
fn a_scan_does_not_displace_what_is_used() {
    let cache = live(MIB);
    let hot = |n: u32| key(n, b"hot");
    let mut misses = 0;
    for round in 0..200u32 {
        for n in 0..500 {
            if body_of(&cache, hot(n)) == Lookup::Miss {
                misses += u32::from(round >= 10);
                cache.insert(hot(n), fill(1, &[], vec![1; 500]));
            }
        }
        for n in 0..2000 {
            cache.insert(key(round * 2000 + n, b"scan"), fill(1, &[], vec![1; 500]));
        }
    }
    assert!(misses < 190 * 500 / 6, "{misses} of 95,000 lookups missed");
}

/// Of two sets that are used alike and do not both fit, the set that saves more upstream time is kept.
#[test]
fn costly_results_outlive_cheap_ones() {
    let cache = live(MIB);
    let mut hits = [0u32; 2];
    let mut random = 1u64;
    for _ in 0..200_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let costly = random >> 63 == 1;
        let k = key((random >> 40) as u32 % 1200 * 2 + u32::from(costly), b"q");
        if body_of(&cache, k) == Lookup::Miss {
            let cost_us = if costly { 100_000 } else { 100 };
            cache.insert(k, Fill { cost_us, ..fill(1, &[], vec![1; 900]) });
        } else {
            hits[usize::from(costly)] += 1;
        }
    }
    let rate = [f64::from(hits[0]) / 100_000.0, f64::from(hits[1]) / 100_000.0];
    assert!(rate[1] > rate[0] * 1.2, "{rate:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Insert { key: u8, valid_from: u8, table: u8, len: usize },
    Get { key: u8 },
    Stamp { table: u8, at: u8 },
    Resize { kib: usize },
    Trim,
    Sweep { budget: usize },
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![4 => 0..300usize, 1 => 0..40_000usize, 1 => 250_000..300_000usize];
    prop_oneof![
        20 => (any::<u8>(), any::<u8>(), 0..6u8, len)
            .prop_map(|(key, valid_from, table, len)| Step::Insert { key, valid_from, table, len }),
        20 => any::<u8>().prop_map(|key| Step::Get { key }),
        2 => (0..6u8, any::<u8>()).prop_map(|(table, at)| Step::Stamp { table, at }),
        1 => (0..2000usize).prop_map(|kib| Step::Resize { kib }),
        2 => Just(Step::Trim),
        1 => (0..300usize).prop_map(|budget| Step::Sweep { budget }),
        1 => Just(Step::Clear),
    ]
}

/// A map without bounds: the newest result of each key. The store may have forgotten a result; it may not return another one.
struct Naive {
    entries: HashMap<u8, (u8, u8, Vec<u8>)>,
    stamps: [u8; 6],
}

fn check_get(cache: &Cache, naive: &Naive, k: u8) {
    match (body_of(cache, key(0, &[k])), naive.entries.get(&k)) {
        (Lookup::Hit(body), Some((valid_from, table, expected))) => {
            assert_eq!(&body, expected);
            assert!(naive.stamps[usize::from(*table)] <= *valid_from);
        }
        (Lookup::Stale { .. }, Some((valid_from, table, _))) => {
            assert!(naive.stamps[usize::from(*table)] > *valid_from);
        }
        (Lookup::Miss, _) => {}
        (found, expected) => panic!("{found:?} where {expected:?} was stored"),
    }
}

fn run(steps: Vec<Step>) {
    let cache = live(1000 << 10);
    let freshness = Arc::clone(cache.freshness());
    let dep = |table: u8| freshness.table("s", &table.to_string()).rows;
    let mut naive = Naive { entries: HashMap::new(), stamps: [0; 6] };
    for (n, step) in steps.into_iter().enumerate() {
        let used_before = cache.used();
        match step {
            Step::Insert { key: k, valid_from, table, len } => {
                let body: Vec<u8> = (0..len).map(|i| (i + n) as u8).collect();
                let stored = cache.insert(key(0, &[k]), fill(valid_from.into(), &[dep(table)], body.clone()));
                let older = body_of(&cache, key(0, &[k])) != Lookup::Hit(body.clone());
                if stored == Insert::Stored && !older {
                    naive.entries.insert(k, (valid_from, table, body));
                }
            }
            Step::Get { key: k } => check_get(&cache, &naive, k),
            Step::Stamp { table, at } => {
                freshness.stamp(dep(table), Position::new(at.into()));
                let stamp = &mut naive.stamps[usize::from(table)];
                *stamp = at.max(*stamp);
            }
            Step::Resize { kib } => cache.resize(kib << 10),
            Step::Trim => while cache.trim() {},
            Step::Sweep { budget } => drop(cache.sweep(budget, 0)),
            Step::Clear => cache.clear(),
        }
        assert!(cache.used() <= cache.size().max(used_before), "the bound holds");
        assert_eq!(cache.audit(), cache.used(), "every byte is accounted for");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn agrees_with_a_map_within_its_bound(steps in proptest::collection::vec(step(), 1..400)) {
        run(steps);
    }
}

/// Threads that insert, look up, resize, sweep and clear; each body encodes its key, and a watcher sees the bound hold.
#[test]
fn threads_get_their_own_bodies_within_the_bound() {
    const THREADS: u64 = 4;
    const STEPS: u64 = 30_000;
    let cache = live(MIB);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let cache = &cache;
            scope.spawn(move || (0..STEPS).for_each(|n| act(cache, thread, n)));
        }
    });
    assert_eq!(cache.audit(), cache.used());
    cache.clear();
    assert_eq!(cache.used(), 0);
}

fn act(cache: &Cache, thread: u64, n: u64) {
    let random = (n * 4 + thread)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(29)
        .wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let id = (random >> 20) % 700;
    let text = id.to_le_bytes();
    let k = key(id as u32 % 3, &text);
    let expected =
        || id.to_le_bytes().repeat(1 + (id as usize * 37) % if id.is_multiple_of(50) { 5000 } else { 60 });
    match (random >> 8) % 10_000 {
        0 => cache.clear(),
        1..5 => cache.resize(MIB),
        5..9 => cache.resize(MIB - 4096 * (id as usize % 200)),
        9..12 => drop(cache.trim()),
        12..20 => drop(cache.sweep(100, 0)),
        20..30 => cache.freshness().stamp(Dep::EVERYTHING, Position::new(n)),
        30..4000 => drop(cache.insert(k, fill(n, &[], expected()))),
        _ => {
            let right = cache.get(k, 0, Fences::Refuse, |entry| entry.body.to_vec() == expected());
            assert!(!matches!(right, Lookup::Hit(false)), "the body of another key");
        }
    }
    assert!(cache.used() <= MIB, "the bound holds at every moment");
}

/// Returns a full cache of small entries.
fn full_of_small(size: usize) -> Cache {
    let cache = live(size);
    for n in 0.. {
        cache.insert(key(n, b"small"), fill(1, &[], vec![1; 100]));
        if cache.statistics().lowmem_prunes > 0 {
            break;
        }
    }
    cache
}

/// Runs `step` until it says that nothing is left to do. No call evicts more entries than the bound of one call.
fn in_steps(cache: &Cache, mut step: impl FnMut() -> bool) -> usize {
    for steps in 0.. {
        let before = cache.statistics().lowmem_prunes;
        let goes_on = step();
        let evicted = cache.statistics().lowmem_prunes - before;
        assert!(evicted <= EVICTIONS_PER_CALL_MAX as u64, "{evicted} in one call");
        if !goes_on {
            return steps;
        }
    }
    0
}

#[test]
fn a_smaller_size_holds_at_once_and_evicts_in_steps() {
    let cache = full_of_small(8 * MIB);
    let (entries, used, prunes) = (cache.entries(), cache.used(), cache.statistics().lowmem_prunes);
    cache.resize(MIB);
    assert_eq!((cache.size(), cache.entries()), (MIB, entries), "nothing is evicted by the call itself");
    assert_eq!(cache.insert(key(0, b"new"), fill(1, &[], vec![1; 100])), Insert::NoRoom);
    assert!(!cache.make_room(key(0, b"new"), &fill(1, &[], vec![1; 100])));
    assert_eq!((cache.used(), cache.statistics().lowmem_prunes), (used, prunes), "nor by who wants to store");
    let stored =
        || (0..entries as u32).filter(|n| matches!(body_of(&cache, key(*n, b"small")), Lookup::Hit(_)));
    assert!(stored().count() >= entries - 1, "what is stored is served meanwhile");
    assert!(cache.trim(), "one step is not enough");
    assert!(stored().count() > entries / 2);
    assert!(in_steps(&cache, || cache.trim()) > 10);
    assert!(cache.used() <= MIB && cache.used() > MIB / 2, "{}", cache.used());
    assert_eq!(cache.insert(key(0, b"new"), fill(1, &[], vec![1; 100])), Insert::Stored);
}

#[test]
fn a_size_of_nothing_and_one_that_grows_again_on_the_way_hold_too() {
    let cache = full_of_small(4 * MIB);
    cache.resize(0);
    assert!(cache.trim());
    let left = cache.entries();
    cache.resize(8 * MIB);
    assert!(!cache.trim(), "nothing is above the size any more");
    assert_eq!(cache.entries(), left);
    assert_eq!(cache.insert(key(0, b"new"), fill(1, &[], vec![1; 100])), Insert::Stored);
    cache.resize(0);
    in_steps(&cache, || cache.trim());
    assert_eq!((cache.used(), cache.entries()), (0, 0));
    assert!(!cache.trim(), "there is nothing left to do");
}

#[test]
fn no_insert_evicts_many_and_steps_make_room_for_what_is_large() {
    let cache = full_of_small(4 * MIB);
    let large = fill(1, &[], vec![1; MIB]);
    let before = cache.statistics().lowmem_prunes;
    assert_eq!(cache.insert(key(0, b"large"), large.clone()), Insert::NoRoom);
    let evicted = cache.statistics().lowmem_prunes - before;
    assert!(evicted <= EVICTIONS_PER_CALL_MAX as u64, "{evicted}");
    assert!(in_steps(&cache, || cache.make_room(key(0, b"large"), &large)) > 2);
    assert_eq!(cache.insert(key(0, b"large"), large), Insert::Stored);
    let too_large = fill(1, &[], vec![1; MIB + 1]);
    let before = cache.entries();
    assert!(!cache.make_room(key(0, b"larger"), &too_large));
    assert_eq!(cache.entries(), before, "nothing leaves for what is not stored anyway");
}

/// Each shard keeps to its share of the memory, however many results come and go by chance.
#[test]
fn shards_stay_alike() {
    let cache = live(4 * MIB);
    for n in 0..400_000u32 {
        cache.insert(key(n, b"q"), fill(1, &[], vec![1; 300]));
    }
    let mut lens: Vec<usize> = cache.shards.iter().map(|locked| locked.read().len()).collect();
    lens.sort_unstable();
    let mean = cache.entries() / SHARDS;
    assert!(lens[0] > mean / 2 && lens[SHARDS - 1] < mean * 2, "mean {mean}, all {lens:?}");
}

#[test]
fn rows_found_are_noted_of_the_answer_that_they_were_asked_after() {
    let cache = live(MIB);
    let found = |key| cache.get(key, 0, Fences::Refuse, |entry| entry.found_rows);
    let q = key(1, b"q");
    assert_eq!(cache.insert(q, fill(5, &[], b"body".to_vec())), Insert::Stored);
    assert_eq!(found(q), Lookup::Hit(None));
    cache.note_found_rows(q, Position::new(4), 70);
    cache.note_found_rows(key(2, b"q"), Position::new(5), 70);
    assert_eq!(found(q), Lookup::Hit(None));
    cache.note_found_rows(q, Position::new(5), 7);
    assert_eq!(found(q), Lookup::Hit(Some(7)));
    assert_eq!(cache.insert(q, fill(5, &[], b"later".to_vec())), Insert::Outdated);
    assert_eq!(found(q), Lookup::Hit(Some(7)));
    assert_eq!(cache.insert(q, fill(6, &[], b"later".to_vec())), Insert::Stored);
    assert_eq!(found(q), Lookup::Hit(None));
}

#[test]
fn a_bargain_is_served_until_it_expires_whatever_changes_and_by_its_own_look_up_alone() {
    let cache = live(MIB);
    let freshness = Arc::clone(cache.freshness());
    let bargain =
        |expires_ms| Fill { valid_from: Position::MAX, expires_ms, ..fill(7, &[], b"old".to_vec()) };
    let found = |now| cache.get_bargain(key(1, b"q"), now, |entry| Some(entry.body.to_vec()));
    freshness.lives_until(0);
    assert_eq!(cache.insert(key(1, b"q"), bargain(0)), Insert::Stale, "for ever is no bargain");
    assert_eq!(cache.insert(key(1, b"q"), bargain(1600)), Insert::Stored, "though nothing is followed");
    freshness.stamp(Dep::EVERYTHING, Position::new(100));
    let _fence = freshness.fence(vec![Dep::EVERYTHING]);
    assert_eq!(found(1599), Lookup::Hit(b"old".to_vec()));
    freshness.lives_until(u64::MAX);
    assert_eq!(
        cache.get(key(1, b"q"), 10, Fences::Ignore, |_| ()),
        Lookup::Miss,
        "not for who wants it proven"
    );
    assert_eq!(cache.look(key(1, b"q"), 10, Fences::Ignore), Lookup::Miss);
    assert_eq!(found(1600), Lookup::Miss);
    assert_eq!(cache.entries(), 0, "what has expired is reclaimed");
    assert_eq!(
        cache.insert(key(1, b"p"), Fill { expires_ms: 1600, ..fill(200, &[], vec![1]) }),
        Insert::Stored
    );
    assert_eq!(cache.get_bargain(key(1, b"p"), 10, |_| Some(())), Lookup::Miss, "what is proven is none");
}

#[test]
fn what_is_due_is_made_anew_by_one_while_the_others_are_served() {
    let cache = live(MIB);
    let fill = |valid_from, expires_ms, refresh_ms, body: &[u8]| Fill {
        expires_ms,
        refresh_ms,
        ..fill(valid_from, &[], body.to_vec())
    };
    for (valid_from, is_bargain) in [(7, false), (u64::MAX, true)] {
        cache.clear();
        let found = |now| {
            let body = |entry: &Entry<'_>| Some(entry.body.to_vec());
            if is_bargain {
                cache.get_bargain(key(1, b"q"), now, body)
            } else {
                cache.get_if(key(1, b"q"), now, Fences::Refuse, body)
            }
        };
        cache.insert(key(1, b"q"), fill(valid_from, 3200, 1600, b"one"));
        assert_eq!(found(1599), Lookup::Hit(b"one".to_vec()));
        assert_eq!(found(1600), Lookup::Due, "the first is sent");
        assert_eq!(found(1600), Lookup::Hit(b"one".to_vec()), "the others are served");
        assert_eq!(found(3199), Lookup::Hit(b"one".to_vec()), "until it expires, if it is not made anew");
        cache.insert(key(1, b"q"), fill(valid_from, 4800, 3200, b"two"));
        assert_eq!(found(3199), Lookup::Hit(b"two".to_vec()));
        assert_eq!(found(4800), Lookup::Miss);
    }
}

/// A point select of 120 bytes as MariaDB answers it: what it takes, its place in the index included.
#[test]
fn what_the_results_of_a_form_begin_with_is_stored_once() {
    const ENTRIES: usize = 50_000;
    const BEFORE_ROW: usize = 57;
    let cache = live(64 * MIB);
    let text = |n: usize| format!("SELECT c FROM sbtest1 WHERE id={n:05}").into_bytes();
    let body = |n: usize| [vec![7; BEFORE_ROW], format!("{n:0134}").into_bytes()].concat();
    let store = |n: usize| {
        let fill =
            Fill { text_prefix: 31, body_prefix: BEFORE_ROW, ..fill(1, &[Dep::EVERYTHING; 2], body(n)) };
        assert_eq!(cache.insert(key(1, &text(n)), fill), Insert::Stored);
    };
    (0..ENTRIES).for_each(store);
    let each = cache.used() / ENTRIES;
    assert!(each <= 320, "{each} bytes");
    assert!((0..ENTRIES).all(|n| body_of(&cache, key(1, &text(n))) == Lookup::Hit(body(n))));
    assert_eq!(body_of(&cache, key(1, b"SELECT c FROM sbtest1 WHERE id=")), Lookup::Miss);
    let listed = cache.summaries(ENTRIES, usize::MAX, 0);
    assert!(listed.len() == ENTRIES && listed.iter().all(|it| it.body_bytes == BEFORE_ROW + 134));
    assert_eq!(cache.audit(), cache.used());
    // In place of another, and evicted.
    (0..100).for_each(|n| {
        let longer = Fill { body_prefix: BEFORE_ROW, ..fill(2, &[], [body(n), body(n)].concat()) };
        assert_eq!(cache.insert(key(1, &text(n)), longer), Insert::Stored);
    });
    cache.resize(1 << 20);
    while cache.trim() {}
    assert_eq!(cache.audit(), cache.used());
    (0..ENTRIES).filter(|n| cache.show(key(1, &text(*n)), |_| ()).is_some()).for_each(|n| {
        let found = cache.show(key(1, &text(n)), |entry| entry.body.to_vec());
        assert!(found == Some(body(n)) || found == Some([body(n), body(n)].concat()));
    });
    cache.resize(0);
    while cache.trim() {}
    assert_eq!((cache.audit(), cache.used()), (0, 0));
}
