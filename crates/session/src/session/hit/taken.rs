//! Taking over a result that was read for a transaction on another connection ([`crate::session::SharedView`]).

use freshet_cache::{Dep, Moment, Ruling, Validity};
use freshet_upstream::now_ms;

use crate::counters::Count;
use crate::session::Session;
use crate::session::view::{ReadMoment, ReadView};

impl Session {
    /// Takes over a result that was read for the session's transaction in a shared read view, as if the result were stored. `deps`: its
    /// dependencies; `validity`: with the ends of the binlog that had been asked for when the read view was open. Returns false if the
    /// transaction reads another moment.
    pub(crate) fn takes_read(&mut self, deps: &[Dep], validity: Validity) -> bool {
        let (now, level) = (now_ms(), self.state.locals.level(&self.shared.globals));
        if self.admits(level, now).is_none() {
            self.shared.counters.add(Count::NotProven);
            return false;
        }
        let before = self.begin_by_itself();
        let is_taken = self.serves_read(deps, validity) && !self.runs_out(level);
        if is_taken {
            self.state.view_mut().course.note_ride();
        } else {
            self.takes_back_beginning(before);
        }
        is_taken
    }

    /// Notes that the result is served, if the transaction reads its moment.
    fn serves_read(&mut self, deps: &[Dep], validity: Validity) -> bool {
        let (freshness, view) = (self.shared.freshness(), self.state.view_mut());
        let moment_of = |view: &ReadView| match view.reads(freshness) {
            ReadMoment::AsOf(moment @ Moment::AsOf(_)) if view.may_be_bound() => Some(moment),
            _ => None,
        };
        let Some(mut moment) = moment_of(view) else { return false };
        let mut ruling = freshness.check_as_of(deps, validity, moment);
        if ruling == Ruling::Moved
            && view.move_on(freshness)
            && let Some(later) = moment_of(view)
        {
            moment = later;
            ruling = freshness.check_as_of(deps, validity, moment);
        }
        if ruling == Ruling::Servable {
            view.served().extend_from_slice(deps);
            view.serves(moment);
        }
        ruling == Ruling::Servable
    }

    /// Notes that a statement of the session's transaction, if there is one, was answered with the rows committed now.
    pub(crate) fn note_read_now(&mut self) {
        if !self.state.tx.surely_autocommits() {
            self.state.view_mut().course.note_served();
        }
    }
}
