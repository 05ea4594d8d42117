//! The first part of the cache's keys: the environment's identity, and other facts that the text does not show and that change answers.
//!
//! | bits | what |
//! |---|---|
//! | from 4 on | the environment's identity; under query rules, an identity for the environment and the rules |
//! | 3 | the answers are in the binary form, to executions of prepared statements |
//! | 1 and 2 | the session's `query_cache_type` |
//! | 0 | the session's `query_cache_strip_comments` |

const ID_AT: u32 = 4;
const BINARY: u32 = 1 << 3;

/// Returns the key of texts.
pub(crate) fn key_of_texts(environment: u32, kind: u8, strips: bool) -> u32 {
    environment << ID_AT | u32::from(kind) << 1 | u32::from(strips)
}

/// Returns the key of executions, from the key of texts.
pub(crate) const fn key_of_executions(key_of_texts: u32) -> u32 {
    key_of_texts | BINARY
}

/// Whether a key is one of executions.
pub(crate) const fn is_of_executions(key: u32) -> bool {
    key & BINARY != 0
}

/// Returns the identity in a key.
pub(crate) const fn environment_of(key: u32) -> u32 {
    key >> ID_AT
}
