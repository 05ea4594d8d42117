use super::*;
use crate::model::{COLUMNS, Row};

fn put(id: usize, v: i64) -> Change {
    Change::Put(Table::R, id, Row { v, cells: [None; COLUMNS] })
}

/// Rows 1 to 3 have version 1.
fn before() -> Db {
    let mut db = Db::default();
    (1..=3).for_each(|id| db.apply(&put(id, 1)));
    db
}

fn seen(db: &Db) -> Seen {
    let mut seen = Seen { versions: [[None; ROWS]; TABLES], is_away: db.is_away, is_view: false };
    for table in Table::ALL {
        db.rows(table).for_each(|(id, row)| seen.versions[table as usize][id - 1] = Some(row.v));
    }
    seen
}

/// Returns what it is settled as, when the server has done these and was to do those.
fn settled(done: &[Change], due: &[Change]) -> Settled {
    let mut db = before();
    done.iter().for_each(|change| db.apply(change));
    settle(&before(), due, &seen(&db))
}

#[test]
fn rows_tell_whether_a_write_is_there() {
    for due in [&[put(1, 2)][..], &[Change::Remove(Table::R, 2)], &[Change::Remove(Table::R, 1), put(9, 2)]] {
        assert_eq!(settled(due, due), Settled::Done);
        assert_eq!(settled(&[], due), Settled::Undone);
    }
}

#[test]
fn a_row_that_is_written_twice_is_as_it_was_left() {
    let due = [put(1, 2), put(1, 3), put(2, 4), Change::Remove(Table::R, 2)];
    assert_eq!(settled(&due, &due), Settled::Done);
    assert_eq!(settled(&[], &due), Settled::Undone);
    assert_eq!(settled(&[put(1, 2)], &due), Settled::Foreign(put(1, 2)));
}

#[test]
fn what_leaves_nothing_behind_is_undone() {
    let due = [put(9, 2), Change::Remove(Table::R, 9)];
    assert_eq!(settled(&due, &due), Settled::Undone);
    assert_eq!(settled(&[], &due), Settled::Undone);
    assert_eq!(settled(&[], &[]), Settled::Undone);
}

#[test]
fn a_half_is_neither() {
    let due = [Change::Remove(Table::R, 1), Change::Remove(Table::R, 2)];
    assert_eq!(settled(&due[1..], &due), Settled::Torn(vec![due[1]]));
}

#[test]
fn what_nobody_wrote_is_foreign() {
    assert_eq!(settled(&[put(1, 7)], &[put(1, 2)]), Settled::Foreign(put(1, 2)));
    assert_eq!(settled(&[put(9, 7)], &[put(9, 2)]), Settled::Foreign(put(9, 2)));
    // What others did to other rows does not matter.
    assert_eq!(settled(&[put(9, 7), put(1, 2)], &[put(1, 2)]), Settled::Done);
}

#[test]
fn definitions_are_compared_too() {
    let away = [Change::Away(true)];
    assert_eq!(settled(&away, &away), Settled::Done);
    assert_eq!(settled(&[], &away), Settled::Undone);
    let view = [Change::View(Table::R, 2)];
    let db = before();
    assert_eq!(settle(&db, &view, &Seen { is_view: true, ..seen(&db) }), Settled::Done);
    assert_eq!(settle(&db, &view, &Seen { is_view: false, ..seen(&db) }), Settled::Undone);
}
