//! The users that may write nothing, whatever they send. Their unknown code is not fenced.
//!
//! A remembered fact holds for one epoch of the accounts and one version of the definitions. Both grow before the fence of a change through
//! Freshet is lifted, so they are read after the check that no such fence stands. That a user may write is remembered for the epoch,
//! whatever is defined meanwhile: at worst Freshet does not notice that a view ended through which the user could write.

use std::sync::{Mutex, PoisonError};

use ahash::HashMap;
use freshet_cache::{Dep, Freshness};
use freshet_follow::Upstream;

/// How many users are remembered; at this bound the server is asked about all of them again.
const USERS_MAX: usize = 4096;

/// An epoch of the accounts and a version of the definitions.
type At = (u64, u64);

/// The facts of users, with the epoch and version for which each holds.
#[derive(Debug, Default)]
pub(crate) struct Powerless {
    users: Mutex<HashMap<String, (At, bool)>>,
}

impl Powerless {
    /// Whether this user may write nothing; false if that is not certain.
    pub(crate) async fn may_write_nothing(
        &self,
        user: &[u8],
        freshness: &Freshness,
        upstream: &Upstream,
    ) -> bool {
        let is_changing =
            || [Dep::ACCOUNTS, Dep::DEFINITIONS, Dep::EVERYTHING].iter().any(|dep| freshness.is_fenced(*dep));
        let Some(user) = std::str::from_utf8(user).ok().filter(|user| user.is_ascii() && !user.is_empty())
        else {
            return false;
        };
        if is_changing() {
            return false;
        }
        let now = (upstream.accounts_epoch(), upstream.catalog_version());
        let known = self.users.lock().unwrap_or_else(PoisonError::into_inner).get(user).copied();
        if let Some((at, may_not)) = known
            && (at == now || !may_not && at.0 == now.0)
        {
            return may_not;
        }
        let Ok(may_not) = upstream.may_write_nothing(user).await else { return false };
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if users.len() >= USERS_MAX {
            users.clear();
        }
        users.insert(user.to_owned(), (now, may_not));
        drop(users);
        may_not && !is_changing()
    }

    /// Forgets everything: rights may have changed without a trace in the binlog.
    pub(crate) fn forget(&self) {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
