//! A whole run of the oracle.

use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};

use mysql::consts::ColumnFlags;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, Row};

use super::questions::{self, Question, TABLE};
use super::report::{Difference, Findings};
use crate::Failure;
use crate::dice::Dice;
use crate::model::{Change, DEFINITIONS, Db};
use crate::sql::schema;
use crate::target::{Target, status};
use crate::workload::{Kind, Plan};

/// Questions that are asked after each write.
const ACTIVE: usize = 40;
/// The number of writes before the next questions are taken.
const WRITES_OF_A_SET: usize = 12;
/// How long the stream may take to bring a write, in seconds.
const SETTLE_SECONDS_MAX: u64 = 20;
/// The time between two checks whether the write has arrived.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// Freshet.
    pub freshet: Target,
    /// The server itself.
    pub server: Target,
    /// A schema, which is dropped and made again.
    pub schema: String,
    /// The seed: the same seed draws the same statements.
    pub seed: u64,
    /// The length of the run.
    pub duration: Duration,
    /// The number of different questions.
    pub questions: usize,
}

/// The sessions' time zones.
const ZONES: [&str; 4] = ["SYSTEM", "+00:00", "+05:30", "-03:00"];

/// The server's description of the columns, and the rows; or the code of an error.
type ServerAnswer = Result<(Vec<String>, Vec<String>), u16>;

struct Run {
    through: Conn,
    /// Writes through Freshet. A session that has run a trigger may get no more answers from memory, so this one is separate.
    writer: Conn,
    direct: Conn,
    counter: Conn,
    dice: Dice,
    db: Db,
    versions: AtomicI64,
    counted: (u64, u64),
    findings: Findings,
}

/// A question that is asked now, and the state of its answer in memory.
struct Active<'a> {
    question: &'a Question,
    stored: Option<ServerAnswer>,
}

impl Oracle {
    /// Runs the oracle.
    ///
    /// # Errors
    /// If a connection is lost, or Freshet does not catch up.
    pub fn run(&self) -> Result<Findings, Failure> {
        let mut direct = self.server.connect("")?;
        for statement in
            [format!("DROP DATABASE IF EXISTS {}", self.schema), format!("CREATE DATABASE {}", self.schema)]
        {
            direct.query_drop(statement)?;
        }
        direct.query_drop(format!("USE {}", self.schema))?;
        let base = Db::default();
        for statement in schema(&base, true).into_iter().chain([
            TABLE.to_owned(),
            "CREATE TABLE marker (id INT PRIMARY KEY, v BIGINT NOT NULL)".to_owned(),
            "INSERT INTO marker VALUES (1, 0)".to_owned(),
        ]) {
            direct.query_drop(statement)?;
        }
        let mut dice = Dice::new(self.seed);
        let questions = Question::draw(&mut dice, self.questions);
        let mut run = Run {
            through: self.freshet.connect(&self.schema)?,
            writer: self.freshet.connect(&self.schema)?,
            direct,
            counter: self.freshet.connect("")?,
            dice,
            db: base,
            versions: AtomicI64::new(1),
            counted: (0, 0),
            findings: Findings::default(),
        };
        run.fill()?;
        let until = Instant::now() + self.duration;
        while Instant::now() < until {
            run.set(&questions, until)?;
        }
        Ok(run.findings)
    }
}

impl Run {
    /// Fills every table with some rows.
    fn fill(&mut self) -> Result<(), Failure> {
        for _ in 0..120 {
            self.write(false)?;
        }
        self.settle()
    }

    /// Asks some questions, again after each of several writes.
    fn set(&mut self, questions: &[Question], until: Instant) -> Result<(), Failure> {
        let chosen = (0..ACTIVE).map(|_| &questions[self.dice.below(questions.len())]);
        let mut active: Vec<Active<'_>> = chosen.map(|question| Active { question, stored: None }).collect();
        self.move_zones()?;
        let mut after = "nothing".to_owned();
        for round in 0..WRITES_OF_A_SET {
            self.counted = self.count()?;
            for asked in &mut active {
                self.ask(asked, &after)?;
                if round == 0 {
                    // When a table is read in some way for the first time, the result depends on the whole table; only the next result
                    // depends on rows. It is known that any write drops the first result, so that does not count.
                    asked.stored = None;
                }
            }
            if Instant::now() >= until {
                break;
            }
            after = self.write(true)?;
            self.settle()?;
        }
        Ok(())
    }

    /// Changes the time zones: both ways of asking use one zone, and writes through Freshet use another.
    fn move_zones(&mut self) -> Result<(), Failure> {
        let (asked, written) = (self.dice.one_of(&ZONES), self.dice.one_of(&ZONES));
        for (conn, zone) in
            [(&mut self.through, asked), (&mut self.direct, asked), (&mut self.writer, written)]
        {
            conn.query_drop(format!("SET time_zone = '{zone}'"))?;
        }
        Ok(())
    }

    /// Asks a question both ways, and compares the answers.
    fn ask(&mut self, active: &mut Active<'_>, after: &str) -> Result<(), Failure> {
        let Question { shape, text, is_ordered } = active.question;
        let through = answer(self.through.query_iter(text), *is_ordered)?;
        let (hits, inserts) = self.count()?;
        let (is_hit, is_stored) = (hits > self.counted.0, inserts > self.counted.1);
        let direct = answer(self.direct.query_iter(text), *is_ordered)?;
        let counts = self.findings.shapes.entry(shape).or_default();
        counts.asked += 1;
        counts.hits += u64::from(is_hit);
        if let Some(stored) = active.stored.take().filter(|_| !is_hit) {
            counts.invalidated += 1;
            counts.needless += u64::from(stored == direct);
        }
        let compared = [(through.clone(), direct.clone(), is_hit, false)];
        let mut compared = compared.to_vec();
        if self.dice.percent(25) {
            let through = answer(self.through.exec_iter(text, ()), *is_ordered)?;
            let direct = answer(self.direct.exec_iter(text, ()), *is_ordered)?;
            compared.push((through, direct, false, true));
        }
        for (through, direct, is_hit, is_prepared) in compared {
            if through != direct {
                let (through, direct) = (format!("{through:?}"), format!("{direct:?}"));
                let (text, after) = (text.clone(), after.to_owned());
                self.findings.differs(Difference { text, is_hit, is_prepared, after, through, direct });
            }
        }
        active.stored = (is_hit || is_stored).then_some(direct);
        self.counted = self.count()?;
        Ok(())
    }

    fn count(&mut self) -> Result<(u64, u64), Failure> {
        Ok((status(&mut self.counter, "Qcache_hits")?, status(&mut self.counter, "Qcache_inserts")?))
    }

    /// Writes once, through Freshet or around it, and returns the text of the write.
    fn write(&mut self, with_definitions: bool) -> Result<String, Failure> {
        let plan = if self.dice.percent(50) {
            Plan { statements: vec![questions::write(&mut self.dice)], ..Plan::default() }
        } else {
            let with_definitions = with_definitions && self.dice.percent(30);
            let kind = Kind::draw(&mut self.dice, with_definitions);
            kind.plan(&mut self.dice, &self.db, &self.versions)
        };
        let is_through = self.dice.percent(50);
        let in_transaction = self.dice.percent(20);
        let conn = if is_through { &mut self.writer } else { &mut self.direct };
        let bracket = |word: &'static str| in_transaction.then_some(word);
        if let Some(begin) = bracket("BEGIN") {
            conn.query_drop(begin)?;
        }
        let mut is_done = true;
        for statement in &plan.statements {
            match conn.query_drop(statement) {
                Ok(()) => self.findings.writes += 1,
                Err(mysql::Error::MySqlError(_)) => {
                    self.findings.refused += 1;
                    is_done = false;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(commit) = bracket("COMMIT") {
            conn.query_drop(commit)?;
        }
        if is_done {
            plan.changes.iter().for_each(|change| self.note(change));
        }
        let way = if is_through { "through" } else { "around" };
        Ok(format!("{} ({way})", plan.statements.join("; ")))
    }

    fn note(&mut self, change: &Change) {
        debug_assert!(change.tables() <= DEFINITIONS);
        self.db.apply(change);
    }

    /// Waits until a new marker is answered from memory. By then the stream has brought all earlier writes, and they are known to be
    /// visible. The marker is written through Freshet. A marker written around Freshet could be read from the server, stored, and
    /// answered from memory before the stream brings it.
    fn settle(&mut self) -> Result<(), Failure> {
        self.writer.query_drop("UPDATE marker SET v = v + 1 WHERE id = 1")?;
        let question = "SELECT v FROM marker WHERE id = 1";
        let wanted: Option<i64> = self.direct.query_first(question)?;
        let until = Instant::now() + Duration::from_secs(SETTLE_SECONDS_MAX);
        loop {
            let before = status(&mut self.counter, "Qcache_hits")?;
            let seen: Option<i64> = self.through.query_first(question)?;
            if seen == wanted && status(&mut self.counter, "Qcache_hits")? > before {
                return Ok(());
            }
            if Instant::now() > until {
                return Err("what was written around Freshet does not become an answer from memory".into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Returns an answer with everything that the server reports of it.
fn answer<P: mysql::prelude::Protocol>(
    result: mysql::Result<mysql::QueryResult<'_, '_, '_, P>>,
    is_ordered: bool,
) -> Result<ServerAnswer, Failure> {
    let result = match result {
        Ok(result) => result,
        Err(mysql::Error::MySqlError(error)) => return Ok(Err(error.code)),
        Err(error) => return Err(error.into()),
    };
    let columns = result.columns().as_ref().to_vec();
    let mut rows = Vec::new();
    for row in result {
        let row: Row = match row {
            Err(mysql::Error::MySqlError(error)) => return Ok(Err(error.code)),
            row => row?,
        };
        rows.push(format!("{:?}", row.unwrap()));
    }
    if !is_ordered {
        rows.sort_unstable();
    }
    Ok(Ok((columns.iter().map(|column| described(column, !rows.is_empty())).collect(), rows)))
}

/// Returns the server's description of a column. Of the flags only those are used that tell the column's type. The other flags depend on
/// how the server found the rows: a table's own column and a temporary table's column differ in them, on both servers, and statistics
/// choose between the two. Without rows, NOT NULL depends on it as well: MariaDB takes NOT NULL from the rows that it has read, and two
/// executions of one statement differ in it.
fn described(column: &Column, has_rows: bool) -> String {
    let of_rows = if has_rows { ColumnFlags::NOT_NULL_FLAG } else { ColumnFlags::empty() };
    let of_the_type = of_rows
        | ColumnFlags::BLOB_FLAG
        | ColumnFlags::UNSIGNED_FLAG
        | ColumnFlags::ZEROFILL_FLAG
        | ColumnFlags::ENUM_FLAG
        | ColumnFlags::SET_FLAG;
    let names = [column.schema_str(), column.table_str(), column.org_table_str()];
    let own = [column.name_str(), column.org_name_str()];
    let (kind, flags) = (column.column_type(), column.flags().intersection(of_the_type));
    let (length, decimals) = (column.column_length(), column.decimals());
    format!("{names:?} {own:?} {kind:?}({length}, {decimals}) {flags:?} {}", column.character_set())
}
