//! What bounds a statement of a client's: time, and the length of texts and answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::limits::Limit;

/// How often a statement under way looks at the clock, in SQLite's steps.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;
/// What all of SQLite may hold in memory, in bytes: above it a statement fails.
const MEMORY_BYTES_MAX: usize = 512 << 20;

/// When the statement of a client that is under way has to end.
#[derive(Clone, Default)]
pub struct Deadline(Arc<Mutex<Option<Instant>>>);

impl Deadline {
    /// Bounds the statements of a connection: texts and rows of up to `text_bytes_max`, and time where one is set.
    pub fn on(connection: &mut Connection, text_bytes_max: i32) -> rusqlite::Result<Self> {
        // Sorting is done in memory, and not in files of which nobody knows how large they become.
        connection.execute_batch(&format!(
            "PRAGMA temp_store = MEMORY; PRAGMA hard_heap_limit = {MEMORY_BYTES_MAX}"
        ))?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, text_bytes_max)?;
        let deadline = Self::default();
        let until = deadline.clone();
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || until.is_over()))?;
        Ok(deadline)
    }

    /// The statements from now on have so much time together; `None`: as much as they need.
    pub fn set(&self, time: Option<Duration>) {
        let until = time.map(|time| Instant::now() + time);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn is_over(&self) -> bool {
        let deadline = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}
