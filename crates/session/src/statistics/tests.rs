use std::time::{Duration, SystemTime, UNIX_EPOCH};

use freshet_upstream::now_ms;

use super::*;
use crate::why::{Refusal, Why};

fn cost() -> Cost {
    Cost { ended_ms: now_ms(), time: Duration::from_micros(50), affected: 1, rows: 2 }
}

fn whose<'a>(schema: &'a str, user: &'a str) -> Whose<'a> {
    Whose { schema, user: user.as_bytes(), outcome: None }
}

fn counts(statistics: &DigestStatistics, resets: bool) -> Vec<(bool, String, u64)> {
    let mut rows: Vec<_> =
        statistics.rows(resets).into_iter().map(|row| (row.from_memory, row.text, row.count)).collect();
    rows.sort();
    rows
}

#[test]
fn what_several_threads_have_sent_is_one_row() {
    let statistics = DigestStatistics::default();
    let sent = |us: u64, times: u64| {
        let cost = Cost { time: Duration::from_micros(us), ..cost() };
        (0..times).for_each(|_| _ = statistics.count_sent(whose("", "u"), b"SELECT 1", None, cost));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| sent(7, 10)).join().unwrap();
        scope.spawn(|| sent(90, 20)).join().unwrap();
    });
    let rows = statistics.rows(true);
    let row = &rows[0];
    assert_eq!((rows.len(), row.count, row.times_us), (1, 30, (1_870, 7, 90)));
    assert_eq!((row.affected, row.sent), (30, 60));
    assert_eq!(statistics.rows(false), []);
    sent(8, 1);
    assert_eq!(statistics.rows(false)[0].times_us, (8, 8, 8));
}

#[test]
fn what_was_sent_and_what_was_answered_from_memory_are_two_rows_of_one_digest() {
    let statistics = DigestStatistics::default();
    let of =
        |user: &str, text: &str| statistics.count_sent(whose("sbtest", user), text.as_bytes(), None, cost());
    let tag = of("u", "SELECT c FROM sbtest1 WHERE id=1");
    assert_eq!(of("u", "SELECT c FROM sbtest1 WHERE id=2"), tag);
    assert_ne!(of("v", "SELECT c FROM sbtest1 WHERE id=2"), tag);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| statistics.count_hit(tag, now_ms())));
        }
    });
    let text = "SELECT c FROM sbtest1 WHERE id=?".to_owned();
    let expected = [(false, text.clone(), 1), (false, text.clone(), 2), (true, text.clone(), 400)];
    assert_eq!(counts(&statistics, false), expected);
    let row = statistics.rows(false).into_iter().find(|row| row.count == 2).unwrap();
    assert_eq!((row.times_us, row.affected, row.sent), ((100, 50, 50), 2, 4));
    assert_eq!(row.digest, "0xBF001A0C13781C1D");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(row.seen.0 <= row.seen.1 && now - row.seen.0 < 60);
    // The counts start from 0, and the tag of stored entries keeps counting.
    assert_eq!(counts(&statistics, true), expected);
    assert_eq!(counts(&statistics, false), []);
    statistics.count_hit(tag, now_ms());
    assert_eq!(counts(&statistics, false), [(true, text, 1)]);
}

#[test]
fn the_oldest_leave_and_hits_of_what_was_stored_for_them_count_for_nobody() {
    let statistics = DigestStatistics::default();
    let of = |number: usize| {
        let text = format!("SELECT a{number}");
        statistics.count_sent(whose("", "u"), text.as_bytes(), None, cost())
    };
    let old = of(0);
    std::thread::sleep(Duration::from_millis(3));
    (1..DIGESTS_MAX).for_each(|number| {
        of(number);
    });
    assert_eq!(statistics.rows(false).len(), DIGESTS_MAX);
    let new = of(DIGESTS_MAX);
    let rows = statistics.rows(false);
    assert_eq!(rows.len(), DIGESTS_MAX - LEAVING + 1);
    assert!(!rows.iter().any(|row| row.text == "SELECT a0"));
    // Free places are taken again, and hits for their earlier digests are not counted there.
    (DIGESTS_MAX + 1..DIGESTS_MAX + LEAVING).for_each(|number| {
        of(number);
    });
    statistics.count_hit(old, now_ms());
    assert!(!statistics.rows(false).iter().any(|row| row.from_memory));
    statistics.count_hit(new, now_ms());
    assert_eq!(statistics.rows(false).iter().filter(|row| row.from_memory).count(), 1);
}

#[test]
fn a_digest_keeps_its_age_when_the_counts_start_from_0() {
    let statistics = DigestStatistics::default();
    let of = |number: usize| {
        let text = format!("SELECT a{number}");
        statistics.count_sent(whose("", "u"), text.as_bytes(), None, cost())
    };
    let old: Vec<u16> = (0..LEAVING).map(of).collect();
    std::thread::sleep(Duration::from_millis(3));
    let young: Vec<u16> = (LEAVING..DIGESTS_MAX).map(of).collect();
    assert_eq!(statistics.rows(true).len(), DIGESTS_MAX);
    assert_eq!(statistics.rows(false), []);
    of(DIGESTS_MAX);
    assert!(young.iter().all(|tag| statistics.is_anybodys(*tag)), "what was seen last stays");
    assert!(!old.iter().any(|tag| statistics.is_anybodys(*tag)));
}

#[test]
fn what_carries_no_tag_is_not_counted() {
    let statistics = DigestStatistics::default();
    statistics.count_hit(0, now_ms());
    assert_eq!(statistics.rows(false), []);
}

#[test]
fn refusals_are_counted_by_reason_and_leave_with_their_digest() {
    let statistics = DigestStatistics::default();
    let sent = |text: &str| statistics.count_sent(whose("shop", "u"), text.as_bytes(), None, cost());
    let tag = sent("SELECT NOW()");
    let now = Refusal::about(Why::Volatile, "NOW");
    statistics.count_refused(tag, &now);
    statistics.count_refused(tag, &now);
    statistics.count_refused(tag, &Why::Error.into());
    let row = |statistics: &DigestStatistics| statistics.queries(|user| user == "u").remove(0);
    assert_eq!(row(&statistics).refused, [(Why::Volatile, 2), (Why::Error, 1)]);
    assert_eq!(row(&statistics).last, Some(Why::Error.into()));
    assert!(statistics.queries(|user| user == "v").is_empty());
    let found = statistics.query_of(whose("shop", "u"), Digest::of(b"SELECT NOW()")).unwrap();
    assert_eq!((found.sent, found.refused.len()), (1, 2));
    // A stored answer ends the refusal.
    statistics.count_stored(tag);
    assert_eq!((row(&statistics).stored, row(&statistics).last), (1, None));
    // A tag of no digest is not counted.
    statistics.count_refused(0, &now);
    statistics.rows(true);
    sent("SELECT NOW()");
    assert_eq!((row(&statistics).stored, row(&statistics).refused), (0, Vec::new()));
    statistics.count_refused(tag, &Refusal::about(Why::NotParsed, "x".repeat(10_000)));
    assert_eq!(row(&statistics).last.map(|last| last.about.len()), Some(256));
    std::thread::sleep(Duration::from_millis(3));
    (0..DIGESTS_MAX).for_each(|number| {
        sent(&format!("SELECT a{number}"));
    });
    // The place belongs to another digest now.
    statistics.count_refused(tag, &now);
    assert!(statistics.queries(|_| true).iter().all(|row| row.refused.is_empty()));
}

#[test]
fn what_is_noted_of_statements_alike_counts_as_their_digest_does() {
    let (statistics, memo) = (DigestStatistics::default(), DigestMemo::default());
    let sent =
        |user, text: &str| statistics.count_sent(whose("s", user), text.as_bytes(), Some(&memo), cost());
    let tag = sent("u", "SELECT 1");
    // The memo counts, not the text, which callers vouch for.
    assert_eq!(sent("u", "SELECT of another digest"), tag);
    assert_ne!(sent("v", "SELECT 1"), tag);
    assert_eq!(counts(&statistics, false).len(), 2);
    assert_eq!(sent("u", "SELECT 1"), tag);
    assert!(statistics.normalise(Options { no_digits: true, ..Options::default() }));
    assert_ne!(sent("u", "SELECT a1"), tag, "texts are normalised otherwise");
    statistics.normalise(Options { query_length_max: 8, ..Options::default() });
    assert_ne!(sent("u", "SELECT 1"), sent("u", "SELECT b FROM t"), "others like it may be cut elsewhere");
}

#[test]
fn what_is_noted_does_not_outlive_its_digest() {
    let (statistics, memo) = (DigestStatistics::default(), DigestMemo::default());
    let sent = |text: &str, memo| statistics.count_sent(whose("s", "u"), text.as_bytes(), memo, cost());
    let tag = sent("SELECT 1", Some(&memo));
    (0..DIGESTS_MAX).for_each(|number| _ = sent(&format!("SELECT a{number}"), None));
    // Some digest has left. A place has few generations, so a tag may be another's some day.
    assert_ne!(sent("SELECT b FROM t", Some(&memo)), tag);
}
