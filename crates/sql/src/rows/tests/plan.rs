//! The plan forms of some statements, each as it is shown, and what is refused. `plan.txt` has them; a form that differs is printed.

use super::*;

/// Those of [`columns_of`], `id` of each an INT that is not NULL, `c` a VARCHAR, `y` hidden, all others INTs.
pub(super) fn typed(table: &TableName) -> Vec<InputColumn> {
    let Some(Definition::Table { columns, .. }) = columns_of(table) else { return Vec::new() };
    let integer = DataType {
        name: "int".into(),
        is_unsigned: false,
        length: None,
        scale: None,
        collation: None,
        names: None,
    };
    let text = DataType {
        name: "varchar".into(),
        length: Some(20),
        collation: Some("ascii_bin".into()),
        ..integer.clone()
    };
    let column = |name: &String| InputColumn {
        name: name.clone(),
        data_type: Some(if name == "c" { text.clone() } else { integer.clone() }),
        is_nullable: name != "id",
        is_hidden: name == "y",
    };
    columns.iter().map(column).collect()
}

const SNAPSHOTS: &str = include_str!("plan.txt");

fn plan(text: &str) -> String {
    let shown = |modes| match query_plan(text.as_bytes(), modes, &columns_of, &typed) {
        Ok(plan) => plan.to_string(),
        Err(refused) => refused.to_string(),
    };
    let plan = shown(MYSQL);
    assert_eq!(plan, shown(MARIADB), "{text}");
    plan
}

#[test]
fn statements_are_what_has_to_be_done_for_them() {
    let snapshots = SNAPSHOTS.trim_end().split("\n\n");
    let found: Vec<String> = snapshots
        .map(|snapshot| {
            let text = snapshot.lines().next().unwrap_or_default();
            format!("{text}\n{}", plan(text))
        })
        .collect();
    let found = found.join("\n\n") + "\n";
    assert!(found == SNAPSHOTS, "{found}");
}

#[test]
fn what_has_a_plan_reads_the_tables_that_its_pins_are_on() {
    for text in SNAPSHOTS.split("\n\n").filter_map(|snapshot| snapshot.lines().next()) {
        let (Ok(plan), Some(reads)) = (
            query_plan(text.as_bytes(), MYSQL, &columns_of, &typed),
            row_reads(text.as_bytes(), MYSQL, &columns_of),
        ) else {
            continue;
        };
        let planned: Vec<&TableName> = plan.named.iter().filter_map(|input| input.table.as_ref()).collect();
        let read: Vec<&TableName> = reads.occurrences.iter().map(|occurrence| &occurrence.table).collect();
        assert_eq!(planned, read, "{text}");
    }
}
