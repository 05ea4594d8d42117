//! What a statement about caches asks for, and what is said of it.

use freshet_protocol::ErrPacket;

use crate::created::NamedQuery;
use crate::introspection::IntrospectionValue;

/// ER_UNKNOWN_ERROR, for what has no number of its own.
const UNKNOWN: u16 = 1105;

/// A query that a cache is asked for.
pub(super) struct AskedQuery {
    pub(super) query: NamedQuery,
    /// Its default schema.
    pub(super) schema: String,
    /// Why there is no use in a cache, if there is none.
    pub(super) unsupported: Option<String>,
}

/// What is wrong, where no error of the server's says it.
pub(super) fn error(why: impl AsRef<str>) -> ErrPacket {
    ErrPacket::new(UNKNOWN, "HY000", format!("Freshet: {}", why.as_ref()))
}

/// One row of texts.
pub(super) fn row<const N: usize>(cells: [IntrospectionValue; N]) -> Vec<IntrospectionValue> {
    cells.into()
}
