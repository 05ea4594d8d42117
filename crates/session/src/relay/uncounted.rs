//! Corrections of the server's counters of a session. The counters lack statements that were answered from memory, and include
//! Freshet's own questions on the session's connection. The same holds for transaction statements that Freshet answers.
//!
//! A native query cache counts its hits in `Questions`. MariaDB also counts them in `Com_select`, and MySQL does not: on MySQL,
//! `Com_select` and `Qcache_hits` together are all SELECTs. Freshet counts in the same way, by the kind of server. Rows that were not read
//! are in no `Handler_…`.

use freshet_sql::Flavor;
use freshet_upstream::lane::CarriedSoFar;

/// Statements that begin, mark or end a transaction, or set the session up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controls {
    Begin,
    Commit,
    Rollback,
    Savepoint,
    RollbackTo,
    Release,
    /// SET.
    Set,
    /// USE and COM_INIT_DB.
    Use,
}

/// How many statements of each kind were answered here, or sent by Freshet itself.
pub(crate) type Controlled = [u64; 8];

/// How many statements of one session were answered here since its counters began.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ServedCounts {
    /// Texts of SELECTs.
    pub(crate) texts: u64,
    /// Texts that the server has answered, on another connection.
    pub(crate) carried: u64,
    /// Executions by COM_STMT_EXECUTE.
    pub(crate) commands: u64,
    /// Executions by EXECUTE as a text.
    pub(crate) by_name: u64,
    /// Texts that EXECUTE IMMEDIATE prepared and executed at once.
    pub(crate) immediate: u64,
    /// Texts that were prepared by COM_STMT_PREPARE.
    pub(crate) prepared: u64,
    /// Closed statements that the server does not know.
    pub(crate) closed: u64,
    /// Reset statements that the server does not know.
    pub(crate) resets: u64,
    /// COM_PING.
    pub(crate) pings: u64,
    /// Statements of a transaction or for the session that the server need not know of, or hears of later.
    pub(crate) controlled: Controlled,
    /// Statements of `controlled` that were executed by COM_STMT_EXECUTE.
    pub(crate) controlled_by_command: u64,
}

impl ServedCounts {
    /// Counts the last answer as this kind of execution instead of a text.
    pub(crate) fn count_execution(&mut self, by: Repeated) {
        self.texts -= 1;
        match by {
            Repeated::Text => self.texts += 1,
            Repeated::ByCommand => self.commands += 1,
            Repeated::ByName => self.by_name += 1,
            Repeated::Immediate => self.immediate += 1,
        }
    }

    /// Returns how many answers came from memory.
    pub(crate) fn answers(&self) -> u64 {
        self.texts + self.commands + self.by_name + self.immediate
    }

    /// Counts a transaction statement that was answered here.
    pub(crate) fn controls(&mut self, what: Controls, by_command: bool) {
        self.controlled[what as usize] += 1;
        self.controlled_by_command += u64::from(by_command);
    }
}

/// The commands on one connection that its client did not send.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Own {
    statements: u64,
    selects: u64,
    sets: u64,
    shows_of_tables: u64,
    shows_of_variables: u64,
    executions: u64,
    executions_by_name: u64,
    immediate: u64,
    prepared: u64,
    made: u64,
    pings: u64,
    controlled: Controlled,
}

/// How a SELECT is executed that is answered from memory, or repeated on its client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeated {
    Text,
    ByCommand,
    ByName,
    /// MariaDB's EXECUTE IMMEDIATE.
    Immediate,
}

impl Repeated {
    /// Returns the kind of an EXECUTE.
    pub(crate) fn of_execute(text: &[u8]) -> Self {
        const IMMEDIATE: &[u8] = b"immediate";
        // The part before the executed string. A quoted name is only miscounted.
        let head = text.split(|byte| matches!(byte, b'\'' | b'"')).next().unwrap_or_default();
        let is_immediate = head.windows(IMMEDIATE.len()).any(|word| word.eq_ignore_ascii_case(IMMEDIATE));
        if is_immediate { Self::Immediate } else { Self::ByName }
    }
}

/// The first words of the statements by which Freshet has the server begin, mark or end a client's transaction.
const CONTROLS: &[(&str, Controls)] = &[
    ("START TRANSACTION", Controls::Begin),
    ("COMMIT", Controls::Commit),
    ("ROLLBACK AND", Controls::Rollback),
    ("SAVEPOINT", Controls::Savepoint),
    ("RELEASE SAVEPOINT", Controls::Release),
    ("USE", Controls::Use),
];

impl Own {
    /// Counts a text.
    pub(crate) fn asked(&mut self, text: &str) {
        self.statements += 1;
        let begins =
            |words: &str| text.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words));
        self.selects += u64::from(begins("SELECT"));
        self.sets += u64::from(begins("SET"));
        self.shows_of_tables += u64::from(begins("SHOW CREATE TABLE"));
        self.shows_of_variables += u64::from(begins("SHOW SESSION VARIABLES"));
        if begins("EXECUTE") {
            self.executions += 1;
            self.executions_by_name += 1;
            self.selects += 1;
        }
        for (words, what) in CONTROLS {
            self.controlled[*what as usize] += u64::from(begins(words));
        }
    }

    /// Counts SELECTs of other sessions that were carried, and the transactions around them.
    pub(crate) fn carried(&mut self, carried: CarriedSoFar) {
        let CarriedSoFar { texts, executions, preparations, begun, ended } = carried;
        self.statements += texts + executions + begun + ended;
        self.controlled[Controls::Begin as usize] += begun;
        self.controlled[Controls::Commit as usize] += ended;
        self.selects += texts + executions;
        self.executions += executions;
        self.prepared += preparations;
    }

    /// Counts a repeated SELECT of the client's.
    pub(crate) fn repeated(&mut self, what: Repeated) {
        self.statements += 1;
        self.selects += 1;
        self.executions += u64::from(what != Repeated::Text);
        self.executions_by_name += u64::from(what == Repeated::ByName);
        self.immediate += u64::from(what == Repeated::Immediate);
    }

    /// Counts a preparation at the server of a statement that was prepared from memory.
    pub(crate) fn made(&mut self) {
        self.made += 1;
    }

    /// Counts a ping.
    pub(crate) fn pinged(&mut self) {
        self.pings += 1;
    }

    /// Counts a statement of the client's that was prepared once more, and is closed again.
    pub(crate) fn prepared(&mut self) {
        self.prepared += 1;
    }
}

/// Both corrections, for the answer to a client that asks for its counters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uncounted {
    pub(crate) served: ServedCounts,
    pub(crate) own: Own,
    pub(crate) flavor: Flavor,
}

/// A counter, and the function that returns by how much the server's value is too low and too high.
struct Counter {
    name: &'static str,
    of: fn(&Uncounted) -> (u64, u64),
}

static COUNTERS: &[Counter] = &[
    Counter { name: "Com_admin_commands", of: |it| (it.served.pings, it.own.pings) },
    Counter { name: "Com_begin", of: |it| it.controlled(Controls::Begin) },
    Counter { name: "Com_change_db", of: |it| it.controlled(Controls::Use) },
    Counter { name: "Com_commit", of: |it| it.controlled(Controls::Commit) },
    Counter { name: "Com_execute_immediate", of: |it| (it.served.immediate, it.own.immediate) },
    Counter { name: "Com_execute_sql", of: |it| (it.served.by_name, it.own.executions_by_name) },
    Counter { name: "Com_release_savepoint", of: |it| it.controlled(Controls::Release) },
    Counter { name: "Com_rollback", of: |it| it.controlled(Controls::Rollback) },
    Counter { name: "Com_rollback_to_savepoint", of: |it| it.controlled(Controls::RollbackTo) },
    Counter { name: "Com_savepoint", of: |it| it.controlled(Controls::Savepoint) },
    Counter { name: "Com_select", of: |it| (it.selects(), it.own.selects) },
    Counter { name: "Com_set_option", of: |it| (it.controlled(Controls::Set).0, it.own.sets) },
    Counter { name: "Com_show_create_table", of: |it| (0, it.own.shows_of_tables) },
    Counter { name: "Com_show_variables", of: |it| (0, it.own.shows_of_variables) },
    Counter { name: "Com_stmt_execute", of: |it| (it.executions(), it.own.executions) },
    Counter { name: "Com_stmt_close", of: |it| it.closed() },
    Counter { name: "Com_stmt_prepare", of: |it| it.prepared() },
    Counter { name: "Com_stmt_reset", of: |it| (it.served.resets, 0) },
    Counter {
        name: "Questions",
        of: |it| (it.served.answers() + it.served.controlled.iter().sum::<u64>(), it.own.statements),
    },
];

impl Uncounted {
    fn selects(&self) -> u64 {
        if self.flavor == Flavor::MariaDb { self.served.answers() } else { self.served.carried }
    }

    fn executions(&self) -> u64 {
        let ServedCounts { commands, by_name, immediate, controlled_by_command, .. } = self.served;
        commands + by_name + immediate + controlled_by_command
    }

    /// Returns both numbers for prepared statements.
    fn prepared(&self) -> (u64, u64) {
        let (served, own) = (&self.served, &self.own);
        (served.immediate + served.prepared, own.immediate + own.prepared + own.made)
    }

    /// Returns both numbers for closed statements.
    fn closed(&self) -> (u64, u64) {
        let (served, own) = (&self.served, &self.own);
        (served.immediate + served.closed, own.immediate + own.prepared)
    }

    fn controlled(&self, what: Controls) -> (u64, u64) {
        (self.served.controlled[what as usize], self.own.controlled[what as usize])
    }

    /// Returns the value of a counter, from the server's value; `None` if the server's value is right, or if this is no counter.
    pub(crate) fn value(&self, name: &[u8], said: &[u8]) -> Option<String> {
        let counter = COUNTERS.iter().find(|known| name.eq_ignore_ascii_case(known.name.as_bytes()))?;
        let said: u64 = std::str::from_utf8(said).ok()?.parse().ok()?;
        let (short_of, too_many) = (counter.of)(self);
        Some((said + short_of).saturating_sub(too_many).to_string())
    }
}

/// Whether a text resets the counters of its session.
pub(crate) fn flushes_status(text: &[u8]) -> bool {
    let mut words = text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"flush"))
        && words.any(|word| word.eq_ignore_ascii_case(b"status"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_is_counted_as_native_caches_count_it() {
        let mut served =
            ServedCounts { texts: 5, carried: 1, commands: 3, by_name: 2, ..ServedCounts::default() };
        served.controls(Controls::Begin, false);
        served.controls(Controls::Commit, true);
        let mut own = Own::default();
        own.asked("START TRANSACTION READ ONLY");
        own.asked("SELECT DATABASE()");
        own.asked("SET @x = 1");
        own.repeated(Repeated::ByCommand);
        let value = |flavor, name: &str| {
            Uncounted { served, own, flavor }.value(name.as_bytes(), b"20").unwrap_or_default()
        };
        for (name, mysql, mariadb) in [
            ("Questions", "28", "28"),
            ("COM_SELECT", "19", "28"),
            ("Com_stmt_execute", "25", "25"),
            ("Com_begin", "20", "20"),
            ("Com_commit", "21", "21"),
            ("Com_rollback", "20", "20"),
            ("Com_execute_sql", "22", "22"),
            ("Com_set_option", "19", "19"),
            ("Com_insert", "", ""),
        ] {
            assert_eq!(
                (value(Flavor::MySql, name), value(Flavor::MariaDb, name)),
                (mysql.into(), mariadb.into())
            );
        }
        assert!(flushes_status(b"FLUSH STATUS") && flushes_status(b"flush local status;"));
        assert!(!flushes_status(b"FLUSH TABLES") && !flushes_status(b"SHOW STATUS"));
    }
}
