use super::*;

fn rows(lines: &[&[&str]]) -> Rows {
    let row = |line: &&[&str]| line.iter().map(|text| Some(text.as_bytes().to_vec())).collect();
    Rows { columns: Vec::new(), rows: lines.iter().map(row).collect() }
}

fn name(schema: &str, name: &str) -> Name {
    (schema.into(), name.into())
}

#[test]
fn file_names_are_decoded_or_refused() {
    assert_eq!(file_name("plain_1").as_deref(), Some("plain_1"));
    assert_eq!(file_name("a@002db@0024").as_deref(), Some("a-b$"));
    assert_eq!(file_name("c@0p"), None);
    assert_eq!(file_name("c@0pab"), None);
    assert_eq!(file_name("c@00"), None);
    assert_eq!(file_name("c@00e"), None);
    assert_eq!(file_name("#sql-ib12").as_deref(), Some("#sql-ib12"));
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
    let keys = from_innodb(&rows(innodb), true).unwrap();
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
    assert!(from_innodb(&rows(&[&["a/c@0p", "a/p", "1"]]), true).is_none());
    assert!(from_innodb(&rows(&[&["a/b/c", "a/p", "1"]]), false).is_none());
    assert!(from_innodb(&rows(&[&["a/c@0p", "a/p", "1"]]), false).is_some());
}
