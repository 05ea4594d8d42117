//! The cost of each column, and how long its answers took.

use crate::benchmark::column::Column;
use crate::benchmark::measured::{Measured, Row};
use crate::benchmark::numbers::{short, whole, wobble};
use crate::benchmark::sample::Sample;

use super::grid::{self, line, of_group};

/// The numbers of a detail, and the format in which they are written.
type Detail = (&'static str, fn(&Sample) -> f64, fn(f64) -> String);

const DETAILS: [Detail; 13] = [
    ("p50", |sample| sample.p50_us, short),
    ("p99", |sample| sample.p99_us, short),
    ("p99.9", |sample| sample.p999_us, short),
    ("server CPU", |sample| sample.server_us, short),
    ("proxy CPU", |sample| sample.proxy_us, short),
    ("of it user", |sample| sample.proxy_user_us, short),
    ("client CPU", |sample| sample.client_us, short),
    ("client cores", |sample| sample.client_cores, short),
    ("busy %", |sample| sample.busy, whole),
    ("hits %", |sample| sample.hits, short),
    ("refused %", |sample| sample.refused, short),
    ("server MiB", |sample| sample.server_mib, whole),
    ("proxy MiB", |sample| sample.proxy_mib, whole),
];

/// Returns a group's details, folded, and its latencies at a given rate.
pub fn lines(columns: &[Column], measured: &Measured, group: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(row) = &measured.at_rate {
        lines.extend([format!("Latencies at a given rate, {}:", row.at), String::new()]);
        lines.extend(table("rate", columns, group, [("given", row)].into_iter()));
        lines.push(String::new());
    }
    lines.extend([
        "<details><summary>Latencies, processor time, memory, hits</summary>".to_owned(),
        String::new(),
    ]);
    let rows = measured.rows.iter().map(|row| (row.at.as_str(), row));
    lines.extend(table(measured.table.across.name(), columns, group, rows));
    lines.extend([String::new(), "</details>".to_owned()]);
    lines
}

fn table<'a>(
    first: &str,
    columns: &[Column],
    group: &str,
    rows: impl Iterator<Item = (&'a str, &'a Row)>,
) -> Vec<String> {
    let mut head: Vec<String> = [first, "column", "statements/s", "spread"].map(str::to_owned).to_vec();
    head.extend(DETAILS.iter().map(|(name, _, _)| (*name).to_owned()));
    let mut lines = grid::head(&head, 2).to_vec();
    for (name, row) in rows {
        for (at, column) in of_group(columns, group).filter(|(at, _)| !row.cell(*at).is_empty()) {
            let rate = row.spread(at, |sample| sample.per_second);
            let mut cells = vec![name.to_owned(), column.title.clone(), whole(rate.median), wobble(rate)];
            cells.extend(DETAILS.iter().map(|(_, number, written)| written(row.spread(at, number).median)));
            lines.push(line(&cells));
        }
    }
    lines
}
