//! The cells: one stamp and one count of fences for all things that hash to the same place.
//!
//! A cell is 16 bytes and never crosses a cache line, so the two loads of a check cost one miss. The cells are the only memory of this
//! crate that is taken at the start: [`Cells::BYTES`]. Rows are too many for cells of their own: see `slots`.

use crate::{Dep, Position, TableDeps};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Tables are spread over this many pairs of cells. Of 1,000 tables in use, about 8 pairs of tables share one.
const TABLE_SLOTS: u32 = 1 << 16;
/// Schemas are spread over this many cells.
const SCHEMA_SLOTS: u32 = 1 << 12;
/// The first cells are reserved for dependencies that are not hashed. [`Dep::EVERYTHING`] has a cache line of its own, because every
/// check reads it.
const RESERVED: u32 = 4;
const SCHEMAS_AT: u32 = RESERVED;
const TABLES_AT: u32 = SCHEMAS_AT + SCHEMA_SLOTS;
/// Watches are spread over this many cells.
const WATCH_SLOTS: u32 = 1 << 14;
const WATCHES_AT: u32 = TABLES_AT + 2 * TABLE_SLOTS;
const CELLS: u32 = WATCHES_AT + WATCH_SLOTS;

/// The stamp and the fences of one dependency. [`crate::freshness`] argues the orderings.
#[repr(C, align(16))]
#[derive(Default)]
struct Cell {
    stamp: AtomicU64,
    fences: AtomicU32,
}

pub(crate) struct Cells {
    cells: Box<[Cell]>,
}

impl Dep {
    /// Whether only definitions of a table or a schema stamp this dependency, and no change of rows that is understood.
    #[must_use]
    pub const fn is_of_definitions(self) -> bool {
        let Self(index) = self;
        let is_schema = index >= SCHEMAS_AT && index < TABLES_AT;
        is_schema || index >= TABLES_AT && index < WATCHES_AT && (index - TABLES_AT).is_multiple_of(2)
    }
}

impl Cells {
    /// The memory that the cells take, about 2.3 MiB.
    pub(crate) const BYTES: usize = CELLS as usize * size_of::<Cell>();

    pub(crate) fn new() -> Self {
        Self { cells: (0..CELLS).map(|_| Cell::default()).collect() }
    }

    /// Returns the cells of the table with this hash.
    pub(crate) fn table(hash: u64) -> TableDeps {
        let definition = TABLES_AT + 2 * slot(hash, TABLE_SLOTS);
        TableDeps { definition: Dep(definition), rows: Dep(definition + 1) }
    }

    pub(crate) fn schema(hash: u64) -> Dep {
        Dep(SCHEMAS_AT + slot(hash, SCHEMA_SLOTS))
    }

    pub(crate) fn any(hash: u64) -> Dep {
        Dep(WATCHES_AT + slot(hash, WATCH_SLOTS))
    }

    /// Returns the cell of a dependency. Only this crate makes a [`Dep`], and the cells never shrink, so there is always a cell. The cell
    /// of everything is the fallback, because it can only invalidate more.
    #[inline]
    fn cell(&self, dep: Dep) -> &Cell {
        self.cells.get(dep.0 as usize).unwrap_or(&self.cells[0])
    }

    /// Returns the stamp. Acquire: a thread that sees the stamp sees everything that the applier did before it.
    #[inline]
    pub(crate) fn stamp(&self, dep: Dep) -> Position {
        Position::new(self.cell(dep).stamp.load(Ordering::Acquire))
    }

    /// Raises the stamp. Release, and a maximum: a stamp never goes back, whatever the order in which threads set it.
    pub(crate) fn raise_stamp(&self, dep: Dep, at: Position) {
        self.cell(dep).stamp.fetch_max(at.get(), Ordering::Release);
    }

    /// Whether a fence stands. Acquire: the loads of the stamps, which follow, stay behind it, and it meets the Release of
    /// [`Self::lift_fence`].
    #[inline]
    pub(crate) fn is_fenced(&self, dep: Dep) -> bool {
        self.cell(dep).fences.load(Ordering::Acquire) != 0
    }

    pub(crate) fn raise_fence(&self, dep: Dep) {
        self.cell(dep).fences.fetch_add(1, Ordering::SeqCst);
    }

    /// Lifts a fence. Release: a thread that sees the fence gone sees the stamps that the lifting thread has seen. Read-modify-writes
    /// continue each other's release sequences, so this holds for each of several fences on a cell.
    pub(crate) fn lift_fence(&self, dep: Dep) {
        self.cell(dep).fences.fetch_sub(1, Ordering::Release);
    }
}

/// Returns the high half of the hash, scaled to `0..slots`.
fn slot(hash: u64, slots: u32) -> u32 {
    (((hash >> 32) * u64::from(slots)) >> 32) as u32
}
