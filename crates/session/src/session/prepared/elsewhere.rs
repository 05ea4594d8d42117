//! A prepared statement whose session gives its server connection up: what another connection has to be told of it, and whether that is all.

use std::sync::atomic::Ordering;

use super::select::resolves_by_values;
use super::{NOT_MADE, Prepared};

impl Prepared {
    /// The text by which the server prepares it, if it can be prepared anew.
    pub(crate) fn remade_from(&self) -> Option<&[u8]> {
        let select = self.select.as_ref().map(|select| &*select.text);
        let again = || self.text.as_ref().map(|again| &*again.text);
        let control = || self.control.as_ref().map(|statement| &*statement.text);
        select.or_else(again).or_else(control).filter(|_| self.ours.is_none())
    }

    /// Whether another connection, in the environment that the session is in and that has this version, can take this one's place: the server
    /// has nothing of it there that it does not have of one that is prepared anew and shown what was executed first.
    pub(super) fn could_be_made_elsewhere(&self, environment: u32, version: u64) -> bool {
        let is_whole = self.remade_from().is_some()
            && self.kill.is_none()
            && !self.has_long_data()
            && !self.cursor.load(Ordering::Relaxed);
        is_whole && self.prepared_in.is_of(environment, version) && self.is_told_by_its_first()
    }

    /// Whether what the server has resolved by its values can be had again.
    fn is_told_by_its_first(&self) -> bool {
        let Some(select) = &self.select else { return self.parameters == 0 || !self.resolves_by_values() };
        let reads_alone = || select.compiled().is_some_and(|it| it.template.reads_tables_alone());
        // To show it is to execute it: what locks rows, or waits, is not executed for that.
        let can_be_shown =
            self.first().is_none_or(|first| first.is_none() || first.can_be_shown_again() && reads_alone());
        can_be_shown && self.is_like_before(select)
    }

    /// Whether a server may resolve types of a statement that is no SELECT by the values that it is executed with. It cannot be shown them
    /// again: that would write.
    fn resolves_by_values(&self) -> bool {
        self.text.as_ref().is_some_and(|again| resolves_by_values(&again.text, again.modes.flavor))
    }

    /// The text of which one statement at the server is as good as another, whatever they were executed with.
    pub(super) fn interchangeable(&self) -> Option<&[u8]> {
        let resolves = self.first().is_some() || self.select.is_none() && self.resolves_by_values();
        let bears_values = self.parameters > 0 && resolves;
        self.remade_from().filter(|_| !bears_values)
    }

    /// The server connection that has prepared it is given up.
    pub(super) fn is_unmade(&self) {
        self.server_id.store(NOT_MADE, Ordering::Relaxed);
        self.types().forget_told();
        if let Some(mut first) = self.first() {
            first.is_owed_again();
        }
    }
}
