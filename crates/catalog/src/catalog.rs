//! What is known of the server's tables and views. The applier shares it: it says which definitions changed, and asks what a change
//! reaches. The sessions share it too: they ask what a result depends on.
//!
//! # Why the catalog can be believed
//!
//! A definition is read from the server at some moment, and the stream tells of its changes at another moment. Two rules bring the two
//! together.
//!
//! *A table's definition* is kept only under two conditions. No change of it, or of what it rests on, has been stamped that is newer than
//! the position known visible before the reading began. And [`Catalog::changed`] did not tell of a change while it was read. A change
//! that the reading may have missed has a position above the known one, so its stamp or its call refuses the reading. A change that the
//! reading has seen before the stream tells of it will still be told, and then drops the definition. Until then the definition is newer
//! than the applier's knowledge; a query that is sent now meets the newer definition as well. *What a routine does* is settled in the
//! same way: its changes are stamped under a name of its own.
//!
//! *The foreign keys* are used the other way round: the applier asks what a past change could reach, so keys that are too new may lack a
//! key that existed then. So newly read keys count only once everything is applied that was in the binlog when they had been read. And
//! they are read only once every change that was told is visible, because the binlog tells of a change before the server's own list shows
//! it. Until then the older keys count, together with every table whose definition changed since, as if every table could reach those
//! tables. All keys are read once. After that the keys are read of the tables that changed, and of the tables that refer to these, which
//! are others when a parent is renamed. The keys are read when they are used, and are no part of a definition.

mod load;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Freshness, Position};
use freshet_sql::RoutineKind;
use freshet_upstream::ServerInfo;

use crate::changed::Changed;
use crate::closure::{Descendants, ForeignKeyReach, Staged};
use crate::code::{Routine, routine_name};
use crate::foreign_keys::{ReadKeys, WantedKeys};
use crate::name::Name;
use crate::table_info::{ColumnInfo, TableInfo, TableKind};
use crate::under_way::{Defined, Definition, UnderWay, Writing};
use crate::versions::{Basis, ChangedSince, Told, Versions};

pub use load::Locate;

/// The most tables that are remembered. One more, and all are forgotten and read anew when they are asked for. At some 1 KiB each that is
/// 100 MiB.
pub const TABLES_MAX: usize = 100_000;

/// What other definitions mean for a write, whose effects were told from the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beside {
    /// There are no other definitions.
    Nothing,
    /// The definitions do not concern the basis of the write. But these tables may hang on the tables that it writes, by foreign keys.
    Tables(Vec<Name>),
    /// A definition was applied since the write's foreign keys were looked up: they are to be looked up again.
    Overtaken,
    /// The write may change anything.
    Everything,
}

/// The clock at which foreign keys began to be read: they know of the changes up to then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignKeysTicket(u64);

/// What is known of the server's tables and views. Shared by all threads.
pub struct Catalog {
    freshness: Arc<Freshness>,
    /// [`Versions::clock`]. It is published before the change is published as applied.
    clock: AtomicU64,
    /// How often a whole schema, or everything, has changed.
    schemas: AtomicU64,
    under_way: Arc<UnderWay>,
    /// Held for lookups in memory, and never across an await.
    state: Mutex<CatalogState>,
}

#[derive(Debug, Default)]
struct CatalogState {
    versions: Versions,
    /// Whether names are compared without regard to case.
    fold: bool,
    tables: HashMap<Name, Arc<TableInfo>>,
    routines: HashMap<(RoutineKind, Name), Arc<Routine>>,
    reach: ForeignKeyReach,
    /// The published `applied` when the last change was told: the change lies right above it.
    changed_above: Option<Position>,
}

impl CatalogState {
    fn name(&self, schema: &str, name: &str) -> Name {
        if self.fold { (schema.to_lowercase(), name.to_lowercase()) } else { (schema.into(), name.into()) }
    }

    /// Returns `basis` with these names, in the form in which the catalog compares them.
    fn basis<'a>(&self, names: impl Iterator<Item = &'a Name>, basis: Basis) -> Arc<Basis> {
        let mut names: Vec<Name> = names.map(|(schema, name)| self.name(schema, name)).collect();
        names.sort();
        names.dedup();
        Arc::new(Basis { names, ..basis })
    }
}

impl Catalog {
    /// Returns a catalog that knows nothing yet: every table reaches everything.
    pub fn new(freshness: Arc<Freshness>) -> Self {
        Self {
            freshness,
            clock: AtomicU64::new(0),
            schemas: AtomicU64::new(0),
            under_way: Arc::default(),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, CatalogState> {
        // Nothing in here panics half-way through a change, so a poisoned lock guards valid data.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything, because another stretch of the stream begins on this server.
    pub fn begin(&self, server: &ServerInfo) {
        let mut state = self.state();
        let versions = state.versions.renewed();
        self.publish(&versions, true);
        let dropped = std::mem::replace(
            &mut *state,
            CatalogState { versions, fold: server.folds_names(), ..CatalogState::default() },
        );
        drop(state);
        drop(dropped);
    }

    /// Publishes the clock. Release: a session that sees the change applied must see the clock.
    fn publish(&self, versions: &Versions, any_schema: bool) {
        self.schemas.fetch_add(u64::from(any_schema), Ordering::Release);
        self.clock.store(versions.clock(), Ordering::Release);
    }

    /// Grows with every call of [`Self::changed`] and [`Self::begin`].
    pub fn version(&self) -> u64 {
        self.clock.load(Ordering::Acquire)
    }

    /// Grows whenever a schema may have come or gone.
    pub fn schemas_version(&self) -> u64 {
        self.schemas.load(Ordering::Acquire)
    }

    /// Whether nothing on which this conclusion rests is known to have changed.
    pub fn is_current(&self, told: &Told) -> bool {
        told.held_at(self.version()) || told.holds_by(&self.state().versions)
    }

    /// Returns what is known of changes of what this conclusion rests on since [`Self::version`] was `since`.
    pub fn changed_since(&self, told: &Told, since: u64) -> ChangedSince {
        // First the definitions under way: see `under_way`.
        let is_changing = self.under_way.definitions(None).concern(told);
        match told.changed_since(since, &self.state().versions) {
            ChangedSince::Nothing if is_changing => ChangedSince::Perhaps,
            changed => changed,
        }
    }

    /// Notes a definition that is about to be sent. It counts as under way until the returned value is dropped.
    pub fn define(&self, what: Defined) -> Definition {
        self.under_way.define(what)
    }

    /// Returns [`Self::define`] as a function, for a holder that outlives the catalog.
    pub fn definer(&self) -> impl Fn(Defined) -> Definition + Send + Sync + use<> {
        let under_way = Arc::clone(&self.under_way);
        move |what| under_way.define(what)
    }

    /// Notes a write that is about to be sent, before [`Self::beside`] is asked about it. It counts as under way until the returned value
    /// is dropped, which has to be after its fence has been lifted.
    pub fn write(&self, told: Told) -> Writing {
        self.under_way.write(told)
    }

    /// Whether something on which this conclusion rests has changed, or is being changed by a definition through us.
    pub fn is_changing(&self, told: &Told) -> bool {
        // First the definitions under way: see `under_way`.
        self.under_way.definitions(None).concern(told) || !self.is_current(told)
    }

    /// Whether a definition through us may make a schema come or go.
    pub fn is_schema_changing(&self) -> bool {
        self.under_way.definitions(None).concern_schemas()
    }

    /// Returns what definitions through us, except `own`, mean for a write. `told` is what the write's effects rest on, and its foreign
    /// keys were looked up after the clock showed `clock`.
    pub fn beside(&self, told: &Told, clock: u64, own: Option<&Definition>) -> Beside {
        let others = self.under_way.definitions(own);
        // Read before the basis is compared: the next reading finds a later change.
        let version = self.version();
        if others.concern(told) || !self.is_current(told) {
            return Beside::Everything;
        }
        if clock != version {
            return Beside::Overtaken;
        }
        if others.is_empty() {
            return Beside::Nothing;
        }
        let tables: Vec<Name> = others.tables().cloned().collect();
        self.with_children(&tables).map_or(Beside::Everything, Beside::Tables)
    }

    /// Returns these tables, as the catalog compares names, and the tables that hang on them by foreign keys; `None` if that is not
    /// known.
    pub fn with_children(&self, tables: &[Name]) -> Option<Vec<Name>> {
        let applied = self.freshness.applied();
        let mut state = self.state();
        let tables: Vec<Name> = tables.iter().map(|(schema, name)| state.name(schema, name)).collect();
        state.reach.with_children(&tables, applied)
    }

    /// Returns what is known of a table without asking the server.
    pub fn known(&self, schema: &str, name: &str) -> Option<Arc<TableInfo>> {
        let state = self.state();
        let known = state.tables.get(&state.name(schema, name))?;
        state.versions.is_current(&known.rests_on).then(|| Arc::clone(known))
    }

    /// Returns what is known of a routine without asking the server.
    pub fn known_routine(&self, kind: RoutineKind, schema: &str, name: &str) -> Option<Arc<Routine>> {
        let state = self.state();
        let known = state.routines.get(&(kind, routine_name(&state.name(schema, name))))?;
        state.versions.is_current(&known.rests_on).then(|| Arc::clone(known))
    }

    /// Takes in that definitions changed. The applier calls this after it has stamped the change and before it publishes the change's
    /// position as applied.
    ///
    /// Definitions that rest on the changed objects are not given out any more; they are removed when they are read again.
    pub fn changed(&self, what: Changed<'_>) {
        if sabotage::is(Sabotage::StaleCatalog) {
            return;
        }
        let mut state = self.state();
        if what != Changed::Routine {
            state.changed_above = Some(self.freshness.applied());
        }
        let mut dropped = (HashMap::new(), HashMap::new());
        match what {
            Changed::Tables(names) | Changed::Unlinked(names) => {
                let names: Vec<Name> = names.iter().map(|(schema, name)| state.name(schema, name)).collect();
                state.versions.changed(Changed::Tables(&names));
                names.iter().for_each(|name| drop(state.tables.remove(name)));
                let clock = state.versions.clock();
                match what {
                    Changed::Unlinked(_) => {
                        state.reach.unlinked_changed(names, clock, self.freshness.applied());
                    }
                    _ => state.reach.tables_changed(names, clock),
                }
            }
            Changed::Altered((schema, name), alteration) => {
                let name = state.name(schema, name);
                state.versions.changed(Changed::Tables(std::slice::from_ref(&name)));
                state.tables.remove(&name);
                let (clock, applied) = (state.versions.clock(), self.freshness.applied());
                state.reach.altered(name, alteration, clock, applied);
            }
            Changed::Routine => state.versions.changed(what),
            Changed::Schema(schema) => {
                let (schema, _) = state.name(schema, "");
                state.versions.changed(Changed::Schema(&schema));
                let clock = state.versions.clock();
                state.reach.schema_changed(clock);
            }
            Changed::Everything => {
                state.versions.changed(what);
                let clock = state.versions.clock();
                state.reach.anything_changed(clock);
                dropped = (std::mem::take(&mut state.tables), std::mem::take(&mut state.routines));
            }
        }
        self.publish(&state.versions, matches!(what, Changed::Schema(_) | Changed::Everything));
        drop(state);
        drop(dropped);
    }

    /// Returns the layout of a table's rows in events at `at`, from memory; `None` if that is not known now.
    pub fn layout(&self, schema: &str, table: &str, at: Position) -> Option<Arc<[ColumnInfo]>> {
        let known = self.known(schema, table)?;
        let is_told = known.kind == TableKind::Base && !known.columns.is_empty() && known.settled_by < at;
        is_told.then(|| Arc::clone(&known.columns))
    }

    /// Returns what a change of this table's rows can change through foreign keys, from memory. `None`: not known now, so everything
    /// counts as changed.
    pub fn descendants(&self, schema: &str, table: &str) -> Option<Arc<Descendants>> {
        let mut state = self.state();
        let name = state.name(schema, table);
        let applied = self.freshness.applied();
        state.reach.of(&name, applied)
    }

    /// Returns which foreign keys should be read again, and the ticket to hand in with them.
    pub fn foreign_keys_wanted(&self) -> Option<(ForeignKeysTicket, WantedKeys)> {
        let applied = self.freshness.applied();
        let mut state = self.state();
        let wanted = state.reach.wanted(applied)?;
        Some((ForeignKeysTicket(state.versions.clock()), wanted))
    }

    /// Whether foreign keys are to be read, or wait until they count.
    pub fn awaits_foreign_keys(&self) -> bool {
        self.state().reach.awaits_keys()
    }

    /// Whether a reading now shows every change that was told. MySQL writes a definition to the binlog before it puts it into effect, so
    /// the stream may tell of a key that the server's own list does not show yet.
    pub fn changes_are_visible(&self) -> bool {
        let visible = self.freshness.valid_from();
        self.state().changed_above.is_none_or(|above| visible > above)
    }

    /// Hands in foreign keys that were read after the ticket was taken. `read_by` is the end of the binlog, asked for after they were
    /// read. They count once everything up to there is applied, except the keys of tables that change before.
    pub fn accept_foreign_keys(&self, ticket: ForeignKeysTicket, keys: ReadKeys, read_by: Position) {
        let mut state = self.state();
        let keys = if state.fold { keys.folded() } else { keys };
        state.reach.stage(Staged { keys, asked_at: ticket.0, read_by });
    }
}

#[cfg(test)]
mod tests;
