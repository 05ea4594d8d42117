//! The cost of each column, and how long its answers took.

use crate::benchmark::column::Column;
use crate::benchmark::measured::{Measured, Row};
use crate::benchmark::numbers::{short, steadiness, whole, wobble};
use crate::benchmark::plan::Table;
use crate::benchmark::sample::{Sample, Spread};

use super::grid::{self, line, of_group};

/// The numbers of a detail, and the format in which their spread is written.
type Detail = (&'static str, fn(&Sample) -> f64, fn(Spread) -> String);

const LATENCIES: [Detail; 3] = [
    ("p50", |sample| sample.p50_us, steadiness),
    ("p99", |sample| sample.p99_us, steadiness),
    ("p99.9", |sample| sample.p999_us, median),
];
/// Only of tables with statements that write.
const WRITES: [Detail; 2] = [
    ("write p50", |sample| sample.write_p50_us, steadiness),
    ("write p99", |sample| sample.write_p99_us, steadiness),
];
const COSTS: [Detail; 11] = [
    ("server CPU", |sample| sample.server_us, steadiness),
    ("proxy CPU", |sample| sample.proxy_us, steadiness),
    ("of it user", |sample| sample.proxy_user_us, median),
    ("client CPU", |sample| sample.client_us, median),
    ("client cores", |sample| sample.client_cores, median),
    ("busy %", |sample| sample.busy, whole_median),
    ("hits %", |sample| sample.hits, median),
    ("refused %", |sample| sample.refused, median),
    ("server connections", |sample| sample.connections, whole_median),
    ("server MiB", |sample| sample.server_mib, whole_median),
    ("proxy MiB", |sample| sample.proxy_mib, whole_median),
];

fn median(spread: Spread) -> String {
    short(spread.median)
}

fn whole_median(spread: Spread) -> String {
    whole(spread.median)
}

/// Returns a group's details, folded, and its latencies at a given rate.
pub fn lines(columns: &[Column], measured: &Measured, group: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let grid = Grid { columns, group, details: details(measured.table) };
    if let Some(row) = &measured.at_rate {
        lines.extend([format!("Latencies at a given rate, {}:", row.at), String::new()]);
        lines.extend(grid.lines("rate", [("given", row)].into_iter()));
        lines.push(String::new());
    }
    lines.extend([
        "<details><summary>Latencies, processor time, memory, hits</summary>".to_owned(),
        String::new(),
    ]);
    let rows = measured.shown().map(|row| (row.at.as_str(), row));
    lines.extend(grid.lines(measured.table.across.name(), rows));
    lines.extend([String::new(), "</details>".to_owned()]);
    lines
}

fn details(table: &Table) -> Vec<Detail> {
    let writes = if table.mix.writes() { WRITES.as_slice() } else { &[] };
    [LATENCIES.as_slice(), writes, &COSTS].concat()
}

/// The form of the tables of a group.
struct Grid<'a> {
    columns: &'a [Column],
    group: &'a str,
    details: Vec<Detail>,
}

impl Grid<'_> {
    fn lines<'r>(&self, first: &str, rows: impl Iterator<Item = (&'r str, &'r Row)>) -> Vec<String> {
        let mut head: Vec<String> = [first, "column", "statements/s", "spread"].map(str::to_owned).to_vec();
        head.extend(self.details.iter().map(|(name, _, _)| (*name).to_owned()));
        let mut lines = grid::head(&head, 2).to_vec();
        for (name, row) in rows {
            let shown = of_group(self.columns, self.group).filter(|(at, _)| !row.cell(*at).is_empty());
            for (at, column) in shown {
                let rate = row.spread(at, |sample| sample.per_second);
                let mut cells = vec![name.to_owned(), column.title.clone(), whole(rate.median), wobble(rate)];
                let cell = |(_, number, written): &Detail| written(row.spread(at, number));
                cells.extend(self.details.iter().map(cell));
                lines.push(line(&cells));
            }
        }
        lines
    }
}
