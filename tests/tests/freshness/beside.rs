//! What is read while a write is under way that turns out not to concern it is kept, and what the write does concern is not.

use freshet_tests::cached::{
    Counted, answer, await_asleep, caught_up, connect, eventually, fresh_schema, run,
};
use freshet_tests::{Freshet, Server, with_each};

const SCHEMA: &str = "fresh_beside";
const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, KEY (k))",
    "INSERT INTO t VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0)",
];
/// It is not known what the row has in `k`.
const SLOW: &str = "UPDATE t SET v = 1 WHERE id = 1 AND SLEEP(1) = 0";
/// Stored before the write, so that it tells how long the write's fence stands.
const FENCED: &str = "SELECT v FROM t WHERE k = 3";
/// Of the row that is written, and of another.
const CONCERNED: &str = "SELECT v FROM t WHERE k = 1";
const BESIDE: &str = "SELECT v FROM t WHERE k = 2";

#[test]
fn what_is_read_beside_a_write_is_kept_unless_it_is_concerned() {
    with_each(|server: &Server, freshet: &Freshet| {
        if !freshet.is_there() {
            return;
        }
        run(&mut fresh_schema(server, SCHEMA), SETUP);
        caught_up(freshet);
        let (mut reader, mut counted) = (connect(freshet.target(), SCHEMA), Counted::of(freshet));
        // A loaded machine may let the write end before the reader has asked.
        let is_told = (0..20).any(|_| is_told(freshet, &mut reader, &mut counted));
        assert!(is_told, "the reader always came too late");
    });
}

/// False if the write was over too soon to tell.
fn is_told(freshet: &Freshet, reader: &mut mysql::Conn, counted: &mut Counted) -> bool {
    let target = freshet.target();
    run(reader, &["RESET QUERY CACHE", "UPDATE t SET v = 0"]);
    counted.prime(reader, FENCED).expect("rows");
    let mut writer = connect(freshet.target(), SCHEMA);
    let over = std::thread::scope(|scope| {
        let writing = scope.spawn(move || run(&mut writer, &[SLOW]));
        await_asleep(target, SCHEMA);
        let before = counted.hits();
        for statement in [FENCED, CONCERNED, BESIDE] {
            assert_eq!(answer(reader, statement), Ok(vec![vec!["0".to_owned()]]), "{statement}");
        }
        writing.is_finished() || counted.hits() > before
    });
    if over {
        return false;
    }
    eventually("the fence is lifted", || {
        let before = counted.hits();
        answer(reader, FENCED).expect("rows");
        (counted.hits() > before).then_some(())
    });
    let before = counted.hits();
    assert_eq!(answer(reader, BESIDE), Ok(vec![vec!["0".to_owned()]]));
    assert_eq!(counted.hits(), before + 1, "it was read beside the write, and is not in memory");
    assert_eq!(answer(reader, CONCERNED), Ok(vec![vec!["1".to_owned()]]));
    true
}
