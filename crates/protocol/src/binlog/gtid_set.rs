//! Sets of MySQL GTIDs: what a server has executed, as text and as sent.

use std::collections::BTreeMap;
use std::fmt;

use super::gtid::Gtid;

/// A set of MySQL GTIDs, tagged ones too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet {
    sources: BTreeMap<Source, Vec<Interval>>,
}

type Source = ([u8; 16], String);
type Interval = (u64, u64);

/// The text is no GTID set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidGtid;

impl GtidSet {
    /// Reads `uuid:1-5:7,uuid:tag:1-3`.
    pub fn parse(_text: &[u8]) -> Result<Self, InvalidGtid> {
        unimplemented!()
    }
    /// Whether it has this one.
    pub fn contains(&self, _gtid: &Gtid) -> bool {
        unimplemented!()
    }
    /// Adds one; true if it is new.
    pub fn add(&mut self, _gtid: &Gtid) -> bool {
        unimplemented!()
    }
    /// Adds all of another.
    pub fn merge(&mut self, _other: &GtidSet) {
        unimplemented!()
    }
    /// Whether all of `other` is in it.
    pub fn is_superset(&self, _other: &GtidSet) -> bool {
        unimplemented!()
    }
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
    /// The GTIDs in it, in order.
    pub fn iter(&self) -> impl Iterator<Item = Gtid> + '_ {
        self.sources.iter().flat_map(|((uuid, tag), intervals)| {
            intervals.iter().flat_map(move |&(first, last)| {
                (first..=last).map(move |gno| Gtid::MySql {
                    uuid: *uuid,
                    tag: tag.clone(),
                    gno,
                })
            })
        })
    }
    /// For `COM_BINLOG_DUMP_GTID`.
    pub fn encode(&self) -> Vec<u8> {
        unimplemented!()
    }
}

impl fmt::Display for GtidSet {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unimplemented!()
    }
}
