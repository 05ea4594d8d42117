//! Lanes: connections that carry the statements of many sessions at once ([`Lane`]).
//!
//! A lane is a connection that a session has lent, one that needs it for nothing itself at the moment. It carries reads of other sessions
//! of the same environment, and so of the same account, with the same settings. To a session whose read was carried it is as if it had been answered from memory:
//! its own connection knows nothing of it. Where the session that lends its connection can go on without (`session/giving_up.rs`), the lane is nobody's from then
//! on; otherwise it takes its connection back with its next statement that is not carried.
//!
//! What a read leaves on a connection is not the lender's: its own last statement was carried too, and is repeated where something asks about
//! it. What a session has that a read of another one could see, or change, keeps its connection from being lent: see [`Session::may_ride`].
//!
//! The reads of transactions that the server knows nothing of are carried on lanes of their own, which are in a transaction themselves ([`SharedView`]).

mod shared_view;
mod suspension;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use freshet_cache::{Dep, Position};
use freshet_protocol::{Capabilities, Command};
use freshet_sql::Flavor;
use freshet_upstream::lane::{ANSWER_BYTES_MAX, Carried, LaneOutcome, NotCarried, SLOW};
use freshet_upstream::{Error, Lane, now_ms};
use tokio::sync::oneshot;
use tracing::debug;

pub(crate) use shared_view::SharedView;
use suspension::Suspension;

use super::hit::put_answer;
use super::hold::Hold;
use super::paced::kill;
use super::view::Manner;
use super::{Session, Tracking};
use crate::environment::{Environment, Known};
use crate::relay::{Capture, Captured, Filter, Lost, Relay, RelayStep, Relayed};
use crate::shared::{Multiplexing, Shared};

/// As many commands must be with the server, on connections of their own, before one of these is lent: alone, a statement is
/// answered as soon on its own.
const UNDER_WAY_MIN: usize = 2;

thread_local! {
    static LANES: Lanes = Lanes::default();
}

/// The lanes of one thread.
#[derive(Default)]
struct Lanes {
    /// One for each kind of session, or [`LANES_MAX`].
    open: RefCell<HashMap<Fit, Vec<OpenLane>>>,
    /// Commands with the server on connections of their own.
    under_way: Cell<usize>,
    suspension: Suspension,
}

/// So many lanes carry the reads of the same sessions at most. Two, so that the server has something to do while the answers of one are
/// handed out. More share out what keeps one busy: with four, most of what lanes gain is gone.
const LANES_MAX: usize = 2;
/// As many statements must wait on a lane before there is another one.
const DEEP: usize = 12;

/// What the sessions have in common whose reads a lane carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Fit {
    /// Where what all sessions share lies.
    shared: usize,
    /// The environment's identity.
    environment: u32,
    /// Statements are sent with attributes.
    has_attributes: bool,
    carriage: Carriage,
}

/// How a read is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Carriage {
    /// It reads what is committed then.
    Alone,
    /// It is of a transaction, and reads in a read view that it shares with others.
    InView,
}

/// A lane, and of when the rights are that its account was given.
struct OpenLane {
    lane: Rc<Lane>,
    rights_from: Position,
    /// The read view that it is in.
    view: Option<Rc<SharedView>>,
}

/// A lane for a read, and the read view in which it reads.
pub(crate) struct Ride {
    pub(crate) lane: Rc<Lane>,
    pub(crate) view: Option<Rc<SharedView>>,
}

/// For how long a session lends its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lends {
    /// Until it needs it itself.
    ForATime,
    /// It goes on without: a lane that comes and goes under a load that needs two would cost more than it saves.
    ForGood,
}

impl Lanes {
    /// Whether there may be a lane, or is reason to make one.
    fn are_worth_it(&self) -> bool {
        self.under_way.get() >= UNDER_WAY_MIN || !self.open.borrow().is_empty()
    }

    /// The read view of a lane for these, which is opened if there is none, or none that is young.
    fn view(&self, fit: &Fit, lane: &Rc<Lane>, shared: &Arc<Shared>) -> Option<Rc<SharedView>> {
        let mut open = self.open.borrow_mut();
        let its_own = open.get_mut(fit)?.iter_mut().find(|open| Rc::ptr_eq(&open.lane, lane));
        let OpenLane { view, .. } = its_own?;
        if let Some(view) = view.as_ref().filter(|view| view.is_young()) {
            return Some(Rc::clone(view));
        }
        let opened = SharedView::open(lane, shared);
        if let Some(before) = std::mem::replace(view, opened.clone()) {
            before.note_replaced();
        }
        opened
    }

    /// The lane for these on which the fewest wait, with its rights.
    fn of(&self, fit: &Fit) -> Option<(Rc<Lane>, Position)> {
        let open = self.open.borrow();
        let open = open.get(fit)?.iter().filter(|open| open.lane.is_open());
        let least = open.min_by_key(|open| open.lane.depth());
        least.map(|OpenLane { lane, rights_from, .. }| (Rc::clone(lane), *rights_from))
    }

    /// From when the rights are of a lane for these, if that is open.
    fn rights_of(&self, fit: &Fit, lane: &Rc<Lane>) -> Option<Position> {
        let open = self.open.borrow();
        let its_own = open.get(fit)?.iter().find(|open| Rc::ptr_eq(&open.lane, lane))?;
        its_own.lane.is_open().then_some(its_own.rights_from)
    }

    /// Whether another lane for these would do better than this one, on which the fewest wait.
    fn are_too_few(&self, fit: &Fit, lane: &Lane) -> bool {
        let how_many = |open: &Vec<OpenLane>| open.iter().filter(|open| open.lane.is_open()).count();
        fit.carriage == Carriage::Alone
            && lane.depth() >= DEEP
            && self.open.borrow().get(fit).map_or(0, how_many) < LANES_MAX
    }

    /// Notes a lane, and forgets those that are closed.
    fn opened(&self, fit: Fit, lane: OpenLane) {
        let mut open = self.open.borrow_mut();
        for lanes in open.values_mut() {
            lanes.retain(|open| open.lane.is_open());
        }
        open.retain(|_, lanes| !lanes.is_empty());
        open.entry(fit).or_default().push(lane);
    }
}

/// As many commands as this of one thread, on connections of their own, keep no server busy for longer than one of them alone.
const AT_ONCE: usize = 8;

/// How many times as long as it takes alone a statement takes at least, for all that are with the server: where a thousand are, none is
/// answered quickly, and each that shared a connection would be.
pub(crate) fn crowd() -> u32 {
    let under_way = LANES.with(|lanes| lanes.under_way.get());
    u32::try_from(under_way / AT_ONCE).unwrap_or(u32::MAX).max(1)
}

/// A command is with the server on a connection of its own, as long as this lives.
pub(super) struct UnderWay;

impl UnderWay {
    pub(super) fn begins() -> Self {
        LANES.with(|lanes| lanes.under_way.set(lanes.under_way.get() + 1));
        Self
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        LANES.with(|lanes| lanes.under_way.set(lanes.under_way.get() - 1));
    }
}

impl Session {
    /// Whether a read of this session may be carried with those of others: it is known in which environment it is, and nothing of the session can be
    /// seen by its reads alone. A session that has no connection of its own and begins as others did needs none for such reads.
    pub(crate) fn may_ride(&mut self) -> Option<Carriage> {
        if !self.state.tx.surely_autocommits() {
            self.state.view.note_lanes(self.are_there_for_transactions());
        }
        let is_known = self.may_be_carried() && (self.environment().is_some() || self.believes_where_it_is());
        if is_known { self.carriage() } else { None }
    }

    /// How its next read is carried, if its transaction allows it.
    fn carriage(&self) -> Option<Carriage> {
        let (tx, view) = (self.state.tx, &self.state.view);
        if tx.surely_autocommits() {
            return Some(Carriage::Alone);
        }
        let known = self.environment()?.transactions;
        let manner = match tx.begun() {
            Some(begun) => view.manner().filter(|_| !begun.is_at_server && view.may_be_bound())?,
            None if tx.begins_by_itself() && view.may_be_bound_next() => self.manner_of_transactions()?,
            None => return None,
        };
        if !known.leave_no_trace || self.state.holds_tables {
            return None;
        }
        match manner {
            Manner::Each => known.autocommit.then_some(Carriage::Alone),
            Manner::Shared if self.state.locals.opens_eagerly(&self.shared.globals) => None,
            Manner::Shared => {
                (known.are_snapshots && self.are_there_for_transactions()).then_some(Carriage::InView)
            }
        }
    }

    /// What was served in the session's transaction is not true in its read view.
    pub(super) fn note_refuted(&mut self) {
        if self.state.view.opens_late() {
            LANES.with(|lanes| lanes.suspension.note_conflict(now_ms()));
        }
        self.state.view.refute();
    }

    pub(super) fn are_there_lanes(&self) -> bool {
        match self.shared.options.multiplexing {
            Multiplexing::Off => false,
            Multiplexing::Always => true,
            Multiplexing::On => LANES.with(Lanes::are_worth_it),
        }
    }

    pub(super) fn are_there_for_transactions(&self) -> bool {
        let is_always = self.shared.options.multiplexing == Multiplexing::Always;
        let is_suspended = || LANES.with(|lanes| lanes.suspension.is_on(now_ms()));
        self.are_there_lanes() && (is_always || !is_suspended())
    }

    fn may_be_carried(&self) -> bool {
        const BAR: [Hold; 6] = [
            Hold::NextTransaction,
            Hold::Locks,
            Hold::TemporaryTables,
            Hold::Doubts,
            Hold::EnvironmentRefused,
            Hold::UnknownReads,
        ];
        self.are_there_lanes()
            && !self.ruled.are_timed()
            && !self.ruled.keeps_to_itself
            && !self.state.stops_time
            && !self.state.limits_time
            && self.state.pending.is_empty()
            && (self.lease.is_lent() || self.lease.tracking == Tracking::On || !self.lease.is_open())
            && !BAR.into_iter().any(|hold| self.holds().has(hold))
    }

    /// Takes it that a session without a connection is in the environment in which others like it have begun, if there is a lane in that. Its own
    /// connection is asked once it is opened ([`Session::connect`]).
    fn believes_where_it_is(&mut self) -> bool {
        let Known::Recalled(environment) = &self.state.environment else { return false };
        let environment = Arc::clone(environment);
        let is_open = |carriage| {
            let fit = self.fit(&environment, carriage);
            LANES.with(|lanes| lanes.of(&fit)).is_some()
        };
        let is_there = is_open(Carriage::Alone) || is_open(Carriage::InView);
        if self.lease.is_open() || self.lease.is_lost() || !self.lease.is_new() || !is_there {
            return false;
        }
        self.state.schema.clone_from(&environment.schema);
        self.state.environment = Known::Read(environment);
        true
    }

    fn fit(&self, environment: &Environment, carriage: Carriage) -> Fit {
        Fit {
            shared: Arc::as_ptr(&self.shared) as usize,
            environment: environment.id,
            has_attributes: self.capabilities().contains(Capabilities::QUERY_ATTRIBUTES),
            carriage,
        }
    }

    /// The lane for a read, and its read view. `rights` are the rights by which it reads. `None` if there is none: there is no need of one, or no
    /// connection to be lent.
    pub(crate) fn finds_ride(&mut self, rights: Dep, carriage: Carriage) -> Option<Ride> {
        let fit = self.fit(self.environment()?, carriage);
        let lane = self.lane(rights, fit)?;
        self.rides_on(lane, &fit)
    }

    /// The same lane once more, after something was waited for, if it is still to be had.
    pub(crate) fn finds_ride_again(&self, rights: Dep, carriage: Carriage, ride: Ride) -> Option<Ride> {
        let fit = self.fit(self.environment()?, carriage);
        let rights_from = LANES.with(|lanes| lanes.rights_of(&fit, &ride.lane))?;
        let is_there = self.has_rights_of_now() && self.is_of_now(rights, rights_from);
        if is_there { self.rides_on(ride.lane, &fit) } else { None }
    }

    fn rides_on(&self, lane: Rc<Lane>, fit: &Fit) -> Option<Ride> {
        let view = match fit.carriage {
            Carriage::Alone => None,
            Carriage::InView => Some(LANES.with(|lanes| lanes.view(fit, &lane, &self.shared))?),
        };
        Some(Ride { lane, view })
    }

    fn is_of_now(&self, rights: Dep, from: Position) -> bool {
        let is_fenced = [rights, Dep::EVERYTHING].iter().any(|dep| self.shared.freshness().is_fenced(*dep));
        !is_fenced && self.shared.upstream.are_rights_of(rights, from)
    }

    fn lane(&mut self, rights: Dep, fit: Fit) -> Option<Rc<Lane>> {
        if !self.has_rights_of_now() {
            return None;
        }
        if let Some((lane, rights_from)) = LANES.with(|lanes| lanes.of(&fit)) {
            if !self.shared.upstream.are_rights_of(rights, rights_from) {
                // Nobody may need its connection, and so it would stay.
                lane.close();
            }
            if !self.is_of_now(rights, rights_from) {
                return None;
            }
            let are_too_few = LANES.with(|lanes| lanes.are_too_few(&fit, &lane));
            let another = if are_too_few { self.opens(fit, rights, Lends::ForGood) } else { None };
            return another.or(Some(lane));
        }
        let is_worth_it = || LANES.with(|lanes| lanes.under_way.get()) >= UNDER_WAY_MIN;
        let is_wanted = self.shared.options.multiplexing == Multiplexing::Always || is_worth_it();
        if is_wanted { self.opens(fit, rights, Lends::ForATime) } else { None }
    }

    /// Lends the session's own connection as a lane for these, if it may.
    fn opens(&mut self, fit: Fit, rights: Dep, lends: Lends) -> Option<Rc<Lane>> {
        let rights_from = self.lease.rights_from;
        if !self.is_of_now(rights, rights_from) {
            return None;
        }
        let lane = self.lend(lends)?;
        let open = OpenLane { lane: Rc::clone(&lane), rights_from, view: None };
        LANES.with(|lanes| lanes.opened(fit, open));
        Some(lane)
    }

    /// Makes a lane of the session's own connection, if it may be one.
    fn lend(&mut self, lends: Lends) -> Option<Rc<Lane>> {
        let may_lend = self.lease.is_ready()
            && !self.lease.traces.cursor
            && !self.lease.prepared.have_long_data()
            && self.lease.prepared.closed.is_empty()
            && !self.state.unlogged;
        if !may_lend {
            return None;
        }
        if self.lease.heard().is_empty()
            && let Some(left) = self.gives_to_all()
        {
            let lane = left.into_lane(&self.shared)?;
            self.handle.lends(lane.counts());
            return Some(lane);
        }
        if lends == Lends::ForGood {
            return None;
        }
        let connection = self.lease.take_to_lend()?;
        let (lane, returning) = Lane::start(connection);
        self.handle.lends(lane.counts());
        self.lease.lend_as(returning);
        Some(lane)
    }

    /// Takes the session's connection back, if it is lent.
    ///
    /// # Errors
    /// It was lost meanwhile.
    pub(crate) async fn take_back(&mut self) -> Result<(), Error> {
        let Some(lent) = self.lease.lent() else { return Ok(()) };
        lent.lane().close();
        let mut connection = tokio::time::timeout(2 * SLOW, &mut *lent).await.ok();
        while connection.is_none() {
            // What it waits for is a read, which is its session's again then.
            let thread = self.handle.thread_id();
            if let Err(error) = kill(&self.shared, self.admitted.hand_over(), thread).await {
                debug!(%error, thread, "a read that holds its session up could not be killed");
            }
            let Some(lent) = self.lease.lent() else { break };
            connection = tokio::time::timeout(KILLED_WAIT, lent).await.ok();
        }
        self.lease.give_back(connection.flatten());
        if self.lease.is_lost() { Err(Error::Closed) } else { Ok(()) }
    }
}

impl Session {
    /// Waits for what becomes of a read that is carried.
    ///
    /// # Errors
    /// The session is ended, or its client has left.
    pub(crate) async fn outcome(
        &mut self,
        outcome: oneshot::Receiver<LaneOutcome>,
    ) -> Result<LaneOutcome, Lost> {
        Ok(self.waits_for(outcome).await?.unwrap_or(Err(NotCarried::Elsewhere)))
    }

    /// Puts an answer that was carried, of a statement whose text brings about so many warnings, into the client's buffer. `None` if it is
    /// not to be passed on.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn put_carried(
        &mut self,
        lane: &Lane,
        command: Command,
        carried: Carried,
        warnings: u16,
    ) -> Result<Option<Relayed>, Lost> {
        let told = self.state.told.clone().unwrap_or_default();
        let told_begun = AtomicBool::new(false);
        let filter = Filter {
            capabilities: self.capabilities(),
            begun: (self.flavor() == Flavor::MySql).then_some(&told_begun),
            told: Some(&told),
            schema: self.state.schema.as_deref().unwrap_or_default(),
        };
        let mut relay = Relay::new(&filter, command, lane.capabilities());
        let capture = Capture::new(ANSWER_BYTES_MAX, &self.shared.bounds().fill);
        let transacts = !self.state.tx.surely_autocommits();
        relay.capture(Some(capture.warned(warnings).in_transaction(transacts)));
        let mut frames = carried.frames;
        if !matches!(relay.follow(&mut frames, None)?, RelayStep::Last) {
            return Ok(None);
        }
        let relayed = relay.finish();
        if relayed.warned || relayed.error.is_some() {
            lane.has_left_diagnostics();
        }
        let has_room = |captured: &&Captured| self.wire.has_room(captured.body.len());
        let Some(captured) = relayed.captured.as_ref().filter(has_room) else { return Ok(None) };
        let session = self.state.status_for_answers();
        put_answer(&mut self.wire, [&captured.body[..]], captured.status_at, captured.status, session);
        *self.wire.out().1 = 0;
        Ok(Some(relayed))
    }

    /// Notes that `statement`, which found so many rows if that is known, was answered so.
    pub(crate) fn answered_by_lane(&mut self, statement: &[u8], found_rows: Option<u32>) {
        self.note_seen();
        self.active(now_ms());
        self.note_answered_from_memory(statement, found_rows);
        self.state.served.carried += 1;
    }
}

/// How long a statement may take to end that was killed, before it is killed once more.
const KILLED_WAIT: Duration = Duration::from_secs(1);
