//! One client.

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
use crate::judge::{Nanos, Path, Read, Recorder, Sent};
use crate::model::{Change, Table};
use crate::query::{NO_SUCH_TABLE, Observed, Query};
use crate::sql::RowSet;
use crate::target::numbers;

/// A lock that was not had in time, and a deadlock: the whole transaction, or statement, was undone.
const UNDONE: [u16; 2] = [1205, 1213];
/// What a reader may meet while a table goes by another name or is being changed: nothing was shown.
const NOTHING_SHOWN: [u16; 4] = [1412, 1205, 1213, 1356];
/// The column that is added is there already, or is not there.
const ALREADY: [u16; 2] = [1060, 1091];
/// One in so many questions is asked for often.
const HOT_SHARE: usize = 30;
/// How often a question for a snapshot is drawn again, before there is none.
const DRAWS_MAX: usize = 50;
/// While the judge has too much to judge, clients look this often whether they may go on.
const BEHIND_EVERY: Duration = Duration::from_millis(2);

/// What a client does.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// How it goes.
    pub path: Path,
    /// Of a hundred operations so many are writes.
    pub writes: usize,
    /// The longest pause before a write, milliseconds.
    pub pause_ms: usize,
    /// Whether it prepares its statements.
    pub is_prepared: bool,
    /// Whether it finds out for each read whether the answer was from memory.
    pub is_watched: bool,
    /// Whether it changes definitions.
    pub with_definitions: bool,
}

/// A client at work.
pub struct Client<'a> {
    pub(super) session: usize,
    /// What is added to the number of a session for the one that follows it, so that all are different.
    pub(super) sessions_apart: usize,
    pub(super) role: Role,
    pub(super) link: Link<'a>,
    pub(super) pool: &'a [Query],
    pub(super) locks: &'a Locks,
    pub(super) versions: &'a AtomicI64,
    pub(super) recorder: Recorder,
    pub(super) dice: Dice,
    pub(super) own_known: Nanos,
    /// The SELECTs of this session that the server had counted after the last read, where it is watched.
    pub(super) selects: Option<u64>,
    pub(super) stop: &'a AtomicBool,
    /// Tables that snapshots leave out, as bits: definitions are no part of a snapshot, nor is what TRUNCATE does.
    pub(super) unlike_snapshots: u8,
}

impl Client<'_> {
    /// Works until it is told to stop.
    ///
    /// # Errors
    /// With what the server should not have said, and when a connection is lost although the server is there.
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
        if self.dice.percent(self.role.writes) {
            let pause = self.dice.below(self.role.pause_ms.max(1));
            std::thread::sleep(Duration::from_millis(u64::try_from(pause)?));
            self.write()
        } else if self.dice.percent(5) {
            self.snapshot()
        } else {
            let query = self.question();
            self.read(&[query], None).map(|_| ())
        }
    }

    /// Goes on after a loss. On a new connection it is a new session, to which nothing was shown and which wrote nothing.
    fn recover(&mut self, used: Nanos, loss: &Loss) -> Result<(), Failure> {
        self.link.around().note(|troubles| troubles.lost += 1);
        if self.link.recover(used, loss)? {
            self.session += self.sessions_apart;
            self.own_known = 0;
        }
        self.selects = None;
        Ok(())
    }

    /// A place in the pool: mostly one of few.
    fn question(&mut self) -> usize {
        let hot = self.pool.len() / HOT_SHARE;
        if self.dice.percent(80) { self.dice.below(hot) } else { self.dice.below(self.pool.len()) }
    }

    /// One whose tables' definitions stay as they are.
    fn stable_question(&mut self) -> Option<usize> {
        let draws = (0..DRAWS_MAX).map(|_| self.question()).collect::<Vec<_>>();
        draws.into_iter().find(|query| self.pool[*query].tables() & self.unlike_snapshots == 0)
    }

    /// Asks some questions, which see one snapshot if there are several, and records what was seen; `own` tells what the
    /// transaction has changed in which they are asked, if there is one. False if the server undid
    /// the transaction in which they were asked: a reading one too may be in the way of a definition that is being changed.
    fn read(&mut self, queries: &[usize], own: Option<Vec<Change>>) -> Result<bool, Trouble> {
        let in_transaction = own.is_some();
        let selects = self.selects_before(in_transaction)?;
        let asked = self.recorder.now();
        let mut parts = Vec::with_capacity(queries.len());
        for query in queries {
            let observed = self.ask(*query)?;
            match observed {
                Err(code) if UNDONE.contains(&code) => return Ok(false),
                Err(code) if code != NO_SUCH_TABLE => {}
                observed => parts.push((*query, observed)),
            }
        }
        let answered = self.recorder.now();
        let is_hit = self.is_hit_since(selects)?;
        if parts.is_empty() {
            return Ok(true);
        }
        let Role { path, is_prepared, .. } = self.role;
        // No snapshot is open at the server before it reads a table: it need not for an answer from memory, which is still
        // true at the snapshot, nor for conditions that no row can satisfy.
        let (session, own_known) = (self.session, self.own_known);
        self.recorder.read(Read {
            session,
            path,
            asked,
            answered,
            own_known,
            own: own.unwrap_or_default(),
            parts,
            is_prepared,
            in_transaction,
            is_hit,
        });
        Ok(true)
    }

    fn ask(&mut self, query: usize) -> Result<Observed, Trouble> {
        let query = &self.pool[query];
        let rows: mysql::Result<Vec<mysql::Row>> = if self.role.is_prepared {
            let sql = query.prepared();
            let parameters = sql.parameters.clone().filter(|parameters| !parameters.is_empty());
            self.link.conn.exec(sql.text.as_str(), parameters.map_or(Params::Empty, Params::Positional))
        } else {
            self.link.conn.query(query.text())
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

    /// Several questions in one transaction.
    fn snapshot(&mut self) -> Result<(), Trouble> {
        let queries: Vec<usize> =
            (0..2 + self.dice.below(2)).filter_map(|_| self.stable_question()).collect();
        self.say("START TRANSACTION")?;
        let is_undone = !self.read(&queries, Some(Vec::new()))?;
        self.say(if is_undone { "ROLLBACK" } else { "COMMIT" })
    }

    fn say(&mut self, statement: &str) -> Result<(), Trouble> {
        self.link.conn.query_drop(statement).map_err(|error| Trouble::of(statement, &error))
    }

    fn write(&mut self) -> Result<(), Trouble> {
        if self.role.with_definitions && self.dice.percent(2) {
            return self.rename();
        }
        if self.dice.percent(25) {
            return self.transaction();
        }
        let kind = Kind::draw(&mut self.dice, self.role.with_definitions);
        let locks = self.locks;
        let held = locks.take(kind.rows());
        let plan = kind.plan(&mut self.dice, &held.newest(), self.versions);
        self.commit(&plan, &held).map(|_| ())
    }

    /// Sends statements that commit by themselves, or only the last of which does; true if they did.
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
        let is_done = self.commit_by(last, (plan.statements.join("; "), plan), held)?;
        drop(defining);
        Ok(is_done)
    }

    /// Sends what commits some changes, and finds out whether it did: what is held is free only when that is known.
    fn commit_by(
        &mut self,
        statement: &str,
        (said, plan): (String, &Plan),
        held: &Held<'_>,
    ) -> Result<bool, Failure> {
        let done = (plan.changes.clone(), plan.told.clone());
        let mut sent = self.recorder.sending(&said, self.role.path, done);
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
        let used = sent.at();
        if let Ok((true, _)) = done {
            held.committed(sent.changes());
        }
        let known = self.recorder.done(sent, matches!(done, Ok((true, _))));
        let (is_committed, loss) = done?;
        match loss {
            // What was never acknowledged is not promised to the session that sent it.
            Some(loss) => self.recover(used, &loss)?,
            None => self.own_known = known,
        }
        Ok(is_committed)
    }

    /// Those of some changes that are there, when the answer to their commit was lost.
    fn settle(&self, sent: &Sent, loss: &Loss, held: &Held<'_>) -> Result<Vec<Change>, Failure> {
        let around = self.link.around();
        let seen = around.found(sent.at(), loss, sent.changes())?;
        let (place, changes) = match settle(&held.newest(), sent.changes(), &seen) {
            Settled::Done => (0, sent.changes().to_vec()),
            Settled::Undone => (1, Vec::new()),
            // The partitions of a table are emptied one by one, and nothing is logged unless all are.
            Settled::Torn(changes) if sent.text().starts_with("TRUNCATE") => (2, changes),
            settled => {
                return Err(format!("after an outage of the server: {}: {settled:?}", sent.text()).into());
            }
        };
        around.note(|troubles| troubles.settled[place] += 1);
        Ok(changes)
    }

    /// False if the server undid what was begun.
    fn execute(&mut self, statement: &str) -> Result<bool, Trouble> {
        let is_plain =
            matches!(statement, "BEGIN" | "COMMIT" | "ROLLBACK") || statement.starts_with("CREATE");
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

    /// Some writes in one transaction, now and then with a look at its own changes, and not always committed.
    fn transaction(&mut self) -> Result<(), Trouble> {
        let kinds: Vec<Kind> = (0..1 + self.dice.below(3)).map(|_| self.inner_kind()).collect();
        let mut rows = RowSet::default();
        for kind in &kinds {
            rows.iter_mut().zip(kind.rows()).for_each(|(all, its)| *all |= its);
        }
        let locks = self.locks;
        let held = locks.take(rows);
        let (mut db, mut whole) = (held.newest(), Plan::default());
        self.say("BEGIN")?;
        for kind in kinds {
            let plan = kind.plan(&mut self.dice, &db, self.versions);
            for statement in &plan.statements {
                if !self.execute(statement)? {
                    return Ok(());
                }
            }
            plan.changes.iter().for_each(|change| db.apply(change));
            whole.statements.extend(plan.statements);
            whole.changes.extend(plan.changes);
            whole.told.extend(plan.told);
        }
        if self.dice.percent(30) {
            let queries: Vec<usize> = (0..2).filter_map(|_| self.stable_question()).collect();
            if !self.read(&queries, Some(whole.changes.clone()))? {
                self.link.around().note(|troubles| troubles.undone += 1);
                return self.say("ROLLBACK");
            }
        }
        if self.dice.percent(25) {
            return self.say("ROLLBACK");
        }
        let said = whole.statements.join("; ");
        self.commit_by("COMMIT", (said, &whole), &held)?;
        Ok(())
    }

    fn inner_kind(&mut self) -> Kind {
        match Kind::draw(&mut self.dice, false) {
            kind if kind.is_definition() => Kind::draw_row(&mut self.dice),
            kind => kind,
        }
    }

    /// A table goes by another name for a moment.
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
