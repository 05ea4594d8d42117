//! `freshet import`: a configuration file of ProxySQL's, taken over into the admin port's tables.

use std::fmt::Write;
use std::path::Path;

use crate::exit::Exit;

/// What was taken over, and what was not.
pub fn run(directory: &Path, file: &str) -> (String, Exit) {
    let imported = match freshet_admin::import(directory, Path::new(file)) {
        Ok(imported) => imported,
        Err(error) => return (format!("nothing was taken over: {error}\n"), Exit::Failed),
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
    let _ = writeln!(text, "\nThe next start with this state_dir and admin_listen has it running.");
    (text, Exit::Done)
}
