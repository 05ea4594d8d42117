//! Random scripts: what a few clients do, one statement after the other.

use std::fmt;

use freshet_checker::dice::Dice;
use freshet_tests::Flavor;

/// How many clients take part.
pub const CLIENTS: usize = 3;

/// What one client does. `{s}` stands for the schema, `{k}` for the client's number, `{id0}` and so on for the numbers of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A text.
    Text(String),
    /// A statement that the client prepares when it executes it first.
    Execute(String),
    /// The same with one parameter.
    ExecuteWith(String, i32),
    /// COM_RESET_CONNECTION.
    Reset,
    /// COM_CHANGE_USER to the same account.
    ChangeUser,
    /// COM_PING.
    Ping,
    /// COM_INIT_DB.
    InitDb,
    /// It takes its time: a read view that is due is opened meanwhile.
    Pause,
}

/// What the clients do in turn.
///
/// Left out is what is known to differ: definitions of tables that others read, since a table that was read from memory is locked by
/// nobody; reads of tables without transactions, and first reads that fail, which open a read view here alone; SHOW WARNINGS, since
/// MariaDB forgets warnings only with a statement that opens tables, and an answer from memory opens none; FOUND_ROWS(), which tells of
/// the SELECT before a SET, where a SELECT that was answered from memory is forgotten.
pub type Script = Vec<(usize, Step)>;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text}"),
            Self::Execute(text) => write!(f, "prepared: {text}"),
            Self::ExecuteWith(text, value) => write!(f, "prepared: {text}, {value}"),
            other => write!(f, "{other:?}"),
        }
    }
}

/// What is made once. The tables `o{k}` are for definitions and locks of the client `{k}` alone.
pub const TABLES: &[&str] = &[
    "CREATE TABLE x (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE y (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE z (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE w (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, x INT, FOREIGN KEY (x) REFERENCES x (id) ON DELETE CASCADE)",
    "CREATE TABLE m (id INT PRIMARY KEY, v INT) ENGINE = MyISAM",
    "CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
    "CREATE VIEW vx AS SELECT id, v FROM x WHERE v < 1000",
    "CREATE TRIGGER of_w BEFORE UPDATE ON w FOR EACH ROW UPDATE z SET v = v + 1 WHERE id = NEW.id",
    "CREATE PROCEDURE p_reads() SELECT id, v FROM x ORDER BY id",
    "CREATE PROCEDURE p_writes(n INT) UPDATE x SET v = v + 1 WHERE id = n",
    "CREATE PROCEDURE p_commits(n INT) BEGIN UPDATE y SET v = v + 1 WHERE id = n; COMMIT; END",
    "CREATE PROCEDURE p_begins(n INT) BEGIN START TRANSACTION; UPDATE y SET v = v + 3 WHERE id = n; END",
    "CREATE PROCEDURE p_marks(n INT) BEGIN SAVEPOINT a; END",
    "CREATE PROCEDURE p_fails(n INT) BEGIN UPDATE z SET v = v + 1 WHERE id = n; INSERT INTO x VALUES (1, 1); END",
    "CREATE FUNCTION f_writes(n INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN UPDATE z SET v = v + 5 WHERE id = n; RETURN n; END",
    "CREATE FUNCTION f_reads() RETURNS INT READS SQL DATA RETURN (SELECT SUM(v) FROM x)",
];

/// The same, after all others: views that run functions.
pub const VIEWS: &[&str] = &[
    "CREATE VIEW vf AS SELECT id, f_reads() AS n FROM y",
    "CREATE VIEW vw AS SELECT id, f_writes(id) AS n FROM y",
];

/// The same, where the server has it.
pub const TABLES_OF_MARIADB: &[&str] = &["CREATE SEQUENCE s"];

/// What is done before each script.
pub const CONTENT: &[&str] = &[
    "DELETE FROM c",
    "DELETE FROM x",
    "DELETE FROM y",
    "DELETE FROM z",
    "DELETE FROM w",
    "DELETE FROM m",
    "DELETE FROM n",
    "ALTER TABLE n AUTO_INCREMENT = 1",
    "INSERT INTO x VALUES (1,10),(2,20),(3,30),(4,40)",
    "INSERT INTO y VALUES (1,10),(2,20),(3,30),(4,40)",
    "INSERT INTO z VALUES (1,10),(2,20),(3,30),(4,40)",
    "INSERT INTO w VALUES (1,10),(2,20),(3,30),(4,40)",
    "INSERT INTO c VALUES (1,1),(2,2),(3,3),(4,4)",
    "DROP TABLE IF EXISTS o0, o1, o2",
];

/// All tables, for a look at what has become of them.
pub const STATE: &[&str] = &[
    "SELECT * FROM x",
    "SELECT * FROM y",
    "SELECT * FROM z",
    "SELECT * FROM w",
    "SELECT * FROM c",
    "SELECT * FROM m",
    "SELECT * FROM n",
];

/// Reads that can be answered from memory.
pub const READS: &[&str] = &[
    "SELECT id, v FROM x ORDER BY id",
    "SELECT v FROM x WHERE id = 1",
    "SELECT v FROM x WHERE id = 2",
    "SELECT v FROM y WHERE id = 1",
    "SELECT id, v FROM y ORDER BY id",
    "SELECT id, v FROM z ORDER BY id",
    "SELECT id, v FROM w ORDER BY id",
    "SELECT id, x FROM c ORDER BY id",
    "SELECT id, v FROM vx ORDER BY id",
    "SELECT x.id, x.v, y.v FROM x JOIN y ON x.id = y.id WHERE x.id = 1",
    "SELECT SUM(v), COUNT(*) FROM x",
    "SELECT v FROM x WHERE id = 99",
];

const BEGINS: &[&str] = &[
    "BEGIN",
    "BEGIN",
    "BEGIN",
    "START TRANSACTION",
    "START TRANSACTION READ ONLY",
    "START TRANSACTION READ WRITE",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
];

/// What is said of one transaction before it begins.
const SAID: &[&str] = &[
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET TRANSACTION READ ONLY",
    "SET TRANSACTION READ WRITE, ISOLATION LEVEL READ COMMITTED",
];

const ENDS: &[&str] = &[
    "COMMIT",
    "COMMIT",
    "COMMIT",
    "ROLLBACK",
    "ROLLBACK",
    "COMMIT AND CHAIN",
    "ROLLBACK AND CHAIN",
    "COMMIT AND NO CHAIN NO RELEASE",
    "ROLLBACK WORK",
    "ROLLBACK WORK AND NO CHAIN",
    "COMMIT NO RELEASE",
];

const MARKS: &[&str] = &[
    "SAVEPOINT a",
    "SAVEPOINT a",
    "SAVEPOINT b",
    "SAVEPOINT `A`",
    "ROLLBACK TO a",
    "ROLLBACK TO a",
    "ROLLBACK TO SAVEPOINT b",
    "RELEASE SAVEPOINT a",
    "RELEASE SAVEPOINT b",
];

const WRITES: &[&str] = &[
    "UPDATE x SET v = v + 1 WHERE id = {n}",
    "UPDATE y SET v = v + 1 WHERE id = {n}",
    "UPDATE z SET v = v * 2 WHERE id = {n}",
    "UPDATE w SET v = v + 1 WHERE id = {n}",
    "UPDATE vx SET v = v + 7 WHERE id = {n}",
    "UPDATE x SET v = 5 WHERE id = {n}",
    "UPDATE x JOIN y ON x.id = y.id SET x.v = y.v + 100 WHERE x.id = {n}",
    "INSERT INTO x VALUES (1{n}, {n})",
    "INSERT INTO x VALUES ({n}, 0)",
    "INSERT INTO y SELECT id + 10, v FROM y WHERE id = {n}",
    "INSERT INTO n (v) VALUES ({n})",
    "INSERT INTO c VALUES (2{n}, 77)",
    "INSERT IGNORE INTO x VALUES ({n}, 0)",
    "REPLACE INTO y VALUES ({n}, 55)",
    "INSERT INTO y VALUES ({n}, 1) ON DUPLICATE KEY UPDATE v = v + 1",
    "DELETE FROM x WHERE id = {n}",
    "DELETE FROM c WHERE id = {n}",
    "DELETE FROM x WHERE id = 1{n}",
    "CALL p_writes({n})",
    "CALL p_commits({n})",
    "CALL p_begins({n})",
    "CALL p_fails({n})",
    "SELECT f_writes({n})",
    "SELECT v FROM x WHERE id = {n} FOR UPDATE",
    "UPDATE x SET nothing = 1",
];

const SETTINGS: &[&str] = &[
    "SET autocommit = 0",
    "SET autocommit = 0",
    "SET autocommit = 1",
    "SET autocommit = 1",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    "SET TRANSACTION READ ONLY",
    "SET TRANSACTION READ WRITE",
    "SET @@transaction_isolation = 'READ-COMMITTED'",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET SESSION TRANSACTION READ ONLY",
    "SET SESSION TRANSACTION READ WRITE",
    "SET completion_type = 1",
    "SET completion_type = 0",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "SET sql_mode = DEFAULT",
    "SET @a = 1",
    "SET @a = (SELECT MAX(v) FROM x)",
    "SET NAMES utf8mb4",
    "SET autocommit = 0, sql_mode = DEFAULT",
];

const OTHERS: &[&str] = &[
    "SELECT ROW_COUNT()",
    "SELECT LAST_INSERT_ID()",
    "SELECT @a",
    "SELECT 1",
    "DO 1",
    "SELECT CAST('abc' AS SIGNED)",
    "SELECT f_reads()",
    "SELECT id, f_reads() FROM vx WHERE id = 1",
    "SELECT id, n FROM vf WHERE id = 1",
    "SELECT id, n FROM vw WHERE id = {n}",
    "SELECT @@transaction_isolation",
    "COMMIT RELEASE",
    "ROLLBACK RELEASE",
    "SET completion_type = 2",
    "CALL p_reads()",
    "CALL p_marks(1)",
    "SHOW TABLES LIKE 'x'",
    "USE {s}",
    "CREATE TABLE IF NOT EXISTS o{k} (id INT)",
    "DROP TABLE IF EXISTS o{k}",
    "CREATE TEMPORARY TABLE t (id INT)",
    "CREATE TEMPORARY TABLE y (id INT, v INT)",
    "INSERT INTO t VALUES (1)",
    "SELECT COUNT(*) FROM t",
    "DROP TEMPORARY TABLE IF EXISTS t",
    "DROP TEMPORARY TABLE IF EXISTS y",
    "LOCK TABLES o{k} WRITE",
    "LOCK TABLES x READ",
    "UNLOCK TABLES",
    "UNLOCK TABLES",
    "XA START '{s}{k}'",
    "XA END '{s}{k}'",
    "XA PREPARE '{s}{k}'",
    "XA COMMIT '{s}{k}'",
    "XA COMMIT '{s}{k}' ONE PHASE",
    "XA ROLLBACK '{s}{k}'",
    "SELECT GET_LOCK('{s}', 0)",
    "SELECT RELEASE_LOCK('{s}')",
    "PREPARE p FROM 'SELECT v FROM x WHERE id = 1'",
    "PREPARE p FROM 'UPDATE x SET v = v + 1 WHERE id = 4'",
    "PREPARE p FROM 'COMMIT'",
    "EXECUTE p",
    "EXECUTE p",
    "DEALLOCATE PREPARE p",
    "BEGIN; SELECT v FROM x WHERE id = 1; SELECT v FROM x WHERE id = 2",
    "SAVEPOINT a; SELECT v FROM x WHERE id = 1",
    "SAVEPOINT a; DO 1",
    "UPDATE x SET v = v + 1 WHERE id = {n}; COMMIT",
    "SELECT v FROM x WHERE id = 1; COMMIT",
    "SELECT v FROM x WHERE id = 2; ROLLBACK",
    "SELECT v FROM x WHERE id = 1; BEGIN",
    "UPDATE x SET v = v + 1 WHERE id = {n}; BEGIN",
    "COMMIT; BEGIN",
    "ANALYZE TABLE o{k}",
    "EXPLAIN SELECT v FROM x WHERE id = 1",
    "KILL QUERY {id0}",
];

const OF_MARIADB: &[&str] = &[
    // MySQL warns of it in what follows in the same transaction.
    "REPLACE INTO m VALUES ({n}, 1)",
    "DELETE FROM m WHERE id = {n}",
    "SELECT NEXT VALUE FOR s",
    "SET STATEMENT max_statement_time = 9 FOR SELECT v FROM x WHERE id = 1",
    "SET STATEMENT max_statement_time = 9 FOR COMMIT",
    "SET innodb_snapshot_isolation = ON",
    "SET innodb_snapshot_isolation = OFF",
    "BEGIN NOT ATOMIC UPDATE x SET v = v + 1 WHERE id = {n}; COMMIT; END",
    "PREPARE p FROM 'SAVEPOINT a'",
    "PREPARE p FROM 'BEGIN'",
    "EXECUTE IMMEDIATE 'ROLLBACK TO a'",
    "SELECT @@in_transaction",
];

/// What can be prepared besides.
const PREPARED: &[&str] = &["COMMIT", "ROLLBACK", "SET autocommit = 0", "SET autocommit = 1", "SET @a = 1"];
const PREPARED_OF_MARIADB: &[&str] =
    &["BEGIN", "START TRANSACTION", "SAVEPOINT a", "ROLLBACK TO a", "RELEASE SAVEPOINT a"];
const WITH_NUMBER: &[&str] = &[
    "SELECT v FROM x WHERE id = ?",
    "SELECT v FROM x WHERE id = ?",
    "SELECT id, v FROM y WHERE id >= ? ORDER BY id",
    "UPDATE x SET v = v + 1 WHERE id = ?",
    "DELETE FROM y WHERE id = ?",
];

/// A script of this seed.
pub fn script(seed: u64, flavor: Flavor) -> Script {
    let mut dice = Dice::new(seed);
    let mut script = Script::new();
    let clients = 1 + dice.below(CLIENTS);
    for client in 0..clients {
        if dice.percent(80) {
            script.push((client, Step::Text(dice.one_of(READS).to_owned())));
        }
        if dice.percent(35) {
            script.push((client, Step::Text(dice.one_of(SETTINGS).to_owned())));
        }
    }
    let length = 6 + dice.below(30);
    let mut client = 0;
    for _ in 0..length {
        if dice.percent(40) {
            client = dice.below(clients);
        }
        if dice.percent(20) {
            script.extend(reading(&mut dice).into_iter().map(|step| (client, step)));
        }
        script.push((client, step(&mut dice, (client, flavor))));
    }
    script
}

/// A transaction that reads, and mostly does nothing else.
fn reading(dice: &mut Dice) -> Vec<Step> {
    let mut steps = Vec::new();
    if dice.percent(25) {
        steps.push(Step::Text(dice.one_of(SAID).to_owned()));
    }
    steps.push(Step::Text(dice.one_of(BEGINS).to_owned()));
    for _ in 0..1 + dice.below(4) {
        steps.push(if dice.percent(80) {
            text_or_prepared(dice, READS)
        } else {
            Step::Text(dice.one_of(MARKS).to_owned())
        });
    }
    if dice.percent(70) {
        steps.push(Step::Text(dice.one_of(ENDS).to_owned()));
    }
    steps
}

fn step(dice: &mut Dice, (client, flavor): (usize, Flavor)) -> Step {
    let is_mariadb = flavor == Flavor::MariaDb;
    let step = match dice.below(100) {
        0..30 => text_or_prepared(dice, READS),
        30..42 => Step::Text(dice.one_of(BEGINS).to_owned()),
        42..52 => Step::Text(dice.one_of(ENDS).to_owned()),
        52..60 => Step::Text(dice.one_of(MARKS).to_owned()),
        60..76 => text_or_prepared(dice, WRITES),
        76..82 => Step::Text(dice.one_of(SETTINGS).to_owned()),
        82..90 => Step::Text(dice.one_of(OTHERS).to_owned()),
        90..92 if is_mariadb => Step::Text(dice.one_of(OF_MARIADB).to_owned()),
        92..93 if is_mariadb => Step::Execute(dice.one_of(PREPARED_OF_MARIADB).to_owned()),
        93..94 => Step::Execute(dice.one_of(PREPARED).to_owned()),
        94..97 => {
            let text = dice.one_of(WITH_NUMBER);
            Step::ExecuteWith(text.to_owned(), i32::try_from(1 + dice.below(5)).unwrap_or(1))
        }
        97 => dice_of_session(dice),
        98 => Step::Pause,
        _ => text_or_prepared(dice, READS),
    };
    // Mostly rows of its own: who waits for another's waits for a second.
    let row = if dice.percent(95) { client } else { dice.below(CLIENTS) } + 1;
    match step {
        Step::Text(text) => Step::Text(text.replace("{n}", &row.to_string())),
        Step::Execute(text) => Step::Execute(text.replace("{n}", &row.to_string())),
        other => other,
    }
}

fn text_or_prepared(dice: &mut Dice, texts: &[&str]) -> Step {
    let text = dice.one_of(texts).to_owned();
    if dice.percent(15) { Step::Execute(text) } else { Step::Text(text) }
}

fn dice_of_session(dice: &mut Dice) -> Step {
    match dice.below(6) {
        0 => Step::Reset,
        1 => Step::ChangeUser,
        2 => Step::InitDb,
        _ => Step::Ping,
    }
}
