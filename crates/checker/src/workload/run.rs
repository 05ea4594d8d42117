//! A whole run: the schema, the clients, the judge, and a last look at the database.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::client::{Client, Role, SharedState};
use super::disturb::{Disturb, Disturbance, Disturbances, Disturber};
use super::equal::{EqualRows, Equality};
use super::link::{Link, Surroundings, Troubles};
use super::locks::Locks;
use super::outages::Outages;
use crate::Failure;
use crate::dice::Dice;
use crate::judge::{Judge, Level, Path, Report};
use crate::model::{COLUMNS, Change, Column, DEFINITIONS, Db, ROWS, Row, Table};
use crate::query::{Filter, Query, Shape};
use crate::sql::schema;
use crate::target::{Target, numbers, status};

/// Questions in the pool.
const POOL: usize = 360;
/// Between two looks at whether the time is over.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Freshet.
    pub freshet: Target,
    /// The server itself.
    pub server: Target,
    /// A schema, which is dropped and made anew.
    pub schema: String,
    /// The same seed draws the same statements.
    pub seed: u64,
    /// For so long.
    pub duration: Duration,
    /// What is promised.
    pub level: Level,
    /// How late the level lets answers be, milliseconds.
    pub lag_ms: u64,
    /// Clients that read, through Freshet.
    pub readers: usize,
    /// Clients that read through Freshet too, and find out for each read whether it was a hit.
    pub watched: usize,
    /// Clients that do everything in transactions, through Freshet; one in two finds out how many of its reads were hits.
    pub transactional: usize,
    /// Clients that write, through Freshet.
    pub writers: usize,
    /// Clients that write and read around it.
    pub around: usize,
    /// Whether definitions change.
    pub with_definitions: bool,
    /// End with the first broken promise.
    pub stops_early: bool,
    /// What happens to the server and to the stream meanwhile.
    pub disturb: Disturb,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What the judge found.
    pub report: Report,
    /// What was seen of rows that are always equal.
    pub equality: Equality,
    /// Answers from memory, lookups refused by a fence and by a stamp, and transactions whose snapshot came too late for what they had
    /// been shown, as Freshet counts them.
    pub hits: [u64; 4],
    /// What happened to the server and to the stream.
    pub disturbances: Disturbances,
    /// What the clients noticed of it.
    pub troubles: Troubles,
    /// What went wrong besides.
    pub failures: Vec<String>,
}

/// The status values that go with [`Outcome::hits`].
const COUNTED: [&str; 4] = ["Qcache_hits", "Freshet_fenced", "Freshet_stale", "Freshet_snapshot_conflicts"];

impl Workload {
    /// Does it.
    ///
    /// # Errors
    /// When it cannot be begun; what goes wrong later is in the outcome.
    pub fn run(&self) -> Result<Outcome, Failure> {
        let mut dice = Dice::new(self.seed);
        let versions = AtomicI64::new(1);
        let base = first_rows(&mut dice, &versions);
        self.prepare(&base)?;
        let pool: std::sync::Arc<[Query]> = Query::pool(&mut dice, POOL).into();
        let locks = Locks::new(base);
        let (judge, recorder, told) = Judge::new(pool.clone(), base, self.level, self.lag_ms);
        let (outages, stop) = (Outages::default(), AtomicBool::new(false));
        let around = Surroundings {
            server: &self.server,
            schema: &self.schema,
            outages: &outages,
            recorder: recorder.clone(),
            troubles: Mutex::default(),
        };
        let before = counted(&mut around.connect(&self.freshet)?)?;
        let shared = SharedState { pool: &pool, locks: &locks, versions: &versions, stop: &stop };
        let clients = self.clients(&around, shared)?;
        let disturber = Disturber {
            disturb: &self.disturb,
            server: &self.server,
            outages: &outages,
            recorder: &recorder,
            done: Mutex::default(),
            stop: &stop,
        };
        let equal = EqualRows::new(&around, &self.freshet, &stop, self.stops_early, self.level)?;
        let are_done = AtomicBool::new(false);
        let (report, mut failures) = thread::scope(|scope| {
            let (of_judge, is_over) = (recorder.clone(), || are_done.load(Ordering::Acquire));
            let ends = self.stops_early.then_some(&stop);
            let judging = scope.spawn(move || judge.run(&of_judge, &told, is_over, ends));
            let failures = self.let_work(clients, &disturber, &equal);
            are_done.store(true, Ordering::Release);
            let report = judging.join().map_err(|_| "the judge was lost")?;
            Ok::<_, Failure>((report, failures))
        })?;
        // What the server lost is one failure more, and no reason to be silent about the rest.
        let lost = lost(&mut around.connect(&self.server)?, &locks.newest());
        failures.extend(lost.unwrap_or_else(|error| vec![format!("at the end: {error}")]));
        let after = counted(&mut around.connect(&self.freshet)?)?;
        let hits = std::array::from_fn(|at| after[at].saturating_sub(before[at]));
        let disturbances = disturber.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let troubles = *around.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Outcome { report, equality: equal.seen(), hits, disturbances, troubles, failures })
    }

    /// Until the time is over, or somebody fails; what failed.
    fn let_work(
        &self,
        clients: Vec<Client<'_>>,
        disturber: &Disturber<'_>,
        equal: &EqualRows<'_>,
    ) -> Vec<String> {
        thread::scope(|scope| {
            let mut all: Vec<_> = clients.into_iter().map(|client| scope.spawn(|| client.work())).collect();
            let seed = self.seed;
            all.extend((0..EqualRows::clients()).map(|at| scope.spawn(move || equal.work(at, seed))));
            let kinds = [Disturbance::Restart, Disturbance::Cut, Disturbance::Stall];
            for kind in kinds.into_iter().filter(|kind| self.disturb.every[*kind as usize].is_some()) {
                let dice = Dice::new(self.seed.wrapping_mul(1_000_003).wrapping_add(kind as u64));
                all.push(scope.spawn(move || disturber.work(kind, dice)));
            }
            let until = Instant::now() + self.duration;
            while Instant::now() < until
                && !disturber.stop.load(Ordering::Relaxed)
                && !all.iter().any(thread::ScopedJoinHandle::is_finished)
            {
                thread::sleep(LOOK_EVERY);
            }
            disturber.stop.store(true, Ordering::Relaxed);
            let failures = all.into_iter().filter_map(|one| match one.join() {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("a client was lost".to_owned()),
            });
            failures.collect()
        })
    }

    fn prepare(&self, base: &Db) -> Result<(), Failure> {
        let mut direct = self.server.connect("")?;
        direct.query_drop(format!("DROP DATABASE IF EXISTS {}", self.schema))?;
        direct.query_drop(format!("CREATE DATABASE {}", self.schema))?;
        direct.query_drop(format!("USE {}", self.schema))?;
        // MariaDB renames a partitioned table piece by piece: killed in between, it has lost the table for good.
        let version: Option<String> = direct.query_first("SELECT VERSION()")?;
        let may_be_torn = version.is_some_and(|version| version.contains("MariaDB"));
        let is_partitioned = self.disturb.crash.is_none() || !may_be_torn;
        for statement in schema(base, is_partitioned) {
            direct.query_drop(statement)?;
        }
        Ok(())
    }

    fn roles(&self) -> Vec<Role> {
        let reader = Role {
            path: Path::Through,
            writes: 0,
            transactions: 5,
            pause_ms: 0,
            is_prepared: false,
            is_watched: false,
            with_definitions: false,
        };
        let writer = Role { writes: 35, pause_ms: 30, with_definitions: self.with_definitions, ..reader };
        let around = Role { path: Path::Around, writes: 60, pause_ms: 40, ..writer };
        let alternating =
            |role: Role, count| (0..count).map(move |at| Role { is_prepared: at % 2 == 1, ..role });
        let readers = alternating(reader, self.readers).chain(alternating(writer, self.writers));
        // Last, so that the others draw the same statements however many are watched.
        let watched = (0..self.watched).map(|_| Role { is_watched: true, ..reader });
        let transactional = (0..self.transactional).map(|at| Role {
            transactions: 100,
            writes: 25 * (at / 2 % 2),
            is_watched: at % 2 == 1,
            ..reader
        });
        readers.chain(alternating(around, self.around)).chain(watched).chain(transactional).collect()
    }

    fn clients<'a>(
        &'a self,
        around: &'a Surroundings<'a>,
        shared: SharedState<'a>,
    ) -> Result<Vec<Client<'a>>, Failure> {
        let SharedState { pool, locks, versions, stop } = shared;
        let unlike_snapshots = if self.with_definitions { Table::R.bit() | DEFINITIONS } else { 0 };
        let roles = self.roles();
        let sessions_apart = roles.len();
        let mut clients = Vec::new();
        for (session, role) in roles.into_iter().enumerate() {
            let target = if role.path == Path::Through { &self.freshet } else { &self.server };
            let link = Link::new(target, around)?;
            let seed = self.seed.wrapping_mul(1_000).wrapping_add(session as u64 + 1);
            let dice = Dice::new(seed);
            let recorder = around.recorder.clone();
            clients.push(Client {
                session,
                sessions_apart,
                role,
                link,
                pool,
                locks,
                versions,
                recorder,
                dice,
                own_known: 0,
                stop,
                is_altered: false,
                is_counting: false,
                losses: 0,
                marks: 0,
                unlike_snapshots,
            });
        }
        Ok(clients)
    }
}

/// Half of the rows of each table, and all that the trigger writes.
fn first_rows(dice: &mut Dice, versions: &AtomicI64) -> Db {
    let mut db = Db::default();
    for table in Table::ALL {
        for id in 1..=ROWS {
            if table == Table::L || dice.percent(60) {
                let cells: [Option<i8>; COLUMNS] = Column::ALL.map(|column| {
                    let code = dice.code(column.codes());
                    (!matches!(column, Column::Pid)).then_some(code)
                });
                let v = versions.fetch_add(1, Ordering::Relaxed);
                db.apply(&Change::Put(table, id, Row { v, cells }));
            }
        }
    }
    db
}

fn counted(conn: &mut Conn) -> Result<[u64; COUNTED.len()], Failure> {
    let mut values = [0; COUNTED.len()];
    for (value, name) in values.iter_mut().zip(COUNTED) {
        *value = status(conn, name)?;
    }
    Ok(values)
}

/// Whatever of the acknowledged writes is not in the database at the end.
fn lost(direct: &mut Conn, newest: &Db) -> Result<Vec<String>, Failure> {
    let mut lost = Vec::new();
    for table in Table::ALL {
        let query = Query::new(Shape::Rows(table, Filter::default()));
        let rows: Vec<mysql::Row> = direct.query(query.text())?;
        let rows = query.canonical(rows.into_iter().map(numbers).collect::<Result<_, _>>()?);
        if query.ask(newest).as_ref() != Ok(&rows) {
            lost.push(format!("at the end {} has {rows:?}, due: {:?}", table.name(), query.ask(newest)));
        }
    }
    Ok(lost)
}
