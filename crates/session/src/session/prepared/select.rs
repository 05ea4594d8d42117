//! The facts of a prepared SELECT.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use freshet_sql::{Flavor, Hint, Modes, contains_ignoring_case};

use crate::preparations::{CompiledExecution, Preparation, TypedBy};

/// Whether a server of this kind may resolve types of this text's parameters by the values of an execution, for all later executions:
/// MariaDB does so only for ABS().
pub(super) fn resolves_by_values(text: &[u8], flavor: Flavor) -> bool {
    flavor == Flavor::MySql || contains_ignoring_case(text, b"abs")
}

/// A prepared SELECT. The preparation has decided what its text means ([`super::PreparedIn`]).
#[derive(Debug)]
pub(crate) struct PreparedSelect {
    pub(crate) text: Arc<[u8]>,
    pub(crate) hint: Option<Hint>,
    /// Answers may depend on the values of earlier executions.
    pub(super) remembers: bool,
    compiled: Mutex<Option<Arc<CompiledExecution>>>,
}

impl PreparedSelect {
    /// Makes a SELECT that the server prepares.
    pub(crate) fn new(text: &[u8], flavor: Flavor, hint: Option<Hint>) -> Self {
        Self {
            text: text.into(),
            hint: freshet_sql::skips_cache(text, Modes::new(flavor)).then_some(Hint::NoCache).or(hint),
            remembers: resolves_by_values(text, flavor),
            compiled: Mutex::default(),
        }
    }

    /// Makes a SELECT that is prepared from memory.
    pub(super) fn here(preparation: &Preparation) -> Self {
        Self {
            text: Arc::clone(&preparation.text),
            hint: preparation.hint,
            remembers: preparation.remembers,
            compiled: Mutex::new(Some(Arc::clone(&preparation.compiled))),
        }
    }

    /// Whether answers may depend on the values of earlier executions.
    pub(crate) fn remembers(&self) -> bool {
        self.remembers
    }

    /// Returns what was compiled of the SELECT before.
    pub(crate) fn compiled(&self) -> Option<Arc<CompiledExecution>> {
        self.lock_compiled().clone()
    }

    /// Calls `with` on what decides the types of the parameters, as far as is known.
    pub(super) fn with_typed_by<T>(&self, with: impl FnOnce(&TypedBy) -> T) -> T {
        let compiled = self.lock_compiled();
        with(compiled.as_ref().map_or(&TypedBy::Values, |compiled| &compiled.typed_by))
    }

    fn lock_compiled(&self) -> MutexGuard<'_, Option<Arc<CompiledExecution>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores what was compiled of the SELECT.
    pub(crate) fn keep_compiled(&self, compiled: &Arc<CompiledExecution>) {
        *self.lock_compiled() = Some(Arc::clone(compiled));
    }
}
