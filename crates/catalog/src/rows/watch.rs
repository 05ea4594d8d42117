//! One watch.

use std::fmt;
use std::sync::Arc;

use ahash::RandomState;
use freshet_cache::{Dep, Freshness, Position};

use super::era::Era;
use super::in_use::{InUse, ReachedPosition};
use super::key::{Key, KeyType};
use super::slot::RowSlot;
use super::spec::WatchSpec;
use crate::{ColumnInfo, TableInfo};

/// What all watches share.
pub(super) struct WatchCommon {
    pub(super) freshness: Arc<Freshness>,
    pub(super) reached: ReachedPosition,
    pub(super) hash: RandomState,
}

/// A way to read a table, with the means to tell its changes apart.
pub struct Watch {
    id: u64,
    spec: WatchSpec,
    /// The columns of the whole table; see [`TableInfo::columns`].
    layout: Arc<[ColumnInfo]>,
    /// The key columns: first those that are equal to something, in their order, then that of the range.
    keys: Vec<ColumnInfo>,
    settled_by: Position,
    any: Dep,
    absent: Dep,
    in_use: InUse,
    era: Arc<Era>,
    common: Arc<WatchCommon>,
}

impl Watch {
    /// Returns a watch on which nothing may rest before [`Self::enter`]. `None` if the table has no such columns, or they have no such
    /// keys.
    pub(super) fn new(
        id: u64,
        table: &TableInfo,
        spec: &WatchSpec,
        era: &Arc<Era>,
        common: &Arc<WatchCommon>,
    ) -> Option<Self> {
        let column = |ordinal: &u16| table.columns.get(usize::from(*ordinal)).cloned();
        let mut keys = spec.equal.iter().map(column).collect::<Option<Vec<_>>>()?;
        let has_ends = |key: &KeyType| key.is_ordered() || key.has_prefixes();
        if let Some(ordinal) = &spec.range {
            keys.push(column(ordinal).filter(|column| has_ends(&column.key))?);
        }
        if keys.iter().any(|column| column.key == KeyType::None) {
            return None;
        }
        Some(Self {
            id,
            spec: spec.clone(),
            layout: Arc::clone(&table.columns),
            keys,
            settled_by: table.settled_by,
            any: common.freshness.any(id),
            absent: common.freshness.any(!id),
            in_use: InUse::default(),
            era: Arc::clone(era),
            common: Arc::clone(common),
        })
    }

    /// Returns the facts that make the watch.
    #[must_use]
    pub const fn spec(&self) -> &WatchSpec {
        &self.spec
    }

    /// Returns the dependency that every entry has besides its slots if it rests on this watch. Changes without a key stamp it, and
    /// writes without a key fence it.
    #[must_use]
    pub const fn any(&self) -> Dep {
        self.any
    }

    /// Returns the dependency of an entry that may rest on the absence of a row, if [`Self::present_if`] says that this is to be told
    /// apart. An insert of unknown rows fences it. It is never stamped, since the stream knows the rows.
    #[must_use]
    pub const fn absent(&self) -> Dep {
        self.absent
    }

    /// Returns the index of the equality column that is the table's primary key, if its keys tell all of its values apart. (If two texts
    /// share a key, one of them may be there and the other not.)
    pub(super) fn unique_key(&self) -> Option<usize> {
        let is_told = |column: &ColumnInfo| column.unique && column.key.is_ordered();
        self.keys.iter().take(self.spec.equal.len()).position(is_told)
    }

    /// Whether a result with this `valid_from` may rest on the watch. To be asked after [`Self::deps_of_reading`], which may bring a part
    /// into use that has to wait.
    #[must_use]
    pub fn is_usable(&self, valid_from: Position) -> bool {
        self.settled_by <= valid_from && self.in_use.is_usable(valid_from)
    }

    /// Makes the watch known to the applier and the writers. To be called with the lock held under which they look it up.
    pub(super) fn enter(&self) {
        self.in_use.bring(0, &self.era, &self.common.reached);
    }

    /// Brings the levels and prefix lengths with these bits into use; they are in use when this returns.
    pub(super) fn bring_into_use(&self, uses: u64) {
        if !self.in_use.has(uses) {
            self.in_use.bring(uses, &self.era, &self.common.reached);
        }
    }

    /// Returns the levels and prefix lengths that have to be stamped and fenced.
    pub(super) fn uses(&self) -> u64 {
        self.in_use.to_stamp()
    }

    /// Returns the columns of the definition from which the watch was made.
    pub fn layout(&self) -> &Arc<[ColumnInfo]> {
        &self.layout
    }

    /// Returns the key columns: first those that are equal to something, then that of the range.
    pub(super) fn key_columns(&self) -> &[ColumnInfo] {
        &self.keys
    }

    /// Returns the ordinals of [`Self::key_columns`].
    pub(super) fn key_ordinals(&self) -> impl Iterator<Item = usize> {
        self.spec.equal.iter().chain(&self.spec.range).copied().map(usize::from)
    }

    pub(super) fn hash(&self) -> &RandomState {
        &self.common.hash
    }

    /// Whether an entry that rests on this watch also depends on a [`Self::part`] of each equality column.
    pub(super) fn has_parts(&self) -> bool {
        !self.spec.equal.is_empty() && self.keys.len() > 1
    }

    /// Returns the dependency on all rows that have this key in the key column with this index, whatever their other columns hold. It is
    /// for writes and changes of which no other column is known. Stamps on parts are few, so a part is a cell; a slot would make the
    /// bucket forget rows.
    pub(super) fn part(&self, column: usize, key: &Key) -> Dep {
        self.common.freshness.any(self.common.hash.hash_one((self.id, column, key)))
    }

    pub(super) fn dep(&self, slot: RowSlot) -> Dep {
        self.common.freshness.row(self.id, slot.number())
    }

    pub(super) fn freshness(&self) -> &Freshness {
        &self.common.freshness
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("id", &self.id).field("spec", &self.spec).finish_non_exhaustive()
    }
}
