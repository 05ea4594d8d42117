//! How often commands were carried out and how long they took, by their names in `stats_mysql_commands_counters`.

use std::time::Duration;

use freshet_cache::Striped;

/// The bounds of the columns `cnt_100us` to `cnt_10s`, in microseconds; `cnt_INFs` counts longer times.
const BOUNDS_US: [u64; 11] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000];

/// How many such columns there are.
const TIMES: usize = BOUNDS_US.len() + 1;

/// The commands by their first words; some words have alternatives. If two commands begin alike, the longer one comes first. The last
/// two are not recognised by their first words.
const COMMANDS: [(&str, &[&str]); COUNT] = [
    ("ALTER_TABLE", &["ALTER", "TABLE"]),
    ("ALTER_VIEW", &["ALTER", "VIEW"]),
    ("ANALYZE_TABLE", &["ANALYZE", "TABLE"]),
    ("BEGIN", &["BEGIN"]),
    ("CALL", &["CALL"]),
    ("CHANGE_MASTER", &["CHANGE"]),
    ("COMMIT", &["COMMIT"]),
    ("CREATE_DATABASE", &["CREATE", "DATABASE|SCHEMA"]),
    ("CREATE_INDEX", &["CREATE", "INDEX"]),
    ("CREATE_TABLE", &["CREATE", "TABLE"]),
    ("CREATE_TEMPORARY", &["CREATE", "TEMPORARY"]),
    ("CREATE_TRIGGER", &["CREATE", "TRIGGER"]),
    ("CREATE_USER", &["CREATE", "USER"]),
    ("CREATE_VIEW", &["CREATE", "VIEW"]),
    ("DEALLOCATE", &["DEALLOCATE"]),
    ("DELETE", &["DELETE"]),
    ("DESCRIBE", &["DESCRIBE|DESC"]),
    ("DROP_DATABASE", &["DROP", "DATABASE|SCHEMA"]),
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
    ("SELECT", &["SELECT"]),
    ("SET", &["SET"]),
    ("SHOW", &["SHOW"]),
    ("START_TRANSACTION", &["START"]),
    ("TRUNCATE_TABLE", &["TRUNCATE"]),
    ("UPDATE", &["UPDATE"]),
    ("USE", &["USE"]),
    ("SELECT_FOR_UPDATE", &[]),
    ("UNKNOWN", &[]),
];
/// How many commands there are.
pub(super) const COUNT: usize = 52;
const FOR_UPDATE: usize = COUNT - 2;
const UNKNOWN: usize = COUNT - 1;

/// Returns the place at which a statement with this digest's text is counted.
pub(super) fn place(digest_text: &[u8]) -> u8 {
    let mut words = digest_text
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .filter(|word| !word.is_empty());
    let begins = [words.next().unwrap_or_default(), words.next().unwrap_or_default()];
    let is = |word: &[u8], known: &str| known.split('|').any(|way| word.eq_ignore_ascii_case(way.as_bytes()));
    let found = COMMANDS.iter().position(|(_, known)| {
        !known.is_empty() && begins.iter().zip(*known).all(|(word, known)| is(word, known))
    });
    let at = match found {
        Some(at) if COMMANDS[at].0 == "SELECT" && ends_for_update(digest_text) => FOR_UPDATE,
        found => found.unwrap_or(UNKNOWN),
    };
    at as u8
}

fn ends_for_update(digest_text: &[u8]) -> bool {
    const END: &[u8] = b"FOR UPDATE";
    let text = digest_text.trim_ascii_end();
    let end = text.len().checked_sub(END.len()).and_then(|at| text.get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(END))
}

/// The cost of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRow {
    /// The command's name.
    pub name: &'static str,
    /// The sum of its times, in microseconds.
    pub time_us: u64,
    /// How often the command was carried out, by its time.
    pub counts: [u64; TIMES],
}

/// Counters by command: for each, the counts by time, and the sum of the times.
#[derive(Debug, Default)]
pub(super) struct Commands(Box<Striped<{ COUNT * COLUMNS }>>);

const COLUMNS: usize = TIMES + 1;

const fn column(place: u8, of: usize) -> usize {
    place as usize * COLUMNS + of
}

impl Commands {
    /// Counts a statement that the server has carried out.
    pub(super) fn add(&self, place: u8, time: Duration) {
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.add_many(column(place, TIMES), time_us);
        self.0.add(column(place, BOUNDS_US.partition_point(|bound| *bound < time_us)));
    }

    /// Counts this many answers from memory. Their times are not measured: they are below the least bound.
    pub(super) fn add_hits(&self, place: u8, hits: u64) {
        self.0.add_many(column(place, 0), hits);
    }

    /// Returns all commands. `hits`: how many answers from memory are added, by place.
    pub(super) fn rows(&self, hits: &[u64; COUNT]) -> Vec<CommandRow> {
        let row = |(place, &(name, _)): (u8, &(&'static str, _))| {
            let sum = |of: usize| self.0.sum(column(place, of));
            let mut counts: [u64; TIMES] = std::array::from_fn(sum);
            counts[0] += hits[usize::from(place)];
            CommandRow { name, time_us: sum(TIMES), counts }
        };
        (0..).zip(&COMMANDS).map(row).collect()
    }
}

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
