//! The actions that a neighbour repeats without a pause. Their statements concern no table that the other client reads.

/// The schema of the table that is read, and of the tables that the neighbour writes.
pub const NEAR: &str = "freshet_near";
/// An account that may only read. Its password is empty.
pub const READS: &str = "freshet_near_reads";

/// The statements that prepare the measurement, in [`NEAR`].
pub const SETUP: &[&str] = &[
    "CREATE TABLE log (id INT)",
    "CREATE TABLE uniq (id INT PRIMARY KEY)",
    "INSERT INTO uniq VALUES (1)",
    "CREATE PROCEDURE understood() INSERT INTO log VALUES (1)",
    "CREATE DATABASE freshet_far",
    "CREATE TABLE freshet_far.par (id INT PRIMARY KEY)",
    "CREATE USER freshet_near_reads IDENTIFIED BY ''",
    "CREATE USER freshet_near_other IDENTIFIED BY ''",
    "GRANT SELECT ON freshet_near.* TO freshet_near_reads",
];

/// The statements that remove everything that a measurement made.
pub const CLEANUP: &[&str] = &[
    "DROP DATABASE IF EXISTS freshet_near",
    "DROP DATABASE IF EXISTS freshet_far",
    "DROP USER IF EXISTS freshet_near_reads",
    "DROP USER IF EXISTS freshet_near_other",
];

/// The servers that know a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// Both servers.
    All,
    /// Only MariaDB.
    MariaDb,
    /// Only MySQL.
    MySql,
}
use Servers::{All, MariaDb, MySql};

/// The repeated action.
#[derive(Debug, Clone, Copy)]
pub enum Again {
    /// Statements, one after another.
    Say(&'static [&'static str]),
    /// A command that no server knows.
    Command(u8),
    /// Connections that log in and leave.
    Login,
    /// Nothing: the connection stays as `first` left it.
    Idle,
}
use Again::{Command, Idle, Login, Say};

/// One way to disturb the others.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    /// The servers that know the statements.
    pub on: Servers,
    /// Whether the account [`READS`] sends the statements, and not the account that measures.
    pub denied: bool,
    /// Statements that are sent once, at the beginning.
    pub first: &'static [&'static str],
    /// The action that is repeated after them.
    pub again: Again,
}

impl Noise {
    /// Returns how many answers come back each time.
    pub fn answers(&self) -> u64 {
        match self.again {
            Say(statements) => statements.len() as u64,
            Command(_) | Login | Idle => 1,
        }
    }

    /// Returns the name in the table.
    pub fn name(&self) -> String {
        let first = self.first.join("; ");
        let again = match self.again {
            Say(statements) => statements.join("; "),
            Command(byte) => format!("(command {byte})"),
            Login => "(logins)".to_owned(),
            Idle => "(idle)".to_owned(),
        };
        let by = if self.denied { "(may only read) " } else { "" };
        let then = if first.is_empty() { "" } else { ", then " };
        format!("{by}{first}{then}{again}")
    }
}

const fn say(again: &'static [&'static str]) -> Noise {
    on(All, again)
}

const fn on(on: Servers, again: &'static [&'static str]) -> Noise {
    Noise { on, denied: false, first: &[], again: Say(again) }
}

const fn after(first: &'static [&'static str], again: &'static [&'static str]) -> Noise {
    Noise { on: All, denied: false, first, again: Say(again) }
}

const fn denied(again: &'static [&'static str]) -> Noise {
    Noise { on: All, denied: true, first: &[], again: Say(again) }
}

/// All actions, in the order of the table.
#[rustfmt::skip]
pub const NOISE: &[Noise] = &[
    say(&["selec 'open"]),
    Noise { on: All, denied: false, first: &[], again: Command(0x7f) },
    say(&["CREATE TABLE log (id INT)"]),
    say(&["DROP TABLE nothing"]),
    say(&["CREATE TABLE freshet_far.z (id INT)", "DROP TABLE freshet_far.z"]),
    say(&["CREATE TEMPORARY TABLE tt (id INT)", "DROP TEMPORARY TABLE tt"]),
    say(&["INSERT INTO uniq VALUES (1)"]),
    say(&["LOCK TABLES log WRITE", "UNLOCK TABLES"]),
    after(&["PREPARE s FROM 'SELECT SLEEP(0.01)'"], &["EXECUTE s"]),
    on(MariaDb, &["EXECUTE IMMEDIATE 'SELECT SLEEP(0.01)'"]),
    on(MariaDb, &["BEGIN NOT ATOMIC DECLARE a INT; SET a = SLEEP(0.01); END"]),
    say(&["CALL nothing()"]),
    say(&["ALTER USER freshet_nobody IDENTIFIED BY 'x'"]),
    denied(&["ALTER USER freshet_near_other IDENTIFIED BY 'x'"]),
    say(&["CREATE USER freshet_near_other"]),
    denied(&["CREATE USER freshet_nobody"]),
    say(&["RENAME USER freshet_nobody TO freshet_nobody2"]),
    denied(&["RENAME TABLE quiet TO quiet2"]),
    on(MySql, &["CLONE LOCAL DATA DIRECTORY '/nowhere/x'"]),
    denied(&["GRANT SELECT ON freshet_near.* TO freshet_near_other"]),
    say(&["ALTER TABLE nothing ADD COLUMN a INT"]),
    say(&["ALTER TABLE log DROP COLUMN nothing"]),
    denied(&["DROP DATABASE freshet_near"]),
    after(&["SET query_cache_wlock_invalidate = ON"], &["LOCK TABLES log WRITE", "UNLOCK TABLES"]),
    say(&["CALL understood()"]),
    say(&["SET @a = 1"]),
    say(&["SET sql_mode = ''"]),
    say(&["GRANT SELECT ON freshet_far.* TO freshet_near_other", "REVOKE SELECT ON freshet_far.* FROM freshet_near_other"]),
    say(&["ANALYZE TABLE log"]),
    say(&["FLUSH TABLES log"]),
    say(&["SET GLOBAL long_query_time = 10"]),
    Noise { on: All, denied: false, first: &[], again: Login },
    Noise { on: All, denied: false, first: &["BEGIN", "INSERT INTO log VALUES (1)"], again: Idle },
    // The control: it changes a column that is read, in every row that is read, so it must show a loss.
    say(&["UPDATE quiet SET k = k + 1, c = k"]),
];
