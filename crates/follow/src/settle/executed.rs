//! Which GTIDs the stream has applied.

use std::collections::{HashMap, VecDeque};

use freshet_protocol::binlog::{Gtid, GtidSet};

/// The most MariaDB GTIDs that are remembered after they were applied. An OK packet comes milliseconds before or after its event. A write
/// that is handed over more than this many transactions later is settled by position.
const RECENT_MAX: usize = 16_384;

/// The most domains of MariaDB whose numbers are watched; GTIDs of further domains are settled by position.
const DOMAINS_MAX: usize = 1_024;

/// What is known of one GTID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GtidFate {
    /// The stream has applied it.
    Applied,
    /// The stream will bring it.
    Awaited,
    /// Its number proves nothing.
    Unreliable,
}

/// An upper bound of the transactions that a snapshot shows, as the server named them after the snapshot was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownGtids {
    /// MySQL: the transactions that count as executed, and those that are about to.
    MySql(GtidSet),
    /// MariaDB: the last logged transaction of each domain.
    MariaDb(Vec<Gtid>),
}

impl ShownGtids {
    /// Returns the questions to ask, one after the other: a transaction that leaves the first set is in the second. The engine commits a
    /// transaction before MySQL counts it as executed, and while MySQL lists it among the owned ones. MariaDB logs a transaction before
    /// the engine commits it.
    #[must_use]
    pub const fn questions(is_mariadb: bool) -> &'static [&'static str] {
        if is_mariadb {
            &["SELECT @@GLOBAL.gtid_binlog_pos"]
        } else {
            &["SELECT @@GLOBAL.gtid_owned", "SELECT @@GLOBAL.gtid_executed"]
        }
    }

    /// Reads the answers. `None`: they tell nothing.
    #[must_use]
    pub fn read(is_mariadb: bool, answers: &[Vec<u8>]) -> Option<Self> {
        match answers {
            [last] if is_mariadb => {
                let gtids: Option<Vec<Gtid>> =
                    last.split(|byte| *byte == b',').map(Gtid::parse_mariadb).collect();
                gtids.map(Self::MariaDb)
            }
            [owned, executed] if !is_mariadb => {
                let mut set = GtidSet::parse(executed).ok().filter(|set| !set.is_empty())?;
                set.merge(&GtidSet::parse(&without_owners(owned)).ok()?);
                Some(Self::MySql(set))
            }
            _ => None,
        }
    }
}

/// Returns `uuid:5#18:6#19` without the threads that own each number.
fn without_owners(owned: &[u8]) -> Vec<u8> {
    let mut is_owner = false;
    let keep = |byte: &u8| {
        is_owner = *byte == b'#' || is_owner && byte.is_ascii_digit();
        !is_owner
    };
    owned.iter().copied().filter(keep).collect()
}

/// The applied GTIDs of one generation.
#[derive(Debug)]
pub(crate) enum AppliedGtids {
    /// There are no GTIDs: everything is settled by position.
    Untold,
    /// MySQL: everything that was visible when the stream began, and the transactions that it brought.
    MySql(GtidSet),
    /// MariaDB.
    MariaDb(Recent),
}

impl AppliedGtids {
    /// Makes MariaDB's set at the start of a stream.
    pub(crate) fn mariadb() -> Self {
        Self::MariaDb(Recent::default())
    }

    pub(crate) fn add(&mut self, gtid: &Gtid) {
        match self {
            Self::Untold => {}
            Self::MySql(set) => {
                set.add(gtid);
            }
            Self::MariaDb(recent) => recent.add(gtid),
        }
    }

    /// Returns how many transactions of MariaDB were applied.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::MariaDb(recent) => recent.count,
            Self::Untold | Self::MySql(_) => 0,
        }
    }

    /// Whether all of these are applied. `since`: [`Self::count`] before the server was asked for them.
    pub(crate) fn have_all(&self, shown: &ShownGtids, since: u64) -> bool {
        match (self, shown) {
            (Self::MySql(set), ShownGtids::MySql(shown)) => set.is_superset(shown),
            (Self::MariaDb(recent), ShownGtids::MariaDb(last)) => {
                last.iter().all(|gtid| recent.was_last_of_domain(gtid, since))
            }
            _ => false,
        }
    }

    pub(crate) fn known(&self, gtid: &Gtid) -> GtidFate {
        match (self, gtid) {
            (Self::MySql(set), Gtid::MySql { .. }) if set.contains(gtid) => GtidFate::Applied,
            (Self::MySql(_), Gtid::MySql { .. }) => GtidFate::Awaited,
            (Self::MariaDb(recent), Gtid::MariaDb { .. }) => recent.known(gtid),
            _ => GtidFate::Unreliable,
        }
    }
}

/// The last GTIDs of a MariaDB stream.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    order: VecDeque<Gtid>,
    /// Each GTID with its place among all that were applied.
    set: HashMap<Gtid, u64>,
    count: u64,
    domains: HashMap<u32, Domain>,
}

#[derive(Clone, Copy, Debug)]
enum Domain {
    /// The highest number so far: numbers have only risen.
    Rising(u64),
    /// A number went back, so any may come twice.
    Unreliable,
}

impl Recent {
    fn add(&mut self, gtid: &Gtid) {
        let Gtid::MariaDb { domain, seq, .. } = *gtid else { return };
        if self.domains.len() >= DOMAINS_MAX && !self.domains.contains_key(&domain) {
            return;
        }
        let state = self.domains.entry(domain).or_insert(Domain::Rising(0));
        *state = match *state {
            Domain::Rising(highest) if seq > highest => Domain::Rising(seq),
            _ => Domain::Unreliable,
        };
        self.remember(gtid);
    }

    fn remember(&mut self, gtid: &Gtid) {
        self.count += 1;
        if self.set.insert(gtid.clone(), self.count).is_some() {
            return;
        }
        self.order.push_back(gtid.clone());
        if self.order.len() > RECENT_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
    }

    /// Whether this GTID was applied as the last one of its domain, now or at the count `since`, or later. An earlier one tells nothing:
    /// a number that goes back is noticed when it is applied.
    fn was_last_of_domain(&self, gtid: &Gtid, since: u64) -> bool {
        let Gtid::MariaDb { domain, seq, .. } = gtid else { return false };
        let (Some(Domain::Rising(highest)), Some(place)) = (self.domains.get(domain), self.set.get(gtid))
        else {
            return false;
        };
        seq == highest || *place >= since
    }

    fn known(&self, gtid: &Gtid) -> GtidFate {
        let Gtid::MariaDb { domain, seq, .. } = gtid else { return GtidFate::Unreliable };
        match self.domains.get(domain) {
            None if self.domains.len() < DOMAINS_MAX => GtidFate::Awaited,
            Some(Domain::Rising(_)) if self.set.contains_key(gtid) => GtidFate::Applied,
            Some(Domain::Rising(highest)) if seq > highest => GtidFate::Awaited,
            // Below the highest number and not remembered: applied long ago, or before the stream, or a number that goes back.
            _ => GtidFate::Unreliable,
        }
    }
}

#[cfg(test)]
mod tests;
