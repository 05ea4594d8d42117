//! What logins have shown, for as long as nothing that it depends on has changed.
//!
//! All of it is held in memory only, wiped when dropped and never logged. It is kept by the name with which a client logs in.
//! The room for names is divided among the server's accounts ([`Users`]), which no client can invent.
//!
//! A credential outlives the other facts: after a change of accounts the server is asked whether it still holds.

mod login;
mod users;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use freshet_protocol::OkPacket;
use freshet_upstream::Credential;

pub(super) use self::login::LoginKind;
#[cfg(test)]
pub(super) use self::users::{ACCOUNTS_MAX, NAMES_PER_ACCOUNT_MAX};
use self::users::{Defined, Users};
use super::begun::LoginBegun;
use super::knowledge::Epoch;
use super::requirement::Requirement;
use crate::environment::Environment;

/// A login that the server has accepted.
pub(super) struct Accepted<'a> {
    pub(super) user: &'a [u8],
    pub(super) kind: LoginKind,
    pub(super) ok: &'a OkPacket,
}

/// The remembered facts of a login's user.
pub(super) struct Remembered {
    /// What proved an earlier login.
    pub(super) credential: Credential,
    /// Whether the credential proved it in this epoch.
    pub(super) is_current: bool,
    /// The server's answer to the same login, if the server would repeat it.
    pub(super) accepted: Option<OkPacket>,
}

/// The users' credentials and accepted logins.
#[derive(Default)]
pub(super) struct Secrets {
    /// Locked for a look-up or an insertion, never across an await.
    users: Mutex<Users>,
    /// Whether accounts can be read, and since when that is known. Locked for a look or a change.
    readable: Mutex<Option<(Epoch, bool)>>,
}

impl Secrets {
    /// Returns the remembered facts of a user, and of this kind of login.
    pub(super) fn remembered(
        &self,
        user: &[u8],
        kind: &LoginKind,
        epoch: Option<Epoch>,
    ) -> Option<Remembered> {
        let mut users = self.lock();
        let known = users.of(user)?;
        let credential = known.credential.clone()?;
        let now = epoch.filter(|epoch| known.is_of(*epoch));
        let accepted = now.and_then(|epoch| known.logins.accepted(kind, epoch));
        Some(Remembered { credential, is_current: now.is_some(), accepted })
    }

    /// Whether the server has been asked about the account of this user in this epoch.
    pub(super) fn is_met(&self, user: &[u8], epoch: Epoch) -> bool {
        self.lock().current(user, epoch).is_some_and(|known| known.repeats.is_some())
    }

    /// Whether logins of this user may be repeated: its account has no limits. `None` if that is not known.
    pub(super) fn repeats(&self, user: &[u8], epoch: Epoch) -> Option<bool> {
        self.lock().of(user)?.repeats_in(epoch)
    }

    /// Notes the definition of the account of a user who was just met, as a hash.
    pub(super) fn note_definition(&self, user: &[u8], definition: u64, epoch: Epoch) {
        if let Some(known) = self.lock().current(user, epoch) {
            known.defined = known.repeats.map(|repeats| Defined { definition, repeats, still: None });
        }
    }

    /// Notes that in this epoch the account of a user has this definition. If the account had the same when the user was met, the user's
    /// logins may be repeated as before. Nothing else is known of this epoch: no login was made in it.
    pub(super) fn note_defined_still(&self, user: &[u8], account: &[u8], definition: u64, epoch: Epoch) {
        let mut users = self.lock();
        let known = users.of(user).filter(|known| known.is_let_in_as(account));
        let defined = known.and_then(|known| known.defined.as_mut());
        if let Some(defined) = defined.filter(|defined| defined.definition == definition) {
            defined.still = Some(epoch);
        }
    }

    /// Notes that the server has let this name in as `account`. `repeats`: whether its logins may be repeated without the server.
    pub(super) fn meet(&self, user: &[u8], account: &[u8], repeats: bool, epoch: Epoch) {
        if let Some(known) = self.lock().meet(user, account, Some(epoch)) {
            known.repeats = Some(repeats);
        }
    }

    /// Notes that the server has let this name in as `account`, at a time at which only the credential can be remembered.
    pub(super) fn keep(&self, user: &[u8], account: &[u8], credential: Credential) {
        if let Some(known) = self.lock().meet(user, account, None) {
            known.credential = Some(credential);
        }
    }

    /// Notes that the server has accepted this login of a known user, which `credential` proves. `epoch` is from before the login was sent.
    pub(super) fn learn(
        &self,
        Accepted { user, kind, ok }: Accepted<'_>,
        credential: Credential,
        epoch: Epoch,
    ) {
        let mut users = self.lock();
        let Some(known) = users.current(user, epoch) else { return };
        known.credential = Some(credential);
        if known.repeats == Some(true) {
            known.logins.accept(kind, ok.clone(), epoch);
        }
    }

    /// Notes that the server has refused a login of this name: it may count refusals, and is asked at the next login.
    pub(super) fn refused(&self, user: &[u8]) {
        if let Some(known) = self.lock().of(user) {
            known.logins.refuse();
        }
    }

    /// Forgets this user, because the server has refused the remembered credential.
    pub(super) fn forget(&self, user: &[u8]) {
        self.lock().remove(user);
    }

    /// Returns the environment in which a session of this kind began at most `age_ms_max` ago, if nothing has changed since.
    pub(super) fn beginning(
        &self,
        user: &[u8],
        kind: &LoginKind,
        epoch: Epoch,
        age_ms_max: u64,
    ) -> Option<Arc<Environment>> {
        self.lock().current(user, epoch)?.logins.beginning(kind, epoch, age_ms_max)
    }

    /// Notes that a session of this kind began in `environment`, after this login.
    pub(super) fn begins(
        &self,
        user: &[u8],
        kind: LoginKind,
        environment: &Arc<Environment>,
        LoginBegun { epoch, at_ms }: LoginBegun,
    ) {
        let mut users = self.lock();
        // The session's name of its account depends on its character set: it is used if there is no other.
        if users.current(user, epoch).is_none() {
            users.meet(user, &environment.account, Some(epoch));
        }
        if let Some(known) = users.current(user, epoch) {
            known.logins.begin(kind, Arc::clone(environment), epoch, at_ms);
        }
    }

    /// Whether [`Secrets::peer_was_checked`] was called in this epoch.
    pub(super) fn peer_checked(&self, user: &[u8], epoch: Option<Epoch>) -> bool {
        let Some(epoch) = epoch else { return false };
        self.lock().current(user, epoch).is_some_and(|known| known.peer_checked)
    }

    /// Notes that the server does not let Freshet's own process in as this user without a proof.
    pub(super) fn peer_was_checked(&self, user: &[u8], account: &[u8], epoch: Option<Epoch>) {
        let Some(epoch) = epoch else { return };
        if let Some(known) = self.lock().meet(user, account, Some(epoch)) {
            known.peer_checked = true;
        }
    }

    /// Returns the server's demands on the channel of this user's logins, if they were read in this epoch.
    pub(super) fn requirement(&self, user: &[u8], epoch: Option<Epoch>) -> Option<Requirement> {
        let epoch = epoch?;
        let (read, requirement) = self.lock().current(user, epoch)?.requirement?;
        (read.globals == epoch.globals).then_some(requirement)
    }

    /// Notes the server's demands on the channel of this user's logins.
    pub(super) fn set_requirement(
        &self,
        user: &[u8],
        account: &[u8],
        requirement: Requirement,
        epoch: Option<Epoch>,
    ) {
        let Some(epoch) = epoch else { return };
        if let Some(known) = self.lock().meet(user, account, Some(epoch)) {
            known.requirement = Some((epoch, requirement));
        }
    }

    /// Returns whether connections of this user may be kept, if that was read in this epoch.
    pub(super) fn may_keep(&self, user: &[u8], epoch: Epoch) -> Option<bool> {
        let (read, may_keep) = self.lock().current(user, epoch)?.may_keep?;
        (read.globals == epoch.globals).then_some(may_keep)
    }

    /// Notes whether connections of this user may be kept.
    pub(super) fn set_may_keep(&self, user: &[u8], account: &[u8], may_keep: bool, epoch: Epoch) {
        if let Some(known) = self.lock().meet(user, account, Some(epoch)) {
            known.may_keep = Some((epoch, may_keep));
        }
    }

    /// Returns whether Freshet's own account may read accounts, if that was found in this epoch.
    pub(super) fn readable(&self, epoch: Option<Epoch>) -> Option<bool> {
        let known = *self.readable.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(seen, _)| epoch.is_some_and(|now| now.same_accounts(*seen))).map(|(_, known)| known)
    }

    /// Notes whether Freshet's own account may read accounts.
    pub(super) fn set_readable(&self, readable: bool, epoch: Option<Epoch>) {
        *self.readable.lock().unwrap_or_else(PoisonError::into_inner) = epoch.map(|epoch| (epoch, readable));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Users> {
        // Nothing panics under the lock; and each change leaves the table whole.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
