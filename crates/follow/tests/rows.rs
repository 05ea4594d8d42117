//! Watches against real servers: after each of many random changes, every reading whose answer has become another one must
//! have been stamped, whatever the row images leave out. Needs FRESHET_TEST_MARIADB and FRESHET_TEST_MYSQL; see `common`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../upstream/tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{MARIADB, MYSQL, connect, run, with_server};
use freshet_cache::{Dep, Freshness, Position};
use freshet_catalog::rows::{Values, Zone, plan};
use freshet_catalog::{CatalogError, TableInfo};
use freshet_follow::Upstream;
use freshet_sql::{ColumnsRead, Condition, Datum, Occurrence, Pin, RowReads, TableName};
use freshet_upstream::{Connection, UpstreamConfig};

const SCHEMA: &str = "freshet_rows";
const CHANGES: usize = 400;
const PATIENCE: Duration = Duration::from_secs(20);
/// Looks at a definition that is being changed, 5 ms apart.
const SETTLING_TRIES: u32 = 2_000;

/// What is asked again and again, and what it depends on.
struct Reading {
    sql: String,
    deps: Vec<Dep>,
    answer: Vec<Vec<Option<Vec<u8>>>>,
    valid_from: Position,
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

fn int(value: i128) -> Condition {
    Condition::OneOf(vec![Datum::Int(value)])
}

fn text(text: &str) -> Datum {
    Datum::Text(text.as_bytes().to_vec())
}

fn between(low: Datum, high: Datum) -> Condition {
    Condition::Between { low: Some((low, true)), high: Some((high, true)) }
}

/// Returns the conditions, as SQL and as pins.
fn conditions() -> Vec<(String, Vec<(&'static str, Condition)>)> {
    let mut all = vec![("1 = 1".to_owned(), Vec::new())];
    for id in 0..12 {
        all.push((format!("id = {id}"), vec![("id", int(id))]));
        all.push((format!("k = {id}"), vec![("k", int(id))]));
    }
    for (low, high) in [(0, 3), (4, 40), (7, 7), (10, 1_000)] {
        let ints = || between(Datum::Int(low), Datum::Int(high));
        all.push((format!("id BETWEEN {low} AND {high}"), vec![("id", ints())]));
        all.push((format!("k BETWEEN {low} AND {high}"), vec![("k", ints())]));
        all.push((format!("k = 3 AND d BETWEEN {low} AND {high}"), vec![("k", int(3)), ("d", ints())]));
    }
    for name in ["ann", "bob", "Anna"] {
        all.push((format!("s = '{name}'"), vec![("s", Condition::OneOf(vec![text(name)]))]));
        all.push((format!("s LIKE '{name}%'"), vec![("s", Condition::Like(text(&format!("{name}%"))))]));
    }
    all.push(("s IS NULL".to_owned(), vec![("s", Condition::IsNull)]));
    all.push(("d = 1.50".to_owned(), vec![("d", Condition::OneOf(vec![Datum::Decimal("1.50".to_owned())]))]));
    let (from, to) = ("2024-02-01", "2024-02-29");
    all.push((format!("t BETWEEN '{from}' AND '{to}'"), vec![("t", between(text(from), text(to)))]));
    all
}

fn change(random: &mut Random) -> String {
    let id = random.below(12);
    let k = random.one(&["0", "1", "3", "3", "7", "11", "500", "NULL"]);
    let s = random.one(&["'ann'", "'ANN '", "'Anna'", "'bob'", "'bobby'", "'\u{e1}nn'", "NULL"]);
    let d = random.one(&["1.5", "1.50", "3", "20.25", "NULL"]);
    let t = random.one(&["'2024-02-10'", "'2024-02-29 12:00:00'", "'2024-03-01'", "NULL"]);
    let which =
        random.one(&["id = 3", "k = 3", "id BETWEEN 2 AND 5", "s = 'ann'", "id < 4", "id = 7 OR k = 1"]);
    match random.below(12) {
        0..=2 => format!("INSERT IGNORE INTO t (id, k, s, d, t) VALUES ({id}, {k}, {s}, {d}, {t})"),
        3 => format!("REPLACE INTO t (id, k, s, d, t) VALUES ({id}, {k}, {s}, {d}, {t})"),
        4 => format!("UPDATE t SET k = {k} WHERE {which}"),
        5 => format!("UPDATE t SET s = {s}, d = {d} WHERE id = {id}"),
        6 => format!("UPDATE t SET v = v + 1 WHERE {which}"),
        7 => format!("UPDATE IGNORE t SET id = {} WHERE id = {id}", random.below(12)),
        8 => format!(
            "UPDATE t SET j = JSON_SET(j, '$.a', {}), b = CONCAT(b, 'x') WHERE id = {id}",
            random.below(99)
        ),
        9 => format!("UPDATE t SET t = {t} WHERE {which}"),
        10 => format!("DELETE FROM t WHERE id = {id}"),
        _ => format!("INSERT INTO t (id, k) VALUES ({id}, {k}) ON DUPLICATE KEY UPDATE k = {k}, v = v + 1"),
    }
}

struct Bench {
    upstream: Upstream,
    freshness: Arc<Freshness>,
    writer: Connection,
}

impl Bench {
    fn rows(&self) -> Position {
        self.freshness.stamp_of(self.freshness.table(SCHEMA, "t").rows)
    }

    async fn until(&self, what: &str, mut reached: impl FnMut() -> bool) {
        let began = Instant::now();
        while !reached() {
            assert!(began.elapsed() < PATIENCE, "waited too long for: {what}");
            self.upstream.ask_probe();
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }

    /// Until all that was written has been applied and is visible: a change of another table comes after it.
    async fn settle(&mut self) {
        let marker = self.freshness.table(SCHEMA, "marker").rows;
        let before = self.freshness.stamp_of(marker);
        run(&mut self.writer, &["UPDATE marker SET a = a + 1"]).await;
        let freshness = Arc::clone(&self.freshness);
        self.until("a marker", || {
            freshness.stamp_of(marker) > before && freshness.valid_from() >= freshness.stamp_of(marker)
        })
        .await;
    }

    /// Returns the table's definition, once it is not being changed any more.
    async fn table(&self) -> Arc<TableInfo> {
        for _ in 0..SETTLING_TRIES {
            match self.upstream.table(SCHEMA, "t").await {
                Ok(table) => return table,
                Err(CatalogError::Unsettled) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => panic!("{error}"),
            }
        }
        panic!("the definition does not settle");
    }

    /// Asks for one reading, with the dependencies that it has; `None` if it is the whole
    /// table's, and as long as its watch cannot be used.
    async fn read(&mut self, columns: &[&str], index: usize) -> Option<Reading> {
        let (condition, pins) = conditions().swap_remove(index);
        let valid_from = self.freshness.valid_from();
        let table = self.table().await;
        let pins: Vec<Pin> = pins
            .into_iter()
            .map(|(column, condition)| Pin { column: column.to_owned(), condition, via: Vec::new() })
            .collect();
        let mut named: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        named.extend(pins.iter().map(|pin| pin.column.clone()));
        let occurrences = vec![Occurrence::of(TableName::of(SCHEMA, "t"), pins)];
        let reads = RowReads { occurrences, columns: ColumnsRead::Named(named), shows_rows: false };
        let reading = plan(&reads, &[Arc::clone(&table)], Zone::Other).remove(0).pop()?;
        let watch = self.upstream.watches().watch(&table, &reading.spec).expect(&condition);
        let mut deps = watch.deps_of_reading(&reading.conditions, Values::default()).expect(&condition);
        if !watch.is_usable(valid_from) {
            return None;
        }
        deps.extend([watch.any(), self.freshness.table(SCHEMA, "t").definition]);
        let sql = format!("SELECT {} FROM t WHERE {condition} ORDER BY id", columns.join(", "));
        let answer = self.writer.query(&sql).await.unwrap().rows;
        Some(Reading { sql, deps, answer, valid_from })
    }
}

/// Returns a server with a table in all its variety, followed.
async fn bench(config: &UpstreamConfig) -> Bench {
    let freshness = Arc::new(Freshness::new());
    let upstream = Upstream::start(config.clone(), Arc::clone(&freshness)).unwrap();
    let mut writer = connect(config).await;
    let create = "CREATE TABLE t (id INT PRIMARY KEY, k INT, s VARCHAR(20), d DECIMAL(10,2), t DATETIME, j JSON, b TEXT, \
         v INT NOT NULL DEFAULT 0, u TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), \
         g INT AS (k + 1) STORED, w INT AS (v + 1) VIRTUAL, INDEX (k), INDEX (s)) CHARACTER SET utf8mb4";
    run(
        &mut writer,
        &[
            &format!("DROP DATABASE IF EXISTS {SCHEMA}"),
            &format!("CREATE DATABASE {SCHEMA}"),
            &format!("USE {SCHEMA}"),
            create,
            "INSERT INTO t (id, k, s, j, b) VALUES (1, 1, 'ann', '{\"a\": 1}', 'x'), (3, 3, 'bob', '{\"a\": 1}', 'y')",
            "CREATE TABLE marker (a INT)",
            "INSERT INTO marker VALUES (0)",
        ],
    )
    .await;
    let bench = Bench { upstream, freshness, writer };
    let status = bench.upstream.clone();
    bench.until("live", || status.follow_status().live).await;
    bench
}

async fn rows(config: UpstreamConfig) {
    let mut bench = bench(&config).await;
    let is_mariadb = bench.upstream.server().unwrap().is_mariadb();
    let mut random = Random(7);
    let (mut changed, mut needless, mut kept) = (0, 0, 0);
    let mut settings = vec![
        "SET SESSION binlog_row_image = 'FULL'",
        "SET SESSION binlog_row_image = 'MINIMAL'",
        "SET SESSION binlog_row_image = 'NOBLOB'",
    ];
    if !is_mariadb {
        settings.push("SET SESSION binlog_row_image = 'FULL', binlog_row_value_options = 'PARTIAL_JSON'");
        settings.push("SET SESSION binlog_row_value_options = '', binlog_transaction_compression = ON");
    }
    let projections: [&[&str]; 4] =
        [&["id", "s"], &["id", "v", "u"], &["id", "g", "w"], &["id", "j", "b", "k"]];
    for setting in settings {
        run(&mut bench.writer, &[setting]).await;
        let mut readings: Vec<Option<Reading>> = Vec::new();
        let count = conditions().len() * projections.len();
        readings.resize_with(count, || None);
        for _ in 0..CHANGES / 5 {
            bench.settle().await;
            for (index, place) in readings.iter_mut().enumerate() {
                let is_dead = place.as_ref().is_none_or(|reading: &Reading| {
                    bench.freshness.is_dead(&reading.deps, reading.valid_from)
                });
                if is_dead {
                    *place = bench.read(projections[index % 4], index / 4).await;
                }
            }
            let sql = change(&mut random);
            run(&mut bench.writer, &[&sql]).await;
            bench.settle().await;
            for reading in readings.iter().flatten() {
                let is_dead = bench.freshness.is_dead(&reading.deps, reading.valid_from);
                if is_dead && reading.valid_from >= bench.rows() {
                    continue;
                }
                let answer = bench.writer.query(&reading.sql).await.unwrap().rows;
                match (answer == reading.answer, is_dead) {
                    (false, false) => panic!("{setting}: {sql}: {} is stale", reading.sql),
                    (false, true) => changed += 1,
                    (true, true) => needless += 1,
                    (true, false) => kept += 1,
                }
            }
        }
    }
    println!("changed {changed}, dropped for nothing {needless}, kept {kept}");
    assert!(changed > 500 && kept > 5 * needless, "it tells nothing apart");
    run(&mut bench.writer, &[&format!("DROP DATABASE {SCHEMA}")]).await;
}

#[test]
fn mariadb_rows() {
    with_server(MARIADB, rows);
}

#[test]
fn mysql_rows() {
    with_server(MYSQL, rows);
}
