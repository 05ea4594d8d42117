//! Sessions that keep rights that were taken away since.
//!
//! Both servers let a session keep the rights on its schema that it had when it moved there, and the global rights that it had when it
//! logged in. If a session reads by rights that are gone, no other session may get the result: a later session could be in that schema by
//! another right. So from the moment at which rights may be gone, the results of such a session are stored for itself alone, and the
//! results that it could read before it moved are stored for nobody.

use super::Session;
use super::ruled::KeptRights;

/// How often one session may move before nothing more is stored for it: each move takes identities.
const MOVES_MAX: u32 = 64;

impl Session {
    fn may_keep_rights(&self) -> bool {
        let user = self.environment().and_then(|environment| environment.sole_user.as_deref());
        self.lease.is_open() && self.shared.upstream.may_rights_be_gone(user, self.lease.rights_from())
    }

    /// Makes sure that results from here on are stored only for sessions that may have them. Returns whether the session's keys have changed.
    pub(super) fn heed_rights(&mut self) -> bool {
        // The rights of the session's account are known with its environment.
        if self.environment().is_none() {
            return false;
        }
        let version = self.state.environment.version();
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

    /// Like [`Self::heed_rights`], before a statement whose look-up found nothing.
    pub(crate) fn heed_rights_at_miss(&mut self) {
        if self.heed_rights() {
            self.refresh_key();
        }
    }

    /// Whether the session was not seen to keep any rights.
    pub(super) const fn has_rights_of_now(&self) -> bool {
        self.ruled.keeper.is_none()
    }

    /// Notes that the session has moved to another schema, or may have. The server has checked the session's rights anew.
    pub(super) fn has_moved_by_the_way(&mut self) {
        if let Some(keeper) = &mut self.ruled.keeper {
            keeper.version = u64::MAX;
        }
    }

    /// Whether results from here on may be stored under the session's keys as they are. Called after `valid_from` of the answer was
    /// read.
    pub(crate) fn has_keys_of_its_rights(&self) -> bool {
        self.ruled.keeper.is_some() || !self.may_keep_rights()
    }
}
