//! Identities for environments, and what plain statements made of them before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::HashMap;

use super::Environment;

/// How many environments, and how many transitions between them, are kept. An application uses a handful; a client
/// that makes up new ones by the thousand gets no cache beyond this, and harms nobody.
const ENVIRONMENTS_MAX: usize = 65_536;
const TRANSITIONS_MAX: usize = 16_384;

/// A plain statement in an environment.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Transition {
    /// All that is known of the environment before it.
    pub(crate) before: Vec<u8>,
    pub(crate) statement: Vec<u8>,
}

/// All environments that have been seen. A lock is taken when a session's environment changes, never for a hit.
#[derive(Debug, Default)]
pub(crate) struct Environments {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By all that is known of them.
    known: HashMap<Vec<u8>, Arc<Environment>>,
    /// The identities, by what can change a result.
    ids: HashMap<Vec<u8>, u32>,
    after: HashMap<Transition, Arc<Environment>>,
}

impl Environments {
    /// The one environment equal to `environment`, with its identity. At the bound, one without an identity that
    /// refuses to be cached.
    pub(crate) fn intern(&self, mut environment: Environment) -> Arc<Environment> {
        let mut inner = self.lock();
        if let Some(known) = inner.known.get(&environment.whole) {
            return Arc::clone(known);
        }
        if inner.known.len() >= ENVIRONMENTS_MAX {
            environment.refused = Some("more environments than are kept");
            return Arc::new(environment);
        }
        let next = u32::try_from(inner.ids.len()).unwrap_or(u32::MAX).saturating_add(1);
        environment.id = *inner.ids.entry(environment.keyed.clone()).or_insert(next);
        let environment = Arc::new(environment);
        inner.known.insert(environment.whole.clone(), Arc::clone(&environment));
        environment
    }

    /// What `transition` led to before.
    pub(crate) fn after(&self, transition: &Transition) -> Option<Arc<Environment>> {
        self.lock().after.get(transition).cloned()
    }

    /// Notes what `transition` led to.
    pub(crate) fn remember(&self, transition: Transition, after: &Arc<Environment>) {
        let mut inner = self.lock();
        if inner.after.len() >= TRANSITIONS_MAX {
            inner.after.clear();
        }
        inner.after.insert(transition, Arc::clone(after));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
