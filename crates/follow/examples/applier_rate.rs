//! How many row changes a second are decoded and applied, in memory, on one thread: with no watches and with several, with
//! few rows in an event and with many, and with few and with many entries stored in a cache beside it.
//!
//! `cargo run --profile quick -p freshet-follow --example applier_rate`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "an example that measures")]

use std::sync::Arc;
use std::time::Instant;

use freshet_cache::{Cache, Fill, Freshness, Key, Position};
use freshet_catalog::rows::{KeyType, Values, WatchSpec, Watches};
use freshet_catalog::{Code, ColumnInfo, Descendants, TableInfo, TableKind};
use freshet_follow::applier::{Applier, DefinitionSource, StreamTraits};
use freshet_follow::stamps::Stamps;
use freshet_follow::timeline::Timeline;
use freshet_protocol::binlog::{BinlogFlavor, Decoder};
use freshet_sql::{Condition, DataType, Datum, Flavor};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of row changes in one measurement.
const CHANGES: u32 = 400_000;
const HEADER_LEN: usize = 19;
const TABLE_MAP: u8 = 19;
const WRITE_ROWS: u8 = 23;
const UPDATE_ROWS: u8 = 24;
const XID: u8 = 16;
const GTID: u8 = 162;

/// No foreign keys.
struct Nothing;

impl DefinitionSource for Nothing {
    fn descendants(&self, _schema: &str, _table: &str) -> Option<Arc<Descendants>> {
        Some(Arc::default())
    }
    fn layout(&self, _schema: &str, _table: &str, _at: Position) -> Option<Arc<[ColumnInfo]>> {
        None
    }
}

/// Returns `sbtest1 (id INT, k INT, c VARCHAR(120), pad VARCHAR(60))`.
fn table() -> TableInfo {
    let text = |chars| KeyType::Text { collation: "latin1_swedish_ci".into(), chars };
    let int = KeyType::Integer { unsigned: false, bytes: 4 };
    let column = |name: &str, key| ColumnInfo {
        name: name.to_owned(),
        key,
        data_type: DataType {
            name: "int".into(),
            is_unsigned: false,
            length: None,
            scale: None,
            collation: None,
            names: None,
        },
        generated: false,
        on_update: false,
        hidden: false,
        auto_increment: false,
        nullable: false,
        unique: false,
        only_unique: false,
    };
    let name = ("sbtest".to_owned(), "sbtest1".to_owned());
    TableInfo {
        base_tables: vec![name.clone()],
        name,
        kind: TableKind::Base,
        engine: "InnoDB".to_owned(),
        cacheable: Ok(()),
        rests_on: Arc::default(),
        shows_all_alike: true,
        runs_unknown_code: false,
        asks_for_cache: false,
        has_triggers: false,
        writes_elsewhere: false,
        may_be_merged: false,
        triggers: Some(Code::default()),
        reading: Some(Code::default()),
        columns: [
            column("id", int.clone()),
            column("k", int),
            column("c", text(120)),
            column("pad", text(60)),
        ]
        .into(),
        described: Arc::new([]),
        settled_by: Position::ZERO,
    }
}

/// The stream, as endless bytes.
struct Source {
    end_pos: u32,
    seed: u64,
}

impl Source {
    fn random(&mut self) -> u32 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as u32
    }

    fn event(&mut self, kind: u8, body: &[u8]) -> Vec<u8> {
        let size = u32::try_from(HEADER_LEN + body.len()).unwrap();
        // The offset wraps, as it does in a file beyond 4 GiB.
        self.end_pos = self.end_pos.wrapping_add(size).max(1);
        let mut event = vec![1, 0, 0, 0, kind, 1, 0, 0, 0];
        event.extend_from_slice(&size.to_le_bytes());
        event.extend_from_slice(&self.end_pos.to_le_bytes());
        event.extend_from_slice(&[0, 0]);
        event.extend_from_slice(body);
        event
    }

    fn image(&mut self, id: u32, body: &mut Vec<u8>) {
        let k = self.random() % 1_000_000;
        body.push(0);
        body.extend_from_slice(&id.to_le_bytes());
        body.extend_from_slice(&k.to_le_bytes());
        for len in [119u8, 59] {
            body.push(len);
            body.extend((0..len).map(|at| b'0' + at % 10));
        }
    }

    /// Returns a transaction that changes this many rows.
    fn transaction(&mut self, is_update: bool, rows: u32) -> Vec<Vec<u8>> {
        let mut gtid = vec![0; 19];
        gtid[0] = 1;
        let map = [
            &[7, 0, 0, 0, 0, 0, 1, 0, 6][..],
            b"sbtest\0",
            &[7],
            b"sbtest1\0",
            &[4, 3, 3, 15, 15, 4, 120, 0, 60, 0, 0],
        ]
        .concat();
        let mut body = vec![7, 0, 0, 0, 0, 0, 1, 0, 4, 0x0F];
        if is_update {
            body.push(0x0F);
        }
        for _ in 0..rows {
            let id = self.random() % 1_000_000;
            self.image(id, &mut body);
            if is_update {
                self.image(id, &mut body);
            }
        }
        let kind = if is_update { UPDATE_ROWS } else { WRITE_ROWS };
        vec![
            self.event(GTID, &gtid),
            self.event(TABLE_MAP, &map),
            self.event(kind, &body),
            self.event(XID, &[0; 8]),
        ]
    }
}

fn ints(values: &[i128]) -> Condition {
    Condition::OneOf(values.iter().copied().map(Datum::Int).collect())
}

fn between(low: i128, high: i128) -> Condition {
    Condition::Between { low: Some((Datum::Int(low), true)), high: Some((Datum::Int(high), true)) }
}

/// Makes this many watches: by id, by ranges of id, by k, by ranges of k, and each again for other columns read.
fn watch(watches: &Watches, table: &TableInfo, count: u16) {
    for number in 0..count {
        let column = number / 2 % 2;
        let read = (number >= 4).then(|| vec![number / 4 % 4]);
        let (spec, conditions) = if number % 2 == 0 {
            (WatchSpec { equal: vec![column], range: None, read }, vec![ints(&[1, 2])])
        } else {
            (WatchSpec { equal: Vec::new(), range: Some(column), read }, vec![between(1_000, 1_099)])
        };
        let watch = watches.watch(table, &spec).expect("a watch");
        watch.deps_of_reading(&conditions, Values::default()).expect("slots");
    }
}

/// Returns row changes a second.
fn measure(freshness: &Arc<Freshness>, watch_count: u16, is_update: bool, rows: u32) -> f64 {
    let watches = Arc::new(Watches::new(Arc::clone(freshness)));
    watch(&watches, &table(), watch_count);
    let mut source = Source { end_pos: 4, seed: 1 };
    let count = CHANGES / rows / 4;
    let events: Vec<Vec<u8>> = (0..count).flat_map(|_| source.transaction(is_update, rows)).collect();
    let mut timeline = Timeline::after(freshness.applied());
    timeline.rotate(b"bin.000001", 4).unwrap();
    let stream = StreamTraits { flavor: Flavor::MariaDb, needs_gtids: false, folds_names: false };
    let stamps = Stamps::new(Arc::clone(freshness), watches);
    let mut applier = Applier::new(Arc::clone(freshness), Nothing, stamps, stream, timeline);
    let mut decoder = Decoder::new(BinlogFlavor::MariaDb);
    let began = Instant::now();
    // The same bytes again stand at the same offsets, which the timeline takes as no progress.
    for _ in 0..4 {
        for event in &events {
            applier.apply(decoder.event(event).unwrap()).unwrap();
        }
    }
    f64::from(count * 4 * rows) / began.elapsed().as_secs_f64()
}

/// Returns a cache with entries that depend on one row each.
fn stored(freshness: &Arc<Freshness>, entries: u64) -> Cache {
    freshness.publish_applied(Position::new(1));
    freshness.publish_visible(Position::new(1));
    freshness.lives_until(u64::MAX);
    let cache = Cache::new(Arc::clone(freshness), 1 << 30, 1 << 20);
    let definition = freshness.table("sbtest", "sbtest1").definition;
    for entry in 0..entries {
        let fill = Fill {
            valid_from: freshness.valid_from(),
            deps: vec![definition, freshness.any(1), freshness.row(1, entry)],
            body: vec![0; 100],
            status_at: [u32::MAX; 2],
            status: 0,
            tag: 0,
            expires_ms: 0,
            refresh_ms: 0,
            text_prefix: 0,
            body_prefix: 0,
            rows: 1,
            cost_us: 100,
        };
        cache.insert(Key { environment: 1, text: &entry.to_le_bytes() }, fill);
    }
    cache
}

fn main() {
    println!("row changes a second, decoded and applied; half of the watches are ranges");
    println!(
        "{:>8} {:>6} {:>16} {:>16} {:>16} {:>16}",
        "watches", "", "insert, 1 row", "insert, 50 rows", "update, 1 row", "update, 50 rows"
    );
    for watches in [0, 1, 2, 4, 16] {
        print!("{watches:>8} {:>6}", "");
        for (is_update, rows) in [(false, 1), (false, 50), (true, 1), (true, 50)] {
            let freshness = Arc::new(Freshness::new());
            print!(" {:>16.0}", measure(&freshness, watches, is_update, rows));
        }
        println!();
    }
    println!("updates of 50 rows, 4 watches, by the entries in the cache");
    for entries in [10u64, 1_000, 1_000_000] {
        let freshness = Arc::new(Freshness::new());
        let cache = stored(&freshness, entries);
        let rate = measure(&freshness, 4, true, 50);
        println!("{entries:>10} {rate:>16.0}   ({} in the cache)", cache.statistics().queries_in_cache);
    }
}
