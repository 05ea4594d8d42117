//! How sessions begin: two logins of the same kind, with nothing changed between them, begin in the same environment.
//!
//! What makes a new session's environment is the account, what the login says ([`LoginKind`]) and the global variables. The
//! first two, and most of the third, have an epoch. What an epoch may miss is a global variable that is changed and changed
//! back between two looks at it, so a beginning is known for no longer than `max_staleness` as well. It serves to find stored
//! answers; an answer is only stored under an environment that its own session has told.

use std::sync::Arc;

use super::Admitted;
use super::gate::{Epoch, Gate};
use super::secrets::LoginKind;
use crate::environment::Environment;

/// When the login of a session was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    epoch: Epoch,
    /// Before anything was sent, in monotonic milliseconds.
    at_ms: u64,
}

impl Begun {
    pub(super) fn new(epoch: Option<Epoch>, at_ms: u64) -> Option<Self> {
        epoch.map(|epoch| Self { epoch, at_ms })
    }
}

impl Gate {
    /// How sessions of this kind of login begin, as one of them did at most `age_ms_max` ago.
    pub(crate) fn beginning(&self, admitted: &Admitted, age_ms_max: u64) -> Option<Arc<Environment>> {
        let kind = LoginKind::of(&admitted.login, admitted.channel);
        self.secrets.beginning(&admitted.user, &kind, self.epoch()?, age_ms_max)
    }

    /// A session that has begun so has told its environment, and nothing has happened in it since its login.
    pub(crate) fn begins(&self, admitted: &Admitted, begun: Begun, environment: &Arc<Environment>) {
        if environment.begins_alike {
            let kind = LoginKind::of(&admitted.login, admitted.channel);
            self.secrets.begins(&admitted.user, kind, environment, (begun.epoch, begun.at_ms));
        }
    }
}
