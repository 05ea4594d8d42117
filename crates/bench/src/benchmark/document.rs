//! The report's text.

mod details;
mod gains;
mod grid;
mod head;
mod summary;

use std::fs;
use std::io;

use super::chart::plots;
use super::column::{groups, server_of};
use super::measured::Measured;
use super::results::Results;

/// Writes the text and its plots.
pub fn write(results: &Results<'_>) -> io::Result<()> {
    let out = &results.options.out;
    for measured in results.tables {
        for group in groups(results.columns) {
            let server = server_of(results.columns, group);
            for (name, plot) in plots(measured, results.columns, group, &server) {
                fs::write(out.join(format!("{name}.svg")), plot.svg())?;
            }
        }
    }
    fs::write(out.join("report.md"), text(results, &head::Machine::now()))
}

fn text(results: &Results<'_>, machine: &head::Machine) -> String {
    let mut lines = head::lines(results, machine);
    lines.extend(summary::lines(results));
    for measured in results.tables {
        lines.extend(table(results, measured));
    }
    lines.join("\n") + "\n"
}

fn table(results: &Results<'_>, measured: &Measured) -> Vec<String> {
    let (table, columns) = (measured.table, results.columns);
    let mut lines = vec![String::new(), format!("## Table {}: {}", table.id, table.title), String::new()];
    lines.push(table.about.to_owned());
    for group in groups(columns) {
        let server = server_of(columns, group);
        lines.extend([String::new(), format!("### {server}"), String::new()]);
        for (name, plot) in plots(measured, columns, group, &server) {
            lines.push(format!("![{}: {}]({name}.svg)", plot.title, plot.up));
        }
        lines.push(String::new());
        lines.extend(gains::lines(columns, measured, group));
        lines.push(String::new());
        lines.extend(details::lines(columns, measured, group));
    }
    lines
}

#[cfg(test)]
mod tests;
