//! The questions of the applier about definitions.

use std::sync::Arc;

use freshet_cache::Position;
use freshet_catalog::{ColumnInfo, Descendants};

/// Knows the definitions. The applier asks while it applies an event; the answers come from memory.
pub trait DefinitionSource {
    /// Returns the tables whose rows the server may change without an event when rows of this table change (foreign keys that cascade),
    /// transitively. `None` if that is not known at this moment.
    fn descendants(&self, schema: &str, table: &str) -> Option<Arc<Descendants>>;

    /// Returns the columns in the row images of an event at this position. `None` if they are not known at this moment.
    fn layout(&self, schema: &str, table: &str, at: Position) -> Option<Arc<[ColumnInfo]>>;
}
