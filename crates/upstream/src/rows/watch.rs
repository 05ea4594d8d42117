//! One watch.

use freshet_cache::{Dep, Position};
use freshet_sql::{Condition, Datum, RowWrite};

use super::spec::WatchSpec;
use crate::catalog::TableInfo;

/// What a write touches of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touched {
    /// Nothing that rests on it.
    Nothing,
    /// These slots.
    Slots(Vec<Dep>),
    /// Anything: [`Watch::any`].
    Any,
}

/// A way to read a table, by which its changes are told apart.
#[derive(Debug)]
pub struct Watch {
    spec: WatchSpec,
    any: Dep,
}

impl Watch {
    /// What it is made of.
    #[must_use]
    pub const fn spec(&self) -> &WatchSpec {
        &self.spec
    }

    /// Whether what was read with this `valid_from` may rest on it. To be asked after [`Self::deps_of_reading`], which may
    /// bring something into use that has to be waited for.
    #[must_use]
    pub fn is_usable(&self, valid_from: Position) -> bool {
        let _ = valid_from;
        false
    }

    /// What every entry that rests on it depends on, beside its slots. It is stamped by changes that have no key, and
    /// fenced by writes that have none.
    #[must_use]
    pub const fn any(&self) -> Dep {
        self.any
    }

    /// The slots of a reading with these conditions, one for each key column as in [`super::Reading`], and these
    /// parameters; none if it has no key columns. `None`: too many, or undecided; the reading may not rest on the watch.
    #[must_use]
    pub fn deps_of_reading(&self, conditions: &[Condition], parameters: &[Datum]) -> Option<Vec<Dep>> {
        let _ = (conditions, parameters);
        None
    }

    /// What a write to its table, whose definition is this, touches of it.
    #[must_use]
    pub fn deps_of_write(&self, table: &TableInfo, write: &RowWrite, parameters: &[Datum]) -> Touched {
        let _ = (table, write, parameters);
        Touched::Any
    }
}
