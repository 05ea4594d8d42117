//! What a result can depend on.

/// A dependency: the index of a cell.
///
/// Different things may share a cell. Then a change of one invalidates what depends on the other too, which
/// costs a miss and never an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dep(pub(crate) u32);

impl Dep {
    /// Every entry depends on it, whether it says so or not: one stamp here drops the whole cache, and a fence
    /// here stops all hits.
    pub const EVERYTHING: Self = Self(0);

    /// The number of the cell, for logs and tests.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// The two cells of a table, side by side on one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDeps {
    /// Stamped by definition changes and by what is known to concern the table and is not understood better;
    /// fenced by writes that are not known more closely. Every entry that names the table depends on it.
    pub definition: Dep,
    /// Stamped by any change of the table's rows.
    pub rows: Dep,
}
