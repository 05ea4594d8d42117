//! What logins have taught us, for as long as nothing has changed that they rest on.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ahash::HashMap;
use freshet_protocol::{Capabilities, Login, OkPacket};
use freshet_upstream::{Channel, Secret};

use super::gate::Epoch;
use super::requirement::Requirement;

/// Users remembered at once; the one unused for longest makes room.
pub(super) const USERS_MAX: usize = 4096;
/// Logins (schemas) remembered of one user; the oldest makes room.
const LOGINS_PER_USER_MAX: usize = 32;
/// How long an accepted login is repeated without asking the server. Passwords and accounts expire by the clock, which
/// no binlog tells; this bounds how late it is noticed.
const LOGIN_TRUSTED_MAX: Duration = Duration::from_secs(300);

/// What distinguishes logins of one user whose outcomes may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoginKind {
    database: Option<Vec<u8>>,
    /// The server may demand a better channel of one than the other has.
    channel: Channel,
    /// A client that can handle an expired password is let in with one.
    may_be_expired: bool,
}

impl LoginKind {
    pub(super) fn of(login: &Login, channel: Channel) -> Self {
        Self {
            channel,
            database: login.database.clone(),
            may_be_expired: login.capabilities.contains(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS),
        }
    }
}

impl Epoch {
    /// Whether no account, password or grant has changed between the two.
    fn same_accounts(self, other: Self) -> bool {
        (self.stream, self.accounts) == (other.stream, other.accounts)
    }
}

/// The users' passwords and accepted logins. Held in memory only, wiped when dropped, never logged.
#[derive(Default)]
pub(super) struct Secrets {
    /// Locked for a look-up or an insertion, never across an await.
    users: Mutex<HashMap<Vec<u8>, User>>,
    /// Whether accounts can be read, and since when that is known. Locked for a look or a change.
    readable: Mutex<Option<(Epoch, bool)>>,
}

struct User {
    /// The epoch in which all of this was learned.
    epoch: Epoch,
    secret: Option<Secret>,
    /// It was seen that the server does not let our own process in as this user without a proof.
    peer_checked: bool,
    /// What the server demands of its channel, and when that was read.
    requirement: Option<(Epoch, Requirement)>,
    logins: Vec<Accepted>,
    used: Instant,
}

struct Accepted {
    kind: LoginKind,
    epoch: Epoch,
    at: Instant,
    ok: OkPacket,
}

impl Accepted {
    fn holds(&self, kind: &LoginKind, epoch: Epoch) -> bool {
        // Without a schema in it, no definition can make the login fail.
        let same_definitions = kind.database.is_none() || self.epoch.schemas == epoch.schemas;
        self.kind == *kind
            && same_definitions
            && self.epoch.globals == epoch.globals
            && self.at.elapsed() < LOGIN_TRUSTED_MAX
    }
}

impl Secrets {
    /// The password of a user, if it was learned in this epoch.
    pub(super) fn password(&self, user: &[u8], epoch: Option<Epoch>) -> Option<Secret> {
        let mut users = self.lock();
        current(&mut users, user, epoch?)?.secret.clone()
    }

    /// What the server said to the same login, if it would say it again.
    pub(super) fn accepted(&self, user: &[u8], kind: &LoginKind, epoch: Option<Epoch>) -> Option<OkPacket> {
        let epoch = epoch?;
        let mut users = self.lock();
        let known = current(&mut users, user, epoch)?;
        known.logins.iter().find(|login| login.holds(kind, epoch)).map(|login| login.ok.clone())
    }

    /// Whether [`Secrets::peer_was_checked`] was said in this epoch.
    pub(super) fn peer_checked(&self, user: &[u8], epoch: Option<Epoch>) -> bool {
        let Some(epoch) = epoch else { return false };
        current(&mut self.lock(), user, epoch).is_some_and(|known| known.peer_checked)
    }

    /// The server was seen not to let our own process in as this user without a proof.
    pub(super) fn peer_was_checked(&self, user: &[u8], epoch: Option<Epoch>) {
        let Some(epoch) = epoch else { return };
        entry(&mut self.lock(), user, epoch).peer_checked = true;
    }

    /// What the server demands of the channel of this user's logins, if it was read in this epoch.
    pub(super) fn requirement(&self, user: &[u8], epoch: Option<Epoch>) -> Option<Requirement> {
        let epoch = epoch?;
        let (read, requirement) = current(&mut self.lock(), user, epoch)?.requirement?;
        (read.globals == epoch.globals).then_some(requirement)
    }

    /// Remembers it.
    pub(super) fn set_requirement(&self, user: &[u8], requirement: Requirement, epoch: Option<Epoch>) {
        let Some(epoch) = epoch else { return };
        entry(&mut self.lock(), user, epoch).requirement = Some((epoch, requirement));
    }

    /// Whether our own account may read accounts, if that was seen in this epoch.
    pub(super) fn readable(&self, epoch: Option<Epoch>) -> Option<bool> {
        let known = *self.readable.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(seen, _)| epoch.is_some_and(|now| now.same_accounts(*seen))).map(|(_, known)| known)
    }

    /// Remembers it.
    pub(super) fn set_readable(&self, readable: bool, epoch: Option<Epoch>) {
        *self.readable.lock().unwrap_or_else(PoisonError::into_inner) = epoch.map(|epoch| (epoch, readable));
    }

    /// The server has accepted this login. `epoch` is from before the login was sent.
    pub(super) fn learn(
        &self,
        login: &Login,
        channel: Channel,
        (secret, ok): (Secret, &OkPacket),
        epoch: Option<Epoch>,
    ) {
        let Some(epoch) = epoch else { return };
        let kind = LoginKind::of(login, channel);
        let mut users = self.lock();
        let known = entry(&mut users, &login.user, epoch);
        known.secret = Some(secret);
        known.logins.retain(|login| login.kind != kind);
        if known.logins.len() >= LOGINS_PER_USER_MAX {
            known.logins.remove(0);
        }
        known.logins.push(Accepted { kind, epoch, at: Instant::now(), ok: ok.clone() });
    }

    /// The server has refused what was remembered of this user.
    pub(super) fn forget(&self, user: &[u8]) {
        self.lock().remove(user);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, User>> {
        // Nothing panics within; and each change leaves the table whole.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a user in this epoch; what is known from another one goes.
fn current<'a>(users: &'a mut HashMap<Vec<u8>, User>, user: &[u8], epoch: Epoch) -> Option<&'a mut User> {
    if !users.get(user)?.epoch.same_accounts(epoch) {
        users.remove(user);
        return None;
    }
    let known = users.get_mut(user)?;
    known.used = Instant::now();
    Some(known)
}

fn entry<'a>(users: &'a mut HashMap<Vec<u8>, User>, user: &[u8], epoch: Epoch) -> &'a mut User {
    if current(users, user, epoch).is_none() {
        make_room(users, epoch);
    }
    users.entry(user.to_vec()).or_insert_with(|| User {
        epoch,
        secret: None,
        peer_checked: false,
        requirement: None,
        logins: Vec::new(),
        used: Instant::now(),
    })
}

/// Keeps the table within its bound. A walk over it is cheap beside the login that asks for it.
fn make_room(users: &mut HashMap<Vec<u8>, User>, epoch: Epoch) {
    if users.len() < USERS_MAX {
        return;
    }
    users.retain(|_, known| known.epoch.same_accounts(epoch));
    if users.len() >= USERS_MAX
        && let Some(oldest) = users.iter().min_by_key(|(_, known)| known.used).map(|(user, _)| user.clone())
    {
        users.remove(&oldest);
    }
}
