//! A file of ProxySQL's, taken over while no Freshet runs.

use std::path::Path;

use crate::admin::StartError;
use crate::config_file::{self, Imported};
use crate::lock::Lock;
use crate::store::Store;

/// Puts what a file of ProxySQL's says into the tables on disk in `directory`, which no process has.
///
/// # Errors
/// Whatever stands in the way. Nothing is changed then.
pub fn import(directory: &Path, file: &Path) -> Result<Imported, StartError> {
    let named = |error| StartError::Directory(directory.display().to_string(), error);
    std::fs::create_dir_all(directory).map_err(named)?;
    let _lock = Lock::take(directory).map_err(named)?;
    let mut store = Store::open(directory)?;
    let imported =
        config_file::read(file).and_then(|text| config_file::load(&mut store, ("disk", None), &text));
    imported.map_err(|refusal| StartError::Configuration(refusal.to_string()))
}
