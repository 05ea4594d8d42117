//! What takes long goes on beside everything else, with the same result as what does not.

use freshet_tests::cached::{
    Counted, answer, caught_up, connect, eventually, eventually_of, fresh_schema, run, status,
};
use freshet_tests::{resident_bytes, with_each};
use mysql::prelude::Queryable;

/// More bytes than these are read beside the event loop.
const LONG_BYTES: usize = 64 << 10;
/// More bytes than these are never stored.
const CACHED_BYTES: usize = 256 << 10;

/// `front`, blanks to make it so many bytes, and `end`.
fn long(front: &str, end: &str, bytes: usize) -> String {
    format!("{front}{}{end}", " ".repeat(bytes))
}

#[test]
fn long_texts_mean_what_short_ones_mean() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "costs_long");
        run(
            &mut direct,
            &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,10),(2,20)"],
        );
        caught_up(freshet);
        let (mut conn, mut counted) = (connect(freshet.target(), "costs_long"), Counted::of(freshet));
        let row = |v: &str| Ok(vec![vec![v.to_owned()]]);
        let short = "SELECT v FROM t WHERE id = 1";
        let stored = long("SELECT v", " FROM t WHERE id = 1", LONG_BYTES);
        let too_long = long("SELECT v", " FROM t WHERE id = 1", CACHED_BYTES);
        assert_eq!(counted.prime(&mut conn, short), row("10"));
        assert_eq!(counted.prime(&mut conn, &stored), row("10"), "a long one is stored too");
        if freshet.is_there() {
            assert_eq!(counted.hits_of(&mut conn, &stored, 4), 4);
            assert_eq!(counted.hits_of(&mut conn, &too_long, 4), 0);
        }
        for (n, bytes) in [0, LONG_BYTES, CACHED_BYTES].into_iter().enumerate() {
            let v = (n + 11).to_string();
            run(&mut conn, &[&long("UPDATE t", &format!(" SET v = {v} WHERE id = 1"), bytes)]);
            assert_eq!(answer(&mut conn, short), row(&v), "its own write is seen, {bytes}");
            assert_eq!(answer(&mut conn, &too_long), row(&v), "{bytes}");
            assert_eq!(counted.prime(&mut conn, &stored), row(&v), "{bytes}");
            let update =
                conn.prep(long("UPDATE t", " SET v = ? WHERE id = ?", bytes)).expect("it is prepared");
            conn.exec_drop(&update, (n + 21, 1)).expect("it is executed");
            assert_eq!(answer(&mut conn, short), row(&(n + 21).to_string()), "prepared, {bytes}");
        }
        let _ = counted.prime(&mut conn, short);
        let wrong = long("SELECT v FRM", " t WHERE id = 1", CACHED_BYTES);
        assert!(answer(&mut conn, &wrong).is_err());
        let hinted = long("SELECT SQL_NO_CACHE v", " FROM t WHERE id = 1", CACHED_BYTES);
        assert_eq!(answer(&mut conn, &hinted), row("23"), "a hint that the server may not know");
    });
}

#[test]
fn a_smaller_size_is_there_at_once_and_the_memory_is_given_back() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, "costs_size");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,10)"]);
        let (mut conn, mut counted) = (connect(freshet.target(), "costs_size"), Counted::of(freshet));
        let select = |n: usize| format!("SELECT v + {n} FROM t WHERE id = 1");
        let fill = |conn: &mut mysql::Conn| (0..4000).for_each(|n| drop(answer(conn, &select(n))));
        for (size, left_max) in [("65536", 65_536), ("0", 0)] {
            run(&mut conn, &["SET GLOBAL query_cache_size = 268435456"]);
            let _ = counted.prime(&mut conn, &select(0));
            fill(&mut conn);
            assert!(status(&mut conn, "Qcache_queries_in_cache") > 1000);
            run(&mut conn, &[&format!("SET GLOBAL query_cache_size = {size}")]);
            let shown = answer(&mut conn, "SHOW VARIABLES LIKE 'query_cache_size'").expect("it is shown");
            assert_eq!(shown[0][1], size);
            let bytes_min = 200;
            eventually("the memory is given back", || {
                let left = status(&mut conn, "Qcache_queries_in_cache");
                (left * bytes_min <= left_max).then_some(())
            });
        }
        run(&mut conn, &["SET GLOBAL query_cache_size = 268435456"]);
        let _ = counted.prime(&mut conn, &select(0));
    });
}

#[test]
fn a_smaller_size_gives_the_processs_memory_back() {
    const RESULTS: u64 = 4000;
    const BYTES: u64 = 20_000;
    with_each(|server, freshet| {
        let Some(pid) = freshet.pid() else { return };
        let mut direct = fresh_schema(server, "costs_memory");
        run(
            &mut direct,
            &[
                "CREATE TABLE t (id INT PRIMARY KEY, w TEXT)",
                &format!("INSERT INTO t VALUES (1, REPEAT('w', {BYTES}))"),
            ],
        );
        let (mut conn, mut counted) = (connect(freshet.target(), "costs_memory"), Counted::of(freshet));
        let select = |n: u64| format!("SELECT w, {n} FROM t WHERE id = 1");
        run(&mut conn, &["SET GLOBAL query_cache_size = 268435456"]);
        let _ = counted.prime(&mut conn, &select(0));
        let before = resident_bytes(pid);
        for size in [1 << 20, 0] {
            run(&mut conn, &["SET GLOBAL query_cache_size = 268435456"]);
            let _ = counted.prime(&mut conn, &select(0));
            (0..RESULTS).for_each(|n| drop(answer(&mut conn, &select(n))));
            let stored = status(&mut conn, "Qcache_queries_in_cache") * BYTES;
            let full = resident_bytes(pid);
            assert!(stored > RESULTS * BYTES * 9 / 10 && full > before + stored * 9 / 10, "{stored} {full}");
            run(&mut conn, &[&format!("SET GLOBAL query_cache_size = {size}")]);
            let began = std::time::Instant::now();
            let left = eventually_of(
                "the memory is given back to the system",
                &mut (),
                |()| Some(resident_bytes(pid)).filter(|left| *left < before + stored / 4),
                |()| format!("{before} bytes before, {full} full, {} now", resident_bytes(pid)),
            );
            println!(
                "{:?}: {} MiB before, {} MiB full, {} MiB at a size of {size}, after {:?}",
                server.flavor,
                before >> 20,
                full >> 20,
                left >> 20,
                began.elapsed()
            );
        }
    });
}
