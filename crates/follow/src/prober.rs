//! Short questions for which somebody waits: what is visible, where the binlog ends, who is still connected.
//!
//! One question at a time is asked, on a connection of its own, and only if something waits for its answer. One exception: the end of the
//! binlog is asked for every now and then, so that the applied state stays proven to be recent.

use std::collections::HashSet;
use std::time::Duration;

use freshet_upstream::connection::within;
use freshet_upstream::server::ask_end;
use freshet_upstream::{Connection, ServerInfo, now_ms};
use tokio::time::{Instant, sleep_until};

use crate::generation::Generation;
use crate::over::Over;
use crate::proven::{EndAsked, Semisync};
use crate::replica::Watching;
use crate::shared::StreamCounters;

/// The least time between two questions for which sessions wait; sessions that come meanwhile share the next question.
const ASKED_EVERY: Duration = Duration::from_millis(1);

/// The most questions for the end of the binlog that may follow each other within that time: a transaction waits for the answer, or does
/// without answers from memory for as long.
const ENDS_AT_ONCE: u32 = 3;

/// The pause after an answer, as a multiple of the time that it took to read it, if that is longer: a set of executed GTIDs can be long,
/// and the same thread applies the stream.
const PAUSES_PER_COST: u32 = 9;

/// The time between two probes for which nobody asks, while something received is not known to be visible.
const UNASKED_EVERY: Duration = Duration::from_millis(5);

/// How long a received transaction may wait for its acknowledgement, which proves the same as a probe, before a probe for which nobody
/// asks.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_millis(1);

/// The bound of the doubling of [`UNASKED_EVERY`], while the probes bring nothing new.
const UNASKED_EVERY_MAX: Duration = Duration::from_millis(160);

/// The time between two looks at the server's list of processes, while the outcome of a write depends on it.
const LIST_EVERY: Duration = Duration::from_millis(500);

/// The time after which waits are looked through when nothing else happens.
const IDLE_EVERY: Duration = Duration::from_millis(100);

/// The time between two questions for the end of the binlog for which nobody waits. A session that needs a fresher proof asks for it.
const PROVEN_EVERY: Duration = Duration::from_secs(2);

/// The limit of a question: if it takes longer, the connection counts as lost.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);

/// The prober of one generation.
pub(crate) struct Prober<'a> {
    generation: &'a Generation,
    connection: &'a mut Connection,
    server: &'a ServerInfo,
    probed_at: Instant,
    /// When the last question of any kind was answered.
    answered_at: Instant,
    /// The least pause after it.
    asked_every: Duration,
    listed_at: Instant,
    /// When the end of the binlog was last asked for, to prove that the applied state is recent.
    proven_at: Option<Instant>,
    unasked_every: Duration,
    /// Since when questions for the end have followed each other without a pause, and their number.
    ends_since: Instant,
    ends_at_once: u32,
    /// Since when something received is not known to be visible.
    behind_since: Option<Instant>,
    semisync: Watching,
}

impl<'a> Prober<'a> {
    pub(crate) fn new(
        generation: &'a Generation,
        connection: &'a mut Connection,
        server: &'a ServerInfo,
    ) -> Self {
        let now = Instant::now();
        Self {
            generation,
            connection,
            server,
            probed_at: now,
            answered_at: now,
            asked_every: ASKED_EVERY,
            listed_at: now,
            proven_at: None,
            unasked_every: UNASKED_EVERY,
            ends_since: now,
            ends_at_once: 0,
            behind_since: None,
            semisync: Watching::default(),
        }
    }

    /// Asks all questions that come up, until the connection breaks.
    pub(crate) async fn run(mut self) -> Result<(), Over> {
        loop {
            self.let_out_of_quarantine();
            self.generation.step()?;
            self.probe_if_due().await?;
            self.ask_end_if_wanted().await?;
            self.list_if_due().await?;
            self.pause().await;
        }
    }

    /// Waits until something is due, or somebody wakes the prober.
    async fn pause(&mut self) {
        let now = Instant::now();
        let until = if self.generation.is_behind() {
            self.unasked_at().min(now + IDLE_EVERY)
        } else {
            now + IDLE_EVERY
        };
        tokio::select! {
            () = sleep_until(until) => {}
            () = self.generation.shared.prober.notified() => {
                if !self.may_ask_end_at_once() {
                    sleep_until((self.answered_at + self.asked_every).min(until)).await;
                }
            }
        }
    }

    fn may_ask_end_at_once(&mut self) -> bool {
        if self.ends_since.elapsed() >= ASKED_EVERY {
            (self.ends_since, self.ends_at_once) = (Instant::now(), 0);
        }
        self.ends_at_once += 1;
        self.generation.shared.proven.is_end_asked() && self.ends_at_once <= ENDS_AT_ONCE
    }

    /// Returns when a probe is due for which nobody asks.
    fn unasked_at(&self) -> Instant {
        let acknowledged_by = self.behind_since.map_or_else(Instant::now, |since| since + UNACKNOWLEDGED_MAX);
        acknowledged_by.max(self.probed_at + self.unasked_every)
    }

    fn let_out_of_quarantine(&self) {
        if let Some(visible) = self.generation.visible.borrow_mut().tick(now_ms()) {
            self.generation.shared.publish_visible(visible);
        }
    }

    async fn probe_if_due(&mut self) -> Result<(), Over> {
        let shared = &self.generation.shared;
        let asked = shared.take_probe_asked();
        let Some(question) = self.generation.visible.borrow().question() else { return Ok(()) };
        if !self.generation.is_behind() {
            self.unasked_every = UNASKED_EVERY;
            self.behind_since = None;
            return Ok(());
        }
        self.behind_since.get_or_insert_with(Instant::now);
        if !asked && Instant::now() < self.unasked_at() {
            return Ok(());
        }
        StreamCounters::count(&shared.counters.probes);
        let answer =
            within(QUESTION_LIMIT, "probing what is visible", self.connection.query(question)).await?;
        self.probed_at = Instant::now();
        self.answered_at = self.probed_at;
        let learned = {
            let mut applier = self.generation.applier.borrow_mut();
            self.generation.visible.borrow_mut().learn(&answer.rows, applier.timeline_mut())?
        };
        self.asked_every = (self.probed_at.elapsed() * PAUSES_PER_COST).max(ASKED_EVERY);
        let is_news = learned.is_some_and(|visible| visible > shared.freshness.visible());
        if let Some(visible) = learned {
            shared.publish_visible(visible);
        }
        self.unasked_every =
            if is_news { UNASKED_EVERY } else { (self.unasked_every * 2).min(UNASKED_EVERY_MAX) };
        Ok(())
    }

    /// Reads the end of the binlog once for all fences that wait for a position, and for the proof that the applied state is recent.
    async fn ask_end_if_wanted(&mut self) -> Result<(), Over> {
        let Generation { shared, ends, .. } = self.generation;
        // Before the end is asked for: later commits must be known to wait.
        let waits_for_ms = self.look_at_semisync().await?;
        let is_due = self.proven_at.is_none_or(|proven_at| proven_at.elapsed() >= PROVEN_EVERY);
        let is_asked = shared.proven.take_asked() || is_due;
        let wants_end = shared.proven.take_end_asked();
        let wants_current = waits_for_ms.is_some() || wants_end || is_asked && ends.borrow().is_empty();
        shared.settling.tick(now_ms());
        let wants_bound = shared.settling.begin_bound();
        if !wants_bound && !wants_current {
            return Ok(());
        }
        let (at_ms, number) = (now_ms(), shared.freshness.ask_end());
        let asking = ask_end(self.server, self.connection);
        let (file, offset) = within(QUESTION_LIMIT, "reading the binlog's end", asking).await?;
        self.answered_at = Instant::now();
        let end = self.generation.locate(&file, offset)?;
        if wants_bound {
            shared.settling.bound(end);
        }
        // Where the stream has not named its file yet, nothing is proven.
        if let Some(end) = end.filter(|_| wants_current) {
            self.proven_at = Some(self.answered_at);
            ends.borrow_mut().answered(EndAsked { at_ms, number, end, waits_for_ms });
            ends.borrow_mut().applied(&shared.freshness, &shared.proven);
        }
        Ok(())
    }

    /// Returns for how many milliseconds, at least, commits from now on wait for us. `None` if it is not time to look, or if they do not
    /// wait.
    async fn look_at_semisync(&mut self) -> Result<Option<u64>, Over> {
        let Generation { shared, ends, semisync, .. } = self.generation;
        if shared.proven.wants_semisync() != semisync.was_asked() {
            return Err(Over::Changed("semi-synchronous replication was turned on or off"));
        }
        let Some(found) = self.semisync.look(semisync, self.connection, self.server).await? else {
            return Ok(None);
        };
        Ok(match found {
            Ok(timeout) => {
                shared.proven.set_semisync(Semisync::On);
                // `proven` says why it is half of the time.
                Some(u64::try_from(timeout.as_millis() / 2).unwrap_or(u64::MAX))
            }
            Err(lack) => {
                ends.borrow_mut().commits_do_not_wait();
                shared.proven.set_semisync(Semisync::Not(lack));
                None
            }
        })
    }

    async fn list_if_due(&mut self) -> Result<(), Over> {
        let settling = &self.generation.shared.settling;
        if settling.is_overdue(now_ms()) {
            return Err(Over::Changed("the fate of a write on a broken connection could not be learned"));
        }
        // Without this privilege the list has our own threads only, and a thread that is not in it may still run.
        let sees_all = self.server.privileges.has("PROCESS");
        if !sees_all || self.listed_at.elapsed() < LIST_EVERY || !settling.begin_list() {
            return Ok(());
        }
        let answer =
            within(QUESTION_LIMIT, "listing processes", self.connection.query("SHOW PROCESSLIST")).await?;
        self.listed_at = Instant::now();
        let ids = (0..answer.rows.len()).map(|row| answer.text(row, 0).and_then(|id| id.parse().ok()));
        match ids.collect::<Option<HashSet<u32>>>() {
            // Our own connection is always listed. A list without it cannot be trusted.
            Some(alive) if alive.contains(&self.connection.thread_id()) => settling.listed(&alive),
            _ => {}
        }
        Ok(())
    }
}
