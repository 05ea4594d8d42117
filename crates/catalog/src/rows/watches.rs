//! All watches, by table.
//!
//! Tables are spread over stripes, each with one lock under which watches are entered and looked up, and with one era of tickets. A watch
//! may wait for a write to another table of its stripe, which costs it a few milliseconds.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::{HashMap, RandomState};
use freshet_cache::{Freshness, Position};

use super::era::{Era, Ticket};
use super::in_use::ReachedPosition;
use super::spec::WatchSpec;
use super::watch::{Watch, WatchCommon};
use crate::{Changed, ColumnInfo, TableInfo};

/// The most watches on one table. A further watch replaces the one that is unused for longest, or is refused.
const WATCHES_MAX: usize = 64;

/// A watch may be replaced after so many lookups of watches on its table that did not ask for it. If more ways to read a table are in use
/// in turn than there are places, this keeps each from dropping the results of another.
const IDLE_LOOKUPS: u64 = 1024;

/// From this number on, new watches of a table are not told apart by the columns that they read: one watch serves all readings with the
/// same key columns.
const NARROW_MAX: usize = 48;

/// The most tables that have watches; watches on further tables are refused.
const TABLES_MAX: usize = 10_000;

const STRIPES: usize = 64;

/// All watches. Shared by all threads.
pub struct Watches {
    stripes: Box<[WatchStripe]>,
    common: Arc<WatchCommon>,
    next_id: AtomicU64,
    tables: AtomicUsize,
    /// Whether names of tables are compared without case.
    folds_names: AtomicBool,
    none: Arc<[Arc<Watch>]>,
}

#[derive(Default)]
struct WatchStripe {
    /// By schema, then by name. Held for lookups in memory only.
    tables: Mutex<HashMap<String, HashMap<String, WatchedTable>>>,
    era: Arc<Era>,
}

/// A table with watches, all of one layout.
struct WatchedTable {
    layout: Arc<[ColumnInfo]>,
    settled_by: Position,
    watches: Arc<[Arc<Watch>]>,
    /// How often any watch of the table was looked up.
    lookups: u64,
    /// For each watch, the value of `lookups` when it was last looked up.
    used: Vec<u64>,
}

impl WatchedTable {
    fn known(&mut self, spec: &WatchSpec) -> Option<Arc<Watch>> {
        let at = self.watches.iter().position(|watch| watch.spec() == spec)?;
        self.lookups += 1;
        if let Some(used) = self.used.get_mut(at) {
            *used = self.lookups;
        }
        self.watches.get(at).cloned()
    }

    /// Makes room for one more watch if needed. `false` if all watches are in use.
    fn make_room(&mut self, freshness: &Freshness) -> bool {
        if self.watches.len() < WATCHES_MAX {
            return true;
        }
        let idlest = self.used.iter().enumerate().min_by_key(|(_, used)| **used);
        let Some((at, _)) = idlest.filter(|(_, used)| self.lookups - **used > IDLE_LOOKUPS) else {
            self.lookups += 1;
            return false;
        };
        self.used.remove(at);
        let gone = self.watches.get(at).cloned();
        self.watches = self
            .watches
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != at)
            .map(|(_, watch)| Arc::clone(watch))
            .collect();
        // The applier no longer stamps for the watch. A session that found the watch read its `valid_from` before, so a stamp above the
        // present `applied` makes all these results unservable, also those that are not stored yet.
        if let Some(gone) = gone {
            freshness.stamp_unlogged(&[gone.any()]);
        }
        true
    }

    fn add(&mut self, watch: &Arc<Watch>) {
        self.watches = self.watches.iter().cloned().chain([Arc::clone(watch)]).collect();
        self.lookups += 1;
        self.used.push(self.lookups);
    }
}

type WatchedTables = HashMap<String, HashMap<String, WatchedTable>>;

impl WatchStripe {
    fn tables(&self) -> MutexGuard<'_, WatchedTables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watches {
    /// No watches yet.
    #[must_use]
    pub fn new(freshness: Arc<Freshness>) -> Self {
        let common = WatchCommon { freshness, reached: ReachedPosition::default(), hash: RandomState::new() };
        Self {
            stripes: (0..STRIPES).map(|_| WatchStripe::default()).collect(),
            common: Arc::new(common),
            next_id: AtomicU64::new(1),
            tables: AtomicUsize::new(0),
            folds_names: AtomicBool::new(false),
            none: Arc::new([]),
        }
    }

    /// Returns the watch on this table, and makes it if it is new. Where there are many, it may be one that changes of further columns
    /// concern too. `None` if too many are in use, if the columns have no such keys, or if the definition is outdated.
    #[must_use]
    pub fn watch(&self, table: &TableInfo, spec: &WatchSpec) -> Option<Arc<Watch>> {
        if table.columns.is_empty() || table.settled_by == Position::new(u64::MAX) {
            return None;
        }
        let (schema, name) = self.folded(&table.name.0, &table.name.1);
        let stripe = self.stripe(&schema, &name);
        let mut tables = stripe.tables();
        let place = self.place(&mut tables, &schema, &name, table)?;
        if let Some(known) = place.known(spec) {
            return Some(known);
        }
        let mut spec = spec.clone();
        if place.watches.len() >= NARROW_MAX {
            spec.read = None;
            if let Some(known) = place.known(&spec) {
                return Some(known);
            }
        }
        if !place.make_room(&self.common.freshness) {
            return None;
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let watch = Arc::new(Watch::new(id, table, &spec, &stripe.era, &self.common)?);
        place.add(&watch);
        watch.enter();
        Some(watch)
    }

    /// Returns the table's place for watches of this definition's layout. Watches of an older layout are removed: the definition's stamp
    /// has ended their entries. `None` for an outdated definition, and at the bound.
    fn place<'a>(
        &self,
        tables: &'a mut WatchedTables,
        schema: &str,
        name: &str,
        table: &TableInfo,
    ) -> Option<&'a mut WatchedTable> {
        let fresh = || WatchedTable {
            layout: Arc::clone(&table.columns),
            settled_by: table.settled_by,
            watches: Arc::clone(&self.none),
            lookups: 0,
            used: Vec::new(),
        };
        if !tables.contains_key(schema) {
            tables.insert(schema.to_owned(), HashMap::default());
        }
        let of_schema = tables.get_mut(schema)?;
        if let Some(known) = of_schema.get_mut(name) {
            if !table.has_layout(&known.layout) {
                if known.settled_by >= table.settled_by {
                    return None;
                }
                *known = fresh();
            }
        } else {
            if self.tables.load(Ordering::Relaxed) >= TABLES_MAX {
                return None;
            }
            self.tables.fetch_add(1, Ordering::Relaxed);
            of_schema.insert(name.to_owned(), fresh());
        }
        of_schema.get_mut(name)
    }

    /// Returns all watches that a write to this table has to look at, and the write's ticket. To be called before its fences are raised.
    pub fn writing(&self, schema: &str, table: &str) -> (Arc<[Arc<Watch>]>, Ticket) {
        let (schema, table) = self.folded(schema, table);
        let stripe = self.stripe(&schema, &table);
        let tables = stripe.tables();
        // With the lock held: a watch that is entered later begins a new era, and waits for this ticket.
        (self.found(&tables, &schema, &table), stripe.era.ticket())
    }

    /// Publishes that the applier is about to apply an event that ends at `at`. To be called before [`Self::on`].
    pub fn reach(&self, at: Position) {
        self.common.reached.publish(at);
    }

    /// Returns all watches on a table. The name is in the form in which the applier compares names.
    pub fn on(&self, schema: &str, table: &str) -> Arc<[Arc<Watch>]> {
        self.found(&self.stripe(schema, table).tables(), schema, table)
    }

    fn found(&self, tables: &WatchedTables, schema: &str, table: &str) -> Arc<[Arc<Watch>]> {
        let found = tables.get(schema).and_then(|of_schema| of_schema.get(table));
        Arc::clone(found.map_or(&self.none, |table| &table.watches))
    }

    /// Begins another stretch of the stream, on a server that compares names in this way. Earlier readings do not count any more.
    pub fn begin(&self, folds_names: bool) {
        self.folds_names.store(folds_names, Ordering::Release);
        self.changed(Changed::Everything);
    }

    /// Forgets the watches of changed definitions. To be called after the change is stamped, which ends the entries that rest on the
    /// watches, and before the change is published as applied.
    pub fn changed(&self, what: Changed<'_>) {
        match what {
            Changed::Altered(name, _) => self.changed(Changed::Tables(std::slice::from_ref(name))),
            Changed::Tables(names) | Changed::Unlinked(names) => {
                for (schema, name) in names {
                    let (schema, name) = self.folded(schema, name);
                    self.drop_tables(self.stripe(&schema, &name), |in_schema, table| {
                        in_schema == schema && table == name
                    });
                }
            }
            Changed::Schema(schema) => {
                let (schema, _) = self.folded(schema, "");
                for stripe in &self.stripes {
                    self.drop_tables(stripe, |in_schema, _| in_schema == schema);
                }
            }
            // No watch rests on code.
            Changed::Routine => {}
            Changed::Everything => {
                for stripe in &self.stripes {
                    self.drop_tables(stripe, |_, _| true);
                }
            }
        }
    }

    fn drop_tables(&self, stripe: &WatchStripe, which: impl Fn(&str, &str) -> bool) {
        let mut tables = stripe.tables();
        let mut dropped = 0;
        for (schema, of_schema) in tables.iter_mut() {
            let before = of_schema.len();
            of_schema.retain(|name, _| !which(schema, name));
            dropped += before - of_schema.len();
        }
        tables.retain(|_, of_schema| !of_schema.is_empty());
        self.tables.fetch_sub(dropped, Ordering::Relaxed);
    }

    fn folded<'n>(&self, schema: &'n str, name: &'n str) -> (Cow<'n, str>, Cow<'n, str>) {
        if self.folds_names.load(Ordering::Acquire) {
            (schema.to_lowercase().into(), name.to_lowercase().into())
        } else {
            (schema.into(), name.into())
        }
    }

    fn stripe(&self, schema: &str, name: &str) -> &WatchStripe {
        let hash = self.common.hash.hash_one((schema, name));
        // The remainder is below the number of stripes, and there is at least one.
        let index = usize::try_from(hash % STRIPES as u64).unwrap_or_default();
        &self.stripes[index]
    }
}

#[cfg(test)]
mod tests;
