//! How often commands were carried out and how long they took, by what they are called in `stats_mysql_commands_counters`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use freshet_cache::{STRIPES, stripe};

/// The bounds of the columns `cnt_100us` to `cnt_10s`, in microseconds; `cnt_INFs` has what took longer.
const BOUNDS_US: [u64; 11] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000];

/// How many columns of these there are.
pub const TIMES: usize = BOUNDS_US.len() + 1;

/// The commands by their first words. Where two begin alike, the longer one comes first; the last is whatever has no place of its
/// own.
const COMMANDS: [(&str, &[&str]); 55] = [
    ("ALTER_TABLE", &["ALTER", "TABLE"]),
    ("ALTER_VIEW", &["ALTER", "VIEW"]),
    ("ANALYZE_TABLE", &["ANALYZE", "TABLE"]),
    ("BEGIN", &["BEGIN"]),
    ("CALL", &["CALL"]),
    ("CHANGE_MASTER", &["CHANGE"]),
    ("COMMIT", &["COMMIT"]),
    ("CREATE_DATABASE", &["CREATE", "DATABASE"]),
    ("CREATE_DATABASE", &["CREATE", "SCHEMA"]),
    ("CREATE_INDEX", &["CREATE", "INDEX"]),
    ("CREATE_TABLE", &["CREATE", "TABLE"]),
    ("CREATE_TEMPORARY", &["CREATE", "TEMPORARY"]),
    ("CREATE_TRIGGER", &["CREATE", "TRIGGER"]),
    ("CREATE_USER", &["CREATE", "USER"]),
    ("CREATE_VIEW", &["CREATE", "VIEW"]),
    ("DEALLOCATE", &["DEALLOCATE"]),
    ("DELETE", &["DELETE"]),
    ("DESCRIBE", &["DESCRIBE"]),
    ("DESCRIBE", &["DESC"]),
    ("DROP_DATABASE", &["DROP", "DATABASE"]),
    ("DROP_DATABASE", &["DROP", "SCHEMA"]),
    ("DROP_INDEX", &["DROP", "INDEX"]),
    ("DROP_TABLE", &["DROP", "TABLE"]),
    ("DROP_TRIGGER", &["DROP", "TRIGGER"]),
    ("DROP_USER", &["DROP", "USER"]),
    ("DROP_VIEW", &["DROP", "VIEW"]),
    ("EXECUTE", &["EXECUTE"]),
    ("EXPLAIN", &["EXPLAIN"]),
    ("FLUSH", &["FLUSH"]),
    ("GRANT", &["GRANT"]),
    ("INSERT", &["INSERT"]),
    ("KILL", &["KILL"]),
    ("LOAD", &["LOAD"]),
    ("LOCK_TABLE", &["LOCK"]),
    ("OPTIMIZE", &["OPTIMIZE"]),
    ("PREPARE", &["PREPARE"]),
    ("PURGE", &["PURGE"]),
    ("RELEASE_SAVEPOINT", &["RELEASE"]),
    ("RENAME_TABLE", &["RENAME", "TABLE"]),
    ("REPLACE", &["REPLACE"]),
    ("RESET_MASTER", &["RESET", "MASTER"]),
    ("RESET_SLAVE", &["RESET", "SLAVE"]),
    ("REVOKE", &["REVOKE"]),
    ("ROLLBACK_SAVEPOINT", &["ROLLBACK", "TO"]),
    ("ROLLBACK", &["ROLLBACK"]),
    ("SAVEPOINT", &["SAVEPOINT"]),
    (FOR_UPDATE, &[]),
    ("SELECT", &["SELECT"]),
    ("SET", &["SET"]),
    ("SHOW", &["SHOW"]),
    ("START_TRANSACTION", &["START"]),
    ("TRUNCATE_TABLE", &["TRUNCATE"]),
    ("UPDATE", &["UPDATE"]),
    ("USE", &["USE"]),
    ("UNKNOWN", &[]),
];
const FOR_UPDATE: &str = "SELECT_FOR_UPDATE";
const UNKNOWN: usize = COMMANDS.len() - 1;

/// Where a statement with this digest's text is counted.
pub(super) fn place(digest_text: &[u8]) -> u8 {
    let text = digest_text.trim_ascii().strip_prefix(b"(").unwrap_or(digest_text);
    let mut words =
        text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').filter(|it| !it.is_empty());
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is = |word: &[u8], known: Option<&&str>| {
        known.is_none_or(|known| word.eq_ignore_ascii_case(known.as_bytes()))
    };
    let found = COMMANDS
        .iter()
        .position(|(_, known)| !known.is_empty() && is(first, known.first()) && is(second, known.get(1)));
    let locks = || text.to_ascii_uppercase().trim_ascii_end().ends_with(b"FOR UPDATE");
    let at = match found {
        Some(at) if COMMANDS[at].0 == "SELECT" && locks() => at - 1,
        Some(at) => at,
        None => UNKNOWN,
    };
    at as u8
}

/// What one command has cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRow {
    /// What it is called.
    pub name: &'static str,
    /// The sum of its times, in microseconds.
    pub time_us: u64,
    /// How often it was carried out, by how long it took.
    pub counts: [u64; TIMES],
}

/// One thread's counters.
#[derive(Debug)]
struct Counts([[AtomicU64; TIMES + 1]; COMMANDS.len()]);

/// Counters by command, each thread's on cache lines of its own.
#[derive(Debug)]
pub(super) struct Commands(Box<[Counts]>);

impl Default for Commands {
    fn default() -> Self {
        let counts = || Counts(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))));
        Self((0..STRIPES).map(|_| counts()).collect())
    }
}

impl Commands {
    /// Counts a statement that the server has carried out.
    pub(super) fn add(&self, place: u8, time: Duration) {
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let counters = &self.0[stripe()].0[usize::from(place).min(UNKNOWN)];
        counters[TIMES].fetch_add(time_us, Ordering::Relaxed);
        counters[BOUNDS_US.partition_point(|bound| *bound < time_us)].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts so many answers from memory, whose times are not measured: they are below the least bound.
    pub(super) fn add_hits(&self, place: u8, hits: u64) {
        self.0[stripe()].0[usize::from(place).min(UNKNOWN)][0].fetch_add(hits, Ordering::Relaxed);
    }

    /// All commands. `hits`: how many answers from memory are to be added, by place.
    pub(super) fn rows(&self, hits: &[u64; COUNT]) -> Vec<CommandRow> {
        let mut rows: Vec<CommandRow> = Vec::new();
        for (at, (name, _)) in COMMANDS.iter().enumerate() {
            let sum =
                |of: usize| self.0.iter().map(|counts| counts.0[at][of].load(Ordering::Relaxed)).sum::<u64>();
            let mut counts: [u64; TIMES] = std::array::from_fn(sum);
            counts[0] += hits[at];
            // Two ways to say the same stand side by side.
            match rows.last_mut().filter(|row| row.name == *name) {
                None => rows.push(CommandRow { name, time_us: sum(TIMES), counts }),
                Some(row) => {
                    row.time_us += sum(TIMES);
                    row.counts.iter_mut().zip(counts).for_each(|(all, more)| *all += more);
                }
            }
        }
        rows
    }
}

/// How many places there are.
pub(super) const COUNT: usize = COMMANDS.len();

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> &'static str {
        COMMANDS[usize::from(place(text.as_bytes()))].0
    }

    #[test]
    fn commands_are_told_by_their_first_words() {
        for (text, expected) in [
            ("SELECT ?", "SELECT"),
            ("(select ? ) union (select ?)", "SELECT"),
            ("SELECT a FROM t WHERE b=? for update", "SELECT_FOR_UPDATE"),
            ("desc t", "DESCRIBE"),
            ("CREATE SCHEMA x", "CREATE_DATABASE"),
            ("CREATE FUNCTION f", "UNKNOWN"),
            ("ROLLBACK TO a", "ROLLBACK_SAVEPOINT"),
            ("ROLLBACK", "ROLLBACK"),
            ("selects", "UNKNOWN"),
            ("", "UNKNOWN"),
        ] {
            assert_eq!(name(text), expected, "{text}");
        }
    }

    #[test]
    fn times_are_counted_below_their_bounds() {
        let commands = Commands::default();
        let select = place(b"SELECT ?");
        for us in [0, 100, 101, 10_000_000, 10_000_001] {
            commands.add(select, Duration::from_micros(us));
        }
        let mut hits = [0; COUNT];
        hits[usize::from(select)] = 7;
        let rows = commands.rows(&hits);
        let row = rows.iter().find(|row| row.name == "SELECT").expect("there is one");
        assert_eq!(row.counts, [9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(row.time_us, 20_000_202);
        assert_eq!(rows.iter().filter(|row| row.name == "DESCRIBE").count(), 1);
    }
}
