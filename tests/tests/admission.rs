//! Results that nobody reads again are not stored, and what is asked for again is.

use freshet_tests::cached::{Counted, answer, connect, run, staged, status};
use freshet_tests::{Freshet, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable as _;

/// Some hundreds of results fit.
const SIZE: &str = "256K";
/// So many have left unread before anything is told of them, and more.
const UNREAD: u32 = 4_000;

/// One client's way to ask for a row that no other one is.
type Ask<'a> = &'a dyn Fn(&mut Conn, u32);

fn of_text(conn: &mut Conn, id: u32) {
    let _: Option<u32> = conn.query_first(format!("SELECT v FROM t WHERE id = {id}")).expect("an answer");
}

fn of_prepared(conn: &mut Conn, id: u32) {
    let _: Option<u32> = conn.exec_first("SELECT v FROM t WHERE id = ?", (id,)).expect("an answer");
}

fn in_transaction(conn: &mut Conn, id: u32) {
    run(conn, &["BEGIN"]);
    of_text(conn, id);
    run(conn, &["COMMIT"]);
}

struct Stage {
    freshet: Freshet,
    reader: Conn,
}

impl Stage {
    fn stored(&mut self) -> u64 {
        status(&mut self.freshet.target().connect(), "Qcache_inserts")
    }

    /// How many of these are stored when they are asked for.
    fn stored_of(&mut self, ask: Ask<'_>, ids: impl IntoIterator<Item = u32>) -> u64 {
        let before = self.stored();
        ids.into_iter().for_each(|id| ask(&mut self.reader, id));
        self.stored() - before
    }

    fn target(&self) -> &Target {
        self.freshet.target()
    }
}

fn with_unread(schema: &str, ask: Ask<'_>, test: impl Fn(&mut Stage)) {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let tables = ["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)"];
        let (_, freshet) = staged(server, schema, &tables, &["--query-cache-size", SIZE]);
        let reader = connect(freshet.target(), schema);
        let mut stage = Stage { freshet, reader };
        let stored = stage.stored_of(ask, 1_000..1_000 + UNREAD);
        assert!(stored >= 700, "before that is known, all are stored: {stored}");
        test(&mut stage);
    });
}

#[test]
fn what_is_seldom_asked_for_again_is_stored_when_it_is() {
    for (schema, ask) in [
        ("admission_text", &of_text as Ask<'_>),
        ("admission_prepared", &of_prepared),
        ("admission_transaction", &in_transaction),
    ] {
        with_unread(schema, ask, |stage| {
            let once = stage.stored_of(ask, 10_000..10_500);
            assert!(once < 100, "{schema}: {once} of 500");
            let mut counted = Counted::of(&stage.freshet);
            stage.stored_of(ask, 20_000..20_050);
            let again = stage.stored_of(ask, 20_000..20_050);
            assert!(again >= 30, "{schema}: {again} of 50");
            let before = counted.hits();
            (20_000..20_050).for_each(|id| ask(&mut stage.reader, id));
            let hits = counted.hits() - before;
            assert!(hits >= 30, "{schema}: {hits} of 50");
        });
    }
}

#[test]
fn it_is_said_why_and_a_hint_has_it_stored_at_once() {
    with_unread("admission_told", &of_text, |stage| {
        stage.stored_of(&of_text, 10_000..10_100);
        let told =
            answer(&mut stage.reader, "EXPLAIN FRESHET SELECT v FROM t WHERE id = 5").expect("it is told");
        assert!(
            told.iter().any(|item| item[0] == "not_stored" && item[1].contains("seldom_read")),
            "{told:?}"
        );
        let mut counted = Counted::of(&stage.freshet);
        let mut reader = connect(stage.target(), "admission_told");
        for id in 30_000..30_020 {
            let hinted = format!("SELECT SQL_CACHE v FROM t WHERE id = {id}");
            let first = answer(&mut reader, &hinted);
            let before = counted.hits();
            assert_eq!(answer(&mut reader, &hinted), first);
            assert_eq!(counted.hits(), before + 1, "{hinted}");
        }
    });
}

#[test]
fn when_they_are_asked_for_again_all_are_stored() {
    with_unread("admission_changes", &of_text, |stage| {
        let ask_thrice = |stage: &mut Stage, ids: std::ops::Range<u32>| {
            ids.for_each(|id| (0..3).for_each(|_| of_text(&mut stage.reader, id)));
        };
        ask_thrice(stage, 40_000..42_000);
        let mut counted = Counted::of(&stage.freshet);
        let before = counted.hits();
        ask_thrice(stage, 50_000..50_100);
        let hits = counted.hits() - before;
        assert!(hits >= 190, "{hits} of 200");
    });
}
