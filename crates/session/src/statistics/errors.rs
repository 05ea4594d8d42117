//! The server's errors: for each schema, user and number how often it occurred, and the last message.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ahash::HashMap;
use freshet_protocol::ErrPacket;
use freshet_upstream::now_ms;

use super::clock::Clock;
use super::whose::Whose;

/// How many rows are kept. With one more, the row that was not seen for the longest time is dropped.
const ROWS_MAX: usize = 1000;
/// How many bytes of a message are kept.
const MESSAGE_BYTES_MAX: usize = 512;

/// Who got an error, and its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ErrorKey {
    hostgroup: Option<i64>,
    schema: Box<str>,
    user: Box<[u8]>,
    code: u16,
}

/// How often an error occurred, and its last message.
#[derive(Debug)]
struct ErrorTally {
    count: u64,
    first_ms: u64,
    last_ms: u64,
    last: Box<[u8]>,
}

/// The server's errors.
#[derive(Debug, Default)]
pub(super) struct Errors(Mutex<HashMap<ErrorKey, ErrorTally>>);

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorRow {
    /// The hostgroup that query rules have named, if they have.
    pub hostgroup: Option<i64>,
    /// The default schema.
    pub schema: String,
    /// The user.
    pub user: String,
    /// The error's number.
    pub code: u16,
    /// How many errors.
    pub count: u64,
    /// The first and the last time, in seconds since 1970.
    pub seen: (u64, u64),
    /// The last message.
    pub last: String,
}

impl Errors {
    pub(super) fn count(&self, Whose { schema, user, outcome }: Whose<'_>, refusal: &ErrPacket) {
        let now_ms = now_ms();
        let hostgroup = outcome.and_then(|outcome| outcome.hostgroup());
        let key = ErrorKey { hostgroup, schema: schema.into(), user: user.into(), code: refusal.code };
        let message = &refusal.message[..refusal.message.len().min(MESSAGE_BYTES_MAX)];
        let mut rows = self.lock();
        if rows.len() >= ROWS_MAX && !rows.contains_key(&key) {
            let oldest = rows.iter().min_by_key(|(_, row)| row.last_ms).map(|(key, _)| key.clone());
            oldest.map(|oldest| rows.remove(&oldest));
        }
        let row = rows.entry(key).or_insert(ErrorTally {
            count: 0,
            first_ms: now_ms,
            last_ms: 0,
            last: Box::default(),
        });
        row.count += 1;
        row.last_ms = now_ms;
        if *row.last != *message {
            row.last = message.into();
        }
    }

    /// Returns the rows. `resets`: they are forgotten.
    pub(super) fn rows(&self, resets: bool) -> Vec<ErrorRow> {
        let clock = Clock::now();
        let mut rows = self.lock();
        let row = |(key, row): (&ErrorKey, &ErrorTally)| ErrorRow {
            hostgroup: key.hostgroup,
            schema: key.schema.to_string(),
            user: String::from_utf8_lossy(&key.user).into_owned(),
            code: key.code,
            count: row.count,
            seen: (clock.at(row.first_ms), clock.at(row.last_ms)),
            last: String::from_utf8_lossy(&row.last).into_owned(),
        };
        let found = rows.iter().map(row).collect();
        if resets {
            rows.clear();
        }
        found
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ErrorKey, ErrorTally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_who_got_them_and_bounded() {
        fn whose<'a>(schema: &'a str, user: &'a str) -> Whose<'a> {
            Whose { schema, user: user.as_bytes(), outcome: None }
        }
        let errors = Errors::default();
        let gone = |text: &str| ErrPacket::new(1146, "42S02", text);
        errors.count(whose("shop", "u"), &gone("Table 'shop.a' doesn't exist"));
        errors.count(whose("shop", "u"), &gone("Table 'shop.b' doesn't exist"));
        errors.count(whose("shop", "v"), &gone("Table 'shop.b' doesn't exist"));
        let mut rows = errors.rows(false);
        rows.sort_by(|a, b| a.user.cmp(&b.user));
        assert_eq!(
            rows.iter().map(|row| (&*row.user, row.code, row.count)).collect::<Vec<_>>(),
            [("u", 1146, 2), ("v", 1146, 1)]
        );
        assert_eq!(rows[0].last, "Table 'shop.b' doesn't exist");
        for number in 0..ROWS_MAX {
            errors.count(whose(&number.to_string(), "u"), &gone("x"));
        }
        assert_eq!(errors.rows(true).len(), ROWS_MAX);
        assert!(errors.rows(false).is_empty());
    }
}
