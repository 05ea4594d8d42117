//! What of a text is compared when an entry is looked up, and what of it is sent on.

use std::borrow::Cow;

use crate::modes::Modes;

/// The part of `text` that is compared: without blanks and `;` at both ends, and without comments if asked.
pub fn key_text(_text: &[u8], _modes: Modes, _strip_comments: bool) -> Cow<'_, [u8]> {
    unimplemented!()
}

/// `text` without SQL_CACHE and SQL_NO_CACHE, or None if it has neither.
pub fn strip_hint(_text: &[u8], _modes: Modes) -> Option<Vec<u8>> {
    unimplemented!()
}

/// The error that a misuse of the hints gives: code, SQLSTATE, message.
pub fn hint_error(_text: &[u8], _modes: Modes) -> Option<(u16, &'static str, String)> {
    unimplemented!()
}
