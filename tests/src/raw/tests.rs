use super::*;

#[test]
fn status_flags_stand_where_the_lengths_before_them_say() {
    assert_eq!(status(&[0xfe, 0, 0, 0x22, 0]), 0x22);
    assert_eq!(status(&[0, 1, 2, 0x02, 0x40, 0, 0]), 0x4002);
    assert_eq!(status(&[0, 0xfc, 1, 2, 0xfd, 1, 2, 3, 0x08, 0, 0, 0]), 0x08);
    assert_eq!(status(&[0xff, 1, 2, 3, 4]), 0);
    assert_eq!(status(&[0]), 0);
}

#[test]
fn an_error_has_a_code() {
    assert_eq!(error_code(&[0xff, 0x15, 0x04, b'#']), Some(1045));
    assert_eq!(error_code(&[0, 0, 0]), None);
}
