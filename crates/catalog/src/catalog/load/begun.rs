//! Whether a definition that was read between two moments can be believed.

use freshet_cache::{Dep, Freshness, Position};

use crate::name::Name;
use crate::versions::Basis;

/// The state of things when the reading began.
#[derive(Clone, Copy)]
pub(super) struct ReadingBegun {
    pub(super) version: u64,
    pub(super) valid_from: Position,
}

impl ReadingBegun {
    /// Returns the basis of a definition that is read from here on, without its names.
    pub(super) fn basis(self, runs_code: bool, is_open: bool) -> Basis {
        Basis { runs_code, is_open, read_at: self.version, ..Basis::default() }
    }
}

/// Whether no change of these is known that may have come after the reading began.
pub(super) fn is_settled<'a>(
    freshness: &Freshness,
    names: impl Iterator<Item = &'a Name>,
    valid_from: Position,
) -> bool {
    let deps: Vec<Dep> = names
        .flat_map(|(schema, name)| [freshness.table(schema, name).definition, freshness.schema(schema)])
        .collect();
    // What our account sees depends on its rights.
    let deps = [deps, vec![Dep::ACCOUNTS]].concat();
    // A fence says only that a write is under way; here it counts whether a change is known.
    !freshness.is_dead(&deps, valid_from)
}
