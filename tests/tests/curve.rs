//! What `freshet.curve` says of other sizes is what other sizes find.

use std::thread;

use freshet_tests::cached::{answer, connect, run, staged, status};
use freshet_tests::{Freshet, with_each};
use mysql::Conn;
use mysql::prelude::Queryable as _;

const ROWS: u64 = 16_000;
const HOT_ROWS: u64 = ROWS / 10;
/// So many clients ask so often.
const CLIENTS: u64 = 4;
const TIMES: u64 = 16_000;
/// A seventh of what all results take, about: the hot ones take two thirds of it.
const SIZE: u64 = 768 << 10;

/// The next of a sequence of numbers that look random.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Three of four ask for one of the hot rows. The percentage of answers from memory.
fn hit_percent(freshet: &Freshet, schema: &str, watch: &mut Conn) -> f64 {
    let before = status(watch, "Qcache_hits");
    let ask = |client: u64| {
        let mut conn = connect(freshet.target(), schema);
        let mut state = client;
        for _ in 0..TIMES {
            let among = if random(&mut state) % 4 < 3 { HOT_ROWS } else { ROWS };
            let id = random(&mut state) % among;
            let row: Option<(u64, String)> =
                conn.query_first(format!("SELECT id, c FROM t WHERE id = {id}")).expect("it is answered");
            assert_eq!(row.map(|row| row.0), Some(id));
        }
    };
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || ask(client));
        }
    });
    (status(watch, "Qcache_hits") - before) as f64 * 100.0 / (CLIENTS * TIMES) as f64
}

/// What is found of its size, and what to do about it.
fn advice(freshet: &Freshet, schema: &str) -> Vec<String> {
    let mut conn = connect(freshet.target(), schema);
    let found = answer(&mut conn, "SELECT found, statement FROM freshet.advice WHERE topic = 'size'");
    found.expect("it is given").swap_remove(0)
}

#[test]
fn the_curve_says_what_another_size_finds() {
    let schema = "curve";
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, REPEAT('x', 100))")).collect();
        let filled = format!("INSERT INTO t VALUES {}", rows.join(","));
        let tables = ["CREATE TABLE t (id INT PRIMARY KEY, c CHAR(120))", &filled];
        let (_direct, freshet) = staged(server, schema, &tables, &[]);
        let mut watch = connect(freshet.target(), schema);
        let mut curve = |size: u64| -> Vec<(u64, f64, u64)> {
            run(&mut watch, &[&format!("SET GLOBAL query_cache_size = {size}")]);
            // The first time fills it.
            hit_percent(&freshet, schema, &mut watch);
            let found = hit_percent(&freshet, schema, &mut watch);
            let points: Vec<(u64, f64, u64)> = watch
                .query("SELECT size, hit_percent, is_now FROM freshet.curve ORDER BY size")
                .expect("it is computed");
            assert!(points.is_sorted_by(|a, b| a.1 <= b.1), "{points:?}");
            let now: Vec<&(u64, f64, u64)> = points.iter().filter(|point| point.2 == 1).collect();
            assert!(
                matches!(now[..], [(of, said, 1)] if *of == size && (said - found).abs() < 7.0),
                "{found}: {points:?}"
            );
            points
        };
        let points = curve(SIZE);
        let advised = advice(&freshet, schema);
        assert!(
            advised[0].starts_with("what would be found of ") && advised[0].contains(" (now) "),
            "{advised:?}"
        );
        assert!(advised[1].starts_with("SET GLOBAL query_cache_size = "), "{advised:?}");
        for size in [2 * SIZE, 8 * SIZE] {
            let said = |points: &[(u64, f64, u64)]| {
                points.iter().find(|point| point.0 == size).expect("it is there").1
            };
            let (before, then) = (said(&points), said(&curve(size)));
            assert!((before - then).abs() < 7.0, "{size}: said {before}, found {then}: {points:?}");
        }
        assert_eq!(advice(&freshet, schema)[1], "NULL", "it is enough");
    });
}
