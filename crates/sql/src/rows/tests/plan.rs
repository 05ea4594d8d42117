//! The plan forms of some statements, each as it is shown, and what is refused. `plan.txt` has them; a form that differs is printed.

use super::*;

/// Those of [`columns_of`], `id` of each an INT that is not NULL, `c` a VARCHAR, `y` hidden, all others INTs.
fn typed(table: &TableName) -> Vec<InputColumn> {
    let Some(TableDefinition::Table { columns, .. }) = columns_of(table) else { return Vec::new() };
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
    let shown = |modes| match plan_of(text, modes) {
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
        is_planned(text);
    }
    let mut planned = 0;
    super::evaluator::some(1, 2000, &mut |text| {
        planned += usize::from(is_planned(text));
        text.to_owned()
    });
    assert!(planned > 300, "{planned} random statements have a plan");
}

fn plan_of(text: &str, modes: Modes) -> Result<QueryPlan, Unplanned> {
    ParsedSelect::read(text.as_bytes(), modes, &|table| columns_of(table))?.plan(&typed)
}

/// Whether a statement has a plan. The plan is on the tables that the pins are on.
fn is_planned(text: &str) -> bool {
    let plan = plan_of(text, MYSQL);
    let (Ok(plan), Some(reads)) = (plan, row_reads(text.as_bytes(), MYSQL, &columns_of)) else {
        return false;
    };
    let planned: Vec<&TableName> = plan.named.iter().filter_map(|input| input.table.as_ref()).collect();
    let read: Vec<&TableName> = reads.occurrences.iter().map(|occurrence| &occurrence.table).collect();
    assert_eq!(planned, read, "{text}");
    true
}
