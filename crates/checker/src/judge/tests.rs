use std::sync::Arc;

use super::explain::Case;
use super::*;
use crate::model::{COLUMNS, Column, Db, Row, Table};
use crate::query::{Condition, Filter, On, Shape};

const LAG: Nanos = 50;

fn put(id: usize, v: i64) -> Change {
    Change::Put(Table::P, id, Row { v, cells: [Some(0); COLUMNS] })
}

fn write(path: Path, sent: Nanos, known: Nanos, changes: &[Change]) -> Transaction {
    Transaction { text: "UPDATE".into(), path, sent, known, changes: changes.to_vec(), told: Vec::new() }
}

/// Rows 1 and 2 have version 1 at the beginning.
fn log(transactions: &[Transaction]) -> Log {
    let mut base = Db::default();
    base.apply(&put(1, 1));
    base.apply(&put(2, 1));
    let mut log = Log::new(base);
    transactions.iter().for_each(|transaction| log.add(transaction.clone()));
    log
}

fn pool() -> Arc<[Query]> {
    let all = || Filter::default();
    let same_k = Filter(vec![(On::Column(Column::K), Condition::Is(0))]);
    [
        Shape::Rows(Table::P, Filter::id(1)),
        Shape::Rows(Table::P, all()),
        Shape::Count(Table::P, all()),
        Shape::Rows(Table::P, same_k),
        Shape::Rows(Table::P, Filter::id(2)),
    ]
    .map(Query::new)
    .into()
}

fn rows(rows: &[&[i64]]) -> Observed {
    Ok(rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect())
}

fn read(asked: Nanos, answered: Nanos, query: usize, seen: &[&[i64]]) -> Read {
    reads(&[(asked, answered, query, seen, &[])])
}

/// A SELECT of a transaction: when it was asked and answered, the question, the answer, and what the transaction had done.
type InTransaction<'a> = (Nanos, Nanos, usize, &'a [&'a [i64]], &'a [Change]);

fn reads(all: &[InTransaction<'_>]) -> Read {
    let part = |(asked, answered, query, seen, own): &InTransaction<'_>| Part {
        query: *query,
        observed: rows(seen),
        own: (*own).into(),
        asked: *asked,
        answered: *answered,
        is_new: false,
        is_prepared: false,
        is_hit: None,
    };
    let parts: Vec<Part> = all.iter().map(part).collect();
    let (asked, answered) = (all[0].0, all[all.len() - 1].1);
    Read {
        session: 0,
        path: Path::Through,
        asked,
        answered,
        until: answered,
        own_known: 0,
        parts,
        is_prepared: false,
        in_transaction: all.len() > 1,
        said: Arc::default(),
        is_counted: false,
        isolation: Isolation::default(),
        is_locking: false,
        is_hit: None,
    }
}

fn explained(log: &Log, level: Level, read: &Read, floor: Nanos) -> Explained {
    Case { log, pool: &pool(), read, level, lag: LAG, floor }.explain()
}

fn holds(transactions: &[Transaction], level: Level, read: &Read) -> bool {
    matches!(explained(&log(transactions), level, read, 0), Explained::Yes(_))
}

#[test]
fn a_read_after_an_acknowledgement_sees_the_write() {
    let writes = [write(Path::Through, 100, 110, &[put(1, 2)])];
    assert!(holds(&writes, Level::Strict, &read(111, 120, 0, &[&[1, 2]])));
    assert!(!holds(&writes, Level::Strict, &read(111, 120, 0, &[&[1, 1]])));
    // While it is under way both are right, before it only the old one.
    assert!(holds(&writes, Level::Strict, &read(105, 120, 0, &[&[1, 1]])));
    assert!(holds(&writes, Level::Strict, &read(105, 120, 0, &[&[1, 2]])));
    assert!(!holds(&writes, Level::Strict, &read(90, 99, 0, &[&[1, 2]])));
}

#[test]
fn absence_is_judged_as_presence_is() {
    let writes = [write(Path::Through, 100, 110, &[Change::Remove(Table::P, 1)])];
    assert!(holds(&writes, Level::Strict, &read(111, 120, 0, &[])));
    assert!(!holds(&writes, Level::Strict, &read(111, 120, 0, &[&[1, 1]])));
    assert!(!holds(&writes, Level::Strict, &read(90, 99, 0, &[])));
}

#[test]
fn a_transaction_is_seen_whole_and_what_was_never_written_not_at_all() {
    let writes = [write(Path::Through, 100, 200, &[put(1, 2), put(2, 2)])];
    assert!(holds(&writes, Level::Strict, &read(150, 160, 1, &[&[1, 1], &[2, 1]])));
    assert!(holds(&writes, Level::Strict, &read(150, 160, 1, &[&[1, 2], &[2, 2]])));
    assert!(!holds(&writes, Level::Strict, &read(150, 160, 1, &[&[1, 1], &[2, 2]])));
    assert!(!holds(&writes, Level::Strict, &read(150, 160, 2, &[&[2, 3]])));
    assert!(!holds(&writes, Level::Eventual, &read(150, 160, 0, &[&[1, 7]])));
}

#[test]
fn what_was_shown_is_known() {
    let mut log = log(&[write(Path::Through, 100, 200, &[put(1, 2)])]);
    let Explained::Yes(first) = explained(&log, Level::Strict, &read(120, 130, 0, &[&[1, 2]]), 0) else {
        panic!("it is under way")
    };
    assert_eq!(first.proven, [0]);
    log.shown(0, &read(120, 130, 0, &[&[1, 2]]));
    assert!(matches!(
        explained(&log, Level::Strict, &read(131, 140, 0, &[&[1, 1]]), 0),
        Explained::No(Some(_))
    ));
    assert!(matches!(explained(&log, Level::Strict, &read(125, 140, 0, &[&[1, 1]]), 0), Explained::Yes(_)));
}

/// A row comes around Freshet and is moved through it. Who does not see it may lack the first or be shown the second.
#[test]
fn what_a_late_write_explains_as_well_is_not_shown() {
    let moved = [Change::Remove(Table::P, 1), put(3, 5)];
    let gone = read(105, 110, 0, &[]);
    for (path, proven) in [(Path::Around, vec![]), (Path::Through, vec![1])] {
        let mut log = Log::new(Db::default());
        log.add(write(path, 95, 99, &[put(1, 4)]));
        log.add(write(Path::Through, 100, 140, &moved));
        let Explained::Yes(found) = explained(&log, Level::Strict, &gone, 0) else {
            panic!("the move is under way")
        };
        assert_eq!(found.proven, proven, "{path:?}");
    }
}

#[test]
fn a_write_around_may_be_late_but_not_under_semisync() {
    let writes = [write(Path::Around, 100, 110, &[put(1, 2)])];
    let late = read(140, 145, 0, &[&[1, 1]]);
    assert!(holds(&writes, Level::Strict, &late));
    assert!(!holds(&writes, Level::Semisync, &late));
    assert!(!holds(&writes, Level::Strict, &read(111 + LAG, 170, 0, &[&[1, 1]])));
    let Explained::Yes(explanation) = explained(&log(&writes), Level::Strict, &late, 0) else {
        panic!("it is late")
    };
    assert_eq!(explanation.missing, Some(0));
}

/// Returns a row with another `k`.
fn put_k(id: usize, v: i64, k: i8) -> Change {
    let mut cells = [Some(0); COLUMNS];
    cells[Column::K as usize] = Some(k);
    Change::Put(Table::P, id, Row { v, cells })
}

#[test]
fn a_late_write_around_hides_what_does_not_concern_the_answer() {
    let gone = write(Path::Around, 100, 110, &[Change::Remove(Table::P, 1)]);
    let again = write(Path::Through, 112, 114, &[put_k(1, 2, 5)]);
    // Asked for by id: whoever inserts that id has told so.
    let (by_id, by_k) = (0, 3);
    let late = |query| read(140, 145, query, &[&[1, 1]]);
    let writes = [gone.clone(), again.clone()];
    assert!(!holds(&writes, Level::Strict, &late(by_id)));
    // Rows with `k` as it was: the new row is none of these.
    assert!(holds(&writes, Level::Strict, &read(140, 145, by_k, &[&[1, 1], &[2, 1]])));
    assert!(!holds(&writes, Level::Semisync, &read(140, 145, by_k, &[&[1, 1], &[2, 1]])));
    // A row that came back as one of these is lacking.
    let back = write(Path::Through, 116, 118, &[put_k(1, 3, 0)]);
    assert!(!holds(&[gone, again, back], Level::Strict, &read(140, 145, by_k, &[&[1, 1], &[2, 1]])));
    // Without the lag it is stale.
    let written = [write(Path::Through, 100, 110, &[Change::Remove(Table::P, 1)])];
    assert!(!holds(&written, Level::Strict, &read(140, 145, by_k, &[&[1, 1], &[2, 1]])));
}

#[test]
fn a_session_does_not_go_back_and_reads_its_own_writes() {
    let writes = [write(Path::Through, 100, 110, &[put(1, 2)])];
    let late = read(140, 145, 0, &[&[1, 1]]);
    assert!(matches!(explained(&log(&writes), Level::Session, &late, 0), Explained::Yes(_)));
    assert!(matches!(explained(&log(&writes), Level::Session, &late, 120), Explained::No(Some(_))));
    let own = Read { own_known: 111, ..late };
    assert!(matches!(explained(&log(&writes), Level::Session, &own, 0), Explained::No(Some(_))));
}

#[test]
fn eventual_is_bounded() {
    let writes = [write(Path::Through, 100, 110, &[put(1, 2)])];
    assert!(holds(&writes, Level::Eventual, &read(110 + LAG, 165, 0, &[&[1, 1]])));
    assert!(!holds(&writes, Level::Eventual, &read(112 + LAG, 165, 0, &[&[1, 1]])));
}

#[test]
fn an_open_transaction_sees_what_it_did() {
    let seen: &[&[i64]] = &[&[1, 5]];
    assert!(holds(&[], Level::Strict, &reads(&[(150, 160, 0, seen, &[put(1, 5)])])));
    assert!(!holds(&[], Level::Strict, &reads(&[(150, 160, 0, seen, &[])])));
}

/// Two rows of one transaction, read one after the other while others write.
fn two_rows(first: i64, second: i64) -> Read {
    reads(&[(100, 110, 0, &[&[1, first]], &[]), (150, 160, 4, &[&[2, second]], &[])])
}

#[test]
fn a_transaction_reads_as_of_one_moment() {
    let writes = [write(Path::Through, 120, 130, &[put(1, 2), put(2, 2)])];
    // Of before the write; a read of after it would be as good.
    assert!(holds(&writes, Level::Strict, &two_rows(1, 1)));
    assert!(!holds(&writes, Level::Strict, &two_rows(1, 2)), "torn");
    assert!(!holds(&writes, Level::Strict, &two_rows(2, 1)), "torn the other way");
    assert!(!holds(&writes, Level::Eventual, &two_rows(1, 2)), "no level lets a transaction be torn");
    // Two writes: the first answer is still true when the second is given.
    let apart = [write(Path::Through, 120, 130, &[put(2, 2)])];
    assert!(holds(&apart, Level::Strict, &two_rows(1, 2)));
    // And not if it has become untrue before.
    let both = [write(Path::Through, 112, 118, &[put(1, 2)]), write(Path::Through, 120, 130, &[put(2, 2)])];
    assert!(!holds(&both, Level::Strict, &two_rows(1, 2)));
    assert!(holds(&both, Level::Strict, &two_rows(1, 1)));
}

#[test]
fn a_transaction_is_as_new_as_its_first_read() {
    let writes = [write(Path::Through, 80, 90, &[put(2, 2)])];
    assert!(holds(&writes, Level::Strict, &two_rows(1, 2)));
    assert!(!holds(&writes, Level::Strict, &two_rows(1, 1)), "stale");
    // What is acknowledged after the first read was asked need not be in it.
    let later = [write(Path::Through, 80, 105, &[put(2, 2)])];
    assert!(holds(&later, Level::Strict, &two_rows(1, 1)));
    let around = [write(Path::Around, 80, 90, &[put(2, 2)])];
    assert!(holds(&around, Level::Strict, &two_rows(1, 1)));
    assert!(!holds(&around, Level::Semisync, &two_rows(1, 1)));
}

/// What a writer around Freshet does may be late, and still all of it or nothing is seen.
#[test]
fn a_late_write_is_whole() {
    let writes = [write(Path::Around, 80, 90, &[put(1, 2), put(2, 2)])];
    assert!(holds(&writes, Level::Strict, &two_rows(1, 1)) && holds(&writes, Level::Strict, &two_rows(2, 2)));
    assert!(
        !holds(&writes, Level::Strict, &two_rows(1, 2)) && !holds(&writes, Level::Strict, &two_rows(2, 1))
    );
}

#[test]
fn a_snapshot_that_is_opened_at_once_shows_nothing_of_later() {
    let writes = [write(Path::Through, 120, 130, &[put(2, 2)])];
    let opened = |second| Read { asked: 95, until: 99, ..two_rows(1, second) };
    assert!(holds(&writes, Level::Strict, &opened(1)) && !holds(&writes, Level::Strict, &opened(2)));
    // What was acknowledged between the opening's beginning and the first read need not be in it.
    let between = [write(Path::Through, 96, 97, &[put(2, 2)])];
    assert!(holds(&between, Level::Strict, &opened(1)) && holds(&between, Level::Strict, &opened(2)));
}

#[test]
fn a_transaction_sees_what_it_had_done_by_then() {
    let own: &[Change] = &[put(1, 7)];
    let seen = |first: &[&[i64]], second: &[&[i64]]| {
        let read = reads(&[(100, 110, 0, first, &[]), (120, 130, 0, second, own), (140, 150, 0, first, &[])]);
        holds(&[], Level::Strict, &read)
    };
    assert!(seen(&[&[1, 1]], &[&[1, 7]]), "and what is undone to a savepoint is gone");
    assert!(!seen(&[&[1, 7]], &[&[1, 7]]) && !seen(&[&[1, 1]], &[&[1, 1]]));
}

/// A locking read shows the newest state; the snapshot of its transaction stays as old as it is.
#[test]
fn a_locking_read_does_not_move_the_session_on() {
    let base = log(&[]).open(super::log::Clocks { through: 1, around: 1 }, 0).db;
    let (mut judge, ..) = Judge::new(pool(), base, Level::Session, 1);
    judge.take(Event::Committed(write(Path::Through, 120, 130, &[put(1, 2), put(2, 2)])));
    judge.take(Event::Read(Read { is_locking: true, ..read(140, 145, 0, &[&[1, 2]]) }));
    judge.take(Event::Read(two_rows(1, 1)));
    judge.judge_until(200);
    assert_eq!(judge.into_report().broken(), 0);
}

#[test]
fn what_is_folded_and_remembered_changes_no_verdict() {
    let long: Vec<Transaction> = (0..300)
        .map(|n| {
            write(Path::Through, 1_000 + n * 10, 1_005 + n * 10, &[put(1, i64::try_from(n).unwrap() + 2)])
        })
        .collect();
    let mut log = log(&long);
    let newest = read(4_100, 4_110, 0, &[&[1, 301]]);
    let older = read(4_100, 4_110, 0, &[&[1, 300]]);
    for forgotten in [0, 2_000, 3_500] {
        log.forget(forgotten);
        assert!(matches!(explained(&log, Level::Strict, &newest, 0), Explained::Yes(_)));
        assert!(matches!(explained(&log, Level::Strict, &older, 0), Explained::No(Some(_))));
    }
}

#[test]
fn reads_are_judged_in_the_order_of_their_answers() {
    let (mut judge, ..) = Judge::new(
        pool(),
        log(&[]).open(super::log::Clocks { through: 1, around: 1 }, 0).db,
        Level::Strict,
        1,
    );
    judge.take(Event::Read(read(131, 140, 0, &[&[1, 1]])));
    judge.take(Event::Read(read(120, 130, 0, &[&[1, 2]])));
    judge.take(Event::Committed(write(Path::Through, 100, 200, &[put(1, 2)])));
    judge.judge_until(90);
    judge.judge_until(300);
    let report = judge.into_report();
    assert_eq!((report.broken(), report.reads[0], report.writes[0]), (1, 2, 1));
    assert_eq!(report.violations[0].kind, ViolationKind::Stale);
}

#[test]
fn what_is_shown_of_a_write_that_was_given_up_is_not_judged() {
    let judged = |is_given_up: bool| {
        let base = log(&[]).open(super::log::Clocks { through: 1, around: 1 }, 0).db;
        let (judge, recorder, told) = Judge::new(pool(), base, Level::Strict, 1);
        let sent = recorder.sending("UPDATE", Path::Through, vec![put(1, 2)], Vec::new());
        if is_given_up {
            recorder.given_up(sent);
        } else {
            recorder.done(sent, false);
        }
        let asked = recorder.now();
        recorder.read(read(asked, recorder.now(), 0, &[&[1, 2]]));
        let report = judge.run(&recorder, &told, || true, None);
        (report.reads[0], report.broken())
    };
    assert_eq!(judged(true), (0, 0));
    assert_eq!(judged(false), (1, 1));
}
