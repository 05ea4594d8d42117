use super::*;
use crate::foreign_keys::Acts;

fn name(name: &str) -> Name {
    ("s".into(), name.into())
}

fn keys(edges: &[(&str, &str)]) -> ForeignKeys {
    let key = |(parent, child): &(&str, &str)| ForeignKey {
        parent: name(parent),
        child: name(child),
        acts: Acts::ALWAYS,
        columns: Vec::new(),
    };
    ForeignKeys::from_keys(edges.iter().map(key))
}

fn all(keys: ForeignKeys, asked_at: u64, read_by: u64) -> Staged {
    Staged { keys: ReadKeys::All(keys), asked_at, read_by: Position::new(read_by) }
}

fn wants(reach: &mut ForeignKeyReach) -> Option<WantedKeys> {
    reach.wanted(Position::ZERO)
}

fn reach(edges: &[(&str, &str)]) -> ForeignKeyReach {
    let mut reach = ForeignKeyReach::default();
    reach.stage(all(keys(edges), 0, 0));
    reach
}

fn of(reach: &mut ForeignKeyReach, table: &str, applied: u64) -> Option<String> {
    let reached = reach.of(&name(table), Position::new(applied))?;
    Some(reached.all.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" "))
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn the_closure_is_transitive_and_ends_in_cycles() {
    let mut reach = reach(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("x", "x")]);
    assert_eq!(of(&mut reach, "a", 0), some("b c d"));
    assert_eq!(of(&mut reach, "b", 0), some("b c d"));
    assert_eq!(of(&mut reach, "x", 0), some("x"));
    assert_eq!(of(&mut reach, "nobody", 0), some(""));
}

#[test]
fn nothing_is_known_before_the_keys_count() {
    let mut reach = ForeignKeyReach::default();
    assert_eq!(wants(&mut reach), Some(WantedKeys::All));
    assert_eq!(of(&mut reach, "a", 0), None);
    reach.stage(all(keys(&[("a", "b")]), 0, 10));
    assert_eq!(wants(&mut reach), None);
    assert_eq!(of(&mut reach, "a", 9), None);
    assert_eq!(of(&mut reach, "a", 10), some("b"));
}

#[test]
fn a_changed_table_may_be_anyones_child_until_the_keys_are_read_again() {
    let mut reach = reach(&[("a", "b"), ("old", "below")]);
    assert_eq!(of(&mut reach, "z", 0), some(""));
    // RENAME TABLE old TO new: its children are now those of the new name.
    reach.tables_changed(vec![name("old"), name("new")], 1);
    // The table that refers to it does so under its new name.
    let asked = WantedKeys::Of(vec![name("below"), name("new"), name("old")]);
    assert_eq!(wants(&mut reach), Some(asked));
    assert_eq!(of(&mut reach, "new", 0), some("below new old"));
    assert_eq!(of(&mut reach, "z", 0), some("below new old"));
    assert_eq!(of(&mut reach, "a", 0), some("b below new old"));
    let sure = |reach: &mut ForeignKeyReach, table: &str| {
        reach.of(&name(table), Position::ZERO).map(|reached| reached.by_keys.clone())
    };
    assert_eq!(sure(&mut reach, "a"), Some(vec![name("b")]));
    assert_eq!(sure(&mut reach, "new"), Some(vec![]));
    let tables = vec![name("below"), name("new"), name("old")];
    let renamed =
        ForeignKey { parent: name("new"), child: name("below"), acts: Acts::ALWAYS, columns: Vec::new() };
    let keys = ReadKeys::Of(tables, vec![renamed]);
    reach.stage(Staged { keys, asked_at: 1, read_by: Position::new(5) });
    assert_eq!(of(&mut reach, "a", 4), some("b below new old"));
    assert_eq!(of(&mut reach, "a", 5), some("b"));
    assert_eq!(of(&mut reach, "new", 5), some("below"));
}

#[test]
fn a_definition_that_brings_no_key_leaves_those_of_others_known() {
    // The keys that were read last count from here on, whether somebody has asked for them or not.
    let mut reach = reach(&[("a", "b")]);
    reach.unlinked_changed(vec![name("new")], 1, Position::ZERO);
    assert_eq!(of(&mut reach, "a", 0), some("b"));
    assert!(reach.of(&name("a"), Position::ZERO).unwrap().keys.is_some());
    assert!(!reach.awaits_keys());
    // It may come after one that brings a key and is not read yet.
    reach.tables_changed(vec![name("new")], 2);
    reach.unlinked_changed(vec![name("new")], 3, Position::ZERO);
    let none = ReadKeys::Of(vec![name("new")], vec![]);
    reach.stage(Staged { keys: none, asked_at: 2, read_by: Position::ZERO });
    assert_eq!(of(&mut reach, "a", 0), some("b new"));
    // The keys of a parent and of a child may go by other columns now, or have ended.
    for table in ["a", "b"] {
        let mut reach = self::reach(&[("a", "b")]);
        assert_eq!(of(&mut reach, "a", 0), some("b"));
        reach.unlinked_changed(vec![name(table)], 1, Position::ZERO);
        assert!(reach.awaits_keys(), "{table}");
    }
    // Where not all keys are seen, any table may have some.
    let mut partial = ForeignKeyReach::default();
    partial.stage(all(ForeignKeys { is_complete: false, ..keys(&[]) }, 0, 0));
    assert_eq!(of(&mut partial, "a", 0), some(""));
    partial.unlinked_changed(vec![name("new")], 1, Position::ZERO);
    assert_eq!(of(&mut partial, "a", 0), some("new"));
}

#[test]
fn what_changes_between_reading_and_counting_counts_as_changed() {
    let mut reach = reach(&[("a", "b")]);
    assert_eq!(of(&mut reach, "a", 0), some("b"));
    reach.tables_changed(vec![name("c")], 1);
    let keys = ReadKeys::Of(vec![name("c")], vec![]);
    reach.stage(Staged { keys, asked_at: 1, read_by: Position::new(5) });
    reach.tables_changed(vec![name("d")], 2);
    assert_eq!(of(&mut reach, "a", 4), some("b c d"));
    assert_eq!(of(&mut reach, "a", 5), some("b d"));
    assert_eq!(wants(&mut reach), Some(WantedKeys::Of(vec![name("d")])));
    // The same table once more.
    let keys = ReadKeys::Of(vec![name("d")], vec![]);
    reach.stage(Staged { keys, asked_at: 2, read_by: Position::new(5) });
    reach.tables_changed(vec![name("d")], 3);
    assert_eq!(of(&mut reach, "a", 5), some("b d"));
}

#[test]
fn the_keys_of_all_do_not_count_if_any_may_have_changed_since() {
    let mut reach = ForeignKeyReach::default();
    reach.anything_changed(7);
    reach.stage(all(keys(&[]), 6, 0));
    assert_eq!(of(&mut reach, "a", 0), None);
    reach.stage(Staged { keys: ReadKeys::Of(vec![], vec![]), asked_at: 7, read_by: Position::ZERO });
    assert_eq!(of(&mut reach, "a", 0), None, "those of a few");
    reach.tables_changed(vec![name("c")], 8);
    reach.stage(all(keys(&[]), 7, 0));
    assert_eq!(of(&mut reach, "a", 0), some("c"));
}

#[test]
fn a_schema_that_goes_leaves_nothing_unknown() {
    let mut reach = reach(&[("a", "b")]);
    reach.schema_changed(1);
    assert_eq!(of(&mut reach, "a", 0), None, "the keys were not in use yet");
    reach.stage(all(keys(&[("a", "b")]), 1, 0));
    assert_eq!(of(&mut reach, "a", 0), some("b"));
    reach.schema_changed(2);
    assert_eq!(of(&mut reach, "a", 0), some("b"));
}

#[test]
fn too_many_changes_reach_everything() {
    let mut reach = reach(&[]);
    assert_eq!(of(&mut reach, "a", 0), some(""));
    reach.tables_changed((0..CHANGED_TABLES_MAX).map(|i| name(&i.to_string())).collect(), 1);
    assert!(of(&mut reach, "a", 0).is_some());
    reach.tables_changed(vec![name("one more")], 2);
    assert_eq!(of(&mut reach, "a", 0), None);
    reach.anything_changed(3);
    assert_eq!(of(&mut reach, "a", 0), None);
}

#[test]
fn a_key_acts_on_what_it_was_made_for() {
    let on = |child: &str, on_delete, on_update| {
        let on_delete = if on_delete { OnDelete::Deletes } else { OnDelete::Nothing };
        let acts = Acts { on_delete, on_update };
        let columns = vec![("p".to_owned(), "id".to_owned())];
        ForeignKey { parent: name("p"), child: name(child), acts, columns }
    };
    let below =
        ForeignKey { parent: name("both"), child: name("below"), acts: Acts::ALWAYS, columns: Vec::new() };
    let every = [
        on("deletes", true, OnUpdate::Nothing),
        on("both", true, OnUpdate::Cascades),
        on("any", false, OnUpdate::Anything),
        below,
    ];
    let mut reach = ForeignKeyReach::default();
    reach.stage(all(ForeignKeys::from_keys(every), 0, 0));
    let of = |reach: &mut ForeignKeyReach, column: &str| {
        let reached = reach.of(&name("p"), Position::ZERO).unwrap();
        let names = |names: &mut dyn Iterator<Item = &Name>| {
            names.map(|name| name.1.clone()).collect::<Vec<_>>().join(" ")
        };
        let on_update = names(&mut reached.on_update_of(|changed| changed == column));
        (names(&mut reached.on_delete.iter()), on_update)
    };
    assert_eq!(of(&mut reach, "id"), ("below both deletes".to_owned(), "below both any".to_owned()));
    assert_eq!(of(&mut reach, "v").1, "any");
    // Another table may be a child now.
    reach.tables_changed(vec![name("new")], 1);
    assert_eq!(of(&mut reach, "v"), ("below both deletes new".to_owned(), "any new new".to_owned()));
    // And what was `v` may be `id`.
    reach.tables_changed(vec![name("p")], 2);
    assert!(of(&mut reach, "v").1.contains("both"));
}

#[test]
fn ancestors_are_asked_for_only_where_the_list_may_have_gaps() {
    let mut whole = reach(&[("a", "b"), ("b", "c")]);
    assert_eq!(whole.unproven_ancestors(&name("c"), Position::ZERO), Some(vec![]));
    let mut partial = ForeignKeyReach::default();
    partial.stage(all(ForeignKeys { is_complete: false, ..keys(&[("a", "b"), ("b", "c")]) }, 0, 0));
    assert_eq!(partial.unproven_ancestors(&name("c"), Position::ZERO), Some(vec![name("a"), name("b")]));
    partial.tables_changed(vec![name("x")], 1);
    assert_eq!(partial.unproven_ancestors(&name("c"), Position::ZERO), None);
}

/// What a text does, which is as the binlog has it.
fn alteration(text: &str) -> Alteration {
    let effect = freshet_sql::binlog_effect(text.as_bytes(), "s", freshet_sql::Flavor::MySql, true);
    let freshet_sql::BinlogEffect::Definition { alteration: Some(alteration), .. } = effect else {
        panic!("{text}: {effect:?}");
    };
    alteration
}

#[test]
fn a_table_that_keeps_its_keys_reaches_what_it_reached() {
    let keyed = || {
        let key = ForeignKey {
            parent: name("a"),
            child: name("b"),
            acts: Acts::ALWAYS,
            columns: vec![("parent".to_owned(), "id".to_owned())],
        };
        let mut keys = ForeignKeys::from_keys(std::iter::once(key));
        keys.is_complete = true;
        let mut reach = ForeignKeyReach::default();
        reach.stage(all(keys, 0, 0));
        assert_eq!(of(&mut reach, "a", 0), some("b"));
        reach
    };
    for text in
        ["ALTER TABLE b ADD x INT FIRST, ADD INDEX (x)", "ALTER TABLE b DROP other", "OPTIMIZE TABLE b"]
    {
        let mut reach = keyed();
        reach.altered(name("b"), &alteration(text), 1, Position::ZERO);
        assert_eq!((of(&mut reach, "a", 0), of(&mut reach, "c", 0)), (some("b"), some("")), "{text}");
        assert_eq!(wants(&mut reach), None);
    }
    for (table, text) in
        [("b", "ALTER TABLE b RENAME COLUMN parent TO p"), ("a", "ALTER TABLE a MODIFY id BIGINT")]
    {
        let mut reach = keyed();
        reach.altered(name(table), &alteration(text), 1, Position::ZERO);
        assert_eq!(of(&mut reach, "c", 0), Some(if table == "a" { "a b" } else { "b" }.to_owned()), "{text}");
        assert!(matches!(wants(&mut reach), Some(WantedKeys::Of(_))));
    }
}
