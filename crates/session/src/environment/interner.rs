//! The identities of environments, and the recorded effects of plain statements on them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::HashMap;

use super::Environment;

/// How many environments of one account are kept, and how many transitions between them. An application uses a handful. An
/// account that invents more starts anew, with other identities: answers stored for its old identities are not found again, and
/// no other account is affected.
const ENVIRONMENTS_MAX: usize = 2048;
const TRANSITIONS_MAX: usize = 2048;

/// How many accounts have environments that are kept; the account that is unused for longest is dropped first. Accounts are the server's:
/// all names that an anonymous account (`''@'%'`) lets in belong to one account, and share its limits.
const ACCOUNTS_MAX: usize = 4096;

/// The most identities. Each is given only once; a key has room for this many beside its other bits.
const IDENTITIES_MAX: u32 = 1 << 28;

/// The most identities for one account, so that it cannot use up those of all others. After that its new environments are not
/// cached; with a thousand new ones a second that takes four hours.
const IDENTITIES_PER_ACCOUNT_MAX: u32 = 1 << 24;

/// Why an environment beyond one of these bounds is not cached.
const TOO_MANY: &str = "more environments than can be told apart";

/// A plain statement in an environment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Transition {
    /// The environment before the statement: the whole of it, or what is the session's own.
    pub(crate) before: Vec<u8>,
    pub(crate) statement: Vec<u8>,
}

/// An environment under query rules, or of a session that keeps rights. Answers to the same text are kept apart if rules may have decided
/// differently, or if other sessions do not have these rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RuledEnvironment {
    /// The environment's identity.
    pub(crate) environment: u32,
    /// The generation of the rules.
    pub(crate) generation: u64,
    /// The client's class.
    pub(crate) class: u32,
    /// The rules' decision on statements that are not looked up as the client sent them; 0 for statements that are.
    pub(crate) variant: u64,
    /// The epoch of rights of statements whose answers may be stale; `None` for all others.
    pub(crate) bargain: Option<u64>,
    /// The version of the policies of caches (`CreatedCaches::policies`) if a policy lets the answers be stale; 0 if a rule does.
    pub(crate) policies: u64,
    /// The only session with this identity, because of rights that it has kept; `None` for shared identities.
    pub(crate) keeper: Option<u64>,
}

/// How many ruled environments are kept for one account.
const RULED_MAX: usize = 4 * ENVIRONMENTS_MAX;

/// All environments that Freshet has seen. A lock is taken when a session's environment changes, never for a hit.
#[derive(Debug, Default)]
pub(crate) struct Environments {
    accounts: Mutex<Accounts>,
    given: AtomicU32,
    keepers: AtomicU64,
}

#[derive(Debug, Default)]
struct Accounts {
    /// The shares by account, as the server writes it.
    shares: HashMap<Vec<u8>, Share>,
    /// Counts the uses, to find the share that is unused for longest.
    uses: u64,
}

/// One account's environments.
#[derive(Debug, Default)]
struct Share {
    /// The environments, by all their bytes.
    known: HashMap<Vec<u8>, Arc<Environment>>,
    /// The identities, by the bytes that can change a result.
    ids: HashMap<Vec<u8>, u32>,
    /// The environment after a transition.
    after: HashMap<Transition, Arc<Environment>>,
    /// The identities of ruled environments.
    ruled: HashMap<RuledEnvironment, u32>,
    /// How many identities the account has been given.
    given: u32,
    used: u64,
}

impl Accounts {
    fn share(&mut self, account: &[u8]) -> &mut Share {
        if self.shares.len() >= ACCOUNTS_MAX && !self.shares.contains_key(account) {
            self.make_room();
        }
        self.uses += 1;
        let share = self.shares.entry(account.to_vec()).or_default();
        share.used = self.uses;
        share
    }

    fn make_room(&mut self) {
        let oldest =
            self.shares.iter().min_by_key(|(_, share)| share.used).map(|(account, _)| account.clone());
        oldest.into_iter().for_each(|account| drop(self.shares.remove(&account)));
    }
}

impl Share {
    /// Forgets everything except the counts.
    fn start_anew(&mut self) {
        *self = Self { given: self.given, used: self.used, ..Self::default() };
    }
}

impl Environments {
    /// Returns the account's one environment that equals `environment`, with its identity.
    pub(crate) fn intern(&self, mut environment: Environment) -> Arc<Environment> {
        let mut accounts = self.lock();
        let share = accounts.share(&environment.account);
        if let Some(known) = share.known.get(&environment.whole) {
            return Arc::clone(known);
        }
        if share.known.len() >= ENVIRONMENTS_MAX {
            share.start_anew();
        }
        environment.id = match share.ids.get(&environment.keyed) {
            Some(id) => *id,
            None if share.given >= IDENTITIES_PER_ACCOUNT_MAX => IDENTITIES_MAX,
            None => self.next_id(),
        };
        if environment.id >= IDENTITIES_MAX {
            environment.refused = Some(TOO_MANY);
            return Arc::new(environment);
        }
        if share.ids.insert(environment.keyed.clone(), environment.id).is_none() {
            share.given += 1;
        }
        let environment = Arc::new(environment);
        share.known.insert(environment.whole.clone(), Arc::clone(&environment));
        environment
    }

    /// Returns the kept environments, by their identities.
    pub(crate) fn all(&self) -> HashMap<u32, Arc<Environment>> {
        let accounts = self.lock();
        let known = accounts.shares.values().flat_map(|share| share.known.values());
        let mut all: HashMap<u32, Arc<Environment>> =
            known.map(|environment| (environment.id, Arc::clone(environment))).collect();
        let ruled = accounts.shares.values().flat_map(|share| &share.ruled);
        let named =
            |(ruled, id): (&RuledEnvironment, &u32)| Some((*id, Arc::clone(all.get(&ruled.environment)?)));
        let more: Vec<_> = ruled.filter_map(named).collect();
        all.extend(more);
        all
    }

    /// Returns the identity of an environment of this account under query rules; `None` if there are no more identities.
    pub(crate) fn under_rules(&self, account: &[u8], ruled: RuledEnvironment) -> Option<u32> {
        let mut accounts = self.lock();
        let share = accounts.share(account);
        if let Some(id) = share.ruled.get(&ruled) {
            return Some(*id);
        }
        if share.given >= IDENTITIES_PER_ACCOUNT_MAX {
            return None;
        }
        let id = self.next_id();
        if id >= IDENTITIES_MAX {
            return None;
        }
        if share.ruled.len() >= RULED_MAX {
            share.ruled.clear();
        }
        // The identities under older rules are useless.
        share.ruled.retain(|known, _| known.generation >= ruled.generation);
        // So are the identities under older rights and policies.
        share.ruled.retain(|known, _| known.bargain.is_none() || known.bargain >= ruled.bargain);
        share.ruled.retain(|known, _| known.policies == 0 || known.policies >= ruled.policies);
        share.given += 1;
        share.ruled.insert(ruled, id);
        Some(id)
    }

    /// Returns a number that no session has had yet.
    pub(crate) fn next_keeper(&self) -> u64 {
        self.keepers.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the environment to which `transition` has led this account before.
    pub(crate) fn after(&self, account: &[u8], transition: &Transition) -> Option<Arc<Environment>> {
        self.lock().shares.get(account)?.after.get(transition).map(Arc::clone)
    }

    /// Notes the environment after `transition`.
    pub(crate) fn remember(&self, transition: Transition, after: &Arc<Environment>) {
        let mut accounts = self.lock();
        let share = accounts.share(&after.account);
        if share.after.len() >= TRANSITIONS_MAX {
            share.after.clear();
        }
        share.after.insert(transition, Arc::clone(after));
    }

    /// Returns the next identity, from 1 on; at the bound the value stays.
    fn next_id(&self) -> u32 {
        let next = |given: u32| Some(given.saturating_add(1).min(IDENTITIES_MAX));
        // Only uniqueness matters, and one atomic gives that.
        self.given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(0).saturating_add(1)
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
