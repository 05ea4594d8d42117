//! The table of users. Its room is divided among accounts.
//!
//! A client chooses the name with which it logs in, and an anonymous account (`''@'%'`) lets any name in. The account that lets
//! the client in is the server's, and a name can replace only names of its own account.

use std::sync::Arc;
use std::time::Instant;

use ahash::HashMap;
use freshet_upstream::Credential;

use super::super::knowledge::Epoch;
use super::super::requirement::Requirement;
use super::login::Logins;

/// How many accounts are remembered; the one that is unused for longest is dropped first.
pub(in crate::auth) const ACCOUNTS_MAX: usize = 4096;
/// How many names of one account are remembered; the one that is unused for longest is dropped first. An account that is not anonymous has
/// one name.
pub(in crate::auth) const NAMES_PER_ACCOUNT_MAX: usize = 16;
/// The longest name that is remembered, in bytes. The servers' own names are shorter.
const NAME_BYTES_MAX: usize = 512;

/// The known facts of one name.
pub(super) struct User {
    account: Arc<[u8]>,
    /// The epoch in which all facts except the credential were learned; `None` if there are no others.
    epoch: Option<Epoch>,
    pub(super) credential: Option<Credential>,
    /// Whether its logins may be repeated without the server; `None` if the server was not asked about its account.
    pub(super) repeats: Option<bool>,
    /// What follows from the account's definition, of any epoch.
    pub(super) defined: Option<Defined>,
    /// Whether the server was seen not to let Freshet's own process in as this user without a proof.
    pub(super) peer_checked: bool,
    /// The server's demands on the channel, and when they were read.
    pub(super) requirement: Option<(Epoch, Requirement)>,
    /// Whether connections may be kept for the next logins, and when that was read.
    pub(super) may_keep: Option<(Epoch, bool)>,
    pub(super) logins: Logins,
    used: Instant,
}

/// What follows from an account's definition.
pub(super) struct Defined {
    /// The definition, as a hash.
    pub(super) definition: u64,
    /// Whether logins may be repeated without the server.
    pub(super) repeats: bool,
    /// The latest epoch in which the account was seen to have this definition still. No credential was proven then.
    pub(super) still: Option<Epoch>,
}

impl User {
    fn new(account: Arc<[u8]>, epoch: Option<Epoch>, credential: Option<Credential>) -> Self {
        Self {
            account,
            epoch,
            credential,
            repeats: None,
            defined: None,
            peer_checked: false,
            requirement: None,
            may_keep: None,
            logins: Logins::default(),
            used: Instant::now(),
        }
    }

    /// Whether its logins may be repeated in this epoch; `None` if that is not known.
    pub(super) fn repeats_in(&self, epoch: Epoch) -> Option<bool> {
        let is_still = |defined: &&Defined| defined.still.is_some_and(|still| still.same_accounts(epoch));
        let defined = || self.defined.as_ref().filter(is_still).map(|defined| defined.repeats);
        self.repeats.filter(|_| self.is_of(epoch)).or_else(defined)
    }

    /// Whether this is its account.
    pub(super) fn is_let_in_as(&self, account: &[u8]) -> bool {
        *self.account == *account
    }

    /// Whether the facts are of this epoch.
    pub(super) fn is_of(&self, epoch: Epoch) -> bool {
        self.epoch.is_some_and(|known| known.same_accounts(epoch))
    }
}

/// Users by name.
#[derive(Default)]
pub(super) struct Users {
    known: HashMap<Vec<u8>, User>,
    /// The names of each account: at least one.
    names: HashMap<Arc<[u8]>, Vec<Vec<u8>>>,
}

impl Users {
    /// Returns the facts of a name, from any epoch.
    pub(super) fn of(&mut self, name: &[u8]) -> Option<&mut User> {
        let known = self.known.get_mut(name)?;
        known.used = Instant::now();
        Some(known)
    }

    /// Returns the facts of a name from this epoch.
    pub(super) fn current(&mut self, name: &[u8], epoch: Epoch) -> Option<&mut User> {
        self.of(name).filter(|known| known.is_of(epoch))
    }

    /// Makes a place for a name that the server has let in as `account`, in this epoch or in none. `None` if the name is too long.
    pub(super) fn meet(&mut self, name: &[u8], account: &[u8], epoch: Option<Epoch>) -> Option<&mut User> {
        if name.len() > NAME_BYTES_MAX {
            return None;
        }
        let is_of = |known: &User| epoch.is_none_or(|epoch| known.is_of(epoch));
        let known = self.known.get(name).filter(|known| is_of(known) && *known.account == *account);
        if known.is_none() {
            let (credential, defined) = match self.remove(name) {
                Some(before) if *before.account == *account => (before.credential, before.defined),
                Some(before) => (before.credential, None),
                None => (None, None),
            };
            self.make_room(account);
            let account: Arc<[u8]> = account.into();
            self.names.entry(Arc::clone(&account)).or_default().push(name.to_vec());
            self.known.insert(name.to_vec(), User { defined, ..User::new(account, epoch, credential) });
        }
        self.of(name)
    }

    pub(super) fn remove(&mut self, name: &[u8]) -> Option<User> {
        let gone = self.known.remove(name)?;
        if let Some(names) = self.names.get_mut(&gone.account) {
            names.retain(|known| known != name);
            if names.is_empty() {
                self.names.remove(&gone.account);
            }
        }
        Some(gone)
    }

    /// Makes room for one more name of `account`. A walk over all users is cheap compared to the login that needs it.
    fn make_room(&mut self, account: &[u8]) {
        match self.names.get(account) {
            Some(names) if names.len() >= NAMES_PER_ACCOUNT_MAX => {
                let oldest = names.iter().min_by_key(|name| self.known.get(*name).map(|known| known.used));
                oldest.cloned().into_iter().for_each(|name| drop(self.remove(&name)));
            }
            None if self.names.len() >= ACCOUNTS_MAX => {
                let oldest = self.known.values().min_by_key(|known| known.used);
                let account = oldest.map(|known| Arc::clone(&known.account));
                let names = account.and_then(|account| self.names.remove(&account)).unwrap_or_default();
                names.iter().for_each(|name| drop(self.known.remove(name)));
            }
            _ => {}
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
