//! A prepared statement whose session gives its server connection up: what another connection must be told of the statement, and whether
//! that suffices.

use std::sync::atomic::Ordering;

use super::select::resolves_by_values;
use super::{NOT_MADE, Prepared};

impl Prepared {
    /// Returns the text by which the server prepares the statement, if it can be prepared anew.
    pub(crate) fn remade_from(&self) -> Option<&[u8]> {
        let select = self.select.as_ref().map(|select| &*select.text);
        let again = || self.text.as_ref().map(|again| &*again.text);
        let control = || self.control.as_ref().map(|statement| &*statement.text);
        select.or_else(again).or_else(control).filter(|_| self.ours.is_none())
    }

    /// Whether another connection, in the session's environment with this version, can replace this one: the server
    /// has nothing of the statement that a new preparation and a repeated first execution would not give.
    pub(super) fn could_be_made_elsewhere(&self, environment: u32, version: u64) -> bool {
        let is_whole = self.remade_from().is_some()
            && self.kill.is_none()
            && !self.has_long_data()
            && !self.cursor.load(Ordering::Relaxed);
        is_whole && self.prepared_in.is_of(environment, version) && self.is_told_by_its_first()
    }

    /// Whether the types that the server has resolved by values can be resolved again.
    fn is_told_by_its_first(&self) -> bool {
        let Some(select) = &self.select else { return self.parameters == 0 || !self.resolves_by_values() };
        let reads_alone = || select.compiled().is_some_and(|it| it.template.reads_tables_alone());
        // To show the first execution is to execute it: a statement that locks rows, or waits, is not executed for that.
        let can_be_shown = self
            .first()
            .is_none_or(|known| known.first.is_none() || known.first.can_be_shown_again() && reads_alone());
        can_be_shown && self.is_like_before(select)
    }

    /// Whether a server may resolve types of a statement other than a SELECT by the values of its executions. The values cannot be shown
    /// again: that would write.
    fn resolves_by_values(&self) -> bool {
        self.text.as_ref().is_some_and(|again| resolves_by_values(&again.text, again.modes.flavor))
    }

    /// Returns the text, if all statements of this text at the server are equivalent, whatever values they were executed with.
    pub(super) fn interchangeable(&self) -> Option<&[u8]> {
        let resolves = self.first().is_some() || self.select.is_none() && self.resolves_by_values();
        let bears_values = self.parameters > 0 && resolves;
        self.remade_from().filter(|_| !bears_values)
    }

    /// Notes that the server connection that has prepared the statement is given up.
    pub(super) fn is_unmade(&self) {
        self.server_id.store(NOT_MADE, Ordering::Relaxed);
        self.types().forget_told();
        if let Some(mut known) = self.first() {
            known.first.is_owed_again();
        }
    }
}
