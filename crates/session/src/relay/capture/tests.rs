use super::*;

fn seen(part: Part, status: Option<StatusFlags>, last: bool) -> Seen {
    Seen { part, last, status, status_at: status.map(|_| 3), warnings: status.map(|_| 0) }
}

/// Feeds one result set of a client with EOF packets; each packet is five bytes of payload.
fn result_set(capture: &mut Capture, status: StatusFlags) {
    for part in [Part::ColumnCount, Part::Column, Part::ColumnsEnd, Part::Row, Part::RowsEnd] {
        let flags = matches!(part, Part::ColumnsEnd | Part::RowsEnd).then_some(status);
        match part {
            Part::Row => capture.row(),
            part => capture.packet(&seen(part, flags, part == Part::RowsEnd), 0, false),
        }
        capture.bytes(&[0; 9]);
    }
}

#[test]
fn a_whole_result_set_is_kept_with_its_flags_places() {
    let mut capture = Capture::new(1000);
    result_set(&mut capture, StatusFlags::AUTOCOMMIT);
    let captured = capture.finish().unwrap();
    assert_eq!((captured.body.len(), captured.rows), (45, 1));
    // The third and the fifth packet, behind their headers.
    assert_eq!(captured.status_at, [18 + 4 + 3, 36 + 4 + 3]);
}

#[test]
fn what_is_not_one_complete_quiet_result_set_is_not_kept() {
    let refused = |spoil: &dyn Fn(&mut Capture)| {
        let mut capture = Capture::new(1000);
        spoil(&mut capture);
        capture.finish().is_none()
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
    let mut capture = Capture::new(40);
    result_set(&mut capture, StatusFlags::AUTOCOMMIT);
    assert_eq!(capture.body.capacity(), 0);
    assert!(capture.finish().is_none());
}
