//! Restoring at the start: the values of SET PERSIST and the created caches.

use freshet_sql::{Flavor, Scope};

use crate::created::FileError;
use crate::persisted::PersistError;
use crate::shared::Shared;
use crate::variables::{self, Locals, VariableTarget};

/// ER_TRUNCATED_WRONG_VALUE.
const TRUNCATED: u16 = 1292;

/// Restores the values that SET PERSIST has kept.
///
/// # Errors
/// The file cannot be read, or has something else in it.
pub fn load_persisted(shared: &Shared) -> Result<(), PersistError> {
    shared.persisted.load(|name, value| {
        let flavor = shared.upstream.server().map_or(Flavor::MySql, |server| server.flavor);
        let mut target = VariableTarget {
            globals: &shared.globals,
            cache: &shared.cache,
            locals: &mut Locals::default(),
            flavor,
            upstream: &shared.upstream,
            semisync: shared.options.semisync,
            resized: &shared.resized,
        };
        let variable = variables::find(name).ok_or_else(|| format!("there is no variable {name} of ours"))?;
        match variable.set(&mut target, Scope::Global, &variables::value_of(value)) {
            Ok(warning) => match warning.filter(|warning| warning.code == TRUNCATED) {
                Some(warning) => Err(warning.message),
                None => Ok(()),
            },
            Err(error) => Err(String::from_utf8_lossy(&error.message).into_owned()),
        }
    })?;
    shared.ask_for_semisync();
    Ok(())
}

/// Restores the created caches from before a restart.
///
/// # Errors
/// The file cannot be read, or has something else in it.
pub fn load_created(shared: &Shared) -> Result<(), FileError> {
    shared.created.load()
}
