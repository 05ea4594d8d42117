//! A configuration file of ProxySQL's, taken over while no Freshet runs.

use std::path::Path;

use crate::admin::StartError;
use crate::config_file::{self, Imported};
use crate::error::Refusal;
use crate::lock::Lock;
use crate::store::Store;

/// Puts the settings of a ProxySQL file into the tables on disk in `directory`, which no process uses. `rules`: the columns of query
/// rules, and a function that says why a rule with these values cannot be carried out.
///
/// # Errors
/// The first obstacle. Nothing is changed then.
pub fn import(
    directory: &Path,
    file: &Path,
    columns: &[&str],
    refuses: impl Fn(&[Option<String>]) -> Option<String>,
) -> Result<Imported, StartError> {
    let named = |error| StartError::Directory(directory.display().to_string(), error);
    std::fs::create_dir_all(directory).map_err(named)?;
    let _lock = Lock::take(directory).map_err(named)?;
    let mut store = Store::open(directory)?;
    let refused = |refusal: Refusal| StartError::Configuration(refusal.to_string());
    let text = config_file::read(file).map_err(refused)?;
    let mut imported = config_file::load(&mut store, "disk", None, &text).map_err(refused)?;
    let query = format!(
        "SELECT {} FROM disk.mysql_query_rules WHERE active = 1 ORDER BY rule_id",
        columns.join(", ")
    );
    let rules = store.rows(&query).map_err(refused)?;
    imported.refused = rules.iter().filter_map(|rule| refuses(rule)).collect();
    Ok(imported)
}
