use super::*;

const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

fn gtid(gno: u64) -> Gtid {
    GtidSet::parse(format!("{UUID}:{gno}").as_bytes()).unwrap().iter().next().unwrap()
}

fn answer(cells: &[&[&str]]) -> Vec<Vec<Option<Vec<u8>>>> {
    cells.iter().map(|row| row.iter().map(|cell| Some(cell.as_bytes().to_vec())).collect()).collect()
}

fn executed(visible: &mut Visible, text: &str) -> Option<Position> {
    visible.learn(&answer(&[&[&format!("{UUID}:{text}")]]), &mut Timeline::after(Position::ZERO)).unwrap()
}

fn at(raw: u64) -> Position {
    Position::new(raw)
}

#[test]
fn gtids_become_visible_in_order_only() {
    let mut visible = Visible::Gtids(GtidQueue::default());
    for gno in 1..=3 {
        visible.received(Some(&gtid(gno)), at(gno * 100), Position::ZERO, 0);
    }
    assert_eq!(executed(&mut visible, "2-3"), None, "an earlier one is not visible");
    assert_eq!(executed(&mut visible, "1-2"), Some(at(200)));
    assert!(visible.is_behind(at(200)));
    assert_eq!(executed(&mut visible, "1-9"), Some(at(300)));
    assert!(!visible.is_behind(at(300)));
}

#[test]
fn a_full_queue_goes_on_as_a_set() {
    let mut visible = Visible::Gtids(GtidQueue::default());
    let last = QUEUE_MAX as u64 + 5;
    for gno in 1..=last {
        visible.received(Some(&gtid(gno)), at(gno), Position::ZERO, 0);
    }
    assert_eq!(executed(&mut visible, &format!("1-{}", last - 1)), Some(at(QUEUE_MAX as u64)));
    assert_eq!(executed(&mut visible, &format!("1-{last}")), Some(at(last)));
    assert!(!visible.is_behind(at(last)));
}

#[test]
fn mariadb_tells_a_coordinate() {
    let mut timeline = Timeline::after(Position::ZERO);
    timeline.rotate(b"bin.000003", 4).unwrap();
    let mut visible = Visible::Snapshot(at(0));
    let rows = answer(&[&["Binlog_snapshot_file", "bin.000003"], &["Binlog_snapshot_position", "700"]]);
    assert_eq!(visible.learn(&rows, &mut timeline).unwrap(), timeline.locate(b"bin.000003", 700).unwrap());
    assert!(visible.learn(&answer(&[]), &mut timeline).is_err());
    let empty = answer(&[&["Binlog_snapshot_file", ""], &["Binlog_snapshot_position", "0"]]);
    assert!(visible.learn(&empty, &mut timeline).is_err(), "the binlog is off");
}

#[test]
fn the_quarantine_lets_nothing_out_early_and_stays_small() {
    let mut visible = Visible::Quarantine(VecDeque::new());
    for ms in 0..5_000 {
        visible.received(None, at(ms + 1), Position::ZERO, ms);
        let free = visible.tick(ms);
        assert!(free.is_none_or(|free| free.get() + QUARANTINE_MS <= ms + 1), "{ms} {free:?}");
    }
    let Visible::Quarantine(queue) = &visible else { panic!() };
    assert!(queue.len() as u64 <= 2 + QUARANTINE_MS / QUARANTINE_STEP_MS);
    assert_eq!(visible.tick(7_000), Some(at(5_000)));
    assert!(!visible.is_behind(at(5_000)));
}

#[test]
fn answers_of_another_form_are_refused() {
    let mut timeline = Timeline::after(Position::ZERO);
    let mut visible = Visible::Gtids(GtidQueue::default());
    assert!(visible.learn(&answer(&[]), &mut timeline).is_err());
    assert!(visible.learn(&answer(&[&["not a set"]]), &mut timeline).is_err());
}
