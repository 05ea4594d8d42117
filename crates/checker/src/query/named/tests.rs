use std::sync::atomic::AtomicI64;

use crate::dice::Dice;
use crate::model::Db;
use crate::query::Query;
use crate::workload::Kind;

/// Whatever a write changes of an answer, its text says that it may.
#[test]
fn a_write_that_changes_an_answer_may_change_it() {
    let mut dice = Dice::new(7);
    let versions = AtomicI64::new(1);
    let pool = Query::pool(&mut dice, 100);
    let mut db = Db::default();
    let mut changed = 0;
    for _ in 0..1_000 {
        let kind = Kind::draw(&mut dice, false);
        let plan = kind.plan(&mut dice, &db, &versions);
        let mut after = db;
        plan.changes.iter().for_each(|change| after.apply(change));
        for query in pool.iter().filter(|query| query.ask(&db) != query.ask(&after)) {
            changed += 1;
            let may = plan.told.iter().any(|told| query.may_be_changed_by(told, &db));
            assert!(may, "{:?} changes {}", plan.statements, query.text());
        }
        db = after;
    }
    assert!(changed > 500, "{changed}");
}
