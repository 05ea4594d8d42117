//! Tables in Markdown.

use crate::benchmark::column::Column;

/// Returns the columns of a group, with their places.
pub fn of_group<'a>(columns: &'a [Column], group: &'a str) -> impl Iterator<Item = (usize, &'a Column)> {
    columns.iter().enumerate().filter(move |(_, column)| column.is_in(group))
}

/// Returns a line of a table.
pub fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Returns a table's head: the first `left` columns are aligned to the left, the others to the right.
pub fn head(names: &[String], left: usize) -> [String; 2] {
    let rule = "---|".repeat(left) + &"---:|".repeat(names.len().saturating_sub(left));
    [line(names), format!("|{rule}")]
}
