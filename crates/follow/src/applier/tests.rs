use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use freshet_cache::Dep;
use freshet_catalog::rows::Watches;
use freshet_catalog::{ColumnInfo, Descendants, ForeignKey, Name};
use freshet_protocol::binlog::{self, Decoder, EventHeader, GtidEvent, Xid};

use super::*;
use crate::stamps::Stamps;

mod rows;
mod sink;

/// Definitions as a table; what was told is counted.
#[derive(Default)]
struct Known {
    descendants: RefCell<Option<HashMap<Name, Vec<Name>>>>,
    /// Updates of these columns lead there; `None`: of any.
    referenced: RefCell<Option<Vec<String>>>,
    layout: RefCell<Option<Arc<[ColumnInfo]>>>,
    /// Those that are among the descendants because it is not known what leads to them.
    changed: RefCell<Vec<Name>>,
    /// The keys that lead to the descendants, if they are known.
    keys: RefCell<Option<Vec<ForeignKey>>>,
    changes: Cell<u32>,
    accounts: Cell<u32>,
}

impl DefinitionSource for &Known {
    fn descendants(&self, schema: &str, table: &str) -> Option<Arc<Descendants>> {
        let graph = self.descendants.borrow();
        let all = graph.as_ref()?.get(&name(schema, table)).cloned().unwrap_or_default();
        let on_update = vec![(self.referenced.borrow().clone(), all.clone())];
        let by_keys = all.iter().filter(|name| !self.changed.borrow().contains(name)).cloned().collect();
        let parent = name(schema, table);
        let of_table = |keys: &Vec<ForeignKey>| {
            keys.iter().filter(|key| key.parent == parent).cloned().collect::<Vec<_>>()
        };
        Some(Arc::new(Descendants {
            on_delete: all.clone(),
            on_update,
            by_keys,
            keys: self.keys.borrow().as_ref().map(of_table),
            all,
        }))
    }

    fn layout(&self, _schema: &str, _table: &str, _at: Position) -> Option<Arc<[ColumnInfo]>> {
        self.layout.borrow().clone()
    }
}

impl ChangeSink for &Known {
    fn reach(&mut self, _at: Position) {}

    fn change(&mut self, change: &StreamChange<'_>, _at: Position) {
        self.changes.set(self.changes.get() + u32::from(change.of_definitions().is_some()));
        self.accounts.set(self.accounts.get() + u32::from(change.concerns_accounts()));
    }

    fn ended(&mut self, _ending: TransactionEnd, _at: Position) {}

    fn forget(&mut self, _above: Position) {}
}

fn name(schema: &str, table: &str) -> Name {
    (schema.to_owned(), table.to_owned())
}

fn known() -> Known {
    Known { descendants: RefCell::new(Some(HashMap::new())), ..Known::default() }
}

struct Stream<'a> {
    applier: Applier<&'a Known, (Stamps, &'a Known)>,
    watches: Arc<Watches>,
    end_pos: u32,
}

impl<'a> Stream<'a> {
    fn new(known: &'a Known, flavor: Flavor) -> Self {
        let mut timeline = Timeline::after(Position::ZERO);
        timeline.rotate(b"bin.000001", 4).unwrap();
        let stream = StreamTraits { flavor, needs_gtids: flavor == Flavor::MySql, folds_names: false };
        let freshness = Arc::new(Freshness::with_hash_seed(7));
        let watches = Arc::new(Watches::new(Arc::clone(&freshness)));
        let stamps = Stamps::new(Arc::clone(&freshness), Arc::clone(&watches));
        let applier = Applier::new(freshness, known, (stamps, known), stream, timeline);
        Self { applier, watches, end_pos: 4 }
    }

    fn feed(&mut self, body: EventBody) -> Result<Progress, Broken> {
        self.feed_kind(0, body)
    }

    fn feed_kind(&mut self, kind: u8, body: EventBody) -> Result<Progress, Broken> {
        self.end_pos += 100;
        let header =
            EventHeader { timestamp: 1, kind, server_id: 1, size: 100, end_pos: self.end_pos, flags: 0 };
        self.applier.apply(Event { header, body })
    }

    fn all(&mut self, bodies: Vec<EventBody>) -> Progress {
        let mut last = Progress::Inside;
        for body in bodies {
            last = self.feed(body).unwrap();
        }
        last
    }

    fn freshness(&self) -> &Freshness {
        &self.applier.freshness
    }

    fn applied(&self) -> Position {
        self.freshness().applied()
    }

    fn rows_stamp(&self, table: &str) -> Position {
        self.freshness().stamp_of(self.freshness().table("s", table).rows)
    }

    fn everything(&self) -> Position {
        self.freshness().stamp_of(Dep::EVERYTHING)
    }
}

fn gtid(gno: u64) -> EventBody {
    EventBody::Gtid(GtidEvent {
        gtid: Gtid::MySql { uuid: [1; 16], tag: String::new(), gno },
        standalone: false,
        xid: None,
        prepared_xa: false,
        completed_xa: false,
        in_two_phases: false,
        ddl: false,
    })
}

fn mariadb_gtid(seq: u64, standalone: bool, prepared_xa: bool) -> EventBody {
    let gtid = Gtid::MariaDb { domain: 0, server: 1, seq };
    EventBody::Gtid(GtidEvent {
        gtid,
        standalone,
        xid: None,
        prepared_xa,
        completed_xa: false,
        ddl: false,
        in_two_phases: false,
    })
}

fn query(text: &str) -> EventBody {
    query_in_mode(text, 0)
}

fn query_in_mode(text: &str, sql_mode: u64) -> EventBody {
    EventBody::Query {
        schema: b"s".to_vec(),
        text: text.as_bytes().to_vec(),
        thread_id: 1,
        error_code: 0,
        sql_mode: Some(sql_mode),
        client_collation: None,
    }
}

/// Decoded from the bytes of an event for a table without columns.
fn table_map_of(schema: &[u8], table: &[u8]) -> EventBody {
    let mut body = vec![1, 0, 0, 0, 0, 0, 1, 0];
    for name in [schema, table] {
        body.push(name.len() as u8);
        body.extend_from_slice(name);
        body.push(0);
    }
    body.extend_from_slice(&[0, 0]);
    let size = (EventHeader::LEN + body.len()) as u8;
    let mut event = vec![1, 0, 0, 0, 19, 1, 0, 0, 0, size, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    event.extend_from_slice(&body);
    Decoder::new(binlog::BinlogFlavor::MySql).event(&event).unwrap().body
}

fn table_map_in(schema: &str, table: &str) -> EventBody {
    table_map_of(schema.as_bytes(), table.as_bytes())
}

fn table_map(table: &str) -> EventBody {
    table_map_in("s", table)
}

fn ended(step: &Progress) -> Position {
    match step {
        Progress::Ended { at, .. } => *at,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_transaction_is_published_at_its_end_and_stamped_before() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let before = stream.applied();
    for body in [gtid(1), query("BEGIN"), rows::map_of_one("t"), rows::insert_of_one()] {
        assert_eq!(stream.feed(body).unwrap(), Progress::Inside);
    }
    assert!(stream.rows_stamp("t") > before);
    assert_eq!(stream.applied(), before);
    let step = stream.feed(EventBody::Xid).unwrap();
    assert_eq!(stream.applied(), ended(&step));
    assert!(stream.rows_stamp("t") <= stream.applied());
    assert_eq!(stream.everything(), Position::ZERO);
    assert!(matches!(step, Progress::Ended { gtid: Some(Gtid::MySql { gno: 1, .. }), .. }));
}

#[test]
fn each_server_ends_its_transactions_in_its_own_way() {
    let known = known();
    for (flavor, bodies) in [
        (Flavor::MySql, vec![gtid(1), query("CREATE TABLE s.t (a INT)")]),
        (Flavor::MySql, vec![gtid(1), query("BEGIN"), table_map("t"), query("COMMIT")]),
        (Flavor::MariaDb, vec![mariadb_gtid(1, true, false), query("CREATE TABLE s.t (a INT)")]),
        (Flavor::MariaDb, vec![mariadb_gtid(1, false, false), table_map("t"), EventBody::Xid]),
        (Flavor::MariaDb, vec![mariadb_gtid(1, false, false), table_map("t"), query("COMMIT")]),
        (Flavor::MariaDb, vec![mariadb_gtid(1, false, false), table_map("t"), query("ROLLBACK")]),
    ] {
        let mut stream = Stream::new(&known, flavor);
        let count = bodies.len();
        for (index, body) in bodies.into_iter().enumerate() {
            let step = stream.feed(body).unwrap();
            assert_eq!(matches!(step, Progress::Ended { .. }), index + 1 == count, "{flavor:?} {index}");
        }
    }
}

#[test]
fn a_savepoint_does_not_end_a_transaction() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let step = stream.all(vec![gtid(1), query("BEGIN"), query("SAVEPOINT `x`"), query("ROLLBACK TO `x`")]);
    assert_eq!(step, Progress::Inside);
}

#[test]
fn descendants_are_stamped_on_the_table_map_alone() {
    let known = known();
    let graph = HashMap::from([(name("s", "parent"), vec![name("s", "child")])]);
    known.descendants.replace(Some(graph));
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("BEGIN"), table_map("parent"), EventBody::Xid]);
    assert!(stream.rows_stamp("child") > Position::ZERO);
    assert_eq!(stream.everything(), Position::ZERO);
}

#[test]
fn unknown_descendants_are_everything() {
    let known = Known::default();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("BEGIN"), table_map("t"), EventBody::Xid]);
    assert!(stream.everything() > Position::ZERO);
}

#[test]
fn a_definition_stamps_itself_and_its_rows_and_is_told() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("ALTER TABLE s.t ADD COLUMN b INT")]);
    let deps = stream.freshness().table("s", "t");
    assert!(stream.freshness().stamp_of(deps.definition) > Position::ZERO);
    assert!(stream.freshness().stamp_of(deps.rows) > Position::ZERO);
    assert_eq!(known.changes.get(), 1);
}

#[test]
fn a_routine_is_stamped_under_a_name_of_its_own_and_is_told() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("CREATE DEFINER=`a`@`%` PROCEDURE `s`.`P`() DELETE FROM t")]);
    let stamp = |stream: &Stream<'_>, name| {
        stream.freshness().stamp_of(stream.freshness().table("s", name).definition)
    };
    assert_eq!(stamp(&stream, "p()"), stream.applied());
    assert!(stamp(&stream, "P") < stream.applied() && stream.everything() < stream.applied());
    assert_eq!(known.changes.get(), 1);
    stream.all(vec![gtid(2), query("DROP PROCEDURE IF EXISTS `s`.`p`")]);
    assert_eq!((stamp(&stream, "p()"), known.changes.get()), (stream.applied(), 2));
    stream.all(vec![gtid(3), query("CREATE FUNCTION f RETURNS STRING SONAME 'f.so'")]);
    assert_eq!(stream.everything(), stream.applied());
}

#[test]
fn an_accounts_rights_are_its_own_and_those_of_all_who_read_by_others() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("GRANT SELECT ON s.* TO 'A'@'%'")]);
    let freshness = stream.freshness();
    let stamps = [freshness.account("a"), Dep::ACCOUNTS].map(|dep| freshness.stamp_of(dep));
    assert_eq!(stamps, [stream.applied(); 2]);
    assert_eq!(freshness.stamp_of(freshness.account("b")), Position::ZERO);
    assert_eq!((stream.everything(), known.accounts.get()), (Position::ZERO, 1));
}

#[test]
fn all_accounts_and_the_system_schema_are_everything() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("FLUSH PRIVILEGES")]);
    let first = stream.everything();
    assert!(first > Position::ZERO && known.accounts.get() == 1);
    stream.all(vec![gtid(2), query("BEGIN"), table_map_in("mysql", "user"), EventBody::Xid]);
    assert!(stream.everything() > first && known.accounts.get() == 2);
    let second = stream.everything();
    stream.all(vec![gtid(3), query("BEGIN"), table_map_in("mysql", "rds_heartbeat2"), EventBody::Xid]);
    assert_eq!(stream.everything(), second);
}

#[test]
fn what_is_not_understood_is_everything() {
    let known = known();
    for body in [
        EventBody::Incident,
        EventBody::Unknown,
        query("some text that is not SQL"),
        query_in_mode("ALTER TABLE \"t\" ADD b INT", LEXING_MODE),
        table_map_of(b"s", b"\xFF"),
    ] {
        let mut stream = Stream::new(&known, Flavor::MySql);
        stream.all(vec![gtid(1), query("BEGIN"), body]);
        assert!(stream.everything() > Position::ZERO);
    }
}

const LEXING_MODE: u64 = 4;

#[test]
fn xa_stamps_once_more_at_its_commit() {
    let known = known();
    let xid = Xid { format: 1, global: b"x".to_vec(), branch: Vec::new() };
    let mut stream = Stream::new(&known, Flavor::MySql);
    let prepare = EventBody::XaPrepare { xid, one_phase: false };
    let step = stream.all(vec![
        gtid(1),
        query("XA START X'78',X'',1"),
        table_map("t"),
        query("XA END X'78',X'',1"),
        prepare,
    ]);
    let prepared = ended(&step);
    assert!(stream.rows_stamp("t") <= prepared);
    let step = stream.all(vec![gtid(2), query("XA COMMIT X'78',X'',1")]);
    assert!(stream.rows_stamp("t") > prepared);
    assert!(stream.rows_stamp("t") <= ended(&step));
    assert_eq!(stream.everything(), Position::ZERO);
}

#[test]
fn xa_of_mariadb_and_rollback() {
    let known = known();
    let xid = Xid { format: 1, global: b"x".to_vec(), branch: Vec::new() };
    let mut stream = Stream::new(&known, Flavor::MariaDb);
    let prepare = EventBody::XaPrepare { xid, one_phase: false };
    stream.all(vec![mariadb_gtid(1, false, true), table_map("t"), prepare]);
    let stamp = stream.rows_stamp("t");
    let step = stream.all(vec![mariadb_gtid(2, true, false), query("XA ROLLBACK X'78',X'',1")]);
    assert!(matches!(step, Progress::Ended { .. }));
    assert_eq!(stream.rows_stamp("t"), stamp, "nobody ever saw it");
    assert_eq!(stream.everything(), Position::ZERO);
}

#[test]
fn the_commit_of_an_xa_that_is_not_known_is_everything() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("XA COMMIT X'78',X'',1")]);
    assert!(stream.everything() > Position::ZERO);
}

#[test]
fn a_payload_is_a_whole_transaction() {
    let known = known();
    let inner = |body| Event {
        header: EventHeader { timestamp: 1, kind: 0, server_id: 1, size: 1, end_pos: 0, flags: 0 },
        body,
    };
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.feed(gtid(1)).unwrap();
    let events = vec![inner(query("BEGIN")), inner(table_map("t")), inner(EventBody::Xid)];
    let step = stream.feed_kind(40, EventBody::Transaction(events)).unwrap();
    assert_eq!(stream.rows_stamp("t"), ended(&step));
    stream.feed(gtid(2)).unwrap();
    let step = stream.feed_kind(40, EventBody::Unknown).unwrap();
    assert_eq!(stream.everything(), ended(&step), "one that cannot be unpacked");
}

#[test]
fn a_transaction_whose_end_is_not_known_ends_where_the_next_begins() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("BEGIN"), table_map("t")]);
    let step = stream.feed(gtid(2)).unwrap();
    assert!(matches!(step, Progress::Ended { gtid: Some(Gtid::MySql { gno: 1, .. }), .. }));
}

#[test]
fn heartbeats_and_rotations_are_published_between_transactions_only() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let beat = |position| EventBody::Heartbeat { file: b"bin.000001".to_vec(), position };
    assert!(matches!(stream.feed(beat(104)).unwrap(), Progress::Passed(at) if at == stream.applied()));
    stream.all(vec![gtid(1), query("BEGIN"), table_map("t")]);
    let before = stream.applied();
    assert_eq!(stream.feed(beat(604)).unwrap(), Progress::Inside);
    assert_eq!(stream.applied(), before);
    stream.feed(EventBody::Xid).unwrap();
    stream.end_pos = 0;
    let step = stream.feed(EventBody::Rotate { file: b"bin.000002".to_vec(), position: 4 }).unwrap();
    assert!(matches!(step, Progress::Passed(at) if at == stream.applied() && at > before));
}

#[test]
fn a_transaction_without_gtid_breaks_a_stream_that_needs_them() {
    let known = known();
    assert_eq!(Stream::new(&known, Flavor::MySql).feed(EventBody::AnonymousGtid), Err(Broken::Anonymous));
    assert_eq!(Stream::new(&known, Flavor::MariaDb).feed(EventBody::AnonymousGtid), Ok(Progress::Inside));
}

#[test]
fn a_change_that_stands_nowhere_is_stamped_above_what_was_published() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.all(vec![gtid(1), query("BEGIN"), EventBody::Xid]);
    let published = stream.applied();
    let header = EventHeader { timestamp: 0, kind: 99, server_id: 1, size: 20, end_pos: 0, flags: 0x20 };
    stream.applier.apply(Event { header, body: EventBody::Unknown }).unwrap();
    assert!(stream.everything() > published);
}

#[test]
fn names_are_folded_where_the_server_folds_them() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    stream.applier.stream.folds_names = true;
    stream.all(vec![gtid(1), query("BEGIN"), table_map("T"), EventBody::Xid]);
    assert!(stream.rows_stamp("t") > Position::ZERO);
}
