use freshet_sql::TableName;

use super::*;
use crate::Code;
use crate::rows::WatchSpec;
use crate::rows::samples::{INT, column, spec, table, table_of, text, watch};

fn with(parameters: &[Datum]) -> Values<'_> {
    Values { parameters, ..Values::default() }
}

fn pin(name: &str, condition: Condition) -> Pin {
    Pin { column: name.to_owned(), condition, via: Vec::new() }
}

fn one(value: i128) -> Condition {
    Condition::OneOf(vec![Datum::Int(value)])
}

fn between(low: i128, high: i128) -> Condition {
    Condition::Between { low: Some((Datum::Int(low), true)), high: Some((Datum::Int(high), true)) }
}

fn update(assigned: &[(&str, Datum)], pins: Vec<Pin>) -> RowWrite {
    let assigned = assigned.iter().map(|(name, datum)| ((*name).to_owned(), datum.clone())).collect();
    RowWrite::Update { table: TableName::bare("t"), assigned, pins }
}

fn delete(pins: Vec<Pin>) -> RowWrite {
    RowWrite::Delete { table: TableName::bare("t"), pins }
}

fn insert(columns: Option<&[&str]>, rows: &[&[Datum]]) -> RowWrite {
    let columns = columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    RowWrite::Insert {
        table: TableName::bare("t"),
        columns,
        rows: rows.iter().map(|row| row.to_vec()).collect(),
    }
}

fn sorted(mut deps: Vec<Dep>) -> Vec<Dep> {
    deps.sort_unstable();
    deps.dedup();
    deps
}

/// What a write touches of a watch, where the slots have to be those of these readings.
fn assert_touches(
    (table, spec): (&TableInfo, &WatchSpec),
    write: &RowWrite,
    parameters: &[Datum],
    expected: Option<&[&[Condition]]>,
) {
    let (_, watch) = crate::rows::samples::watch(table, spec);
    let touched = watch.deps_of_write(table, write, with(parameters));
    let expected = expected.map_or(TouchedSlots::Any, |readings| {
        let deps =
            readings.iter().flat_map(|reading| watch.deps_of_reading(reading, Values::default()).unwrap());
        TouchedSlots::Slots(sorted(deps.collect()))
    });
    let touched = match touched {
        TouchedSlots::Slots(deps) => TouchedSlots::Slots(sorted(deps)),
        other => other,
    };
    assert_eq!(touched, expected, "{write:?}");
}

#[test]
fn inserts_touch_the_keys_that_they_give() {
    let (table, by_a) = (table(), spec(&[0], None, Some(&[2])));
    let of = (&table, &by_a);
    let row = |a: Datum| vec![a, Datum::Other, Datum::Other];
    assert_touches(
        of,
        &insert(None, &[&row(Datum::Int(1)), &row(Datum::Int(2))]),
        &[],
        Some(&[&[one(1)], &[one(2)]]),
    );
    assert_touches(
        of,
        &insert(Some(&["c", "a"]), &[&[Datum::Other, Datum::Int(1)]]),
        &[],
        Some(&[&[one(1)]]),
    );
    let parameter = insert(Some(&["a"]), &[&[Datum::Param(1)]]);
    assert_touches(of, &parameter, &[Datum::Other, Datum::Int(1)], Some(&[&[one(1)]]));
    assert_touches(of, &parameter, &[Datum::Int(1)], None);
    assert_touches(of, &insert(Some(&["a"]), &[&[Datum::Null]]), &[], Some(&[&[Condition::IsNull]]));
    // A default, a value that does not fit, one that is computed, and fewer values than columns: one is hidden.
    assert_touches(of, &insert(Some(&["c"]), &[&[Datum::Int(1)]]), &[], None);
    assert_touches(of, &insert(Some(&["a"]), &[&[Datum::Int(1 << 40)]]), &[], None);
    assert_touches(of, &insert(Some(&["a"]), &[&[Datum::Other]]), &[], None);
    assert_touches(of, &insert(None, &[&[Datum::Int(1), Datum::Int(1)]]), &[], None);
    let many: Vec<Vec<Datum>> = (0..65).map(|value| row(Datum::Int(value))).collect();
    let many: Vec<&[Datum]> = many.iter().map(Vec::as_slice).collect();
    assert_touches(of, &insert(None, &many), &[], None);
}

#[test]
fn what_the_server_fills_in_is_not_foretold() {
    let mut columns = table().columns.to_vec();
    columns[0].auto_increment = true;
    columns[0].nullable = false;
    columns[2].nullable = false;
    let table = table_of("t", columns);
    let by_a = spec(&[0], None, None);
    let of = (&table, &by_a);
    for filled in [Datum::Null, Datum::Int(0), Datum::Text(b"0".to_vec())] {
        assert_touches(of, &insert(Some(&["a"]), &[&[filled]]), &[], None);
    }
    assert_touches(of, &insert(Some(&["a"]), &[&[Datum::Int(7)]]), &[], Some(&[&[one(7)]]));
    let by_c = spec(&[2], None, None);
    assert_touches((&table, &by_c), &insert(Some(&["c"]), &[&[Datum::Null]]), &[], None);
    let mut columns = vec![column("a", INT), column("b", text()), column("c", INT)];
    columns[2].generated = true;
    let table = table_of("t", columns);
    assert_touches((&table, &by_c), &insert(Some(&["c"]), &[&[Datum::Int(1)]]), &[], None);
    // An update of anything may change what is computed, and what follows the clock.
    let pins = || vec![pin("c", one(1))];
    assert_touches((&table, &by_c), &update(&[("b", Datum::Null)], pins()), &[], None);
}

#[test]
fn triggers_and_other_layouts_are_any() {
    let (mut with_trigger, by_a) = (table(), spec(&[0], None, None));
    with_trigger.has_triggers = true;
    let deletes = delete(vec![pin("a", one(1))]);
    assert_touches((&with_trigger, &by_a), &deletes, &[], None);
    let mut understood = table();
    understood.triggers = Some(Code { any: true, ..Code::default() });
    assert_touches((&understood, &by_a), &deletes, &[], None);
    let (_, watch) = crate::rows::samples::watch(&table(), &by_a);
    let wider = table_of("t", [table().columns.to_vec(), vec![column("d", INT)]].concat());
    assert_eq!(
        watch.deps_of_write(&wider, &delete(vec![pin("a", one(1))]), Values::default()),
        TouchedSlots::Any
    );
}

#[test]
fn updates_touch_the_keys_of_before_and_after() {
    let (table, by_a) = (table(), spec(&[0], None, Some(&[2])));
    let of = (&table, &by_a);
    let pins = || vec![pin("a", one(1))];
    assert_touches(of, &update(&[("c", Datum::Other)], pins()), &[], Some(&[&[one(1)]]));
    assert_touches(of, &update(&[("a", Datum::Int(2))], pins()), &[], Some(&[&[one(1)], &[one(2)]]));
    assert_touches(of, &update(&[("a", Datum::Other)], pins()), &[], None);
    assert_touches(of, &update(&[("c", Datum::Int(2))], vec![pin("c", one(1))]), &[], None);
    // The best of several.
    let two = vec![pin("a", Condition::OneOf(vec![Datum::Int(1), Datum::Int(2)])), pin("a", one(1))];
    assert_touches(of, &update(&[("c", Datum::Other)], two), &[], Some(&[&[one(1)]]));
    // What equality carries counts only where it compares alike.
    let via = |name: &str| Pin { via: vec![(0, name.to_owned())], ..pin("a", one(1)) };
    assert_touches(of, &delete(vec![via("c")]), &[], Some(&[&[one(1)]]));
    assert_touches(of, &delete(vec![via("b")]), &[], None);
}

#[test]
fn an_update_of_what_is_not_read_touches_nothing() {
    let table = table();
    let (_, watch) = crate::rows::samples::watch(&table, &spec(&[0], None, Some(&[2])));
    let write = update(&[("b", Datum::Null)], Vec::new());
    assert_eq!(watch.deps_of_write(&table, &write, Values::default()), TouchedSlots::Nothing);
    let mut columns = table.columns.to_vec();
    columns[2].on_update = true;
    let table = table_of("t", columns);
    let (_, watch) = crate::rows::samples::watch(&table, &spec(&[0], None, Some(&[2])));
    assert_eq!(
        watch.deps_of_write(&table, &write, Values::default()),
        TouchedSlots::Any,
        "it changes with any other"
    );
    let (_, counts) = crate::rows::samples::watch(&table, &spec(&[], None, Some(&[])));
    assert_eq!(counts.deps_of_write(&table, &write, Values::default()), TouchedSlots::Nothing);
    assert_eq!(
        counts.deps_of_write(&table, &delete(vec![pin("a", one(1))]), Values::default()),
        TouchedSlots::Any
    );
}

#[test]
fn ranges_are_fenced_on_the_levels_in_use() {
    let table = table();
    let (_, watch) = crate::rows::samples::watch(&table, &spec(&[], Some(0), None));
    let reading = |low, high| watch.deps_of_reading(&[between(low, high)], Values::default()).unwrap();
    let deps = |write: &RowWrite| match watch.deps_of_write(&table, write, Values::default()) {
        TouchedSlots::Slots(deps) => Some(deps),
        _ => None,
    };
    let meets = |one: &[Dep], other: &[Dep]| one.iter().any(|dep| other.contains(dep));
    let (low, high) = (reading(0, 99), reading(1_000, 4_095));
    let point = deps(&delete(vec![pin("a", one(50))])).unwrap();
    assert!(meets(&point, &low) && !meets(&point, &high));
    let range = deps(&delete(vec![pin("a", between(90, 110))])).unwrap();
    assert!(meets(&range, &low) && !meets(&range, &high));
    let moved = deps(&update(&[("a", Datum::Int(2_000))], vec![pin("a", one(50))])).unwrap();
    assert!(meets(&moved, &low) && meets(&moved, &high));
    assert_eq!(deps(&delete(vec![pin("a", between(0, 1_000_000))])), None);
    assert_eq!(deps(&delete(Vec::new())), None);
    assert_eq!(deps(&delete(vec![pin("a", between(9, 3))])).unwrap(), []);
}

#[test]
fn prefixes_are_fenced_in_the_lengths_in_use() {
    let table = table();
    let (_, watch) = crate::rows::samples::watch(&table, &spec(&[], Some(1), None));
    let text = |text: &str| Datum::Text(text.as_bytes().to_vec());
    let like = |prefix: &str| Condition::Like(text(&format!("{prefix}%")));
    let reading = |prefix| watch.deps_of_reading(&[like(prefix)], Values::default()).unwrap();
    let (ab, abcd) = (reading("ab"), reading("abcd"));
    let touched =
        |condition| watch.deps_of_write(&table, &delete(vec![pin("b", condition)]), Values::default());
    assert_eq!(touched(Condition::OneOf(vec![text("ABC")])), TouchedSlots::Slots(ab.clone()));
    let TouchedSlots::Slots(deps) = touched(like("abcde")) else { panic!() };
    assert_eq!(sorted(deps), sorted([ab, abcd].concat()));
    // It may start with anything behind that.
    assert_eq!(touched(like("abc")), TouchedSlots::Any);
}

#[test]
fn an_insert_that_the_server_numbers_touches_what_is_not_there() {
    let mut columns = table().columns.to_vec();
    (columns[0].auto_increment, columns[0].unique, columns[0].nullable) = (true, true, false);
    let table = table_of("t", columns);
    let touched = |spec: &WatchSpec, write: &RowWrite| {
        watch(&table, spec).1.deps_of_write(&table, write, Values::default())
    };
    let numbered = insert(Some(&["c"]), &[&[Datum::Int(1)]]);
    let by_a = spec(&[0], None, None);
    assert_eq!(touched(&by_a, &numbered), TouchedSlots::Absent);
    assert_eq!(touched(&spec(&[0, 2], None, None), &numbered), TouchedSlots::Absent);
    assert!(matches!(touched(&by_a, &insert(Some(&["a"]), &[&[Datum::Int(7)]])), TouchedSlots::Slots(_)));
    let nulls = insert(
        None,
        &[&[Datum::Null, Datum::Null, Datum::Int(1)], &[Datum::Null, Datum::Null, Datum::Int(2)]],
    );
    assert_eq!(touched(&by_a, &nulls), TouchedSlots::Absent);
    // The key of a row that was deleted around us, perhaps.
    for made in [Datum::Other, Datum::Int(0)] {
        assert_eq!(touched(&by_a, &insert(Some(&["a"]), &[&[Datum::Null], &[made]])), TouchedSlots::Any);
    }
    // Where a column is hidden, it is not known which one the NULL is for.
    assert_eq!(touched(&by_a, &insert(None, &[&[Datum::Null, Datum::Int(1)]])), TouchedSlots::Any);
    let memory = TableInfo { engine: "MEMORY".to_owned(), ..table.clone() };
    assert_eq!(
        watch(&memory, &by_a).1.deps_of_write(&memory, &numbered, Values::default()),
        TouchedSlots::Any
    );
    // Not by its key, in a range of it, and what is no insert.
    assert_eq!(touched(&spec(&[1], None, None), &numbered), TouchedSlots::Any);
    assert_eq!(touched(&spec(&[], Some(0), None), &numbered), TouchedSlots::Any);
    assert_eq!(touched(&by_a, &delete(Vec::new())), TouchedSlots::Any);
    let (_, watch) = watch(&table, &by_a);
    let ids = |values: &[i128]| Condition::OneOf(values.iter().map(|value| Datum::Int(*value)).collect());
    assert_eq!(watch.present_if(&[ids(&[1, 2, 2])], Values::default()), Some(2));
    assert_ne!(watch.absent(), watch.any());
}

fn upsert(columns: &[&str], rows: &[&[Datum]], assigned: Option<&[(&str, Datum)]>) -> RowWrite {
    let assigned = assigned.map(|assigned| {
        assigned.iter().map(|(name, datum)| ((*name).to_owned(), datum.clone())).collect::<Vec<_>>()
    });
    RowWrite::Upsert {
        table: TableName::bare("t"),
        columns: Some(columns.iter().map(|name| (*name).to_owned()).collect()),
        rows: rows.iter().map(|row| row.to_vec()).collect(),
        assigned,
    }
}

#[test]
fn an_upsert_touches_the_keys_that_it_gives_where_no_other_key_is_unique() {
    let mut columns = table().columns.to_vec();
    (columns[0].only_unique, columns[0].unique, columns[0].nullable) = (true, true, false);
    let table = table_of("t", columns.clone());
    let (by_a, by_c, by_both, range) =
        (spec(&[0], None, None), spec(&[2], None, None), spec(&[0, 2], None, None), spec(&[], Some(0), None));
    let rows: &[&[Datum]] = &[&[Datum::Int(1), Datum::Int(5)], &[Datum::Int(2), Datum::Int(6)]];
    let replace = upsert(&["a", "c"], rows, None);
    let update = |assigned: &[(&str, Datum)]| upsert(&["a", "c"], rows, Some(assigned));
    let given: Option<&[&[Condition]]> = Some(&[&[one(1)], &[one(2)]]);
    assert_touches((&table, &by_a), &replace, &[], given);
    assert_touches((&table, &by_a), &update(&[("c", Datum::Other)]), &[], given);
    assert_touches(
        (&table, &by_a),
        &update(&[("a", Datum::Int(9))]),
        &[],
        Some(&[&[one(1)], &[one(2)], &[one(9)]]),
    );
    assert_touches((&table, &by_a), &update(&[("a", Datum::Other)]), &[], None);
    // The row that is there may have anything in the other columns.
    for spec in [&by_c, &by_both] {
        assert_touches((&table, spec), &replace, &[], None);
        assert_touches((&table, spec), &update(&[("c", Datum::Int(7))]), &[], None);
    }
    let (_, watch) = watch(&table, &range);
    let _ = watch.deps_of_reading(&[between(0, 3)], Values::default()).unwrap();
    assert!(
        matches!(watch.deps_of_write(&table, &replace, Values::default()), TouchedSlots::Slots(slots) if !slots.is_empty())
    );
    // A key that the server makes up, or that is not told.
    assert_touches((&table, &by_a), &upsert(&["c"], &[&[Datum::Int(1)]], None), &[], None);
    assert_touches((&table, &by_a), &upsert(&["a"], &[&[Datum::Int(1)], &[Datum::Other]], None), &[], None);
    // Another row may stand in the way by another key.
    columns[0].only_unique = false;
    let table = table_of("t", columns);
    assert_touches((&table, &by_a), &replace, &[], None);
    assert_touches((&table, &by_a), &update(&[("c", Datum::Other)]), &[], None);
}

#[test]
fn texts_that_share_a_key_are_not_known_to_be_there() {
    let mut columns = table().columns.to_vec();
    (columns[1].unique, columns[1].nullable) = (true, false);
    let table = table_of("t", columns);
    let (_, watch) = watch(&table, &spec(&[1], None, None));
    let texts = Condition::OneOf([b"a", b"A"].map(|text| Datum::Text(text.to_vec())).to_vec());
    assert_eq!(
        watch.present_if(&[texts], Values::default()),
        None,
        "in a binary collation those are two rows"
    );
    let unknown = insert(Some(&["b"]), &[&[Datum::Other]]);
    assert_eq!(watch.deps_of_write(&table, &unknown, Values::default()), TouchedSlots::Any);
}

#[test]
fn a_text_and_a_number_as_bounds_say_nothing() {
    let between = |low, high| Condition::Between { low: Some((low, true)), high: Some((high, true)) };
    let mixed = between(Datum::Text(b"1".to_vec()), Datum::Param(0));
    assert_eq!(range(&INT, &mixed, with(&[Datum::Int(9)])), None, "all three are compared as doubles");
    assert!(range(&INT, &mixed, with(&[Datum::Text(b"9".to_vec())])).is_some());
}

fn fill(columns: &[&str], given: Vec<Given>, on_duplicate: OnDuplicate) -> RowWrite {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    RowWrite::Fill { table: TableName::bare("t"), columns: Some(columns), given, on_duplicate }
}

fn taken(condition: Condition) -> Given {
    Given::Taken { from: 1, column: "x".to_owned(), pins: vec![pin("x", condition)] }
}

#[test]
fn rows_that_a_query_shows_touch_the_keys_that_it_gives() {
    let (table, by_a) = (table(), spec(&[0], None, Some(&[2])));
    let of = (&table, &by_a);
    let given = |given| fill(&["a", "c"], vec![given, Given::Other], OnDuplicate::Refused);
    assert_touches(of, &given(Given::Value(Datum::Int(1))), &[], Some(&[&[one(1)]]));
    assert_touches(of, &given(Given::Value(Datum::Param(0))), &[Datum::Int(2)], Some(&[&[one(2)]]));
    assert_touches(of, &given(taken(one(3))), &[], Some(&[&[one(3)]]));
    assert_touches(of, &given(taken(between(3, 5))), &[], Some(&[&[one(3)], &[one(4)], &[one(5)]]));
    assert_touches(of, &given(taken(between(3, 500))), &[], None);
    assert_touches(of, &given(taken(Condition::IsNull)), &[], Some(&[&[Condition::IsNull]]));
    assert_touches(of, &given(Given::Other), &[], None);
    assert_touches(of, &fill(&["c"], vec![taken(one(3))], OnDuplicate::Refused), &[], None);
    let in_order = RowWrite::Fill {
        table: TableName::bare("t"),
        columns: None,
        given: vec![taken(one(3)), Given::Other, Given::Other],
        on_duplicate: OnDuplicate::Refused,
    };
    assert_touches(of, &in_order, &[], Some(&[&[one(3)]]));
}

#[test]
fn what_is_taken_over_may_stand_for_another_value() {
    let number = ColumnInfo { auto_increment: true, nullable: false, ..column("a", INT) };
    let table = table_of("t", vec![number, column("b", text()), column("c", INT)]);
    let by_a = spec(&[0], None, Some(&[2]));
    let of = |given| fill(&["a"], vec![given], OnDuplicate::Refused);
    assert_touches((&table, &by_a), &of(taken(one(3))), &[], Some(&[&[one(3)]]));
    for condition in [one(0), Condition::OneOf(vec![Datum::Int(1), Datum::Null]), between(0, 2)] {
        assert_touches((&table, &by_a), &of(taken(condition)), &[], None);
    }
}

#[test]
fn rows_in_the_way_of_those_that_a_query_shows_have_their_primary_key() {
    let id = ColumnInfo { unique: true, only_unique: true, nullable: false, ..column("a", INT) };
    let table = table_of("t", vec![id, column("b", text()), column("c", INT)]);
    let (by_a, by_c) = (spec(&[0], None, Some(&[2])), spec(&[2], None, Some(&[0])));
    let of = |on_duplicate| fill(&["a", "c"], vec![taken(one(3)), taken(one(4))], on_duplicate);
    let updated = |column: &str| OnDuplicate::Updated(vec![(column.to_owned(), Datum::Int(9))]);
    assert_touches((&table, &by_c), &of(OnDuplicate::Refused), &[], Some(&[&[one(4)]]));
    for (on_duplicate, also) in [(OnDuplicate::Replaced, None), (updated("c"), None), (updated("a"), Some(9))]
    {
        let slots: Vec<[Condition; 1]> = std::iter::once(3).chain(also).map(|key| [one(key)]).collect();
        let slots: Vec<&[Condition]> = slots.iter().map(<[Condition; 1]>::as_slice).collect();
        assert_touches((&table, &by_a), &of(on_duplicate.clone()), &[], Some(&slots));
        assert_touches((&table, &by_c), &of(on_duplicate), &[], None);
    }
}

#[test]
fn a_short_range_is_as_good_as_its_keys() {
    let (table, by_a) = (table(), spec(&[0], None, Some(&[2])));
    let of = (&table, &by_a);
    assert_touches(of, &delete(vec![pin("a", between(3, 4))]), &[], Some(&[&[one(3)], &[one(4)]]));
    assert_touches(of, &delete(vec![pin("a", between(4, 3))]), &[], Some(&[]));
    assert_touches(of, &delete(vec![pin("a", between(3, 40))]), &[], None);
}

#[test]
fn a_bound_that_is_a_value_is_left_out_where_it_is_not_included() {
    let ends =
        |low, high| range(&INT, &Condition::Between { low, high }, Values::default()).unwrap().into_inner();
    let number = |key: i64| u64::try_from(i128::from(key) + (1 << 63)).unwrap();
    let end = |value, is_included| Some((Datum::Int(value), is_included));
    assert_eq!(ends(end(1, true), end(5, true)), (number(1), number(5)));
    assert_eq!(ends(end(1, false), end(5, false)), (number(2), number(4)));
    let half = || Some((Datum::Decimal("1.5".to_owned()), false));
    assert_eq!(ends(half(), half()), (number(1), number(2)), "the servers round it to either");
    let far = |sign: i128| end(sign << 40, false);
    assert_eq!(
        ends(far(-1), far(1)),
        (number(i32::MIN.into()), number(i32::MAX.into())),
        "beyond all values"
    );
}

#[test]
fn a_write_that_is_known_by_one_column_touches_those_who_ask_for_its_value() {
    let (_, watch) = watch(&table(), &spec(&[0, 2], None, None));
    let reading = |a: i128, c: i128| watch.deps_of_reading(&[one(a), one(c)], Values::default()).unwrap();
    let concerns =
        |write: &RowWrite, (a, c): (i128, i128)| match watch.deps_of_write(&table(), write, with(&[])) {
            TouchedSlots::Slots(touched) => touched.iter().any(|dep| reading(a, c).contains(dep)),
            TouchedSlots::Any => true,
            other => panic!("{other:?}"),
        };
    let concerned = |write: &RowWrite| [(1, 1), (1, 2), (2, 1), (2, 2)].map(|keys| concerns(write, keys));
    let other = |name: &str| update(&[(name, Datum::Other)], vec![pin("a", one(1))]);
    assert_eq!(concerned(&delete(vec![pin("a", one(1))])), [true, true, false, false]);
    assert_eq!(concerned(&delete(vec![pin("c", one(2))])), [false, true, false, true]);
    assert_eq!(concerned(&delete(vec![pin("c", one(2)), pin("a", one(1))])), [false, true, false, false]);
    assert_eq!(concerned(&other("c")), [true, true, false, false]);
    assert_eq!(
        concerned(&update(&[("a", Datum::Int(2))], vec![pin("a", one(3))])),
        [false, false, true, true]
    );
    assert_eq!(
        concerned(&insert(Some(&["a", "c"]), &[&[Datum::Int(1), Datum::Other]])),
        [true, true, false, false]
    );
    assert_eq!(
        concerned(&fill(&["a", "c"], vec![Given::Value(Datum::Int(1)), Given::Other], OnDuplicate::Refused)),
        [true, true, false, false]
    );
    // Where rows stand after it, nobody knows.
    assert_eq!(concerned(&other("a")), [true; 4]);
    assert_eq!(concerned(&delete(vec![pin("b", Condition::IsNull)])), [true; 4]);
    // A range beside it takes nothing away.
    let (_, ranged) = crate::rows::samples::watch(&table(), &spec(&[0], Some(2), None));
    let touched = ranged.deps_of_write(&table(), &delete(vec![pin("a", one(1))]), with(&[]));
    let of = |a: i128| ranged.deps_of_reading(&[one(a), between(1, 9)], Values::default()).unwrap();
    let TouchedSlots::Slots(touched) = touched else { panic!("{touched:?}") };
    assert!(touched.iter().any(|dep| of(1).contains(dep)) && !touched.iter().any(|dep| of(2).contains(dep)));
}
