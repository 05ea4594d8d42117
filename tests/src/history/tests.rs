use super::*;

const LAG: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn write(row: u32, version: u64, acknowledged: u64, path: Path) -> Write {
    Write { row, version, acknowledged: at(acknowledged), path }
}

fn read(asked: u64, answered: u64, seen: &[(&[u32], u64)]) -> Read {
    let seen = seen.iter().map(|&(rows, total)| Seen { rows: rows.to_vec(), total }).collect();
    Read { text: "SELECT".into(), asked: at(asked), answered: at(answered), seen }
}

fn judged(writes: &[Write], reads: &[Read]) -> Vec<Violation> {
    let history = History { writes: writes.to_vec(), reads: reads.to_vec() };
    judge(&history, &Rules { lag: LAG, together: vec![(1, 2)] })
}

fn floors(violations: &[Violation]) -> Vec<u64> {
    let floor = |violation: &Violation| match violation {
        Violation::Stale { floor, .. } => *floor,
        Violation::Torn { .. } => panic!("{violation}"),
    };
    violations.iter().map(floor).collect()
}

#[test]
fn a_read_after_an_acknowledgement_sees_the_write() {
    let writes = [write(5, 1, 10, Path::Through), write(5, 2, 20, Path::Through)];
    assert_eq!(judged(&writes, &[read(21, 22, &[(&[5], 2)])]), []);
    assert_eq!(floors(&judged(&writes, &[read(21, 22, &[(&[5], 1)])])), [2]);
    // While the write is under way, both answers are right.
    assert_eq!(judged(&writes, &[read(19, 25, &[(&[5], 1)]), read(19, 25, &[(&[5], 2)])]), []);
    // At the very same instant nothing can be said.
    assert_eq!(judged(&writes, &[read(20, 25, &[(&[5], 1)])]), []);
}

#[test]
fn a_read_sees_more_than_was_acknowledged_without_fault() {
    assert_eq!(judged(&[], &[read(1, 2, &[(&[5], 7)])]), []);
}

#[test]
fn no_read_goes_behind_an_earlier_one_of_anybody() {
    let later = read(5, 6, &[(&[5], 2)]);
    assert_eq!(floors(&judged(&[], &[later.clone(), read(1, 4, &[(&[5], 3)])])), [3]);
    // The two overlap: the first may have been answered last.
    assert_eq!(judged(&[], &[later, read(1, 5, &[(&[5], 3)])]), []);
}

#[test]
fn a_write_around_is_seen_after_the_lag() {
    let writes = [write(5, 1, 10, Path::Around)];
    assert_eq!(judged(&writes, &[read(110, 111, &[(&[5], 0)])]), []);
    assert_eq!(floors(&judged(&writes, &[read(111, 112, &[(&[5], 0)])])), [1]);
    // That somebody has seen it does not bind others before the lag is over.
    let shown = |later| [read(11, 12, &[(&[5], 1)]), read(later, later + 1, &[(&[5], 0)])];
    assert_eq!(judged(&writes, &shown(110)), []);
    assert_eq!(floors(&judged(&writes, &shown(113))), [1]);
}

#[test]
fn a_sum_is_no_less_than_its_rows_and_than_an_earlier_sum() {
    let writes = [write(5, 4, 10, Path::Through), write(6, 3, 10, Path::Through)];
    assert_eq!(judged(&writes, &[read(11, 12, &[(&[5, 6], 7)])]), []);
    assert_eq!(floors(&judged(&writes, &[read(11, 12, &[(&[5, 6], 6)])])), [7]);
    let sums = [read(1, 2, &[(&[5, 6], 9)]), read(3, 4, &[(&[5, 6], 8)])];
    assert_eq!(floors(&judged(&[], &sums)), [9]);
    // A sum does not say which of its rows grew.
    assert_eq!(judged(&[], &[read(1, 2, &[(&[5, 6], 9)]), read(3, 4, &[(&[5], 0)])]), []);
}

#[test]
fn rows_written_together_are_seen_together() {
    assert_eq!(judged(&[], &[read(1, 2, &[(&[1], 3), (&[2], 3)])]), []);
    let torn = judged(&[], &[read(1, 2, &[(&[1], 3), (&[2], 2)])]);
    assert_eq!(torn, [Violation::Torn { text: "SELECT".into(), versions: (3, 2) }]);
    assert_eq!(judged(&[], &[read(1, 2, &[(&[1], 3)]), read(1, 2, &[(&[2], 2)])]), []);
}
