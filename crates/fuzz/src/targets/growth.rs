//! How work grows with the text: a piece that is repeated eight times as often takes about eight times as long.

use std::time::Duration;

use freshet_sql::{
    Modes, TableDefinition, TableName, analyse, binlog_effect, effects, key_text, read, routine_body,
    row_reads_of, row_write, row_writes, shape, strip_hint,
};
use rustix::time::{ClockId, clock_gettime};

use super::statements;
use crate::mutate::words;
use crate::target::{Finding, Outcome, Target, behaviour, hold};

/// The target.
pub static TARGET: Target = Target {
    name: "growth",
    promise: "the work of every reading grows no faster than the text, but for a constant",
    is_text: true,
    seeds,
    check,
};

/// The longer text is so much longer.
const TIMES: usize = 8;
/// It may take so many times longer: quadratic work would take 64 times longer.
const GROWTH_MAX: u32 = 30;
/// Bytes of the shorter text: some work is bounded, and grows only up to there.
const SHORT_BYTES: [usize; 2] = [3 << 10, 24 << 10];
/// Less work than this for a byte is not judged: a single pass takes some 30 ns.
const WORK_MIN: Duration = Duration::from_nanos(150);
/// The least of so many measurements counts, since others disturb.
const MEASUREMENTS: usize = 3;
/// So many comparisons have to say the same.
const ROUNDS: usize = 4;

/// Which word the repeated piece begins at and how many words it has, in two bytes, then the statement.
fn seeds() -> Vec<Vec<u8>> {
    let statement = |at: u8, count: u8, text: &str| [&[at, count, 0], text.as_bytes()].concat();
    let mut all = vec![
        statement(9, 6, "INSERT INTO t VALUES (?, 1),(?, 1)"),
        statement(6, 3, "SELECT ((((a)))) FROM t"),
        statement(8, 4, "SELECT a FROM t, u"),
        statement(1, 3, "SELECT 1; SELECT 2"),
        statement(2, 11, "WITH|c AS (T c S (E T ** F "),
        statement(2, 2, "WITH AS ("),
    ];
    for (at, seed) in statements::seeds().into_iter().enumerate().step_by(7) {
        all.push([&[at as u8, 1 + at as u8 % 9][..], &seed].concat());
    }
    all
}

fn check(input: &[u8]) -> Outcome {
    let ([at, count], seed) = crate::input::head::<2>(input);
    let (modes, text) = statements::modes_and_text(seed);
    let parts = words(text);
    let at = usize::from(at) % parts.len().max(1);
    let end = (at + 1 + usize::from(count) % 12).min(parts.len());
    let Some(piece) = parts.get(at..end).map(<[&[u8]]>::concat).filter(|piece| !piece.is_empty()) else {
        return Ok(0);
    };
    let (before, after) = (parts[..at].concat(), parts[end..].concat());
    let repeated = |bytes: usize| {
        [before.clone(), piece.repeat((bytes / piece.len()).next_multiple_of(2)), after.clone()].concat()
    };
    for bytes in SHORT_BYTES {
        let (short, long) = (repeated(bytes), repeated(bytes * TIMES));
        for (name, reading) in READINGS {
            grows(name, |text| reading(text, modes), &short, &long)?;
        }
    }
    Ok(behaviour((piece.len().min(40), parts.len().min(60))))
}

type Reading = fn(&[u8], Modes);

/// Every reading of a statement.
const READINGS: [(&str, Reading); 11] = [
    ("read", |text, modes| drop(read(text, modes))),
    ("effects", |text, modes| drop(effects(text, modes))),
    ("shape", |text, modes| drop(shape(text, modes))),
    ("analyse", |text, modes| drop(analyse(text, modes))),
    ("key_text", |text, modes| drop(key_text(text, modes, true))),
    ("strip_hint", |text, modes| drop(strip_hint(text, modes))),
    ("row_write", |text, modes| drop(row_write(text, modes))),
    ("row_writes", |text, modes| {
        drop(row_writes(text, modes, &definition));
    }),
    ("row_reads_of", |text, modes| drop(row_reads_of(text, modes, &[TableName::bare("t")], &definition))),
    ("routine_body", |text, modes| drop(routine_body(text, modes))),
    ("binlog_effect", |text, modes| drop(binlog_effect(text, "s", modes.flavor, false))),
];

fn definition(_: &TableName) -> Option<TableDefinition<'static>> {
    let columns = ["id", "a", "b", "c"].map(str::to_owned).into_iter().collect();
    Some(TableDefinition::Table { columns, shows_all: true })
}

/// Compares the work for both texts.
fn grows(name: &str, reading: impl Fn(&[u8]), short: &[u8], long: &[u8]) -> Result<(), Finding> {
    let judged = WORK_MIN * u32::try_from(long.len()).unwrap_or(u32::MAX);
    if work(&reading, long) < judged {
        return Ok(());
    }
    let least = |text: &[u8]| (0..MEASUREMENTS).map(|_| work(&reading, text)).min().unwrap_or_default();
    // What others do to the caches of the processor passes; what a text does stays.
    let mut last = None;
    for _ in 0..ROUNDS {
        let (long_work, short_work) = (least(long), least(short));
        if long_work <= (short_work * GROWTH_MAX).max(judged) {
            return Ok(());
        }
        last = Some((short_work, long_work));
    }
    let rule = format!("{name} grows with its text");
    hold!(last.is_none(), &rule, "{} bytes and {} bytes took {last:?}", short.len(), long.len());
    Ok(())
}

/// Returns the time that this thread itself works: others do not count.
fn work(reading: &impl Fn(&[u8]), text: &[u8]) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    let begun = now();
    reading(text);
    now().saturating_sub(begun)
}
