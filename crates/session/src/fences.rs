//! What a statement may change is fenced before it can be committed, and the fence is handed over to be lifted when
//! the stream has passed the commit.

mod gtid;

use std::sync::Arc;
use std::time::Duration;

use freshet_cache::{Dep, Fence, Freshness, Position};
use freshet_protocol::StatusFlags;
use freshet_sql::{Effects, Flavor, TableName, TransactionEffect, Writes};
use freshet_upstream::settle::Outcome;
use freshet_upstream::upstream::Upstream;
use freshet_upstream::{CatalogError, TableInfo};

use crate::relay::Relayed;

/// The storage engines whose changes wait for the commit; with any other, a statement inside a transaction can be seen
/// by others as soon as it has run.
const TRANSACTIONAL_ENGINES: [&str; 3] = ["InnoDB", "ROCKSDB", "TokuDB"];

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
    fn unknown(self) -> Outcome {
        Outcome::Unknown { thread_id: self.id, opened_ms: self.opened_ms }
    }
}

/// What a session's open transaction may have changed.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    deps: Vec<Dep>,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.deps.is_empty()
    }

    fn add(&mut self, deps: &[Dep]) {
        self.deps.extend_from_slice(deps);
        self.deps.sort_unstable();
        self.deps.dedup();
    }
}

/// What a statement reaches.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// What to fence for it.
    pub(crate) deps: Vec<Dep>,
    /// Others may see it before the commit.
    pub(crate) at_once: bool,
    /// It runs triggers or functions, of which nothing is known here, or may do so.
    pub(crate) runs_unknown_code: bool,
}

impl Reach {
    fn everything() -> Self {
        Self { deps: vec![Dep::EVERYTHING], at_once: true, runs_unknown_code: true }
    }
}

/// What `writes` may change: the tables themselves, what hangs on them by foreign keys, and with triggers, of whose
/// bodies nothing is known here, everything. `shadowed` names temporary tables, which nobody else sees.
pub(crate) async fn reach(
    writes: &Writes,
    shadowed: impl Fn(&str, &str) -> bool,
    freshness: &Freshness,
    upstream: &Upstream,
) -> Reach {
    match writes {
        Writes::Nothing => Reach::default(),
        Writes::Everything => Reach::everything(),
        Writes::Schema(schema) => {
            Reach { deps: vec![freshness.schema(schema)], at_once: true, runs_unknown_code: false }
        }
        Writes::Tables(tables) => {
            let mut reach = Reach::default();
            for TableName { schema: named, name } in tables {
                let Some(schema) = named else { return Reach::everything() };
                if shadowed(schema, name) {
                    continue;
                }
                match add_table(&mut reach, (schema, name), freshness, upstream).await {
                    Added::Whole => {}
                    Added::RunsUnknownCode => return Reach::everything(),
                    Added::NotKnownNow => return Reach { runs_unknown_code: false, ..Reach::everything() },
                }
            }
            reach
        }
    }
}

/// What became of a table that was to be added.
enum Added {
    Whole,
    /// Triggers, and functions in a view, do what nobody here knows.
    RunsUnknownCode,
    /// Its definition is being changed, or cannot be read.
    NotKnownNow,
}

/// How often, and how long apart, a definition that is being changed is asked for again before a write goes out under a
/// fence on everything.
const SETTLING_TRIES: u32 = 4;
const SETTLING_PAUSE: Duration = Duration::from_millis(5);

/// Adds one table.
async fn add_table(
    reach: &mut Reach,
    (schema, name): (&str, &str),
    freshness: &Freshness,
    upstream: &Upstream,
) -> Added {
    let Some(info) = settled(schema, name, upstream).await else { return Added::NotKnownNow };
    if info.has_triggers || info.runs_unknown_code {
        return Added::RunsUnknownCode;
    }
    reach.at_once |= !TRANSACTIONAL_ENGINES.iter().any(|engine| engine.eq_ignore_ascii_case(&info.engine));
    let reached = info.base_tables.iter().chain(info.reaches.iter());
    reach.deps.extend(reached.map(|(schema, name)| freshness.table(schema, name).definition));
    Added::Whole
}

/// What is known of a table, after a little patience if it is just being changed.
async fn settled(schema: &str, name: &str, upstream: &Upstream) -> Option<Arc<TableInfo>> {
    for _ in 0..SETTLING_TRIES {
        match upstream.table(schema, name).await {
            Ok(info) => return Some(info),
            Err(CatalogError::Failed(_)) => return None,
            Err(CatalogError::Unsettled) => upstream.ask_probe(),
        }
        tokio::time::sleep(SETTLING_PAUSE).await;
    }
    None
}

/// A statement under way whose effects may become visible. Dropped before it is settled (the connection broke), its
/// fence stays until the stream has provably passed whatever was committed.
pub(crate) struct InFlight {
    fence: Option<Fence>,
    upstream: Upstream,
    thread: Thread,
}

impl InFlight {
    pub(crate) fn settle(mut self, outcome: Outcome) {
        if let Some(fence) = self.fence.take() {
            self.upstream.settle(fence, outcome);
        }
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

/// What stands behind a session.
pub(crate) struct Behind<'a> {
    pub(crate) freshness: &'a Arc<Freshness>,
    pub(crate) upstream: &'a Upstream,
    /// The session's connection there.
    pub(crate) thread: Thread,
}

/// Notes what a statement reaches and raises what must stand before it is sent. `in_transaction` is the state before.
///
/// What others may see before the commit is fenced for the statement alone: a table without transactions is logged when
/// its statement ends, whatever becomes of the transaction around it.
pub(crate) fn raise(
    pending: &mut Pending,
    effects: &Effects,
    reach: Reach,
    in_transaction: bool,
    behind: &Behind<'_>,
) -> Option<InFlight> {
    let freshness = behind.freshness;
    let commits = match effects.transaction {
        TransactionEffect::None => !in_transaction,
        TransactionEffect::RollsBack => false,
        TransactionEffect::Begins | TransactionEffect::Ends | TransactionEffect::MayCommit => true,
    };
    pending.add(&reach.deps);
    let deps = match (commits, reach.at_once) {
        (true, _) => pending.deps.clone(),
        (false, true) => reach.deps,
        (false, false) => Vec::new(),
    };
    if deps.is_empty() {
        return None;
    }
    let fence = Some(freshness.fence(deps));
    Some(InFlight { fence, upstream: behind.upstream.clone(), thread: behind.thread })
}

/// Hands the fences over when the answer is in.
pub(crate) fn settle(
    pending: &mut Pending,
    in_flight: Option<InFlight>,
    effects: &Effects,
    relayed: &Relayed,
    flavor: Flavor,
) {
    let is_open = relayed.status.map(|status| status.contains(StatusFlags::IN_TRANS));
    // An error says nothing of the transaction, which goes on after most of them.
    if is_open == Some(false) {
        pending.deps.clear();
    }
    if let Some(in_flight) = in_flight {
        in_flight.settle(outcome(effects, relayed, is_open != Some(false), flavor));
    }
}

/// What became of a commit, as exactly as the answer says. GTIDs are taken at their word where the statement commits
/// one transaction; everything else is bounded by a position that is read afterwards.
fn outcome(effects: &Effects, relayed: &Relayed, still_open: bool, flavor: Flavor) -> Outcome {
    let one_transaction = relayed.error.is_none()
        && relayed.results == 1
        && !still_open
        && match effects.transaction {
            TransactionEffect::None => matches!(effects.writes, Writes::Tables(_)),
            TransactionEffect::Ends => true,
            _ => false,
        };
    match relayed.gtids.as_slice() {
        [gtid] if one_transaction => gtid::parse(gtid, flavor)
            .map_or(Outcome::CommittedSomewhere, |gtid| Outcome::Committed(vec![gtid])),
        _ => Outcome::CommittedSomewhere,
    }
}

/// For a session that keeps its writes out of the binlog: no event will tell of them, so what they reach is stamped
/// here, above every position that an answer may already rest on.
///
/// No transaction ends at that position, which lies within the event that comes next, and nothing gives it out: what is
/// stamped is stored again after the next commit that is logged. To give it out would move on by one with each unlogged
/// write, and at last past real transactions.
pub(crate) fn stamp_unlogged(deps: &[Dep], freshness: &Freshness) {
    let (visible, applied) = (freshness.visible(), freshness.applied());
    let at = Position::new(visible.max(applied).get().saturating_add(1));
    for dep in deps {
        freshness.stamp(*dep, at);
    }
}

#[cfg(test)]
mod tests;
