//! The bounds of a client's statement: time, and the length of texts and answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::limits::Limit;

/// How many steps of SQLite a statement makes between two looks at the clock.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;
/// The most bytes that all of SQLite may hold in memory: above this a statement fails.
const MEMORY_BYTES_MAX: usize = 512 << 20;

/// The end of the time of a client's statement under way.
#[derive(Clone, Default)]
pub struct Deadline(Arc<Mutex<Option<Instant>>>);

impl Deadline {
    /// Bounds the statements of a connection: texts and rows of up to `text_bytes_max`, and time where one is set.
    pub fn on(connection: &mut Connection, text_bytes_max: i32) -> rusqlite::Result<Self> {
        // Sorting is done in memory, and not in files that could grow without a bound.
        connection.execute_batch(&format!(
            "PRAGMA temp_store = MEMORY; PRAGMA hard_heap_limit = {MEMORY_BYTES_MAX}"
        ))?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, text_bytes_max)?;
        let deadline = Self::default();
        let until = deadline.clone();
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || until.is_over()))?;
        Ok(deadline)
    }

    /// Gives the statements from now on so much time together; `None`: no limit.
    pub fn set(&self, time: Option<Duration>) {
        let until = time.map(|time| Instant::now() + time);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn is_over(&self) -> bool {
        let deadline = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}
