//! One client.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Params};

use super::locks::Locks;
use super::plan::{Kind, Plan};
use crate::Failure;
use crate::dice::Dice;
use crate::judge::{Nanos, Path, Read, Recorder};
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
    /// Whether it changes definitions.
    pub with_definitions: bool,
}

/// A client at work.
pub struct Client<'a> {
    pub(super) session: usize,
    pub(super) role: Role,
    pub(super) conn: Conn,
    pub(super) pool: &'a [Query],
    pub(super) locks: &'a Locks,
    pub(super) versions: &'a AtomicI64,
    pub(super) recorder: Recorder,
    pub(super) dice: Dice,
    pub(super) own_known: Nanos,
    pub(super) stop: &'a AtomicBool,
    /// Tables that snapshots leave out, as bits: definitions are no part of a snapshot, nor is what TRUNCATE does.
    pub(super) unlike_snapshots: u8,
}

impl Client<'_> {
    /// Works until it is told to stop.
    ///
    /// # Errors
    /// With what the server should not have said.
    pub fn work(mut self) -> Result<(), Failure> {
        while !self.stop.load(Ordering::Relaxed) {
            if self.dice.percent(self.role.writes) {
                let pause = self.dice.below(self.role.pause_ms.max(1));
                std::thread::sleep(Duration::from_millis(u64::try_from(pause)?));
                self.write()?;
            } else if self.dice.percent(5) {
                self.snapshot()?;
            } else {
                let query = self.question();
                self.read(&[query], Vec::new())?;
            }
        }
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

    /// Asks some questions, which see one snapshot if there are several, and records what was seen.
    fn read(&mut self, queries: &[usize], own: Vec<Change>) -> Result<(), Failure> {
        let asked = self.recorder.now();
        let mut answered = None;
        let mut parts = Vec::with_capacity(queries.len());
        for query in queries {
            let observed = self.ask(*query)?;
            answered.get_or_insert_with(|| self.recorder.now());
            match observed {
                Err(code) if code != NO_SUCH_TABLE => {}
                observed => parts.push((*query, observed)),
            }
        }
        let ended = self.recorder.now();
        if parts.is_empty() {
            return Ok(());
        }
        let Role { path, is_prepared, .. } = self.role;
        // Until the first answer is from the server no snapshot is open there; those from memory are still true at it.
        let answered = if path == Path::Through { ended } else { answered.unwrap_or(ended) };
        let (session, own_known) = (self.session, self.own_known);
        self.recorder.read(Read {
            session,
            path,
            asked,
            answered,
            ended,
            own_known,
            own,
            parts,
            is_prepared,
        });
        Ok(())
    }

    fn ask(&mut self, query: usize) -> Result<Observed, Failure> {
        let query = &self.pool[query];
        let rows: mysql::Result<Vec<mysql::Row>> = if self.role.is_prepared {
            let sql = query.prepared();
            let parameters = sql.parameters.clone().filter(|parameters| !parameters.is_empty());
            self.conn.exec(sql.text.as_str(), parameters.map_or(Params::Empty, Params::Positional))
        } else {
            self.conn.query(query.text())
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
            Err(error) => Err(format!("{}: {error}", query.text()).into()),
        }
    }

    /// Several questions in one transaction.
    fn snapshot(&mut self) -> Result<(), Failure> {
        let queries: Vec<usize> =
            (0..2 + self.dice.below(2)).filter_map(|_| self.stable_question()).collect();
        self.conn.query_drop("START TRANSACTION")?;
        self.read(&queries, Vec::new())?;
        Ok(self.conn.query_drop("COMMIT")?)
    }

    fn write(&mut self) -> Result<(), Failure> {
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
        if self.commit(&plan)? {
            held.committed(&plan.changes);
        }
        Ok(())
    }

    /// Sends statements that commit by themselves, or only the last of which does; true if they did.
    fn commit(&mut self, plan: &Plan) -> Result<bool, Failure> {
        let Some((last, first)) = plan.statements.split_last() else { return Ok(false) };
        for statement in first {
            if !self.execute(statement)? {
                return Ok(false);
            }
        }
        let sent = self.recorder.sending(&plan.statements.join("; "), self.role.path, plan.changes.clone());
        let is_committed = self.execute(last);
        let known = self.recorder.done(sent, matches!(is_committed, Ok(true)));
        self.own_known = known;
        is_committed
    }

    /// False if the server undid what was begun.
    fn execute(&mut self, statement: &str) -> Result<bool, Failure> {
        let is_plain =
            matches!(statement, "BEGIN" | "COMMIT" | "ROLLBACK") || statement.starts_with("CREATE");
        let done = if self.role.is_prepared && !is_plain {
            self.conn.exec_drop(statement, ())
        } else {
            self.conn.query_drop(statement)
        };
        match done {
            Ok(()) => Ok(true),
            Err(mysql::Error::MySqlError(error)) if UNDONE.contains(&error.code) => {
                self.conn.query_drop("ROLLBACK")?;
                Ok(false)
            }
            Err(mysql::Error::MySqlError(error)) if ALREADY.contains(&error.code) => Ok(true),
            Err(error) => Err(format!("{statement}: {error}").into()),
        }
    }

    /// Some writes in one transaction, now and then with a look at its own changes, and not always committed.
    fn transaction(&mut self) -> Result<(), Failure> {
        let kinds: Vec<Kind> = (0..1 + self.dice.below(3)).map(|_| self.inner_kind()).collect();
        let mut rows = RowSet::default();
        for kind in &kinds {
            rows.iter_mut().zip(kind.rows()).for_each(|(all, its)| *all |= its);
        }
        let locks = self.locks;
        let held = locks.take(rows);
        let (mut db, mut whole) = (held.newest(), Plan::default());
        self.conn.query_drop("BEGIN")?;
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
        }
        if self.dice.percent(30) {
            let queries: Vec<usize> = (0..2).filter_map(|_| self.stable_question()).collect();
            self.read(&queries, whole.changes.clone())?;
        }
        if self.dice.percent(25) {
            return Ok(self.conn.query_drop("ROLLBACK")?);
        }
        let said = whole.statements.join("; ");
        let sent = self.recorder.sending(&said, self.role.path, whole.changes.clone());
        let is_committed = self.execute("COMMIT");
        self.own_known = self.recorder.done(sent, matches!(is_committed, Ok(true)));
        if is_committed? {
            held.committed(&whole.changes);
        }
        Ok(())
    }

    fn inner_kind(&mut self) -> Kind {
        match Kind::draw(&mut self.dice, false) {
            kind if kind.is_definition() => Kind::draw_row(&mut self.dice),
            kind => kind,
        }
    }

    /// A table goes by another name for a moment.
    fn rename(&mut self) -> Result<(), Failure> {
        let locks = self.locks;
        let held = locks.take(Kind::Truncate.rows());
        for (text, is_away) in [("RENAME TABLE r TO r_away", true), ("RENAME TABLE r_away TO r", false)] {
            let plan = Plan { statements: vec![text.to_owned()], changes: vec![Change::Away(is_away)] };
            while !self.commit(&plan)? {}
            held.committed(&plan.changes);
            std::thread::sleep(Duration::from_millis(2));
        }
        debug_assert!(held.newest().rows(Table::R).count() <= crate::model::ROWS);
        Ok(())
    }
}
