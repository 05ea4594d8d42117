mod derived;
mod evaluator;
mod hostile;
mod plan;
mod properties;
mod reads;
mod several;
mod slots;
mod views;
mod writes;

use super::*;
use crate::modes::Flavor;

const MYSQL: Modes = Modes::new(Flavor::MySql);
const MARIADB: Modes = Modes::new(Flavor::MariaDb);

/// Returns the tables there are: `t`, `u` and `w` share columns; of `v` nothing is known. The views are those of [`views`].
fn columns_of(table: &TableName) -> Option<TableDefinition<'static>> {
    let columns: &[&str] = match table.name.as_str() {
        "t" => &["id", "a", "b", "c", "date", "end", "case", "order"],
        "u" => &["id", "tid", "x", "y"],
        "w" => &["id", "uid", "z"],
        "sbtest1" => &["id", "k", "c", "pad"],
        name => return views::definition(name),
    };
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Some(TableDefinition::Table { columns, shows_all: true })
}

fn show_data(data: &[Datum]) -> String {
    data.iter().map(Datum::to_string).collect::<Vec<_>>().join(",")
}

fn show_pin(pin: &Pin) -> String {
    let column = &pin.column;
    let mut shown = match &pin.condition {
        Condition::OneOf(data) => format!("{column}={}", show_data(data)),
        Condition::Between { low, high } => {
            let low = low.as_ref().map(|(datum, inc)| format!("{}{}", if *inc { "[" } else { "(" }, datum));
            let high = high.as_ref().map(|(datum, inc)| format!("{}{}", datum, if *inc { "]" } else { ")" }));
            format!("{column}:{}..{}", low.unwrap_or_default(), high.unwrap_or_default())
        }
        Condition::Like(datum) => format!("{column}~{}", datum),
        Condition::IsNull => format!("{column}:null"),
    };
    for (occurrence, column) in &pin.via {
        shown += &format!("<{occurrence}.{column}");
    }
    shown
}

fn show_pins(pins: &[Pin]) -> String {
    pins.iter().map(show_pin).collect::<Vec<_>>().join(" & ")
}

fn show_alternatives(alternatives: &[Vec<Pin>]) -> String {
    alternatives.iter().map(|pins| show_pins(pins)).collect::<Vec<_>>().join(" | ")
}

/// Returns the occurrences with their pins, as `t[a=1 & b=2 | c=3] u[]`; `-` if nothing is known.
fn reads_in(text: &str, modes: Modes) -> String {
    let Some(reads) = row_reads(text.as_bytes(), modes, &columns_of) else {
        return "-".to_owned();
    };
    let show = |occurrence: &Occurrence| match occurrence.expanded {
        true => format!("{}:", occurrence.table.name),
        false => format!("{}[{}]", occurrence.table.name, show_alternatives(&occurrence.alternatives)),
    };
    reads.occurrences.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn reads(text: &str) -> String {
    let shown = reads_in(text, MYSQL);
    assert_eq!(shown, reads_in(text, MARIADB), "{text}");
    shown
}

/// Checks a table of statements and pins, and names every row that differs.
fn check(rows: &[(&str, &str)], show: fn(&str) -> String) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|&(text, expected)| (text, expected, show(text)))
        .filter(|(_, expected, shown)| expected != shown)
        .map(|(text, expected, shown)| format!("{text}\n  expected {expected}\n  found    {shown}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
