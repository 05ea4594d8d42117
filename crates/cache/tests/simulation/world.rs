//! The world around the cache: writers, the stream, the probe, readers, in an order that a seed decides.
//!
//! Each step does one thing that a thread or a machine could do between any two things of others. The same seed gives
//! the same run. [`Broken`] breaks one rule of the protocol at a time; the oracle must notice each.

use super::oracle::{Invocation, Oracle};
use super::random::Random;
use super::server::{Content, OBJECTS, Server, TABLES, VIEW, Version};
use freshet_cache::{Cache, Dep, Fence, Fences, Fill, Freshness, Insert, Key, Lookup, Position, TableDeps};
use std::collections::HashMap;
use std::sync::Arc;

/// One rule that is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    Nothing,
    /// `valid_from` is what was received from the stream.
    ValidFromReceived,
    /// `valid_from` is what was applied, visible or not.
    ValidFromApplied,
    /// `valid_from` is what is visible, applied or not.
    ValidFromVisible,
    /// The answer is asked for before `valid_from` is read.
    ValidFromLate,
    /// Dependencies are resolved before `valid_from` is read.
    DependenciesFirst,
    /// The catalog uses what it remembers until it is told of a change.
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
}

pub const ALL_BROKEN: [Broken; 14] = [
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

/// What a run has done; a run that does not hit proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub hits: u64,
    pub stepwise_hits: u64,
    pub forwarded: u64,
    pub commits: u64,
    pub restarts: u64,
    pub refused_by_fence: u64,
    pub refused_by_stamp: u64,
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
    objects: Vec<usize>,
    through_us: bool,
    fence: Option<Fence>,
    stage: Stage,
}

/// A miss on its way. Each of its parts is done in a step of its own.
struct Miss {
    query: u32,
    at: Invocation,
    valid_from: Option<Position>,
    deps: Option<Vec<Dep>>,
    content: Option<Content>,
    delivered: bool,
}

/// A check that is done one load at a time.
struct Check {
    at: Invocation,
    stored: Stored,
    loads: Vec<(Dep, bool)>,
}

#[derive(Clone)]
struct Stored {
    valid_from: Position,
    deps: Vec<Dep>,
    content: Content,
}

struct Remembered {
    version: Version,
    valid_from: Position,
}

pub struct World {
    broken: Broken,
    outsiders: bool,
    /// Whether commits become visible in the order of the log (`binlog_order_commits`).
    ordered: bool,
    random: Random,
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
    to_stamp: Vec<Dep>,
    applying: bool,
    probe: Option<Version>,
    writers: Vec<Writer>,
    to_settle: Vec<(Fence, Version)>,
    misses: Vec<Miss>,
    checks: Vec<Check>,
    stored: HashMap<u32, Stored>,
    catalog: Option<Remembered>,
    summary: Summary,
}

/// Runs `steps` steps. `Err` says what was promised and not kept, and when.
pub fn run(seed: u64, steps: u64, broken: Broken) -> Result<Summary, String> {
    let mut world = World::new(seed, broken);
    for step in 0..steps {
        world.step().map_err(|what| format!("seed {seed}, step {step}: {what}"))?;
    }
    Ok(world.summary)
}

impl World {
    fn new(seed: u64, broken: Broken) -> Self {
        let mut random = Random::new(seed);
        let freshness = Arc::new(Freshness::with_hash_seed(seed));
        let size = 4096 << random.below(4);
        Self {
            broken,
            outsiders: random.one_in(2),
            ordered: !random.one_in(3),
            cache: Cache::with_hash_seed(Arc::clone(&freshness), size, size, seed),
            deps: std::array::from_fn(|object| freshness.table("s", &object.to_string())),
            freshness,
            random,
            server: Server::new(),
            oracle: Oracle::default(),
            now_ms: 1,
            proven_until_ms: 0,
            connected: false,
            generation: 0,
            received: 0,
            applied: 0,
            to_stamp: Vec::new(),
            applying: false,
            probe: None,
            writers: Vec::new(),
            to_settle: Vec::new(),
            misses: Vec::new(),
            checks: Vec::new(),
            stored: HashMap::new(),
            catalog: None,
            summary: Summary::default(),
        }
    }

    fn step(&mut self) -> Result<(), String> {
        match self.random.below(100) {
            0..2 => self.begin_write(),
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
            96 => self.pass_time(),
            97 => self.hear(),
            98 => drop(self.cache.sweep(10)),
            _ if self.random.one_in(10) => self.break_or_mend(),
            _ => self.begin_check(),
        }
        Ok(())
    }

    fn position(&self, version: Version) -> Position {
        Position::new((self.generation << GENERATION_SHIFT) + version)
    }

    fn key(query: &[u8; 4]) -> Key<'_> {
        Key { environment: 0, text: query }
    }

    fn invoke(&self) -> Invocation {
        let applied = self.freshness.applied().get() & ((1 << GENERATION_SHIFT) - 1);
        self.oracle.invoke(applied)
    }

    // Writers.

    /// What a change of this stamps, and a write to it fences.
    fn dep_of(&self, object: usize) -> Dep {
        if object == VIEW { self.deps[object].definition } else { self.deps[object].rows }
    }

    fn begin_write(&mut self) {
        let wanted = if self.random.one_in(8) {
            vec![VIEW]
        } else {
            let first = self.random.below(TABLES as u64) as usize;
            let mut both = vec![first, self.random.below(TABLES as u64) as usize];
            both.dedup();
            both
        };
        let is_free = wanted.iter().all(|object| !self.server.locked[*object]);
        if self.writers.len() == WRITERS_MAX || !is_free {
            return;
        }
        // What the promises do not cover: see `freshness`, "What it does not cover".
        let through_us = !self.outsiders || wanted == [VIEW] || self.random.one_in(2);
        let fence = through_us.then(|| self.raise(&wanted, Broken::FenceAfterSend)).flatten();
        wanted.iter().for_each(|object| self.server.locked[*object] = true);
        self.writers.push(Writer { objects: wanted, through_us, fence, stage: Stage::Sent });
    }

    fn raise(&self, objects: &[usize], unless: Broken) -> Option<Fence> {
        let deps: Vec<Dep> = objects.iter().map(|object| self.dep_of(*object)).collect();
        let is_raised = self.broken != Broken::NoFence && self.broken != unless;
        is_raised.then(|| self.freshness.fence(deps))
    }

    fn pick_writer(&mut self, wanted: fn(Stage) -> bool) -> Option<usize> {
        let picked: Vec<usize> =
            (0..self.writers.len()).filter(|at| wanted(self.writers[*at].stage)).collect();
        self.random.pick(&picked)
    }

    /// The transaction is logged, or rolled back.
    fn log_write(&mut self) {
        let Some(at) = self.pick_writer(|stage| stage == Stage::Sent) else { return };
        if self.random.one_in(10) {
            let writer = self.writers.remove(at);
            writer.objects.iter().for_each(|object| self.server.locked[*object] = false);
            return;
        }
        let writer = &mut self.writers[at];
        writer.stage = Stage::Logged(self.server.flush(writer.objects.clone(), writer.through_us));
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
        self.oracle.acknowledged(state);
        if self.broken != Broken::FenceLiftedAtOk {
            self.to_settle.extend(writer.fence.map(|fence| (fence, version)));
        }
    }

    fn settle(&mut self) {
        let applied = self.invoke().applied;
        self.to_settle.retain(|(_, version)| *version > applied);
    }

    // The stream and the probe.

    fn receive(&mut self) {
        let is_more = self.connected && self.received < self.server.log.len() as Version;
        self.received += Version::from(is_more);
    }

    /// One stamp, or the publication of `applied`.
    fn apply(&mut self) {
        if let Some(dep) = self.to_stamp.pop() {
            self.freshness.stamp(dep, self.position(self.applied));
            return;
        }
        if self.applying {
            self.applying = false;
            self.freshness.publish_applied(self.position(self.applied));
        } else if self.applied < self.received {
            let objects = &self.server.log[self.applied as usize].objects;
            self.to_stamp = objects.iter().map(|object| self.dep_of(*object)).collect();
            self.applied += 1;
            if objects.contains(&VIEW) && self.broken == Broken::CatalogUntilTold {
                self.catalog = None;
            }
            self.applying = self.broken != Broken::StampAfterApplied;
            if !self.applying {
                self.freshness.publish_applied(self.position(self.applied));
            }
        }
    }

    fn probe(&mut self) {
        match self.probe.take() {
            None => self.probe = Some(self.server.visible_prefix()),
            Some(answer) => self.freshness.publish_visible(self.position(answer)),
        }
    }

    fn pass_time(&mut self) {
        self.now_ms += self.random.below(12);
    }

    fn hear(&mut self) {
        if self.connected {
            self.proven_until_ms = self.now_ms + HEARTBEAT_GOOD_MS;
            self.freshness.lives_until(self.proven_until_ms);
        }
    }

    /// The stream breaks, or the next generation begins where the log ends now.
    fn break_or_mend(&mut self) {
        self.connected = !self.connected;
        if !self.connected {
            self.proven_until_ms = 0;
            self.freshness.lives_until(0);
            return;
        }
        self.generation += 1;
        self.summary.restarts += 1;
        self.received = self.server.log.len() as Version;
        self.applied = self.received;
        (self.to_stamp, self.applying) = (Vec::new(), false);
        let begin = self.position(self.applied);
        if self.broken != Broken::RestartWithoutStamp {
            self.freshness.stamp(Dep::EVERYTHING, begin);
        }
        self.freshness.publish_applied(begin);
        self.hear();
    }

    // Readers.

    fn pick_query(&mut self) -> u32 {
        let masks = [0b1, 0b10, 0b100, 0b11, 0b1100, 1 << VIEW, 1 << VIEW | 0b100, 0b1111];
        masks[self.random.below(masks.len() as u64) as usize]
    }

    fn read(&mut self) -> Result<(), String> {
        let query = self.pick_query();
        let at = self.invoke();
        let now_ms = if self.broken == Broken::LivenessIgnored { 0 } else { self.now_ms };
        match self.cache.get(Self::key(&query.to_le_bytes()), now_ms, Fences::Refuse, |entry| {
            decode(&entry.body.to_vec())
        }) {
            Lookup::Hit(content) => {
                self.summary.hits += 1;
                return self.hit(at, &content);
            }
            Lookup::Fenced => self.summary.refused_by_fence += 1,
            Lookup::Stale { .. } => self.summary.refused_by_stamp += 1,
            Lookup::Miss | Lookup::NotLive => {}
        }
        if self.misses.len() < READERS_MAX {
            let miss = Miss { query, at, valid_from: None, deps: None, content: None, delivered: false };
            self.misses.push(miss);
        }
        Ok(())
    }

    fn hit(&mut self, at: Invocation, content: &Content) -> Result<(), String> {
        if self.now_ms >= self.proven_until_ms {
            return Err("a hit while the stream was not proven live".to_owned());
        }
        self.oracle.delivered(&self.server, at, content, true)
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

    /// First `valid_from`, then the dependencies, then the snapshot; then the insert and the delivery in any order.
    fn advance(&mut self, miss: &mut Miss) -> Result<bool, String> {
        let late = self.broken == Broken::ValidFromLate && miss.content.is_none();
        let deps_first = self.broken == Broken::DependenciesFirst && miss.deps.is_none();
        if miss.valid_from.is_none() && !late && !deps_first {
            miss.valid_from = Some(self.valid_from());
        } else if miss.deps.is_none() {
            miss.deps = Some(self.resolve(miss.query));
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
        self.oracle.delivered(&self.server, miss.at, content, false)
    }

    fn valid_from(&self) -> Position {
        match self.broken {
            Broken::ValidFromReceived => self.position(self.received),
            Broken::ValidFromApplied => self.freshness.applied(),
            Broken::ValidFromVisible => self.freshness.visible(),
            _ => self.freshness.valid_from(),
        }
    }

    fn resolve(&mut self, query: u32) -> Vec<Dep> {
        let mut deps = Vec::new();
        for object in (0..OBJECTS).filter(|object| query & (1 << object) != 0) {
            deps.extend([self.deps[object].definition, self.deps[object].rows]);
            if object == VIEW {
                let target = Server::view_target(self.view_version());
                deps.extend([self.deps[target].definition, self.deps[target].rows]);
            }
        }
        deps
    }

    /// What the catalog remembers obeys the one rule too.
    fn view_version(&mut self) -> Version {
        let stamp = self.freshness.newest_stamp(&[self.deps[VIEW].definition]);
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
            rows: 1,
            cost_us: self.random.below(1000) as u32,
        };
        if self.cache.insert(Self::key(&miss.query.to_le_bytes()), fill) == Insert::Stored {
            let stored = Stored { valid_from, deps: deps.clone(), content: content.clone() };
            self.stored.insert(miss.query, stored);
        }
    }

    // The check of the cache, load by load, so that others come in between.

    fn begin_check(&mut self) {
        let query = self.pick_query();
        let Some(stored) = self.stored.get(&query).filter(|_| self.freshness.is_live(self.now_ms)) else {
            return;
        };
        let all = || std::iter::once(Dep::EVERYTHING).chain(stored.deps.iter().copied());
        let mut loads: Vec<(Dep, bool)> = match self.broken {
            Broken::StampBeforeFence => all().flat_map(|dep| [(dep, true), (dep, false)]).collect(),
            Broken::StampsBetweenFences => all().flat_map(|dep| [(dep, false), (dep, true)]).collect(),
            _ => all().map(|dep| (dep, false)).chain(all().map(|dep| (dep, true))).collect(),
        };
        loads.reverse();
        let stored = stored.clone();
        self.checks.push(Check { at: self.invoke(), stored, loads });
    }

    fn advance_check(&mut self) -> Result<(), String> {
        if self.checks.len() < CHECKS {
            self.begin_check();
            return Ok(());
        }
        let index = self.random.below(self.checks.len() as u64) as usize;
        let check = &mut self.checks[index];
        // The pair is (dependency, is this the load of the stamp).
        let refused = match check.loads.pop() {
            Some((dep, true)) => self.freshness.stamp_of(dep) > check.stored.valid_from,
            Some((dep, false)) => self.freshness.is_fenced(dep),
            None => return self.end_check(index),
        };
        if refused {
            self.checks.swap_remove(index);
        }
        Ok(())
    }

    fn end_check(&mut self, index: usize) -> Result<(), String> {
        let check = self.checks.swap_remove(index);
        self.summary.stepwise_hits += 1;
        self.oracle.delivered(&self.server, check.at, &check.stored.content, true)
    }
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
