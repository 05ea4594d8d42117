//! What a sink is told, in which order, and that its transactions are published after it.

use freshet_protocol::binlog::{Field, Value};

use super::*;

/// Notes what it is told.
struct Recorder {
    freshness: Arc<Freshness>,
    told: Vec<String>,
}

impl Recorder {
    fn note(&mut self, what: &str, at: Position) {
        let published = if self.freshness.applied() < at { "" } else { ", too late" };
        self.told.push(format!("{what}{published}"));
    }
}

fn shown(row: Option<&[Field<'_>]>) -> String {
    let ints = row.unwrap_or_default().iter().map(|field| match field {
        Field::Value(Value::Int(value)) => value.to_string(),
        _ => "?".to_owned(),
    });
    ints.collect::<Vec<_>>().join(" ")
}

impl ChangeSink for Recorder {
    fn reach(&mut self, _at: Position) {}

    fn change(&mut self, change: &StreamChange<'_>, at: Position) {
        let StreamChange::Rows(rows) = change else {
            return self.note(&format!("{change:?}"), at);
        };
        let (schema, table) = rows.table;
        rows.each(|row| {
            let (before, after) = (shown(row.before), shown(row.after));
            self.note(&format!("row of {schema}.{table}: [{before}] becomes [{after}]"), at);
            Some(())
        })
        .unwrap();
    }

    fn ended(&mut self, ending: TransactionEnd, at: Position) {
        self.note(&format!("{ending:?}"), at);
    }

    fn forget(&mut self, above: Position) {
        self.note("forget", above);
    }
}

/// Returns what is told of these events, one transaction after another.
fn told(flavor: Flavor, bodies: Vec<EventBody>) -> Vec<String> {
    told_with(0, flavor, bodies)
}

/// The same of events with these flags.
fn told_with(flags: u16, flavor: Flavor, bodies: Vec<EventBody>) -> Vec<String> {
    let known = known();
    let freshness = Arc::new(Freshness::with_hash_seed(7));
    let mut timeline = Timeline::after(Position::ZERO);
    timeline.rotate(b"bin.000001", 4).unwrap();
    let stream = StreamTraits { flavor, needs_gtids: flavor == Flavor::MySql, folds_names: false };
    let recorder = Recorder { freshness: Arc::clone(&freshness), told: Vec::new() };
    let mut applier = Applier::new(freshness, &known, recorder, stream, timeline);
    for (body, number) in bodies.into_iter().zip(1..) {
        let header =
            EventHeader { timestamp: 1, kind: 0, server_id: 1, size: 100, end_pos: 100 * number, flags };
        applier.apply(Event { header, body }).unwrap();
    }
    applier.sink.told
}

fn any_rows(table: &str) -> String {
    format!("AnyRows((\"s\", \"{table}\"))")
}

#[test]
fn a_transaction_is_its_rows_and_its_end() {
    let bodies = vec![
        gtid(1),
        query("BEGIN"),
        rows::map_of_one("t"),
        rows::insert_of_one(),
        rows::map_of_one("t"),
        rows::update_of_one(),
        EventBody::Xid,
    ];
    let expected = ["row of s.t: [] becomes [1 ? 1]", "row of s.t: [1 ? 1] becomes [2 ? 1]", "Committed"];
    assert_eq!(told(Flavor::MySql, bodies), expected);
}

#[test]
fn an_xa_transaction_is_told_when_it_is_prepared_and_as_a_whole_when_it_is_committed() {
    let xid = Xid { format: 1, global: b"x".to_vec(), branch: Vec::new() };
    let bodies = vec![
        gtid(1),
        query("XA START X'78',X'',1"),
        rows::map_of_one("t"),
        rows::insert_of_one(),
        query("XA END X'78',X'',1"),
        EventBody::XaPrepare { xid, one_phase: false },
        gtid(2),
        query("XA COMMIT X'78',X'',1"),
    ];
    let expected = [
        "row of s.t: [] becomes [1 ? 1]".to_owned(),
        "Prepared".to_owned(),
        any_rows("t"),
        "Committed".to_owned(),
    ];
    assert_eq!(told(Flavor::MySql, bodies), expected);
}

#[test]
fn a_definition_is_told_after_the_rows_that_it_may_change() {
    let bodies = vec![gtid(1), query("ALTER TABLE s.t DROP PRIMARY KEY")];
    let expected = [any_rows("t"), "Unlinked([(\"s\", \"t\")])".to_owned(), "Committed".to_owned()];
    assert_eq!(told(Flavor::MySql, bodies), expected);
}

#[test]
fn a_definition_that_keeps_rows_is_told_with_what_it_does_to_columns() {
    let alters = || query("ALTER TABLE s.t ADD INDEX (b)");
    let altered = ["AnyMerged", "Altered((\"s\", \"t\"), Alteration { steps: [] })", "Committed"];
    assert_eq!(told(Flavor::MySql, vec![gtid(1), alters()]), altered);
    assert_eq!(told(Flavor::MariaDb, vec![mariadb_gtid(1, true, false), alters()]), altered);
    // One that is written when it begins, and once more when it ends, takes effect in between; so may one that ended with an error.
    let EventBody::Gtid(begins) = mariadb_gtid(1, true, false) else { panic!("a GTID") };
    let begins = EventBody::Gtid(GtidEvent { in_two_phases: true, ..begins });
    let whole = [any_rows("t"), "Unlinked([(\"s\", \"t\")])".to_owned(), "Committed".to_owned()];
    assert_eq!(told(Flavor::MariaDb, vec![begins, alters()]), whole);
    let mut failed = alters();
    if let EventBody::Query { error_code, .. } = &mut failed {
        *error_code = 1317;
    }
    assert_eq!(told(Flavor::MySql, vec![gtid(1), failed]), whole);
    // Nor is it known which table is meant where temporary ones are used.
    assert_eq!(told_with(4, Flavor::MySql, vec![gtid(1), alters()]), whole);
}

#[test]
fn an_unknown_event_is_anything_and_the_end_of_what_is_left_open_is_unclear() {
    let bodies = vec![gtid(1), query("BEGIN"), EventBody::Unknown, gtid(2)];
    assert_eq!(told(Flavor::MySql, bodies), ["Anything", "Unclear"]);
    let cut_off = vec![
        mariadb_gtid(1, false, false),
        rows::map_of_one("t"),
        rows::insert_of_one(),
        EventBody::Rotate { file: b"bin.000002".to_vec(), position: 4 },
    ];
    assert_eq!(told(Flavor::MariaDb, cut_off), ["row of s.t: [] becomes [1 ? 1]", "Unclear"]);
    let rolled_back =
        vec![mariadb_gtid(1, false, false), rows::map_of_one("t"), rows::insert_of_one(), query("ROLLBACK")];
    assert_eq!(told(Flavor::MariaDb, rolled_back), ["row of s.t: [] becomes [1 ? 1]", "Unclear"]);
}

#[test]
fn a_pair_of_sinks_forgets_together_and_the_first_one_stamps_everything() {
    let freshness = Arc::new(Freshness::with_hash_seed(7));
    let watches = Arc::new(Watches::new(Arc::clone(&freshness)));
    let recorder = Recorder { freshness: Arc::clone(&freshness), told: Vec::new() };
    let mut pair = (Stamps::new(Arc::clone(&freshness), watches), recorder);
    pair.forget(Position::new(9));
    assert_eq!(freshness.stamp_of(Dep::EVERYTHING), Position::new(9));
    assert_eq!(pair.1.told, ["forget"]);
}
