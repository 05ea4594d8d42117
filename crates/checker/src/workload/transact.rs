//! Transactions of several statements, in every form in which applications have them: how they begin and end, at which level of
//! isolation, with savepoints, with reads that many ask and reads that nobody asked before, prepared or not, locking or not.
//!
//! What a transaction is going to write is locked *here* before its first statement, so that no client waits for another one
//! here while others wait for it at the server.

use std::sync::Arc;
use std::time::Duration;

use super::client::{Asking, Client, UNDONE};
use super::link::Trouble;
use super::locks::Held;
use super::plan::{Kind, Plan};
use crate::dice::Dice;
use crate::judge::{Isolation, Nanos, Part, Path, Read};
use crate::model::{Change, Db};
use crate::query::NO_SUCH_TABLE;
use crate::sql::RowSet;

/// So many transactions of one form follow each other, at most.
const ROUNDS_MAX: usize = 6;
/// The longest pause between two statements, milliseconds.
const PAUSE_MS_MAX: usize = 6;

/// How it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// With the first statement.
    AutocommitOff,
    /// BEGIN.
    Begin,
    /// START TRANSACTION.
    Plain,
    /// START TRANSACTION READ ONLY.
    ReadOnly,
    /// START TRANSACTION WITH CONSISTENT SNAPSHOT.
    Snapshot,
    /// With the end of the one before.
    Chained,
}

/// What its level of isolation is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IsolationScope {
    /// Nothing: it is REPEATABLE READ.
    Nothing,
    /// The session: READ COMMITTED from now on.
    Session,
    /// The next transaction alone: READ COMMITTED.
    Next,
}

/// The form of a transaction.
#[derive(Clone, Copy, Debug)]
struct Form {
    start: Start,
    /// Those that are chained to it are so too.
    is_read_only: bool,
    isolation_scope: IsolationScope,
}

impl Form {
    fn draw(dice: &mut Dice) -> Self {
        let start = match dice.below(10) {
            0..=2 => Start::AutocommitOff,
            3..=5 => Start::Begin,
            6..=7 => Start::Plain,
            8 => Start::ReadOnly,
            _ => Start::Snapshot,
        };
        let isolation_scope = match dice.below(8) {
            // At READ COMMITTED there is no snapshot to be opened at once.
            0 if start != Start::Snapshot => IsolationScope::Session,
            1 if start != Start::Snapshot => IsolationScope::Next,
            _ => IsolationScope::Nothing,
        };
        Self { start, is_read_only: start == Start::ReadOnly, isolation_scope }
    }

    const fn isolation(self) -> Isolation {
        match self.isolation_scope {
            IsolationScope::Nothing => Isolation::RepeatableRead,
            IsolationScope::Session | IsolationScope::Next => Isolation::ReadCommitted,
        }
    }

    const fn begins_with(self) -> Option<&'static str> {
        match self.start {
            Start::AutocommitOff | Start::Chained => None,
            Start::Begin => Some("BEGIN"),
            Start::Plain => Some("START TRANSACTION"),
            Start::ReadOnly => Some("START TRANSACTION READ ONLY"),
            Start::Snapshot => Some("START TRANSACTION WITH CONSISTENT SNAPSHOT"),
        }
    }
}

/// A step of a transaction.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read,
    Locking,
    Write(Kind),
    Save,
    Undo,
}

/// What a transaction has done so far.
struct Done {
    isolation: Isolation,
    /// What was said so far, without the reads.
    said: Vec<String>,
    /// Of a hundred reads so many have a text that nobody had before.
    new: usize,
    /// When the snapshot's opening began at the earliest, and was over at the latest.
    asked: Option<Nanos>,
    until: Option<Nanos>,
    own_known: Nanos,
    parts: Vec<Part>,
    /// The newest state with its own changes, and these.
    db: Option<Db>,
    own: Plan,
    /// The same as it was at the savepoint, and whether the transaction had begun for the engine.
    saved: Option<(Option<Db>, usize, bool)>,
    /// It has certainly begun for the engine: a read that no row can satisfy may never reach it.
    is_begun: bool,
    /// SELECTs, without those that lock.
    selects: u64,
}

impl Client<'_> {
    /// Some transactions of one form: applications set a session up once.
    pub(super) fn transact(&mut self, with_writes: bool) -> Result<(), Trouble> {
        let form = Form::draw(&mut self.dice);
        let losses = self.losses;
        self.enter(form)?;
        for round in 0..1 + self.dice.below(ROUNDS_MAX) {
            // What Freshet asks about a session that was set up anew is no read of the client's.
            self.is_counting = self.role.is_watched && (round > 0 || !self.is_altered);
            self.chain(form, with_writes)?;
            if self.losses != losses {
                return Ok(());
            }
        }
        self.leave()
    }

    /// A transaction, or a chain of them.
    fn chain(&mut self, mut form: Form, with_writes: bool) -> Result<(), Trouble> {
        let losses = self.losses;
        let is_opened_by_client = form.start == Start::Snapshot;
        let before = self.is_counting.then(|| self.count_selects_and_begun()).transpose()?;
        if form.isolation_scope == IsolationScope::Next {
            // Directly before the transaction: whatever comes between may be one of its own.
            self.say("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
        }
        let mut asked = [0, 0, 0];
        while self.one_of_chain(form, with_writes, &mut asked)? {
            form.start = Start::Chained;
        }
        // The count is that of the session.
        if let Some([before, begun_before]) = before.filter(|_| self.losses == losses) {
            let [selects, locking, readers] = asked;
            let [counted, begun] = self.count_selects_and_begun()?;
            let opened = if form.isolation() == Isolation::RepeatableRead && !is_opened_by_client {
                (begun - begun_before).min(readers)
            } else {
                0
            };
            let not_read = locking + opened * self.questions_of_an_opening();
            let forwarded = (counted - before).saturating_sub(not_read);
            self.recorder.hits(form.isolation(), selects.saturating_sub(forwarded), selects);
        }
        Ok(())
    }

    fn enter(&mut self, form: Form) -> Result<(), Trouble> {
        self.is_altered =
            form.start == Start::AutocommitOff || form.isolation_scope == IsolationScope::Session;
        if form.start == Start::AutocommitOff {
            self.say("SET autocommit = 0")?;
        }
        match form.isolation_scope {
            IsolationScope::Nothing | IsolationScope::Next => Ok(()),
            IsolationScope::Session => self.say("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
        }
    }

    /// The session is again as it is without a transaction.
    pub(super) fn leave(&mut self) -> Result<(), Trouble> {
        if self.is_altered {
            self.say("SET autocommit = 1")?;
            self.say("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
            self.is_altered = false;
        }
        Ok(())
    }

    /// True: another one has begun with its end. `asked` counts the SELECTs, those that lock, and the transactions that begin with one
    /// that does not.
    fn one_of_chain(&mut self, form: Form, with_writes: bool, asked: &mut [u64; 3]) -> Result<bool, Trouble> {
        let losses = self.losses;
        let is_read_only = form.is_read_only || !with_writes || self.dice.percent(30);
        let count = if is_read_only { 0 } else { 1 + self.dice.below(3) };
        let kinds: Vec<Kind> = (0..count).map(|_| self.inner_kind()).collect();
        let locks = self.locks;
        let held = (!kinds.is_empty()).then(|| locks.take(rows_of(&kinds)));
        let mut done = Done {
            isolation: form.isolation(),
            said: vec![format!("{form:?}")],
            new: if self.dice.percent(50) { 0 } else { 30 },
            asked: None,
            until: None,
            own_known: self.own_known,
            parts: Vec::new(),
            db: held.as_ref().map(Held::newest),
            own: Plan::default(),
            saved: None,
            is_begun: form.start == Start::Snapshot,
            selects: 0,
        };
        self.begin(form, &mut done)?;
        let steps = self.steps(kinds, form);
        let locking = steps.iter().filter(|step| matches!(step, Step::Locking)).count();
        asked[2] += u64::from(matches!(steps.first(), Some(Step::Read)));
        let is_whole = self.take_steps(steps, &mut done).map_err(|trouble| trouble.after(&done.said))?;
        self.record(&mut done);
        let path = usize::from(self.role.path == Path::Around);
        self.link.around().note(|troubles| {
            troubles.transactions[path] += 1;
            troubles.undone += u64::from(!is_whole);
        });
        asked[0] += done.selects;
        asked[1] += u64::try_from(locking)?;
        if !is_whole {
            // A session that has met a conflict may be more careful afterwards: another one is not.
            return self.begin_session().map(|()| false);
        }
        let is_chained = self.end(done, held.as_ref())?;
        // What began with the end of this one is gone with the connection.
        Ok(is_chained && self.losses == losses)
    }

    /// On another connection it is another session.
    fn begin_session(&mut self) -> Result<(), Trouble> {
        self.link.renew()?;
        self.losses += 1;
        self.session += self.sessions_apart;
        (self.own_known, self.is_altered) = (0, false);
        Ok(())
    }

    fn begin(&mut self, form: Form, done: &mut Done) -> Result<(), Trouble> {
        let Some(statement) = form.begins_with() else { return Ok(()) };
        let asked = self.recorder.now();
        self.say(statement)?;
        if form.start == Start::Snapshot {
            (done.asked, done.until) = (Some(asked), Some(self.recorder.now()));
        }
        Ok(())
    }

    /// Returns the writes, in their order, among reads.
    fn steps(&mut self, kinds: Vec<Kind>, form: Form) -> Vec<Step> {
        let mut steps: Vec<Step> = kinds.into_iter().map(Step::Write).collect();
        if !steps.is_empty() && self.dice.percent(30) {
            let saved = self.dice.below(steps.len());
            steps.insert(saved, Step::Save);
            let undone = saved + 1 + self.dice.below(steps.len() - saved);
            steps.insert(undone, Step::Undo);
        }
        for _ in 0..2 + self.dice.below(4) {
            let is_locking = !form.is_read_only && self.dice.percent(5);
            let step = if is_locking { Step::Locking } else { Step::Read };
            let at = self.dice.below(steps.len() + 1);
            steps.insert(at, step);
        }
        // A server opens a read view with the first read, and not with a write before it.
        let first_write = steps.iter().position(|step| matches!(step, Step::Write(_)));
        if let Some(at) = first_write.filter(|_| self.dice.percent(25)) {
            let write = steps.remove(at);
            steps.insert(0, write);
        }
        steps
    }

    /// False: the server has undone all of it.
    fn take_steps(&mut self, steps: Vec<Step>, done: &mut Done) -> Result<bool, Trouble> {
        let begins_with_write = matches!(steps.first(), Some(Step::Write(_)));
        for (at, step) in steps.into_iter().enumerate() {
            // What others commit between a write and the first read is in the read view.
            let is_first_read = at == 1 && begins_with_write;
            if self.dice.percent(if is_first_read { 80 } else { 30 }) {
                let pause = u64::try_from(self.dice.below(PAUSE_MS_MAX))?;
                std::thread::sleep(Duration::from_millis(pause));
            }
            let goes_on = match step {
                Step::Read => {
                    done.said.push("SELECT".to_owned());
                    self.read_in(done)?
                }
                Step::Locking => {
                    done.said.push("SELECT, locking".to_owned());
                    self.lock_in(done)?
                }
                Step::Write(kind) => self.write_in(kind, done)?,
                Step::Save => {
                    done.said.push("SAVEPOINT".to_owned());
                    done.saved = Some((done.db, done.own.changes.len(), done.is_begun));
                    self.execute("SAVEPOINT here")?
                }
                Step::Undo => {
                    done.said.push("ROLLBACK TO SAVEPOINT".to_owned());
                    if let Some((db, len, was_begun)) = done.saved.take() {
                        done.db = db;
                        done.own.changes.truncate(len);
                        // The server rolls the engine's whole transaction back, which takes its snapshot with it.
                        if !was_begun {
                            self.record(done);
                        }
                    }
                    self.execute("ROLLBACK TO SAVEPOINT here")?
                }
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read_in(&mut self, done: &mut Done) -> Result<bool, Trouble> {
        let query = match done.isolation {
            Isolation::RepeatableRead => self.stable_question(),
            Isolation::ReadCommitted => Some(self.question()),
        };
        let Some(query) = query else { return Ok(true) };
        let is_new = self.dice.percent(done.new);
        let prepared = if self.role.is_prepared { 60 } else { 20 };
        let is_prepared = !self.role.is_watched && self.dice.percent(prepared);
        done.selects += 1;
        let part = match self.part(query, is_new, &Asking { is_prepared, is_new, lock: "" }, done)? {
            Ok(part) => part,
            Err(code) => return self.goes_on_after(code),
        };
        match done.isolation {
            Isolation::RepeatableRead => {
                done.asked.get_or_insert(part.asked);
                done.parts.push(part);
            }
            Isolation::ReadCommitted => self.record_one(part, done, false),
        }
        Ok(true)
    }

    /// A read of one row that sees its newest state, whatever the snapshot is.
    fn lock_in(&mut self, done: &mut Done) -> Result<bool, Trouble> {
        let Some(query) = self.question_by_id() else { return Ok(true) };
        let lock = if self.dice.percent(50) { " FOR UPDATE" } else { " LOCK IN SHARE MODE" };
        match self.part(query, true, &Asking { is_prepared: false, is_new: false, lock }, done)? {
            Ok(part) => self.record_one(part, done, true),
            Err(code) => return self.goes_on_after(code),
        }
        Ok(true)
    }

    /// One SELECT, or the code of an error that has shown nothing.
    fn part(
        &mut self,
        query: usize,
        is_new: bool,
        asking: &Asking,
        done: &Done,
    ) -> Result<Result<Part, u16>, Trouble> {
        let hits = self.is_counting.then(|| self.count_hits()).transpose()?;
        let asked = self.recorder.now();
        let observed = self.ask(query, asking)?;
        let answered = self.recorder.now();
        let is_hit = match hits {
            Some(before) => Some(self.count_hits()? > before),
            None => None,
        };
        let is_prepared = asking.is_prepared;
        match observed {
            Err(code) if code != NO_SUCH_TABLE => Ok(Err(code)),
            observed => {
                let own: Arc<[Change]> = done.own.changes.as_slice().into();
                Ok(Ok(Part { query, observed, own, asked, answered, is_new, is_prepared, is_hit }))
            }
        }
    }

    /// False: the server has undone the transaction, or is told to.
    fn goes_on_after(&mut self, code: u16) -> Result<bool, Trouble> {
        let is_undone = UNDONE.contains(&code);
        if is_undone {
            self.say("ROLLBACK")?;
        }
        Ok(!is_undone)
    }

    fn write_in(&mut self, kind: Kind, done: &mut Done) -> Result<bool, Trouble> {
        let Some(db) = &mut done.db else { return Ok(true) };
        let plan = kind.plan(&mut self.dice, db, self.versions);
        plan.changes.iter().for_each(|change| db.apply(change));
        for statement in &plan.statements {
            done.said.push(statement.clone());
            if !self.execute(statement)? {
                return Ok(false);
            }
        }
        done.is_begun |= !plan.changes.is_empty();
        done.own.statements.extend(plan.statements);
        done.own.changes.extend(plan.changes);
        done.own.told.extend(plan.told);
        Ok(true)
    }

    /// All that one snapshot has shown.
    fn record(&mut self, done: &mut Done) {
        let (Some(asked), Some(last)) = (done.asked, done.parts.last()) else { return };
        let answered = last.answered;
        let parts = std::mem::take(&mut done.parts);
        let until = done.until.unwrap_or(answered);
        self.recorder.read(Read { until, ..self.read_of(parts, asked, answered, done) });
    }

    fn record_one(&self, part: Part, done: &Done, is_locking: bool) {
        let (asked, answered) = (part.asked, part.answered);
        let read = self.read_of(vec![part], asked, answered, done);
        self.recorder.read(Read { is_locking, is_counted: read.is_counted && !is_locking, ..read });
    }

    fn read_of(&self, parts: Vec<Part>, asked: Nanos, answered: Nanos, done: &Done) -> Read {
        Read {
            session: self.session,
            path: self.role.path,
            asked,
            answered,
            until: answered,
            own_known: done.own_known,
            parts,
            is_prepared: false,
            in_transaction: true,
            said: done.said.join("; ").into(),
            is_counted: self.is_counting,
            isolation: done.isolation,
            is_locking: false,
            is_hit: None,
        }
    }

    /// Commits or rolls back. True: another transaction has begun with that.
    fn end(&mut self, done: Done, held: Option<&Held<'_>>) -> Result<bool, Trouble> {
        let is_chained = !self.role.is_watched && self.dice.percent(10);
        let is_kept = self.dice.percent(75);
        let statement = match (is_kept, is_chained) {
            (true, false) => "COMMIT",
            (true, true) => "COMMIT AND CHAIN",
            (false, false) => "ROLLBACK",
            (false, true) => "ROLLBACK AND CHAIN",
        };
        match held.filter(|_| is_kept && !done.own.changes.is_empty()) {
            None => self.say(statement).map(|()| is_chained),
            Some(held) => {
                let said = done.own.statements.join("; ");
                Ok(self.commit_by(statement, said, &done.own, held)? && is_chained)
            }
        }
    }
}

fn rows_of(kinds: &[Kind]) -> RowSet {
    let mut rows = RowSet::default();
    for kind in kinds {
        rows.iter_mut().zip(kind.rows()).for_each(|(all, its)| *all |= its);
    }
    rows
}
