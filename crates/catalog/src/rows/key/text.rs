//! Characters and bytes.

use super::letters;

/// Character sets in which ASCII is ASCII.
const CHARSETS: [&str; 5] = ["utf8mb4", "utf8mb3", "utf8", "latin1", "ascii"];

/// Collations of those, without the name of the character set, that differ over printable ASCII in nothing but whether case and
/// trailing blanks count. No language's own are among them, and nothing is that has not been tried.
const COLLATIONS: [&str; 24] = [
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

/// Whether texts in this collation have keys.
pub(crate) fn is_plain_collation(name: &str) -> bool {
    let Some((charset, rest)) = name.split_once('_') else { return false };
    // Only Latin-1's Swedish collation has no letters of its own within ASCII: in it `[` is not a letter.
    let is_other_swedish = rest.starts_with("swedish") && charset != "latin1";
    CHARSETS.contains(&charset) && COLLATIONS.contains(&rest) && !is_other_swedish
}

/// Without regard to case and trailing blanks, whether or not the collation has it: that is only coarser. `None` if there is
/// anything whose equals are not known.
pub(super) fn folded(collation: &str, text: &[u8]) -> Option<Vec<u8>> {
    plain(text).or_else(|| beyond_ascii(collation, text.trim_ascii_end_of(b" ")))
}

/// The same for a text in a statement. Its characters are those of utf8mb4; a column of another character set may have no such
/// character, and then the servers choose in what the two are compared.
pub(super) fn folded_in_statement(collation: &str, text: &[u8]) -> Option<Vec<u8>> {
    plain(text).or_else(|| collation.starts_with("utf8mb4_").then(|| folded(collation, text))?)
}

/// The same for printable ASCII alone.
pub(super) fn plain(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii_end_of(b" ");
    text.iter().all(|byte| matches!(byte, b' '..=b'~')).then(|| text.to_ascii_lowercase())
}

fn beyond_ascii(collation: &str, text: &[u8]) -> Option<Vec<u8>> {
    if !collation.starts_with("utf8") {
        None
    } else if collation.ends_with("_bin") {
        Some(text.to_ascii_lowercase())
    } else {
        letters::coarse(std::str::from_utf8(text).ok()?).map(String::into_bytes)
    }
}

/// Without what pads it: zeros in BINARY, of which the binlog leaves them out, and blanks in what was once one.
pub(super) fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_end_of(b"\0 ")
}

trait TrimEnd {
    fn trim_ascii_end_of(&self, padding: &[u8]) -> &Self;
}

impl TrimEnd for [u8] {
    fn trim_ascii_end_of(&self, padding: &[u8]) -> &Self {
        let len = self.iter().rposition(|byte| !padding.contains(byte)).map_or(0, |last| last + 1);
        &self[..len]
    }
}
