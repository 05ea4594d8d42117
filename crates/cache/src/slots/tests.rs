use super::*;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;

const fn at(raw: u64) -> Position {
    Position::new(raw)
}

const fn slot(tag: u16) -> Slot {
    Slot { bucket: 0, tag }
}

fn stamp(slots: &Slots, tag: u16) -> u64 {
    slots.stamp(slot(tag)).get()
}

#[test]
fn a_bucket_is_one_cache_line_and_buckets_do_not_overlap() {
    let slots = Slots::new(BUCKET_BITS);
    let last = (1 << BUCKET_BITS) - 1;
    for bucket in [0, 1, last] {
        assert_eq!(slots.bucket(Slot { bucket, tag: 1 }).as_ptr().align_offset(LINE_BYTES), 0);
        slots.raise_stamp(Slot { bucket, tag: 1 }, at(u64::from(bucket) + 1)).unwrap();
    }
    for (bucket, newest) in [(0, 1), (1, 2), (2, 0), (last, u64::from(last) + 1)] {
        assert_eq!(slots.stamp(Slot { bucket, tag: 1 }), at(newest), "{bucket}");
    }
}

#[test]
fn the_last_seven_rows_are_known_exactly_and_the_others_by_the_floor() {
    let slots = Slots::new(0);
    for n in 1..=100 {
        slots.raise_stamp(slot(n), at(u64::from(n) * 10)).unwrap();
        for known in n.saturating_sub(6).max(1)..=n {
            assert_eq!(stamp(&slots, known), u64::from(known) * 10);
        }
        let floor = u64::from(n.saturating_sub(7)) * 10;
        assert_eq!((stamp(&slots, 8191), stamp(&slots, 8000)), (floor, floor), "never stamped");
    }
}

#[test]
fn what_cannot_be_told_or_counted_is_said() {
    let slots = Slots::new(0);
    assert_eq!(slots.raise_stamp(slot(1), at(POSITION_MAX)), Ok(()));
    assert_eq!(slots.raise_stamp(slot(2), at(POSITION_MAX + 1)), Err(Widen));
    slots.restart(at(10));
    assert_eq!(slots.raise_stamp(slot(2), at(POSITION_MAX + 10)), Ok(()));
    for _ in 0..FENCES_MAX {
        assert_eq!(slots.raise_fence(slot(1)), Ok(()));
    }
    assert_eq!(slots.raise_fence(slot(2)), Err(Widen), "all of a bucket are counted together");
    assert_eq!(stamp(&slots, 3), 10, "and the floor is not touched");
    for _ in 0..FENCES_MAX {
        assert!(slots.is_fenced(slot(5)));
        slots.lift_fence(slot(1));
    }
    assert!(!slots.is_fenced(slot(5)));
}

#[test]
fn a_new_generation_forgets_the_stamps_and_keeps_the_fences() {
    let slots = Slots::new(0);
    (1..=9).for_each(|tag| slots.raise_stamp(slot(tag), at(u64::from(tag))).unwrap());
    slots.raise_fence(slot(1)).unwrap();
    slots.restart(at(100));
    assert_eq!((stamp(&slots, 9), stamp(&slots, 1)), (100, 100), "everything has this stamp");
    assert!(slots.is_fenced(slot(1)));
    slots.raise_stamp(slot(3), at(99)).unwrap();
    slots.raise_stamp(slot(4), at(101)).unwrap();
    assert_eq!((stamp(&slots, 3), stamp(&slots, 4)), (100, 101));
    slots.restart(at(50));
    assert_eq!(stamp(&slots, 4), 101, "never back");
}

/// The operations on one bucket, which is compared with a map that forgets nothing.
#[derive(Clone, Debug)]
enum Do {
    Stamp(u16, u64),
    Fence,
    Lift,
    Restart(u64),
}

fn something() -> impl Strategy<Value = Do> {
    prop_oneof![
        20 => (1..13_u16, 0..60_u64).prop_map(|(tag, back)| Do::Stamp(tag, back)),
        2 => Just(Do::Fence),
        2 => Just(Do::Lift),
        1 => (0..40_u64).prop_map(Do::Restart),
    ]
}

proptest! {
    #[test]
    fn no_stamp_is_lost_and_the_latest_are_exact(done in prop::collection::vec(something(), 1..200)) {
        let slots = Slots::new(0);
        let (mut now, mut fences, mut base) = (100, 0, 0);
        let mut stamps = BTreeMap::<u16, u64>::new();
        for step in done {
            now += 7;
            match step {
                // Some stamps come late, as sessions' stamps do.
                Do::Stamp(tag, back) => {
                    let stamp = if back > 40 { now } else { now - back };
                    slots.raise_stamp(slot(tag), at(stamp)).unwrap();
                    let newest = stamps.entry(tag).or_default();
                    *newest = stamp.max(*newest);
                }
                Do::Fence => fences += slots.raise_fence(slot(3)).map_or(0, |()| 1),
                Do::Lift if fences > 0 => {
                    slots.lift_fence(slot(4));
                    fences -= 1;
                }
                Do::Lift => {}
                Do::Restart(on) => {
                    base = now + on;
                    now = base;
                    slots.restart(at(base));
                    stamps.clear();
                }
            }
            prop_assert_eq!(slots.is_fenced(slot(0)), fences > 0);
            let mut newest: Vec<u64> = stamps.values().copied().filter(|stamp| *stamp > base).collect();
            newest.sort_unstable_by(|one, other| other.cmp(one));
            let forgotten = newest.get(7).copied().unwrap_or(base);
            for tag in 1..13 {
                let truly = stamps.get(&tag).copied().unwrap_or(0).max(base);
                let seen = stamp(&slots, tag);
                for than in [seen.saturating_sub(1), seen, seen + 1] {
                    prop_assert_eq!(slots.is_stamped_after(slot(tag), at(than)), seen > than);
                }
                prop_assert!(seen >= truly, "{} in place of {}", seen, truly);
                prop_assert!(seen == truly || seen <= forgotten.max(truly), "{seen} but {truly}, {forgotten}");
                prop_assert!(truly <= forgotten || seen == truly, "one of the last seven: {seen} {truly}");
            }
        }
    }
}

/// One store to a bucket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Decides, under the lock, which stores the next two steps do.
    Plan(u16, u64),
    Head(u64),
    Raise,
    Write,
    MoveBase,
    Clear,
}

/// The places of the values that a reader loads beside the words of the bucket.
const BASE: usize = WORDS;
const HEAD: usize = WORDS + 1;
const LOADS: usize = WORDS + 1;
const NEXT_BASE: u64 = 1000;

/// A bucket: a writer changes one word at a time, while a reader loads one word at a time.
struct Interleaved {
    bucket: [Cell<u64>; WORDS],
    base: Cell<u64>,
    head: Cell<u64>,
    change: Cell<Change>,
    steps: Vec<Step>,
    /// How many steps the writer has done before each load.
    schedule: [usize; LOADS],
    done: Cell<usize>,
    loads: Cell<usize>,
}

impl Interleaved {
    fn step(&self, step: Step) {
        let change = self.change.take();
        match step {
            Step::Plan(tag, at) => {
                let bucket = array::from_fn(|word| self.bucket[word].get());
                return self.change.set(Change::plan(bucket, tag, at - self.base.get()));
            }
            Step::Head(at) => self.head.set(self.head.get().max(at - self.base.get())),
            Step::Raise => change.floor.into_iter().for_each(|floor| self.bucket[0].set(floor)),
            Step::Write => change.write.into_iter().for_each(|(word, value)| self.bucket[word].set(value)),
            Step::MoveBase => self.base.set(NEXT_BASE),
            Step::Clear => self.bucket.iter().chain([&self.head]).for_each(|word| word.set(0)),
        }
        self.change.set(change);
    }

    fn load(&self, word: usize) -> u64 {
        let until = self.schedule[self.loads.get()];
        self.steps[self.done.get()..until].iter().for_each(|step| self.step(*step));
        self.done.set(until);
        self.loads.set(self.loads.get() + 1);
        match word {
            BASE => self.base.get(),
            HEAD => self.head.get(),
            word => self.bucket[word].get(),
        }
    }
}

type Read = fn(&dyn Fn(usize) -> u64, u16) -> u64;

/// Loads in the order of [`Slots::stamp`].
fn in_order(load: &dyn Fn(usize) -> u64, tag: u16) -> u64 {
    newest(load, tag) + load(BASE)
}

fn base_first(load: &dyn Fn(usize) -> u64, tag: u16) -> u64 {
    load(BASE) + newest(load, tag)
}

/// Loads as [`Slots::is_stamped_after`] does before it goes to the bucket.
fn head(load: &dyn Fn(usize) -> u64, _tag: u16) -> u64 {
    load(HEAD) + load(BASE)
}

fn base_before_head(load: &dyn Fn(usize) -> u64, _tag: u16) -> u64 {
    load(BASE) + load(HEAD)
}

fn floor_first(load: &dyn Fn(usize) -> u64, tag: u16) -> u64 {
    let floor = load(0);
    let found = (1..WORDS).map(|word| position_of(load(word), tag)).max().unwrap_or(0);
    load(BASE) + if found == 0 { floor } else { found }
}

/// Returns every way to spread so many steps over the loads.
fn schedules(steps: usize) -> Vec<[usize; LOADS]> {
    let mut all = vec![[0; LOADS]];
    for load in 0..LOADS {
        let mut longer = Vec::new();
        for before in all {
            let from = if load == 0 { 0 } else { before[load - 1] };
            longer.extend((from..=steps).map(|done| {
                let mut schedule = before;
                schedule[load] = done;
                schedule
            }));
        }
        all = longer;
    }
    all
}

/// Returns in how many interleavings of these steps a reader of a full bucket misses a stamp that was set before.
fn missed(steps: &[Step], read: Read) -> usize {
    let full = |word: usize| match word as u64 {
        0 => 5,
        word => word << POSITION_BITS | (10 + word),
    };
    let mut missed = 0;
    for schedule in schedules(steps.len()) {
        for tag in 1..=7 {
            let world = Interleaved {
                bucket: array::from_fn(|word| Cell::new(full(word))),
                base: Cell::new(0),
                head: Cell::new(17),
                change: Cell::default(),
                steps: steps.to_vec(),
                schedule,
                done: Cell::new(0),
                loads: Cell::new(0),
            };
            missed += usize::from(read(&|word| world.load(word), tag) < 10 + u64::from(tag));
        }
    }
    missed
}

/// Returns the steps of two stamps: these forget others, raise what is read, or come late.
fn stamps([first, second]: [Step; 2]) -> Vec<Vec<Step>> {
    let stamps = [[(8, 30), (9, 31)], [(8, 30), (1, 31)], [(1, 30), (8, 31)], [(8, 9), (9, 12)]];
    let steps = |stamps: &[(u16, u64); 2]| {
        stamps.iter().flat_map(|(tag, at)| [Step::Plan(*tag, *at), first, second]).collect()
    };
    stamps.iter().map(steps).collect()
}

/// Returns the steps of a new generation, and of its first stamps.
fn restart([first, second]: [Step; 2]) -> Vec<Step> {
    let stamp = |tag| [Step::Plan(tag, NEXT_BASE + 1), Step::Raise, Step::Write];
    [first, second].into_iter().chain(stamp(8)).chain(stamp(1)).collect()
}

/// Returns the steps of a new generation for the head.
fn restart_of_head([first, second]: [Step; 2]) -> Vec<Step> {
    vec![first, second, Step::Head(NEXT_BASE + 1), Step::Head(NEXT_BASE + 2)]
}

#[test]
fn in_no_interleaving_does_a_reader_miss_what_was_stamped_before() {
    for steps in stamps([Step::Raise, Step::Write]) {
        assert_eq!(missed(&steps, in_order), 0);
    }
    assert_eq!(missed(&restart([Step::MoveBase, Step::Clear]), in_order), 0);
    assert_eq!(missed(&[Step::Head(30), Step::Head(9), Step::Head(31)], head), 0);
    assert_eq!(missed(&restart_of_head([Step::MoveBase, Step::Clear]), head), 0);
}

/// The tests' test.
#[test]
fn in_any_other_order_it_does() {
    let sum = |order, read| stamps(order).iter().map(|steps| missed(steps, read)).sum::<usize>();
    assert!(
        sum([Step::Write, Step::Raise], in_order) > 0,
        "the floor is raised after the word is overwritten"
    );
    assert!(sum([Step::Raise, Step::Write], floor_first) > 0, "the floor is loaded first");
    assert!(
        missed(&restart([Step::Clear, Step::MoveBase]), in_order) > 0,
        "cleared before the base is moved"
    );
    assert!(missed(&restart([Step::MoveBase, Step::Clear]), base_first) > 0, "the base is loaded first");
    assert!(missed(&restart_of_head([Step::Clear, Step::MoveBase]), head) > 0, "cleared before, again");
    let steps = restart_of_head([Step::MoveBase, Step::Clear]);
    assert!(missed(&steps, base_before_head) > 0, "the base is loaded first, again");
}

/// The table in the module's text.
#[test]
fn precision() {
    /// After so many changed rows, at most this share of the others looks changed, in percent.
    const SHARES: [(u64, f64); 6] = [
        (100_000, 0.1),
        (500_000, 0.5),
        (1_000_000, 5.0),
        (1_500_000, 25.0),
        (2_000_000, 52.0),
        (4_000_000, 100.0),
    ];
    const OTHERS: std::ops::Range<u64> = 1_000_000_000..1_000_200_000;
    let slots = Slots::new(BUCKET_BITS);
    let hash = ahash::RandomState::with_seeds(1, 2, 3, 4);
    let of = |row: u64| Slot::of(hash.hash_one(row), BUCKET_BITS, TAG_BITS);
    let mut stamped = 0;
    for (rows, most) in SHARES {
        (stamped + 1..=rows).for_each(|row| slots.raise_stamp(of(row), at(row)).unwrap());
        stamped = rows;
        let changed = OTHERS.filter(|row| slots.stamp(of(*row)) > at(0)).count();
        let share = 100.0 * changed as f64 / OTHERS.count() as f64;
        println!("{rows} {share:.2} %");
        assert!(share <= most, "{rows}: {share} %");
    }
}
