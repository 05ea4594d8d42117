//! What a statement may change is fenced before it can be committed, and the fence is handed over to be lifted when
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

pub(crate) use reach::{Doubt, Reach, ReadReach, locked, reach, reading, used};
pub(crate) use settled::{Looking, Sources, settled, settled_routine};

/// A session's connection to the server, as it is told apart from others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Thread {
    /// The server's number of it.
    pub(crate) id: u32,
    /// When it was opened, in monotonic milliseconds.
    pub(crate) opened_ms: u64,
}

impl Thread {
    /// What is known of a write when its connection broke.
    fn unknown(self) -> WriteOutcome {
        WriteOutcome::Unknown { thread_id: self.id, opened_ms: self.opened_ms }
    }
}

/// What a session's open transaction may have changed.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    deps: Vec<Dep>,
    /// What hangs by foreign keys on these depends on the keys that there are when it is committed.
    written: Vec<Name>,
    /// Which rows are named by it depends on the watches that there are when it is committed.
    writes: Vec<Described>,
    /// The definitions by which all of it was told.
    told: Option<Told>,
    /// What [`Pending::tables`] has said last: it is asked for each hit.
    tables: Vec<Dep>,
    /// The version of the catalog of which that is still right.
    tables_at: Option<u64>,
}

/// The writes of a transaction that are remembered by their rows; of further ones the tables are.
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

    /// What others would find fenced if it were committed now, as far as tables go: what an answer depends on that shows any row
    /// of these names one of them.
    pub(crate) fn tables(&mut self, freshness: &Freshness, upstream: &Upstream) -> &[Dep] {
        // Before anything is looked at. What changes without a new version are foreign keys that were in doubt, whose tables are among these.
        let version = upstream.catalog_version();
        if self.tables_at != Some(version) {
            let mut tables = std::mem::take(&mut self.tables);
            tables.clear();
            self.put_tables(&mut tables, freshness, upstream);
            // Soon more is known.
            let is_known = !tables.contains(&Dep::EVERYTHING);
            (self.tables, self.tables_at) = (tables, is_known.then_some(version));
        }
        &self.tables
    }

    /// Puts the same into `deps`, in order and once each.
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

    /// Nothing of it will be committed.
    pub(crate) fn clear(&mut self) {
        self.deps.clear();
        self.written.clear();
        self.writes.clear();
        self.told = None;
        self.tables_at = None;
    }
}

/// A statement under way whose effects may become visible. Dropped before it is settled (the connection broke), its
/// fence stays until the stream has provably passed whatever was committed.
pub(crate) struct InFlight {
    fence: Option<Fence>,
    upstream: Upstream,
    thread: Thread,
    /// It may commit more than once.
    scattered: bool,
    /// It is fenced by what it may change itself, and by nothing that is pending.
    is_alone: bool,
    /// It defines something.
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

    /// The dependencies that are fenced.
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

/// A session as its fences know it: where they are raised, who lifts them, and which connection the writes come from.
pub(crate) struct FencingSession<'a> {
    pub(crate) freshness: &'a Arc<Freshness>,
    pub(crate) upstream: &'a Upstream,
    /// The session's connection there.
    pub(crate) thread: Thread,
}

/// Notes what a statement reaches and raises what must stand before it is sent. `in_transaction` says that it surely is
/// part of a transaction that goes on after it.
///
/// What others may see before the commit is fenced for the statement alone: a table without transactions is logged when
/// its statement ends, whatever becomes of the transaction around it.
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
    // A lone definition of what is read from nowhere rests on no other, but what it commits may.
    let rests_on_others = defined.is_none()
        || !pending.is_empty()
        || effects.several
        || !effects.reads.is_nothing()
        || !effects.calls.is_nothing();
    pending.add(&reach, freshness);
    let told = pending.told.as_ref().filter(|_| rests_on_others);
    let reached = || match (commits, reach.at_once) {
        (true, _) => fence(&pending.deps, &pending.written, &pending.writes, session),
        (false, true) => fence(&reach.deps, &reach.written, &reach.writes, session),
        (false, false) => None,
    };
    // Routines that change nothing may have become others.
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

/// What a statement defines; `None`: nothing. Code that is not understood may define anything.
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

/// While a definition is under way (of a table, a trigger, a view, a routine), what a write reaches may have been told by what the
/// server does not go by any more. Where the definition concerns what it was told by, the write is fenced by everything, and
/// that until its own event is applied. Where it does not, it may bring a foreign key that leads from what is written to what is
/// defined: that is fenced for the write too. Looked for after the fence is raised and the write is noted, so that a definition
/// that is not seen here sees the write: see [`heed_earlier_writes`].
///
/// The same where definitions have changed since they told what is committed now: an earlier statement of the transaction
/// may have come to the server after a definition that the stream had not brought by then. Looked for last, since the fence
/// of a definition is lifted after the catalog was told of it. A definition that changes none of what told it may have brought a
/// foreign key all the same, so `reached` looks up anew what hangs on the tables.
fn beside_definitions(
    reached: impl Fn() -> Option<Fence>,
    defined: Option<Defined>,
    told: Option<&Told>,
    session: &FencingSession<'_>,
) -> Option<(Fence, Option<Arc<Definition>>)> {
    // Before what hangs on the tables is looked up.
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

/// How often what hangs on a statement's tables is looked up at most, where each time a definition is applied meanwhile.
const LOOKUPS_MAX: usize = 4;

fn definitions_of(tables: &[Name], session: &FencingSession<'_>) -> Vec<Dep> {
    tables.iter().map(|(schema, name)| session.freshness.table(schema, name).definition).collect()
}

/// How long, and how often, a definition waits for writes that were told by what it changes.
const EARLIER_WRITES_WAIT: Duration = Duration::from_millis(1);
const EARLIER_WRITES_TRIES: u32 = 20;

/// Sees to the writes that looked for definitions before this one was noted: they may reach the server after it, and then change
/// what they are not fenced by. Those that look later find it. It waits a little for those that it concerns, which costs less
/// than a fence on everything, and then fences for all that are under way still what it may make them change, until they are
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

/// Raises a fence on these dependencies, on what hangs on these tables, and on what these writes touch; `None` if there is
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

/// What a statement leaves behind, as far as its effects and its answer say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing at all: it has changed nothing.
    Nothing,
    /// No open transaction with what it wrote.
    NothingOpen,
    /// It cannot be told.
    Anything,
}

/// A statement, and what its answer says of it.
#[derive(Clone, Copy)]
pub(crate) struct ConcludedStatement<'a> {
    pub(crate) effects: &'a Effects,
    pub(crate) relayed: &'a Relayed,
    pub(crate) left: Left,
}

/// Hands the fences over when the answer is in. `reports`: whether the server reports the GTID of whatever such a statement logs.
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
    // An error says nothing of the transaction, which goes on after most of them; what came before it in the same answer
    // does not either.
    let status = relayed.status.filter(|_| relayed.error.is_none());
    // What was open is over after COMMIT and ROLLBACK, though another may have begun with that.
    let is_over = matches!(effects.transaction, TransactionEffect::Ends | TransactionEffect::RollsBack);
    let is_open =
        status.map(|status| status.contains(StatusFlags::IN_TRANS) && (!is_over || effects.several));
    if is_open == Some(false) {
        pending.clear();
    }
    if let Some(in_flight) = in_flight {
        let reports = || left == Left::NothingOpen && in_flight.is_alone && reports();
        let outcome = match outcome(effects, relayed, is_open != Some(false), flavor, reports) {
            // Functions and triggers may commit on their own what is without transactions.
            WriteOutcome::Committed(_) if in_flight.is_everything() || in_flight.scattered => {
                WriteOutcome::CommittedSomewhere
            }
            outcome => outcome,
        };
        in_flight.settle(outcome);
    }
}

/// Whether it defines tables and does nothing else that could commit.
fn is_of_tables(effects: &Effects) -> bool {
    effects.is_definition && !effects.several && matches!(effects.writes, Writes::Tables(_))
}

/// What became of a commit, as exactly as the answer says. GTIDs are taken at their word where the statement commits
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
            // If it takes several, MySQL reports a set of them, and MariaDB the last, behind which all are applied.
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
