use super::*;

fn key_of_datum(key_type: &KeyType, datum: &Datum) -> Option<Key> {
    super::key_of_datum(key_type, datum, Zone::Other)
}

fn key_of_assigned(key_type: &KeyType, datum: &Datum) -> Option<Key> {
    super::key_of_assigned(key_type, datum, Zone::Other)
}

fn bounds_of_datum(key_type: &KeyType, datum: &Datum) -> Option<(u64, u64)> {
    super::bounds_of_datum(key_type, datum, Zone::Other)
}

const INT: KeyType = KeyType::Integer { unsigned: false, bytes: 4 };
const UNSIGNED: KeyType = KeyType::Integer { unsigned: true, bytes: 1 };
const DECIMAL: KeyType = KeyType::Decimal { precision: 10, scale: 2 };
const LONG: KeyType = KeyType::Decimal { precision: 30, scale: 4 };

fn text_type() -> KeyType {
    KeyType::Text { collation: "utf8mb4_general_ci".into(), chars: 4 }
}

fn text(text: &str) -> Datum {
    Datum::Text(text.as_bytes().to_vec())
}

fn decimal(text: &str) -> Datum {
    Datum::Decimal(text.to_owned())
}

fn same(key_type: &KeyType, one: &Datum, other: &Datum) -> bool {
    let key = key_of_datum(key_type, one);
    key.is_some() && key == key_of_datum(key_type, other)
}

#[test]
fn a_moment_that_is_given_as_such_is_no_text() {
    let moment = Datum::Moment(b"2024-02-09".to_vec());
    let text = KeyType::Text { collation: "utf8mb4_bin".into(), chars: 30 };
    for key_type in [text, KeyType::Bytes { len: 30 }] {
        assert_eq!(key_of_datum(&key_type, &moment), None, "'2024-2-9' is equal to it");
        assert_eq!(key_of_assigned(&key_type, &moment), None, "the servers write it in different forms");
    }
    for key_type in [KeyType::Date, KeyType::DateTime { decimals: 3 }] {
        let as_text = key_of_datum(&key_type, &Datum::Text(b"2024-02-09".to_vec()));
        assert!(as_text.is_some());
        assert_eq!(key_of_datum(&key_type, &moment), as_text);
        assert_eq!(key_of_assigned(&key_type, &moment), as_text);
    }
}

#[test]
fn one_value_in_several_forms() {
    for other in [text("5"), text("05"), text("5.0"), decimal("5.00"), decimal("05.")] {
        assert!(same(&INT, &Datum::Int(5), &other), "{other:?}");
        assert!(same(&DECIMAL, &Datum::Int(5), &other), "{other:?}");
    }
    assert!(same(&INT, &Datum::Int(0), &decimal("-0.0")));
    assert!(
        same(&LONG, &decimal("-0.50"), &decimal("-00.5")) && same(&LONG, &decimal("-0.0"), &Datum::Int(0))
    );
    assert!(same(&text_type(), &text("aB "), &text("Ab")));
    assert!(same(&KeyType::Bytes { len: 9 }, &text("a "), &text("a")));
    assert!(!same(&KeyType::Bytes { len: 9 }, &text("A"), &text("a")));
    let seconds = KeyType::DateTime { decimals: 0 };
    assert!(same(&seconds, &text("2024-02-29"), &text("2024-02-29 00:00:00.000")));
    assert!(same(&KeyType::Date, &text("2024-02-29"), &text("2024-02-29 00:00:00")));
}

#[test]
fn what_is_undecided() {
    for (key_type, datum) in [
        (INT, text(" 5")),
        (INT, text("+5")),
        (INT, text("5.1")),
        (INT, text("5e0")),
        (INT, text("9007199254740992")),
        (INT, decimal("5.5")),
        (INT, Datum::Other),
        (INT, Datum::Param(0)),
        (KeyType::Decimal { precision: 16, scale: 2 }, text("5")),
        (LONG, decimal("0.00001")),
        (text_type(), Datum::Int(5)),
        (text_type(), text("a\tb")),
        (KeyType::Date, Datum::Int(20_240_229)),
        (KeyType::Date, text("2024-2-29")),
        (KeyType::Date, text("2023-02-29")),
        (KeyType::Date, text("0000-00-00")),
        (KeyType::Date, text("2024-02-29 10:00:00")),
        (KeyType::Date, text("2024-02-29 00:00:00.5")),
        (KeyType::DateTime { decimals: 1 }, text("2024-02-29 00:00:00.25")),
        (KeyType::None, Datum::Null),
    ] {
        assert_eq!(key_of_datum(&key_type, &datum), None, "{key_type:?} {datum:?}");
    }
}

#[test]
fn numbers_sort_as_their_values_do() {
    let sorted = |key_type: &KeyType, data: &[Datum]| {
        let keys: Vec<u64> = data.iter().map(|datum| bounds_of_datum(key_type, datum).unwrap().0).collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{key_type:?}");
    };
    sorted(&INT, &[-2_147_483_648, -1, 0, 1, 2_147_483_647].map(Datum::Int));
    sorted(&UNSIGNED, &[0, 1, 255].map(Datum::Int));
    sorted(&DECIMAL, &["-99999999.99", "-0.01", "0.00", "0.01", "5.1"].map(decimal));
    sorted(&KeyType::Date, &["1000-01-01", "2023-12-31", "2024-02-29", "2024-03-01", "9999-12-31"].map(text));
    let micros = KeyType::DateTime { decimals: 6 };
    sorted(&micros, &["2024-02-29 23:59:59.999999", "2024-03-01", "2024-03-01 00:00:00.000001"].map(text));
}

#[test]
fn bounds_beyond_a_type_are_its_ends() {
    assert_eq!(bounds_of_datum(&UNSIGNED, &Datum::Int(300)), Some((255, 255)));
    assert_eq!(bounds_of_datum(&UNSIGNED, &Datum::Int(-1)), Some((0, 0)));
    assert_eq!(bounds_of_datum(&UNSIGNED, &decimal("4.5")), Some((4, 5)));
    assert_eq!(bounds_of_datum(&UNSIGNED, &decimal(&"9".repeat(90))), Some((255, 255)));
    let big = KeyType::Integer { unsigned: true, bytes: 8 };
    assert_eq!(extent(&big), Some((0, u64::MAX)));
    assert_eq!(bounds_of_datum(&big, &Datum::Int(i128::from(u64::MAX))), Some((u64::MAX, u64::MAX)));
}

#[test]
fn the_sign_is_the_catalogs() {
    let byte = |value| key_of_field(&UNSIGNED, Field::Value(value));
    assert_eq!(byte(Value::Int(-1)), Some(Key::Ordered(255)));
    assert_eq!(byte(Value::UInt(255)), Some(Key::Ordered(255)));
    assert_eq!(byte(Value::UInt(256)), None);
    assert_eq!(key_of_field(&INT, Field::Value(Value::UInt(1))), None);
    assert_eq!(key_of_field(&INT, Field::Value(Value::Bytes(b"1"))), None);
    assert_eq!(key_of_field(&INT, Field::Absent), None);
    assert_eq!(key_of_field(&INT, Field::Null), Some(Key::Null));
}

#[test]
fn what_is_stored_differently_is_not_foretold() {
    for (key_type, datum) in [
        (UNSIGNED, Datum::Int(256)),
        (UNSIGNED, Datum::Int(-1)),
        (INT, decimal("1.5")),
        (DECIMAL, decimal("1.005")),
        (DECIMAL, Datum::Int(100_000_000)),
        (DECIMAL, Datum::Int(-1)),
        (text_type(), text("abcde")),
        (KeyType::Bytes { len: 4 }, text("abcde")),
        (KeyType::Date, text("2024-02-29 00:00:00")),
    ] {
        assert_eq!(key_of_assigned(&key_type, &datum), None, "{key_type:?} {datum:?}");
    }
    assert!(key_of_assigned(&text_type(), &text("abcd")).is_some());
    assert!(key_of_assigned(&DECIMAL, &decimal("99999999.99")).is_some());
}

fn labels(column_type: &str, collation: &str) -> Labels {
    Labels::parse(column_type, collation).unwrap()
}

#[test]
fn names_of_values() {
    let one = KeyType::Enum(labels("enum('x','It''s','5')", "utf8mb4_general_ci"));
    assert!(same(&one, &text("X"), &Datum::Int(1)) && same(&one, &text("it's"), &Datum::Int(2)));
    assert_eq!(key_of_field(&one, Field::Value(Value::Enum(2))), key_of_datum(&one, &text("it's")));
    for undecided in [text("5"), text("y"), text(""), Datum::Int(4), Datum::Int(-1), decimal("1.0")] {
        assert_eq!(key_of_datum(&one, &undecided), None, "{undecided:?}");
    }
    assert_eq!(key_of_assigned(&one, &Datum::Int(0)), None, "it may be refused");
    let exact = KeyType::Enum(labels("enum('x','Y')", "latin1_bin"));
    assert_eq!(key_of_datum(&exact, &text("y")), None, "what was refused is equal to it");
    assert!(key_of_datum(&exact, &text("Y")).is_some());
}

#[test]
fn several_names_at_once() {
    let set = KeyType::Set(labels("set('a','b','c')", "latin1_swedish_ci"));
    assert!(same(&set, &text("A,c"), &Datum::Int(5)) && same(&set, &text(""), &Datum::Int(0)));
    assert_eq!(key_of_field(&set, Field::Value(Value::Set(5))), key_of_datum(&set, &text("a,C")));
    for undecided in [text("c,a"), text("a,a"), text("a,d"), text("a, b"), Datum::Int(8)] {
        assert_eq!(key_of_datum(&set, &undecided), None, "{undecided:?}");
    }
    assert_eq!(key_of_field(&set, Field::Value(Value::Set(8))), None);
}

#[test]
fn times_and_years() {
    let time = KeyType::Time { decimals: 3 };
    assert!(same(&time, &text("12:34:56"), &text("12:34:56.000000")));
    let keys = ["-838:59:59", "-00:00:01", "00:00:00", "00:00:00.001", "100:00:00"]
        .map(|t| key_of_datum(&time, &text(t)));
    assert!(keys.iter().all(Option::is_some) && keys.is_sorted());
    for undecided in [
        "-00:00:00",
        "1:2:3",
        "12:34",
        "839:00:00",
        "838:59:59.5",
        "12:34:56.1234",
        "12:34:56.",
        "2024-01-01",
    ] {
        assert_eq!(key_of_datum(&time, &text(undecided)), None, "{undecided}");
    }
    assert!(same(&KeyType::Year, &Datum::Int(2024), &text("2024")));
    for undecided in [Datum::Int(24), Datum::Int(0), Datum::Int(2156), text("24"), text(" 2024")] {
        assert_eq!(key_of_datum(&KeyType::Year, &undecided), None, "{undecided:?}");
    }
    let bit = KeyType::Bit { bits: 5 };
    assert!(key_of_datum(&bit, &Datum::Int(31)).is_some());
    assert_eq!(key_of_datum(&bit, &Datum::Int(32)), None);
}

#[test]
fn addresses_and_uuids() {
    let address = KeyType::Address { bytes: 16 };
    assert!(same(&address, &text("::1"), &text("0:0:0:0:0:0:0:1")));
    assert_eq!(key_of_datum(&address, &text("10.0.0.1")), None);
    let uuid = text("00112233-4455-1677-8899-aabbccddeeff");
    let turned = b"\xaa\xbb\xcc\xdd\xee\xff\x88\x99\x16\x77\x44\x55\x00\x11\x22\x33";
    let of_row = key_of_field(&KeyType::Uuid, Field::Value(Value::Bytes(turned)));
    assert!(of_row.is_some() && of_row == key_of_datum(&KeyType::Uuid, &uuid));
    assert_eq!(key_of_datum(&KeyType::Uuid, &text("00112233445516778899aabbccddeeff")), None);
}

#[test]
fn moments_are_told_where_the_zone_is_a_distance() {
    let key_type = KeyType::Timestamp { decimals: 3 };
    let key = |text_of: &str, zone| super::key_of_datum(&key_type, &text(text_of), zone);
    let utc = key("2024-02-29 10:00:00", Zone::UTC);
    assert_eq!(utc, Some(Key::Ordered(1_709_200_800_000)));
    assert_eq!(key("2024-02-29 12:00:00.000", Zone::Fixed(7200)), utc);
    assert_eq!(key("2024-02-28 20:00:00", Zone::Fixed(-50_400)), utc);
    assert_eq!(key("2024-02-29", Zone::Fixed(36_000)), key("2024-02-28 14:00:00", Zone::UTC));
    assert_eq!(key("2024-02-29 10:00:00", Zone::Other), None);
    for beyond in ["1970-01-01 00:00:01", "1960-01-01", "2038-01-19 03:14:07", "2200-01-01"] {
        assert_eq!(key(beyond, Zone::UTC), None, "{beyond}");
        let bounds = super::bounds_of_datum(&key_type, &text(beyond), Zone::UTC);
        assert_eq!(bounds, extent(&key_type), "{beyond}");
    }
    for other in
        ["2024-02-29 10:00:00.0001", "2024-02-29 10:00:00+00:00", "2024-02-29T10:00:00", "2024-02-30"]
    {
        assert_eq!(key(other, Zone::UTC), None, "{other}");
    }
    assert_eq!(super::key_of_datum(&key_type, &Datum::Int(20_240_229_100_000), Zone::UTC), None);
}
