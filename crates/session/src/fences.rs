//! A statement's possible changes are fenced before they can be committed. The fence is handed over, and is lifted when
//! the stream has passed the commit.

mod gtid;
mod settled;
mod rows;
mod reach;

use std::sync::Arc;
use std::time::Duration;

use freshet_cache::{Dep, Fence, Freshness};
use freshet_catalog::{Beside, Defined, Definition, Name, Told};
use freshet_follow::{Upstream, WriteOutcome};
use freshet_protocol::StatusFlags;
use freshet_sql::{Defines, Effects, Flavor, TableName, TransactionEffect, Writes};

use crate::relay::Relayed;
use crate::rows::{Described, touched};

pub(crate) use reach::{Doubt, Locked, Reach, ReadReach, locked, reach, reading, used};
pub(crate) use settled::{Looking, Sources, settled, settled_routine};

/// A session's connection to the server, as distinguished from others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Thread {
    /// The server's number of the connection.
    pub(crate) id: u32,
    /// When the connection was opened, in monotonic milliseconds.
    pub(crate) opened_ms: u64,
}

impl Thread {
    /// Returns the outcome of a write whose connection broke.
    fn unknown(self) -> WriteOutcome {
        WriteOutcome::Unknown { thread_id: self.id, opened_ms: self.opened_ms }
    }
}

/// The possible changes of a session's open transaction.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    deps: Vec<Dep>,
    /// The tables written. Foreign keys to them are looked up at the commit.
    written: Vec<Name>,
    /// The writes by rows. The watches at the time of the commit decide which dependencies they touch.
    writes: Vec<Described>,
    /// The definitions on which all of this rests.
    told: Option<Told>,
    /// The last result of [`Pending::tables`], which each hit needs.
    tables: Vec<Dep>,
    /// The version of the catalog for which that result is right.
    tables_at: Option<u64>,
}

/// The most writes of a transaction that are remembered by their rows; for further writes only the tables are remembered.
const DESCRIBED_MAX: usize = 64;

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.deps.is_empty() && self.writes.is_empty() && self.told.is_none()
    }

    fn add(&mut self, reach: &Reach, freshness: &Freshness) {
        if reach.is_empty() {
            return;
        }
        self.tables_at = None;
        match &mut self.told {
            Some(told) => told.join(&reach.told),
            none => *none = Some(reach.told.clone()),
        }
        self.deps.extend_from_slice(&reach.deps);
        self.written.extend_from_slice(&reach.written);
        self.written.sort_unstable();
        self.written.dedup();
        for write in &reach.writes {
            if self.writes.len() < DESCRIBED_MAX {
                self.writes.push(write.clone());
            } else {
                let (schema, name) = write.table();
                self.deps.push(freshness.table(schema, name).definition);
                if let Err(at) = self.written.binary_search(write.table()) {
                    self.written.insert(at, write.table().clone());
                }
            }
        }
        self.deps.sort_unstable();
        self.deps.dedup();
    }

    /// Returns what a commit now would fence, as far as tables go: every answer that shows a row
    /// of these tables depends on one of the returned dependencies.
    pub(crate) fn tables(&mut self, freshness: &Freshness, upstream: &Upstream) -> &[Dep] {
        // Read before everything else. Without a new version, only foreign keys change that were in doubt, and their tables are among these.
        let version = upstream.catalog_version();
        if self.tables_at != Some(version) {
            let mut tables = std::mem::take(&mut self.tables);
            tables.clear();
            self.put_tables(&mut tables, freshness, upstream);
            // More will be known soon.
            let is_known = !tables.contains(&Dep::EVERYTHING);
            (self.tables, self.tables_at) = (tables, is_known.then_some(version));
        }
        &self.tables
    }

    /// Puts the same dependencies into `deps`, sorted and without duplicates.
    pub(crate) fn put_tables(&self, deps: &mut Vec<Dep>, freshness: &Freshness, upstream: &Upstream) {
        deps.extend_from_slice(&self.deps);
        let written = self.written.iter().chain(self.writes.iter().map(Described::table));
        for (schema, name) in written {
            deps.push(freshness.table(schema, name).definition);
            match upstream.descendants(schema, name) {
                Some(below) => {
                    let below = below.all.iter();
                    deps.extend(below.map(|(schema, name)| freshness.table(schema, name).definition));
                }
                None => deps.push(Dep::EVERYTHING),
            }
        }
        deps.sort_unstable();
        deps.dedup();
    }

    /// Forgets everything, because nothing of the transaction will be committed.
    pub(crate) fn clear(&mut self) {
        self.deps.clear();
        self.written.clear();
        self.writes.clear();
        self.told = None;
        self.tables_at = None;
    }
}

/// A statement under way whose effects may become visible. If the value is dropped before it is settled (the connection broke), the
/// fence stays until the stream has provably passed whatever was committed.
pub(crate) struct InFlight {
    fence: Option<Fence>,
    upstream: Upstream,
    thread: Thread,
    /// The statement may commit more than once.
    scattered: bool,
    /// The fence is only for the statement's own changes, and for nothing that is pending.
    is_alone: bool,
    /// The definition that the statement makes.
    definition: Option<Arc<Definition>>,
}

impl InFlight {
    pub(crate) fn settle(mut self, outcome: WriteOutcome) {
        if let Some(fence) = self.fence.take() {
            self.upstream.settle(fence, outcome);
        }
    }

    fn is_everything(&self) -> bool {
        self.fence.as_ref().is_some_and(|fence| fence.deps().contains(&Dep::EVERYTHING))
    }

    /// Returns the fenced dependencies.
    pub(crate) fn deps(&self) -> Vec<Dep> {
        self.fence.iter().flat_map(|fence| fence.deps().iter().copied()).collect()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(fence) = self.fence.take() {
            self.upstream.settle(fence, self.thread.unknown());
        }
    }
}

/// The facts of a session that its fences need: where they are raised, who lifts them, and which connection writes.
pub(crate) struct FencingSession<'a> {
    pub(crate) freshness: &'a Arc<Freshness>,
    pub(crate) upstream: &'a Upstream,
    /// The session's connection to the server.
    pub(crate) thread: Thread,
}

/// Notes what a statement reaches and raises the fence that must stand before the statement is sent. `in_transaction`: the statement surely
/// is part of a transaction that goes on after it.
///
/// Changes that others may see before the commit are fenced for the statement alone: a change to a table without transactions is logged when
/// its statement ends, whatever happens to the transaction around it.
pub(crate) fn raise(
    pending: &mut Pending,
    effects: &Effects,
    reach: Reach,
    in_transaction: bool,
    session: &FencingSession<'_>,
) -> Option<InFlight> {
    let freshness = session.freshness;
    let commits = reach.commits
        || match effects.transaction {
            TransactionEffect::None => !in_transaction,
            TransactionEffect::RollsBack => false,
            TransactionEffect::Begins | TransactionEffect::Ends | TransactionEffect::MayCommit => true,
        };
    let is_alone = pending.is_empty();
    let defined = defined(effects, &reach);
    // A single definition that reads nothing rests on no other definition, but the changes that it commits may.
    let rests_on_others =
        defined.is_none() || !pending.is_empty() || effects.several || !effects.reads_nothing();
    pending.add(&reach, freshness);
    let told = pending.told.as_ref().filter(|_| rests_on_others);
    let reached = || match (commits, reach.at_once) {
        (true, _) => fence(&pending.deps, &pending.written, &pending.writes, session),
        (false, true) => fence(&reach.deps, &reach.written, &reach.writes, session),
        (false, false) => None,
    };
    // Even routines that change nothing may have been redefined.
    let told = told.filter(|_| commits || reach.at_once || reach.runs_routines);
    let (fence, definition) = beside_definitions(reached, defined, told, session)?;
    Some(InFlight {
        fence: Some(fence),
        upstream: session.upstream.clone(),
        thread: session.thread,
        scattered: reach.runs_routines || effects.several,
        is_alone,
        definition,
    })
}

/// Returns what a statement defines; `None`: nothing. Code that is not understood may define anything.
fn defined(effects: &Effects, reach: &Reach) -> Option<Defined> {
    if reach.runs_unknown_code {
        return Some(Defined::Everything);
    }
    Some(match &effects.defines {
        Defines::Nothing => return None,
        Defines::Tables(tables) => {
            let tables = tables.iter().map(TableName::in_full).collect::<Option<_>>();
            tables.map_or(Defined::Everything, Defined::Tables)
        }
        Defines::Schema(schema) => schema.clone().map_or(Defined::Everything, Defined::Schema),
        Defines::Routine => Defined::Routine,
        Defines::Everything => Defined::Everything,
    })
}

/// While a definition is under way (of a table, a trigger, a view, a routine), the reach of a write may rest on definitions that the
/// server does not use any more. If the new definition concerns one of these, the write gets a fence on everything,
/// until the write's own event is applied. If it does not, it may still add a foreign key from the written tables to the
/// defined ones: these are fenced for the write too. This check comes after the fence is raised and the write is noted, so that a definition
/// that is not seen here sees the write: see [`heed_earlier_writes`].
///
/// The same holds if definitions have changed since the reach of the transaction's writes was found: an earlier statement of the transaction
/// may have reached the server after a definition that the stream had not brought by then. This check comes last, since the fence
/// of a definition is lifted after the catalog hears of it. Even a definition that changes none of the used ones may have added a
/// foreign key, so `reached` looks up the foreign keys anew.
fn beside_definitions(
    reached: impl Fn() -> Option<Fence>,
    defined: Option<Defined>,
    told: Option<&Told>,
    session: &FencingSession<'_>,
) -> Option<(Fence, Option<Arc<Definition>>)> {
    // Read before the foreign keys of the tables are looked up.
    let mut clock = session.upstream.catalog_version();
    let mut fence = reached();
    let own = defined.filter(|_| fence.is_some()).map(|defined| Arc::new(session.upstream.define(defined)));
    let noted = told.map(|told| session.upstream.write(told.clone()));
    let mut beside = Beside::Nothing;
    for _ in 0..LOOKUPS_MAX {
        beside = told.map_or(Beside::Nothing, |told| session.upstream.beside(told, clock, own.as_deref()));
        if beside != Beside::Overtaken {
            break;
        }
        clock = session.upstream.catalog_version();
        fence = reached();
    }
    let mut deps = match beside {
        Beside::Nothing => Vec::new(),
        Beside::Tables(tables) => definitions_of(&tables, session),
        Beside::Overtaken | Beside::Everything => vec![Dep::EVERYTHING],
    };
    deps.extend(own.is_some().then_some(Dep::DEFINITIONS));
    if !deps.is_empty() {
        deps.extend(fence.iter().flat_map(|fence| fence.deps()));
        fence = Some(session.freshness.fence(deps).holding(fence));
    }
    let fence = fence?.holding(noted);
    match own {
        Some(own) => Some((fence.holding(Arc::clone(&own)), Some(own))),
        None => Some((fence, None)),
    }
}

/// How often the foreign keys of a statement's tables are looked up at most, if a definition is applied each time meanwhile.
const LOOKUPS_MAX: usize = 4;

fn definitions_of(tables: &[Name], session: &FencingSession<'_>) -> Vec<Dep> {
    tables.iter().map(|(schema, name)| session.freshness.table(schema, name).definition).collect()
}

/// How long, and how often, a definition waits for writes whose reach rests on what it changes.
const EARLIER_WRITES_WAIT: Duration = Duration::from_millis(1);
const EARLIER_WRITES_TRIES: u32 = 20;

/// Handles the writes that looked for definitions before this one was noted: they may reach the server after it, and then change rows that
/// they are not fenced for. Later writes find the definition. First the definition waits a little for the writes that it concerns, which
/// costs less than a fence on everything. Then it fences, for all writes still under way, what it may make them change, until they are
/// applied.
pub(crate) async fn heed_earlier_writes(in_flight: &InFlight, session: &FencingSession<'_>) {
    let Some(definition) = &in_flight.definition else { return };
    for _ in 0..EARLIER_WRITES_TRIES {
        if !definition.concerns_earlier_writes() {
            break;
        }
        tokio::time::sleep(EARLIER_WRITES_WAIT).await;
    }
    let everything = || session.freshness.fence([Dep::EVERYTHING]);
    let tables = || match session.upstream.with_children(definition.tables()) {
        Some(tables) => session.freshness.fence(definitions_of(&tables, session)),
        None => everything(),
    };
    definition.fence_earlier_writes(everything, tables);
}

/// Raises a fence on these dependencies, on what foreign keys change with these tables, and on what these writes touch; `None` if there is
/// nothing to fence.
fn fence(
    deps: &[Dep],
    written: &[Name],
    writes: &[Described],
    session: &FencingSession<'_>,
) -> Option<Fence> {
    let mut deps = deps.to_vec();
    for (schema, name) in written {
        match session.upstream.descendants(schema, name) {
            Some(below) => {
                let below = below.all.iter();
                deps.extend(below.map(|(schema, name)| session.freshness.table(schema, name).definition));
            }
            None => deps.push(Dep::EVERYTHING),
        }
    }
    let mut tickets = Vec::with_capacity(writes.len());
    for write in writes {
        let (of_write, held) = touched(write, session.freshness, session.upstream);
        deps.extend(of_write);
        tickets.extend(held);
    }
    deps.sort_unstable();
    deps.dedup();
    (!deps.is_empty()).then(|| session.freshness.fence(deps).holding(tickets))
}

/// What a statement leaves behind, as far as its effects and its answer show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing: the statement has changed nothing.
    Nothing,
    /// No open transaction with the statement's writes.
    NothingOpen,
    /// Unknown.
    Anything,
}

/// A statement, and the facts of its answer.
#[derive(Clone, Copy)]
pub(crate) struct ConcludedStatement<'a> {
    pub(crate) effects: &'a Effects,
    pub(crate) relayed: &'a Relayed,
    pub(crate) left: Left,
}

/// Hands the fences over when the answer has arrived. `reports`: whether the server reports the GTID of everything that such a statement
/// logs.
pub(crate) fn settle(
    pending: &mut Pending,
    in_flight: Option<InFlight>,
    ConcludedStatement { effects, relayed, left }: ConcludedStatement<'_>,
    flavor: Flavor,
    reports: impl Fn() -> bool,
) {
    let changed_nothing = left == Left::Nothing && in_flight.as_ref().is_some_and(|it| it.is_alone);
    if changed_nothing || left == Left::NothingOpen {
        pending.clear();
    }
    let in_flight = match in_flight {
        Some(in_flight) if changed_nothing => return in_flight.settle(WriteOutcome::Nothing),
        other => other,
    };
    // An error says nothing about the transaction, which goes on after most errors; nor do the packets before the error
    // in the same answer.
    let status = relayed.status.filter(|_| relayed.error.is_none());
    // The open transaction is over after COMMIT and ROLLBACK, though another may have begun with them.
    let is_over = matches!(effects.transaction, TransactionEffect::Ends | TransactionEffect::RollsBack);
    let is_open =
        status.map(|status| status.contains(StatusFlags::IN_TRANS) && (!is_over || effects.several));
    if is_open == Some(false) {
        pending.clear();
    }
    if let Some(in_flight) = in_flight {
        let reports = || left == Left::NothingOpen && in_flight.is_alone && reports();
        let outcome = match outcome(effects, relayed, is_open != Some(false), flavor, reports) {
            // Functions and triggers may commit changes of tables without transactions on their own.
            WriteOutcome::Committed(_) if in_flight.is_everything() || in_flight.scattered => {
                WriteOutcome::CommittedSomewhere
            }
            outcome => outcome,
        };
        in_flight.settle(outcome);
    }
}

/// Whether a statement defines tables and does nothing else that could commit.
fn is_of_tables(effects: &Effects) -> bool {
    effects.is_definition && !effects.several && matches!(effects.writes, Writes::Tables(_))
}

/// Returns the outcome of a commit, as exactly as the answer shows. GTIDs count if the statement commits exactly
/// one transaction. A statement that changed no row has committed nothing if no GTID is reported where one would be (`reports`). Everything
/// else is bounded by a position that is read afterwards.
fn outcome(
    effects: &Effects,
    relayed: &Relayed,
    still_open: bool,
    flavor: Flavor,
    reports: impl Fn() -> bool,
) -> WriteOutcome {
    let one_transaction = relayed.error.is_none()
        && relayed.results == 1
        && !still_open
        && match effects.transaction {
            TransactionEffect::None => matches!(effects.writes, Writes::Tables(_)),
            TransactionEffect::Ends => true,
            // If the statement takes several transactions, MySQL reports a set of GTIDs, and MariaDB the last one, after all the others.
            TransactionEffect::MayCommit => is_of_tables(effects),
            TransactionEffect::Begins | TransactionEffect::RollsBack => false,
        };
    let is_unchanged = effects.transaction == TransactionEffect::None
        && !effects.is_definition
        && !effects.several
        && relayed.affected == 0
        && !relayed.has_no_room;
    match relayed.gtids.as_slice() {
        [gtid] if one_transaction => gtid::parse(gtid, flavor)
            .map_or(WriteOutcome::CommittedSomewhere, |gtid| WriteOutcome::Committed(vec![gtid])),
        [] if one_transaction && is_unchanged && reports() => WriteOutcome::Nothing,
        _ => WriteOutcome::CommittedSomewhere,
    }
}

#[cfg(test)]
mod tests;
