//! Sessions that keep rights which were taken away since.
//!
//! Both servers let a session keep the rights on its schema that it had when it moved there, and those on everything that it had when it
//! logged in. What it reads by rights that are gone, no other session may be given: a later one could be in that schema by another right. So from
//! the moment on at which that may be, what such a session reads is stored for itself alone, and what it could read before it moved is
//! stored for nobody.

use super::Session;
use super::ruled::KeptRights;

/// How often one session may move before nothing more is stored for it: each time takes identities.
const MOVES_MAX: u32 = 64;

impl Session {
    fn may_keep_rights(&self) -> bool {
        let user = self.environment().and_then(|environment| environment.sole_user.as_deref());
        self.lease.is_open() && self.shared.upstream.may_rights_be_gone(user, self.lease.rights_from)
    }

    /// Sees to it that what is read from here on is stored for whom it may be. Whether other keys are used for that than before.
    pub(super) fn heed_rights(&mut self) -> bool {
        // What its account may is known with it.
        if self.environment().is_none() {
            return false;
        }
        let version = self.state.environment_version;
        let before = self.ruled.keeper;
        if !self.may_keep_rights() {
            self.ruled.keeper = None;
            return before.is_some();
        }
        if before.is_some_and(|keeper| keeper.version == version) {
            return false;
        }
        let moves = before.map_or(0, |keeper| keeper.moves.saturating_add(1));
        let number = (moves <= MOVES_MAX).then(|| self.shared.environments.next_keeper());
        self.ruled.keeper = Some(KeptRights { number, version, moves });
        true
    }

    /// As [`Self::heed_rights`], before a statement whose look-up found nothing.
    pub(crate) fn heed_rights_at_miss(&mut self) {
        if self.heed_rights() {
            self.refresh_key();
        }
    }

    /// Whether it was not seen to keep any.
    pub(super) const fn has_rights_of_now(&self) -> bool {
        self.ruled.keeper.is_none()
    }

    /// The session has moved to another schema, or may have. The server has looked at its rights anew.
    pub(super) fn has_moved_by_the_way(&mut self) {
        if let Some(keeper) = &mut self.ruled.keeper {
            keeper.version = u64::MAX;
        }
    }

    /// Whether what is read from here on may be stored under the session's keys as they are. To be asked after it was read from where on the
    /// answer is valid.
    pub(crate) fn has_keys_of_its_rights(&self) -> bool {
        self.ruled.keeper.is_some() || !self.may_keep_rights()
    }
}
