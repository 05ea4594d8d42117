//! `freshet import`: a configuration file of ProxySQL's, taken over into the admin port's tables.

use std::fmt::Write;
use std::path::Path;

use freshet_rules::{Defaults, Rule, RuleSet};

use crate::exit::{Exit, Report};

/// Returns why a query rule with these values cannot be carried out, if it cannot.
fn refuses(values: &[Option<String>]) -> Option<String> {
    let compiled = Rule::read(values).and_then(|rule| RuleSet::compile(vec![rule], Defaults::default()));
    compiled.err().map(|error| error.to_string())
}

/// Returns a report of what was taken over, and what was not.
pub fn run(directory: &Path, file: &str) -> Report {
    let imported = match freshet_admin::import(directory, Path::new(file), &Rule::COLUMNS, refuses) {
        Ok(imported) => imported,
        Err(error) => return Report::new(format!("nothing was taken over: {error}\n"), Exit::Failed),
    };
    let mut text = String::new();
    for (table, count) in &imported.rows {
        let _ = writeln!(text, "{table}: {count} rows");
    }
    if !imported.left.is_empty() {
        let _ = writeln!(text, "\nNot taken over:");
        for left in &imported.left {
            let _ = writeln!(text, "  {left}");
        }
    }
    if !imported.refused.is_empty() {
        let _ = writeln!(
            text,
            "\nTaken over, but Freshet cannot carry them out. While they are active, no query rule counts:"
        );
        for refused in &imported.refused {
            let _ = writeln!(text, "  {refused}");
        }
    }
    let _ = writeln!(text, "\nThe next start with this state_dir and admin_listen has it running.");
    Report::new(text, Exit::Done)
}
