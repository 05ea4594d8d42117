//! One command to the server and its answer back.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Instant;

use freshet_cache::Dep;
use freshet_catalog::rows::Zone;
use freshet_follow::ChangingRights;
use freshet_protocol::{Command, ErrPacket};
use freshet_sql::{Around, Defines, Effects, Flavor, Modes, Writes, contains_ignoring_case};
use tracing::warn;

use super::begun::Entered;
use super::conclude::{REFUSALS, Ran};
use super::facts::{changes_rights, taken_by};
use super::lanes::UnderWay;
use super::texts::begins_with_execute;
use super::{Deeds, Forward, Gtids, Message, Passing, Prepared, Session, StatementFacts, query_prefix};
use crate::busy_poll;
use crate::counters::Count;
use crate::fences::{self, Doubt, InFlight, Reach};
use crate::qualify::qualify;
use crate::reading::ParseSettings;
use crate::relay::{
    ChannelLayers, Filter, Lost, OwnChannel, Processes, PutRight, Relay, Relayed, Repeated, ServedCounts,
    Uncounted, flushes_status,
};
use crate::rows::Write;
use crate::sought::{OF_SERVER, has_any};

/// ER_UNKNOWN_ERROR.
const UNKNOWN: u16 = 1105;

/// The outcome of a command.
#[expect(clippy::large_enum_variant, reason = "nearly all are answered, and are passed on at once")]
enum Exchanged {
    Answered(Relayed),
    /// The command's transaction could not begin: the command's answer is still to be read.
    NotEntered(u16),
}

impl Session {
    /// Sends a command and passes the answer on. Raises fences before, and hands them over after.
    ///
    /// # Errors
    /// [`Lost`]: the client's or the server's connection is gone, and so is the session.
    pub(crate) async fn forward(&mut self, forward: Forward<'_>) -> Result<Relayed, Lost> {
        self.note_answered_by_server(None);
        // Others do not wait for an answer that is not the one they need. Whose answer it is has taken the turn over by now.
        self.ends_turn();
        if !forward.is_same_elsewhere() {
            self.lease.note_tells_of_itself();
            if self.asks_for_lost_gtid(forward.digested()) {
                return Ok(Relayed::unsent(UNKNOWN));
            }
        }
        self.ruled.ruling.sent.get_or_insert_default();
        let message @ Message { command, text, .. } = forward.message;
        if !matches!(command, Command::Query | Command::StmtExecute) {
            self.note_asked(text);
        }
        let counted = self.shared.statistics.is_some().then(|| forward.digested());
        let began = Instant::now();
        // Boxed, since the future is large: every future that waits for it would reserve room for it, and move that room.
        let mut relayed = if self.ruled.are_timed() {
            Box::pin(self.forward_timed(forward)).await?
        } else {
            Box::pin(self.forward_now(forward)).await?
        };
        self.note_sent(&relayed);
        relayed.lasted = relayed.ended.map_or_else(|| began.elapsed(), |ended| ended - began);
        if let Some(text) = counted {
            relayed.tag = self.count_sent(message, text, &relayed);
        }
        Ok(relayed)
    }

    /// Answers a statement that asks for the GTID of a write, if only a connection that the session has given up knows that GTID. As soon
    /// as any client has asked for a GTID, sessions that have written keep their connections.
    fn asks_for_lost_gtid(&mut self, text: &[u8]) -> bool {
        if !contains_ignoring_case(text, b"last_gtid") {
            return false;
        }
        self.shared.asks_for_gtids.store(true, Ordering::Relaxed);
        let is_lost = self.state.unconnected.is_gtid_lost();
        if is_lost {
            const MESSAGE: &str = "@@last_gtid is not known of a write that was made on another connection (multiplexing); it is of the next one";
            self.put_error(&ErrPacket::new(UNKNOWN, "HY000", MESSAGE));
        }
        is_lost
    }

    /// Like [`Session::forward_now`], for a statement that rules delay or limit in time.
    async fn forward_timed(&mut self, forward: Forward<'_>) -> Result<Relayed, Lost> {
        if let Some(delay) = self.ruled.take_delay() {
            self.delays(delay).await?;
        }
        let killer = self.ruled.timeout().map(|limit| self.kills_after(limit));
        let relayed = self.forward_now(forward).await;
        if let Some(killer) = killer {
            killer.stand_down().await;
        }
        relayed
    }

    async fn forward_now(&mut self, forward: Forward<'_>) -> Result<Relayed, Lost> {
        let (keeps_diagnostics, drops_diagnostics, asked) =
            (forward.may_keep_diagnostics(), forward.drops_diagnostics(), forward.digested());
        let (before, stays) = match self.enter(&forward).await? {
            Entered::With(before) => (before, None),
            Entered::Stays(before, begun) => (before, Some(begun)),
            Entered::Refused(code) => return Ok(Relayed::unsent(code)),
        };
        let Forward { message, execution, deeds: Deeds { effects, write, .. }, mut passing } = forward;
        let (Message { command, packet, text, .. }, tells_rows) = (message, passing.put_right.is_some());
        self.note_unlogged(effects);
        let may_write = effects.writes != Writes::Nothing || !effects.calls.is_nothing();
        let schema = self.state.environment.schema().filter(|_| may_write).map(str::to_owned);
        let write = write.or_else(|| Write::in_text(text, schema.as_deref(), effects, self.parse_settings()));
        // Held until the answer is on its way, and its changes are taken over.
        let changing = self.changes_rights(effects, text);
        let (in_flight, facts) = pin!(self.raise(effects, write)).await;
        self.lease.note_command(command, effects, text);
        // The server refuses a command that names a closed statement, once it knows of the close.
        let names_closed = self.lease.prepared.names_closed(packet);
        let asks_back = effects.reads_last_statement || facts.asks_back || names_closed;
        let mut brings = self.brings_back(!tells_rows, asks_back, keeps_diagnostics);
        // Both servers keep the diagnostics of the statement before.
        brings.keeps_older |= command == Command::InitDb && self.has_older_diagnostics();
        let repeats = self.bring_back(text, &facts, brings).await?;
        if !asks_back && self.may_prepare_otherwise(message, effects, &facts) {
            Box::pin(self.make_all()).await?;
        }
        self.hand_reports_over(effects, command, asks_back).await?;
        self.comes_after_hit(message, effects, asks_back);
        if repeats || tells_rows {
            self.state.last.forget();
        }
        self.send_closes().await?;
        if effects.locks_tables == Some(true) {
            Box::pin(self.lock_others_out(effects)).await;
        }
        for (command, payload) in execution.owed {
            self.execute_unseen(*command, payload).await?;
        }
        passing.put_right = passing.put_right.or_else(|| self.put_right(message));
        let (asked_at, is_read) = (Instant::now(), passing.capture.is_some());
        let exchanged = pin!(self.exchange(&before, packet, command, passing)).await?;
        let mut relayed = match exchanged {
            Exchanged::Answered(relayed) => relayed,
            Exchanged::NotEntered(code) => return self.refuse_entered(command, code).await,
        };
        self.note_took(asked_at, is_read, &mut relayed);
        self.lease.note_diagnostics(drops_diagnostics, &relayed);
        let ran = Ran { effects, text, is_plain: message.is_plain, asked, facts, relayed: &relayed, stays };
        if self.state.last.may_be_asked_for_rows()
            && !self.kept_found_rows(command, execution.keeps_found_rows, &ran)
        {
            self.state.last.forget();
        }
        if command == Command::StmtPrepare {
            self.state.last.note_prepared_there(packet);
        }
        self.heed_flush(message, &relayed);
        if effects.around != Around::Nothing {
            Box::pin(self.look_around(effects, &relayed)).await;
        }
        if effects.refused && !relayed.error.is_some_and(|error| REFUSALS.contains(&error)) {
            Box::pin(self.was_not_refused(text, &relayed)).await;
        }
        self.has_run(effects, &ran.facts, &relayed);
        self.conclude(&ran, in_flight);
        if let (Some(changing), Some(_)) = (changing, relayed.error) {
            changing.fails();
        }
        Ok(relayed)
    }

    /// Notes whether a statement with these effects writes past the binlog.
    fn note_unlogged(&mut self, effects: &Effects) {
        self.state.deeds.note_sends(effects, self.state.environment.read());
        if self.state.deeds.are_unlogged() {
            self.shared.expect_unlogged_writes();
        }
    }

    /// Notes how long the server took for an answer since `asked_at`; `is_read`: an answer that may be stored.
    fn note_took(&self, asked_at: Instant, is_read: bool, relayed: &mut Relayed) {
        let ended = Instant::now();
        let took = ended - asked_at;
        relayed.ended = Some(ended);
        relayed.took_us = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        if is_read {
            self.shared.settling.has_answered(took);
        }
    }

    /// Resets the session's counts after FLUSH STATUS.
    fn heed_flush(&mut self, Message { command, text, .. }: Message<'_>, relayed: &Relayed) {
        if relayed.error.is_none() && command == Command::Query && flushes_status(text) {
            self.state.served = ServedCounts::default();
            self.lease.note_status_flushed();
        }
    }

    fn changes_rights(&self, effects: &Effects, text: &[u8]) -> Option<ChangingRights> {
        changes_rights(effects).then(|| self.shared.upstream.changing_rights(taken_by(text, self.flavor())))
    }

    /// Bars all sessions from reading locked tables from memory while LOCK TABLES, which has these effects, holds, if the session wants that.
    async fn lock_others_out(&mut self, effects: &Effects) {
        let locked = fences::locked(&effects.write_locks, self.shared.sources()).await;
        let bars_others = self.state.locals.wlock_invalidates(&self.shared.globals);
        self.state.locks.begin(&self.shared, locked, bars_others);
    }

    /// Notes that a command is sent after the last answer from memory.
    fn comes_after_hit(
        &mut self,
        Message { command, text, .. }: Message<'_>,
        effects: &Effects,
        asks_back: bool,
    ) {
        // By then the name may mean another statement, and the variables may have other values.
        let is_fixed = !begins_with_execute(self.state.last.hit());
        let moves = effects.session && !(is_fixed && self.leaves_environment(text));
        self.state.last.note_followed_by(command, asks_back, moves);
    }

    /// Handles a command that Freshet took for no statement, but that the server executed: the command may have done anything.
    async fn was_not_refused(&mut self, text: &[u8], relayed: &Relayed) {
        warn!(error = relayed.error, "a statement or command that is not known here was not refused");
        let effects = Effects::worst();
        let (in_flight, facts) = self.raise(&effects, None).await;
        let ran = Ran { effects: &effects, text, is_plain: false, asked: text, facts, relayed, stays: None };
        self.conclude(&ran, in_flight);
    }

    /// Takes over changes that the binlog does not report, before the client gets the answer: the answer is still
    /// here.
    async fn look_around(&self, effects: &Effects, relayed: &Relayed) {
        let failed = relayed.error.is_some() && relayed.results == 0;
        let rights = match effects.around {
            _ if failed => return,
            Around::Nothing => return,
            Around::Accounts if !self.state.deeds.are_unlogged() => return,
            Around::Globals => false,
            Around::Accounts | Around::Rights => true,
        };
        self.shared.upstream.look_around(rights).await;
    }

    /// Sends a command and passes its answer on. A server that refuses a large packet answers and closes before it has read the whole
    /// packet: its answer is passed on nevertheless.
    async fn exchange(
        &mut self,
        before: &[String],
        payload: &[u8],
        command: Command,
        passing: Passing,
    ) -> Result<Exchanged, Lost> {
        let _under_way = UnderWay::begins(self.handle.active_ms());
        let sent = pin!(self.send_behind(before, payload)).await;
        busy_poll::expects(self.admitted.connection_id);
        match sent {
            Ok(()) => match self.finish_entering(before.len()).await? {
                Some(code) => Ok(Exchanged::NotEntered(code)),
                None => pin!(self.answer(command, passing)).await.map(Exchanged::Answered),
            },
            Err(lost) => {
                // What was sent before the packet is answered first.
                let said = match self.finish_entering(before.len()).await {
                    Ok(None) => self.answer(command, Passing::default()).await.map(drop),
                    Ok(Some(_)) => Ok(()),
                    Err(lost) => Err(lost),
                };
                self.wire.flush().await?;
                said.and(Err(lost))
            }
        }
    }

    /// Raises the fences that must stand before the statement is sent, and returns what the statement runs.
    async fn raise(
        &mut self,
        effects: &Effects,
        write: Option<Write<'_>>,
    ) -> (Option<InFlight>, StatementFacts) {
        let touches_nothing = effects.writes == Writes::Nothing
            && effects.reads.is_nothing()
            && effects.calls.is_nothing()
            && effects.defines == Defines::Nothing
            && !effects.commits_inside;
        if effects.refused && !effects.several || touches_nothing && self.state.pending.is_empty() {
            return (None, StatementFacts::default());
        }
        // Changes without a binlog are stamped by the fences of the statement, so the fences must cover all that the statement may touch.
        let may_number = self.state.deeds.may_number();
        let write =
            write.filter(|_| !self.state.deeds.are_unlogged()).map(|write| Write { may_number, ..write });
        // Boxed, since reads would reserve room for its large state otherwise, and do not need it.
        let mut reach = Box::pin(self.reach(effects, write)).await;
        if (reach.is_wide() || effects.is_definition) && self.may_write_nothing(effects).await {
            reach.narrow_to_nothing();
        }
        let facts = StatementFacts::from(&reach);
        self.state.doubts(std::mem::take(&mut reach.unproven));
        let transacting = self.state.tx.surely_transacts();
        let thread = self.thread();
        let shared = &self.shared;
        let fencing =
            fences::FencingSession { freshness: shared.freshness(), upstream: &shared.upstream, thread };
        let in_flight = fences::raise(&mut self.state.pending, effects, reach, transacting, &fencing);
        if let Some(in_flight) = &in_flight {
            fences::heed_earlier_writes(in_flight, &fencing).await;
        }
        (in_flight, facts)
    }

    /// Whether [`Session::learn`] would lose what the statement before left, and code behind a statement with these
    /// effects may ask for it: a stored function, or a function behind a view.
    pub(crate) async fn would_be_asked_between(&self, effects: &Effects) -> bool {
        if self.environment().is_some() || effects.reads_nothing() {
            return false;
        }
        // By the modes of texts that were last known; nothing else depends on them here.
        let effects = qualify(effects.clone(), self.state.environment.schema());
        Box::pin(self.reach(&effects, None)).await.asks_back()
    }

    /// Whether this client's account may write nothing, so that a statement with these effects writes nothing.
    async fn may_write_nothing(&self, effects: &Effects) -> bool {
        let shared = &self.shared;
        let bounds =
            || shared.powerless.may_write_nothing(&self.admitted.user, shared.freshness(), &shared.upstream);
        !effects.may_commit_for_others && !self.state.deeds.are_unlogged() && bounds().await
    }

    /// Returns how the rows of a write are read. If the environment is unknown, an empty string may be NULL, and the text may be in any
    /// character set.
    fn modes_of_write(&self) -> Modes {
        let modes = self.modes();
        let is_known = self.environment().is_some();
        Modes {
            empty_string_is_null: modes.empty_string_is_null || !is_known,
            utf8_strings: modes.utf8_strings && is_known,
            ..modes
        }
    }

    /// Returns how texts are read.
    pub(crate) fn parse_settings(&self) -> ParseSettings {
        ParseSettings { modes: self.modes(), modes_of_write: self.modes_of_write(), zone: self.zone() }
    }

    /// Returns the session's time zone, if the environment is known.
    pub(crate) fn zone(&self) -> Zone {
        self.environment().map(|environment| environment.zone).unwrap_or_default()
    }

    async fn reach(&self, effects: &Effects, write: Option<Write<'_>>) -> Reach {
        fences::reach(effects, write, self.state.hidden.tables(), self.shared.sources()).await
    }

    /// Checks again the tables and routines that could not be judged when a statement used them. If they run unknown code, the
    /// statement may have made temporary tables. While a definition is under way, the check is too early.
    pub(crate) async fn resolve_doubts(&mut self) {
        if !self.state.hidden.are_doubtful() || self.shared.freshness().is_fenced(Dep::DEFINITIONS) {
            return;
        }
        for doubt in self.state.hidden.doubts().to_vec() {
            if let Some(is_plain) = Box::pin(self.is_plain(&doubt)).await {
                self.state.note_judged(&doubt, is_plain);
            }
        }
        self.refresh_key();
    }

    /// Takes all remaining doubts for true. The server can be asked about tables that are still hidden after that.
    pub(crate) fn believe_doubts(&mut self) {
        if self.state.believe_doubts() {
            self.refresh_key();
        }
    }

    /// Whether Freshet understands all code that this runs; `None` if that is unknown.
    async fn is_plain(&self, doubt: &Doubt) -> Option<bool> {
        let sources = self.shared.sources();
        match doubt {
            Doubt::Table(table) => {
                let schema = table.schema.as_deref().unwrap_or_default();
                let info = fences::settled(schema, &table.name, sources).await?;
                Some(!info.runs_unknown_code && !info.has_triggers)
            }
            // Nobody can be asked about a routine without a schema.
            Doubt::Routine(call) if call.name.schema.is_none() => Some(false),
            Doubt::Routine(call) => {
                let routine = fences::settled_routine(call, sources).await?;
                Some(routine.code.is_some())
            }
        }
    }

    /// Passes on the answer to `command`.
    async fn answer(&mut self, command: Command, passing: Passing) -> Result<Relayed, Lost> {
        self.finish_tracking().await?;
        let told = self.state.told.clone().unwrap_or_default();
        let filter = Filter {
            capabilities: self.capabilities(),
            begun: (self.flavor() == Flavor::MySql && !self.state.view().is_by_itself())
                .then_some(&self.state.told_begun),
            told: (!self.lease.tracking.is_clients()).then_some(&told),
            schema: self.state.environment.schema().unwrap_or_default(),
        };
        let mut relay = Relay::new(&filter, command, self.lease.capabilities());
        relay.capture(passing.capture);
        if command == Command::StmtPrepare {
            relay.number(self.lease.prepared.next_numbered_here());
        }
        if let Some(put_right) = passing.put_right {
            // Statements that were sent with the command, before it, are counted by now.
            relay.put_right(put_right.counting(self.lease.own()));
        }
        relay.list(passing.listed);
        let answered = pin!(self.lease.answer(&mut relay, Some(&mut self.wire), &self.handle)).await;
        if answered.is_err() {
            self.ruled.ruling.repeating.is_unanswered = !relay.has_begun() && self.lease.heard().is_empty();
        }
        answered?;
        let mut relayed = relay.finish();
        self.shared.counters.add_many(Count::BytesReceived, relayed.bytes);
        if self.lease.tracking.is_clients() || told.gtids == Gtids::All {
            // These GTIDs may be all that there are.
            relayed.gtids.clear();
        }
        Ok(relayed)
    }

    /// Returns the corrections for the rows of the answer to `message`, if its text asks for facts that the server does not know.
    fn put_right(&self, Message { text, is_plain, .. }: Message<'_>) -> Option<PutRight> {
        if is_plain || !has_any(text, &OF_SERVER) {
            return None;
        }
        let modes = self.modes();
        let channel = ChannelLayers { tls: self.wire.tls(), compression: self.wire.compression() };
        let uncounted = Uncounted { served: self.state.served, own: self.lease.own(), flavor: self.flavor() };
        let status = OwnChannel::asked_by(text, modes, channel, self.lease.has_tls(), uncounted);
        let ours = || self.shared.processes();
        let processes = || Processes::listed_by(text, modes, ours);
        status
            .map(|status| PutRight::Channel(Box::new(status)))
            .or_else(|| processes().map(|it| PutRight::Processes(Box::new(it))))
    }

    /// Has the server execute a text of Freshet's own, or an execution by this packet.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn execute_unseen(&mut self, command: Command, what: &[u8]) -> Result<Relayed, Lost> {
        if command == Command::Query {
            self.lease.note_asks(&String::from_utf8_lossy(what));
            self.exchange_unseen(&[&query_prefix(self.lease.has_attributes()), what].concat()).await
        } else {
            self.lease.note_repeats(Repeated::ByCommand);
            self.exchange_unseen(what).await
        }
    }

    /// Has the server drop the parts of a statement's parameters, because the execution was not sent to the server.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn drop_long_data(&mut self, prepared: &Prepared) -> Result<(), Lost> {
        let Some(id) = prepared.server_id() else { return Ok(()) };
        let packet = [&[Command::StmtReset.byte()], id.to_le_bytes().as_slice()].concat();
        self.exchange_unseen(&packet).await.map(drop)
    }

    /// Notes that the client has closed the statement with this number at the server. The server is told later if the client may still ask
    /// about the statement's last answer.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn close_statement(&mut self, id: u32) -> Result<(), Lost> {
        self.lease.prepared.note_closed([id]);
        let is_asked_about = self.state.last.executed_id() == Some(id);
        if is_asked_about { Ok(()) } else { self.send_closes().await }
    }

    /// Tells the server of the statements that the client has closed, except for one whose last answer the client may ask about.
    async fn send_closes(&mut self) -> Result<(), Lost> {
        if !self.lease.prepared.has_closed() {
            return Ok(());
        }
        let kept = self.state.last.executed_id();
        for id in self.lease.prepared.take_closed(kept) {
            let packet = [&[Command::StmtClose.byte()], id.to_le_bytes().as_slice()].concat();
            self.lease.tell(&packet).await?;
        }
        Ok(())
    }

    /// Keeps the server's connection alive while its client is answered from memory.
    pub(crate) async fn keep_alive(&mut self) -> Result<(), Lost> {
        self.lease.note_pings();
        self.exchange_unseen(&[Command::Ping.byte()]).await.map(drop)
    }
}
