use super::*;
use crate::model::{Change, Column, Row};

fn db() -> Db {
    let mut db = Db::default();
    for id in 1..=4_usize {
        let code = i8::try_from(id).unwrap();
        let mut cells = [Some(code - 1); crate::model::COLUMNS];
        cells[Column::K as usize] = (id != 4).then_some(code);
        let v = i64::from(code) * 10;
        db.apply(&Change::Put(Table::P, id, Row { v, cells }));
        db.apply(&Change::Put(Table::C, id, Row { v: v + 1, cells }));
    }
    db.apply(&Change::Remove(Table::P, 3));
    db
}

fn rows(rows: &[&[i64]]) -> Observed {
    Ok(rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect())
}

#[test]
fn shapes_mean_what_they_say() {
    let db = db();
    let ask = |shape| Query::new(shape).ask(&db);
    let k = |condition| Filter(vec![(On::Column(Column::K), condition)]);
    assert_eq!(ask(Shape::Rows(Table::P, k(Condition::AtLeast(2)))), rows(&[&[2, 20]]));
    assert_eq!(ask(Shape::Rows(Table::C, k(Condition::Null))), rows(&[&[4, 41]]));
    assert_eq!(ask(Shape::Count(Table::P, Filter::default())), rows(&[&[3, 70]]));
    assert_eq!(ask(Shape::Join(Table::C, Table::P, Filter::id(2))), rows(&[&[2, 21, 2, 20]]));
    assert_eq!(ask(Shape::Anti(Table::C, Table::P, Filter::default())), rows(&[&[3, 31]]));
    assert_eq!(ask(Shape::Left(Table::C, Table::P, Filter::id(3))), Ok(vec![vec![Some(3), Some(31), None]]));
    assert_eq!(ask(Shape::View(Filter::default())), rows(&[&[1, 11], &[2, 21], &[3, 31]]));
    assert_eq!(ask(Shape::Top(Table::C, Filter::default(), 1)), rows(&[&[4, 41]]));
}

#[test]
fn a_table_that_is_away_is_an_error() {
    let mut db = db();
    db.apply(&Change::Away(true));
    assert_eq!(Query::new(Shape::Rows(Table::R, Filter::id(1))).ask(&db), Err(NO_SUCH_TABLE));
    assert!(Query::new(Shape::Rows(Table::C, Filter::id(1))).ask(&db).is_ok());
}

#[test]
fn texts_have_literals_or_placeholders() {
    let filter = Filter(vec![(On::Column(Column::N), Condition::Is(1)), (On::Id, Condition::Below(3))]);
    let query = Query::new(Shape::Rows(Table::P, filter));
    assert_eq!(query.text(), "SELECT id, v FROM p WHERE n = 'Apricot' AND id < 3");
    assert_eq!(query.prepared().text, "SELECT id, v FROM p WHERE n = ? AND id < ?");
    assert_eq!(query.prepared().parameters.as_ref().map(Vec::len), Some(2));
}

#[test]
fn the_same_seed_draws_the_same_questions() {
    let texts =
        |seed| Query::pool(&mut Dice::new(seed), 50).iter().map(|q| q.text().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
    assert_eq!(texts(1).len(), 50);
}
