//! The settings that a statement asks for itself, in a comment at its beginning: `/* cache_ttl=5000;hostgroup=2 */ SELECT …`.

use crate::Settings;

/// The most bytes of a comment that are read.
const COMMENT_BYTES_MAX: usize = 1024;
/// How often a statement can ask to be sent again; the same limit as for a rule.
const RETRIES_MAX: u64 = 1000;

/// The known names. ProxySQL says `query_timeout`, `query_delay` and `query_retries`; columns of rules are named without `query_`.
const NAMES: [&str; 8] = [
    "cache_ttl",
    "hostgroup",
    "timeout",
    "query_timeout",
    "delay",
    "query_delay",
    "retries",
    "query_retries",
];

/// Whether a text begins with such a comment.
#[must_use]
pub fn has_hint(text: &[u8]) -> bool {
    named(text).is_some_and(|mut named| named.next().is_some())
}

/// Returns the settings that a text asks for, if it asks for any.
pub(crate) fn settings(text: &[u8]) -> Option<Settings> {
    let mut found = None;
    for (name, value) in named(text)? {
        let settings = found.get_or_insert_with(Settings::default);
        match name {
            "cache_ttl" => settings.cache_ttl_ms = Some(value),
            "hostgroup" => settings.hostgroup = i64::try_from(value).ok(),
            "timeout" | "query_timeout" => settings.timeout_ms = Some(value),
            "retries" | "query_retries" => settings.retries = Some(value.min(RETRIES_MAX)),
            _ => settings.delay_ms = Some(value),
        }
    }
    found
}

/// Returns the names and values in the comment that a text begins with.
fn named(text: &[u8]) -> Option<impl Iterator<Item = (&str, u64)>> {
    let comment = text.trim_ascii_start().strip_prefix(b"/*")?;
    // A comment that the server reads as a part of the statement is no comment here.
    if matches!(comment.first(), Some(b'!' | b'+' | b'M')) {
        return None;
    }
    let comment = &comment[..comment.len().min(COMMENT_BYTES_MAX)];
    let end = comment.windows(2).position(|two| two == b"*/")?;
    let comment = std::str::from_utf8(&comment[..end]).ok()?;
    Some(comment.split(';').filter_map(|part| {
        let (name, value) = part.split_once('=')?;
        let name = name.trim();
        Some((name, value.trim().parse().ok()?)).filter(|_| NAMES.contains(&name))
    }))
}
