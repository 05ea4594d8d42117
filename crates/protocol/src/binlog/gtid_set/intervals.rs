//! The numbers of one source.

use std::fmt;

/// Sorted ranges, both ends included, with a gap between any two: the one way
/// to write a set down, so that equal sets are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.contains_all(number, number)
    }

    pub(super) fn contains_all(&self, first: u64, last: u64) -> bool {
        let after = self.0.partition_point(|&(start, _)| start <= first);
        after > 0 && last <= self.0[after - 1].1
    }

    /// Adds a range that ends below `u64::MAX`; true if any of it is new.
    pub(super) fn add(&mut self, first: u64, last: u64) -> bool {
        if self.contains_all(first, last) {
            return false;
        }
        // What overlaps or touches the new range becomes one with it.
        let from = self.0.partition_point(|&(_, end)| end + 1 < first);
        let to = self.0.partition_point(|&(start, _)| start <= last + 1);
        let merged =
            self.0[from..to].iter().fold((first, last), |(a, b), &(start, end)| (a.min(start), b.max(end)));
        self.0.splice(from..to, [merged]);
        true
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.0.len() as u64).to_le_bytes());
        for &(first, last) in &self.0 {
            out.extend_from_slice(&first.to_le_bytes());
            out.extend_from_slice(&(last + 1).to_le_bytes());
        }
    }
}

impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &(first, last) in &self.0 {
            if first == last {
                write!(f, ":{first}")?;
            } else {
                write!(f, ":{first}-{last}")?;
            }
        }
        Ok(())
    }
}
