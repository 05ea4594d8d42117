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
        &["a/restrict", "a/p", "0"],
        &["a/no_action", "a/p", "48"],
        &["a/cascade", "a/p", "33"],
        &["b/set_null", "a/p", "24"],
        &["b/unknown_bit", "a/p", "256"],
    ];
    let keys = from_innodb(&rows(innodb)).unwrap();
    let mut children = keys.children[&name("a", "p")].clone();
    children.sort();
    assert_eq!(children, [name("a", "cascade"), name("b", "set_null"), name("b", "unknown_bit")]);

    let standard: &[&[&str]] = &[
        &["a", "restrict", "a", "p", "RESTRICT", "NO ACTION"],
        &["a", "cascade", "a", "p", "RESTRICT", "CASCADE"],
        &["b", "set_null", "a", "p", "SET NULL", "NO ACTION"],
    ];
    let keys = ForeignKeys::from_keys(from_standard(&rows(standard)));
    assert_eq!(keys.children[&name("a", "p")], [name("a", "cascade"), name("b", "set_null")]);
    assert_eq!(keys.parents[&name("b", "set_null")], [name("a", "p")]);
    assert_eq!(keys.len(), 2);
}

#[test]
fn an_uncertain_name_makes_the_whole_list_unusable() {
    for child in ["a/b/c", "c", "a/c?", ""] {
        assert!(from_innodb(&rows(&[&[child, "a/p", "1"]])).is_none(), "{child}");
    }
    assert!(from_innodb(&rows(&[&["a/c@0p", "a/p", "1"]])).is_some());
    assert!(from_innodb(&rows(&[&["a/c", "a/p", "many"]])).is_none());
}

#[test]
fn a_key_without_rules_may_do_anything() {
    let rules: &[&[&str]] = &[&["a", "c", "a", "p", "RESTRICT", "NO ACTION"]];
    let columns: &[&[&str]] = &[&["a", "c", "a", "p"], &["a", "c", "hidden", "p"]];
    let keys = unexplained(&rows(rules), &rows(columns));
    assert_eq!(keys, [ForeignKey { parent: name("hidden", "p"), child: name("a", "c") }]);
}
