use std::sync::Arc;

use crate::{Cache, Fences, Fill, Freshness, Key, Lookup, Position};

const KIB: usize = 1 << 10;
const TAG: u16 = 7;

/// A cache with a client that asks it as Freshet does.
struct Asked {
    cache: Cache,
    /// Whether the client asks the cache first which results are worth storing.
    weighs: bool,
    now_ms: u64,
    random: u64,
}

/// How many questions were answered in which way.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    asked: u32,
    hits: u32,
    stored: u32,
}

impl Asked {
    fn of(size: usize, weighs: bool) -> Self {
        let freshness = Arc::new(Freshness::with_hash_seed(1));
        freshness.lives_until(u64::MAX);
        let cache = Cache::with_hash_seed(freshness, size, KIB, 1);
        Self { cache, weighs, now_ms: 1000, random: 1 }
    }

    fn ask(&mut self, number: u32, counts: &mut Counts) {
        counts.asked += 1;
        let text = number.to_le_bytes();
        let key = Key { environment: 1, text: &text };
        if matches!(self.cache.get(key, 0, Fences::Refuse, |_| ()), Lookup::Hit(())) {
            counts.hits += 1;
            return;
        }
        if self.weighs && !self.cache.pays(TAG, || self.now_ms) && !self.cache.admits(key) {
            return;
        }
        counts.stored += 1;
        let fill = Fill {
            valid_from: Position::new(1),
            deps: Vec::new(),
            body: vec![1; 100],
            status_at: [7, u32::MAX],
            status: 2,
            text_prefix: 0,
            body_prefix: 0,
            rows: 1,
            cost_us: 100,
            tag: TAG,
            expires_ms: 0,
            refresh_ms: 0,
        };
        self.cache.insert(key, fill);
    }

    /// Asks for the results with these numbers.
    fn ask_all(&mut self, numbers: impl IntoIterator<Item = u32>) -> Counts {
        let mut counts = Counts::default();
        for number in numbers {
            self.ask(number, &mut counts);
        }
        counts
    }

    fn below(&mut self, end: u32) -> u32 {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % u64::from(end)) as u32
    }

    /// Asks many questions for `keys` results; three questions in four are for the first `hot` results.
    fn ask_drawn(&mut self, keys: u32, hot: u32, questions: u32) -> Counts {
        let mut counts = Counts::default();
        for _ in 0..questions {
            let end = if hot > 0 && self.below(4) > 0 { hot } else { keys };
            let number = self.below(end);
            self.ask(number, &mut counts);
        }
        counts
    }
}

#[test]
fn what_is_never_asked_for_again_is_hardly_stored_where_others_have_to_leave_for_it() {
    let mut asked = Asked::of(512 * KIB, true);
    asked.ask_all(0..20_000);
    let counts = asked.ask_all(20_000..40_000);
    assert!((800..1700).contains(&counts.stored), "{counts:?}");
}

#[test]
fn where_there_is_room_it_is_stored_for_half_a_minute_and_hardly_then() {
    let mut asked = Asked::of(256 << 20, true);
    let first = asked.ask_all(0..5_000);
    assert_eq!(first.stored, 5_000);
    // Somebody has filled the cache, and reads.
    let again = asked.ask_all(0..5_000);
    assert_eq!(again.hits, 5_000);
    // Of the results that are stored now, one in thirty was read.
    asked.ask_all(5_000..150_000);
    asked.now_ms += 31_000;
    let later = asked.ask_all(150_000..170_000);
    assert!((800..1700).contains(&later.stored), "{later:?}");
}

#[test]
fn what_is_asked_for_a_second_time_is_stored_then() {
    let mut asked = Asked::of(512 * KIB, true);
    asked.ask_all(0..20_000);
    let twice = asked.ask_all((50_000..50_500).flat_map(|number| [number; 2]));
    assert!(twice.stored >= 490, "{twice:?}");
    let third = asked.ask_all(50_000..50_500);
    assert!(third.hits >= 450, "{third:?}");
}

#[test]
fn what_begins_to_pay_is_stored_at_once_again() {
    let mut asked = Asked::of(512 * KIB, true);
    asked.ask_all(0..40_000);
    // Each result three times in a row.
    asked.ask_all((100_000..103_000).flat_map(|number| [number; 3]));
    let counts = asked.ask_all((200_000..201_000).flat_map(|number| [number; 3]));
    assert!(counts.hits >= 1_990, "{counts:?}");
}

#[test]
fn it_costs_no_hits() {
    // A working set that fits, and one that does not; with hot results and without.
    for (kib, keys, hot) in [
        (512, 20_000, 200),
        (512, 20_000, 4_000),
        (512, 20_000, 0),
        (4096, 20_000, 4_000),
        (16_384, 20_000, 0),
    ] {
        let share = |weighs| {
            let mut asked = Asked::of(kib * KIB, weighs);
            asked.ask_drawn(keys, hot, 40_000);
            let counts = asked.ask_drawn(keys, hot, 60_000);
            f64::from(counts.hits) / f64::from(counts.asked)
        };
        let (with, without) = (share(true), share(false));
        assert!(with > without - 0.005, "{kib} KiB, {keys} results, {hot} hot: {with} and {without}");
    }
}

#[test]
fn a_result_that_is_read_twice_in_a_row_and_never_again_is_stored_the_first_time() {
    let mut asked = Asked::of(512 * KIB, true);
    let counts = asked.ask_all((0..50_000).flat_map(|number| [number; 2]));
    assert_eq!(counts.hits, 50_000);
}
