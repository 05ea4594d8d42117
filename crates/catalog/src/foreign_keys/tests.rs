use super::*;

fn rows(lines: &[&[&str]]) -> Rows {
    let row = |line: &&[&str]| line.iter().map(|text| Some(text.as_bytes().to_vec())).collect();
    Rows { rows: lines.iter().map(row).collect(), ..Rows::default() }
}

fn name(schema: &str, name: &str) -> Name {
    (schema.into(), name.into())
}

#[test]
fn only_keys_that_change_the_child_count() {
    let innodb: &[&[&str]] = &[
        &["1", "a/restrict", "a/p", "0"],
        &["2", "a/no_action", "a/p", "48"],
        &["3", "a/cascade", "a/p", "33"],
        &["4", "b/set_null", "a/p", "24"],
        &["5", "b/unknown_bit", "a/p", "256"],
        &["6", "a/unknown_columns", "a/p", "4"],
    ];
    let columns: &[&[&str]] = &[&["3", "p", "id"], &["4", "A", "Id"], &["4", "b", "k"], &["5", "p", "id"]];
    let keys = from_innodb(&rows(innodb), &rows(columns)).unwrap();
    let acts = |child: (&str, &str)| {
        let found = keys.keys[&name("a", "p")].iter().find(|key| key.child == name(child.0, child.1));
        found.map(|key| (key.acts.on_delete, key.acts.on_update))
    };
    assert_eq!((acts(("a", "restrict")), acts(("a", "no_action"))), (None, None));
    assert_eq!(acts(("a", "cascade")), Some((OnDelete::Deletes, OnUpdate::Nothing)));
    assert_eq!(acts(("b", "set_null")), Some((OnDelete::Nothing, OnUpdate::SetsNull)));
    assert_eq!(acts(("b", "unknown_bit")), Some((OnDelete::Anything, OnUpdate::Anything)));
    assert_eq!(acts(("a", "unknown_columns")), Some((OnDelete::Nothing, OnUpdate::Cascades)));
    let columns = |child: &str| {
        let key = keys.keys[&name("a", "p")].iter().find(|key| key.child.1 == child).unwrap();
        key.acts_on_update_of().map(|columns| columns.join(" "))
    };
    assert_eq!(columns("set_null").as_deref(), Some("id k"));
    assert_eq!(columns("cascade").as_deref(), Some(""));
    assert_eq!((columns("unknown_bit"), columns("unknown_columns")), (None, None));
    assert_eq!(keys.children[&name("a", "p")].len(), 4);

    let standard: &[&[&str]] = &[
        &["a", "restrict", "a", "p", "RESTRICT", "NO ACTION"],
        &["a", "cascade", "a", "p", "RESTRICT", "CASCADE"],
        &["b", "set_null", "a", "p", "SET NULL", "NO ACTION"],
    ];
    let keys = ForeignKeys::from_keys(from_standard(&rows(standard)).map(|(key, _)| key));
    assert_eq!(keys.children[&name("a", "p")], [name("a", "cascade"), name("b", "set_null")]);
    assert_eq!(keys.parents[&name("b", "set_null")], [name("a", "p")]);
    let acts: Vec<_> = keys.keys[&name("a", "p")].iter().map(|key| key.acts.clone()).collect();
    assert_eq!(acts[0], Acts { on_delete: OnDelete::Deletes, on_update: OnUpdate::Nothing });
    assert_eq!(acts[1], Acts { on_delete: OnDelete::Nothing, on_update: OnUpdate::SetsNull });
    assert_eq!(keys.len(), 2);
}

#[test]
fn an_uncertain_name_makes_the_whole_list_unusable() {
    let read = |child, kind| from_innodb(&rows(&[&["1", child, "a/p", kind]]), &rows(&[]));
    for child in ["a/b/c", "c", "a/c?", ""] {
        assert!(read(child, "1").is_none(), "{child}");
    }
    assert!(read("a/c@0p", "1").is_some());
    assert!(read("a/c", "many").is_none());
}

#[test]
fn a_key_without_rules_may_do_anything() {
    let rules: &[&[&str]] = &[&["a", "c", "a", "p", "RESTRICT", "NO ACTION"]];
    let columns: &[&[&str]] = &[&["a", "c", "a", "p"], &["a", "c", "hidden", "p"]];
    let keys = unexplained(&rows(rules), &rows(columns));
    assert_eq!(keys, [key(["a", "c", "hidden", "p"])]);
}
