//! Identities for environments, and what plain statements made of them before.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::HashMap;

use super::Environment;

/// How many environments of one account are kept, and how many transitions between them. An application uses a handful. An
/// account that makes up more starts anew, with other identities: what was stored for the old ones is not found again, and
/// nobody else notices.
const ENVIRONMENTS_MAX: usize = 2048;
const TRANSITIONS_MAX: usize = 2048;

/// Accounts whose environments are kept; the one unused for longest makes room. Accounts are the server's: the names that an
/// anonymous account (`''@'%'`) lets in are all of one account, and share what it may have.
const ACCOUNTS_MAX: usize = 4096;

/// Identities are never given twice; there are as many as fit into a key beside the variables that belong to it.
const IDENTITIES_MAX: u32 = 1 << 28;

/// Identities that one account is given, so that it cannot use up those of all others. At this bound its new environments are not
/// cached; at a thousand new ones a second that is after four hours.
const IDENTITIES_PER_ACCOUNT_MAX: u32 = 1 << 24;

/// Why an environment beyond either bound is not cached.
const TOO_MANY: &str = "more environments than can be told apart";

/// A plain statement in an environment.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Transition {
    /// All that is known of the environment before it.
    pub(crate) before: Vec<u8>,
    pub(crate) statement: Vec<u8>,
}

/// An environment under query rules, or of a session that keeps rights: answers to the same text are kept apart where rules may have decided
/// otherwise, and from those who do not have these rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RuledEnvironment {
    /// The environment's identity.
    pub(crate) environment: u32,
    /// The generation of the rules.
    pub(crate) generation: u64,
    /// The client's class.
    pub(crate) class: u32,
    /// What rules have made of statements that are not looked up as they come; 0 of those that are.
    pub(crate) variant: u64,
    /// The epoch of rights at which statements are asked whose answers may be stale; `None` for all others.
    pub(crate) bargain: Option<u64>,
    /// What stands for the policies of caches (`CreatedCaches::policies`) where one of them lets the answers be stale; 0 where a rule does.
    pub(crate) policies: u64,
    /// The session that alone has this identity, by rights that it has kept; `None` of all that are shared.
    pub(crate) keeper: Option<u64>,
}

/// How many of these are kept for one account.
const RULED_MAX: usize = 4 * ENVIRONMENTS_MAX;

/// All environments that have been seen. A lock is taken when a session's environment changes, never for a hit.
#[derive(Debug, Default)]
pub(crate) struct Environments {
    accounts: Mutex<Accounts>,
    given: AtomicU32,
    keepers: AtomicU64,
}

#[derive(Debug, Default)]
struct Accounts {
    /// By the account as the server writes it.
    shares: HashMap<Vec<u8>, Share>,
    /// Counts the uses, to tell which share is unused for longest.
    uses: u64,
}

/// One account's environments.
#[derive(Debug, Default)]
struct Share {
    /// By all that is known of them.
    known: HashMap<Vec<u8>, Arc<Environment>>,
    /// The identities, by what can change a result.
    ids: HashMap<Vec<u8>, u32>,
    /// What a transition led to, and whether it has left no warnings.
    after: HashMap<Transition, (Arc<Environment>, bool)>,
    /// The identities that stand for one of these and for what query rules make of it.
    ruled: HashMap<RuledEnvironment, u32>,
    /// How many identities it was given.
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
    /// Forgets all but how much it was given.
    fn start_anew(&mut self) {
        *self = Self { given: self.given, used: self.used, ..Self::default() };
    }
}

impl Environments {
    /// The one environment of its account equal to `environment`, with its identity.
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

    /// Those that are kept, by their identities.
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

    /// The identity that stands for an environment of this account under query rules; `None` if there are no more.
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
        // Those of rules that were loaded before are of no more use.
        share.ruled.retain(|known, _| known.generation >= ruled.generation);
        // And those of rights and of policies as they were.
        share.ruled.retain(|known, _| known.bargain.is_none() || known.bargain >= ruled.bargain);
        share.ruled.retain(|known, _| known.policies == 0 || known.policies >= ruled.policies);
        share.given += 1;
        share.ruled.insert(ruled, id);
        Some(id)
    }

    /// A number that no session has had yet.
    pub(crate) fn next_keeper(&self) -> u64 {
        self.keepers.fetch_add(1, Ordering::Relaxed)
    }

    /// What `transition` led this account to before.
    pub(crate) fn after(&self, account: &[u8], transition: &Transition) -> Option<Arc<Environment>> {
        self.lock().shares.get(account)?.after.get(transition).map(|(after, _)| Arc::clone(after))
    }

    /// The same of one that has left no warnings.
    pub(crate) fn after_quietly(&self, account: &[u8], transition: &Transition) -> Option<Arc<Environment>> {
        let accounts = self.lock();
        let (after, is_quiet) = accounts.shares.get(account)?.after.get(transition)?;
        is_quiet.then(|| Arc::clone(after))
    }

    /// Notes what `transition` led to. `is_quiet`: it has left no warnings.
    pub(crate) fn remember(&self, transition: Transition, after: &Arc<Environment>, is_quiet: bool) {
        let mut accounts = self.lock();
        let share = accounts.share(&after.account);
        if share.after.len() >= TRANSITIONS_MAX {
            share.after.clear();
        }
        share.after.insert(transition, (Arc::clone(after), is_quiet));
    }

    /// From 1 on; at the bound it stays there.
    fn next_id(&self) -> u32 {
        let next = |given: u32| Some(given.saturating_add(1).min(IDENTITIES_MAX));
        // Only uniqueness matters, which one atomic gives.
        self.given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(0).saturating_add(1)
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
