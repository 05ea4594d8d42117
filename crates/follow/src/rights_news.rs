//! News of rights for those who serve what may be out of date: whether any account's rights may have changed since.
//!
//! The epoch of accounts also changes whenever the stream is lost, since nothing is known from then on. This one does not: what is served for a
//! bounded time whatever changes is served meanwhile too.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use freshet_cache::Position;
use freshet_sql::OnRights;

use crate::applier::StreamChange;

/// How often rights are known to have changed, and who is just changing them through us.
#[derive(Debug, Default)]
pub(crate) struct RightsNews {
    epoch: AtomicU64,
    under_way: AtomicUsize,
    /// The last time that everything was stamped was `lost_at`, for the loss of a stream over which no rights have changed. For rights it is as if
    /// that had been at `told_at`, the time before.
    lost_at: AtomicU64,
    told_at: AtomicU64,
    /// Where the stream began: who logs in after that has the rights of then, or later ones.
    begun_at: AtomicU64,
    /// When rights may last have been taken from somebody.
    taken_at: AtomicU64,
    /// When that was not known to be somebody else for the last time.
    taken_from_anybody_at: AtomicU64,
    /// The grant tables were written, and not loaded since. What was written before all that is known is found when they are looked at.
    edited: AtomicBool,
}

/// From whom a statement may take rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RightsTaken {
    /// It takes none.
    FromNobody,
    /// From accounts with these user names.
    FromUsers(Vec<String>),
    /// From any account.
    FromAnybody,
}

impl RightsTaken {
    /// By a statement that takes rights from these user names; `None`: it may mean any.
    #[must_use]
    pub fn from_users(users: Option<Vec<String>>) -> Self {
        users.map_or(Self::FromAnybody, Self::FromUsers)
    }
}

impl RightsNews {
    /// Rights may have changed.
    pub(crate) fn changed(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Changes whenever rights may have changed; `None` while somebody changes them through us. To be read before a statement is sent: what it
    /// shows was read by the rights of this epoch or of a later one.
    pub(crate) fn epoch(&self) -> Option<u64> {
        (self.under_way.load(Ordering::SeqCst) == 0).then(|| self.epoch.load(Ordering::SeqCst))
    }

    /// No rights have changed while there was no stream, for whose loss everything was stamped at `lost_at`, and before at `told_at`.
    pub(crate) fn are_kept(&self, told_at: Position, lost_at: Position) {
        // In this order: whoever reads the second has the first of then, or a later one, which is never too early.
        self.told_at.store(told_at.get(), Ordering::SeqCst);
        self.lost_at.store(lost_at.get(), Ordering::SeqCst);
    }

    /// Returns when everything was stamped last, as far as rights are concerned; `stamp`: when it was.
    pub(crate) fn everything_at(&self, stamp: Position) -> Position {
        if self.lost_at.load(Ordering::SeqCst) == stamp.get() {
            Position::new(self.told_at.load(Ordering::SeqCst))
        } else {
            stamp
        }
    }

    /// The stream tells of a change that concerns accounts. From whom it may take rights.
    pub(crate) fn told(&self, change: &StreamChange<'_>) -> RightsTaken {
        match *change {
            StreamChange::Accounts { on_rights: OnRights::Keeps, .. } => RightsTaken::FromNobody,
            StreamChange::Accounts { on_rights: OnRights::Takes, users, .. } => {
                RightsTaken::from_users(users.map(<[String]>::to_vec))
            }
            StreamChange::Accounts { on_rights: OnRights::Reloads, .. } => {
                match self.edited.swap(false, Ordering::SeqCst) {
                    true => RightsTaken::FromAnybody,
                    false => RightsTaken::FromNobody,
                }
            }
            StreamChange::GrantTables => {
                self.edited.store(true, Ordering::SeqCst);
                RightsTaken::FromNobody
            }
            _ => RightsTaken::FromAnybody,
        }
    }

    /// The stream has begun at this position.
    pub(crate) fn begun(&self, at: Position) {
        self.begun_at.fetch_max(at.get(), Ordering::SeqCst);
    }

    /// From where on rights are those of a login that begins now, at least. The servers change them before they log that.
    pub(crate) fn begun_at(&self) -> Position {
        Position::new(self.begun_at.load(Ordering::SeqCst))
    }

    /// Somebody may have lost rights at this position. To be told before it is reached.
    pub(crate) fn taken(&self, at: Position) {
        self.taken_at.fetch_max(at.get(), Ordering::SeqCst);
    }

    /// Anybody may have.
    pub(crate) fn taken_from_anybody(&self, at: Position) {
        self.taken_from_anybody_at.fetch_max(at.get(), Ordering::SeqCst);
        self.taken(at);
    }

    /// Returns when somebody may have lost rights for the last time.
    pub(crate) fn taken_at(&self) -> Position {
        Position::new(self.taken_at.load(Ordering::SeqCst))
    }

    /// Returns when anybody may have.
    pub(crate) fn taken_from_anybody_at(&self) -> Position {
        Position::new(self.taken_from_anybody_at.load(Ordering::SeqCst))
    }

    pub(crate) fn begins(&self) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
    }

    /// The epoch is another one before anybody can read it again.
    pub(crate) fn ends(&self) {
        self.changed();
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stamped_for_a_stream_that_was_lost_is_no_news_of_rights() {
        let news = RightsNews::default();
        let at = Position::new;
        assert_eq!(news.everything_at(at(7)), at(7));
        news.are_kept(at(3), at(7));
        assert_eq!(news.everything_at(at(7)), at(3));
        assert_eq!(news.everything_at(at(9)), at(9), "something else was stamped since");
    }

    #[test]
    fn what_was_read_before_a_change_or_while_it_was_under_way_is_of_no_epoch_after_it() {
        let news = RightsNews::default();
        let before = news.epoch();
        assert!(before.is_some());
        news.begins();
        news.begins();
        assert_eq!(news.epoch(), None);
        news.ends();
        assert_eq!(news.epoch(), None, "another one is under way still");
        news.ends();
        assert!(news.epoch() > before);
    }
}
