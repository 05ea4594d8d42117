//! Sets of MySQL GTIDs: what a server has executed, as text and as sent.

mod intervals;
mod text;

use std::collections::BTreeMap;
use std::fmt;

use super::gtid::{Gtid, take_uuid, write_uuid};
use super::tagged;
use crate::{Malformed, Reader};

use intervals::Intervals;
pub use text::InvalidGtid;

/// The largest number that a server hands out.
const GNO_MAX: u64 = i64::MAX as u64 - 1;
/// In the first and the last byte of an encoded set with tags.
const FORMAT_TAGGED: u64 = 1;

/// A set of MySQL GTIDs, tagged ones too.
///
/// No source without numbers is ever kept, so equal sets compare equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet {
    sources: BTreeMap<Source, Intervals>,
}

/// A server and a tag; the tag is empty for most.
type Source = ([u8; 16], String);

impl GtidSet {
    /// Reads `uuid:1-5:7,uuid:tag:1-3`, as the server prints it or as it
    /// accepts it: white space, empty parts, upper case and UUIDs without
    /// dashes included.
    ///
    /// # Errors
    ///
    /// If the server would not accept it either.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidGtid> {
        text::parse(text)
    }

    /// Whether it has this one; never one of MariaDB's.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        match gtid {
            Gtid::MySql { uuid, tag, gno } => {
                self.sources.get(&(*uuid, tag.clone())).is_some_and(|intervals| intervals.contains(*gno))
            }
            Gtid::MariaDb { .. } => false,
        }
    }

    /// Adds one; true if it is new. One of MariaDB's, or one with a number
    /// that no server hands out, is not added.
    pub fn add(&mut self, gtid: &Gtid) -> bool {
        match gtid {
            Gtid::MySql { uuid, tag, gno } if (1..=GNO_MAX).contains(gno) => {
                self.add_range((*uuid, tag.clone()), *gno, *gno)
            }
            _ => false,
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &GtidSet) {
        for (source, intervals) in &other.sources {
            for (first, last) in intervals.iter() {
                self.add_range(source.clone(), first, last);
            }
        }
    }

    fn add_range(&mut self, source: Source, first: u64, last: u64) -> bool {
        self.sources.entry(source).or_default().add(first, last)
    }

    /// Whether all of `other` is in it.
    pub fn is_superset(&self, other: &GtidSet) -> bool {
        other.sources.iter().all(|(source, theirs)| {
            self.sources.get(source).is_some_and(|ours| theirs.iter().all(|(a, b)| ours.contains_all(a, b)))
        })
    }

    /// Whether there is none in it.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Returns the GTIDs in it, in order. It may be a server's whole history: take a
    /// bounded number.
    pub fn iter(&self) -> impl Iterator<Item = Gtid> + '_ {
        self.sources.iter().flat_map(|((uuid, tag), intervals)| {
            intervals.iter().flat_map(move |(first, last)| {
                (first..=last).map(move |gno| Gtid::MySql { uuid: *uuid, tag: tag.clone(), gno })
            })
        })
    }

    /// Returns the binary form, as in `COM_BINLOG_DUMP_GTID` and PREVIOUS_GTIDS: that
    /// of 8.3 if there is a tag in it, else the one that every server reads.
    pub fn encode(&self) -> Vec<u8> {
        let tagged = self.sources.keys().any(|(_, tag)| !tag.is_empty());
        let count = self.sources.len() as u64;
        let head = if tagged { FORMAT_TAGGED << 56 | count << 8 | FORMAT_TAGGED } else { count };
        let mut out = head.to_le_bytes().to_vec();
        for ((uuid, tag), intervals) in &self.sources {
            out.extend_from_slice(uuid);
            if tagged {
                // One byte holds the length of every tag, shifted by the bit
                // that says that no further byte follows.
                out.push((tag.len() as u8) << 1);
                out.extend_from_slice(tag.as_bytes());
            }
            intervals.encode(&mut out);
        }
        out
    }

    /// Reads the binary form.
    ///
    /// # Errors
    ///
    /// If it is cut short, goes on behind its end, or has impossible numbers.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let head = reader.u64()?;
        let (tagged, count) = match head >> 56 {
            0 => (false, head),
            FORMAT_TAGGED => (true, head >> 8 & 0xffff_ffff_ffff),
            _ => return Err(BAD),
        };
        let mut set = GtidSet::default();
        for _ in 0..count {
            set.decode_source(&mut reader, tagged)?;
        }
        if reader.is_empty() { Ok(set) } else { Err(BAD) }
    }

    fn decode_source(&mut self, reader: &mut Reader<'_>, tagged: bool) -> Result<(), Malformed> {
        let uuid = take_uuid(reader)?;
        let tag = if tagged { tagged::tag(reader)? } else { String::new() };
        for _ in 0..reader.u64()? {
            let (first, end) = (reader.u64()?, reader.u64()?);
            if first == 0 || first >= end || end > GNO_MAX + 1 {
                return Err(BAD);
            }
            self.add_range((uuid, tag.clone()), first, end - 1);
        }
        Ok(())
    }
}

const BAD: Malformed = Malformed::new("encoded GTID set in an unknown form");

impl fmt::Display for GtidSet {
    /// As the server prints it, but on one line: each server once, its
    /// untagged numbers first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut previous: Option<&[u8; 16]> = None;
        for ((uuid, tag), intervals) in &self.sources {
            if previous != Some(uuid) {
                if previous.is_some() {
                    f.write_str(",")?;
                }
                write_uuid(f, uuid)?;
            }
            if !tag.is_empty() {
                write!(f, ":{tag}")?;
            }
            write!(f, "{intervals}")?;
            previous = Some(uuid);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
