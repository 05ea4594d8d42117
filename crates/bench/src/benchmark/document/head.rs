//! The head of the report: how it was measured.

use std::fs;
use std::thread;

use crate::benchmark::column::{groups, server_of};
use crate::benchmark::measured::Measured;
use crate::benchmark::numbers::whole;
use crate::benchmark::plan::{ROWS, TABLES};
use crate::benchmark::sample::Spread;

use crate::benchmark::results::Results;

/// The machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The name that its processors report.
    pub processor: String,
    /// The number of cores that this program can use.
    pub cores: usize,
    /// Its memory in GiB.
    pub gib: f64,
    /// The version of its Linux kernel.
    pub linux: String,
}

impl Machine {
    /// Returns the machine that this program runs on.
    pub fn now() -> Machine {
        let of = |file: &str, name: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        let kib = of("/proc/meminfo", "MemTotal");
        let kib: f64 = kib.split(' ').next().and_then(|kib| kib.parse().ok()).unwrap_or_default();
        Machine {
            processor: of("/proc/cpuinfo", "model name"),
            cores: thread::available_parallelism().map_or(1, usize::from),
            gib: kib / 1_048_576.0,
            linux: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        }
    }
}

/// Returns the head of the report.
pub fn lines(results: &Results<'_>, machine: &Machine) -> Vec<String> {
    let options = results.options;
    let servers: Vec<_> =
        groups(results.columns).iter().map(|group| server_of(results.columns, group)).collect();
    let mut lines = vec!["# Freshet beside the server itself".to_owned(), String::new()];
    lines.push(format!(
        "Clients, Freshet and servers share {} cores ({}, {:.0} GiB, Linux {}), so **the ratios count and not the rates**. All columns \
         of a table are measured in turns: {} rounds of {} ms each. Each number is the median of the rounds, ratios are taken within a \
         round. In brackets are the least and the most, and behind ± is half of the distance between them, in percent of the median. The \
         data: {TABLES} tables of {} rows in sysbench's form, on {}.",
        machine.cores,
        machine.processor,
        machine.gib,
        machine.linux,
        options.rounds,
        whole(options.round().as_millis() as f64),
        whole(f64::from(ROWS)),
        servers.join(" and "),
    ));
    lines.push(String::new());
    lines.extend(options.says.iter().map(|says| format!("- {says}")));
    let seconds = results.took.as_secs();
    lines.push(format!("- It took {} min {} s. {}", seconds / 60, seconds % 60, others(results)));
    // An error may have many lines; an item of a list has one.
    lines.extend(
        results
            .failed
            .iter()
            .filter_map(|failed| failed.lines().next())
            .map(|failed| format!("- **{failed}**")),
    );
    lines.extend(COLUMNS.iter().map(|line| (*line).to_owned()));
    lines
}

/// The explanations of the columns.
const COLUMNS: [&str; 8] = [
    "- *direct*: the server itself, its query cache off. Each column has a server of its own, all alike.",
    "- *native cache*: MariaDB with its query cache on, of the same size as Freshet's.",
    "- *floor*: a server that writes an answer which lies ready. No server answers for less.",
    "- *p50, p99, p99.9*: microseconds from the question to the end of its answer. Where a rate is given, they count from the moment \
     at which the question was due, so that a pause of the server counts for all that waited for it.",
    "- *write p50, write p99*: the same for writes alone: updates, deletes, inserts, and the COMMIT behind them.",
    "- *CPU*: microseconds of processor time for each statement, of the server, of what stands before it (*of it user*: in its own code), and of the clients.",
    "- *server connections*: what the server says amidst a round (`Threads_connected`), with the one connection that asks it.",
    "- ▲: the clients, who share one thread, took more than half of a core while no core was idle. Such a column could be faster than it \
     shows.",
];

/// Returns the sentence that says how much of the machine other processes used.
fn others(results: &Results<'_>) -> String {
    let rows = results.tables.iter().flat_map(Measured::all);
    let others = rows.flat_map(|row| row.cells.iter().flatten()).map(|sample| sample.others);
    let others = Spread::of(others.filter(|others| !others.is_nan()));
    format!(
        "Other processes took {:.0} % of the machine in the median round, and {:.0} % in the worst. Above a few percent, measure again.",
        others.median, others.most
    )
}
