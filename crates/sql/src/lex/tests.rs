use super::*;
use crate::modes::Flavor;
use crate::multi_byte::MultiByte;

const MYSQL: Modes = Modes::new(Flavor::MySql);
const MARIADB: Modes = Modes::new(Flavor::MariaDb);

/// Returns the tokens, joined by `|`; an unknown one as `<?>`.
fn cut(text: &str, modes: Modes) -> String {
    let show = |token: Token| match token.kind {
        TokenKind::Unknown => "<?>".to_owned(),
        _ => String::from_utf8_lossy(token.of(text.as_bytes())).into_owned(),
    };
    Lexer::new(text.as_bytes(), modes).map(show).collect::<Vec<_>>().join("|")
}

#[test]
fn cuts_as_the_servers_do() {
    for (text, expected) in [
        ("a.b", "a|.|b"),
        ("1a 1e5 1e5x 1ex .5 1. 1.5e-3 1.e2", "1a|1e5|1e5|x|1ex|.5|1.|1.5e-3|1.e2"),
        ("t.1a t.5 t .5", "t|.|1a|t|.|5|t|.5"),
        ("0x1F 0xG 0X1 0b01 0b2 x'1f' B'01' N'x' n'y'", "0x1F|0xG|0X1|0b01|0b2|x'1f'|B'01'|N'x'|n'y'"),
        ("'a''b' 'a\\'b' \"c\"\"d\" `e``f`", "'a''b'|'a\\'b'|\"c\"\"d\"|`e``f`"),
        ("a--b a-- b", "a|-|-|b|a"),
        ("a -- b\nc # d\ne", "a|c|e"),
        ("a --\u{2c0} b", "a|<?>"),
        ("a/* b */c /**/d", "a|c|d"),
        ("a/*/b*/c", "a|c"),
        ("@a @@b :=<=>->>->", "@|a|@@|b|:=|<=>|->>|->"),
        ("a<>b!=c<=d>=e||f&&g<<h>>i", "a|<>|b|!=|c|<=|d|>=|e||||f|&&|g|<<|h|>>|i"),
        ("\\N ? $a", "\\N|?|$a"),
        ("/*! a */ b /*!50110 c */ /*!40101*/", "a|b|c"),
        ("/*!123 a */", "123|a"),
        ("'open", "<?>"),
        ("a `open", "a|<?>"),
        ("a /* open", "a|<?>"),
        ("/*! a", "a|<?>"),
        ("/*! a /*! b */ */", "a|<?>"),
        ("/*!150000 a */", "<?>"),
        ("a \0 b", "a|<?>"),
        ("$$ a", "<?>"),
        ("é ü\u{a0}x", "é|<?>"),
    ] {
        for modes in [MYSQL, MARIADB] {
            assert_eq!(cut(text, modes), expected, "{text}");
        }
    }
}

#[test]
fn version_comments_follow_the_flavor() {
    assert_eq!(cut("/*M! a */ b", MYSQL), "b");
    assert_eq!(cut("/*M! a */ b /*M!100100 c */", MARIADB), "a|b|c");
    assert_eq!(cut("/*!80000 a */ b", MYSQL), "<?>");
    assert_eq!(cut("/*!80000 a */ b", MARIADB), "b");
    assert_eq!(cut("/*!80000 a /* x */ */ b", MARIADB), "<?>");
    assert_eq!(cut("/*M!110000 a */ b", MARIADB), "<?>");
}

#[test]
fn quotes_follow_the_modes() {
    let ansi = Modes { ansi_quotes: true, ..MYSQL };
    assert_eq!(Lexer::new(b"\"a\\\"", ansi).next().map(|token| token.kind), Some(TokenKind::Name));
    let plain = Modes { no_backslash_escapes: true, ..MYSQL };
    assert_eq!(cut("'a\\' b", plain), "'a\\'|b");
}

#[test]
fn words_are_found_wherever_they_stand_and_however_they_are_written() {
    use super::comment::contains_ignoring_case;
    for needle in ["found_rows", "_lock", "status", "execute", "x", "time_zone"] {
        let upper = needle.to_uppercase();
        for (text, is_there) in [
            (needle.to_owned(), true),
            (format!("a {upper} b"), true),
            (format!("{needle}{upper}"), true),
            (format!("{}_{needle}", &needle[1..]), true),
            (needle[..needle.len() - 1].to_owned(), false),
            (format!("-{}", &needle[..needle.len() - 1]), false),
            (needle[1..].to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(
                contains_ignoring_case(text.as_bytes(), needle.as_bytes()),
                is_there,
                "{needle} in {text}"
            );
        }
    }
}

/// In GBK, `\x81\x5c` is one character; behind a quote of any other kind than a string's, and as a name, nothing beyond ASCII is read.
#[test]
fn a_backslash_may_be_half_of_a_character() {
    let gbk = Modes { multi_byte: MultiByte::of_name("gbk"), ..MYSQL };
    let cut = |text: &[u8], modes| -> Vec<(TokenKind, usize)> {
        Lexer::new(text, modes).map(|token| (token.kind, token.end - token.start)).collect()
    };
    let (string, word) = (TokenKind::Str, TokenKind::Word);
    assert_eq!(cut(b"'\x81\\' a '\\\x81\\'", MYSQL), [(string, 8), (TokenKind::Unknown, 4)]);
    assert_eq!(cut(b"'\x81\\' a", gbk), [(string, 4), (word, 1)]);
    assert_eq!(cut(b"'\\\x81' a", gbk), [(string, 4), (word, 1)], "an escape takes one byte");
    assert_eq!(cut(b"'\x81\x81\\' a'", gbk), [(string, 8)], "a backslash behind a whole character escapes");
    assert_eq!(cut(b"'\x81'' a'", gbk), [(string, 7)], "a quote is never half of a character");
    assert_eq!(cut(b"/* \x81\\ */ a", gbk), [(word, 1)]);
    for unclear in [&b"\xc3\xa9"[..], b"`\xc3\xa9`", b"`\x81`` a"] {
        assert_eq!(cut(unclear, gbk), [(TokenKind::Unknown, unclear.len())], "{unclear:?}");
    }
    let ansi = Modes { ansi_quotes: true, ..gbk };
    assert_eq!(cut(b"\"\xd6\xd0\"", ansi), [(TokenKind::Unknown, 4)]);
}
