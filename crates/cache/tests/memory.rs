//! The bound, as the system sees it: the resident memory of the process, with the allocator of the program, while the sizes of results
//! and the threads that store them change.
//!
//! One test alone in its process, so that nothing else takes memory.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::single_range_in_vec_init)]

use freshet_cache::{Cache, Fences, Fill, Freshness, Key};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZE: usize = 96 << 20;
/// What a process may take besides: chunks that are partly free, threads' heaps and stacks, the allocator's own tables. In bytes. Seen
/// are 15 to 26 MiB. Most of it is in the heaps of the four threads, which keep what they freed last while they are idle.
const SMALL: usize = 32 << 20;
/// The bytes that the system hands out at once where it gives huge pages to all. The program refuses them, but a test does not.
const HUGE_PAGE: usize = 2 << 20;
/// How long the allocator may keep freed memory.
const PURGED_WITHIN: Duration = Duration::from_secs(10);

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

const LEN_MAX: usize = 900_000;

/// The results that each thread stores: as many as fill the cache, of these lengths.
#[derive(Clone)]
struct Load {
    name: &'static str,
    lens: &'static [Range<usize>],
    salt: u64,
}

impl Load {
    fn run(&self, cache: &Cache) {
        let (mut random, mut stored) = (self.salt, 0);
        while stored < SIZE {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let lens = &self.lens[(random >> 60) as usize % self.lens.len()];
            let len = lens.start + (random >> 33) as usize % lens.len();
            let text = format!("SELECT * FROM t WHERE id = {random}");
            let key = Key { environment: 1, text: text.as_bytes() };
            cache.insert(key, fill(cache, len));
            assert!(cache.used() <= cache.size());
            cache.get(key, 0, Fences::Refuse, |entry| assert_eq!(entry.body.len(), len));
            stored += len + 500;
        }
    }
}

/// Returns a result. All bodies have the capacity of the largest, so that the allocator keeps only one size class of freed bodies, which
/// does not hide the memory that the store keeps.
fn fill(cache: &Cache, len: usize) -> Fill {
    let mut body = Vec::with_capacity(LEN_MAX);
    body.resize(len, 1);
    Fill {
        valid_from: cache.freshness().valid_from(),
        deps: Vec::new(),
        body,
        status_at: [u32::MAX; 2],
        status: 0,
        tag: 0,
        expires_ms: 0,
        refresh_ms: 0,
        text_prefix: 0,
        body_prefix: 0,
        rows: 0,
        cost_us: 100,
    }
}

/// A thread that stores the results that it is told to, and keeps its heap while it is idle.
struct Worker {
    loads: Sender<Load>,
    done: Receiver<()>,
}

impl Worker {
    fn start(cache: &Arc<Cache>) -> Self {
        let (loads, todo) = channel::<Load>();
        let (finished, done) = channel();
        let cache = Arc::clone(cache);
        std::thread::spawn(move || {
            for load in todo {
                load.run(&cache);
                finished.send(()).unwrap();
            }
        });
        Self { loads, done }
    }
}

struct Observed {
    cache: Arc<Cache>,
    before: usize,
}

impl Observed {
    fn grown(&self) -> usize {
        resident_bytes().saturating_sub(self.before)
    }

    fn print(&self, name: &str) {
        let percent = |bytes: usize| 100.0 * bytes as f64 / SIZE as f64;
        let (used, resident) = (percent(self.cache.used()), percent(self.grown()));
        println!(
            "{name:<36} {used:>5.1} % used, {resident:>5.1} % resident, {} entries",
            self.cache.entries()
        );
    }

    /// Runs a load on these threads, and watches the process meanwhile.
    fn run(&self, workers: &[Worker], load: &Load) {
        let (bound, mut most) = (SIZE + SIZE * 15 / 100 + SMALL, 0);
        for (salt, worker) in workers.iter().enumerate() {
            let load = Load { salt: load.salt * 16 + salt as u64, ..load.clone() };
            worker.loads.send(load).unwrap();
        }
        for worker in workers {
            while worker.done.recv_timeout(Duration::from_millis(5)).is_err() {
                most = most.max(self.grown());
            }
        }
        most = most.max(self.grown());
        self.print(load.name);
        println!("{:>36} {:>5.1} % resident at most", "", 100.0 * most as f64 / SIZE as f64);
        assert!(most <= bound, "{}: {} KiB over", load.name, (most - bound) >> 10);
        let used = self.cache.used();
        assert!(used > SIZE / 10 * 8, "{}: the memory is used: {used}", load.name);
    }

    /// Fails if the resident memory of the process does not shrink to this bound soon.
    fn shrinks_to(&self, bound: usize, name: &str) {
        let start = Instant::now();
        while self.grown() > bound && start.elapsed() < PURGED_WITHIN {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.print(name);
        assert!(self.grown() <= bound, "{name}: {} KiB over", (self.grown() - bound) >> 10);
    }
}

#[test]
fn resident_memory_stays_within_the_bound_and_is_given_back() {
    const SMALL_ONES: &[Range<usize>] = &[100..900];
    const LARGE_ONES: &[Range<usize>] = &[20_000..60_000];
    const MIXED: &[Range<usize>] =
        &[50..400, 50..400, 50..400, 400..5000, 400..5000, 5000..50_000, 100_000..LEN_MAX];
    let nothing = resident_bytes();
    let freshness = Arc::new(Freshness::new());
    assert!(resident_bytes() < nothing + (8 << 20), "the cells, and hardly anything of the slots");
    freshness.lives_until(u64::MAX);
    let before = resident_bytes();
    let cache = Arc::new(Cache::new(freshness, SIZE, 4 << 20));
    // Its first allocations of two sizes may each be the first in a huge page, which the process then has as a whole.
    let grown = resident_bytes() - before;
    assert!(grown < (1 << 20) + 2 * HUGE_PAGE, "nothing is preallocated, but for {grown} bytes");
    let workers: Vec<Worker> = (0..4).map(|_| Worker::start(&cache)).collect();
    let (some, others) = workers.split_at(2);
    let observed = Observed { cache: Arc::clone(&cache), before };
    let phases = [
        (some, "hundreds of bytes", SMALL_ONES),
        (others, "hundreds of bytes, other threads", SMALL_ONES),
        (some, "tens of thousands", LARGE_ONES),
        (others, "hundreds again", SMALL_ONES),
        (some, "mixed", MIXED),
        (others, "tens of thousands again", LARGE_ONES),
        (&workers, "mixed, all threads", MIXED),
        (others, "hundreds at last", SMALL_ONES),
    ];
    for (salt, (threads, name, lens)) in phases.into_iter().enumerate() {
        observed.run(threads, &Load { name, lens, salt: salt as u64 + 1 });
    }
    cache.resize(SIZE / 8);
    while cache.trim() {}
    assert!(cache.used() <= SIZE / 8);
    observed.shrinks_to(SIZE / 8 * 115 / 100 + SMALL, "an eighth of the size");
    cache.resize(SIZE);
    observed.run(&workers, &Load { name: "the size as before", lens: MIXED, salt: 99 });
    cache.clear();
    assert_eq!(cache.used(), 0);
    observed.shrinks_to(SMALL, "cleared");
}
