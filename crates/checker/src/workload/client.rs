//! One client.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use mysql::Params;
use mysql::prelude::Queryable;

use super::link::{Link, Loss, Trouble};
use super::locks::{Held, Locks};
use super::plan::{Kind, Plan};
use super::settle::{Settled, settle};
use crate::Failure;
use crate::dice::Dice;
use crate::judge::{Isolation, Nanos, Part, Path, Read, Recorder, Sent};
use crate::model::{Change, Table};
use crate::query::{NO_SUCH_TABLE, Observed, Query};
use crate::target::numbers;

/// Errors after which the whole transaction or statement was undone: a lock that was not granted in time, a deadlock, and a row that is
/// newer than the snapshot (MariaDB).
pub(super) const UNDONE: [u16; 3] = [1205, 1213, 1020];
/// Errors that a reader may get while a table has another name or is being changed. Nothing was shown.
const NOTHING_SHOWN: [u16; 5] = [1412, 1205, 1213, 1020, 1356];
/// Statements that begin with these words are not prepared.
const PLAIN: [&str; 4] = ["COMMIT", "ROLLBACK", "SAVEPOINT", "CREATE"];
/// Errors that say that the column to add exists already, or that the column to drop does not exist.
const ALREADY: [u16; 2] = [1060, 1091];
/// One in so many questions is asked often.
const HOT_SHARE: usize = 30;
/// How often a question for a snapshot is drawn before the client gives up.
const DRAWS_MAX: usize = 50;
/// While the judge has too much to judge, clients check at this interval whether they may go on.
const BEHIND_EVERY: Duration = Duration::from_millis(2);

/// The role of a client.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// The way of its statements.
    pub path: Path,
    /// The percentage of operations that are writes.
    pub writes: usize,
    /// The percentage of operations that are transactions.
    pub transactions: usize,
    /// The longest pause before a write, in milliseconds.
    pub pause_ms: usize,
    /// Whether it prepares its statements.
    pub is_prepared: bool,
    /// Whether it finds out for each read whether the answer was from memory.
    pub is_watched: bool,
    /// Whether it changes definitions.
    pub with_definitions: bool,
}

/// How a question is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) is_prepared: bool,
    /// The text is one that no client has sent before.
    pub(super) is_new: bool,
    /// The locking clause behind the text.
    pub(super) lock: &'static str,
}

impl Asking {
    fn text<'a>(&self, text: &'a str, session: usize, marks: &mut u64) -> Cow<'a, str> {
        if !self.is_new && self.lock.is_empty() {
            return text.into();
        }
        *marks += 1;
        let marked = format!("SELECT /* {session} {marks} */ ");
        let text = if self.is_new { text.replacen("SELECT ", &marked, 1) } else { text.to_owned() };
        (text + self.lock).into()
    }
}

/// The state that all clients of a run share.
#[derive(Clone, Copy)]
pub(super) struct SharedState<'a> {
    pub(super) pool: &'a [Query],
    pub(super) locks: &'a Locks,
    /// The version that the next write gives to its rows.
    pub(super) versions: &'a AtomicI64,
    pub(super) stop: &'a AtomicBool,
}

/// One client.
pub struct Client<'a> {
    pub(super) session: usize,
    /// The difference between the number of a session and the number of the session that follows it, so that all numbers are different.
    pub(super) sessions_apart: usize,
    pub(super) role: Role,
    pub(super) link: Link<'a>,
    pub(super) pool: &'a [Query],
    pub(super) locks: &'a Locks,
    pub(super) versions: &'a AtomicI64,
    pub(super) recorder: Recorder,
    pub(super) dice: Dice,
    pub(super) own_known: Nanos,
    pub(super) stop: &'a AtomicBool,
    /// The session does not have its first settings: autocommit is off, or the level of isolation is another one.
    pub(super) is_altered: bool,
    /// The hits of the transaction are counted.
    pub(super) is_counting: bool,
    /// The number of lost connections.
    pub(super) losses: u64,
    /// The number of texts that were made new.
    pub(super) marks: u64,
    /// The tables that snapshots do not cover, as bits: neither definitions nor the effect of TRUNCATE are part of a snapshot.
    pub(super) unlike_snapshots: u8,
}

impl Client<'_> {
    /// Works until it is told to stop.
    ///
    /// # Errors
    /// If the server gives an unexpected answer, or a connection is lost although the server is there.
    pub fn work(mut self) -> Result<(), Failure> {
        while !self.stop.load(Ordering::Relaxed) {
            if self.recorder.is_behind() {
                std::thread::sleep(BEHIND_EVERY);
                continue;
            }
            let began = self.recorder.now();
            match self.step() {
                Ok(()) => {}
                Err(Trouble::Lost(loss)) => self.recover(began, &loss)?,
                Err(Trouble::Failed(failure)) => return Err(failure),
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Trouble> {
        if self.dice.percent(self.role.transactions) {
            return self.transact(self.role.writes > 0);
        }
        if self.dice.percent(self.role.writes) {
            let pause = self.dice.below(self.role.pause_ms.max(1));
            std::thread::sleep(Duration::from_millis(u64::try_from(pause)?));
            self.write()
        } else {
            let query = self.question();
            self.read(query)
        }
    }

    /// Goes on after a loss. A new connection is a new session: nothing was shown to it, and it wrote nothing.
    fn recover(&mut self, used: Nanos, loss: &Loss) -> Result<(), Failure> {
        self.link.around().note(|troubles| troubles.lost += 1);
        self.losses += 1;
        if self.link.recover(used, loss)? {
            self.session += self.sessions_apart;
            self.own_known = 0;
            self.is_altered = false;
            return Ok(());
        }
        match self.leave() {
            Ok(()) => Ok(()),
            Err(Trouble::Lost(loss)) => self.recover(used, &loss),
            Err(Trouble::Failed(failure)) => Err(failure),
        }
    }

    /// Returns a place in the pool, mostly one of a few.
    pub(super) fn question(&mut self) -> usize {
        let hot = self.pool.len() / HOT_SHARE;
        if self.dice.percent(80) { self.dice.below(hot) } else { self.dice.below(self.pool.len()) }
    }

    /// Returns a question on tables whose definitions do not change.
    pub(super) fn stable_question(&mut self) -> Option<usize> {
        let draws = (0..DRAWS_MAX).map(|_| self.question()).collect::<Vec<_>>();
        draws.into_iter().find(|query| self.pool[*query].tables() & self.unlike_snapshots == 0)
    }

    /// Returns a question whose answer is one row.
    pub(super) fn question_by_id(&mut self) -> Option<usize> {
        let draws = (0..DRAWS_MAX).map(|_| self.dice.below(self.pool.len())).collect::<Vec<_>>();
        let is_fit = |query: &Query| query.is_by_id() && query.tables() & self.unlike_snapshots == 0;
        draws.into_iter().find(|query| is_fit(&self.pool[*query]))
    }

    /// Asks a question, and records what was seen.
    fn read(&mut self, query: usize) -> Result<(), Trouble> {
        let selects = self.selects_before()?;
        let Role { path, is_prepared, .. } = self.role;
        let asked = self.recorder.now();
        let observed = self.ask(query, &Asking { is_prepared, is_new: false, lock: "" })?;
        let answered = self.recorder.now();
        let is_hit = self.is_hit_since(selects)?;
        if observed.as_ref().is_err_and(|code| *code != NO_SUCH_TABLE) {
            return Ok(());
        }
        let (session, own_known) = (self.session, self.own_known);
        let own = std::sync::Arc::default();
        self.recorder.read(Read {
            session,
            path,
            asked,
            answered,
            until: answered,
            own_known,
            parts: vec![Part {
                query,
                observed,
                own,
                asked,
                answered,
                is_new: false,
                is_prepared,
                is_hit: None,
            }],
            is_prepared,
            in_transaction: false,
            said: std::sync::Arc::default(),
            is_counted: false,
            isolation: Isolation::default(),
            is_locking: false,
            is_hit,
        });
        Ok(())
    }

    /// Asks a question. Returns the answer, or the code of an error that showed nothing or that says that the table does not exist.
    pub(super) fn ask(&mut self, query: usize, asking: &Asking) -> Result<Observed, Trouble> {
        let query = &self.pool[query];
        let rows: mysql::Result<Vec<mysql::Row>> = if asking.is_prepared {
            let sql = query.prepared();
            let parameters = sql.parameters.clone().filter(|parameters| !parameters.is_empty());
            let text = asking.text(&sql.text, self.session, &mut self.marks);
            self.link.conn.exec(text, parameters.map_or(Params::Empty, Params::Positional))
        } else {
            self.link.conn.query(asking.text(query.text(), self.session, &mut self.marks))
        };
        match rows {
            Ok(rows) => {
                let rows = rows.into_iter().map(numbers).collect::<Result<_, _>>()?;
                Ok(Ok(query.canonical(rows)))
            }
            Err(mysql::Error::MySqlError(error))
                if error.code == NO_SUCH_TABLE || NOTHING_SHOWN.contains(&error.code) =>
            {
                Ok(Err(error.code))
            }
            Err(error) => Err(Trouble::of(query.text(), &error)),
        }
    }

    pub(super) fn say(&mut self, statement: &str) -> Result<(), Trouble> {
        self.link.conn.query_drop(statement).map_err(|error| Trouble::of(statement, &error))
    }

    fn write(&mut self) -> Result<(), Trouble> {
        if self.role.with_definitions && self.dice.percent(2) {
            return self.rename();
        }
        if self.dice.percent(25) {
            return self.transact(true);
        }
        let kind = Kind::draw(&mut self.dice, self.role.with_definitions);
        let locks = self.locks;
        let held = locks.take(kind.rows());
        let plan = kind.plan(&mut self.dice, &held.newest(), self.versions);
        self.commit(&plan, &held).map(|_| ())
    }

    /// Sends statements that commit by themselves, or of which only the last commits. Returns whether they committed.
    fn commit(&mut self, plan: &Plan, held: &Held<'_>) -> Result<bool, Trouble> {
        let Some((last, first)) = plan.statements.split_last() else { return Ok(false) };
        let mut defining = (plan.defines != 0).then(|| self.recorder.defining(plan.defines));
        for statement in first {
            if !self.execute(statement)? {
                return Ok(false);
            }
            // The first statement is the definition.
            defining = None;
        }
        let is_done = self.commit_by(last, plan.statements.join("; "), plan, held)?;
        drop(defining);
        Ok(is_done)
    }

    /// Sends the statement that commits some changes, and finds out whether it did. The locked rows become free only when that is known.
    pub(super) fn commit_by(
        &mut self,
        statement: &str,
        said: String,
        plan: &Plan,
        held: &Held<'_>,
    ) -> Result<bool, Failure> {
        let (changes, told) = (plan.changes.clone(), plan.told.clone());
        let mut sent = self.recorder.sending(&said, self.role.path, changes, told);
        let done = match self.execute(statement) {
            Ok(is_committed) => Ok((is_committed, None)),
            Err(Trouble::Failed(failure)) => Err(failure),
            Err(Trouble::Lost(loss)) => {
                let settled = self.settle(&sent, &loss, held);
                settled.map(|changes| {
                    let is_committed = !changes.is_empty();
                    sent.adopt(changes);
                    (is_committed, Some(loss))
                })
            }
        };
        let (is_committed, loss) = match done {
            Ok(found) => found,
            Err(failure) => {
                self.recorder.given_up(sent);
                return Err(failure);
            }
        };
        let used = sent.at();
        if is_committed {
            held.committed(sent.changes());
        }
        let known = self.recorder.done(sent, is_committed);
        match loss {
            // A write that was never acknowledged is not promised to the session that sent it.
            Some(loss) => self.recover(used, &loss)?,
            None => self.own_known = known,
        }
        Ok(is_committed)
    }

    /// Returns the changes that have happened, when the answer to their commit was lost.
    fn settle(&self, sent: &Sent, loss: &Loss, held: &Held<'_>) -> Result<Vec<Change>, Failure> {
        let around = self.link.around();
        let seen = around.found(sent.at(), loss, sent.changes())?;
        let (place, changes) = match settle(&held.newest(), sent.changes(), &seen) {
            Settled::Done => (0, sent.changes().to_vec()),
            Settled::Undone => (1, Vec::new()),
            // The partitions of a table are emptied one by one, and nothing is logged unless all of them are.
            Settled::Torn(changes) if sent.text().starts_with("TRUNCATE") => (2, changes),
            settled => {
                return Err(format!("after an outage of the server: {}: {settled:?}", sent.text()).into());
            }
        };
        around.note(|troubles| troubles.settled[place] += 1);
        Ok(changes)
    }

    /// Executes a statement. Returns false if the server undid the transaction.
    pub(super) fn execute(&mut self, statement: &str) -> Result<bool, Trouble> {
        let is_plain = PLAIN.iter().any(|begin| statement.starts_with(begin));
        let done = if self.role.is_prepared && !is_plain {
            self.link.conn.exec_drop(statement, ())
        } else {
            self.link.conn.query_drop(statement)
        };
        match done {
            Ok(()) => Ok(true),
            Err(mysql::Error::MySqlError(error)) if UNDONE.contains(&error.code) => {
                self.say("ROLLBACK")?;
                Ok(false)
            }
            Err(mysql::Error::MySqlError(error)) if ALREADY.contains(&error.code) => Ok(true),
            Err(error) => Err(Trouble::of(statement, &error)),
        }
    }

    pub(super) fn inner_kind(&mut self) -> Kind {
        match Kind::draw(&mut self.dice, false) {
            kind if kind.is_definition() => Kind::draw_row(&mut self.dice),
            kind => kind,
        }
    }

    /// Renames a table for a moment.
    fn rename(&mut self) -> Result<(), Trouble> {
        let locks = self.locks;
        let held = locks.take(Kind::Truncate.rows());
        for (text, is_away) in [("RENAME TABLE r TO r_away", true), ("RENAME TABLE r_away TO r", false)] {
            let (statements, changes) = (vec![text.to_owned()], vec![Change::Away(is_away)]);
            let plan = Plan { statements, changes, defines: Table::R.bit(), ..Plan::default() };
            while !self.commit(&plan, &held)? {}
            std::thread::sleep(Duration::from_millis(2));
        }
        debug_assert!(held.newest().rows(Table::R).count() <= crate::model::ROWS);
        Ok(())
    }
}
