//! Which GTIDs the stream has applied.

use std::collections::{HashMap, HashSet, VecDeque};

use freshet_protocol::binlog::{Gtid, GtidSet};

/// MariaDB GTIDs that are remembered after they were applied. An OK packet overtakes or trails its event by
/// milliseconds. A write that is handed over later than this many transactions is settled by position.
const RECENT_MAX: usize = 16_384;

/// Domains of MariaDB whose numbers are watched; GTIDs of further ones are settled by position.
const DOMAINS_MAX: usize = 1_024;

/// What is known of one GTID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GtidFate {
    /// The stream has applied it.
    Applied,
    /// It will come by.
    Awaited,
    /// Its number proves nothing.
    Unreliable,
}

/// The applied GTIDs of one generation.
#[derive(Debug)]
pub(crate) enum AppliedGtids {
    /// No GTIDs are to be had: everything is settled by position.
    Untold,
    /// MySQL: everything that was visible when the stream began, and what it brought.
    MySql(GtidSet),
    /// MariaDB.
    MariaDb(Recent),
}

impl AppliedGtids {
    /// MariaDB's, at the start of a stream.
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

    pub(crate) fn known(&self, gtid: &Gtid) -> GtidFate {
        match (self, gtid) {
            (Self::MySql(set), Gtid::MySql { .. }) if set.contains(gtid) => GtidFate::Applied,
            (Self::MySql(_), Gtid::MySql { .. }) => GtidFate::Awaited,
            (Self::MariaDb(recent), Gtid::MariaDb { .. }) => recent.known(gtid),
            _ => GtidFate::Unreliable,
        }
    }
}

/// The last GTIDs that a MariaDB stream brought.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    order: VecDeque<Gtid>,
    set: HashSet<Gtid>,
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
        if !self.set.insert(gtid.clone()) {
            return;
        }
        self.order.push_back(gtid.clone());
        if self.order.len() > RECENT_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
    }

    fn known(&self, gtid: &Gtid) -> GtidFate {
        let Gtid::MariaDb { domain, seq, .. } = gtid else { return GtidFate::Unreliable };
        match self.domains.get(domain) {
            None if self.domains.len() < DOMAINS_MAX => GtidFate::Awaited,
            Some(Domain::Rising(_)) if self.set.contains(gtid) => GtidFate::Applied,
            Some(Domain::Rising(highest)) if seq > highest => GtidFate::Awaited,
            // Below the highest and not remembered: long gone, from before the stream, or a number that goes back.
            _ => GtidFate::Unreliable,
        }
    }
}

#[cfg(test)]
mod tests;
