//! The bound, as the system sees it: the resident memory of the process, with the allocator of the program.
//!
//! One test alone in its process, so that nothing else takes memory.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use freshet_cache::{Cache, Fill, Freshness, Key};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZE: usize = 96 << 20;
/// What a process may take besides: threads' heaps and stacks, the allocator's own tables.
const SMALL: usize = 12 << 20;

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// Inserts twice the size of the cache in bodies of lengths around `len` and a few much larger, from two threads.
fn churn(cache: &Cache, len: usize, salt: u64) {
    let count = (2 * SIZE / (len + 300)) as u64;
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                for n in (thread..count).step_by(2) {
                    let random = (n ^ salt << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
                    let text = random.to_le_bytes();
                    let key = Key { environment: len as u32, text: &text };
                    let factor = if n % 100 == 0 { 20 } else { 1 };
                    let body = vec![1; (len / 2 + random as usize % len) * factor];
                    let fill = Fill {
                        valid_from: cache.freshness().valid_from(),
                        deps: Vec::new(),
                        body,
                        status_at: [u32::MAX; 2],
                        status: 0,
                        rows: 0,
                        cost_us: 100,
                    };
                    cache.insert(key, fill);
                    assert!(cache.used() <= SIZE);
                    cache.get(key, 0, |entry| assert_eq!(entry.body.to_vec()[0], 1));
                }
            });
        }
    });
}

#[test]
fn resident_memory_stays_within_the_bound_and_is_given_back() {
    let freshness = Arc::new(Freshness::new());
    freshness.lives_until(u64::MAX);
    let before = resident_bytes();
    let cache = Cache::new(freshness, SIZE, 4 << 20);
    assert!(resident_bytes() < before + (1 << 20), "nothing is preallocated");
    let bound = before + SIZE + SIZE * 15 / 100 + SMALL;
    for (round, len) in [300, 300, 300, 300].into_iter().enumerate() {
        churn(&cache, len, round as u64);
        let resident = resident_bytes();
        println!(
            "bodies around {len:>6}: {:>5.1} % used, {:>5.1} % resident, {} entries",
            100.0 * cache.used() as f64 / SIZE as f64,
            100.0 * (resident - before) as f64 / SIZE as f64,
            cache.entries()
        );
        assert!(resident <= bound, "{} MiB over", (resident - bound) >> 20);
        assert!(cache.used() > SIZE / 10 * 8, "the memory is used: {}", cache.used());
    }
    cache.resize(SIZE / 8);
    assert!(cache.used() <= SIZE / 8);
    cache.resize(0);
    assert_eq!(cache.used(), 0);
}
