//! A summary of all tables: Freshet's statements a second as a multiple of those of direct.

use crate::benchmark::column::{Column, Role, groups, server_of};
use crate::benchmark::measured::{Measured, Row};
use crate::benchmark::plan::Across;

use crate::benchmark::results::Results;

use super::grid::{self, line, of_group};

/// Returns the table of ratios, and the notes below it.
pub fn lines(results: &Results<'_>) -> Vec<String> {
    let measured = || results.tables.iter().filter(|measured| measured.table.across == Across::Clients);
    let mut clients = results.options.clients();
    for more in measured().flat_map(|measured| measured.table.clients(results.options)) {
        if !clients.contains(&more) {
            clients.push(more);
        }
    }
    let clients: Vec<String> = clients.iter().map(u32::to_string).collect();
    let mut lines = vec![String::new(), "## In short".to_owned(), String::new()];
    lines.push(
        "Statements a second through Freshet, as multiples of the server's own, by the number of clients:"
            .to_owned(),
    );
    lines.push(String::new());
    let mut head = vec!["table".to_owned(), "server".to_owned()];
    head.extend(clients.clone());
    lines.extend(grid::head(&head, 2));
    for measured in measured() {
        for group in groups(results.columns) {
            let Some((direct, freshet)) = pair(results.columns, group) else { continue };
            let mut cells = vec![name(measured), server_of(results.columns, group)];
            cells.extend(clients.iter().map(|clients| ratio(measured, clients, freshet, direct)));
            lines.push(line(&cells));
        }
    }
    lines.extend(of_other_rows(results));
    lines
}

/// Returns the same for tables whose rows are not numbers of clients, with the hits.
fn of_other_rows(results: &Results<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for measured in results.tables.iter().filter(|measured| measured.table.across != Across::Clients) {
        let mut head = vec!["table".to_owned(), "server".to_owned()];
        head.extend(measured.rows.iter().map(|row| row.at.clone()));
        lines.push(String::new());
        lines.extend(grid::head(&head, 2));
        for group in groups(results.columns) {
            let Some((direct, freshet)) = pair(results.columns, group) else { continue };
            let mut cells = vec![name(measured), server_of(results.columns, group)];
            cells.extend(measured.rows.iter().map(|row| {
                let hits = row.spread(freshet, |sample| sample.hits).median;
                format!("**{:.2}** at {hits:.0} %", row.ratio(freshet, direct).median)
            }));
            lines.push(line(&cells));
        }
    }
    lines
}

fn name(measured: &Measured) -> String {
    format!("{}: {}", measured.table.id, measured.table.title)
}

/// Returns the places of the server itself and of Freshet in a group.
fn pair(columns: &[Column], group: &str) -> Option<(usize, usize)> {
    let of = |role| of_group(columns, group).find(|(_, column)| column.role == role).map(|(at, _)| at);
    Some((of(Role::Direct)?, of(Role::Freshet)?))
}

fn ratio(measured: &Measured, at: &str, freshet: usize, direct: usize) -> String {
    let row = measured.rows.iter().find(|row| row.at == at);
    row.map_or_else(String::new, |row: &Row| format!("**{:.2}**", row.ratio(freshet, direct).median))
}
