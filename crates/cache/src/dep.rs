//! What a result can depend on.

/// Rows are spread over two to the power of this many buckets.
pub(crate) const BUCKET_BITS: u32 = 18;
/// In a bucket, rows are told apart by this many bits.
pub(crate) const TAG_BITS: u32 = 13;
/// Set in the dependencies that are slots of rows; the others are indexes of cells.
const ROW: u32 = 1 << (BUCKET_BITS + TAG_BITS);

/// A dependency: the index of a cell, or a slot for a row.
///
/// Different things may share a dependency. Then a change of one also invalidates the results that depend on the other. That costs a miss
/// and never gives a wrong answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dep(pub(crate) u32);

impl Dep {
    /// Every entry depends on it, whether its list has it or not: a stamp here drops the whole cache, and a fence here stops all hits.
    pub const EVERYTHING: Self = Self(0);

    /// No entry depends on it and nothing stamps it. It is fenced while a definition is being changed: the server may go by another
    /// definition than the known one.
    pub const DEFINITIONS: Self = Self(1);

    /// A result depends on it if it rests on the rights of further accounts than the session's own: those of roles, and of the definers
    /// of views. Every change of any account stamps and fences it.
    pub const ACCOUNTS: Self = Self(2);

    /// Returns the number of this dependency, for logs and tests.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }

    /// Returns the slot of this dependency; `None` if it is a cell.
    #[inline]
    pub(crate) const fn slot(self) -> Option<Slot> {
        if self.0 & ROW == 0 {
            return None;
        }
        let tag = self.0 as u16 & ((1 << TAG_BITS) - 1);
        Some(Slot { bucket: (self.0 & !ROW) >> TAG_BITS, tag })
    }
}

/// The place of a row's stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Below two to the power of [`BUCKET_BITS`].
    pub(crate) bucket: u32,
    /// Above 0, below two to the power of [`TAG_BITS`].
    pub(crate) tag: u16,
}

impl Slot {
    /// Returns the slot of a hash. Uses so many bits of the hash for bucket and tag, and no more than there are.
    pub(crate) fn of(hash: u64, bucket_bits: u32, tag_bits: u32) -> Self {
        let bits = |hash: u64, bits: u32| (hash & ((1 << bits) - 1)) as u32;
        let tag = bits(hash, tag_bits.min(TAG_BITS)).max(1) as u16;
        Self { bucket: bits(hash >> 32, bucket_bits.min(BUCKET_BITS)), tag }
    }

    pub(crate) const fn dep(self) -> Dep {
        Dep(ROW | self.bucket << TAG_BITS | self.tag as u32)
    }
}

/// The two cells of a table, side by side on one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDeps {
    /// Stamped by changes of the definition, and by changes that concern the table and are not understood better. Fenced by writes that
    /// are not known more closely. Every entry that names the table depends on it.
    pub definition: Dep,
    /// Stamped by any change of the table's rows.
    pub rows: Dep,
}
