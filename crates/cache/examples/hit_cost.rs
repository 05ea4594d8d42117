//! What a hit costs, in nanoseconds: `cargo run --profile quick -p freshet-cache --example hit_cost`.
//!
//! One thread and two; one hot key and many; small results and large. The first table is what dependencies on rows add; with the argument
//! `rows` (a minute) it is the only table. The other tables compare the store with simpler structures that do the same lookups. The
//! choice of the store's lock rests on them.
#![allow(clippy::print_stdout, missing_docs)]

use freshet_cache::{Cache, Dep, Fences, Fill, Freshness, Key, Position};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const KEYS: u64 = 20_000;
const HITS: u64 = 300_000;
const RUNS: u64 = 200;
/// On how many rows an entry depends; 0: on the whole table.
const ROWS: [u64; 5] = [0, 1, 4, 12, 24];
/// The number of threads, and the greatest number of keys.
const CELLS: [(u64, u64); 4] = [(1, 1), (2, 1), (1, KEYS), (2, KEYS)];

/// A lookup that copies the body of this key to the buffer.
type Hit<'a> = &'a (dyn Fn(u64, &mut Vec<u8>) + Sync);

fn main() {
    rows();
    if std::env::args().any(|argument| argument == "rows") {
        return;
    }
    for body_len in [200, 8 << 10, 64 << 10] {
        println!("bodies of {body_len} bytes; ns per hit    hot x1   hot x2  spread x1  spread x2");
        let keys = KEYS.min((256 << 20) / body_len as u64);
        let hits = HITS / (1 + body_len as u64 / 2000);
        let freshness = Arc::new(Freshness::new());
        let table = freshness.table("s", "t");
        let deps = [table.definition, table.rows];
        let store = filled(freshness, (keys, body_len), |_, _| deps.to_vec());
        row("the store", keys, hits, &|n, out| from_store(&store, n, out));
        row("the rule alone", keys, hits, &|_, _| {
            black_box(store.freshness().check(&deps, store.freshness().valid_from(), Fences::Refuse));
        });
        compare(keys, hits, body_len);
    }
}

/// Prints what dependencies on single rows add to a hit on 200 bytes, three times over. All cases are measured in turn, so that other
/// load on the machine slows all cases alike.
fn rows() {
    println!("bodies of 200 bytes; ns per hit       hot x1   hot x2  spread x1  spread x2");
    let stores = ROWS.map(|count| (count, depending_on_rows(count)));
    for _ in 0..3 {
        let mut best = [[f64::INFINITY; CELLS.len()]; ROWS.len()];
        for _ in 0..RUNS {
            for ((_, store), best) in stores.iter().zip(&mut best) {
                for (best, (threads, keys)) in best.iter_mut().zip(CELLS) {
                    *best = best.min(once(threads, keys, HITS / 50, &|n, out| from_store(store, n, out)));
                }
            }
        }
        print("whole table", best[0]);
        for (count, cells) in ROWS.iter().zip(best).skip(1) {
            let more = std::array::from_fn(|cell| cells[cell] - best[0][cell]);
            print(&format!("  {count} rows in place of it: more by"), more);
        }
    }
    for (count, store) in &stores {
        let statistics = store.statistics();
        assert!(statistics.misses + statistics.stale + statistics.fenced == 0, "{count}: {statistics:?}");
    }
}

/// Returns a store whose entries each depend on so many rows of their own, or on the whole table if that is 0. So many other rows have
/// changed before that all slots are in memory.
fn depending_on_rows(count: u64) -> Cache {
    const CHANGED: u64 = 1_000_000;
    let freshness = Arc::new(Freshness::new());
    (1..CHANGED).for_each(|row| freshness.stamp(freshness.row(1, row), Position::new(row)));
    freshness.publish_applied(Position::new(CHANGED));
    freshness.publish_visible(Position::new(CHANGED));
    let table = freshness.table("s", "t");
    filled(freshness, (KEYS, 200), |freshness, n| match count {
        0 => vec![table.definition, table.rows],
        _ => {
            let rows = (0..count).map(|row| freshness.row(2, n * count + row));
            [table.definition, freshness.any(2)].into_iter().chain(rows).collect()
        }
    })
}

fn filled(
    freshness: Arc<Freshness>,
    (keys, body_len): (u64, usize),
    deps: impl Fn(&Freshness, u64) -> Vec<Dep>,
) -> Cache {
    freshness.lives_until(u64::MAX);
    let store = Cache::new(Arc::clone(&freshness), 1 << 30, 1 << 20);
    for n in 0..keys {
        let fill = Fill {
            valid_from: freshness.valid_from(),
            deps: deps(&freshness, n),
            body: vec![n as u8; body_len],
            status_at: [u32::MAX; 2],
            status: 0,
            tag: 0,
            expires_ms: 0,
            refresh_ms: 0,
            text_prefix: 32,
            body_prefix: body_len.min(64),
            rows: 1,
            cost_us: 100,
        };
        store.insert(Key { environment: 1, text: &text(n) }, fill);
    }
    store
}

fn text(n: u64) -> [u8; 40] {
    let mut text = *b"SELECT c FROM sbtest1 WHERE id =        ";
    text[32..].copy_from_slice(&n.to_le_bytes());
    text
}

fn from_store(store: &Cache, n: u64, out: &mut Vec<u8>) {
    let key = Key { environment: 1, text: &text(n) };
    store.get(key, 1, Fences::Refuse, |entry| {
        entry.body.clone().for_each(|piece| out.extend_from_slice(piece))
    });
}

/// Prints the same lookups without rule, queues, bound or counters, on four ways to share a table.
fn compare(keys: u64, hits: u64, body_len: usize) {
    const SHARDS: usize = 64;
    type Table = HashMap<[u8; 40], Arc<[u8]>, ahash::RandomState>;
    let hash = ahash::RandomState::new();
    let mut tables: Vec<Table> = (0..SHARDS).map(|_| Table::default()).collect();
    let shard = |text: &[u8; 40]| (hash.hash_one(text) >> 58) as usize;
    for n in 0..keys {
        tables[shard(&text(n))].insert(text(n), vec![n as u8; body_len].into());
    }
    let shared: Vec<RwLock<Table>> = tables.iter().cloned().map(RwLock::new).collect();
    row("  shared lock, copy", keys, hits, &|n, out| {
        let table = shared[shard(&text(n))].read().unwrap_or_else(PoisonError::into_inner);
        out.extend_from_slice(table.get(&text(n)).map_or(&[], |body| body));
    });
    row("  shared lock, count, copy", keys, hits, &|n, out| {
        let table = shared[shard(&text(n))].read().unwrap_or_else(PoisonError::into_inner);
        let body = table.get(&text(n)).map(Arc::clone);
        drop(table);
        out.extend_from_slice(body.as_deref().unwrap_or(&[]));
    });
    let locked: Vec<Mutex<Table>> = tables.iter().cloned().map(Mutex::new).collect();
    row("  mutex, copy", keys, hits, &|n, out| {
        let table = locked[shard(&text(n))].lock().unwrap_or_else(PoisonError::into_inner);
        out.extend_from_slice(table.get(&text(n)).map_or(&[], |body| body));
    });
    row("  mutex, count, copy", keys, hits, &|n, out| {
        let table = locked[shard(&text(n))].lock().unwrap_or_else(PoisonError::into_inner);
        let body = table.get(&text(n)).map(Arc::clone);
        drop(table);
        out.extend_from_slice(body.as_deref().unwrap_or(&[]));
    });
    row("  no lock", keys, hits, &|n, out| {
        let table = &tables[shard(&text(n))];
        out.extend_from_slice(table.get(&text(n)).map_or(&[], |body| body));
    });
}

fn row(name: &str, keys: u64, hits: u64, hit: Hit<'_>) {
    let best = |(threads, spread): (u64, u64)| {
        (0..RUNS).map(|_| once(threads, keys.min(spread), hits, hit)).fold(f64::INFINITY, f64::min)
    };
    print(name, CELLS.map(best));
}

/// Prints the best of some runs, because the machine does other things too.
fn print(name: &str, cells: [f64; CELLS.len()]) {
    println!("{name:<38}{:>8.1}{:>9.1}{:>11.1}{:>11.1}", cells[0], cells[1], cells[2], cells[3]);
}

/// Nanoseconds from one hit of a thread to its next.
fn once(threads: u64, keys: u64, hits: u64, hit: Hit<'_>) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || many(thread, keys, hits, hit));
        }
    });
    start.elapsed().as_nanos() as f64 / hits as f64
}

fn many(thread: u64, keys: u64, hits: u64, hit: Hit<'_>) {
    let mut out = Vec::with_capacity(1 << 20);
    let mut random = thread + 1;
    for _ in 0..hits {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.clear();
        hit((random >> 33) % keys, &mut out);
        black_box(&out);
    }
}
