use super::*;

#[test]
fn texts_and_names_cannot_leave_their_quotes() {
    assert_eq!(quote("a'b\\c\0"), "'a''b\\\\c\\0'");
    assert_eq!(quote_name("a`b"), "`a``b`");
}
