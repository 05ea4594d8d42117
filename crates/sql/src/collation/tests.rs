use std::collections::HashSet;

use super::*;

fn named(name: &str) -> Collation {
    Collation::of_name(name).unwrap()
}

#[test]
fn equal_texts_have_one_form() {
    let equal = |name: &str, one: &str, other: &str| {
        named(name).equal(one.as_bytes()).unwrap() == named(name).equal(other.as_bytes()).unwrap()
    };
    assert!(equal("utf8mb4_general_ci", "Oslo ", "oSLO"));
    assert!(equal("utf8mb4_0900_ai_ci", "Oslo", "oSLO") && !equal("utf8mb4_0900_ai_ci", "Oslo ", "Oslo"));
    assert!(equal("utf8mb4_bin", "a  ", "a") && !equal("utf8mb4_bin", "a", "A"));
    assert!(!equal("utf8mb4_0900_bin", "a ", "a") && !equal("utf8mb4_nopad_bin", "a ", "a"));
    assert!(!equal("utf8mb4_uca1400_as_cs", "a", "A") && equal("utf8mb4_uca1400_ai_ci", "a ", "A"));
    assert!(equal("utf8mb4_bin", "é", "é") && !equal("utf8mb4_bin", "é", "e"));
    assert_eq!(named("latin1_bin").equal(b"\xe9"), None);
    for none in ["utf8mb4_swedish_ci", "utf8mb4_da_0900_ai_ci", "latin1_german1_ci", "binary", "utf8mb4"] {
        assert_eq!(Collation::of_name(none), None, "{none}");
    }
}

#[test]
fn marks_have_the_order_of_their_collation() {
    let is_sorted = |name: &str, texts: &[&str]| {
        texts.is_sorted_by(|one, next| {
            named(name).sorted(one.as_bytes()).unwrap() < named(name).sorted(next.as_bytes()).unwrap()
        })
    };
    assert!(is_sorted("utf8mb4_general_ci", &["", "-", "1", "A", "ab", "a_", "B", "_", "~"]));
    assert!(is_sorted("utf8mb4_bin", &["", "A", "B", "_", "a"]));
    assert!(is_sorted("utf8mb4_unicode_ci", &["`", "_", "-", "~", "$", "0", "9", "a", "B"]));
    assert!(is_sorted("utf8mb4_0900_ai_ci", &["_", "-", "`", "~", "$", "0", "9", "a", "a ", "B"]));
    assert_eq!(named("utf8mb4_0900_as_cs").sorted(b"a"), None);
    assert_eq!(named("utf8mb4_bin").sorted(b"a\t"), None);
    assert!(named("utf8mb4_0900_bin").sorted(b"a\t").is_some());
}

/// Collations with letters beyond ASCII, without the name of the character set.
const WITH_LETTERS: [&str; 5] = ["general_ci", "unicode_ci", "unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"];

fn is_equal(rules: &str, one: &str, other: &str) -> bool {
    let named = named(&format!("utf8mb4_{rules}"));
    let is_equal = named.equal(one.as_bytes()).unwrap() == named.equal(other.as_bytes()).unwrap();
    let sorted = |text: &str| named.sorted(text.as_bytes()).unwrap().into_owned();
    assert_eq!(sorted(one) == sorted(other), is_equal, "{rules}: {one} {other}");
    is_equal
}

/// Whether these ascend, each behind the one before.
fn ascend(rules: &str, texts: &[&str]) -> bool {
    let named = named(&format!("utf8mb4_{rules}"));
    texts.is_sorted_by(|one, next| {
        named.sorted(one.as_bytes()).unwrap() < named.sorted(next.as_bytes()).unwrap()
    })
}

#[test]
fn letters_are_equal_without_their_accents() {
    for rules in WITH_LETTERS {
        let all_equal = |texts: &[&str]| texts.iter().all(|text| is_equal(rules, texts[0], text));
        assert!(all_equal(&["e", "E", "é", "É", "ế", "Ễ"]), "{rules}");
        assert!(all_equal(&["i", "I", "İ", "í"]) && all_equal(&["zoë", "ZOE", "Zöé"]), "{rules}");
        assert!(all_equal(&["я", "Я"]) && all_equal(&["α", "Ά", "ά", "Α"]), "{rules}");
        assert!(all_equal(&["σ", "ς", "Σ"]) && all_equal(&["й", "Й"]), "{rules}");
        assert!(!is_equal(rules, "а", "a") && !is_equal(rules, "中", "国"), "{rules}");
    }
}

#[test]
fn what_has_several_weights_is_not_found_by_every_index() {
    let by_index = |rules: &str, text: &str| {
        let collation = named(&format!("utf8mb4_{rules}"));
        collation
            .equal_by_index(text.as_bytes())
            .map(|found| found == collation.equal(text.as_bytes()).unwrap())
    };
    for rules in ["unicode_ci", "unicode_520_ci", "uca1400_ai_ci", "0900_ai_ci"] {
        assert_eq!((by_index(rules, "Straße"), by_index(rules, "½")), (None, None), "{rules}");
        assert_eq!(
            (by_index(rules, "Strasse"), by_index(rules, "Zürich 東京")),
            (Some(true), Some(true)),
            "{rules}"
        );
    }
    assert_eq!((by_index("general_ci", "Straße"), by_index("bin", "Straße")), (Some(true), Some(true)));
    assert_eq!(by_index("general_ci", "\u{301}"), None);
}

/// A text, another, and the collations in which they are equal.
const EQUAL_IN: [(&str, &str, &[&str]); 15] = [
    ("ß", "s", &["general_ci"]),
    ("ß", "ss", &["unicode_ci", "unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
    ("æ", "Æ", &WITH_LETTERS),
    ("æ", "ae", &["unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
    ("œ", "oe", &["unicode_ci", "unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
    ("ł", "Ł", &WITH_LETTERS),
    ("ł", "l", &["unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
    ("ø", "o", &["unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
    ("đ", "d", &["unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
    ("ı", "i", &["general_ci"]),
    ("ё", "е", &WITH_LETTERS),
    ("й", "и", &[]),
    ("…", "...", &["unicode_ci", "unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
    ("が", "カ", &["unicode_ci", "unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
    ("あ", "ア", &["unicode_ci", "unicode_520_ci", "0900_ai_ci", "uca1400_ai_ci"]),
];

#[test]
fn letters_are_those_of_their_collation() {
    for (one, other, due) in EQUAL_IN {
        let found: Vec<&str> = WITH_LETTERS.into_iter().filter(|rules| is_equal(rules, one, other)).collect();
        assert_eq!(found, due, "{one} {other}");
    }
    let capital_in = |rules: &str| named(&format!("utf8mb4_{rules}")).equal("ẞ".as_bytes());
    assert_eq!(capital_in("unicode_ci"), None);
    assert!(is_equal("uca1400_ai_ci", "ẞ", "SS") && is_equal("unicode_520_ci", "ẞ", "ss"));
    assert!(!is_equal("general_ci", "ẞ", "ß"));
}

#[test]
fn letters_are_sorted_among_those_of_ascii() {
    for rules in WITH_LETTERS {
        assert!(
            ascend(rules, &["", " a", "-", "1", "a", "á b", "ab", "é-", "ef", "z", "ž a", "αβ"]),
            "{rules}"
        );
        assert!(ascend(rules, &["z", "ω", "я", "の", "中", "中 a", "中z", "中国", "国"]), "{rules}");
        let is_with_syllables = ascend_or_unknown(rules, &["中", "가", "가z", "각", "각가", "힣"]);
        assert_eq!(is_with_syllables, (rules != "0900_ai_ci").then_some(true), "{rules}");
    }
    for rules in ["unicode_ci", "unicode_520_ci", "0900_ai_ci"] {
        assert!(
            ascend(rules, &["_", "-", "–", "—", ",", "!", "¡", "?", "$", "0", "9", "az", "b"]),
            "{rules}"
        );
    }
    assert!(ascend("unicode_ci", &["a", "az", "æ", "æa", "b", "o", "oz", "ø", "p"]));
    assert!(ascend("general_ci", &["Z", "[", "_", "~", "Æ", "Ø", "Đ", "Ł", "Α", "–"]));
}

fn ascend_or_unknown(rules: &str, texts: &[&str]) -> Option<bool> {
    let named = named(&format!("utf8mb4_{rules}"));
    assert!(texts.iter().all(|text| named.equal(text.as_bytes()).unwrap() == text.as_bytes()));
    let sorted = texts.iter().map(|text| named.sorted(text.as_bytes())).collect::<Option<Vec<_>>>()?;
    Some(sorted.is_sorted_by(|one, next| one < next))
}

#[test]
fn what_is_not_known_has_no_form() {
    // Ignored, a blank, combining, beyond three bytes, of a writing with contractions, half a character.
    let unknown: [&[u8]; 10] = [
        "a\u{AD}".as_bytes(),
        "a\u{A0}b".as_bytes(),
        "e\u{301}".as_bytes(),
        "\u{200B}".as_bytes(),
        "\u{3000}".as_bytes(),
        "😀".as_bytes(),
        "เก".as_bytes(),
        "é\t".as_bytes(),
        b"\xc3",
        b"\xe9",
    ];
    for text in unknown {
        for rules in WITH_LETTERS {
            let named = named(&format!("utf8mb4_{rules}"));
            assert_eq!((named.equal(text), named.sorted(text)), (None, None), "{rules} {text:?}");
        }
    }
    for without in ["utf8mb4_0900_as_ci", "utf8mb4_uca1400_as_ci", "utf8mb4_general_mysql500_ci"] {
        assert_eq!(named(without).equal("é".as_bytes()), None, "{without}");
        assert_eq!(named(without).sorted("é".as_bytes()), None, "{without}");
        assert!(named(without).sorted(b"e").is_some(), "{without}");
    }
    assert_eq!(named("latin1_general_ci").equal("é".as_bytes()), None);
    assert_eq!(named("latin1_general_ci").equal(b"\xe9"), None);
    // A dot behind an `l` is one with it, in one of the collations with these weights.
    assert_eq!(named("utf8mb4_uca1400_ai_ci").equal("l·l".as_bytes()), None);
    // A text of so many weights that it may be cut.
    assert_eq!(named("utf8mb4_0900_ai_ci").sorted("½".repeat(200).as_bytes()), None);
}

#[test]
fn trailing_blanks_count_for_nothing_where_they_are_added() {
    assert!(is_equal("general_ci", "né  ", "NE") && is_equal("unicode_ci", "ß ", "ss"));
    assert!(is_equal("uca1400_ai_ci", "中 ", "中") && !is_equal("uca1400_nopad_ai_ci", "中 ", "中"));
    assert!(!is_equal("0900_ai_ci", "é ", "é") && !is_equal("general_nopad_ci", "é ", "é"));
    assert!(ascend("0900_ai_ci", &["é", "é ", "é -", "éa"]));
}

#[test]
fn each_character_of_a_file_has_one_line_and_codes_suffice() {
    let files = [
        ("general_ci", include_str!("general.txt")),
        ("unicode_ci", include_str!("unicode.txt")),
        ("unicode_520_ci", include_str!("unicode_520.txt")),
        ("uca1400_ai_ci", include_str!("uca1400.txt")),
    ];
    for (rules, file) in files {
        let (mut members, mut firsts) = (HashSet::from([' ']), HashSet::from([' ']));
        for line in file.lines() {
            let (own, of) = line.split_once(" = ").unwrap_or((line, ""));
            assert!(own.chars().all(|char| members.insert(char)), "{rules}: {line}");
            assert!(of.chars().all(|char| firsts.contains(&char)), "{rules}: {line}");
            firsts.extend(line.chars().next().filter(|_| of.is_empty()));
        }
        let first_byte = |char: char| {
            // A blank at the end counts for nothing: it has no byte.
            let sorted = named(&format!("utf8mb4_{rules}"))
                .sorted(char.encode_utf8(&mut [0; 4]).as_bytes())
                .map(Cow::into_owned);
            sorted.unwrap().first().copied().unwrap_or_default()
        };
        assert!(members.len() > 1_400 && (' '..='~').all(|char| members.contains(&char)), "{rules}");
        for char in members {
            assert!(first_byte(char) < first_byte('一'), "{rules}: {char}");
        }
    }
}
