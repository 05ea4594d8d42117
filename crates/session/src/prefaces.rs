//! What drivers say before an application's first question (`SET NAMES utf8mb4`, `SELECT @@sql_mode`), and what the server answers to it.
//!
//! Both follow from how the session began, and from what was said before: the settings that it has, which are read of every session, and
//! nothing else. So the answer to one session is that to all that begin in the same way and say the same. No table is involved, and no
//! rights but those of the account, which is a part of how a session begins.

use std::sync::Arc;

use crate::environment::{sets_only_what_is_read, variable_names};
use crate::kept::Sharded;

/// How many bytes of answers are kept in each shard: 1 MiB in all.
const SHARD_BYTES_MAX: usize = 128 << 10;
const SHARDS: usize = 8;
/// What an answer takes beside its key and its bytes, about, in bytes.
const ANSWER_BYTES: usize = 128;
/// The longest answer that is kept, and the longest such statement, in bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 4096;
const STATEMENT_BYTES_MAX: usize = 512;

/// What changes more of a session than its settings, as it is known here.
const OTHERWISE: [&str; 7] =
    ["sql_log_bin", "gtid_next", "session_track", "completion_type", "isolation", "read_only", "timestamp"];

/// What such a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// It changes settings.
    Sets,
    /// It asks for settings.
    Shows,
}

impl Says {
    /// What a text does, if it is such a statement.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        if text.len() > STATEMENT_BYTES_MAX || !text.is_ascii() {
            return None;
        }
        let lower = std::str::from_utf8(text).ok()?.trim_end_matches([';', ' ']).to_ascii_lowercase();
        if lower.starts_with("set") {
            let is_more = OTHERWISE.iter().any(|name| lower.contains(name));
            return (!is_more && sets_only_what_is_read(lower.as_bytes())).then_some(Self::Sets);
        }
        shows_only_what_is_read(&lower).then_some(Self::Shows)
    }
}

/// Whether a text selects nothing but variables that are read of every session.
fn shows_only_what_is_read(lower: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " \t\r\n_@.,".contains(c);
    let Some(list) = lower.strip_prefix("select ").filter(|list| list.chars().all(is_plain)) else {
        return false;
    };
    let list = list.trim_end().strip_suffix(" limit 1").unwrap_or(list);
    list.split(',').all(|piece| {
        let words: Vec<&str> = piece.split_ascii_whitespace().collect();
        let name = match words[..] {
            [name] => name,
            [name, "as", alias] if !alias.contains(['@', '.']) => name,
            _ => return false,
        };
        let name = name.strip_prefix("@@").unwrap_or_default();
        let name = name.strip_prefix("session.").or_else(|| name.strip_prefix("local.")).unwrap_or(name);
        variable_names().any(|known| known == name)
    })
}

/// All that are known.
#[derive(Debug)]
pub(crate) struct Prefaces(Sharded<Arc<[u8]>, SHARDS>);

impl Default for Prefaces {
    fn default() -> Self {
        Self(Sharded::new(SHARD_BYTES_MAX))
    }
}

impl Prefaces {
    /// The key of a statement's answer: how the session began, what was set before (each statement with its length before it), and the statement.
    pub(crate) fn key(began: &[u8], set: &[u8], statement: &[u8]) -> Vec<u8> {
        let lengths = [began.len(), set.len()].map(usize::to_le_bytes);
        [&lengths[0][..], &lengths[1][..], began, set, statement].concat()
    }

    /// The packets of an answer.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Arc<[u8]>> {
        self.0.of(key).get(key).map(Arc::clone)
    }

    /// Keeps an answer.
    pub(crate) fn keep(&self, key: Vec<u8>, answer: &[u8]) {
        let bytes = key.len() + answer.len() + ANSWER_BYTES;
        self.0.of(&key.clone()).insert(key.into(), answer.into(), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depends_on_settings_alone_is_told() {
        for text in [
            "SET NAMES utf8mb4",
            "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci';",
            "set autocommit=0",
            "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', time_zone='+00:00'",
        ] {
            assert_eq!(Says::of(text.as_bytes()), Some(Says::Sets), "{text}");
        }
        for text in [
            "SELECT @@sql_mode",
            "select @@SESSION.sql_mode",
            "SELECT @@max_allowed_packet,@@wait_timeout",
            "SELECT @@session.autocommit AS a, @@time_zone LIMIT 1",
        ] {
            assert_eq!(Says::of(text.as_bytes()), Some(Says::Shows), "{text}");
        }
    }

    #[test]
    fn what_depends_on_more_is_not() {
        for text in [
            "SET @a = 1",
            "SET GLOBAL sql_mode = ''",
            "SET sql_log_bin = 0",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET sql_mode = @@global.sql_mode",
            "SET sql_mode = DEFAULT",
            "SET timestamp = 1",
            "SELECT @@global.sql_mode",
            "SELECT @@hostname",
            "SELECT @@sql_mode, NOW()",
            "SELECT @@sql_mode FROM t",
            "SELECT @@sql_mode, @@pseudo_thread_id",
            "SELECT 1",
            "SELECT CONNECTION_ID()",
            "SELECT @@sql_mode AS @a",
            "SELECT @@sql_mode /* x */",
            "",
        ] {
            assert_eq!(Says::of(text.as_bytes()), None, "{text}");
        }
    }
}
