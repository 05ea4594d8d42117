use super::*;

#[test]
fn what_is_shown_differently_has_changed() {
    let float = |value| Field::Value(Value::Float(value));
    let double = |value| Field::Value(Value::Double(value));
    assert!(is_changed(float(0.0), float(-0.0), false));
    assert!(is_changed(double(0.0), double(-0.0), false));
    assert!(!is_changed(double(1.5), double(1.5), false));
    let text = |text| Field::Value(Value::Bytes(text));
    assert!(is_changed(text(b"a"), text(b"A"), false));
    assert!(is_changed(Field::Null, text(b""), false));
    // A difference says that there is one.
    let difference = Field::Value(Value::JsonPartial(b"x"));
    assert!(is_changed(difference, difference, false));
}

#[test]
fn what_is_left_out_of_an_after_image_has_not_changed_unless_it_is_computed() {
    assert!(!is_changed(Field::Null, Field::Absent, false));
    assert!(!is_changed(Field::Absent, Field::Absent, false));
    assert!(is_changed(Field::Absent, Field::Null, false));
    assert!(is_changed(Field::Null, Field::Absent, true));
}
