//! Collations, as far as it is known how they compare printable ASCII.

use std::borrow::Cow;

/// Character sets in which ASCII is ASCII.
const CHARSETS: [&str; 5] = ["utf8mb4", "utf8mb3", "utf8", "latin1", "ascii"];

/// Collations of those, without the name of the character set, that differ over printable ASCII in nothing but the order of its marks, and whether
/// case and trailing blanks count. No language's own are among them, and nothing is that has not been tried.
const RULES: [&str; 24] = [
    "bin",
    "nopad_bin",
    "general_ci",
    "general_cs",
    "general_nopad_ci",
    "general_mysql500_ci",
    "swedish_ci",
    "swedish_nopad_ci",
    "unicode_ci",
    "unicode_nopad_ci",
    "unicode_520_ci",
    "unicode_520_nopad_ci",
    "0900_ai_ci",
    "0900_as_ci",
    "0900_as_cs",
    "0900_bin",
    "uca1400_ai_ci",
    "uca1400_ai_cs",
    "uca1400_as_ci",
    "uca1400_as_cs",
    "uca1400_nopad_ai_ci",
    "uca1400_nopad_ai_cs",
    "uca1400_nopad_as_ci",
    "uca1400_nopad_as_cs",
];

/// What is no letter and no digit, in the order of Unicode's collation algorithm up to version 5.2.
const MARKS_BEFORE: &[u8] = b" `^_-,;:!?.'\"()[]{}@*/\\&#%+<=>|~$";
/// The same from version 9 on.
const MARKS_SINCE: &[u8] = b" _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
/// Digits and letters come behind the marks.
const BEHIND_MARKS: u8 = 64;

/// A collation without a language's own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collation {
    charset: &'static str,
    rules: &'static str,
}

impl Collation {
    /// That of bytes, which are no text: nothing is equal to them but they themselves.
    pub const BYTES: Self = Self { charset: "binary", rules: "nopad_bin" };

    /// The one of this name, in lower case; `None` if it is not known how it compares.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (charset, rules) = name.split_once('_')?;
        let charset = CHARSETS.into_iter().find(|own| *own == charset)?;
        let rules = RULES.into_iter().find(|own| *own == rules)?;
        // Only Latin-1's Swedish collation has no letters of its own within ASCII: in it `[` is not a letter.
        let is_other_swedish = rules.starts_with("swedish") && charset != "latin1";
        (!is_other_swedish).then_some(Self { charset, rules })
    }

    /// Texts are compared by their bytes.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        self.rules.ends_with("bin")
    }

    /// Trailing blanks count for nothing.
    #[must_use]
    pub fn pads(&self) -> bool {
        !self.rules.contains("nopad") && !self.rules.starts_with("0900")
    }

    fn tells_case(&self) -> bool {
        self.is_binary() || self.rules.ends_with("cs")
    }

    /// What is the same for two texts if and only if they are equal. `None` if that is not known of a text.
    #[must_use]
    pub fn equal<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        let text = if self.pads() { trimmed(text) } else { text };
        if self.is_binary() && self.charset != "latin1" {
            return Some(text.into());
        }
        if !text.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            return None;
        }
        let is_folded = self.tells_case() || !text.iter().any(u8::is_ascii_uppercase);
        Some(if is_folded { text.into() } else { text.to_ascii_lowercase().into() })
    }

    /// What is in the order of texts, and the same where they are equal. `None` if that is not known of a text.
    #[must_use]
    pub fn sorted<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        // What comes before a blank comes before nothing, where blanks are added.
        if self.pads() && text.iter().any(|byte| *byte < b' ') {
            return None;
        }
        let equal = self.equal(text)?;
        match self.marks() {
            _ if self.is_binary() => Some(equal),
            // Case is told apart only where nothing else differs.
            _ if self.tells_case() => None,
            None => Some(equal.to_ascii_uppercase().into()),
            Some(marks) => {
                equal.iter().map(|byte| ranked(marks, *byte)).collect::<Option<Vec<u8>>>().map(Cow::from)
            }
        }
    }

    /// The order of marks, if it is not that of their bytes.
    fn marks(&self) -> Option<&'static [u8]> {
        match self.rules {
            rules if rules.starts_with("unicode") => Some(MARKS_BEFORE),
            rules if rules.starts_with("0900") || rules.starts_with("uca1400") => Some(MARKS_SINCE),
            _ => None,
        }
    }
}

fn ranked(marks: &[u8], byte: u8) -> Option<u8> {
    if byte.is_ascii_alphanumeric() {
        return Some(BEHIND_MARKS + byte.to_ascii_uppercase() - b'0');
    }
    marks.iter().position(|mark| *mark == byte).and_then(|rank| u8::try_from(rank).ok())
}

/// Without trailing blanks.
fn trimmed(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..len]
}

#[cfg(test)]
mod tests {
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
        assert_eq!(named("utf8mb4_general_ci").equal("é".as_bytes()), None);
        assert_eq!(named("latin1_bin").equal(b"\xe9"), None);
        for none in ["utf8mb4_swedish_ci", "utf8mb4_da_0900_ai_ci", "latin1_german1_ci", "binary", "utf8mb4"]
        {
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
}
