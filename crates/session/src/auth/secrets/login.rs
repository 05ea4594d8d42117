//! The logins of one user that the server has accepted, and how their sessions began.

use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_protocol::{Capabilities, Login, OkPacket};
use freshet_upstream::{Channel, now_ms};

use super::super::knowledge::Epoch;
use crate::environment::Environment;

/// How many kinds of login (schemas, clients) are remembered of one user; the oldest is dropped first.
const KINDS_MAX: usize = 32;
/// How long an accepted login is repeated without the server. Passwords and accounts expire by the clock, which
/// no binlog reports; this is the longest delay until Freshet notices.
const LOGIN_TRUSTED_MAX: Duration = Duration::from_secs(300);

/// What distinguishes logins of one user whose outcomes, or whose sessions, may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::auth) struct LoginKind {
    database: Option<Vec<u8>>,
    /// The server may demand a better channel for one login than another has.
    channel: Channel,
    /// The capabilities agreed on with the client: a client that can handle an expired password is let in with one, and some capabilities set
    /// variables of the session.
    capabilities: Capabilities,
    /// The collation, which sets the session's character sets.
    collation: u8,
}

impl LoginKind {
    pub(in crate::auth) fn of(login: &Login, channel: Channel) -> Self {
        Self {
            channel,
            database: login.database.clone(),
            capabilities: login.capabilities,
            collation: login.collation,
        }
    }

    /// Whether facts of this kind from one epoch hold in the other. Accounts have been compared already.
    fn is_alike(&self, then: Epoch, now: Epoch) -> bool {
        // If the login names no schema, no definition can make it fail.
        let same_definitions = self.database.is_none() || then.schemas == now.schemas;
        same_definitions && then.globals == now.globals
    }
}

/// The remembered facts of each kind.
#[derive(Default)]
pub(super) struct Logins(Vec<(LoginKind, KnownLogin)>);

#[derive(Default)]
struct KnownLogin {
    accepted: Option<Acceptance>,
    begins: Option<Begins>,
}

/// The server's answer when it accepted such a login.
struct Acceptance {
    epoch: Epoch,
    at: Instant,
    ok: OkPacket,
}

struct Begins {
    epoch: Epoch,
    at_ms: u64,
    environment: Arc<Environment>,
}

impl Logins {
    /// Returns the server's answer to this kind, if the server would repeat it.
    pub(super) fn accepted(&self, kind: &LoginKind, now: Epoch) -> Option<OkPacket> {
        let accepted = self.get(kind)?.accepted.as_ref()?;
        let holds = kind.is_alike(accepted.epoch, now) && accepted.at.elapsed() < LOGIN_TRUSTED_MAX;
        holds.then(|| accepted.ok.clone())
    }

    pub(super) fn accept(&mut self, kind: LoginKind, ok: OkPacket, epoch: Epoch) {
        self.entry(kind).accepted = Some(Acceptance { epoch, at: Instant::now(), ok });
    }

    /// Forgets all acceptances.
    pub(super) fn refuse(&mut self) {
        self.0.iter_mut().for_each(|(_, known)| known.accepted = None);
    }

    /// Returns the environment in which a session of this kind began at most `age_ms_max` ago.
    pub(super) fn beginning(
        &self,
        kind: &LoginKind,
        now: Epoch,
        age_ms_max: u64,
    ) -> Option<Arc<Environment>> {
        let begins = self.get(kind)?.begins.as_ref()?;
        let is_recent = now_ms().saturating_sub(begins.at_ms) < age_ms_max;
        (is_recent && kind.is_alike(begins.epoch, now)).then(|| Arc::clone(&begins.environment))
    }

    pub(super) fn begin(&mut self, kind: LoginKind, environment: Arc<Environment>, epoch: Epoch, at_ms: u64) {
        self.entry(kind).begins = Some(Begins { epoch, at_ms, environment });
    }

    fn get(&self, kind: &LoginKind) -> Option<&KnownLogin> {
        self.0.iter().find(|(known, _)| known == kind).map(|(_, known)| known)
    }

    fn entry(&mut self, kind: LoginKind) -> &mut KnownLogin {
        let at = self.0.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            if self.0.len() >= KINDS_MAX {
                self.0.remove(0);
            }
            self.0.push((kind, KnownLogin::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}
