//! Changes of rows, as the bytes of events.

use freshet_catalog::rows::samples::{INT, column, spec, table, table_of, text};
use freshet_catalog::rows::{Values, Watch, WatchSpec};
use freshet_catalog::{Acts, ForeignKey, OnDelete, OnUpdate};
use freshet_sql::{Condition, Datum};

use super::*;

const WRITE_ROWS: u8 = 23;
const UPDATE_ROWS: u8 = 24;
const DELETE_ROWS: u8 = 25;
const INT_KIND: u8 = 3;
const VARCHAR_KIND: u8 = 15;

/// The columns of `samples::table`.
const KINDS: [u8; 3] = [INT_KIND, VARCHAR_KIND, INT_KIND];

#[derive(Clone, Copy)]
enum Logged {
    Absent,
    Null,
    Int(i32),
    Text(&'static str),
}
use Logged::{Absent, Int, Null, Text};

type Row<'a> = &'a [Logged];

fn event(kind: u8, body: &[u8]) -> EventBody {
    let size = u32::try_from(EventHeader::LEN + body.len()).unwrap();
    let mut event = vec![1, 0, 0, 0, kind, 1, 0, 0, 0];
    event.extend_from_slice(&size.to_le_bytes());
    event.extend_from_slice(&[0; 6]);
    event.extend_from_slice(body);
    Decoder::new(binlog::BinlogFlavor::MariaDb).event(&event).unwrap().body
}

fn map(id: u8, table: &str, kinds: &[u8]) -> EventBody {
    let mut body = vec![id, 0, 0, 0, 0, 0, 1, 0, 1, b's', 0];
    body.push(u8::try_from(table.len()).unwrap());
    body.extend_from_slice(table.as_bytes());
    body.push(0);
    body.push(u8::try_from(kinds.len()).unwrap());
    body.extend_from_slice(kinds);
    let metas: Vec<u8> = kinds.iter().filter(|kind| **kind == VARCHAR_KIND).flat_map(|_| [20, 0]).collect();
    body.push(u8::try_from(metas.len()).unwrap());
    body.extend_from_slice(&metas);
    body.push(0xFF);
    event(19, &body)
}

fn bitmap(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let bits: Vec<bool> = bits.collect();
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
}

fn image(row: Row<'_>) -> Vec<u8> {
    let present = row.iter().filter(|cell| !matches!(cell, Absent));
    let mut image = bitmap(present.clone().map(|cell| matches!(cell, Null)));
    for cell in present {
        match cell {
            Int(value) => image.extend_from_slice(&value.to_le_bytes()),
            Text(text) => {
                image.push(u8::try_from(text.len()).unwrap());
                image.extend_from_slice(text.as_bytes());
            }
            Absent | Null => {}
        }
    }
    image
}

/// A table is announced that gets one row.
pub(super) fn map_of_one(table: &str) -> EventBody {
    map(7, table, &KINDS)
}

/// Its row.
pub(super) fn insert_of_one() -> EventBody {
    rows_of(7, WRITE_ROWS, &[&[Int(1), Null, Int(1)]], true)
}

/// Its key changes.
pub(super) fn update_of_one() -> EventBody {
    rows_of(7, UPDATE_ROWS, &[&[Int(1), Null, Int(1)], &[Int(2), Null, Int(1)]], true)
}

fn rows_of(id: u8, kind: u8, images: &[Row<'_>], is_last: bool) -> EventBody {
    let mut body = vec![id, 0, 0, 0, 0, 0, u8::from(is_last), 0];
    body.push(u8::try_from(images[0].len()).unwrap());
    let bitmaps = if kind == UPDATE_ROWS { 2 } else { 1 };
    for row in &images[..bitmaps] {
        body.extend(bitmap(row.iter().map(|cell| !matches!(cell, Absent))));
    }
    images.iter().for_each(|row| body.extend(image(row)));
    event(kind, &body)
}

fn inserted(row: Row<'_>) -> EventBody {
    rows_of(7, WRITE_ROWS, &[row], true)
}

fn updated(before: Row<'_>, after: Row<'_>) -> EventBody {
    rows_of(7, UPDATE_ROWS, &[before, after], true)
}

fn deleted(row: Row<'_>) -> EventBody {
    rows_of(7, DELETE_ROWS, &[row], true)
}

impl Stream<'_> {
    fn watch(&self, spec: &WatchSpec) -> Arc<Watch> {
        self.watches.watch(&table(), spec).unwrap()
    }

    /// One transaction on `s.t`. Gives back what was applied before it.
    fn change(&mut self, rows: EventBody) -> Position {
        let before = self.applied();
        self.all(vec![gtid(1), query("BEGIN"), map(7, "t", &KINDS), rows, EventBody::Xid]);
        before
    }

    fn slot(watch: &Watch, condition: Condition) -> Dep {
        watch.deps_of_reading(&[condition], Values::default()).unwrap()[0]
    }

    fn is_stamped(&self, dep: Dep, since: Position) -> bool {
        self.freshness().stamp_of(dep) > since
    }
}

fn equals(value: i128) -> Condition {
    Condition::OneOf(vec![Datum::Int(value)])
}

fn between(low: i128, high: i128) -> Condition {
    Condition::Between { low: Some((Datum::Int(low), true)), high: Some((Datum::Int(high), true)) }
}

#[test]
fn a_change_stamps_the_keys_that_the_row_had_and_has() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[0], None, None));
    let slots: Vec<Dep> = (0..5).map(|key| Stream::slot(&watch, equals(key))).collect();
    for (rows, stamped) in [
        (inserted(&[Int(1), Text("x"), Int(1)]), vec![1]),
        (deleted(&[Int(2), Text("x"), Int(1)]), vec![2]),
        (updated(&[Int(3), Text("x"), Int(1)], &[Int(4), Text("x"), Int(1)]), vec![3, 4]),
        (updated(&[Int(3), Text("x"), Int(1)], &[Int(3), Text("y"), Int(1)]), vec![3]),
    ] {
        let before = stream.change(rows);
        for (key, slot) in slots.iter().enumerate() {
            assert_eq!(stream.is_stamped(*slot, before), stamped.contains(&key), "{key} of {stamped:?}");
        }
        assert!(!stream.is_stamped(watch.any(), before) && stream.rows_stamp("t") > before);
        assert_eq!(stream.everything(), Position::ZERO);
    }
}

#[test]
fn an_update_concerns_those_who_read_what_it_changes() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let reads_c = stream.watch(&spec(&[0], None, Some(&[2])));
    let reads_all = stream.watch(&spec(&[0], None, None));
    let counts = stream.watch(&spec(&[], None, Some(&[])));
    let slots = [&reads_c, &reads_all].map(|watch| Stream::slot(watch, equals(1)));
    let before = stream.change(updated(&[Int(1), Text("x"), Int(1)], &[Int(1), Text("y"), Int(1)]));
    assert!(!stream.is_stamped(slots[0], before) && stream.is_stamped(slots[1], before));
    assert!(!stream.is_stamped(counts.any(), before));
    let before = stream.change(updated(&[Int(1), Text("x"), Int(1)], &[Int(1), Text("x"), Int(2)]));
    assert!(stream.is_stamped(slots[0], before));
    let before = stream.change(deleted(&[Int(1), Text("x"), Int(1)]));
    assert!(stream.is_stamped(slots[0], before) && stream.is_stamped(counts.any(), before));
}

#[test]
fn what_has_no_key_is_any() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[1], None, None));
    let slot = Stream::slot(&watch, Condition::OneOf(vec![Datum::Text(b"ab".to_vec())]));
    let null = Stream::slot(&watch, Condition::IsNull);
    let before = stream.change(inserted(&[Int(1), Text("AB "), Int(1)]));
    assert!(stream.is_stamped(slot, before) && !stream.is_stamped(watch.any(), before));
    let before = stream.change(inserted(&[Int(1), Null, Int(1)]));
    assert!(stream.is_stamped(null, before) && !stream.is_stamped(slot, before));
    assert!(!stream.is_stamped(watch.any(), before));
    let before = stream.change(inserted(&[Int(1), Text("\u{e1}"), Int(1)]));
    assert!(stream.is_stamped(watch.any(), before));
}

#[test]
fn ranges_are_stamped_on_the_levels_in_use() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[], Some(0), None));
    let reading = |low, high| watch.deps_of_reading(&[between(low, high)], Values::default()).unwrap();
    let (near, far) = (reading(-100, 1_000), reading(5_000, 9_999_999));
    let hit =
        |stream: &Stream<'_>, deps: &[Dep], since| deps.iter().any(|dep| stream.is_stamped(*dep, since));
    for (value, is_near, is_far) in
        [(-100, true, false), (1_000, true, false), (7_777, false, true), (3_000, false, false)]
    {
        let before = stream.change(inserted(&[Int(value), Null, Int(1)]));
        assert_eq!(hit(&stream, &near, before), is_near, "{value}");
        assert_eq!(hit(&stream, &far, before), is_far, "{value}");
        assert!(!stream.is_stamped(watch.any(), before));
    }
}

#[test]
fn prefixes_are_stamped_in_the_lengths_in_use() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[], Some(1), None));
    let starts =
        |text: &str| Stream::slot(&watch, Condition::Like(Datum::Text(format!("{text}%").into_bytes())));
    let (ab, abc, b, any) = (starts("ab"), starts("Abc"), starts("b"), starts("%d"));
    let before = stream.change(inserted(&[Int(1), Text("ABCD"), Int(1)]));
    assert!(stream.is_stamped(ab, before) && stream.is_stamped(abc, before) && !stream.is_stamped(b, before));
    assert!(stream.is_stamped(any, before));
    let before = stream.change(inserted(&[Int(1), Text("ab"), Int(1)]));
    assert!(stream.is_stamped(ab, before) && !stream.is_stamped(abc, before));
}

#[test]
fn images_may_leave_columns_out() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let by_a = stream.watch(&spec(&[0], None, Some(&[2])));
    let by_c = stream.watch(&spec(&[2], None, None));
    let slots: Vec<Dep> = (0..3).map(|key| Stream::slot(&by_a, equals(key))).collect();
    // The key is in the image before only, and has not changed.
    let before = stream.change(updated(&[Int(1), Absent, Absent], &[Absent, Absent, Int(5)]));
    assert!(stream.is_stamped(slots[1], before) && !stream.is_stamped(by_a.any(), before));
    assert!(stream.is_stamped(by_c.any(), before), "what it was before is not known");
    // What is read has not changed.
    let before = stream.change(updated(&[Int(1), Absent, Absent], &[Absent, Text("x"), Absent]));
    assert!(!stream.is_stamped(slots[1], before) && !stream.is_stamped(by_a.any(), before));
    assert!(stream.is_stamped(by_c.any(), before), "it reads everything");
    // A default that is not told.
    let before = stream.change(inserted(&[Absent, Text("x"), Int(1)]));
    assert!(stream.is_stamped(by_a.any(), before) && !stream.is_stamped(by_c.any(), before));
}

#[test]
fn a_computed_column_that_is_left_out_may_have_changed() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let mut columns = vec![column("a", INT), column("b", text()), column("c", INT)];
    columns[2].generated = true;
    let table = table_of("t", columns);
    let watch = stream.watches.watch(&table, &spec(&[0], None, Some(&[2]))).unwrap();
    let slot = Stream::slot(&watch, equals(1));
    let before = stream.change(updated(&[Int(1), Absent, Absent], &[Absent, Text("x"), Absent]));
    assert!(stream.is_stamped(slot, before));
}

#[test]
fn rows_of_another_layout_are_any() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[0], None, None));
    let slot = Stream::slot(&watch, equals(1));
    let wider = rows_of(7, WRITE_ROWS, &[&[Int(1), Null, Int(1), Int(1)]], true);
    let before = stream.applied();
    stream.all(vec![gtid(1), query("BEGIN"), map(7, "t", &[3, 15, 3, 3]), wider, EventBody::Xid]);
    assert!(stream.is_stamped(watch.any(), before));
    // A number where there was a text, and the other way round.
    let other = rows_of(7, WRITE_ROWS, &[&[Text("1"), Int(1), Int(1)]], true);
    let before = stream.applied();
    stream.all(vec![gtid(1), query("BEGIN"), map(7, "t", &[15, 3, 3]), other, EventBody::Xid]);
    assert!(stream.is_stamped(watch.any(), before) && !stream.is_stamped(slot, before));
}

#[test]
fn rows_that_are_cut_short_are_any() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[0], None, None));
    let cut = event(WRITE_ROWS, &[7, 0, 0, 0, 0, 0, 1, 0, 3, 7, 0, 1, 0]);
    let before = stream.change(cut);
    assert!(stream.is_stamped(watch.any(), before));
}

#[test]
fn rows_of_a_table_that_was_not_announced_are_everything() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let row: Row<'_> = &[Int(1), Null, Int(1)];
    stream.all(vec![gtid(1), query("BEGIN"), rows_of(8, WRITE_ROWS, &[row], true), EventBody::Xid]);
    assert!(stream.everything() > Position::ZERO);
    // Numbers are good for one statement.
    let before = stream.change(inserted(row));
    assert!(stream.everything() <= before);
    stream.all(vec![gtid(1), query("BEGIN"), inserted(row), EventBody::Xid]);
    assert!(stream.everything() > before);
}

#[test]
fn an_event_without_a_table_ends_a_statement() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[0], None, None));
    let over = event(WRITE_ROWS, &[0xFF, 0xFF, 0xFF, 0, 0, 0, 1, 0, 1, 0xFF]);
    let before = stream.change(over);
    assert!(stream.everything() == Position::ZERO && stream.is_stamped(watch.any(), before));
}

#[test]
fn a_table_that_is_announced_and_has_no_rows_has_changed_somewhere() {
    let known = known();
    let graph = HashMap::from([(name("s", "t"), vec![name("s", "below")])]);
    known.descendants.replace(Some(graph));
    let mut stream = Stream::new(&known, Flavor::MySql);
    let (watch, below) = (stream.watch(&spec(&[0], None, None)), table_of("below", table().columns.to_vec()));
    let below = stream.watches.watch(&below, &spec(&[0], None, None)).unwrap();
    let before = stream.applied();
    stream.all(vec![gtid(1), query("BEGIN"), map(7, "t", &KINDS), map(8, "other", &KINDS)]);
    assert!(!stream.is_stamped(watch.any(), before));
    let row: Row<'_> = &[Int(1), Null, Int(1)];
    stream.all(vec![rows_of(8, WRITE_ROWS, &[row], false)]);
    assert!(!stream.is_stamped(watch.any(), before), "its rows may come yet");
    stream.all(vec![rows_of(8, WRITE_ROWS, &[row], true)]);
    assert!(stream.is_stamped(watch.any(), before) && stream.is_stamped(below.any(), before));
    // Without the end of a statement, the end of the transaction is one.
    for end in [EventBody::Xid, gtid(2)] {
        let before = stream.applied();
        stream.all(vec![gtid(1), query("BEGIN"), map(7, "t", &KINDS), end]);
        assert!(stream.is_stamped(watch.any(), before));
        stream.all(vec![query("BEGIN"), EventBody::Xid]);
    }
}

#[test]
fn foreign_keys_act_on_updates_and_deletes_only() {
    let known = known();
    let graph = HashMap::from([(name("s", "t"), vec![name("s", "below")])]);
    known.descendants.replace(Some(graph));
    let mut stream = Stream::new(&known, Flavor::MySql);
    let below = table_of("below", table().columns.to_vec());
    let below = stream.watches.watch(&below, &spec(&[0], None, None)).unwrap();
    let row: Row<'_> = &[Int(1), Null, Int(1)];
    let before = stream.change(inserted(row));
    assert!(!stream.is_stamped(below.any(), before) && stream.rows_stamp("below") <= before);
    for rows in [deleted(row), updated(row, row)] {
        let before = stream.change(rows);
        assert!(stream.is_stamped(below.any(), before) && stream.rows_stamp("below") > before);
    }
    // A column is referred to that nobody knows here, then one that stays as it is, then one that does not.
    known.referenced.replace(Some(vec!["b".to_owned()]));
    let changed: Row<'_> = &[Int(1), Null, Int(2)];
    let before = stream.change(updated(row, changed));
    assert!(stream.is_stamped(below.any(), before) && stream.rows_stamp("below") > before);
    known.layout.replace(Some(Arc::clone(&table().columns)));
    let before = stream.change(updated(row, changed));
    assert!(!stream.is_stamped(below.any(), before) && stream.rows_stamp("below") <= before);
    known.referenced.replace(Some(vec!["b".to_owned(), "c".to_owned()]));
    let before = stream.change(updated(row, changed));
    assert!(stream.is_stamped(below.any(), before) && stream.rows_stamp("below") > before);
    let before = stream.change(deleted(row));
    assert!(stream.is_stamped(below.any(), before));
    // Where they lead is not known.
    known.descendants.replace(None);
    let before = stream.change(inserted(row));
    assert!(stream.everything() <= before);
    let before = stream.change(deleted(row));
    assert!(stream.everything() > before);
}

#[test]
fn a_child_that_is_announced_for_its_parents_sake_has_changed_only_if_they_say_so() {
    let known = known();
    known.descendants.replace(Some(HashMap::from([(name("s", "t"), vec![name("s", "below")])])));
    known.referenced.replace(Some(vec!["a".to_owned()]));
    known.layout.replace(Some(Arc::clone(&table().columns)));
    let mut stream = Stream::new(&known, Flavor::MariaDb);
    let below = table_of("below", table().columns.to_vec());
    let below = stream.watches.watch(&below, &spec(&[0], None, None)).unwrap();
    let [row, moved, changed]: [Row<'_>; 3] =
        [&[Int(1), Null, Int(1)], &[Int(2), Null, Int(1)], &[Int(1), Null, Int(2)]];
    for (rows, others, is_reached) in [
        ([row, changed], false, false),
        ([row, moved], false, true),
        // Announced for the sake of which one?
        ([row, changed], true, true),
    ] {
        let before = stream.applied();
        stream.all(vec![mariadb_gtid(1, false, true), map(7, "t", &KINDS), map(8, "below", &KINDS)]);
        stream.all(vec![map(9, "other", &KINDS), rows_of(7, UPDATE_ROWS, &rows, false)]);
        if others {
            stream.all(vec![rows_of(9, WRITE_ROWS, &[row], true)]);
        }
        stream.all(vec![EventBody::Xid]);
        assert_eq!(stream.is_stamped(below.any(), before), is_reached);
        assert_eq!(stream.rows_stamp("below") > before, is_reached);
    }
}

/// `below (a INT, b VARCHAR(20), c INT)`, whose `c` refers to the parent's `a`.
fn referring(on_delete: OnDelete) -> ForeignKey {
    ForeignKey {
        parent: name("s", "t"),
        child: name("s", "below"),
        acts: Acts { on_delete, on_update: OnUpdate::Nothing },
        columns: vec![("c".to_owned(), "a".to_owned())],
    }
}

#[test]
fn children_of_rows_that_are_deleted_go_by_what_they_refer_to() {
    let known = known();
    known.descendants.replace(Some(HashMap::from([(name("s", "t"), vec![name("s", "below")])])));
    known.layout.replace(Some(Arc::clone(&table().columns)));
    let mut stream = Stream::new(&known, Flavor::MariaDb);
    let below = table_of("below", table().columns.to_vec());
    let watch = |spec| stream.watches.watch(&below, &spec).unwrap();
    let [by_c, by_a, other] =
        [spec(&[2], None, Some(&[1])), spec(&[0], None, Some(&[2])), spec(&[0], None, Some(&[1]))].map(watch);
    let slot = |watch: &Watch, condition| watch.deps_of_reading(&[condition], Values::default()).unwrap()[0];
    let of = |value| slot(&by_c, Condition::OneOf(vec![Datum::Int(value)]));
    let (five, six, null) = (of(5), of(6), slot(&by_c, Condition::IsNull));
    let row: Row<'_> = &[Int(5), Null, Int(1)];
    let all = [five, six, null, by_c.any(), by_a.any(), other.any()];
    let mut stamped = |keys: Option<Vec<ForeignKey>>, rows| {
        known.keys.replace(keys);
        let before = stream.change(rows);
        assert_eq!(
            stream.rows_stamp("below") > before,
            all.iter().any(|dep| stream.is_stamped(*dep, before))
        );
        all.map(|dep| u8::from(stream.is_stamped(dep, before)))
    };
    assert_eq!(stamped(Some(vec![referring(OnDelete::Deletes)]), deleted(row)), [1, 0, 0, 0, 1, 1]);
    assert_eq!(stamped(Some(vec![referring(OnDelete::SetsNull)]), deleted(row)), [1, 0, 1, 0, 1, 0]);
    // What is not understood of a key, or of a row, may be anything.
    assert_eq!(stamped(Some(vec![referring(OnDelete::Anything)]), deleted(row)), [0, 0, 0, 1, 1, 1]);
    assert_eq!(stamped(None, deleted(row)), [0, 0, 0, 1, 1, 1]);
    let unknown = ForeignKey { columns: Vec::new(), ..referring(OnDelete::Deletes) };
    assert_eq!(stamped(Some(vec![unknown]), deleted(row)), [0, 0, 0, 1, 1, 1]);
    let absent: Row<'_> = &[Absent, Null, Int(1)];
    assert_eq!(stamped(Some(vec![referring(OnDelete::Deletes)]), deleted(absent)), [0, 0, 0, 1, 1, 1]);
    known.layout.replace(None);
    assert_eq!(stamped(Some(vec![referring(OnDelete::Deletes)]), deleted(row)), [0, 0, 0, 1, 1, 1]);
}

/// Of rows that are updated, the columns that the key refers to tell the children's keys before and after.
#[test]
fn children_of_rows_that_are_updated_go_by_both_values() {
    let known = known();
    known.descendants.replace(Some(HashMap::from([(name("s", "t"), vec![name("s", "below")])])));
    known.layout.replace(Some(Arc::clone(&table().columns)));
    for flavor in [Flavor::MySql, Flavor::MariaDb] {
        let mut stream = Stream::new(&known, flavor);
        let below = table_of("below", table().columns.to_vec());
        let watch = |spec| stream.watches.watch(&below, &spec).unwrap();
        let [by_c, other] = [spec(&[2], None, Some(&[1])), spec(&[0], None, Some(&[1]))].map(watch);
        let slot = |condition| by_c.deps_of_reading(&[condition], Values::default()).unwrap()[0];
        let of = |value| slot(Condition::OneOf(vec![Datum::Int(value)]));
        let all = [of(5), of(6), of(7), slot(Condition::IsNull), by_c.any(), other.any()];
        let mut stamped = |on_update, after: Row<'_>| {
            let acts = Acts { on_delete: OnDelete::Nothing, on_update };
            known.keys.replace(Some(vec![ForeignKey { acts, ..referring(OnDelete::Nothing) }]));
            let before = stream.change(updated(&[Int(5), Null, Int(1)], after));
            all.map(|dep| u8::from(stream.is_stamped(dep, before)))
        };
        let to_six: Row<'_> = &[Int(6), Null, Int(1)];
        assert_eq!(stamped(OnUpdate::Cascades, to_six), [1, 1, 0, 0, 0, 0]);
        assert_eq!(stamped(OnUpdate::SetsNull, to_six), [1, 0, 0, 1, 0, 0]);
        assert_eq!(stamped(OnUpdate::Anything, to_six), [0, 0, 0, 0, 1, 1]);
        assert_eq!(stamped(OnUpdate::Nothing, to_six), [0; 6]);
        assert_eq!(stamped(OnUpdate::Cascades, &[Int(5), Null, Int(2)]), [0; 6]);
        // What an image leaves out has not changed.
        assert_eq!(stamped(OnUpdate::Cascades, &[Absent, Null, Int(2)]), [0; 6]);
    }
}

/// Right after a definition has changed, its table may hang on any other. It may as well be a part of a MERGE table, which is
/// announced together with it.
#[test]
fn a_part_that_is_announced_has_changed_although_it_may_hang_on_the_whole() {
    let known = known();
    let part = name("s", "part");
    known.descendants.replace(Some(HashMap::from([(name("s", "t"), vec![part.clone()])])));
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watched = table_of("part", table().columns.to_vec());
    let watch = stream.watches.watch(&watched, &spec(&[0], None, None)).unwrap();
    let row: Row<'_> = &[Int(1), Null, Int(1)];
    for changed in [vec![], vec![part]] {
        let before = stream.applied();
        known.changed.replace(changed.clone());
        stream.all(vec![gtid(1), query("BEGIN"), map(7, "t", &KINDS), map(8, "part", &KINDS)]);
        stream.all(vec![rows_of(7, WRITE_ROWS, &[row], true), EventBody::Xid]);
        assert_eq!(stream.is_stamped(watch.any(), before), !changed.is_empty(), "an insert reaches no child");
    }
}

#[test]
fn a_truncated_table_has_changed_as_a_whole() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[0], None, None));
    let before = stream.applied();
    let merged = freshet_catalog::of_merged_tables(stream.freshness());
    stream.all(vec![gtid(1), query("TRUNCATE TABLE s.t")]);
    assert!(stream.is_stamped(watch.any(), before));
    assert!(stream.is_stamped(merged, before), "it may have been a MERGE table, whose parts are not named");
}

#[test]
fn a_prepared_transaction_changes_its_tables_as_a_whole_when_it_is_committed() {
    let known = known();
    let graph = HashMap::from([(name("s", "child"), vec![name("s", "below")])]);
    known.descendants.replace(Some(graph));
    let xid = Xid { format: 1, global: b"x".to_vec(), branch: Vec::new() };
    let mut stream = Stream::new(&known, Flavor::MariaDb);
    let row: Row<'_> = &[Int(1), Null, Int(1)];
    let prepare = EventBody::XaPrepare { xid, one_phase: false };
    let prepared = stream.all(vec![
        mariadb_gtid(1, false, true),
        map(7, "t", &KINDS),
        map(8, "child", &KINDS),
        rows_of(7, DELETE_ROWS, &[row], false),
        prepare,
    ]);
    // Made after the rows went by.
    let watch = stream.watch(&spec(&[0], None, None));
    let child = table_of("child", table().columns.to_vec());
    let child = stream.watches.watch(&child, &spec(&[0], None, None)).unwrap();
    let prepared = ended(&prepared);
    stream.all(vec![mariadb_gtid(2, true, false), query("XA COMMIT X'78',X'',1")]);
    assert!(stream.is_stamped(watch.any(), prepared) && stream.is_stamped(child.any(), prepared));
    assert!(stream.rows_stamp("below") > prepared, "what hangs on a table that was announced without rows");
    assert_eq!(stream.everything(), Position::ZERO);
}

#[test]
fn rows_within_a_payload() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[0], None, None));
    let (one, two) = (Stream::slot(&watch, equals(1)), Stream::slot(&watch, equals(2)));
    let header = EventHeader { timestamp: 1, kind: 0, server_id: 1, size: 1, end_pos: 0, flags: 0 };
    let bodies = [query("BEGIN"), map(7, "t", &KINDS), inserted(&[Int(1), Null, Int(1)]), EventBody::Xid];
    let events = bodies.map(|body| Event { header, body }).to_vec();
    stream.feed(gtid(1)).unwrap();
    let step = stream.feed_kind(40, EventBody::Transaction(events)).unwrap();
    assert_eq!(stream.freshness().stamp_of(one), ended(&step));
    assert_eq!(stream.freshness().stamp_of(two), Position::ZERO);
}

#[test]
fn a_watch_does_not_vouch_for_what_went_by_before_it() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let row: Row<'_> = &[Int(1), Null, Int(1)];
    let before = stream.change(inserted(row));
    stream.all(vec![gtid(1), query("BEGIN"), map(7, "t", &KINDS), rows_of(7, WRITE_ROWS, &[row], false)]);
    let watch = stream.watch(&spec(&[0], None, None));
    assert!(!watch.is_usable(before) && !watch.is_usable(stream.applied()));
    stream.all(vec![EventBody::Xid]);
    assert!(watch.is_usable(stream.applied()));
    // Nor does a range for a level that has just come into use.
    let watch = stream.watch(&spec(&[], Some(0), None));
    assert!(watch.is_usable(stream.applied()));
    stream.all(vec![gtid(1), query("BEGIN"), map(7, "t", &KINDS)]);
    watch.deps_of_reading(&[equals(1)], Values::default()).unwrap();
    assert!(!watch.is_usable(stream.applied()));
}

#[test]
fn a_changed_definition_ends_its_watches() {
    let known = known();
    let mut stream = Stream::new(&known, Flavor::MySql);
    let watch = stream.watch(&spec(&[0], None, None));
    stream.all(vec![gtid(1), query("ALTER TABLE s.other ADD b INT")]);
    assert!(Arc::ptr_eq(&watch, &stream.watch(&spec(&[0], None, None))));
    stream.all(vec![gtid(2), query("ALTER TABLE s.t ADD b INT")]);
    assert!(!Arc::ptr_eq(&watch, &stream.watch(&spec(&[0], None, None))));
}
