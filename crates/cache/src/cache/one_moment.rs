//! Look-ups of a reader whose results have to share a moment: see [`crate::snapshot`].

use crate::cache::Cache;
use crate::found::{Lookup, LookupKind};
use crate::snapshot::{Ruling, is_touched};
use crate::stored::Stored;
use crate::{Dep, Entry, Moment, TimedKey, Validity};

/// A reader of several results as of one moment.
#[derive(Clone, Copy, Debug)]
pub struct MomentReader<'a> {
    /// The moment.
    pub moment: Moment,
    /// What the reader's own writes would be fenced on: those that are not committed yet.
    pub written: &'a [Dep],
}

impl Cache {
    /// As [`Self::get_if`], for a reader of one moment. The dependencies of a hit are added to `served`:
    /// [`crate::Freshness::holds_until`] may be asked about them.
    pub fn get_as_of<R>(
        &self,
        key: TimedKey<'_>,
        reader: MomentReader<'_>,
        served: &mut Vec<Dep>,
        f: impl FnOnce(&Entry<'_>) -> Option<R>,
    ) -> Lookup<R> {
        let before = served.len();
        let check = |stored: &Stored<'_>| {
            let verdict = self.check_as_of(stored, reader);
            if verdict == Ruling::Servable {
                served.extend(stored.deps().flatten());
            }
            verdict
        };
        let found = self.look_up(key, LookupKind::AsOf, check, f);
        if !matches!(found, Lookup::Hit(_)) {
            served.truncate(before);
        }
        self.counted(found)
    }

    /// Judges an entry. What the reader itself has written counts as changed since the reader's moment.
    fn check_as_of(&self, stored: &Stored<'_>, reader: MomentReader<'_>) -> Ruling {
        let (deps, header) = (stored.deps(), stored.header());
        if is_touched(reader.written, deps.clone().flatten()) {
            return Ruling::Moved;
        }
        let validity = Validity { valid_from: header.valid_from, ends_asked: header.ends_asked };
        self.freshness.check_each_as_of(deps, validity, reader.moment)
    }
}
