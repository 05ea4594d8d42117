use super::kinds::{boolean, one_of, size};
use super::*;

#[test]
fn a_size_is_clamped_and_rounded_with_a_warning() {
    let cases: [(i128, u64, bool); 5] =
        [(1024, 1024, false), (1025, 1024, true), (-5, 0, true), (0, 0, false), (i128::MAX, SIZE_MAX, true)];
    for (given, taken, warns) in cases {
        let (bytes, warning) =
            size("query_cache_size", &AssignedValue::Int(given), SIZE_MAX, SIZE_STEP, 0).unwrap();
        assert_eq!((bytes, warning.is_some()), (taken, warns), "{given}");
    }
    let wrong =
        size("query_cache_size", &AssignedValue::Text("big".into()), SIZE_MAX, SIZE_STEP, 0).unwrap_err();
    assert_eq!(wrong.code, 1232);
}

#[test]
fn a_choice_is_taken_by_name_or_number_and_else_refused_by_name() {
    assert_eq!(one_of("query_cache_type", &AssignedValue::Text("demand".into()), &TYPES).unwrap(), Some(2));
    assert_eq!(one_of("query_cache_type", &AssignedValue::Int(1), &TYPES).unwrap(), Some(1));
    let wrong = one_of("query_cache_type", &AssignedValue::Int(3), &TYPES).unwrap_err();
    assert_eq!(wrong.code, 1231);
    assert_eq!(wrong.message, b"Variable 'query_cache_type' can't be set to the value of '3'");
    assert_eq!(
        boolean("query_cache_strip_comments", &AssignedValue::Text("TRUE".into())).unwrap(),
        Some(true)
    );
}

#[test]
fn names_are_sorted_so_that_show_variables_is() {
    assert!(VARIABLES.is_sorted_by_key(|variable| variable.name));
    assert!(VARIABLES.iter().all(|variable| !variable.doc.is_empty()));
}

#[test]
fn a_global_off_turns_every_session_off() {
    let globals = Globals::default();
    let locals = Locals { query_cache_type: Some(TYPE_DEMAND), ..Locals::default() };
    assert_eq!(locals.effective_type(&globals), TYPE_DEMAND);
    globals.query_cache_type.store(TYPE_OFF, Ordering::Relaxed);
    assert_eq!(locals.effective_type(&globals), TYPE_OFF);
}
