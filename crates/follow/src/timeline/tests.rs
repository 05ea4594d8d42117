use super::*;

fn started() -> Timeline {
    let mut timeline = Timeline::after(Position::ZERO);
    timeline.rotate(b"binlog.000007", 4).unwrap();
    timeline
}

#[test]
fn a_new_timeline_lies_above_everything_given_out() {
    let mut old = started();
    old.rotate(b"binlog.000009", 100).unwrap();
    let new = Timeline::after(old.here());
    assert!(new.start() > old.here());
    assert!(Timeline::after(new.start()).start() > new.start());
}

#[test]
fn positions_grow_over_events_and_files() {
    let mut timeline = started();
    let first = timeline.here();
    let second = timeline.advance(500).unwrap();
    timeline.rotate(b"binlog.000008", 4).unwrap();
    let third = timeline.here();
    assert!(first < second && second < third);
}

#[test]
fn artificial_events_do_not_move_the_stream() {
    let mut timeline = started();
    let here = timeline.advance(1_000).unwrap();
    assert_eq!(timeline.advance(0).unwrap(), here);
    timeline.rotate(b"binlog.000007", 4).unwrap();
    assert_eq!(timeline.here(), here);
}

#[test]
fn an_end_position_that_wraps_goes_on_above_four_gibibytes() {
    let mut timeline = started();
    timeline.advance(0xFFFF_FF00).unwrap();
    let wrapped = timeline.advance(0x100).unwrap();
    assert_eq!(wrapped, timeline.locate(b"binlog.000007", (1 << 32) + 0x100).unwrap().unwrap());
    timeline.advance(0xC000_0000).unwrap();
    let again = timeline.advance(0x80).unwrap();
    assert_eq!(again, timeline.locate(b"binlog.000007", (2 << 32) + 0x80).unwrap().unwrap());
}

#[test]
fn a_repeated_format_description_does_not_move_the_stream() {
    let mut timeline = started();
    timeline.rotate(b"binlog.000007", 5_000_000_000).unwrap();
    let here = timeline.here();
    assert_eq!(timeline.advance(705_032_000 - 100).unwrap(), here);
    let mut timeline = started();
    let here = timeline.advance(9_000).unwrap();
    assert_eq!(timeline.advance(126).unwrap(), here);
}

#[test]
fn a_coordinate_ahead_of_the_stream_is_located() {
    let mut timeline = started();
    let ahead = timeline.locate(b"binlog.000009", 345).unwrap().unwrap();
    assert!(ahead > timeline.here());
    timeline.rotate(b"binlog.000009", 4).unwrap();
    assert_eq!(timeline.advance(345).unwrap(), ahead);
}

#[test]
fn coordinates_before_the_first_file_or_before_any_file_have_no_position() {
    assert_eq!(Timeline::after(Position::ZERO).locate(b"a.000001", 4).unwrap(), None);
    assert_eq!(started().locate(b"binlog.000006", 4).unwrap(), None);
}

#[test]
fn going_back_and_odd_names_are_refused() {
    let mut timeline = started();
    assert_eq!(timeline.rotate(b"binlog.000001", 4), Err(OffTimeline::Backwards { from: 7, to: 1 }));
    for name in [&b"binlog"[..], b"binlog.", b"binlog.12x", b"\xFF.1", b"a.99999999999999999999999"] {
        assert!(matches!(timeline.rotate(name, 4), Err(OffTimeline::Unnumbered(_))), "{name:?}");
    }
    assert!(timeline.rotate(b"binlog.000008", 1 << 40).is_err());
    let mut timeline = Timeline::after(Position::ZERO);
    timeline.rotate(b"binlog.999999", 4).unwrap();
    assert!(timeline.rotate(b"binlog.1000000", 4).is_ok(), "seven digits");
}

#[test]
fn a_stream_that_passes_more_files_than_the_cache_can_tell_is_begun_anew() {
    let mut timeline = started();
    timeline.rotate(b"binlog.32773", 4).unwrap();
    assert!(timeline.here().get() - timeline.start().get() < 1 << 51);
    assert!(matches!(timeline.rotate(b"binlog.32774", 4), Err(OffTimeline::OutOfRange { .. })));
    assert!(matches!(timeline.locate(b"binlog.32774", 4), Err(OffTimeline::OutOfRange { .. })));
}

const FILE: &[u8] = b"binlog.000007";

#[test]
fn a_step_is_a_position_between_two_events() {
    let mut timeline = started();
    let before = timeline.advance(500).unwrap();
    let step = timeline.step().unwrap().unwrap();
    let next = timeline.step().unwrap().unwrap();
    assert!(before < step && step < next && timeline.here() == next);
    // The server says where its binlog ends: all of that is applied, and so are the steps.
    assert_eq!(timeline.locate(FILE, 500).unwrap(), Some(next));
    assert!(timeline.advance(519).unwrap() > next);
    timeline.rotate(b"binlog.000008", 4).unwrap();
    assert!(timeline.here() > next);
    assert!(Timeline::after(timeline.here()).start() > timeline.here());
}

#[test]
fn what_lies_before_a_step_is_never_located_behind_it() {
    let mut timeline = started();
    let ends: Vec<Position> = (1..50)
        .map(|event| {
            let end = timeline.advance(event * 19).unwrap();
            timeline.step().unwrap().unwrap();
            end
        })
        .collect();
    for (event, end) in (1..49).zip(&ends) {
        assert!(timeline.locate(FILE, event * 19).unwrap().unwrap() <= *end);
    }
    assert!(timeline.locate(FILE, 49 * 19).unwrap().unwrap() == timeline.here());
}

#[test]
fn no_step_is_made_while_a_coordinate_ahead_is_given_out() {
    let mut timeline = started();
    timeline.advance(500).unwrap();
    let ahead = timeline.locate(FILE, 600).unwrap().unwrap();
    assert_eq!(timeline.step(), Ok(None));
    assert_eq!(timeline.advance(600).unwrap(), ahead);
    assert!(timeline.step().unwrap().unwrap() > ahead);
}
