//! The plots of a table.

use super::column::{Column, Role};
use super::measured::{Measured, Row};
use super::plan::Across;
use super::sample::{Sample, Spread};
use super::svg::{Line, Plot, Point};

/// The first colour of columns of other kinds.
const OTHERS: usize = 4;

/// The label of the plot of hits.
const HITS: &str = "percent of the reads answered from memory";

/// A number of a round, by its name.
type Number = (&'static str, fn(&Sample) -> f64);

/// Returns what is plotted of a table of a group, each with the end of its file's name.
pub fn plots(measured: &Measured, columns: &[Column], group: &str, server: &str) -> Vec<(String, Plot)> {
    let name = format!("{}-{group}", measured.table.id);
    let rate: Number = ("statements a second", |sample| sample.per_second);
    let hits: Number = (HITS, |sample| sample.hits);
    let mut plots = vec![(name.clone(), plot(measured, columns, group, server, rate))];
    if measured.table.across == Across::Sizes {
        plots.push((format!("{name}-hits"), plot(measured, columns, group, server, hits)));
    }
    plots
}

fn plot(measured: &Measured, columns: &[Column], group: &str, server: &str, number: Number) -> Plot {
    let mut others = OTHERS;
    let mut lines = Vec::new();
    for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.is_in(group)) {
        let colour = match column.role {
            Role::Direct => 0,
            Role::Native => 1,
            Role::Freshet => 2,
            Role::Floor => 3,
            Role::Other => {
                others += 1;
                others - 1
            }
        };
        let point = |row: &Row| (!row.cell(at).is_empty()).then(|| point(row.spread(at, number.1)));
        if number.0 == HITS && !column.has_cache() {
            continue;
        }
        let points: Vec<_> = measured.rows.iter().map(point).collect();
        if points.iter().any(Option::is_some) {
            lines.push(Line { name: column.title.clone(), colour, points });
        }
    }
    if number.0 == HITS {
        let best = |row: &Row| row.best.map(|best| Point { middle: best, least: best, most: best });
        lines.push(Line {
            name: "at best".to_owned(),
            colour: 3,
            points: measured.rows.iter().map(best).collect(),
        });
    }
    let across = match measured.table.across {
        Across::Clients | Across::Channels => "clients",
        Across::Depths => "statements at once",
        Across::Sizes => "query_cache_size, as a share of what all results take",
    };
    Plot {
        title: format!("{} ({server})", measured.table.title),
        across: across.to_owned(),
        up: number.0.to_owned(),
        places: measured.rows.iter().map(|row| row.at.clone()).collect(),
        lines,
    }
}

fn point(spread: Spread) -> Point {
    Point { middle: spread.median, least: spread.least, most: spread.most }
}
