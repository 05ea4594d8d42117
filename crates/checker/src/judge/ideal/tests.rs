use super::*;
use crate::judge::Isolation;
use crate::model::{COLUMNS, Change, Column, Row, Table};
use crate::query::{Filter, Shape};
use crate::told::{May, Told};

fn put(id: usize, v: i64) -> Change {
    Change::Put(Table::P, id, Row { v, cells: [Some(0); COLUMNS] })
}

fn write(sent: Nanos, known: Nanos, change: Change) -> Transaction {
    let text = "UPDATE p SET v = 2 WHERE id = 1".into();
    Transaction { text, path: Path::Through, sent, known, changes: vec![change], told: Vec::new() }
}

fn part(asked: Nanos, answered: Nanos, observed: Observed) -> Part {
    let (own, is_new) = (Arc::default(), false);
    Part { query: 0, observed, own, asked, answered, is_new, is_prepared: false, is_hit: None }
}

fn read(asked: Nanos, ended: Nanos, is_hit: bool) -> Read {
    Read {
        session: 0,
        path: Path::Through,
        asked,
        answered: ended,
        until: ended,
        own_known: 0,
        parts: vec![part(asked, ended, Ok(Vec::new()))],
        is_prepared: false,
        in_transaction: false,
        said: Arc::default(),
        is_counted: false,
        isolation: Isolation::default(),
        is_locking: false,
        is_hit: Some(is_hit),
    }
}

/// Rows 1 and 2 are there, and row 1 is asked for.
fn ideal() -> (Ideal, Log) {
    let mut base = Db::default();
    base.apply(&put(1, 1));
    base.apply(&put(2, 1));
    let pool: Arc<[Query]> = [Query::new(Shape::Rows(Table::P, Filter::id(1)))].into();
    (Ideal::new(pool, base), Log::new(base))
}

/// Returns what is said of some reads, of which the last counts, after some writes.
fn last(writes: &[Transaction], reads: &[Read]) -> Tally {
    let (mut ideal, mut log) = ideal();
    for transaction in writes {
        ideal.write(transaction);
        log.add(transaction.clone());
    }
    let (last, first) = reads.split_last().unwrap();
    first.iter().for_each(|read| ideal.read(&Read { is_hit: None, ..read.clone() }, &log));
    ideal.read(last, &log);
    ideal.into_comparison().total()
}

fn is_ideal(writes: &[Transaction], reads: &[Read]) -> bool {
    last(writes, reads).ideal == 1
}

#[test]
fn what_was_answered_before_is_a_hit_while_nothing_changes_it() {
    let twice = [read(10, 20, false), read(30, 40, true)];
    assert_eq!(last(&[], &twice), Tally { reads: 1, ideal: 1, real: 1, reachable: 1, reached: 1, beyond: 0 });
    assert!(!is_ideal(&[], &twice[1..]), "nobody has asked");
    assert!(!is_ideal(&[], &[read(10, 35, false), read(30, 40, true)]), "it was not answered by then");
    let beyond = last(&[write(22, 25, put(1, 2))], &twice);
    assert_eq!(beyond, Tally { reads: 1, beyond: 1, ..Tally::default() });
}

#[test]
fn a_write_of_the_row_counts_while_it_is_under_way_and_after() {
    let twice = [read(10, 20, false), read(30, 40, false)];
    for (sent, known) in [(22, 25), (5, 12), (15, 100), (35, 100), (5, 100)] {
        assert!(!is_ideal(&[write(sent, known, put(1, 2))], &twice), "{sent} to {known}");
        assert!(is_ideal(&[write(sent, known, put(2, 2))], &twice), "another row, {sent} to {known}");
    }
    for (sent, known) in [(1, 9), (41, 50)] {
        assert!(is_ideal(&[write(sent, known, put(1, 2))], &twice), "{sent} to {known}");
    }
    // The later of two reads counts.
    let thrice = [read(10, 20, false), read(26, 28, false), read(30, 40, false)];
    assert!(is_ideal(&[write(22, 25, put(1, 2))], &thrice));
}

#[test]
fn what_is_not_watched_is_counted_apart() {
    let (mut ideal, log) = ideal();
    ideal.read(&Read { is_prepared: true, ..read(1, 2, false) }, &log);
    ideal.read(&Read { in_transaction: true, is_locking: true, ..read(3, 4, false) }, &log);
    ideal.read(&Read { path: Path::Around, ..read(5, 6, false) }, &log);
    ideal.read(&Read { parts: vec![part(7, 8, Err(1146))], ..read(7, 8, false) }, &log);
    ideal.read(&read(9, 10, false), &log);
    let comparison = ideal.into_comparison();
    assert_eq!(comparison.unwatched, [1, 1]);
    assert_eq!(comparison.total(), Tally { reads: 1, ..Tally::default() }, "none of these fills a cache");
}

#[test]
fn reads_in_transactions_are_compared_apart() {
    let (mut ideal, log) = ideal();
    ideal.read(&read(1, 2, false), &log);
    let again = Part { is_hit: Some(true), ..part(5, 6, Ok(Vec::new())) };
    let new = Part { is_new: true, ..again.clone() };
    let own = Part { own: [put(2, 5)].into(), ..again.clone() };
    let parts = vec![again, new, own];
    let transaction = Read { parts, in_transaction: true, is_counted: true, ..read(5, 6, false) };
    ideal.read(&transaction, &log);
    let committed = Read { isolation: Isolation::ReadCommitted, ..transaction };
    ideal.write(&write(3, 4, put(1, 2)));
    ideal.read(&committed, &log);
    ideal.hits_in_transaction(false, 1, 3);
    ideal.hits_in_transaction(false, 3, 3);
    let comparison = ideal.into_comparison();
    let [repeatable, committed] = comparison.in_transactions;
    let Tally { reads, ideal, real, reachable, beyond, .. } = repeatable.tally;
    assert_eq!(([reads, ideal, real, reachable, beyond], repeatable.transactions), ([3, 1, 1, 1, 2], [2, 1]));
    let Tally { reads, ideal, beyond, .. } = committed.tally;
    assert_eq!([reads, ideal, beyond], [3, 0, 3]);
}

/// Returns what is said of a transaction that reads at these moments, after these writes and reads.
fn within(writes: &[Transaction], reads: &[Read], moments: &[(Nanos, Nanos)]) -> [u64; 2] {
    let (mut ideal, mut log) = ideal();
    for transaction in writes {
        ideal.write(transaction);
        log.add(transaction.clone());
    }
    reads.iter().for_each(|read| ideal.read(&Read { is_hit: None, ..read.clone() }, &log));
    let parts = moments.iter().map(|(asked, answered)| part(*asked, *answered, Ok(Vec::new()))).collect();
    let (first, last) = (moments[0], moments[moments.len() - 1]);
    let transaction = read(first.0, last.1, false);
    ideal.read(&Read { parts, in_transaction: true, is_counted: true, ..transaction }, &log);
    let [repeatable, _] = ideal.into_comparison().in_transactions;
    [repeatable.tally.ideal, repeatable.tally.reachable]
}

#[test]
fn reads_of_one_snapshot_are_ideal_hits_if_an_answer_is_the_snapshots() {
    let before = [read(1, 2, false)];
    let moments = [(10, 12), (20, 22)];
    assert_eq!(within(&[], &[], &moments), [1, 1], "the first fills for the second");
    assert_eq!(within(&[], &before, &moments), [2, 2]);
    assert_eq!(within(&[write(4, 5, put(1, 2))], &before, &moments), [1, 1], "the first is filled anew");
    assert_eq!(
        within(&[write(14, 15, put(1, 2))], &before, &moments),
        [2, 1],
        "the snapshot does not show it"
    );
    assert_eq!(within(&[write(11, 15, put(1, 2))], &before, &moments), [0, 0], "it may show it");
    let since = [read(16, 17, false)];
    assert_eq!(
        within(&[write(14, 15, put(1, 2))], &since, &moments),
        [1, 0],
        "what was filled since is newer"
    );
}

#[test]
fn what_is_read_in_a_transaction_fills_for_all() {
    let (mut ideal, log) = ideal();
    let parts = vec![part(10, 12, Ok(Vec::new()))];
    let transaction = Read { parts, in_transaction: true, ..read(10, 12, false) };
    ideal.read(&transaction, &log);
    ideal.read(&read(20, 22, true), &log);
    assert_eq!(ideal.into_comparison().total().ideal, 1);
}

#[test]
fn a_hit_is_lost_beside_a_write_or_after_it() {
    let moment = |sent, known| {
        let (mut ideal, mut log) = ideal();
        let other = write(sent, known, put(2, 2));
        ideal.write(&other);
        log.add(other);
        ideal.read(&Read { is_hit: None, ..read(10, 20, false) }, &log);
        ideal.read(&read(30, 40, false), &log);
        ideal.into_comparison().moments.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(moment(22, 35), [(Moment::Beside, [1, 1, 1, 1])]);
    assert_eq!(moment(15, 35), [(Moment::Beside, [1, 1, 1, 1])]);
    assert_eq!(moment(15, 25), [(Moment::Before, [1, 1, 1, 1])]);
    assert_eq!(moment(22, 25), [(Moment::Between, [1, 1, 1, 1])]);
    assert_eq!(moment(1, 5), [(Moment::Never, [1, 1, 1, 1])]);
}

#[test]
fn a_hit_that_is_lost_is_put_down_to_the_writes_since() {
    let (mut ideal, mut log) = ideal();
    let other = write(22, 25, put(2, 2));
    ideal.write(&other);
    log.add(other);
    ideal.read(&Read { is_hit: None, ..read(10, 20, false) }, &log);
    ideal.read(&read(30, 40, false), &log);
    let costs = ideal.into_comparison().costs;
    assert_eq!(costs["UPDATE of one row"], Cost { alone: [1, 1], among: [0, 0] });
}

/// Returns what is said of the last read, with what is told of the writes.
fn reach(writes: &[Transaction], defined: &[Defined], reads: &[Read]) -> [u64; 2] {
    let (mut ideal, mut log) = ideal();
    defined.iter().for_each(|defined| ideal.define(*defined));
    for transaction in writes {
        ideal.write(transaction);
        log.add(transaction.clone());
    }
    let (last, first) = reads.split_last().unwrap();
    first.iter().for_each(|read| ideal.read(&Read { is_hit: None, ..read.clone() }, &log));
    ideal.read(last, &log);
    let total = ideal.into_comparison().total();
    [total.ideal, total.reachable]
}

#[test]
fn what_a_text_may_change_is_out_of_reach_while_it_is_under_way() {
    let reads = [read(10, 20, false), read(50, 60, true)];
    let other = |sent, known, rows: May| Transaction {
        told: vec![Told::versioned(Table::P, rows)],
        ..write(sent, known, put(2, 9))
    };
    let any = May::ANY.with(Column::K, Some(3));
    assert_eq!(reach(&[other(45, 55, any)], &[], &reads), [1, 0]);
    assert_eq!(
        reach(&[other(45, 55, May::id(2))], &[], &reads),
        [1, 1],
        "the text tells that it is another row"
    );
    assert_eq!(reach(&[other(30, 40, any)], &[], &reads), [1, 1], "it is known");
    assert_eq!(reach(&[other(15, 25, any)], &[], &reads), [1, 1], "it is known by now");
    let around = Transaction { path: Path::Around, ..other(45, 55, any) };
    assert_eq!(reach(&[around], &[], &reads), [1, 1], "nobody is told of it");
}

#[test]
fn what_is_defined_is_out_of_reach() {
    let reads = [read(10, 20, false), read(50, 60, true)];
    let defined = |tables, sent, known| [Defined { tables, sent, known }];
    assert_eq!(reach(&[], &defined(Table::P.bit(), 30, 40), &reads), [1, 0]);
    assert_eq!(reach(&[], &defined(Table::P.bit(), 55, 70), &reads), [1, 0]);
    assert_eq!(reach(&[], &defined(Table::P.bit(), 5, 9), &reads), [1, 1]);
    assert_eq!(reach(&[], &defined(Table::C.bit(), 30, 40), &reads), [1, 1]);
}
