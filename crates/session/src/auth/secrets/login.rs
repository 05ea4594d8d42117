//! The logins of one user that the server has accepted, and how their sessions began.

use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_protocol::{Capabilities, Login, OkPacket};
use freshet_upstream::{Channel, now_ms};

use super::super::knowledge::Epoch;
use crate::environment::Environment;

/// Kinds of login (schemas, clients) remembered of one user; the one that was met first makes room.
const KINDS_MAX: usize = 32;
/// How long an accepted login is repeated without asking the server. Passwords and accounts expire by the clock, which
/// no binlog tells; this bounds how late it is noticed.
const LOGIN_TRUSTED_MAX: Duration = Duration::from_secs(300);

/// What distinguishes logins of one user whose outcomes, or whose sessions, may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::auth) struct LoginKind {
    database: Option<Vec<u8>>,
    /// The server may demand a better channel of one than the other has.
    channel: Channel,
    /// Those agreed on with the client: one that can handle an expired password is let in with one, and some of them set
    /// variables of the session.
    capabilities: Capabilities,
    /// The session's character sets follow from it.
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

    /// Whether what was seen of this kind in one epoch is so in the other. Accounts have been compared.
    fn is_alike(&self, then: Epoch, now: Epoch) -> bool {
        // Without a schema in it, no definition can make the login fail.
        let same_definitions = self.database.is_none() || then.schemas == now.schemas;
        same_definitions && then.globals == now.globals
    }
}

/// What is remembered of each kind.
#[derive(Default)]
pub(super) struct Logins(Vec<(LoginKind, KnownLogin)>);

#[derive(Default)]
struct KnownLogin {
    accepted: Option<Acceptance>,
    begins: Option<Begins>,
}

/// The server has accepted such a login, and what it said.
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
    /// What the server said to this kind, if it would say it again.
    pub(super) fn accepted(&self, kind: &LoginKind, now: Epoch) -> Option<OkPacket> {
        let accepted = self.get(kind)?.accepted.as_ref()?;
        let holds = kind.is_alike(accepted.epoch, now) && accepted.at.elapsed() < LOGIN_TRUSTED_MAX;
        holds.then(|| accepted.ok.clone())
    }

    pub(super) fn accept(&mut self, kind: LoginKind, ok: OkPacket, epoch: Epoch) {
        self.entry(kind).accepted = Some(Acceptance { epoch, at: Instant::now(), ok });
    }

    /// No kind is accepted any more.
    pub(super) fn refuse(&mut self) {
        self.0.iter_mut().for_each(|(_, known)| known.accepted = None);
    }

    /// How a session of this kind began at most `age_ms_max` ago.
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
