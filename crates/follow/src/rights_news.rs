//! News of rights for sessions that serve outdated results: whether any account's rights may have changed since.
//!
//! The epoch of accounts also changes whenever the stream is lost, since later changes are unknown. This epoch does not: results that are
//! served for a bounded time whatever changes are also served meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use freshet_cache::Position;
use freshet_sql::OnRights;

use crate::applier::StreamChange;

/// How often rights are known to have changed, and the changes through us that are under way.
#[derive(Debug, Default)]
pub(crate) struct RightsNews {
    epoch: AtomicU64,
    under_way: AtomicUsize,
    /// The last time everything was stamped was `lost_at`, for the loss of a stream, and no rights have changed over it. For rights it
    /// counts as if that had been at `told_at`, the time before.
    lost_at: AtomicU64,
    told_at: AtomicU64,
    /// Where the stream began. A login after that has the rights that the account had at this position, or newer ones.
    begun_at: AtomicU64,
    /// When rights may last have been taken from somebody.
    taken_at: AtomicU64,
    /// When rights may last have been taken from a user who was not known.
    taken_from_anybody_at: AtomicU64,
    /// The grant tables were written, and not loaded since. A look at the tables finds earlier writes.
    edited: AtomicBool,
}

/// The users from whom a statement may take rights.
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
    /// Returns the value for a statement that takes rights from these user names; `None`: it may mean any.
    #[must_use]
    pub fn from_users(users: Option<Vec<String>>) -> Self {
        users.map_or(Self::FromAnybody, Self::FromUsers)
    }
}

impl RightsNews {
    /// Notes that rights may have changed.
    pub(crate) fn changed(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns a number that changes whenever rights may have changed; `None` while a change through us is under way. To be read before a
    /// statement is sent: its result was read by the rights of this epoch or of a later one.
    pub(crate) fn epoch(&self) -> Option<u64> {
        (self.under_way.load(Ordering::SeqCst) == 0).then(|| self.epoch.load(Ordering::SeqCst))
    }

    /// Notes that no rights have changed while there was no stream. Everything was stamped at `lost_at` for its loss, and at `told_at`
    /// before that.
    pub(crate) fn are_kept(&self, told_at: Position, lost_at: Position) {
        // In this order: a reader of the second value has the first of the same time, or a later one, which is never too early.
        self.told_at.store(told_at.get(), Ordering::SeqCst);
        self.lost_at.store(lost_at.get(), Ordering::SeqCst);
    }

    /// Returns when everything was last stamped, as far as rights are concerned; `stamp` is the actual position.
    pub(crate) fn everything_at(&self, stamp: Position) -> Position {
        if self.lost_at.load(Ordering::SeqCst) == stamp.get() {
            Position::new(self.told_at.load(Ordering::SeqCst))
        } else {
            stamp
        }
    }

    /// Takes in a change of the stream that concerns accounts. Returns from whom it may take rights.
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

    /// Notes that the stream has begun at this position.
    pub(crate) fn begun(&self, at: Position) {
        self.begun_at.fetch_max(at.get(), Ordering::SeqCst);
    }

    /// Returns the position from which a login that begins now has its rights, at least. The servers change rights before they log the
    /// change.
    pub(crate) fn begun_at(&self) -> Position {
        Position::new(self.begun_at.load(Ordering::SeqCst))
    }

    /// Notes that somebody may have lost rights at this position. To be called before it is reached.
    pub(crate) fn taken(&self, at: Position) {
        self.taken_at.fetch_max(at.get(), Ordering::SeqCst);
    }

    /// Notes that anybody may have lost rights at this position.
    pub(crate) fn taken_from_anybody(&self, at: Position) {
        self.taken_from_anybody_at.fetch_max(at.get(), Ordering::SeqCst);
        self.taken(at);
    }

    /// Returns when somebody may last have lost rights.
    pub(crate) fn taken_at(&self) -> Position {
        Position::new(self.taken_at.load(Ordering::SeqCst))
    }

    /// Returns when anybody may last have lost rights.
    pub(crate) fn taken_from_anybody_at(&self) -> Position {
        Position::new(self.taken_from_anybody_at.load(Ordering::SeqCst))
    }

    pub(crate) fn begins(&self) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends the change. The epoch is another one before anybody can read it again.
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
