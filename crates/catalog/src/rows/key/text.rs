//! Characters and bytes.

use super::letters;

/// Returns a text without regard to case and trailing blanks, also where the collation regards them: that is only coarser. `None` if it
/// is not known which texts are equal to this one.
pub(super) fn folded(collation: &str, text: &[u8]) -> Option<Vec<u8>> {
    plain(text).or_else(|| beyond_ascii(collation, text.trim_ascii_end_of(b" ")))
}

/// Returns the same for a text in a statement. Its characters are those of utf8mb4. A column of another character set may have no such
/// character, and then the servers choose in which character set to compare.
pub(super) fn folded_in_statement(collation: &str, text: &[u8]) -> Option<Vec<u8>> {
    plain(text).or_else(|| collation.starts_with("utf8mb4_").then(|| folded(collation, text))?)
}

/// Returns the same for printable ASCII alone.
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

/// Returns bytes without their padding: zeros in BINARY, which the binlog leaves out, and blanks in a column that was once BINARY.
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
