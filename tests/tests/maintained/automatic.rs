//! Caches that are created by themselves, where they pay.

use super::*;

const TABLES: [&str; 4] = [
    "CREATE TABLE digits (n INT PRIMARY KEY)",
    "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    "CREATE TABLE t (id INT PRIMARY KEY, g INT, v INT, f FLOAT)",
    "INSERT INTO t SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n, a.n, b.n, c.n FROM digits a, digits b, digits c, digits d",
];
const SUMS: &str = "SELECT g, COUNT(*), SUM(v) FROM t WHERE v > 0 GROUP BY g";
const OTHERS: &str = "SELECT v, COUNT(*), SUM(g) FROM t WHERE g > 0 GROUP BY v";
/// It is not maintained.
const FLOATS: &str = "SELECT v, SUM(f) FROM t WHERE g > 1 GROUP BY v";

const AUTOMATIC: [&str; 4] = ["--automatic-caches", "1", "--automatic-caches-interval", "200ms"];

fn caches(reader: &mut Conn) -> Vec<Vec<String>> {
    answer(reader, "SHOW CACHES").expect("they are listed")
}

/// Waits until no query has a cache. What a test asks to learn that all is applied gets one too, where the server was slow
/// just then; it is dropped again, since nobody goes on asking.
fn none_is_left(reader: &mut Conn) {
    eventually("no query has a cache", || caches(reader).is_empty().then_some(()));
}

#[test]
fn what_pays_gets_a_cache_and_loses_it_when_it_does_not() {
    let schema = "automatic_pays";
    with_options(schema, &TABLES, &AUTOMATIC, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        // Results that no change drops cost the server nothing.
        let _ = answer(&mut reader, SUMS);
        std::thread::sleep(Duration::from_millis(700));
        let of_sums = caches(&mut reader).into_iter().filter(|cache| cache[2].contains("sum(`v`)"));
        assert_eq!(of_sums.collect::<Vec<_>>(), Vec::<Vec<String>>::new());
        none_is_left(&mut reader);
        let mut round = 0;
        eventually("a cache is created", || {
            round += 1;
            run(&mut reader, &[&format!("UPDATE t SET v = v + {} WHERE id = 11", round % 7)]);
            for query in [SUMS, FLOATS] {
                assert_eq!(sorted(answer(&mut reader, query)), sorted(answer(direct, query)));
            }
            caches(&mut reader).iter().any(|cache| cache[3].starts_with("deep")).then_some(())
        });
        let listed = caches(&mut reader);
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(listed[0][3], "deep, maintained, automatic", "{:?}", server.flavor);
        assert!(listed[0][2].contains("`g`, count(*), sum(`v`)"), "{listed:?}");
        is_kept_again(&mut reader, direct, SUMS, "it is kept");
        // Another one that pays has no place.
        for round in 0..40 {
            run(&mut reader, &[&format!("UPDATE t SET v = v + {} WHERE id = 12", round % 7)]);
            for query in [SUMS, OTHERS] {
                assert_eq!(sorted(answer(&mut reader, query)), sorted(answer(direct, query)));
            }
            assert!(caches(&mut reader).len() <= 1);
        }
        // Nobody asks.
        none_is_left(&mut reader);
    });
}

#[test]
fn what_somebody_drops_is_not_created_again() {
    let schema = "automatic_dropped";
    with_options(schema, &TABLES, &AUTOMATIC, |_, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        std::thread::sleep(Duration::from_millis(700));
        none_is_left(&mut reader);
        let mut round = 0;
        let mut change = |reader: &mut Conn, direct: &mut Conn| {
            round += 1;
            run(reader, &[&format!("UPDATE t SET v = v + {} WHERE id = 11", round % 7)]);
            assert_eq!(sorted(answer(reader, SUMS)), sorted(answer(direct, SUMS)));
        };
        eventually("a cache is created", || {
            change(&mut reader, direct);
            (!caches(&mut reader).is_empty()).then_some(())
        });
        assert_eq!(answer(&mut reader, "EXPLAIN CACHES"), Ok(Vec::new()));
        run(&mut reader, &["DROP ALL CACHES"]);
        for _ in 0..60 {
            change(&mut reader, direct);
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(caches(&mut reader), Vec::<Vec<String>>::new());
        }
    });
}

#[test]
fn none_is_created_unless_it_is_wished() {
    let schema = "automatic_off";
    with_options(schema, &TABLES, &["--automatic-caches-interval", "100ms"], |_, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        for round in 0..30 {
            run(&mut reader, &[&format!("UPDATE t SET v = {round} WHERE id = 11")]);
            assert_eq!(sorted(answer(&mut reader, SUMS)), sorted(answer(direct, SUMS)));
        }
        assert_eq!(caches(&mut reader), Vec::<Vec<String>>::new());
    });
}
