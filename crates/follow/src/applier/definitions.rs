//! What the applier asks of definitions.

use std::sync::Arc;

use freshet_cache::Position;
use freshet_catalog::{ColumnInfo, Descendants};

/// Knows the definitions. It is asked while an event is applied, and answers from memory.
pub trait DefinitionSource {
    /// Returns the tables whose rows the server may change without an event when rows of this one change (foreign keys that
    /// cascade), transitively. `None` if that is not known at this moment.
    fn descendants(&self, schema: &str, table: &str) -> Option<Arc<Descendants>>;

    /// Returns the columns that the row images of an event at this position have. `None` if that is not known at this moment.
    fn layout(&self, schema: &str, table: &str, at: Position) -> Option<Arc<[ColumnInfo]>>;
}
