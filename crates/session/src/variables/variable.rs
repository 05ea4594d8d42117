//! One variable: its facts, and how it is shown and set.

use freshet_cache::Cache;
use freshet_follow::Upstream;
use freshet_protocol::ErrPacket;
use freshet_sql::{AssignedValue, Flavor, Scope};
use tokio::sync::Notify;

use super::kinds::read_only;
use super::values::{Globals, Locals};
use crate::level::SemisyncMode;
use crate::warnings::Warning;

/// The state that the table's handlers work on.
pub(crate) struct VariableTarget<'a> {
    pub(crate) globals: &'a Globals,
    pub(crate) cache: &'a Cache,
    pub(crate) locals: &'a mut Locals,
    pub(crate) flavor: Flavor,
    pub(crate) upstream: &'a Upstream,
    pub(crate) semisync: SemisyncMode,
    /// Notified when the cache's size has changed.
    pub(crate) resized: &'a Notify,
}

/// Where a variable lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lives {
    Everywhere,
    GlobalOnly,
    ReadOnly,
}

/// One variable: the docs and the answers are made of this.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) lives: Lives,
    /// Returns the value as SHOW VARIABLES prints it.
    pub(super) show: fn(&VariableTarget<'_>, global: bool) -> String,
    /// Whether `SELECT @@name` gives a number.
    pub(crate) number: bool,
    pub(super) set: fn(
        &mut VariableTarget<'_>,
        global: bool,
        value: &AssignedValue,
    ) -> Result<Option<Warning>, ErrPacket>,
}

impl Variable {
    /// Returns the value as SHOW VARIABLES prints it.
    pub(crate) fn shown(&self, target: &VariableTarget<'_>, scope: Scope) -> String {
        (self.show)(target, scope == Scope::Global)
    }

    /// Sets the variable.
    ///
    /// # Errors
    /// MySQL's own errors: 1238 (read only), 1229 (global only), 1231 (wrong value), 1232 (wrong type), 1651 or 1925.
    pub(crate) fn set(
        &self,
        target: &mut VariableTarget<'_>,
        scope: Scope,
        value: &AssignedValue,
    ) -> Result<Option<Warning>, ErrPacket> {
        match (self.lives, scope) {
            (Lives::ReadOnly, _) => read_only(self.name),
            (Lives::GlobalOnly, Scope::Session | Scope::Unspecified) => Err(ErrPacket::new(
                1229,
                "HY000",
                format!("Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL", self.name),
            )),
            (_, Scope::Global) => {
                let set = (self.set)(target, true, value);
                target.globals.changed();
                set
            }
            (_, Scope::Session | Scope::Unspecified) => (self.set)(target, false, value),
        }
    }
}
