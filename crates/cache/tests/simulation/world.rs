//! The world around the cache: writers, the stream, the probe and readers, in an order that a seed decides.
//!
//! Each step does one thing that a thread or a machine could do between any two steps of others. The same seed gives
//! the same run. [`Broken`] breaks one rule of the protocol at a time; the oracle must notice each.

#[path = "transactions.rs"]
mod transactions;

use super::keyed::{Keyed, Watch};
use super::oracle::{CLIENTS, Client, Invocation, Oracle, is_own_only};
use super::random::Random;
use super::server::{ALTER, Content, FIRST_ROW, KEYED, OBJECTS, ROWS, Server, TABLES, VIEW, Version};
use freshet_cache::{Cache, Dep, Fence, Fences, Fill, Freshness, Insert, Key, Lookup, Position, TableDeps};
use std::collections::HashMap;
use std::sync::Arc;
use transactions::{EndAsked, Transaction};
#[cfg(test)]
pub use transactions::{first_answer_after_the_opening, own_writer_after_the_opening, torn_by_choice};

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    Nothing,
    /// `valid_from` is the position that was received from the stream.
    ValidFromReceived,
    /// `valid_from` is `applied`, visible or not.
    ValidFromApplied,
    /// `valid_from` is `visible`, applied or not.
    ValidFromVisible,
    /// The answer is asked for before `valid_from` is read.
    ValidFromLate,
    /// Dependencies are resolved before `valid_from` is read.
    DependenciesFirst,
    /// The catalog uses its knowledge until it is told of a change.
    CatalogUntilTold,
    /// `applied` is published before the stamps are set.
    StampAfterApplied,
    NoFence,
    /// The fence is raised when the OK comes.
    FenceAfterSend,
    /// The fence is lifted when the OK comes.
    FenceLiftedAtOk,
    /// A check reads each stamp and then its fence.
    StampBeforeFence,
    /// A check reads each fence and then its stamp, in place of all fences and then all stamps.
    StampsBetweenFences,
    /// A new generation begins without a stamp on everything.
    RestartWithoutStamp,
    /// Hits do not ask whether the stream is live.
    LivenessIgnored,
    /// `applied` is published before the slots of rows are stamped.
    SlotsAfterApplied,
    /// A watch is used while a write is under way that does not know the watch.
    WatchBeforeSettled,
    /// A watch is used for results that are valid from before its birth.
    BornIgnored,
    /// A watch is born at the published `applied`, not at the position that the applier has begun with.
    BornAtApplied,
    /// A write whose rows are not known raises no fence on results that rest on single rows.
    AnyUnfenced,
    /// A change whose rows are not known sets no stamp on results that rest on single rows.
    AnyUnstamped,
    /// A new generation clears the slots, publishes `applied`, and stamps everything later.
    EverythingLate,
    /// Hits of the level `session` ignore all fences.
    FencesIgnored,
    /// Hits of the level `session` do not ask what earlier hits have shown.
    ShownByHitsIgnored,
    /// The oldest fence is read after the stamps.
    OldestFenceLate,
    /// Changes that are in no binlog are not stamped.
    UnloggedUnstamped,
    /// A step is published within a transaction.
    StepWithinTransaction,
    /// A step counts as visible before the received transactions are visible.
    StepBeforeVisible,
    /// A step is made while a position beyond it is given out.
    StepPastLocated,
    /// Each read of a transaction from memory is as of its own moment.
    LateAsOf,
    /// A transaction's snapshot is used without a proof that the served results are true in it.
    UnprovenOpening,
    /// The served results count as proven before the stream has passed the snapshot.
    ProvenTooEarly,
    /// The served results count as proven while a write is under way that may be in no binlog.
    UnloggedAtOpening,
    /// The second look at the served results comes before the snapshot is opened, and not after.
    UntouchedBeforeOpening,
    /// Where the served results were untouched, foreign writers are not looked for.
    ForeignAsOwn,
    /// `visible` is read after the snapshot was opened.
    ContainsLate,
    /// The snapshot is taken to contain nothing beyond the server's list of visible transactions.
    WithinVisible,
    /// Hits beside a snapshot do not wait until the stream has passed the snapshot.
    EarlySnapshot,
    /// A transaction is served a result from after its moment, if no stamp is beyond the moment.
    StampsForValidFrom,
    /// A transaction is served a result that may show transactions that are not applied.
    UnsettledTaken,
    /// Whether a result is settled is found out after the stamps were read.
    SettledLate,
    /// A transaction's lookups do not look for fences.
    FencesOfTransactions,
    /// A transaction is served a result that it has changed itself.
    OwnWritesHit,
}

/// The rules that concern transactions that read several results.
pub const BROKEN_FOR_TRANSACTIONS: [Broken; 14] = [
    Broken::StampsForValidFrom,
    Broken::LateAsOf,
    Broken::UnprovenOpening,
    Broken::ProvenTooEarly,
    Broken::UnloggedAtOpening,
    Broken::UntouchedBeforeOpening,
    Broken::ForeignAsOwn,
    Broken::ContainsLate,
    Broken::WithinVisible,
    Broken::EarlySnapshot,
    Broken::UnsettledTaken,
    Broken::SettledLate,
    Broken::FencesOfTransactions,
    Broken::OwnWritesHit,
];

pub const ALL_BROKEN: [Broken; 28] = [
    Broken::UnloggedUnstamped,
    Broken::StepWithinTransaction,
    Broken::StepBeforeVisible,
    Broken::StepPastLocated,
    Broken::SlotsAfterApplied,
    Broken::WatchBeforeSettled,
    Broken::BornIgnored,
    Broken::BornAtApplied,
    Broken::AnyUnfenced,
    Broken::AnyUnstamped,
    Broken::EverythingLate,
    Broken::FencesIgnored,
    Broken::ShownByHitsIgnored,
    Broken::OldestFenceLate,
    Broken::ValidFromReceived,
    Broken::ValidFromApplied,
    Broken::ValidFromVisible,
    Broken::ValidFromLate,
    Broken::DependenciesFirst,
    Broken::CatalogUntilTold,
    Broken::StampAfterApplied,
    Broken::NoFence,
    Broken::FenceAfterSend,
    Broken::FenceLiftedAtOk,
    Broken::StampBeforeFence,
    Broken::StampsBetweenFences,
    Broken::RestartWithoutStamp,
    Broken::LivenessIgnored,
];

/// What a run has done; a run without hits proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub hits: u64,
    pub stepwise_hits: u64,
    pub forwarded: u64,
    pub commits: u64,
    pub restarts: u64,
    pub refused_by_fence: u64,
    pub refused_by_stamp: u64,
    /// The hits on single rows that were made step by step, and the hits on fenced entries.
    pub row_hits: u64,
    pub fenced_hits: u64,
    /// Our own positions, for changes that are in no binlog.
    pub steps: u64,
    /// Hits of transactions that the server does not know, and hits beside snapshots.
    pub hits_of_begun: u64,
    pub hits_of_opened: u64,
    /// Lookups of transactions that were refused because the entry was not settled, and because it had changed.
    pub unsettled: u64,
    pub moved: u64,
    /// Transactions whose snapshot came too late for the served results, and transactions where only own writers came later.
    pub conflicts: u64,
    pub untouched: u64,
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.stepwise_hits += other.stepwise_hits;
        self.forwarded += other.forwarded;
        self.commits += other.commits;
        self.restarts += other.restarts;
        self.refused_by_fence += other.refused_by_fence;
        self.refused_by_stamp += other.refused_by_stamp;
        self.row_hits += other.row_hits;
        self.fenced_hits += other.fenced_hits;
        self.steps += other.steps;
        self.hits_of_begun += other.hits_of_begun;
        self.hits_of_opened += other.hits_of_opened;
        self.unsettled += other.unsettled;
        self.moved += other.moved;
        self.conflicts += other.conflicts;
        self.untouched += other.untouched;
    }
}

/// How often things happen: each seed has rates of its own, so that an event that is rare in one world is frequent in another.
struct Rates {
    writes_one_in: u64,
    restarts_one_in: u64,
    stalls_one_in: u64,
    /// One in so many transactions changes the definition of the keyed table.
    alters_one_in: u64,
    /// The share of reads, and of the other transactions, that are of single rows, in percent.
    rows: u64,
}

impl Rates {
    fn new(random: &mut Random) -> Self {
        let mut one_of = |choices: [u64; 3]| choices[random.below(3) as usize];
        Self {
            writes_one_in: one_of([1, 3, 10]),
            restarts_one_in: one_of([4, 10, 50]),
            stalls_one_in: one_of([2, 5, 20]),
            alters_one_in: one_of([5, 30, 100]),
            rows: one_of([30, 60, 95]),
        }
    }
}

const HEARTBEAT_GOOD_MS: u64 = 30;
const WRITERS_MAX: usize = 5;
const READERS_MAX: usize = 6;
const CHECKS: usize = 3;
const GENERATION_SHIFT: u32 = 40;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Sent,
    Logged(Version),
    Visible(Version, u64),
}

struct Writer {
    client: Client,
    objects: Vec<usize>,
    through_us: bool,
    unlogged: bool,
    fence: Option<Fence>,
    stage: Stage,
}

/// A miss under way. Each of its parts is done in a step of its own.
struct Miss {
    client: Client,
    query: u32,
    at: Invocation,
    valid_from: Option<Position>,
    deps: Option<Vec<Dep>>,
    content: Option<Content>,
    delivered: bool,
}

/// A check that is done one load at a time.
struct Check {
    client: Client,
    at: Invocation,
    stored: Stored,
    loads: Vec<Load>,
    /// The obstacle for a client that no fence refuses.
    ignores: bool,
    was_fenced: bool,
}

#[derive(Clone, Copy)]
enum Load {
    Oldest,
    Fence(Dep),
    Stamp(Dep),
}

#[derive(Clone)]
struct Stored {
    valid_from: Position,
    deps: Vec<Dep>,
    content: Content,
    fences_raised: u64,
    ends_asked: u64,
}

struct Remembered {
    version: Version,
    valid_from: Position,
}

/// Our own positions in this generation: how many, after how many logged transactions the last was made, and the greatest position that
/// was given out.
#[derive(Default)]
struct Timeline {
    steps: u64,
    stepped_at: u64,
    located: Position,
}

/// The applier's next step with the transaction that it has begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Applying {
    Nothing,
    Begun,
    Stamping,
}

pub struct World {
    broken: Broken,
    outsiders: bool,
    /// Whether some of the writes through us are in no binlog.
    unlogged: bool,
    /// Whether there are transactions that read.
    with_transactions: bool,
    /// Whether commits become visible in the order of the log (`binlog_order_commits`).
    ordered: bool,
    random: Random,
    rates: Rates,
    server: Server,
    oracle: Oracle,
    freshness: Arc<Freshness>,
    cache: Cache,
    deps: [TableDeps; OBJECTS],
    now_ms: u64,
    proven_until_ms: u64,
    connected: bool,
    generation: u64,
    received: Version,
    applied: Version,
    /// The last transaction that was published as applied.
    published: Version,
    keyed: Keyed,
    applying: Applying,
    to_stamp: Vec<Dep>,
    /// Stamps that are set after `applied` was published, which is wrong.
    too_late: Vec<Dep>,
    is_stalled: bool,
    /// The old stamp of everything, for those readers for which a new generation has not set it yet, which is wrong.
    everything_before: Option<Position>,
    /// For each client, a bound on the fences of the writes that it was shown.
    shown: [u64; CLIENTS],
    probe: Option<Version>,
    writers: Vec<Writer>,
    to_settle: Vec<(Fence, Position)>,
    timeline: Timeline,
    misses: Vec<Miss>,
    checks: Vec<Check>,
    stored: HashMap<u32, Stored>,
    transactions: Vec<Transaction>,
    ends: Vec<EndAsked>,
    catalog: Option<Remembered>,
    summary: Summary,
}

/// Runs `steps` steps. `Err` says which promise was not kept, and when.
pub fn run(seed: u64, steps: u64, broken: Broken) -> Result<Summary, String> {
    run_world(World::new(seed, broken, false), seed, steps)
}

/// Does the same with transactions that read several results.
pub fn run_with_transactions(seed: u64, steps: u64, broken: Broken) -> Result<Summary, String> {
    run_world(World::new(seed, broken, true), seed, steps)
}

fn run_world(mut world: World, seed: u64, steps: u64) -> Result<Summary, String> {
    for step in 0..steps {
        world.step().map_err(|what| format!("seed {seed}, step {step}: {what}"))?;
    }
    Ok(world.summary)
}

/// Does a run with chosen steps: a watch is born while the applier is in the middle of a transaction, for which it has already decided
/// what to stamp. Random runs meet this once in millions of steps.
#[cfg(test)]
pub fn born_within_a_transaction(broken: Broken) -> Result<Summary, String> {
    const READER: Client = 0;
    let row = FIRST_ROW;
    let mut world = World::new(0, broken, false);
    while !world.connected {
        world.break_or_mend();
    }
    for _question_and_answer in 0..2 {
        world.probe();
    }
    // Logged around us, so that no fence tells of it, and not yet visible.
    let version = world.server.flush(vec![row], false, false);
    world.receive();
    while world.to_stamp.is_empty() {
        world.apply();
    }
    world.keyed.watch(world.birth());
    let (query, at) = (1 << row, world.invoke(READER));
    let (valid_from, deps, content) = (None, None, None);
    let mut miss = Miss { client: READER, query, at, valid_from, deps, content, delivered: false };
    while !world.advance(&mut miss)? {}
    while world.applying != Applying::Nothing {
        world.apply();
    }
    world.server.commit(version);
    world.ask(query, READER)?;
    Ok(world.summary)
}

impl World {
    fn new(seed: u64, broken: Broken, with_transactions: bool) -> Self {
        let mut random = Random::new(seed);
        let (bucket_bits, tag_bits) = (random.below(3) as u32, 2 + random.below(6) as u32);
        let freshness = Arc::new(Freshness::with_row_bits(seed, bucket_bits, tag_bits));
        let deps: [TableDeps; OBJECTS] =
            std::array::from_fn(|object| freshness.table("s", &object.to_string()));
        let size = 4096 << random.below(4);
        Self {
            broken,
            outsiders: random.one_in(2),
            unlogged: !seed.is_multiple_of(2),
            with_transactions,
            ordered: !random.one_in(3),
            cache: Cache::with_hash_seed(Arc::clone(&freshness), size, size, seed),
            keyed: Keyed::new(deps[KEYED]),
            deps,
            freshness,
            rates: Rates::new(&mut random),
            random,
            server: Server::new(),
            oracle: Oracle::default(),
            now_ms: 1,
            proven_until_ms: 0,
            connected: false,
            generation: 0,
            received: 0,
            applied: 0,
            published: 0,
            applying: Applying::Nothing,
            to_stamp: Vec::new(),
            too_late: Vec::new(),
            is_stalled: false,
            everything_before: None,
            shown: [0; CLIENTS],
            probe: None,
            writers: Vec::new(),
            to_settle: Vec::new(),
            timeline: Timeline::default(),
            misses: Vec::new(),
            checks: Vec::new(),
            stored: HashMap::new(),
            transactions: Vec::new(),
            ends: Vec::new(),
            catalog: None,
            summary: Summary::default(),
        }
    }

    fn step(&mut self) -> Result<(), String> {
        if self.with_transactions && self.random.one_in(2) {
            return self.step_of_transactions();
        }
        match self.random.below(100) {
            0..2 if self.random.one_in(self.rates.writes_one_in) => self.begin_write(),
            0..2 => self.begin_check(),
            2..6 => self.log_write(),
            6..10 => self.make_visible(),
            10..15 => self.acknowledge(),
            15..19 => self.settle(),
            19..24 => self.receive(),
            24..32 => self.apply(),
            32..38 => self.probe(),
            38..54 => return self.read(),
            54..74 => return self.advance_miss(),
            74..96 => return self.advance_check(),
            96 if self.random.one_in(2) => self.keyed.watch(self.birth()),
            96 => self.pass_time(),
            97 => self.hear(),
            98 => drop(self.cache.sweep(10, 0)),
            _ if self.random.one_in(self.rates.restarts_one_in) => self.break_or_mend(),
            _ => self.begin_check(),
        }
        Ok(())
    }

    /// Returns the position of a transaction that the stream has not passed, or passes now.
    fn position(&self, version: Version) -> Position {
        self.stepped(self.server.logged_up_to(version))
    }

    fn stepped(&self, logged: u64) -> Position {
        Position::new((self.generation << GENERATION_SHIFT) + logged + self.timeline.steps)
    }

    /// Returns the position of a transaction that the server tells of, or an earlier position.
    fn locate(&mut self, version: Version) -> Position {
        let logged = self.server.logged_up_to(version);
        let before = if logged < self.timeline.stepped_at { self.timeline.steps } else { 0 };
        let at = Position::new(self.stepped(logged).get() - before);
        self.timeline.located = self.timeline.located.max(at);
        at
    }

    fn key(query: &[u8; 4]) -> Key<'_> {
        Key { environment: 0, text: query }
    }

    fn pick_client(&mut self) -> Client {
        self.random.below(CLIENTS as u64) as Client
    }

    /// Returns the applier's position, wherever it is within a transaction, so that everything later is stamped for a new watch.
    fn birth(&self) -> Position {
        if self.broken == Broken::BornAtApplied {
            self.freshness.applied()
        } else {
            self.position(self.applied)
        }
    }

    // Writers.

    /// Returns the dependencies that a change of this object stamps, and a write to it fences.
    fn touched(&mut self, object: usize) -> Vec<Dep> {
        match object {
            VIEW => vec![self.deps[object].definition],
            KEYED | ALTER | FIRST_ROW.. => self.keyed.touched(&self.freshness, object, &mut self.random),
            _ => vec![self.deps[object].rows],
        }
    }

    /// Leaves out the dependency of every result that rests on single rows, if that rule is broken.
    fn forget_any(&self, deps: &mut Vec<Dep>, broken: Broken) {
        if self.broken == broken {
            deps.retain(|dep| !self.keyed.is_any(&self.freshness, *dep));
        }
    }

    fn pick_objects(&mut self) -> Vec<usize> {
        let count = 1 + self.random.below(3);
        let is_of_rows = self.random.below(100) < self.rates.rows;
        let mut objects: Vec<usize> = match self.random.below(8) {
            _ if self.random.one_in(self.rates.alters_one_in) => vec![ALTER],
            0 if is_of_rows => vec![0, self.pick_row()],
            _ if is_of_rows => (0..count).map(|_| self.pick_row()).collect(),
            0 => vec![VIEW],
            _ => (0..2).map(|_| self.random.below(TABLES as u64) as usize).collect(),
        };
        objects.sort_unstable();
        objects.dedup();
        objects
    }

    fn pick_row(&mut self) -> usize {
        FIRST_ROW + self.random.below(ROWS as u64) as usize
    }

    fn begin_write(&mut self) {
        let wanted = self.pick_objects();
        let is_free = wanted.iter().all(|object| !self.server.locked[*object]);
        if self.writers.len() == WRITERS_MAX || !is_free {
            return;
        }
        // What the promises do not cover: see `freshness`, "What it does not cover".
        let through_us = !self.outsiders || wanted == [VIEW] || self.random.one_in(2);
        let fence = through_us.then(|| self.raise(&wanted, Broken::FenceAfterSend)).flatten();
        wanted.iter().for_each(|object| self.server.locked[*object] = true);
        let client = self.pick_client();
        let unlogged = self.unlogged && through_us && self.random.one_in(3);
        self.writers.push(Writer {
            client,
            objects: wanted,
            through_us,
            unlogged,
            fence,
            stage: Stage::Sent,
        });
    }

    /// Raises a fence. It holds the ticket under which its dependencies were decided.
    fn raise(&mut self, objects: &[usize], unless: Broken) -> Option<Fence> {
        if self.broken == Broken::NoFence || self.broken == unless {
            return None;
        }
        let ticket = self.keyed.ticket();
        let mut deps: Vec<Dep> = objects.iter().flat_map(|object| self.touched(*object)).collect();
        self.forget_any(&mut deps, Broken::AnyUnfenced);
        Some(self.freshness.fence(deps).holding(ticket))
    }

    fn pick_writer(&mut self, wanted: fn(Stage) -> bool) -> Option<usize> {
        let picked: Vec<usize> =
            (0..self.writers.len()).filter(|at| wanted(self.writers[*at].stage)).collect();
        self.random.pick(&picked)
    }

    /// Logs a transaction, or rolls it back.
    fn log_write(&mut self) {
        let Some(at) = self.pick_writer(|stage| stage == Stage::Sent) else { return };
        if self.random.one_in(10) {
            let writer = self.writers.remove(at);
            writer.objects.iter().for_each(|object| self.server.locked[*object] = false);
            return;
        }
        let writer = &mut self.writers[at];
        writer.stage =
            Stage::Logged(self.server.flush(writer.objects.clone(), writer.through_us, writer.unlogged));
    }

    fn make_visible(&mut self) {
        let picked = self.pick_writer(|stage| matches!(stage, Stage::Logged(_)));
        let Some(writer) = picked.and_then(|at| self.writers.get_mut(at)) else { return };
        if let Stage::Logged(version) = writer.stage
            && (!self.ordered || version == self.server.visible_prefix() + 1)
        {
            writer.stage = Stage::Visible(version, self.server.commit(version));
            self.summary.commits += 1;
        }
    }

    fn acknowledge(&mut self) {
        let Some(at) = self.pick_writer(|stage| matches!(stage, Stage::Visible(..))) else { return };
        let mut writer = self.writers.remove(at);
        let Stage::Visible(version, state) = writer.stage else { return };
        if !writer.through_us {
            return;
        }
        if self.broken == Broken::FenceAfterSend {
            writer.fence = self.raise(&writer.objects, Broken::NoFence);
        }
        self.oracle.acknowledged(writer.client, state);
        self.answered(writer.client);
        if writer.unlogged {
            self.stamp_unlogged(&writer.objects, writer.fence.as_ref());
        } else if self.broken != Broken::FenceLiftedAtOk {
            let at = self.locate(version);
            self.to_settle.extend(writer.fence.map(|fence| (fence, at)));
        }
    }

    /// Stamps an unlogged write, also where it was fenced: a watch that it knew may be forgotten, and results that rest on the watch may
    /// live.
    fn stamp_unlogged(&mut self, objects: &[usize], fence: Option<&Fence>) {
        let mut deps: Vec<Dep> = objects.iter().flat_map(|object| self.touched(*object)).collect();
        deps.extend(fence.iter().flat_map(|fence| fence.deps()));
        self.forget_any(&mut deps, Broken::AnyUnstamped);
        if self.broken == Broken::UnloggedUnstamped {
            deps.clear();
        }
        self.freshness.stamp_unlogged(&deps);
        if objects.contains(&ALTER) {
            self.keyed.forget();
        }
    }

    /// Notes that the server has answered this client: everything that the client was shown is under one of these fences, or applied.
    fn answered(&mut self, client: Client) {
        self.shown[client] = self.freshness.fences_raised();
    }

    fn settle(&mut self) {
        let applied = self.freshness.applied();
        self.to_settle.retain(|(_, at)| *at > applied);
    }

    // The stream and the probe.

    fn receive(&mut self) {
        let is_more = self.connected && self.received < self.server.log.len() as Version;
        self.received += Version::from(is_more);
    }

    /// Begins a transaction, looks what is to be stamped, sets one stamp, or publishes `applied`.
    fn apply(&mut self) {
        if self.broken == Broken::StepWithinTransaction && self.make_step() {
            return;
        }
        if let Some(dep) = self.to_stamp.pop() {
            self.freshness.stamp(dep, self.position(self.applied));
            return;
        }
        match self.applying {
            Applying::Nothing if self.applied < self.received && !self.is_stalled => {
                self.applied += 1;
                if !self.server.log[self.applied as usize - 1].unlogged {
                    self.applying = Applying::Begun;
                }
            }
            Applying::Nothing => drop(self.make_step()),
            Applying::Begun => self.begin_stamping(),
            Applying::Stamping => {
                self.applying = Applying::Nothing;
                self.published = self.applied;
                let at = self.position(self.applied);
                self.freshness.publish_applied(at);
                let is_own = self.server.log[self.applied as usize - 1].through_us;
                self.freshness.publish_owners(at, if is_own { Position::ZERO } else { at });
                std::mem::swap(&mut self.to_stamp, &mut self.too_late);
            }
        }
    }

    /// Publishes the position of unlogged changes, if the stream does not pass it by itself.
    fn make_step(&mut self) -> bool {
        let here = self.position(self.applied);
        let is_ahead = self.timeline.located > here && self.broken != Broken::StepPastLocated;
        if self.freshness.applied() >= self.freshness.unlogged() || is_ahead || !self.connected {
            return false;
        }
        self.timeline.steps += 1;
        self.timeline.stepped_at = self.server.logged_up_to(self.applied);
        self.summary.steps += 1;
        let at = self.position(self.applied);
        self.freshness.publish_applied(at);
        self.freshness.publish_owners(at, Position::ZERO);
        let ended = self.position(self.published).get() - 1;
        if self.freshness.visible().get() >= ended || self.broken == Broken::StepBeforeVisible {
            self.freshness.publish_visible(at);
        }
        true
    }

    fn begin_stamping(&mut self) {
        let objects = self.server.log[self.applied as usize - 1].objects.clone();
        let mut to_stamp: Vec<Dep> = objects.iter().flat_map(|object| self.touched(*object)).collect();
        self.forget_any(&mut to_stamp, Broken::AnyUnstamped);
        self.to_stamp = to_stamp;
        if objects.contains(&VIEW) && self.broken == Broken::CatalogUntilTold {
            self.catalog = None;
        }
        if objects.contains(&ALTER) {
            // The definition's stamp removes the results that rest on the watches.
            self.keyed.forget();
        }
        self.applying = Applying::Stamping;
        if self.broken == Broken::SlotsAfterApplied {
            (self.too_late, self.to_stamp) = self.to_stamp.iter().partition(|dep| is_row(**dep));
        } else if self.broken == Broken::StampAfterApplied {
            self.too_late = std::mem::take(&mut self.to_stamp);
        }
    }

    fn probe(&mut self) {
        match self.probe.take() {
            None => self.probe = Some(self.server.visible_prefix()),
            Some(answer) => {
                let at = self.locate(answer);
                self.freshness.publish_visible(at);
            }
        }
    }

    fn pass_time(&mut self) {
        self.everything_before = None;
        self.is_stalled = self.random.one_in(self.rates.stalls_one_in);
        self.now_ms += self.random.below(12);
    }

    fn hear(&mut self) {
        if self.connected {
            self.proven_until_ms = self.now_ms + HEARTBEAT_GOOD_MS;
            self.freshness.lives_until(self.proven_until_ms);
        }
    }

    /// Breaks the stream, or begins the next generation where the log ends now.
    fn break_or_mend(&mut self) {
        self.connected = !self.connected;
        if !self.connected {
            self.proven_until_ms = 0;
            self.freshness.lives_until(0);
            if self.random.one_in(2) {
                return;
            }
            self.connected = true;
        }
        self.generation += 1;
        self.summary.restarts += 1;
        self.received = self.server.log.len() as Version;
        self.applied = self.received;
        self.published = self.applied;
        self.timeline = Timeline::default();
        self.ends.clear();
        (self.to_stamp, self.too_late, self.applying) = (Vec::new(), Vec::new(), Applying::Nothing);
        self.keyed.forget();
        let begin = self.position(self.applied);
        if self.broken == Broken::EverythingLate {
            self.everything_before = Some(self.freshness.stamp_of(Dep::EVERYTHING));
        }
        if self.broken == Broken::RestartWithoutStamp {
            self.freshness.publish_applied(begin);
        } else {
            self.freshness.restart(begin);
        }
        self.freshness.publish_owners(begin, begin);
        self.hear();
    }

    // Readers.

    fn pick_query(&mut self) -> u32 {
        if self.random.below(100) < self.rates.rows {
            let (one, other) = (self.pick_row(), self.pick_row());
            let beside = [0, 0, 1 << other, 0b1][self.random.below(4) as usize];
            // Some rows are asked for more often, so that there are hits.
            return 1 << (FIRST_ROW + (one - FIRST_ROW) % 4) | beside;
        }
        let masks = [0b1, 0b10, 0b100, 0b11, 0b1100, 1 << VIEW, 1 << VIEW | 0b100, 0b1111];
        masks[self.random.below(masks.len() as u64) as usize]
    }

    fn read(&mut self) -> Result<(), String> {
        let (query, client) = (self.pick_query(), self.pick_client());
        self.ask(query, client)
    }

    fn ask(&mut self, query: u32, client: Client) -> Result<(), String> {
        let at = self.invoke(client);
        let now_ms = if self.broken == Broken::LivenessIgnored { 0 } else { self.now_ms };
        let fences = if self.ignores_fences(client) { Fences::Ignore } else { Fences::Refuse };
        let found = self.cache.get(Self::key(&query.to_le_bytes()), now_ms, fences, |entry| {
            (decode(&entry.body.to_vec()), entry.fences_raised)
        });
        match found {
            Lookup::Hit((content, fences_raised)) => {
                self.summary.hits += 1;
                return self.hit((client, at), &content, fences_raised);
            }
            Lookup::Fenced => self.summary.refused_by_fence += 1,
            Lookup::Stale { .. } => self.summary.refused_by_stamp += 1,
            Lookup::Miss | Lookup::Due | Lookup::NotLive => {}
            Lookup::Declined | Lookup::Unsettled | Lookup::Moved => {}
        }
        if self.misses.len() < READERS_MAX {
            let (valid_from, deps, content) = (None, None, None);
            self.misses.push(Miss { client, query, at, valid_from, deps, content, delivered: false });
        }
        Ok(())
    }

    fn invoke(&self, client: Client) -> Invocation {
        self.oracle.invoke(client, self.published)
    }

    fn ignores_fences(&self, client: Client) -> bool {
        let is_applied = self.freshness.oldest_fence() > self.shown[client];
        is_own_only(client) && (is_applied || self.broken == Broken::FencesIgnored)
    }

    /// A hit shows its client everything that its fill was shown.
    fn shown_by_hit(&mut self, client: Client, fences_raised: u64) {
        if self.broken != Broken::ShownByHitsIgnored {
            self.shown[client] = self.shown[client].max(fences_raised);
        }
    }

    fn hit(&mut self, to: (Client, Invocation), content: &Content, fences_raised: u64) -> Result<(), String> {
        if self.now_ms >= self.proven_until_ms {
            return Err("a hit while the stream was not proven live".to_owned());
        }
        self.shown_by_hit(to.0, fences_raised);
        self.oracle.delivered(&self.server, to, content, true)
    }

    fn advance_miss(&mut self) -> Result<(), String> {
        if self.misses.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.misses.len() as u64) as usize;
        let mut miss = self.misses.swap_remove(at);
        let is_done = self.advance(&mut miss)?;
        if !is_done {
            self.misses.push(miss);
        }
        Ok(())
    }

    /// Does one part of a miss: first `valid_from`, then the dependencies, then the snapshot; then the insert and the delivery in any
    /// order.
    fn advance(&mut self, miss: &mut Miss) -> Result<bool, String> {
        let late = self.broken == Broken::ValidFromLate && miss.content.is_none();
        let deps_first = self.broken == Broken::DependenciesFirst && miss.deps.is_none();
        if miss.valid_from.is_none() && !late && !deps_first {
            miss.valid_from = Some(self.valid_from());
        } else if miss.deps.is_none() {
            miss.deps = Some(self.resolve(miss.query, miss.valid_from));
        } else if miss.content.is_some() {
            if miss.delivered || self.random.one_in(2) {
                self.store(miss);
                return self.deliver(miss).map(|()| true);
            }
            self.deliver(miss)?;
        } else {
            miss.content = Some(self.server.answer(miss.query));
            self.summary.forwarded += 1;
        }
        Ok(false)
    }

    fn deliver(&mut self, miss: &mut Miss) -> Result<(), String> {
        let Some(content) = miss.content.as_ref().filter(|_| !miss.delivered) else { return Ok(()) };
        miss.delivered = true;
        self.answered(miss.client);
        self.oracle.delivered(&self.server, (miss.client, miss.at), content, false)
    }

    fn valid_from(&self) -> Position {
        match self.broken {
            Broken::ValidFromReceived => self.position(self.received),
            Broken::ValidFromApplied => self.freshness.applied(),
            Broken::ValidFromVisible => self.freshness.visible(),
            _ => self.freshness.valid_from(),
        }
    }

    fn resolve(&mut self, query: u32, valid_from: Option<Position>) -> Vec<Dep> {
        let valid_from = valid_from.unwrap_or_else(|| self.freshness.valid_from());
        let settled_or = self.broken == Broken::WatchBeforeSettled;
        let born_or = self.broken == Broken::BornIgnored;
        let is_usable =
            |watch: &Watch| (watch.is_settled() || settled_or) && (watch.is_born(valid_from) || born_or);
        let mut deps = Vec::new();
        for object in (0..OBJECTS).filter(|object| query & (1 << object) != 0) {
            if object >= FIRST_ROW {
                deps.extend(self.keyed.read(&self.freshness, object, is_usable));
                continue;
            }
            deps.extend([self.deps[object].definition, self.deps[object].rows]);
            if object == VIEW {
                let target = Server::view_target(self.view_version());
                deps.extend([self.deps[target].definition, self.deps[target].rows]);
            }
        }
        deps
    }

    /// Returns the catalog's version of the view. The catalog's knowledge obeys the one rule too.
    fn view_version(&mut self) -> Version {
        let stamps = [Dep::EVERYTHING, self.deps[VIEW].definition].map(|dep| self.freshness.stamp_of(dep));
        let stamp = stamps[0].max(stamps[1]);
        let until_told = self.broken == Broken::CatalogUntilTold;
        match &self.catalog {
            Some(remembered) if until_told || stamp <= remembered.valid_from => remembered.version,
            _ => {
                let valid_from = self.freshness.valid_from();
                let version = self.server.version_of(VIEW);
                self.catalog = Some(Remembered { version, valid_from });
                version
            }
        }
    }

    fn store(&mut self, miss: &Miss) {
        let (Some(valid_from), Some(deps), Some(content)) = (miss.valid_from, &miss.deps, &miss.content)
        else {
            return;
        };
        let fill = Fill {
            valid_from,
            deps: deps.clone(),
            body: encode(content),
            status_at: [u32::MAX; 2],
            status: 0,
            tag: 0,
            expires_ms: 0,
            refresh_ms: 0,
            text_prefix: 0,
            body_prefix: 0,
            rows: 1,
            cost_us: self.random.below(1000) as u32,
        };
        if self.cache.insert(Self::key(&miss.query.to_le_bytes()), fill) == Insert::Stored {
            let fences_raised = self.freshness.fences_raised();
            let ends_asked = self.freshness.ends_asked();
            let (deps, content) = (deps.clone(), content.clone());
            let stored = Stored { valid_from, deps, content, fences_raised, ends_asked };
            self.stored.insert(miss.query, stored);
        }
    }

    // The check of the cache, load by load, so that others come in between.

    fn begin_check(&mut self) {
        let (query, client) = (self.pick_query(), self.pick_client());
        let Some(stored) = self.stored.get(&query).filter(|_| self.freshness.is_live(self.now_ms)) else {
            return;
        };
        let deps: Vec<Dep> = std::iter::once(Dep::EVERYTHING).chain(stored.deps.iter().copied()).collect();
        let (fences, stamps) = (deps.iter().copied().map(Load::Fence), deps.iter().copied().map(Load::Stamp));
        let both = || fences.clone().zip(stamps.clone());
        let mut loads: Vec<Load> = match self.broken {
            Broken::StampBeforeFence => both().flat_map(|(fence, stamp)| [stamp, fence]).collect(),
            Broken::StampsBetweenFences => both().flat_map(|(fence, stamp)| [fence, stamp]).collect(),
            _ => fences.chain(stamps).collect(),
        };
        let oldest_at = if self.broken == Broken::OldestFenceLate { loads.len() } else { 0 };
        loads.insert(oldest_at, Load::Oldest);
        loads.reverse();
        let (stored, at) = (stored.clone(), self.invoke(client));
        let ignores = self.broken == Broken::OldestFenceLate && is_own_only(client);
        self.checks.push(Check { client, at, stored, loads, ignores, was_fenced: false });
    }

    fn advance_check(&mut self) -> Result<(), String> {
        if self.checks.len() < CHECKS {
            self.begin_check();
            return Ok(());
        }
        let index = self.random.below(self.checks.len() as u64) as usize;
        let Some(load) = self.checks[index].loads.pop() else { return self.end_check(index) };
        let is_refused = match load {
            Load::Oldest => self.load_oldest(index),
            Load::Stamp(dep) => self.stamp_of(dep) > self.checks[index].stored.valid_from,
            Load::Fence(dep) => {
                let (is_fenced, check) = (self.freshness.is_fenced(dep), &mut self.checks[index]);
                check.was_fenced |= is_fenced;
                is_fenced && !check.ignores
            }
        };
        if is_refused {
            self.checks.swap_remove(index);
        }
        Ok(())
    }

    /// Loads the oldest fence when the check begins. A client waits for one answer after the other, so what it was shown does not change
    /// meanwhile.
    fn load_oldest(&mut self, index: usize) -> bool {
        let ignores = self.ignores_fences(self.checks[index].client);
        let check = &mut self.checks[index];
        let must_ignore = check.ignores && check.was_fenced;
        check.ignores = ignores;
        must_ignore && !ignores
    }

    fn stamp_of(&self, dep: Dep) -> Position {
        match self.everything_before {
            Some(before) if dep == Dep::EVERYTHING => before,
            _ => self.freshness.stamp_of(dep),
        }
    }

    fn end_check(&mut self, index: usize) -> Result<(), String> {
        let Check { client, at, stored, was_fenced, .. } = self.checks.swap_remove(index);
        self.summary.stepwise_hits += 1;
        self.summary.row_hits += u64::from(stored.deps.iter().any(|dep| is_row(*dep)));
        self.summary.fenced_hits += u64::from(was_fenced);
        self.shown_by_hit(client, stored.fences_raised);
        self.oracle.delivered(&self.server, (client, at), &stored.content, true)
    }
}

fn is_row(dep: Dep) -> bool {
    dep.index() >> 31 == 1
}

fn encode(content: &Content) -> Vec<u8> {
    content
        .iter()
        .flat_map(|(object, version)| [&[*object as u8][..], &version.to_le_bytes()].concat())
        .collect()
}

fn decode(body: &[u8]) -> Content {
    let version = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | Version::from(*byte));
    body.chunks(9).map(|part| (usize::from(part[0]), version(&part[1..]))).collect()
}
