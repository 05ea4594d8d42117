//! Identities for environments, and what plain statements made of them before.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::HashMap;

use super::Environment;

/// How many environments of one user are kept, and how many transitions between them. An application uses a handful. A
/// user who makes up more starts anew, with other identities: what was stored for the old ones is not found again, and
/// nobody else notices.
const ENVIRONMENTS_MAX: usize = 2048;
const TRANSITIONS_MAX: usize = 2048;

/// Identities are never given twice; there are as many as fit into a key beside the variables that belong to it.
const IDENTITIES_MAX: u32 = 1 << 29;

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
    users: Mutex<HashMap<Vec<u8>, Share>>,
    given: AtomicU32,
}

/// One user's environments. There are as many users as the server has let in.
#[derive(Debug, Default)]
struct Share {
    /// By all that is known of them.
    known: HashMap<Vec<u8>, Arc<Environment>>,
    /// The identities, by what can change a result.
    ids: HashMap<Vec<u8>, u32>,
    after: HashMap<Transition, Arc<Environment>>,
}

impl Environments {
    /// The one environment of `user` equal to `environment`, with its identity.
    pub(crate) fn intern(&self, user: &[u8], mut environment: Environment) -> Arc<Environment> {
        let mut users = self.lock();
        let share = users.entry(user.to_vec()).or_default();
        if let Some(known) = share.known.get(&environment.whole) {
            return Arc::clone(known);
        }
        if share.known.len() >= ENVIRONMENTS_MAX {
            *share = Share::default();
        }
        environment.id = match share.ids.get(&environment.keyed) {
            Some(id) => *id,
            None => self.next_id(),
        };
        if environment.id >= IDENTITIES_MAX {
            environment.refused = Some("more environments than can be told apart");
            return Arc::new(environment);
        }
        share.ids.insert(environment.keyed.clone(), environment.id);
        let environment = Arc::new(environment);
        share.known.insert(environment.whole.clone(), Arc::clone(&environment));
        environment
    }

    /// What `transition` led `user` to before.
    pub(crate) fn after(&self, user: &[u8], transition: &Transition) -> Option<Arc<Environment>> {
        self.lock().get(user)?.after.get(transition).cloned()
    }

    /// Notes what `transition` led `user` to.
    pub(crate) fn remember(&self, user: &[u8], transition: Transition, after: &Arc<Environment>) {
        let mut users = self.lock();
        let share = users.entry(user.to_vec()).or_default();
        if share.after.len() >= TRANSITIONS_MAX {
            share.after.clear();
        }
        share.after.insert(transition, Arc::clone(after));
    }

    /// From 1 on; at the bound it stays there.
    fn next_id(&self) -> u32 {
        let next = |given: u32| Some(given.saturating_add(1).min(IDENTITIES_MAX));
        // Only uniqueness matters, which one atomic gives.
        self.given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(0).saturating_add(1)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Share>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
