//! What statements that set a session up do, where they have been carried out before: SETs of constants and USE.
//!
//! The next session that begins in the same environment and says the same needs no server for it (`session/setting.rs`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::HashMap;
use freshet_protocol::StateChange;

use crate::auth::Epoch;
use crate::environment::{Environment, Transition};

/// How many settings of one account are kept, and of how many accounts. An application uses a handful. Beyond that, some of an account's
/// settings are forgotten, or those of all accounts, and are learned anew.
const SETTINGS_MAX: usize = 512;
const ACCOUNTS_MAX: usize = 4096;

/// What a setting does that leaves no warnings.
#[derive(Debug, Clone)]
pub(crate) struct KnownSetting {
    /// The environment after it.
    pub(crate) environment: Arc<Environment>,
    /// What a client is told of it that tracks its session, and is told what the server tells by default; `None`: that is not known.
    pub(crate) told: Option<Vec<StateChange>>,
    /// The state of accounts, schemas and global variables in which this was so. It lasts no longer than the stream that told of them: another
    /// server may be in another time zone.
    pub(crate) since: Option<Epoch>,
    /// It does so in that state alone, as USE: the schema may be dropped, and the right to use it revoked.
    pub(crate) is_of_epoch: bool,
}

/// The settings by account, as the server writes it.
#[derive(Debug, Default)]
pub(crate) struct KnownSettings(Mutex<HashMap<Vec<u8>, HashMap<Transition, KnownSetting>>>);

impl KnownSettings {
    /// Returns what a setting does now. `is_told`: the client tracks its session.
    pub(crate) fn of(
        &self,
        account: &[u8],
        transition: &Transition,
        now: Option<Epoch>,
        is_told: bool,
    ) -> Option<KnownSetting> {
        let settings = self.lock();
        let known = settings.get(account)?.get(transition)?;
        let (since, now) = (known.since?, now?);
        let is_as_known = since == now || since.stream == now.stream && !known.is_of_epoch && !is_told;
        (is_as_known && (known.told.is_some() || !is_told)).then(|| known.clone())
    }

    /// Notes what a setting has done.
    pub(crate) fn note(&self, transition: Transition, known: KnownSetting) {
        let mut settings = self.lock();
        let account = &known.environment.account;
        if settings.len() >= ACCOUNTS_MAX && !settings.contains_key(account) {
            settings.clear();
        }
        let of_account = settings.entry(account.clone()).or_default();
        if of_account.len() >= SETTINGS_MAX {
            of_account.retain(|_, other| other.since == known.since);
        }
        if of_account.len() >= SETTINGS_MAX {
            // Any one, which is learned anew.
            let one = of_account.keys().next().cloned();
            one.into_iter().for_each(|one| drop(of_account.remove(&one)));
        }
        of_account.insert(transition, known);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, HashMap<Transition, KnownSetting>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
