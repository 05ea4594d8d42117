//! What a statement about caches asks for, and the errors of such statements.

use freshet_protocol::ErrPacket;

use crate::created::NamedQuery;
use crate::introspection::IntrospectionValue;

/// ER_UNKNOWN_ERROR, for errors that have no number of their own.
const UNKNOWN: u16 = 1105;

/// A query for which a cache is asked.
pub(super) struct AskedQuery {
    pub(super) query: NamedQuery,
    /// The query's default schema.
    pub(super) schema: String,
    /// Why a cache is useless for the query, if it is useless.
    pub(super) unsupported: Option<String>,
}

/// Returns an error of Freshet's own, where no error of the server fits.
pub(super) fn error(why: impl AsRef<str>) -> ErrPacket {
    ErrPacket::new(UNKNOWN, "HY000", format!("Freshet: {}", why.as_ref()))
}

/// Makes one row of texts.
pub(super) fn row<const N: usize>(cells: [IntrospectionValue; N]) -> Vec<IntrospectionValue> {
    cells.into()
}
