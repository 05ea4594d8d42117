//! Binlog events in, changes out.
//!
//! This module is pure: its caller hands in the events one by one. It tells a [`ChangeSink`] what an event changes, and the end of its
//! transaction; only then is the transaction's position published as applied. It asks a [`DefinitionSource`] for definitions.
//!
//! An event that is not understood, or cannot be told apart from one that matters, is told as a change of everything. An event that
//! proves that the stream itself is broken ends the stream, as [`Broken`].

// The definitions that the applier asks for, and the sinks that it tells of changes.
mod definitions;
mod sink;
mod changed_rows;

// Where in a transaction the stream is.
mod group;
mod announced;

// From an event to its changes.
mod change;
mod rows;
mod cascades;
mod system;

// The applier broken on purpose.
mod sabotage;

use std::sync::Arc;

use freshet_cache::{Freshness, Position};
use freshet_protocol::binlog::{Event, EventBody, Gtid};
use freshet_sql::Flavor;

use crate::timeline::{OffTimeline, Timeline};
use group::{EventGroup, PreparedXas};

pub use cascades::Referring;
pub(crate) use cascades::ReferringKeys;
pub use changed_rows::ChangedRows;
pub use definitions::DefinitionSource;
pub use sink::{ChangeSink, StreamChange, TransactionEnd};

/// Where the stream is after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Within a transaction.
    Inside,
    /// Behind an event that is no part of a transaction. `applied` is published.
    Passed(Position),
    /// At the end of a transaction. `applied` is published.
    Ended {
        /// Its GTID, if it has one.
        gtid: Option<Gtid>,
        /// The position of its end.
        at: Position,
    },
}

/// Why the stream cannot go on and has to be started anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The binlog's coordinates do not continue.
    #[error("{0}")]
    Timeline(#[from] OffTimeline),
    /// The server was switched to transactions without GTIDs, which cannot be found in its executed set.
    #[error("a transaction without GTID came in a stream that relies on GTIDs")]
    Anonymous,
}

/// The kind of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamTraits {
    /// The server that writes the binlog.
    pub flavor: Flavor,
    /// `visible` is known by GTIDs, so every transaction must have one.
    pub needs_gtids: bool,
    /// Table names are compared without case (`lower_case_table_names` is not 0).
    pub folds_names: bool,
}

/// The state of one stream.
pub struct Applier<D, S> {
    freshness: Arc<Freshness>,
    definitions: D,
    sink: S,
    stream: StreamTraits,
    timeline: Timeline,
    group: EventGroup,
    prepared: PreparedXas,
    published: Position,
}

impl<D: DefinitionSource, S: ChangeSink> Applier<D, S> {
    /// Returns an applier for a stream that brings everything after the timeline's present position.
    pub fn new(
        freshness: Arc<Freshness>,
        definitions: D,
        sink: S,
        stream: StreamTraits,
        timeline: Timeline,
    ) -> Self {
        let published = timeline.here();
        Self {
            freshness,
            definitions,
            sink,
            stream,
            timeline,
            group: EventGroup::default(),
            prepared: PreparedXas::default(),
            published,
        }
    }

    /// Returns the timeline, which knows where the stream is.
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the timeline, to locate on it what the server reports.
    pub const fn timeline_mut(&mut self) -> &mut Timeline {
        &mut self.timeline
    }

    /// Publishes as applied the stamps of changes that are in no binlog, where the stream does not pass them by itself: makes a step
    /// ([`crate::timeline`]). Does nothing within a transaction, whose stamps would lie below the published position.
    ///
    /// # Errors
    /// When the stream cannot go on.
    pub fn step(&mut self) -> Result<Option<Position>, Broken> {
        let is_due = |freshness: &Freshness| freshness.applied() < freshness.unlogged();
        let mut reached = None;
        while self.group.is_outside() && is_due(&self.freshness) {
            let Some(at) = self.timeline.step()? else { break };
            self.publish(at);
            reached = Some(at);
        }
        Ok(reached)
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// When the stream cannot go on. Then nothing is known of later changes, and everything has to be stamped.
    pub fn apply(&mut self, event: Event) -> Result<Progress, Broken> {
        let before = self.timeline.here();
        if !event.header.is_artificial() {
            self.timeline.advance(event.header.end_pos)?;
        }
        match event.body {
            EventBody::Rotate { file, position } => {
                self.cut_off(before);
                self.timeline.rotate(&file, position)?;
                Ok(self.passed())
            }
            EventBody::Heartbeat { file, position } => {
                self.timeline.rotate(&file, position)?;
                Ok(self.passed())
            }
            EventBody::Format { .. }
            | EventBody::PreviousGtids
            | EventBody::GtidList
            | EventBody::Ignorable => Ok(self.passed()),
            EventBody::AnonymousGtid if self.stream.needs_gtids => Err(Broken::Anonymous),
            EventBody::AnonymousGtid => Ok(self.next_group(EventGroup::opened(None), before)),
            EventBody::Gtid(gtid) => {
                Ok(self.next_group(EventGroup::with_gtid(gtid, self.stream.flavor), before))
            }
            body => {
                self.group.note_flags(event.header.flags);
                Ok(self.within_group(body, event.header.kind))
            }
        }
    }

    /// Ends an open transaction where another file begins. A transaction never spans files, so it was cut off by a crash, and rolled
    /// back.
    fn cut_off(&mut self, before: Position) {
        if !std::mem::take(&mut self.group).is_outside() {
            self.sink.ended(TransactionEnd::Unclear, self.above_published(before));
        }
    }

    /// Begins the next transaction. A transaction that is still open ends here; how it ended is unknown.
    fn next_group(&mut self, next: EventGroup, before: Position) -> Progress {
        // Its last statement may be one whose rows did not come.
        self.statement_over(self.above_published(before));
        let was = std::mem::replace(&mut self.group, next);
        if was.is_outside() { Progress::Inside } else { self.ended(was, TransactionEnd::Unclear, before) }
    }

    fn within_group(&mut self, body: EventBody, kind: u8) -> Progress {
        let at = self.above_published(self.timeline.here());
        self.sink.reach(at);
        let ending = self.change(body, at).or(group::ending_of(kind));
        let Some(ending) = ending else { return Progress::Inside };
        self.statement_over(at);
        let group = std::mem::take(&mut self.group);
        self.ended(group, ending, at)
    }

    /// Tells the sink a change that is known without its rows.
    fn tell(&mut self, change: &StreamChange<'_>, at: Position) {
        self.group.touch_by(change);
        self.sink.change(change, at);
    }

    /// Returns a position for a change: above all published ones, even if its event claims no position.
    fn above_published(&self, at: Position) -> Position {
        at.max(Position::new(self.published.get() + 1))
    }

    fn ended(&mut self, group: EventGroup, ending: TransactionEnd, at: Position) -> Progress {
        self.sink.ended(ending, at);
        self.publish(at);
        Progress::Ended { gtid: group.into_gtid(), at }
    }

    fn passed(&mut self) -> Progress {
        if !self.group.is_outside() {
            return Progress::Inside;
        }
        let at = self.timeline.here();
        self.publish(at);
        Progress::Passed(at)
    }

    fn publish(&mut self, at: Position) {
        self.published = self.published.max(at);
        self.freshness.publish_applied(at);
    }
}

#[cfg(test)]
mod tests;
