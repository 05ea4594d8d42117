//! Transactions that read several results as of one moment, some from memory and some from a snapshot of the server's, and that write.
//!
//! Each step of a transaction is a step of the world. The loads of a lookup are interleaved with the steps of others.

use super::*;
use freshet_cache::snapshot::is_touched;
use freshet_cache::{Holds, Moment, MomentReader, TimedKey, Untouched};

const TRANSACTIONS_MAX: usize = 4;
/// The number of questions where the binlog ends that may be under way at once.
const ENDS_MAX: usize = 3;

/// How far the server knows the transaction.
enum Stage {
    /// The server does not know the transaction.
    Begun,
    /// `visible` was read.
    Opening { query: u32, contains: Position },
    /// The snapshot is open and has these versions.
    Opened { query: u32, contains: Position, sees: [Version; OBJECTS] },
    /// The bound of the snapshot is known. The results that were served before have to be proven.
    Proving { query: u32, moment: Moment, sees: [Version; OBJECTS] },
    /// They are proven.
    Open { moment: Moment, sees: [Version; OBJECTS] },
}

pub(super) struct Transaction {
    client: Client,
    /// The state of things at the first read.
    first: Option<(Invocation, Moment)>,
    /// The dependencies of the hits so far.
    served: Vec<Dep>,
    /// Everything that the transaction has read so far, its own writes left out.
    content: Content,
    /// The objects that it has written, and the dependencies on which these writes would be fenced.
    own: Vec<usize>,
    written: Vec<Dep>,
    /// While these are held, no new watch is used that the write does not know.
    tickets: Vec<Arc<()>>,
    stage: Stage,
    /// The served results were found untouched when the snapshot was open.
    untouched: Option<Untouched>,
    /// A lookup that is done one load at a time.
    look_up: Option<LookUp>,
}

struct LookUp {
    stored: Stored,
    loads: Vec<Load>,
}

#[derive(Clone, Copy)]
enum Load {
    Settled,
    Reached,
    Fence(Dep),
    Stamp(Dep),
}

/// A question where the binlog ends, and its answer.
pub(super) type EndAsked = (u64, Option<Position>);

impl World {
    /// Does one step of a transaction or of a question where the binlog ends.
    pub(super) fn step_of_transactions(&mut self) -> Result<(), String> {
        match self.random.below(16) {
            0 if self.ends.len() < ENDS_MAX => self.ends.push((self.freshness.ask_end(), None)),
            0..4 => self.advance_end(),
            4 if self.transactions.len() < TRANSACTIONS_MAX => self.begin_transaction(),
            _ if !self.transactions.is_empty() => {
                let at = self.random.below(self.transactions.len() as u64) as usize;
                let mut transaction = self.transactions.swap_remove(at);
                if self.advance_transaction(&mut transaction)? {
                    self.transactions.push(transaction);
                } else {
                    self.end_transaction(transaction);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Lets an end of the binlog be answered, or passed.
    fn advance_end(&mut self) {
        let Some((number, answer)) = self.ends.first().copied() else { return };
        match answer {
            None => {
                let end = self.locate(self.server.log.len() as Version);
                self.ends[0].1 = Some(end);
            }
            Some(end) if end <= self.freshness.applied() => {
                self.freshness.end_passed(number);
                self.ends.remove(0);
            }
            Some(_) => {}
        }
    }

    fn begin_transaction(&mut self) {
        let client = self.pick_client();
        self.transactions.push(Transaction::new(client));
    }

    /// Does one step of a transaction. `false`: the transaction has ended.
    fn advance_transaction(&mut self, transaction: &mut Transaction) -> Result<bool, String> {
        if transaction.look_up.is_some() {
            return self.load_next(transaction);
        }
        match transaction.stage {
            Stage::Opening { query, contains } => {
                let sees = std::array::from_fn(|object| self.server.version_of(object));
                transaction.stage = Stage::Opened { query, contains, sees };
            }
            Stage::Opened { query, contains, sees } => {
                if self.broken != Broken::UntouchedBeforeOpening {
                    transaction.untouched = self.untouched(transaction);
                }
                let end = match self.broken {
                    Broken::WithinVisible => self.server.visible_prefix(),
                    _ => self.server.log.len() as Version,
                };
                let within =
                    if self.broken == Broken::EarlySnapshot { Position::ZERO } else { self.locate(end) };
                let moment = Moment::Snapshot { contains, within };
                transaction.stage = Stage::Proving { query, moment, sees };
            }
            // A result that is read from memory meanwhile is proven with the rest.
            Stage::Proving { .. } if self.random.one_in(3) => {
                return self.read_in(transaction).map(|()| true);
            }
            Stage::Proving { query, moment, sees } => {
                match self.holds(transaction, moment) {
                    Holds::Changed => {
                        self.summary.conflicts += 1;
                        return Ok(false);
                    }
                    // A client does not wait forever.
                    Holds::NotYet => return Ok(!self.random.one_in(30)),
                    Holds::Proven => transaction.stage = Stage::Open { moment, sees },
                }
                return self.answer_from_snapshot(transaction, query, sees).map(|()| true);
            }
            Stage::Begun | Stage::Open { .. } => return self.go_on(transaction),
        }
        Ok(true)
    }

    fn untouched(&self, transaction: &Transaction) -> Option<Untouched> {
        let Some((_, Moment::AsOf(at))) = transaction.first else { return None };
        self.freshness.untouched(&transaction.served, at)
    }

    /// Whether the served results are true at this moment: by the stamps; or else because all transactions are own ones since the results
    /// were found untouched.
    fn holds(&mut self, transaction: &Transaction, moment: Moment) -> Holds {
        let (held, Moment::Snapshot { within, .. }) = (self.holds_by_stamps(transaction, moment), moment)
        else {
            return Holds::Proven;
        };
        let (Holds::Changed, Some(untouched)) = (held, transaction.untouched) else { return held };
        let held = match self.broken {
            Broken::ForeignAsOwn => Holds::Proven,
            _ => self.freshness.holds_untouched(untouched, within),
        };
        self.summary.untouched += u64::from(held == Holds::Proven);
        held
    }

    fn holds_by_stamps(&self, transaction: &Transaction, moment: Moment) -> Holds {
        let (Moment::Snapshot { within, .. }, Some((_, Moment::AsOf(at)))) = (moment, transaction.first)
        else {
            return Holds::Proven;
        };
        let fences = if self.broken == Broken::UnloggedAtOpening { Fences::Ignore } else { Fences::Refuse };
        match self.broken {
            Broken::UnprovenOpening => Holds::Proven,
            Broken::ProvenTooEarly => {
                self.freshness.holds_until(&transaction.served, at, Position::ZERO, fences)
            }
            _ => self.freshness.holds_until(&transaction.served, at, within, fences),
        }
    }

    /// Does the next read or write of a transaction, or ends the transaction.
    fn go_on(&mut self, transaction: &mut Transaction) -> Result<bool, String> {
        match self.random.below(8) {
            0 => return Ok(false),
            1 if self.random.one_in(3) => self.write_in(transaction),
            _ => return self.read_in(transaction).map(|()| true),
        }
        Ok(true)
    }

    /// Writes a row. Rows are locked until the end, and nobody else sees the write.
    fn write_in(&mut self, transaction: &mut Transaction) {
        let objects = self.pick_objects();
        if objects.iter().any(|object| [VIEW, ALTER].contains(object) || self.server.locked[*object]) {
            return;
        }
        transaction.tickets.push(self.keyed.ticket());
        for object in objects {
            self.server.locked[object] = true;
            transaction.written.extend(self.touched(object));
            transaction.own.push(object);
        }
    }

    fn read_in(&mut self, transaction: &mut Transaction) -> Result<(), String> {
        let query = self.pick_stored();
        let first = *transaction.first.get_or_insert_with(|| {
            (self.oracle.invoke(transaction.client, self.published), Moment::now(&self.freshness))
        });
        let moment = match (&transaction.stage, self.broken) {
            (Stage::Open { moment, .. }, _) => self.seen_late(*moment),
            (_, Broken::LateAsOf) => Moment::now(&self.freshness),
            _ => first.1,
        };
        if self.random.one_in(2) {
            return self.begin_look_up(transaction, query);
        }
        let written = if self.broken == Broken::OwnWritesHit { &[][..] } else { &transaction.written };
        let reader = MomentReader { moment, written };
        let found = self.cache.get_as_of(
            TimedKey { key: Self::key(&query.to_le_bytes()), now_ms: self.now_ms },
            reader,
            &mut transaction.served,
            |entry| Some((decode(&entry.body.to_vec()), entry.fences_raised)),
        );
        match found {
            Lookup::Hit((content, fences_raised)) => {
                return self.hit_in(transaction, &content, fences_raised);
            }
            Lookup::Unsettled => self.summary.unsettled += 1,
            Lookup::Moved => self.summary.moved += 1,
            _ => {}
        }
        self.forward_in(transaction, query)
    }

    /// Returns the moment with `visible` as of now instead of before the snapshot, if that rule is broken.
    fn seen_late(&self, moment: Moment) -> Moment {
        match moment {
            Moment::Snapshot { within, .. } if self.broken == Broken::ContainsLate => {
                Moment::Snapshot { contains: self.freshness.visible(), within }
            }
            moment => moment,
        }
    }

    /// Returns a query that is mostly stored.
    fn pick_stored(&mut self) -> u32 {
        let mut stored: Vec<u32> = self.stored.keys().copied().collect();
        stored.sort_unstable();
        if stored.is_empty() || self.random.one_in(5) {
            return self.pick_query();
        }
        stored[self.random.below(stored.len() as u64) as usize]
    }

    /// Forwards a query. Mostly, another question is asked instead, so that more can be read from memory.
    fn forward_in(&mut self, transaction: &mut Transaction, query: u32) -> Result<(), String> {
        if !self.random.one_in(6) {
            return Ok(());
        }
        match transaction.stage {
            Stage::Open { sees, .. } => return self.answer_from_snapshot(transaction, query, sees),
            Stage::Begun => {
                if self.broken == Broken::UntouchedBeforeOpening {
                    transaction.untouched = self.untouched(transaction);
                }
                transaction.stage = Stage::Opening { query, contains: self.freshness.visible() };
            }
            Stage::Opening { .. } | Stage::Opened { .. } | Stage::Proving { .. } => {}
        }
        Ok(())
    }

    fn answer_from_snapshot(
        &mut self,
        transaction: &mut Transaction,
        query: u32,
        sees: [Version; OBJECTS],
    ) -> Result<(), String> {
        let content = Server::answer_in(&sees, query);
        self.answered(transaction.client);
        self.delivered_in(transaction, &content, false)
    }

    fn hit_in(
        &mut self,
        transaction: &mut Transaction,
        content: &Content,
        fences_raised: u64,
    ) -> Result<(), String> {
        self.summary.hits_of_begun += u64::from(matches!(transaction.stage, Stage::Begun));
        self.summary.hits_of_opened += u64::from(matches!(transaction.stage, Stage::Open { .. }));
        if let Some((object, _)) = content.iter().find(|(object, _)| transaction.has_written(*object)) {
            return Err(format!("object {object} is not as the transaction has written it"));
        }
        self.shown_by_hit(transaction.client, fences_raised);
        self.delivered_in(transaction, content, true)
    }

    /// Checks that everything that the transaction has read so far is of one state, and as new as it had to be at the first read.
    fn delivered_in(
        &mut self,
        transaction: &mut Transaction,
        content: &Content,
        is_hit: bool,
    ) -> Result<(), String> {
        let Some((at, _)) = transaction.first else { return Ok(()) };
        let to = (transaction.client, at);
        let content: Content =
            content.iter().copied().filter(|(object, _)| !transaction.has_written(*object)).collect();
        if is_hit {
            self.oracle.delivered(&self.server, to, &content, true)?;
        }
        transaction.content.extend(content);
        self.oracle.delivered(&self.server, to, &transaction.content, false)
    }

    /// Sends the transaction's writes to be committed, or rolls them back.
    fn end_transaction(&mut self, transaction: Transaction) {
        let Transaction { client, own, .. } = transaction;
        if own.is_empty() || self.random.one_in(4) {
            own.iter().for_each(|object| self.server.locked[*object] = false);
            return;
        }
        let fence = self.raise(&own, Broken::FenceAfterSend);
        self.writers.push(Writer {
            client,
            objects: own,
            through_us: true,
            unlogged: false,
            fence,
            stage: super::Stage::Sent,
        });
    }

    fn begin_look_up(&mut self, transaction: &mut Transaction, query: u32) -> Result<(), String> {
        let is_live = self.freshness.is_live(self.now_ms);
        let Some(stored) = self.stored.get(&query).filter(|_| is_live) else {
            return self.forward_in(transaction, query);
        };
        let is_own = is_touched(&transaction.written, stored.deps.iter().copied());
        if is_own && self.broken != Broken::OwnWritesHit {
            return self.forward_in(transaction, query);
        }
        let deps = || std::iter::once(Dep::EVERYTHING).chain(stored.deps.iter().copied());
        let mut loads: Vec<Load> = deps().map(Load::Fence).chain(deps().map(Load::Stamp)).collect();
        if self.broken == Broken::FencesOfTransactions {
            loads.retain(|load| !matches!(load, Load::Fence(_)));
        }
        let first = [Load::Settled, Load::Reached];
        match self.broken {
            Broken::SettledLate => loads.extend(first),
            Broken::UnsettledTaken => loads.insert(0, Load::Reached),
            _ => drop(loads.splice(0..0, first)),
        }
        loads.reverse();
        transaction.look_up = Some(LookUp { stored: stored.clone(), loads });
        Ok(())
    }

    fn load_next(&mut self, transaction: &mut Transaction) -> Result<bool, String> {
        let moment = match (&transaction.stage, transaction.first, self.broken) {
            (Stage::Open { moment, .. }, ..) => self.seen_late(*moment),
            (_, _, Broken::LateAsOf) | (_, None, _) => Moment::now(&self.freshness),
            (_, Some((_, moment)), _) => moment,
        };
        let Some(LookUp { stored, loads }) = &mut transaction.look_up else { return Ok(true) };
        let is_admitted = match loads.pop() {
            None => {
                let Some(LookUp { stored, .. }) = transaction.look_up.take() else { return Ok(true) };
                transaction.served.extend(&stored.deps);
                return self.hit_in(transaction, &stored.content, stored.fences_raised).map(|()| true);
            }
            Some(Load::Settled) => self.freshness.is_settled(stored.ends_asked),
            Some(Load::Reached) => moment.admits(Position::ZERO, self.freshness.applied()),
            Some(Load::Fence(dep)) => !self.freshness.is_fenced(dep),
            Some(Load::Stamp(dep)) => {
                let stamp = self.stamp_of(dep);
                // That `applied` has come so far was checked before.
                let reached = Position::new(u64::MAX);
                stamp <= stored.valid_from
                    && match self.broken {
                        Broken::StampsForValidFrom => moment.admits(stamp, reached),
                        _ => moment.admits(stored.valid_from, reached),
                    }
            }
        };
        if !is_admitted {
            transaction.look_up = None;
        }
        Ok(true)
    }
}

impl Transaction {
    const fn new(client: Client) -> Self {
        Self {
            client,
            first: None,
            served: Vec::new(),
            content: Content::new(),
            own: Vec::new(),
            written: Vec::new(),
            tickets: Vec::new(),
            stage: Stage::Begun,
            untouched: None,
            look_up: None,
        }
    }

    /// Whether the transaction has written an object. A write to an object that stands for all rows of a table is a write to each of
    /// them.
    fn has_written(&self, object: usize) -> bool {
        self.own.contains(&object) || object >= FIRST_ROW && self.own.contains(&KEYED)
    }
}

/// Does a run with chosen steps, for faults that random runs meet once in millions of steps. A transaction has read the first object from
/// memory; then a commit changes that object and another, and the transaction reads the other. `Err` if it was shown states that never
/// existed together. `schedule` names the rule for which the run is made.
#[cfg(test)]
pub fn torn_by_choice(schedule: Broken, broken: Broken) -> Result<Summary, String> {
    const OTHER: usize = 1;
    let mut world = World::new(0, broken, true);
    while !world.connected {
        world.break_or_mend();
    }
    world.catch_up();
    world.fill(0b1)?;
    world.settle_all();
    let mut transaction = Transaction::new(0);
    world.hit_by_choice(&mut transaction, 0b1)?;
    match schedule {
        Broken::SettledLate => {
            // The commit is visible and not received.
            let version = world.server.flush(vec![0, OTHER], false, false);
            world.server.commit(version);
            world.fill(1 << OTHER)?;
            world.begin_look_up(&mut transaction, 1 << OTHER)?;
            for _fence_or_stamp in 0..6 {
                world.load_next(&mut transaction)?;
            }
            world.catch_up();
            world.settle_all();
        }
        Broken::UnloggedAtOpening => {
            let fence = world.raise(&[0, OTHER], Broken::NoFence);
            let version = world.server.flush(vec![0, OTHER], true, true);
            world.server.commit(version);
            world.open_by_choice(&mut transaction, 1 << OTHER)?;
            drop(fence);
        }
        Broken::UntouchedBeforeOpening => {
            // The look comes before the commit, and the snapshot is opened after it.
            transaction.untouched = world.untouched(&transaction);
            let fence = world.raise(&[0, OTHER], Broken::NoFence);
            let version = world.server.flush(vec![0, OTHER], true, false);
            world.server.commit(version);
            let looks_again = broken != Broken::UntouchedBeforeOpening;
            world.open_until_proof(&mut transaction, 1 << OTHER, looks_again)?;
            world.catch_up();
            drop(fence);
            world.prove_by_choice(&mut transaction)?;
        }
        Broken::ForeignAsOwn => {
            let version = world.server.flush(vec![0, OTHER], false, false);
            world.server.commit(version);
            world.open_until_proof(&mut transaction, 1 << OTHER, true)?;
            world.catch_up();
            world.prove_by_choice(&mut transaction)?;
        }
        Broken::WithinVisible => {
            // The first of two commits is not visible yet.
            world.server.flush(vec![2], false, false);
            let version = world.server.flush(vec![0, OTHER], false, false);
            world.server.commit(version);
            world.open_by_choice(&mut transaction, 1 << OTHER)?;
        }
        _ => {
            // The other is a row, and its watch is made after the commit was applied.
            let version = world.server.flush(vec![0, FIRST_ROW], false, false);
            world.server.commit(version);
            world.catch_up();
            world.keyed.watch(world.birth());
            world.fill(1 << FIRST_ROW)?;
            world.settle_all();
            world.hit_by_choice(&mut transaction, 1 << FIRST_ROW)?;
        }
    }
    while transaction.look_up.is_some() {
        world.load_next(&mut transaction)?;
    }
    Ok(world.summary)
}

/// A transaction has read from memory, and its snapshot is opened. Then one of our sessions changes an object that it has read.
#[cfg(test)]
pub fn own_writer_after_the_opening() -> Result<Summary, String> {
    const OTHER: usize = 1;
    let mut world = World::new(0, Broken::Nothing, true);
    while !world.connected {
        world.break_or_mend();
    }
    world.catch_up();
    world.fill(0b1)?;
    world.settle_all();
    let mut transaction = Transaction::new(0);
    world.hit_by_choice(&mut transaction, 0b1)?;
    world.open_until_proof(&mut transaction, 1 << OTHER, true)?;
    let fence = world.raise(&[0, OTHER], Broken::NoFence);
    let version = world.server.flush(vec![0, OTHER], true, false);
    world.server.commit(version);
    world.catch_up();
    drop(fence);
    world.prove_by_choice(&mut transaction)?;
    Ok(world.summary)
}

/// A transaction has its snapshot opened before its first answer. That answer is from memory, as of a moment that is fixed before the
/// opening or after it. In between, somebody changes the first object and another object, which is read from the snapshot. `Err` if the
/// transaction was shown states that never existed together.
#[cfg(test)]
pub fn first_answer_after_the_opening(is_fixed_before: bool) -> Result<Summary, String> {
    const OTHER: usize = 1;
    let mut world = World::new(0, Broken::Nothing, true);
    while !world.connected {
        world.break_or_mend();
    }
    world.catch_up();
    let mut transaction = Transaction::new(0);
    let first = |world: &mut World| Some((world.invoke(0), Moment::now(&world.freshness)));
    if is_fixed_before {
        transaction.first = first(&mut world);
    }
    transaction.stage = Stage::Opening { query: 1 << OTHER, contains: world.freshness.visible() };
    world.advance_transaction(&mut transaction)?;
    let version = world.server.flush(vec![0, OTHER], false, false);
    world.server.commit(version);
    world.catch_up();
    world.fill(0b1)?;
    world.settle_all();
    if !is_fixed_before {
        transaction.first = first(&mut world);
    }
    world.hit_by_choice(&mut transaction, 0b1)?;
    world.advance_transaction(&mut transaction)?;
    world.prove_by_choice(&mut transaction)?;
    Ok(world.summary)
}

#[cfg(test)]
impl World {
    /// Opens the snapshot, after which the served results have to be proven.
    fn open_until_proof(
        &mut self,
        transaction: &mut Transaction,
        query: u32,
        looks_again: bool,
    ) -> Result<(), String> {
        transaction.stage = Stage::Opening { query, contains: self.freshness.visible() };
        let before = transaction.untouched;
        while !matches!(transaction.stage, Stage::Proving { .. }) {
            self.advance_transaction(transaction)?;
        }
        if !looks_again {
            transaction.untouched = before;
        }
        Ok(())
    }

    /// Proves the served results, or ends the transaction. Meanwhile it may read anything from memory.
    fn prove_by_choice(&mut self, transaction: &mut Transaction) -> Result<(), String> {
        while matches!(transaction.stage, Stage::Proving { .. }) {
            while transaction.look_up.is_some() {
                self.load_next(transaction)?;
            }
            if !self.advance_transaction(transaction)? {
                break;
            }
        }
        Ok(())
    }

    /// Receives and applies everything, and makes it known to be visible.
    fn catch_up(&mut self) {
        while self.received < self.server.log.len() as Version {
            self.receive();
        }
        self.is_stalled = false;
        while self.published < self.received {
            self.apply();
        }
        for _question_and_answer in 0..2 {
            self.probe();
        }
    }

    fn settle_all(&mut self) {
        let number = self.freshness.ask_end();
        self.freshness.end_passed(number);
    }

    fn fill(&mut self, query: u32) -> Result<(), String> {
        let (client, at) = (0, self.invoke(0));
        let (valid_from, deps, content) = (None, None, None);
        let mut miss = Miss { client, query, at, valid_from, deps, content, delivered: false };
        while !self.advance(&mut miss)? {}
        Ok(())
    }

    fn hit_by_choice(&mut self, transaction: &mut Transaction, query: u32) -> Result<(), String> {
        let first = (self.invoke(transaction.client), Moment::now(&self.freshness));
        transaction.first.get_or_insert(first);
        self.begin_look_up(transaction, query)?;
        while transaction.look_up.is_some() {
            self.load_next(transaction)?;
        }
        Ok(())
    }

    /// Opens the snapshot, and waits for the proof as long as it is still to come.
    fn open_by_choice(&mut self, transaction: &mut Transaction, query: u32) -> Result<(), String> {
        transaction.stage = Stage::Opening { query, contains: self.freshness.visible() };
        for _opening_opened_reading_proving in 0..12 {
            if matches!(transaction.stage, Stage::Open { .. }) {
                break;
            }
            while transaction.look_up.is_some() {
                self.load_next(transaction)?;
            }
            if !self.advance_transaction(transaction)? {
                break;
            }
        }
        Ok(())
    }
}
