//! A table in the articles' form: statements a second, and the gain of each column.

use crate::benchmark::column::{Column, Role};
use crate::benchmark::measured::{Measured, Row};
use crate::benchmark::numbers::{ratio, whole};
use crate::benchmark::plan::Across;

use super::grid::{self, line, of_group};

/// Returns the gains of a group's columns over its direct column.
pub fn lines(columns: &[Column], measured: &Measured, group: &str) -> Vec<String> {
    let direct = of_group(columns, group).find(|(_, column)| column.role == Role::Direct).map(|(at, _)| at);
    let published = measured.table.published;
    let mut head = vec![measured.table.across.name().to_owned()];
    let notes = measured.rows.first().map(|row| row.notes.as_slice()).unwrap_or_default();
    head.extend(notes.iter().map(|(name, _)| (*name).to_owned()));
    let is_measured = |at: usize| measured.rows.iter().any(|row| !row.cell(at).is_empty());
    let shown = || of_group(columns, group).filter(|(at, _)| is_measured(*at));
    head.extend(shown().map(|(_, column)| column.title.clone()));
    let is_foretold = |at: usize| measured.rows.iter().any(|row| row.foretold(at).is_some());
    let foretold = of_group(columns, group).map(|(at, _)| at).find(|at| is_foretold(*at));
    head.extend(foretold.map(|_| "curve said".to_owned()));
    if !published.is_empty() {
        head.push("published".to_owned());
    }
    let mut lines = grid::head(&head, 1).to_vec();
    for row in measured.shown() {
        let mut cells = vec![row.at.clone()];
        cells.extend(row.notes.iter().map(|(_, note)| note.clone()));
        let of_column = |(at, column)| cell(row, at, column, direct, measured.table.across);
        cells.extend(shown().map(of_column));
        let said = |at| row.foretold(at).map_or_else(String::new, |hits| format!("{hits:.0} % hits"));
        cells.extend(foretold.map(said));
        if !published.is_empty() {
            let found = published.iter().find(|(at, _)| *at == row.at);
            cells.push(found.map(|(_, gain)| (*gain).to_owned()).unwrap_or_default());
        }
        lines.push(line(&cells));
    }
    lines
}

fn cell(row: &Row, at: usize, column: &Column, direct: Option<usize>, across: Across) -> String {
    if row.cell(at).is_empty() {
        return String::new();
    }
    let rate = whole(row.spread(at, |sample| sample.per_second).median);
    let gain = match direct {
        Some(direct) if direct != at => format!(" · **{}**", ratio(row.ratio(at, direct))),
        _ => String::new(),
    };
    let hits = match across {
        Across::Sizes if column.has_cache() => {
            format!(" · {:.0} % hits", row.spread(at, |sample| sample.hits).median)
        }
        _ => String::new(),
    };
    let by_client = row.cell(at).iter().filter(|sample| sample.is_by_client()).count();
    let client = if 2 * by_client > row.cell(at).len() { " ▲" } else { "" };
    format!("{rate}{gain}{hits}{client}")
}
