//! What a session knows of the connections that it has had or will have, and not of the one that it has: that is the lease.
//!
//! | what has happened | method | what changes |
//! |---|---|---|
//! | the session gives its connection up | [`WithoutConnection::note_given_up`] | what the next one must be like; a GTID that is there is lost |
//! | Freshet has carried a setting out | [`WithoutConnection::note_set_here`] | what the next one must be like |
//! | a connection is sought | [`WithoutConnection::take`], and [`WithoutConnection::note_sought`] if only the pool was asked | nothing is to be brought back, unless none was found |
//! | another session's connection was taken over | [`WithoutConnection::note_taken_over`] | a connection is kept half as long |
//! | another connection was opened | [`WithoutConnection::note_opened`] | a connection is kept twice as long |
//! | statements lead to the session's environment | [`WithoutConnection::note_in_reach`] | that environment is in reach for a while |
//! | the server has told the GTID of a write | [`WithoutConnection::note_write`] | the GTID is there |

use std::sync::Arc;

use super::pool::GivenUp;
use crate::environment::Environment;

/// How long a connection has to be without a statement of its own session before it is given up, in milliseconds. The time doubles each
/// time that another connection had to be opened, up to the most.
const UNUSED_MS_MIN: u64 = 1_000;
const UNUSED_MS_MAX: u64 = 600_000;
/// How long Freshet trusts, in milliseconds, that statements lead from the environment in which sessions begin to this session's environment.
const IN_REACH_MS: u64 = 1_000;

/// Whether `@@last_gtid` shows the GTID of the session's last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum KnownGtid {
    /// There was no write with a GTID.
    #[default]
    None,
    /// The session's connection shows it.
    There,
    /// A connection that the session has given up would show it.
    Lost,
}

/// What a session needs to go on without a connection, and when it does.
#[derive(Debug, Default)]
pub(crate) struct WithoutConnection {
    /// What the next connection must be like, if the session has given one up.
    given_up: Option<GivenUp>,
    /// An environment that statements reach from the environment in which such sessions begin, and when that was found, in monotonic
    /// milliseconds.
    in_reach: Option<(Arc<Environment>, u64)>,
    /// Whether the server knows the GTID of the session's last write on its connection.
    gtid: KnownGtid,
    /// How long a connection has to be unused before it is given up again, in milliseconds.
    keeps_unused_ms: u64,
}

/// The transitions.
impl WithoutConnection {
    /// Notes what the next connection must be like: the session gives its own up.
    pub(super) fn note_given_up(&mut self, given_up: GivenUp) {
        self.gtid = match self.gtid {
            KnownGtid::There => KnownGtid::Lost,
            other => other,
        };
        self.given_up = Some(given_up);
    }

    /// Notes what the next connection must be like after a setting that the session has carried out without one.
    pub(super) fn note_set_here(&mut self, given_up: GivenUp) {
        self.given_up = Some(given_up);
    }

    /// Returns what the next connection must be like, if the session has given one up, and forgets it: a connection is sought now.
    pub(super) const fn take(&mut self) -> Option<GivenUp> {
        self.given_up.take()
    }

    /// Notes the outcome of a search that may find nothing: what the next connection still must be like, if none was found.
    pub(super) fn note_sought(&mut self, given_up: Option<GivenUp>) {
        self.given_up = given_up;
    }

    /// Notes that another session's connection was taken over before a statement: to give connections up was cheap.
    pub(super) const fn note_taken_over(&mut self) {
        self.keeps_unused_ms /= 2;
    }

    /// Notes that another connection had to be opened, and brought to the session's environment.
    pub(super) fn note_opened(&mut self) {
        self.keeps_unused_ms = (2 * self.keeps_unused_ms).clamp(UNUSED_MS_MIN, UNUSED_MS_MAX);
    }

    /// Notes that statements lead to this environment, at this time in monotonic milliseconds.
    pub(super) fn note_in_reach(&mut self, environment: &Arc<Environment>, now_ms: u64) {
        self.in_reach = Some((Arc::clone(environment), now_ms));
    }

    /// Notes a write whose GTID the session's connection shows.
    pub(super) const fn note_write(&mut self) {
        self.gtid = KnownGtid::There;
    }
}

/// The questions.
impl WithoutConnection {
    /// Whether the next connection must be like one that the session has given up.
    pub(super) const fn is_given_up(&self) -> bool {
        self.given_up.is_some()
    }

    /// Returns how many settings the next connection has to be told.
    pub(super) fn said(&self) -> usize {
        let said = self.given_up.as_ref().and_then(|given_up| given_up.said.as_ref());
        said.map_or(0, Vec::len)
    }

    /// Returns after how many milliseconds without a statement of its own session a connection is given up.
    pub(super) fn unused_ms_max(&self) -> u64 {
        self.keeps_unused_ms.max(UNUSED_MS_MIN)
    }

    /// Returns the same where a connection is given up at once, unless the session had to open other connections again and again.
    pub(super) const fn unused_ms_max_at_once(&self) -> u64 {
        self.keeps_unused_ms.saturating_sub(UNUSED_MS_MIN)
    }

    /// Whether it was found lately that statements lead to this environment.
    pub(super) fn is_in_reach(&self, environment: &Arc<Environment>, now_ms: u64) -> bool {
        self.in_reach
            .as_ref()
            .is_some_and(|(reached, at_ms)| Arc::ptr_eq(reached, environment) && now_ms - at_ms < IN_REACH_MS)
    }

    /// Whether the session's connection shows the GTID of the last write, which no other connection would show.
    pub(super) fn is_gtid_there(&self) -> bool {
        self.gtid == KnownGtid::There
    }

    /// Whether only a connection that the session has given up would show the GTID of the last write.
    pub(super) fn is_gtid_lost(&self) -> bool {
        self.gtid == KnownGtid::Lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_kept_the_longer_the_more_often_another_had_to_be_opened() {
        let mut unconnected = WithoutConnection::default();
        let times = |unconnected: &WithoutConnection| {
            (unconnected.unused_ms_max_at_once(), unconnected.unused_ms_max())
        };
        assert_eq!(times(&unconnected), (0, 1_000));
        unconnected.note_opened();
        assert_eq!(times(&unconnected), (0, 1_000));
        unconnected.note_opened();
        assert_eq!(times(&unconnected), (1_000, 2_000));
        unconnected.note_taken_over();
        assert_eq!(times(&unconnected), (0, 1_000));
        (0..20).for_each(|_| unconnected.note_opened());
        assert_eq!(times(&unconnected), (599_000, 600_000));
    }
}
