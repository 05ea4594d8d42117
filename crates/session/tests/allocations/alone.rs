//! A client with a connection to the server of its own.

use std::cell::{Cell, RefCell};
use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable as _;
use mysql::{Conn, Statement};

use crate::client::{ATTEMPTS_MAX, Client, HITS, MISSES, Part, at_most, each, each_quickly};

const HIT: Part = Part::hits("hits", 0);
const EXECUTION: Part = Part::hits("hits of executions", 0);
/// Preparing a statement from memory, executing it from memory and closing it.
const PREPARATION: Part = Part::hits("statements that are prepared, executed and closed", at_most(HITS, 4));
/// A few of the first hits allocate.
const WRITER: Part = Part::hits("hits of a transaction that has written", at_most(HITS, 0));
/// The form is known, and the result is stored.
const MISS: Part = Part::misses("misses", 20);
const UPDATE: Part = Part::writes("updates of a row", 75);
const INSERT: Part = Part::writes("inserts of a row", 60);
const DELETE: Part = Part::writes("deletes of a row", 66);
/// For each level: its name, hits, and hits while a write of these rows is under way. The server's other writers would pay for a test of
/// `semisync`.
const LEVELS: [(&str, Part, Part); 2] = [
    ("session", Part::hits("hits at session", 0), Part::hits("fenced hits at session", 0)),
    ("eventual", Part::hits("hits at eventual", 0), Part::hits("fenced hits at eventual", 0)),
];

/// By then what a transaction sees has been followed.
const READABLE_AFTER: Duration = Duration::from_millis(100);
/// Statements by which a form is known.
const KNOWN_BY: u64 = 10;
/// The first id of a row that is written.
const WRITTEN_FROM: u64 = 1;

pub fn ask(client: &Client) {
    client.make_tables();
    let conn = RefCell::new(client.uncounted(|| client.connect()));
    hits(client, &conn);
    levels(client, &conn);
    misses(client, &conn);
    writes(client, &conn);
}

fn tell(conn: &RefCell<Conn>, statement: &str) {
    conn.borrow_mut().query_drop(statement).expect(statement);
}

fn tell_all(conn: &RefCell<Conn>, statements: &[&str]) {
    statements.iter().for_each(|statement| tell(conn, statement));
}

fn ask_for(conn: &RefCell<Conn>, id: u64) {
    tell(conn, &format!("SELECT v FROM t WHERE id = {id}"));
}

fn hits(client: &Client, conn: &RefCell<Conn>) {
    let execute = |statement: &Statement| {
        conn.borrow_mut().exec_drop(statement, (1,)).expect("an answer");
    };
    let prepare = || conn.borrow_mut().prep("SELECT v FROM t WHERE id = ?").expect("a statement");
    let prepare_and_execute = || {
        let statement = prepare();
        execute(&statement);
        conn.borrow_mut().close(statement).expect("it is closed");
    };
    let kept = client.warm(prepare, |kept| {
        (1..20).for_each(|id| ask_for(conn, id));
        execute(kept);
        prepare_and_execute();
    });
    client.part(HIT, None, || each(HITS, |_| ask_for(conn, 1)));
    client.part(EXECUTION, None, || each(HITS, |_| execute(&kept)));
    client.part(PREPARATION, None, || each(HITS, |_| prepare_and_execute()));
    let write = || {
        const EACH_BY_ITSELF: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
        tell_all(conn, &["ROLLBACK", EACH_BY_ITSELF, "BEGIN", "INSERT INTO w VALUES (0, 1)"]);
        thread::sleep(READABLE_AFTER);
    };
    client.part(WRITER, Some(&write), || each(HITS, |_| ask_for(conn, 1)));
    client.uncounted(|| tell(conn, "ROLLBACK"));
}

fn levels(client: &Client, conn: &RefCell<Conn>) {
    let other = RefCell::new(client.uncounted(|| client.connect()));
    for (level, hit, fenced) in LEVELS {
        client.uncounted(|| tell(conn, &format!("SET SESSION freshness = '{level}'")));
        let warmed = || ask_for(conn, 1);
        client.part(hit, Some(&warmed), || each(HITS, |_| ask_for(conn, 1)));
        let write = || {
            tell(&other, "ROLLBACK");
            ask_for(conn, 1);
            tell_all(&other, &["BEGIN", "UPDATE t SET v = 11 WHERE id = 1"]);
        };
        client.part(fenced, Some(&write), || each(HITS, |_| ask_for(conn, 1)));
        client.uncounted(|| tell(&other, "ROLLBACK"));
    }
    client.uncounted(|| tell(conn, "SET SESSION freshness = 'strict'"));
}

fn misses(client: &Client, conn: &RefCell<Conn>) {
    // A form of its own for each attempt: none of its statements was slow.
    let (form, asked) = (Cell::new(0), Cell::new(0));
    let miss = || {
        asked.set(asked.get() + 1);
        tell(conn, &format!("SELECT v AS form{} FROM t WHERE id = {}", form.get(), 1000 + asked.get()));
    };
    let another_form = || {
        let is_quick = || {
            form.set(form.get() + 1);
            each_quickly(KNOWN_BY, miss)
        };
        assert!((0..ATTEMPTS_MAX).any(|_| is_quick()), "the machine is too slow to tell");
    };
    client.part(MISS, Some(&another_form), || each_quickly(MISSES, miss));
}

fn writes(client: &Client, conn: &RefCell<Conn>) {
    let next = Cell::new(WRITTEN_FROM);
    let id = || next.replace(next.get() + 1);
    let insert = || tell(conn, &format!("INSERT INTO w VALUES ({}, 1)", id()));
    client.uncounted(|| each(KNOWN_BY, |_| insert()));
    client.part(INSERT, None, || each(MISSES, |_| insert()));
    let update = || tell(conn, &format!("UPDATE w SET v = {} WHERE id = {WRITTEN_FROM}", id()));
    client.uncounted(|| each(KNOWN_BY, |_| update()));
    client.part(UPDATE, None, || each(MISSES, |_| update()));
    let delete = || tell(conn, &format!("DELETE FROM w WHERE id = {}", id()));
    client.uncounted(|| each(KNOWN_BY, |_| delete()));
    let fill = || {
        let rows: Vec<String> = (0..MISSES).map(|row| format!("({}, 1)", WRITTEN_FROM + row)).collect();
        tell_all(conn, &["DELETE FROM w", &format!("INSERT INTO w VALUES {}", rows.join(","))]);
        next.set(WRITTEN_FROM);
    };
    client.part(DELETE, Some(&fill), || each(MISSES, |_| delete()));
}
