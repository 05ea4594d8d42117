use super::*;

#[test]
fn bytes_as_people_write_them() {
    for (text, expected) in [
        ("0", Some(0)),
        ("4096", Some(4096)),
        ("64K", Some(65_536)),
        ("64 KiB", Some(65_536)),
        (" 1m ", Some(1 << 20)),
        ("2G", Some(2 << 30)),
        ("", None),
        ("K", None),
        ("-1", None),
        ("1.5M", None),
        ("1T", None),
        ("18446744073709551615G", None),
        ("99999999999999999999", None),
    ] {
        assert_eq!(bytes(text), expected, "{text:?}");
    }
}

#[test]
fn times_as_people_write_them() {
    for (text, expected) in [
        ("200ms", Some(200)),
        ("10", Some(10_000)),
        ("10s", Some(10_000)),
        ("5m", Some(300_000)),
        ("8h", Some(28_800_000)),
        ("1d", Some(86_400_000)),
        ("1w", None),
        ("s", None),
        ("1.5s", None),
    ] {
        assert_eq!(milliseconds(text), expected, "{text:?}");
    }
}
