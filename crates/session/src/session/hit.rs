//! Answers from memory, as far as the session's level allows.
//!
//! * `strict`: an answer that a write under way may change is refused, so that every answer is as new as anything anyone has seen.
//! * `session`: a fenced answer may be served if it cannot be older than what *this session* has seen. All writes through Freshet that a
//!   forwarded answer contains were fenced before the answer was complete, or are applied. So if every fence
//!   that stands now was raised after that answer was complete, all of these writes are applied, and the stamps show them. The session's own
//!   writes are among them. A stored answer that was not fenced when it was complete ([`READ_UNFENCED`]) contains nothing
//!   that is not applied. Any other stored answer may contain the write under way: if it is served under a fence, it counts like
//!   a forwarded answer.
//! * `eventual`: fences are ignored.
//!
//! At these three levels everything committed up to `max_staleness` ago is proven to be applied, whoever wrote it.
//!
//! * `semisync`: like `strict`, while it is proven that commits wait for Freshet. Fences count as well as stamps: tables without
//!   transactions, and some definitions, change before the server waits.
//!
//! A proof that runs out with time is checked once more after the stamps were read: this thread may have been held up.

mod taken;

use freshet_cache::{Entry, Fences, Key, Lookup, Moment, MomentReader, Position, TimedKey};
use freshet_protocol::StatusFlags;
use freshet_upstream::now_ms;

use super::begun::is_proven_now;
use super::destination::Destination;
use super::seen::SeenWrites;
use super::tx::BeforeBegin;
use super::view::ReadMoment;
use super::{Missed, Session};
use crate::coalescing::AnswerPackets;
use crate::counters::Count;
use crate::level::Level;
use crate::wire::Wire;

/// The flags of a stored answer that stay its own; the other flags are those of the session that reads it. An answer reports at most a change
/// of the default schema, which is part of the key.
pub(super) const ENTRY_FLAGS: StatusFlags =
    StatusFlags::NO_GOOD_INDEX.union(StatusFlags::NO_INDEX).union(StatusFlags::SESSION_STATE_CHANGED);

/// Set in the flags of a stored answer if none of its dependencies was fenced when the answer was complete. The bit is that of a flag that no
/// answer to a SELECT has, and is never sent.
pub(crate) const READ_UNFENCED: StatusFlags = StatusFlags::PS_OUT_PARAMS;

/// How long the server's connection may be unused while its client is answered from memory, at most, in
/// milliseconds. Then Freshet pings the server, so that the server does not take the client for gone.
const KEEPALIVE_MS_MAX: u64 = 60_000;

/// Which stored answers a session may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admits {
    /// Answers that are not fenced.
    Unfenced,
    /// Answers that are not fenced, and fenced ones if all that the session has seen is applied.
    NotOlderThanSeen,
    /// All answers, fenced or not.
    Any,
}

impl Session {
    /// Answers from memory, if that is allowed and possible. This path parses nothing and allocates nothing. `statement` is the text,
    /// or the packet of the execution. It is sent again if a later statement asks about it.
    ///
    /// # Errors
    /// The outcome of the look-up, if it is no answer.
    pub(crate) fn answer_from_memory(&mut self, key: Key<'_>, statement: &[u8]) -> Result<(), Missed> {
        let now = now_ms();
        let level = self.state.locals.level(&self.shared.globals);
        let Some(admits) = self.admits(level, now) else {
            self.shared.counters.add(Count::NotProven);
            return Err(Missed::default());
        };
        let before = self.wire.out().0.len();
        let taken = if self.state.tx.surely_autocommits() {
            self.take_stored(key, now, admits)?
        } else {
            self.take_in_transaction(key, now, admits)?
        };
        if self.runs_out(level) {
            self.wire.out().0.truncate(before);
            self.shared.counters.add(Count::NotProven);
            return Err(Missed::default());
        }
        self.note_answered(statement, taken, before, now);
        Ok(())
    }

    /// Answers a statement whose answer may be stale from memory, if there is an answer.
    ///
    /// # Errors
    /// The outcome of the look-up, if it is no answer.
    pub(crate) fn answer_by_bargain(&mut self, key: Key<'_>, statement: &[u8]) -> Result<(), Missed> {
        let now = now_ms();
        let flags = self.state.status_for_answers();
        let before = self.wire.out().0.len();
        let (shared, wire) = (&self.shared, &mut self.wire);
        let taken = match shared.cache.get_bargain(key, now, |entry| copied(entry, flags, wire)) {
            Lookup::Hit(taken) => taken,
            other => return Err(missed(&other)),
        };
        self.shared.counters.add(Count::Bargains);
        // A stale answer may show writes that no stamp shows yet.
        self.note_seen();
        self.note_answered(statement, taken, before, now);
        Ok(())
    }

    /// Answers with what the server has answered to another session. Returns false if there is no room for it.
    pub(super) fn answer_with_packets(&mut self, answer: &AnswerPackets, statement: &[u8]) -> bool {
        if !self.wire.has_room(answer.body.len()) {
            return false;
        }
        let (flags, before) = (self.state.status_for_answers(), self.wire.out().0.len());
        let &AnswerPackets { status: came_with, status_at, found_rows, tag, .. } = answer;
        put_answer(&mut self.wire, [answer.body.as_slice()], status_at, came_with, flags);
        self.note_answered(statement, TakenAnswer { came_with, found_rows, tag }, before, now_ms());
        true
    }

    /// Does what follows an answer from memory. `before`: how many bytes were unsent before it.
    fn note_answered(&mut self, statement: &[u8], taken: TakenAnswer, before: usize, now: u64) {
        // The client's next command starts the numbering anew.
        *self.wire.out().1 = 0;
        self.active(now);
        if let Some(statistics) = &self.shared.statistics {
            statistics.count_hit(taken.tag, now);
            let bytes = self.wire.out().0.len() - before;
            self.shared.counters.add_many(Count::BytesServed, bytes);
        }
        self.note_answered_from_memory(statement, taken.found_rows);
        self.destination.set(Destination::Memory);
    }

    /// Notes that `statement` was answered from memory, with the number of rows that it found, if that is known.
    pub(super) fn note_answered_from_memory(&mut self, statement: &[u8], found_rows: Option<u32>) {
        self.state.served.texts += 1;
        self.state.last.note_hit(statement, found_rows);
    }

    /// Takes a stored answer as the session's transaction reads. If autocommit is off and no transaction has begun, one begins with the
    /// answer.
    fn take_in_transaction(&mut self, key: Key<'_>, now: u64, admits: Admits) -> Result<TakenAnswer, Missed> {
        let before = self.begin_by_itself();
        if !writes_or_ends(key.text) {
            self.state.view_mut().course.note_look();
        }
        if self.state.view().is_unproven() {
            is_proven_now(self.state.view_mut(), &self.shared);
        } else {
            self.state.view_mut().settles(&self.shared.upstream, self.shared.freshness());
        }
        let taken = match self.state.view().reads(self.shared.freshness()) {
            ReadMoment::Now if self.state.pending.is_empty() => self.take_stored(key, now, admits),
            // The stored answer may be as new as possible.
            ReadMoment::Now => self.take_as_of(key, now, Moment::AsOf(Position::new(u64::MAX))),
            ReadMoment::AsOf(moment) if self.may_take(moment) => self.take_as_of(key, now, moment),
            ReadMoment::AsOf(_) if self.opens_before() => self.take_nothing_yet(key, now),
            ReadMoment::NotYet => {
                self.shared.upstream.ask_end();
                self.take_nothing_yet(key, now)
            }
            ReadMoment::AsOf(_) | ReadMoment::Unknown => Err(Missed::default()),
        };
        match taken {
            Ok(_) => self.state.view_mut().course.note_served(),
            // The read view is opened for this statement, whoever answers it.
            Err(missed) if missed.unsettled && self.opens_before() => {}
            Err(_) => self.takes_back_beginning(before),
        }
        taken
    }

    /// Begins a transaction with an answer from memory, if autocommit is off and none has begun. Returns the state before, if one has begun.
    fn begin_by_itself(&mut self) -> Option<BeforeBegin> {
        self.state.tx.begins_by_itself().then_some(())?;
        let (before, said) = (self.state.tx.before_begin(), self.state.tx.said());
        let manner = self.manner_of_transactions();
        let default = || self.state.environment.current().is_some_and(|it| it.transactions.are_read_only);
        let is_read_only = said.read_only.unwrap_or_else(default);
        self.state.tx.begun_by_itself(is_read_only, manner, said);
        Some(before)
    }

    /// Takes back the beginning of a transaction, if one has begun, because there was no such answer.
    fn takes_back_beginning(&mut self, before: Option<BeforeBegin>) {
        if let Some(before) = before {
            self.state.tx.taken_back(before);
        }
    }

    /// Whether an answer of this moment may be given. An answer of another moment than the read view's still needs a proof.
    fn may_take(&self, moment: Moment) -> bool {
        let is_of_view = !matches!(moment, Moment::AsOf(_));
        is_of_view
            || self.state.view().may_be_bound() && !self.state.locals.opens_eagerly(&self.shared.globals)
    }

    /// Whether the read view is opened before the first answer from memory.
    fn opens_before(&self) -> bool {
        self.state.view().opens_before() && !self.state.locals.opens_eagerly(&self.shared.globals)
    }

    /// Gives no answer, and returns whether there would be one. If there is none, the server is asked and the answer is stored.
    fn take_nothing_yet(&mut self, key: Key<'_>, now: u64) -> Result<TakenAnswer, Missed> {
        let never = Position::new(u64::MAX);
        self.take_as_of(key, now, Moment::Snapshot { contains: never, within: never })
    }

    fn take_as_of(&mut self, key: Key<'_>, now: u64, moment: Moment) -> Result<TakenAnswer, Missed> {
        let mut moment = moment;
        let mut found = self.look_as_of(key, now, moment);
        if matches!((&found, moment), (Lookup::Moved, Moment::AsOf(_)))
            && self.state.view_mut().move_on(self.shared.freshness())
            && let ReadMoment::AsOf(later) = self.state.view().reads(self.shared.freshness())
        {
            moment = later;
            found = self.look_as_of(key, now, moment);
        }
        match found {
            Lookup::Hit(taken) => {
                self.state.view_mut().serves(moment);
                // The sooner the proof, the less has changed.
                is_proven_now(self.state.view_mut(), &self.shared);
                Ok(taken)
            }
            Lookup::Unsettled => {
                // The opening of a read view asks by itself.
                if !(self.opens_before() && self.state.view().is_unopened()) {
                    self.shared.upstream.ask_end();
                }
                Err(Missed { unsettled: true, ..Missed::default() })
            }
            other => Err(missed(&other)),
        }
    }

    fn look_as_of(&mut self, key: Key<'_>, now: u64, moment: Moment) -> Lookup<TakenAnswer> {
        let flags = self.state.status_for_answers();
        let shared = &self.shared;
        let pending = &mut self.state.pending;
        let written =
            if pending.is_empty() { &[] } else { pending.tables(shared.freshness(), &shared.upstream) };
        let reader = MomentReader { moment, written };
        let (wire, served) = (&mut self.wire, self.state.tx.view_mut().served());
        shared
            .cache
            .get_as_of(TimedKey { key, now_ms: now }, reader, served, |entry| copied(entry, flags, wire))
    }

    /// Whether this level gives fenced answers now; `None` if it gives no answers.
    pub(crate) fn passes_fences(&self, level: Level, now: u64) -> Option<bool> {
        Some(match self.admits(level, now)? {
            Admits::Unfenced => false,
            Admits::NotOlderThanSeen => self.seen.is_applied(&self.shared),
            Admits::Any => true,
        })
    }

    /// Returns which answers this level allows at this moment; `None` if the proof that the level needs is missing.
    pub(super) fn admits(&self, level: Level, now: u64) -> Option<Admits> {
        let is_proven = match level {
            Level::Strict | Level::Session | Level::Eventual => self.is_current(now),
            Level::Semisync => self.shared.upstream.commits_wait(now),
        };
        let admits = match level {
            _ if !is_proven => return None,
            Level::Strict | Level::Semisync => Admits::Unfenced,
            Level::Session => Admits::NotOlderThanSeen,
            Level::Eventual => Admits::Any,
        };
        // `query_cache_wlock_invalidate` bars every session, whatever its level.
        Some(if self.shared.is_wlocked() { Admits::Unfenced } else { admits })
    }

    /// Whether a proof that the level needs has run out meanwhile. The promise of `strict` and `session` about writers that bypass Freshet
    /// counts from the client's question.
    pub(super) fn runs_out(&self, level: Level) -> bool {
        match level {
            Level::Strict | Level::Session => false,
            Level::Eventual => !self.is_current(now_ms()),
            Level::Semisync => !self.shared.upstream.commits_wait(now_ms()),
        }
    }

    /// Whether everything committed up to `max_staleness` ago is applied. The proof is renewed from time to time, and before it runs
    /// out if a session asks.
    fn is_current(&self, now: u64) -> bool {
        let max = self.state.locals.max_staleness_ms(&self.shared.globals);
        let age = now.saturating_sub(self.shared.upstream.current_to_ms());
        if age > max / 2 {
            self.shared.upstream.ask_current();
        }
        age < max
    }

    fn take_stored(&mut self, key: Key<'_>, now: u64, admits: Admits) -> Result<TakenAnswer, Missed> {
        let flags = self.state.status_for_answers();
        let shared = &self.shared;
        let wire = &mut self.wire;
        let mut look = |fences| shared.cache.get_if(key, now, fences, |entry| copied(entry, flags, wire));
        let fences = if admits == Admits::Any { Fences::Ignore } else { Fences::Refuse };
        let mut found = look(fences);
        if matches!(found, Lookup::Fenced)
            && admits == Admits::NotOlderThanSeen
            && self.seen.is_applied(shared)
        {
            found = look(Fences::Ignore);
            if matches!(found, Lookup::Hit(taken) if !taken.came_with.contains(READ_UNFENCED)) {
                self.note_seen();
            }
        }
        match found {
            Lookup::Hit(taken) => Ok(taken),
            other => Err(missed(&other)),
        }
    }

    /// Notes that an answer is complete that may show any write up to now.
    pub(crate) fn note_seen(&mut self) {
        self.seen = SeenWrites::by_now(&self.shared);
    }

    /// Whether the server's connection has been unused for so long, at the last command, that it needs a ping. A ping leaves counts of its
    /// own. If the client may ask for the counts of its last statement, that statement is repeated.
    pub(crate) fn needs_keepalive(&self) -> bool {
        if !self.lease.is_open() || self.lease.is_lent() {
            return false;
        }
        let wait_ms = self.environment().map_or(KEEPALIVE_MS_MAX, |known| known.idle_s_max * 1000 / 3);
        self.state.last.is_only_here()
            && self.handle.active_ms().saturating_sub(self.lease.used_ms())
                > wait_ms.clamp(1, KEEPALIVE_MS_MAX)
    }
}

/// A stored answer that was copied to the client's buffer.
#[derive(Clone, Copy)]
struct TakenAnswer {
    /// The flags that the answer was stored with.
    came_with: StatusFlags,
    /// The rows that its statement found, if known.
    found_rows: Option<u32>,
    /// The digest under which the answer is counted.
    tag: u16,
}

/// Returns the outcome of a look-up that found no answer.
fn missed(found: &Lookup<TakenAnswer>) -> Missed {
    match found {
        Lookup::Declined => Missed { declined: true, ..Missed::default() },
        Lookup::Fenced => Missed { fenced: true, ..Missed::default() },
        Lookup::Due => Missed { refreshes: true, ..Missed::default() },
        Lookup::Stale { body } => Missed { stale_body: Some(*body), ..Missed::default() },
        _ => Missed::default(),
    }
}

/// Whether a text begins as INSERT, UPDATE, DELETE, REPLACE, COMMIT and ROLLBACK do. Every text is looked up before it is read, also
/// those of statements that read nothing.
fn writes_or_ends(text: &[u8]) -> bool {
    text.first().is_some_and(|first| matches!(first.to_ascii_lowercase(), b'i' | b'u' | b'd' | b'r' | b'c'))
}

/// Copies an answer to the client's buffer with this session's flags, if there is room.
fn copied(entry: &Entry<'_>, session: StatusFlags, wire: &mut Wire) -> Option<TakenAnswer> {
    if !wire.has_room(entry.body.len()) {
        return None;
    }
    wire.out().0.reserve(entry.body.len());
    let came_with = StatusFlags::from_bits_retain(entry.status);
    put_answer(wire, entry.body.clone(), entry.status_at, came_with, session);
    Some(TakenAnswer { came_with, found_rows: entry.found_rows, tag: entry.tag })
}

/// Puts an answer that was given to another session into the client's buffer. The answer keeps its own flags of [`ENTRY_FLAGS`]; all other
/// flags are this session's.
#[inline]
pub(super) fn put_answer<'a>(
    wire: &mut Wire,
    body: impl IntoIterator<Item = &'a [u8]>,
    status_at: [u32; 2],
    came_with: StatusFlags,
    session: StatusFlags,
) {
    let out = wire.out().0;
    let start = out.len();
    body.into_iter().for_each(|piece| out.extend_from_slice(piece));
    let flags = (came_with & ENTRY_FLAGS | session).bits().to_le_bytes();
    for at in status_at {
        if let Some(place) = out.get_mut(start + at as usize..).and_then(|rest| rest.get_mut(..2)) {
            place.copy_from_slice(&flags);
        }
    }
}
