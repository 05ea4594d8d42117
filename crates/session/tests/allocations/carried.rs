//! A client whose reads are carried on a shared connection.

use std::cell::{Cell, RefCell};

use mysql::Conn;
use mysql::prelude::Queryable as _;

use crate::client::{ATTEMPTS_MAX, Client, HITS, MISSES, Part, each, each_quickly};

const HIT: Part = Part::hits("hits of a client whose misses are carried", 0);
/// The form is known, and the result is stored. One more question tells whether all were carried.
const MISS: Part = Part::misses("misses that are carried", 16);
/// Statements by which a form is known.
const KNOWN_BY: u64 = 10;

pub fn ask(client: &Client) {
    client.make_tables();
    let early = || RefCell::new(client.connect());
    // It stays: the end of its session would count in a part.
    let _early = client.warm(early, |early| (1..20).for_each(|id| ask_for(early, id)));
    // It is known what a session may read that has logged in since the stream is live.
    let conn = RefCell::new(client.uncounted(|| client.connect()));
    client.uncounted(|| (1..20).for_each(|id| ask_for(&conn, id)));
    client.part(HIT, None, || each(HITS, |_| ask_for(&conn, 1)));
    // A form of its own for each attempt: none of its statements was slow.
    let (form, asked) = (Cell::new(0), Cell::new(0));
    let miss = || {
        asked.set(asked.get() + 1);
        tell(&conn, &format!("SELECT v AS form{} FROM t WHERE id = {}", form.get(), 1000 + asked.get()));
    };
    let before = Cell::new(0);
    let another_form = || {
        let is_quick = || {
            form.set(form.get() + 1);
            each_quickly(KNOWN_BY, miss)
        };
        assert!((0..ATTEMPTS_MAX).any(|_| is_quick()), "the machine is too slow to tell");
        before.set(carried(&conn));
    };
    client.part(MISS, Some(&another_form), || {
        each_quickly(MISSES, miss) && carried(&conn) - before.get() == MISSES
    });
}

fn ask_for(conn: &RefCell<Conn>, id: u64) {
    tell(conn, &format!("SELECT v FROM t WHERE id = {id}"));
}

fn tell(conn: &RefCell<Conn>, statement: &str) {
    conn.borrow_mut().query_drop(statement).expect(statement);
}

/// Returns how many reads were carried so far.
fn carried(conn: &RefCell<Conn>) -> u64 {
    let shown = conn.borrow_mut().query_first::<(String, u64), _>("SHOW STATUS LIKE 'Freshet_carried'");
    shown.expect("an answer").expect("a row").1
}
