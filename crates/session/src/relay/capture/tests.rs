use super::*;
use crate::bounds::Bounds;
use crate::bounds::Limits;

fn budget(bytes: usize) -> Arc<SharedBudget> {
    Arc::clone(&Bounds::new(&Limits { fill_bytes_max: bytes, ..Limits::default() }).fill)
}

fn seen(part: Part, status: Option<StatusFlags>, last: bool) -> Seen {
    Seen { part, last, status, status_at: status.map(|_| 3), warnings: status.map(|_| 0) }
}

/// Feeds one result set of a client with EOF packets; each packet is five bytes of payload.
fn result_set(capture: &mut Capture, status: StatusFlags) {
    for part in [Part::ColumnCount, Part::Column, Part::ColumnsEnd, Part::Row, Part::RowsEnd] {
        let flags = matches!(part, Part::ColumnsEnd | Part::RowsEnd).then_some(status);
        match part {
            Part::Row => capture.rows(1),
            part => capture.packet(&seen(part, flags, part == Part::RowsEnd), 0, false),
        }
        capture.bytes(&[0; 9]);
    }
}

#[test]
fn a_whole_result_set_is_kept_with_its_flags_places() {
    let mut capture = Capture::new(1000, &budget(1 << 20));
    result_set(&mut capture, StatusFlags::AUTOCOMMIT);
    let captured = capture.finish().unwrap();
    assert_eq!((captured.body.len(), captured.rows), (45, 1));
    // The third and the fifth packet, after their headers.
    assert_eq!(captured.status_at, [18 + 4 + 3, 36 + 4 + 3]);
}

#[test]
fn what_is_not_one_complete_quiet_result_set_is_not_kept() {
    let refused = |spoil: &dyn Fn(&mut Capture)| {
        let mut capture = Capture::new(1000, &budget(1 << 20));
        spoil(&mut capture);
        capture.finish().is_err()
    };
    assert!(refused(&|_| {}));
    assert!(refused(&|it| it.packet(&seen(Part::ColumnCount, None, false), 0, false)));
    assert!(refused(&|it| it.packet(&seen(Part::Err, None, true), 0, false)));
    assert!(refused(&|it| it.packet(&seen(Part::Ok, Some(StatusFlags::AUTOCOMMIT), true), 0, false)));
    for flag in [StatusFlags::MORE_RESULTS, StatusFlags::IN_TRANS, StatusFlags::CURSOR_EXISTS] {
        assert!(refused(&|it| result_set(it, flag)), "{flag:?}");
    }
    assert!(refused(&|it| {
        it.packet(&seen(Part::RowsEnd, Some(StatusFlags::SESSION_STATE_CHANGED), true), 0, true);
    }));
    assert!(!refused(&|it| result_set(it, StatusFlags::SESSION_STATE_CHANGED)));
    assert!(refused(&|it| {
        let mut end = seen(Part::RowsEnd, Some(StatusFlags::AUTOCOMMIT), true);
        end.warnings = Some(1);
        it.packet(&end, 0, false);
    }));
    assert!(refused(&|it| {
        result_set(it, StatusFlags::AUTOCOMMIT);
        it.packet(&seen(Part::Err, None, true), 0, false);
    }));
}

#[test]
fn an_answer_above_the_limit_is_given_up_and_its_memory_with_it() {
    let mut capture = Capture::new(40, &budget(1 << 20));
    result_set(&mut capture, StatusFlags::AUTOCOMMIT);
    assert_eq!(capture.body.capacity(), 0);
    assert!(capture.finish().is_err());
}

#[test]
fn a_copy_takes_its_memory_out_of_the_budget_and_is_given_up_where_there_is_none() {
    static ROW: [u8; 32 * 1024 - END_BYTES] = [0; 32 * 1024 - END_BYTES];
    let budget = budget(100 << 10);
    let mut captures: Vec<Capture> = (0..4).map(|_| Capture::new(1 << 20, &budget)).collect();
    captures.iter_mut().for_each(|capture| capture.bytes(&ROW));
    assert_eq!(captures.iter().filter(|capture| capture.refused.is_none()).count(), 3);
    assert_eq!((budget.used(), budget.refused()), (96 << 10, 1));
    drop(captures);
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_copy_takes_no_more_memory_than_it_may_have() {
    let budget = budget(1 << 20);
    let mut capture = Capture::new(50_000, &budget);
    for _ in 0..5 {
        capture.bytes(&[0; 9_999]);
    }
    assert!(capture.refused.is_none() && capture.body.capacity() <= 50_000);
    capture.bytes(&[0; 9_999]);
    assert!(capture.refused.is_some() && budget.used() == 0);
}
