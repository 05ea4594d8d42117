use super::*;

#[test]
fn lists_are_in_order_and_apart() {
    let all = [
        lists::PURE,
        lists::PURE_MYSQL,
        lists::PURE_MARIADB,
        lists::VOLATILE,
        lists::VOLATILE_MYSQL,
        lists::VOLATILE_MARIADB,
        lists::VOLATILE_WORDS,
        TIME_AND_CHANCE,
        lists::LAST_STATEMENT,
        lists::SESSION,
        lists::NEED_ADJACENT_PARENTHESIS,
        lists::GRAMMAR,
        before_8::NEW_WORDS,
        before_8::NOT_IN_5_7,
        before_8::PURE_5_7,
    ];
    for list in all {
        assert!(list.windows(2).all(|pair| pair[0] < pair[1]), "{list:?}");
    }
    for name in lists::VOLATILE.iter().chain(lists::LAST_STATEMENT).chain(lists::SESSION) {
        let pure = [lists::PURE, lists::PURE_MYSQL, lists::PURE_MARIADB];
        assert!(!pure.iter().any(|list| list.contains(name)), "{name}");
    }
}

#[test]
fn classes() {
    let mysql = Modes::new(Flavor::MySql);
    let mariadb = Modes::new(Flavor::MariaDb);
    assert_eq!(class(b"concat", false, mysql), FunctionClass::Pure);
    assert_eq!(class(b"Now", false, mysql), FunctionClass::Volatile);
    assert_eq!(class(b"extractvalue", false, mysql), FunctionClass::Volatile);
    assert_eq!(class(b"UpdateXML", false, mariadb), FunctionClass::Volatile);
    assert_eq!(class(b"uuid_to_bin", false, mysql), FunctionClass::Pure);
    assert_eq!(class(b"uuid_to_bin", false, mariadb), FunctionClass::Unknown);
    assert_eq!(class(b"median", false, mysql), FunctionClass::Unknown);
    assert_eq!(class(b"count", true, mysql), FunctionClass::Unknown);
    assert_eq!(class(b"count", true, Modes { ignore_space: true, ..mysql }), FunctionClass::Pure);
    assert_eq!(class(b"abs", true, mysql), FunctionClass::Pure);
    assert_eq!(class(b"nextval", false, mariadb), FunctionClass::Unknown);
    assert_eq!(class("é".as_bytes(), false, mysql), FunctionClass::Unknown);
}

#[test]
fn mysql_5_7_has_other_functions_and_fewer_words() {
    let today = Modes::new(Flavor::MySql);
    let before = Modes { before_8: true, ..today };
    for (name, then, now) in [
        ("concat", FunctionClass::Pure, FunctionClass::Pure),
        ("md5", FunctionClass::Pure, FunctionClass::Unknown),
        ("geomfromtext", FunctionClass::Pure, FunctionClass::Unknown),
        ("rank", FunctionClass::Unknown, FunctionClass::Pure),
        ("json_pretty", FunctionClass::Unknown, FunctionClass::Pure),
        ("regexp_replace", FunctionClass::Unknown, FunctionClass::Pure),
        // Its result hangs on old_passwords and on chance.
        ("password", FunctionClass::Unknown, FunctionClass::Unknown),
        ("now", FunctionClass::Volatile, FunctionClass::Volatile),
    ] {
        assert_eq!(class(name.as_bytes(), false, before), then, "{name}");
        assert_eq!(class(name.as_bytes(), false, today), now, "{name}");
    }
    assert!(is_grammar(b"over", today) && !is_grammar(b"over", before));
    assert!(is_grammar(b"select", before));
}
