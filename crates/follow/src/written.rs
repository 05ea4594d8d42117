//! How often the stream has changed rows of each table.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use freshet_catalog::Name;

/// The most tables whose changes are counted. Later tables are not counted.
const TABLES_MAX: usize = 8192;

/// Counts by table. Only the follower's thread writes them.
#[derive(Debug, Default)]
pub(crate) struct ChangeCounts(Mutex<HashMap<Name, u64>>);

impl ChangeCounts {
    /// Counts one event that changes rows of a table.
    pub(crate) fn count(&self, table: &Name) {
        let mut counts = self.lock();
        if let Some(count) = counts.get_mut(table) {
            *count += 1;
        } else if counts.len() < TABLES_MAX {
            counts.insert(table.clone(), 1);
        }
    }

    /// Returns the count of a table.
    pub(crate) fn of(&self, schema: &str, table: &str) -> u64 {
        let name: Name = (schema.to_owned(), table.to_owned());
        self.lock().get(&name).copied().unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Name, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
