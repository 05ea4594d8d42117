use super::*;

#[test]
fn the_escapes_of_mysql_are_undone_once() {
    assert_eq!(unescape(r"concat(`id`,_utf8mb4\'a\\\'b\')"), br"concat(`id`,_utf8mb4'a\'b')");
    assert_eq!(unescape(r"a\nb\\"), b"a\nb\\");
    assert_eq!(unescape("\\"), b"\\");
}
