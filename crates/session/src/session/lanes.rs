//! Lanes: connections that carry the statements of many sessions at once ([`Lane`]).
//!
//! A lane is a connection that a session has lent because the session does not need it at the moment. The lane carries reads of other
//! sessions of the same environment, and so of the same account, with the same settings. For a session whose read was carried, the read is
//! like an answer from memory: its own connection does not know of the read. If the lender can go on without its connection
//! (`session/giving_up.rs`), the lane belongs to nobody from then on; otherwise the lender takes its connection back for its next statement
//! that is not carried.
//!
//! The counts and warnings that a carried read leaves on a connection do not belong to the lender: the lender's own last statement was
//! carried too, and is repeated if a statement asks about it. State of a session that a read of another session could see, or change, keeps
//! the session from lending its connection: see [`Session::may_ride`].
//!
//! The reads of transactions that the server does not know of have lanes of their own, which are in a transaction themselves
//! ([`SharedView`]).

mod recent;
mod shared_view;
mod suspension;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ahash::HashMap;
use bytes::BytesMut;
use freshet_cache::{Dep, Position};
use freshet_protocol::{Capabilities, Command};
use freshet_sql::Flavor;
use freshet_upstream::lane::{ANSWER_BYTES_MAX, Carried, LaneOutcome, NotCarried, PlainAnswer};
use freshet_upstream::{Channel, Lane, ServerInfo, now_ms};
use tokio::sync::oneshot;

use recent::Recent;
pub(crate) use shared_view::SharedView;
use suspension::Suspension;

use super::Session;
use super::hit::put_answer;
use super::hold::Hold;
use super::openings;
use super::view::Manner;
use crate::environment::Environment;
use crate::relay::{Capture, Captured, Filter, Lost, Relay, RelayStep, Relayed, is_own};
use crate::shared::{Multiplexing, Shared};

/// How many commands must be with the server, on connections of their own, before one of these connections is lent: a single statement
/// is answered as soon on its own connection. If many sessions have a connection, one is lent all the same, so that the others need none.
const UNDER_WAY_MIN: usize = 2;

thread_local! {
    static LANES: Lanes = Lanes::default();
}

/// The lanes of one thread.
#[derive(Default)]
struct Lanes {
    /// The lanes for each kind of session, at most [`LANES_MAX`] each.
    open: RefCell<HashMap<Fit, Vec<OpenLane>>>,
    /// How many commands are with the server on connections of their own.
    under_way: Cell<usize>,
    /// Those that have not been there for long.
    recent: RefCell<Recent>,
    suspension: Suspension,
}

/// The most lanes that carry the reads of the same sessions. Two, so that the server has work while the answers of one lane are
/// handed out. More lanes divide the work of one: with four, most of the gain of lanes is lost.
const LANES_MAX: usize = 2;
/// How many statements must wait on a lane before another lane opens.
const DEEP: usize = 12;

/// What the sessions whose reads a lane carries have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Fit {
    /// The address of the state that all sessions share.
    shared: usize,
    /// The environment's identity.
    environment: u32,
    /// Whether statements are sent with attributes.
    has_attributes: bool,
    /// The clients' channel, which decides the channel to the server.
    channel: Channel,
    carriage: Carriage,
}

/// How a read is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Carriage {
    /// The read sees what is committed at that time.
    Alone,
    /// The read belongs to a transaction, and reads in a read view that it shares with others.
    InView,
}

/// A lane, and the position of the rights that its account was given.
struct OpenLane {
    lane: Rc<Lane>,
    rights_from: Position,
    /// The read view that the lane is in.
    view: Option<Rc<SharedView>>,
}

/// What is expected of a carried answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// How many warnings the text of its statement causes.
    pub(crate) warnings: u16,
    /// The answer may be stored.
    pub(crate) is_stored: bool,
}

/// A lane for a read, and the read view in which it reads.
pub(crate) struct Ride {
    pub(crate) lane: Rc<Lane>,
    pub(crate) view: Option<Rc<SharedView>>,
}

/// For how long a session lends its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lends {
    /// Until the session needs the connection itself.
    ForATime,
    /// The session goes on without the connection: a lane that comes and goes under a load that needs two lanes would cost more than it
    /// saves.
    ForGood,
}

impl Lanes {
    /// Whether any lane is open, for whatever sessions.
    fn are_open(&self) -> bool {
        self.open.borrow().values().flatten().any(|open| open.lane.is_open())
    }

    /// Whether enough commands are with the server for one of their connections to be lent.
    fn are_many_under_way(&self) -> bool {
        self.under_way.get() >= UNDER_WAY_MIN
    }

    /// Returns the read view of a lane for these sessions. Opens one if the lane has none, or no young one.
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

    /// Returns the lane for these sessions on which the fewest statements wait, with its rights.
    fn of(&self, fit: &Fit) -> Option<(Rc<Lane>, Position)> {
        let open = self.open.borrow();
        let open = open.get(fit)?.iter().filter(|open| open.lane.is_open());
        let least = open.min_by_key(|open| open.lane.depth());
        least.map(|OpenLane { lane, rights_from, .. }| (Rc::clone(lane), *rights_from))
    }

    /// Returns the position of the rights of a lane for these sessions, if the lane is open.
    fn rights_of(&self, fit: &Fit, lane: &Rc<Lane>) -> Option<Position> {
        let open = self.open.borrow();
        let its_own = open.get(fit)?.iter().find(|open| Rc::ptr_eq(&open.lane, lane))?;
        its_own.lane.is_open().then_some(its_own.rights_from)
    }

    /// Whether another lane for these sessions would do better than this one, on which the fewest statements wait.
    fn are_too_few(&self, fit: &Fit, lane: &Lane) -> bool {
        let how_many = |open: &Vec<OpenLane>| open.iter().filter(|open| open.lane.is_open()).count();
        fit.carriage == Carriage::Alone
            && lane.depth() >= DEEP
            && self.open.borrow().get(fit).map_or(0, how_many) < LANES_MAX
    }

    /// Notes a lane, and drops the closed lanes.
    fn opened(&self, fit: Fit, lane: OpenLane) {
        let mut open = self.open.borrow_mut();
        for lanes in open.values_mut() {
            lanes.retain(|open| open.lane.is_open());
        }
        open.retain(|_, lanes| !lanes.is_empty());
        open.entry(fit).or_default().push(lane);
    }
}

/// Returns how many commands of this thread's clients the server has at the moment.
pub fn at_server() -> usize {
    LANES.with(|lanes| {
        let depth = |open: &Vec<OpenLane>| open.iter().map(|open| open.lane.depth()).sum::<usize>();
        lanes.under_way.get() + lanes.open.borrow().values().map(depth).sum::<usize>()
    })
}

/// By how many times waits may grow in a crowd, at most.
const CROWD_MAX: u32 = 10;

/// How many commands of one thread, on connections of their own, a server finishes about as fast as one alone.
const AT_ONCE: usize = 8;

impl Session {
    /// Returns how many times longer a statement takes at least, because of all statements that have come to the server recently: with a
    /// thousand of them, none is answered quickly, though each would be on a shared connection. Statements that have been there for longer
    /// wait for a lock, or for their clients, and keep the server from nothing.
    pub(crate) fn crowd(&self) -> u32 {
        let recent = LANES.with(|lanes| lanes.recent.borrow_mut().count(self.handle.active_ms()));
        u32::try_from(recent / AT_ONCE).unwrap_or(u32::MAX).max(1)
    }

    /// Returns by how many times a wait for the server may be longer, because of all statements that are with it, and all that would open a
    /// connection otherwise.
    pub(crate) fn patience(&self) -> u32 {
        let waiting = u32::try_from(openings::waiting() / AT_ONCE).unwrap_or(u32::MAX);
        self.crowd().max(waiting).min(CROWD_MAX)
    }
}

/// A command that is with the server on a connection of its own, as long as this value lives.
pub(super) struct UnderWay {
    period: u64,
}

impl UnderWay {
    /// Notes a command that came at `now_ms`, in monotonic milliseconds.
    pub(super) fn begins(now_ms: u64) -> Self {
        LANES.with(|lanes| {
            lanes.under_way.set(lanes.under_way.get() + 1);
            Self { period: lanes.recent.borrow_mut().begins(now_ms) }
        })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        LANES.with(|lanes| {
            lanes.under_way.set(lanes.under_way.get() - 1);
            lanes.recent.borrow_mut().ends(self.period);
        });
    }
}

impl Session {
    /// Whether a lane may carry a read of this session: the session's environment is known, and the session's reads alone show nothing of the
    /// session. A session that has no connection of its own and begins as others did needs none for such reads.
    pub(crate) fn may_ride(&mut self) -> Option<Carriage> {
        if !self.state.tx.surely_autocommits() {
            let are_there = self.are_there_for_transactions();
            self.state.view_mut().note_lanes(are_there);
        }
        let is_known = self.may_be_carried() && (self.environment().is_some() || self.believes_where_it_is());
        if is_known { self.carriage() } else { None }
    }

    /// Returns how the session's next read is carried, if its transaction allows it.
    pub(super) fn carriage(&self) -> Option<Carriage> {
        let (tx, view) = (&self.state.tx, self.state.view());
        if tx.surely_autocommits() {
            return Some(Carriage::Alone);
        }
        let known = self.environment()?.transactions;
        let manner = match tx.begun() {
            Some(begun) => view.manner().filter(|_| !begun.is_at_server && view.may_be_bound())?,
            None if tx.begins_by_itself() && view.may_be_bound_next() => self.manner_of_transactions()?,
            None => return None,
        };
        if !known.leave_no_trace || tx.standing().open_tables {
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

    /// Notes that a result served in the session's transaction is not true in its read view.
    pub(super) fn note_refuted(&mut self) {
        if self.state.view().opens_late() {
            LANES.with(|lanes| lanes.suspension.note_conflict(now_ms()));
        }
        self.state.view_mut().refute();
    }

    /// Whether lanes may carry reads: a lane is open, or a new lane is worth making.
    pub(super) fn are_there_lanes(&self) -> bool {
        let may_be = self.shared.options.multiplexing != Multiplexing::Off;
        may_be && (LANES.with(Lanes::are_open) || self.is_lane_worth_making())
    }

    /// Whether a new lane is worth making.
    pub(super) fn is_lane_worth_making(&self) -> bool {
        match self.shared.options.multiplexing {
            Multiplexing::Off => false,
            Multiplexing::Always => true,
            Multiplexing::On => {
                LANES.with(Lanes::are_many_under_way)
                    || self.shared.are_many_connected()
                    || openings::are_many()
            }
        }
    }

    pub(super) fn are_there_for_transactions(&self) -> bool {
        let is_always = self.shared.options.multiplexing == Multiplexing::Always;
        let is_suspended = || LANES.with(|lanes| lanes.suspension.is_on(now_ms()));
        self.are_there_lanes() && (is_always || !is_suspended())
    }

    /// Whether the session has the time and the limits of time that all have, as far as is known: its reads may be carried with those of
    /// others, and on its connection.
    pub(super) fn has_time_of_all(&self) -> bool {
        !self.state.deeds.stop_time()
            && !self.state.deeds.limit_time()
            && self.environment().is_none_or(|environment| environment.tells_time)
    }

    pub(super) fn may_be_carried(&self) -> bool {
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
            && self.has_time_of_all()
            && self.state.pending.is_empty()
            && (self.lease.is_lent() || self.lease.tracking.is_on() || !self.lease.is_open())
            && !BAR.into_iter().any(|hold| self.holds().has(hold))
    }

    /// Assumes that a session without a connection is in the environment in which others like it have begun, if there is a lane for that
    /// environment. The session's own connection is asked once it is opened ([`Session::connect`]).
    fn believes_where_it_is(&mut self) -> bool {
        let Some(environment) = self.state.environment.recalled().cloned() else { return false };
        let is_open = |carriage| {
            let fit = self.fit(&environment, carriage);
            LANES.with(|lanes| lanes.of(&fit)).is_some()
        };
        let is_there = is_open(Carriage::Alone) || is_open(Carriage::InView);
        if self.lease.is_open() || self.lease.is_lost() || !self.lease.is_new() || !is_there {
            return false;
        }
        self.state.environment_is(environment);
        true
    }

    fn fit(&self, environment: &Environment, carriage: Carriage) -> Fit {
        Fit {
            shared: Arc::as_ptr(&self.shared) as usize,
            environment: environment.id,
            has_attributes: self.capabilities().contains(Capabilities::QUERY_ATTRIBUTES),
            channel: self.admitted.channel,
            carriage,
        }
    }

    /// Returns the lane for a read, and its read view. `rights` are the rights by which the read is done. `None` if there is none: lanes
    /// are not worth it, or there is no connection to lend.
    pub(crate) fn finds_ride(&mut self, rights: Dep, carriage: Carriage) -> Option<Ride> {
        let fit = self.fit(self.environment()?, carriage);
        let lane = self.lane(rights, fit)?;
        self.rides_on(lane, &fit)
    }

    /// Returns the same lane once more after a wait, if it is still there.
    pub(crate) fn finds_ride_again(&self, rights: Dep, carriage: Carriage, ride: Ride) -> Option<Ride> {
        let fit = self.fit(self.environment()?, carriage);
        let rights_from = LANES.with(|lanes| lanes.rights_of(&fit, &ride.lane))?;
        let is_there = self.has_rights_of_now() && self.is_of_now(rights, rights_from);
        if is_there { self.rides_on(ride.lane, &fit) } else { None }
    }

    fn rides_on(&self, lane: Rc<Lane>, fit: &Fit) -> Option<Ride> {
        lane.be_patient(self.patience());
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
                // Nobody may need the lane's connection, so it would stay open.
                lane.close();
            }
            if !self.is_of_now(rights, rights_from) {
                return None;
            }
            let are_too_few = LANES.with(|lanes| lanes.are_too_few(&fit, &lane));
            let another = if are_too_few { self.opens(fit, rights, Lends::ForGood) } else { None };
            return another.or(Some(lane));
        }
        if self.is_lane_worth_making() { self.opens(fit, rights, Lends::ForATime) } else { None }
    }

    /// Lends the session's own connection as a lane for these sessions, if that is allowed.
    fn opens(&mut self, fit: Fit, rights: Dep, lends: Lends) -> Option<Rc<Lane>> {
        let rights_from = self.lease.rights_from();
        if !self.is_of_now(rights, rights_from) {
            return None;
        }
        let lane = self.lend(lends)?;
        let open = OpenLane { lane: Rc::clone(&lane), rights_from, view: None };
        LANES.with(|lanes| lanes.opened(fit, open));
        openings::note_lane();
        Some(lane)
    }

    /// Whether a statement on the session's connection could be killed: as the session's account, or as Freshet's.
    fn could_kill(&self) -> bool {
        let shared = &self.shared;
        let may_kill = |server: Arc<ServerInfo>| {
            let has = |name| server.privileges.has(name);
            // Since MySQL 8.0.16, a session with SYSTEM_USER is killed by none without it.
            let kills_all = server.is_mariadb() || server.is_before_8() || has("SYSTEM_USER");
            kills_all && ["SUPER", "CONNECTION_ADMIN", "CONNECTION ADMIN"].into_iter().any(has)
        };
        shared.gate.could_open(&self.admitted) || shared.upstream.server().is_some_and(may_kill)
    }

    /// Makes a lane of the session's own connection, if that is allowed.
    fn lend(&mut self, lends: Lends) -> Option<Rc<Lane>> {
        let may_lend = self.lease.is_ready()
            && !self.lease.traces().cursor
            && !self.lease.prepared.have_long_data()
            && !self.lease.prepared.has_closed()
            && !self.state.deeds.are_unlogged()
            && self.has_time_of_all();
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
        // The traces of statements that the server keeps for the session must not be those of others. And what holds the connection up must
        // not hold the session up with it.
        let leaves_traces = || {
            let begins_alike = self.environment().is_none_or(|environment| environment.begins_alike);
            self.holds().has(Hold::OtherState) || !begins_alike
        };
        if lends == Lends::ForGood || leaves_traces() || !self.could_kill() {
            return None;
        }
        let connection = self.lease.take_to_lend()?;
        let (lane, returning) = Lane::start(connection);
        self.handle.lends(lane.counts());
        self.lease.lend_as(returning);
        Some(lane)
    }
}

impl Session {
    /// Waits for the outcome of a carried read. `None`: the read was interrupted by a KILL QUERY.
    ///
    /// # Errors
    /// The session is ended, or its client has left.
    pub(crate) async fn outcome(
        &mut self,
        outcome: oneshot::Receiver<LaneOutcome>,
    ) -> Result<Option<LaneOutcome>, Lost> {
        let outcome = async { outcome.await.unwrap_or(Err(NotCarried::Elsewhere)) };
        self.waits_unless_interrupted(outcome).await
    }

    /// Puts a carried answer into the client's buffer. `None` if the answer is not to be passed on.
    ///
    /// # Errors
    /// The answer cannot be read.
    pub(crate) fn put_carried(
        &mut self,
        lane: &Lane,
        command: Command,
        carried: Carried,
        expected: Expected,
    ) -> Result<Option<Relayed>, Lost> {
        let transacts = !self.state.tx.surely_autocommits();
        let is_plain = |plain: &PlainAnswer| {
            plain.warnings == expected.warnings
                && !is_own(plain.statuses, transacts)
                && carried.frames.len() <= ANSWER_BYTES_MAX
        };
        let relayed = match carried.plain.filter(is_plain) {
            Some(plain) => self.relayed_plain(lane, carried.frames, &plain, expected),
            None => self.relayed_in_full(lane, command, carried, expected)?,
        };
        let Some(relayed) = relayed else { return Ok(None) };
        let has_room = |captured: &&Captured| self.wire.has_room(captured.body.len());
        let Some(captured) = relayed.captured.as_ref().filter(has_room) else { return Ok(None) };
        let session = self.state.status_for_answers();
        put_answer(&mut self.wire, [&captured.body[..]], captured.status_at, captured.status, session);
        *self.wire.out().1 = 0;
        Ok(Some(relayed))
    }

    /// Returns the facts of an answer of rows: any client gets it as it came. `None` if there is no room for a copy that is wanted.
    fn relayed_plain(
        &self,
        lane: &Lane,
        frames: BytesMut,
        plain: &PlainAnswer,
        expected: Expected,
    ) -> Option<Relayed> {
        let (bytes, warned) = (frames.len(), plain.warnings > 0);
        if warned {
            lane.has_left_diagnostics();
        }
        let budget = expected.is_stored.then(|| &self.shared.bounds().fill);
        let captured = Captured::whole(frames.into(), plain, budget).ok()?;
        Some(Relayed {
            status: Some(plain.status),
            results: 1,
            rows: plain.rows,
            bytes,
            warned,
            has_no_room: !lane.capabilities().deprecate_eof(),
            captured: Some(captured),
            ..Relayed::default()
        })
    }

    /// Returns the facts of any answer, with the packets that this client gets.
    fn relayed_in_full(
        &self,
        lane: &Lane,
        command: Command,
        carried: Carried,
        expected: Expected,
    ) -> Result<Option<Relayed>, Lost> {
        let told = self.state.told.clone().unwrap_or_default();
        let told_begun = AtomicBool::new(false);
        let filter = Filter {
            capabilities: self.capabilities(),
            begun: (self.flavor() == Flavor::MySql).then_some(&told_begun),
            told: Some(&told),
            schema: self.state.environment.schema().unwrap_or_default(),
        };
        let mut relay = Relay::new(&filter, command, lane.capabilities());
        let capture = Capture::new(ANSWER_BYTES_MAX, &self.shared.bounds().fill);
        let transacts = !self.state.tx.surely_autocommits();
        relay.capture(Some(capture.warned(expected.warnings).in_transaction(transacts)));
        let mut frames = carried.frames;
        if !matches!(relay.follow(&mut frames, None)?, RelayStep::Last) {
            return Ok(None);
        }
        let relayed = relay.finish();
        if relayed.warned || relayed.error.is_some() {
            lane.has_left_diagnostics();
        }
        Ok(Some(relayed))
    }

    /// Notes that a lane answered `statement`, with the number of rows that it found, if that is known.
    pub(crate) fn answered_by_lane(&mut self, statement: &[u8], found_rows: Option<u32>) {
        self.note_seen();
        self.note_answered_from_memory(statement, found_rows);
        self.state.served.carried += 1;
    }
}
