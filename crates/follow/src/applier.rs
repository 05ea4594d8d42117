//! Binlog events in, stamps out.
//!
//! Pure: events are handed in one by one, and what they change is stamped on the [`Freshness`] before the end of
//! their transaction is published as applied. Whoever knows definitions is asked through [`Definitions`].
//!
//! Stamps are set at the position of the event. What is published, `applied` and `visible` both, are ends of transactions, so
//! a stamp anywhere within a transaction says the same as one at its end: it is above every `valid_from` of before,
//! and not above those of after. It only works earlier.
//!
//! Whatever is not understood, or cannot be told apart from something that matters, stamps everything. What proves that
//! the stream itself is broken ends it, as [`Broken`].

mod change;
mod group;
mod keys;
mod rows;
mod sabotage;
mod statement;
mod system;

use std::sync::Arc;

use freshet_cache::{Freshness, Position};
use freshet_catalog::rows::Watches;
use freshet_catalog::{Changed, ColumnInfo, Descendants};
use freshet_protocol::binlog::{Body, Event, Gtid};
use freshet_sql::Flavor;

use crate::timeline::{OffTimeline, Timeline};
use group::{Group, Prepared};

/// Who knows the definitions, and has to be told that they change.
pub trait Definitions {
    /// The tables whose rows the server may change without an event when rows of this one change (foreign keys that
    /// cascade), transitively. `None` if that is not known at this moment.
    fn descendants(&self, schema: &str, table: &str) -> Option<Arc<Descendants>>;

    /// The columns that the row images of an event at this position have. `None` if that is not known at this moment.
    fn layout(&self, schema: &str, table: &str, at: Position) -> Option<Arc<[ColumnInfo]>>;

    /// Definitions have changed. Called after the change is stamped and before it is published as applied, so that who
    /// sees it applied does not see the old definitions.
    fn changed(&self, what: Changed<'_>);

    /// Accounts or privileges have changed. Called before the change is published as applied.
    fn accounts_changed(&self);
}

/// What an event took the stream to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Within a transaction.
    Inside,
    /// Over something that is no part of a transaction. `applied` is published.
    Passed(Position),
    /// To the end of a transaction. `applied` is published.
    Ended {
        /// Its GTID, if it has one.
        gtid: Option<Gtid>,
        /// Where it ends.
        at: Position,
    },
}

/// Why the stream cannot go on: it has to be started anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The binlog's coordinates do not go on.
    #[error("{0}")]
    Timeline(#[from] OffTimeline),
    /// The server was switched to transactions without GTIDs, which cannot be found in its executed set.
    #[error("a transaction without GTID came in a stream that relies on GTIDs")]
    Anonymous,
}

/// How the stream is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Which server writes it.
    pub flavor: Flavor,
    /// `visible` is known by GTIDs, so that every transaction must have one.
    pub needs_gtids: bool,
    /// Table names are compared without case (`lower_case_table_names` is not 0).
    pub folds_names: bool,
}

/// The state of one stream.
pub struct Applier<D> {
    freshness: Arc<Freshness>,
    watches: Arc<Watches>,
    definitions: D,
    reading: Reading,
    timeline: Timeline,
    group: Group,
    prepared: Prepared,
    published: Position,
}

impl<D: Definitions> Applier<D> {
    /// An applier for a stream that brings everything that follows the timeline's present position.
    pub fn new(
        (freshness, watches): (Arc<Freshness>, Arc<Watches>),
        definitions: D,
        reading: Reading,
        timeline: Timeline,
    ) -> Self {
        let published = timeline.here();
        Self {
            freshness,
            watches,
            definitions,
            reading,
            timeline,
            group: Group::default(),
            prepared: Prepared::default(),
            published,
        }
    }

    /// Where the stream is.
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The same, to locate on it what the server reports.
    pub const fn timeline_mut(&mut self) -> &mut Timeline {
        &mut self.timeline
    }

    /// Publishes as applied what was stamped for changes that are in no binlog, where the stream does not come past it by
    /// itself: makes a step ([`crate::timeline`]). Not within a transaction, whose stamps would lie below what is published.
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
    /// When the stream cannot go on. Then nothing is known of what follows, and everything has to be stamped.
    pub fn apply(&mut self, event: Event) -> Result<Step, Broken> {
        let before = self.timeline.here();
        if !event.header.is_artificial() {
            self.timeline.advance(event.header.end_pos)?;
        }
        match event.body {
            Body::Rotate { file, position } => {
                // A transaction never spans files. One that is open here was cut off by a crash, and rolled back.
                self.group = Group::default();
                self.timeline.rotate(&file, position)?;
                Ok(self.passed())
            }
            Body::Heartbeat { file, position } => {
                self.timeline.rotate(&file, position)?;
                Ok(self.passed())
            }
            Body::Format { .. } | Body::PreviousGtids | Body::GtidList | Body::Ignorable => Ok(self.passed()),
            Body::AnonymousGtid if self.reading.needs_gtids => Err(Broken::Anonymous),
            Body::AnonymousGtid => Ok(self.next_group(Group::opened(None), before)),
            Body::Gtid(gtid) => Ok(self.next_group(Group::with_gtid(gtid, self.reading.flavor), before)),
            body => Ok(self.within_group(body, event.header.kind)),
        }
    }

    /// A transaction that was left open ends where the next begins: its end was something we do not know.
    fn next_group(&mut self, next: Group, before: Position) -> Step {
        // Its last statement may be one whose rows did not come.
        self.statement_over(self.above_published(before));
        let was = std::mem::replace(&mut self.group, next);
        if was.is_outside() { Step::Inside } else { self.ended(was, before) }
    }

    fn within_group(&mut self, body: Body, kind: u8) -> Step {
        let at = self.above_published(self.timeline.here());
        // Before it is asked what there is to be stamped: what comes into use after that question is told of this event.
        self.watches.reach(at);
        if self.change(body, at) || group::is_whole_transaction(kind) {
            self.statement_over(at);
            let group = std::mem::take(&mut self.group);
            return self.ended(group, at);
        }
        Step::Inside
    }

    /// A change is stamped above all that was published, even if its event claims to stand nowhere.
    fn above_published(&self, at: Position) -> Position {
        at.max(Position::new(self.published.get() + 1))
    }

    fn ended(&mut self, group: Group, at: Position) -> Step {
        self.publish(at);
        Step::Ended { gtid: group.into_gtid(), at }
    }

    fn passed(&mut self) -> Step {
        if !self.group.is_outside() {
            return Step::Inside;
        }
        let at = self.timeline.here();
        self.publish(at);
        Step::Passed(at)
    }

    fn publish(&mut self, at: Position) {
        self.published = self.published.max(at);
        self.freshness.publish_applied(at);
    }
}

#[cfg(test)]
mod tests;
