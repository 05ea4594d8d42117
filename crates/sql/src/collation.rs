//! Collations, as far as it is known how they compare texts: all of them for printable ASCII, some of them for letters beyond it.

mod weights;

use std::borrow::Cow;

use weights::{Syllables, Weights};

/// Character sets whose lower half is ASCII.
const CHARSETS: [&str; 5] = ["utf8mb4", "utf8mb3", "utf8", "latin1", "ascii"];

/// Collations of these, without the name of the character set. Over printable ASCII they differ only in the order of marks, and in
/// whether case and trailing blanks count. No language's own collation is among them, and each has been tried.
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

/// The collations of `RULES` whose weights of letters beyond ASCII are known, in UTF-8. A collation that tells accents apart would need a
/// second table, and a second comparison where all letters are the same.
const RULES_OF_LETTERS: [&str; 9] = [
    "general_ci",
    "general_nopad_ci",
    "unicode_ci",
    "unicode_nopad_ci",
    "unicode_520_ci",
    "unicode_520_nopad_ci",
    "0900_ai_ci",
    "uca1400_ai_ci",
    "uca1400_nopad_ai_ci",
];

/// A collation without a language's own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collation {
    charset: &'static str,
    rules: &'static str,
}

impl Collation {
    /// The collation of bytes, which are no text: they are equal only to themselves.
    pub const BYTES: Self = Self { charset: "binary", rules: "nopad_bin" };

    /// Returns the collation of this name, in lower case; `None` if it is not known how it compares.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (charset, rules) = name.split_once('_')?;
        let charset = CHARSETS.into_iter().find(|own| *own == charset)?;
        let rules = RULES.into_iter().find(|own| *own == rules)?;
        // Only Latin-1's Swedish collation has no letters of its own within ASCII: in the others `[` is a letter.
        let is_other_swedish = rules.starts_with("swedish") && charset != "latin1";
        (!is_other_swedish).then_some(Self { charset, rules })
    }

    /// Whether texts are compared by their bytes.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        self.rules.ends_with("bin")
    }

    /// Whether trailing blanks do not count.
    #[must_use]
    pub fn pads(&self) -> bool {
        !self.rules.contains("nopad") && !self.rules.starts_with("0900")
    }

    fn tells_case(&self) -> bool {
        self.is_binary() || self.rules.ends_with("cs")
    }

    /// Returns a form that is the same for two texts if and only if they are equal. `None` if that is not known of a text.
    #[must_use]
    pub fn equal<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        let text = if self.pads() { trimmed(text) } else { text };
        if self.is_binary() && self.charset != "latin1" {
            return Some(text.into());
        }
        if !is_plain(text) {
            return self.letters()?.equal(text).map(Cow::from);
        }
        let is_folded = self.tells_case() || !text.iter().any(u8::is_ascii_uppercase);
        Some(if is_folded { text.into() } else { text.to_ascii_lowercase().into() })
    }

    /// As [`Self::equal`], for texts that the server may look up in an index. `None` also for a text with a character of several weights,
    /// such as `ß`, which is `ss`: the servers cut the text to as many characters as the index has, so they find such texts in some ways
    /// and not in others.
    #[must_use]
    pub fn equal_by_index<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        let is_of_single_weights = self.is_binary() || is_plain(text) || self.letters()?.are_single(text);
        is_of_single_weights.then(|| self.equal(text)).flatten()
    }

    /// Returns a form that is in the order of texts, and the same where they are equal. `None` if that is not known of a text.
    #[must_use]
    pub fn sorted<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        // Where blanks are added, a character below the blank sorts before nothing.
        if self.pads() && text.iter().any(|byte| *byte < b' ') {
            return None;
        }
        if self.is_binary() {
            return self.equal(text);
        }
        // Case counts only where nothing else differs.
        if self.tells_case() {
            return None;
        }
        let text = if self.pads() { trimmed(text) } else { text };
        let sorted = if is_plain(text) {
            self.weights().sorted_plain(text)
        } else {
            self.letters()?.sorted(text, self.syllables())
        };
        sorted.map(Cow::from)
    }

    /// Returns the weights of characters. For a collation without known letters, only those of ASCII hold.
    fn weights(&self) -> &'static Weights {
        match self.rules {
            rules if rules.starts_with("unicode_520") => &weights::UNICODE_520,
            rules if rules.starts_with("unicode") => &weights::UNICODE,
            rules if rules.starts_with("0900") || rules.starts_with("uca1400") => &weights::UCA1400,
            _ => &weights::GENERAL,
        }
    }

    /// Returns the weights of characters, if those beyond ASCII are known.
    fn letters(&self) -> Option<&'static Weights> {
        let is_utf8 = self.charset.starts_with("utf8");
        (is_utf8 && RULES_OF_LETTERS.contains(&self.rules)).then(|| self.weights())
    }

    /// Returns how Hangul syllables sort. By this name, MySQL sorts a syllable by its letters. MariaDB has the same name for its newer
    /// collation.
    fn syllables(&self) -> Syllables {
        if self.rules.starts_with("0900") { Syllables::Unsorted } else { Syllables::Sorted }
    }
}

/// Whether a text is printable ASCII.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns a text without trailing blanks.
fn trimmed(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..len]
}

#[cfg(test)]
mod tests;
