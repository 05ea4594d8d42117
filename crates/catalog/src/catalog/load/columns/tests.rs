use super::*;

fn shape<'a>(column_type: &'a str, collation: &'a str, len: &'a str) -> ColumnShape<'a> {
    ColumnShape { column_type, collation, len, precision: "10", scale: "2", decimals: "3" }
}

#[test]
fn types_that_have_keys() {
    let key = |data_type, column_type, collation| key_type(data_type, &shape(column_type, collation, "20"));
    assert_eq!(key("int", "int(10) unsigned", ""), KeyType::Integer { unsigned: true, bytes: 4 });
    assert_eq!(key("bigint", "bigint", ""), KeyType::Integer { unsigned: false, bytes: 8 });
    assert_eq!(key("decimal", "decimal(10,2)", ""), KeyType::Decimal { precision: 10, scale: 2 });
    assert_eq!(key("datetime", "datetime(3)", ""), KeyType::DateTime { decimals: 3 });
    assert_eq!(key("varbinary", "varbinary(20)", ""), KeyType::Bytes { len: 20 });
    let text = KeyType::Text { collation: "utf8mb4_0900_ai_ci".into(), chars: 20 };
    assert_eq!(key("varchar", "varchar(20)", "utf8mb4_0900_ai_ci"), text);
    assert_eq!(key("time", "time(3)", ""), KeyType::Time { decimals: 3 });
    assert_eq!(key("timestamp", "timestamp(3)", ""), KeyType::Timestamp { decimals: 3 });
    assert_eq!(key("year", "year(4)", ""), KeyType::Year);
    assert_eq!(key("bit", "bit(10)", ""), KeyType::Bit { bits: 10 });
    assert_eq!(key("uuid", "uuid", ""), KeyType::Uuid);
    assert!(matches!(key("enum", "enum('a','it''s')", "latin1_swedish_ci"), KeyType::Enum(_)));
    assert!(matches!(key("set", "set('a','b')", "utf8mb4_bin"), KeyType::Set(_)));
}

#[test]
fn types_and_collations_that_have_none() {
    for data_type in ["float", "double", "json", "geometry"] {
        assert_eq!(key_type(data_type, &shape(data_type, "", "")), KeyType::None, "{data_type}");
    }
    for collation in
        ["utf8mb4_german2_ci", "utf8mb4_swedish_ci", "sjis_japanese_ci", "utf8mb4_tr_0900_ai_ci", "utf16_bin"]
    {
        assert_eq!(key_type("varchar", &shape("varchar(20)", collation, "20")), KeyType::None, "{collation}");
        assert_eq!(key_type("enum", &shape("enum('a')", collation, "")), KeyType::None, "{collation}");
    }
    for column_type in ["enum('é')", "enum(", "enum('a'", "enum('a',b)", "enum('a\\b)"] {
        assert_eq!(key_type("enum", &shape(column_type, "utf8mb4_bin", "")), KeyType::None, "{column_type}");
    }
}

#[test]
fn what_the_server_fills_in() {
    let of = |extra, expression| {
        column(&["s", "t", "C", "int", "int", "", "", "10", "0", "", extra, expression, "YES", "", "", ""])
    };
    let plain = of("", "");
    assert_eq!((plain.name.as_str(), plain.generated, plain.nullable), ("c", false, true));
    assert!(of("auto_increment", "").auto_increment);
    let virtual_column = of("VIRTUAL GENERATED", "`a` + 1");
    assert!(virtual_column.generated && virtual_column.key == KeyType::None);
    let stored = of("STORED GENERATED", "`a` + 1");
    assert!(stored.generated && stored.key != KeyType::None);
    let moment = |extra, expression| {
        column(&[
            "s",
            "t",
            "C",
            "timestamp",
            "timestamp(6)",
            "",
            "",
            "",
            "",
            "6",
            extra,
            expression,
            "NO",
            "",
            "",
            "",
        ])
    };
    assert_eq!(moment("", "").key, KeyType::Timestamp { decimals: 6 });
    assert_eq!(moment("STORED GENERATED", "ROW END").key, KeyType::None, "a DELETE changes it");
    let now = of("DEFAULT_GENERATED on update CURRENT_TIMESTAMP", "");
    assert!(now.on_update && !now.generated);
}

#[test]
fn what_a_new_row_can_collide_with() {
    let of = |index, unique_keys| {
        let id = column(&[
            "s",
            "t",
            "id",
            "int",
            "int",
            "",
            "",
            "10",
            "0",
            "",
            "",
            "",
            "NO",
            index,
            "0",
            unique_keys,
        ]);
        (id.unique, id.only_unique)
    };
    assert_eq!(of("PRI", "PRIMARY"), (true, true));
    assert_eq!(of("PRI", "k,PRIMARY"), (true, false));
    assert_eq!(of("PRI", ""), (true, false), "the keys cannot be seen");
    assert_eq!(of("MUL", "PRIMARY"), (false, false));
    assert_eq!(of("UNI", "k"), (false, false));
}
