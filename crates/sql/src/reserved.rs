//! Words with a meaning of their own.

use crate::analysis::vocabulary::{self, Use};

/// Whether a word is a keyword that cannot be a name without quotes.
pub(crate) fn is_reserved(word: &[u8]) -> bool {
    let upper = crate::words::Upper::of(word);
    let usage = upper.as_ref().and_then(|upper| vocabulary::usage(upper.as_str()));
    let modifier = crate::words::is_in(word, crate::hint::MODIFIERS);
    modifier || matches!(usage, Some(Use::Structure(_) | Use::Operator | Use::Nothing | Use::Refused))
}

/// Whether a word has a meaning in some query, even if only in certain places.
pub(crate) fn structures(word: &[u8]) -> bool {
    let upper = crate::words::Upper::of(word);
    upper.is_some_and(|upper| vocabulary::usage(upper.as_str()).is_some())
}
