//! One command to the server and its answer back.

use freshet_cache::Dep;
use freshet_protocol::Command;
use freshet_sql::{Around, Defines, Effects, Flavor, Modes, Temporary, TrackingEffect, Writes};
use tracing::warn;

use super::reports::{Gtids, Naming, Tracking};
use super::{Flow, OwnChannel, Session, StatementFacts, query_prefix};
use crate::environment::{Known, is_plain_set};
use crate::fences::{self, Doubt, InFlight, Left, Reach, Sources};
use crate::qualify::qualify;
use crate::reading::Manner;
use crate::relay::{Capture, Filter, Lost, Relay, Relayed};
use crate::rows::Write;
use crate::shared::Counters;

/// What is sent, and what is known of it.
pub(crate) struct Forward<'a> {
    /// The command's packet.
    pub(crate) payload: &'a [u8],
    pub(crate) command: Command,
    /// What it may do.
    pub(crate) effects: &'a Effects,
    /// The statement's text, where there is one.
    pub(crate) text: &'a [u8],
    /// Whether a copy of the answer is wanted.
    pub(crate) capture: Option<Capture>,
    /// Which rows it writes, where that is not to be read from `text`.
    pub(crate) write: Option<Write<'a>>,
}

impl<'a> Forward<'a> {
    /// A command of which nothing more is known.
    pub(crate) const fn new(payload: &'a [u8], command: Command, effects: &'a Effects) -> Self {
        Self { payload, command, effects, text: &[], capture: None, write: None }
    }
}

/// A statement that ran, with all that is known of it.
struct Ran<'a> {
    effects: &'a Effects,
    text: &'a [u8],
    facts: StatementFacts,
    relayed: &'a Relayed,
}

impl Session {
    /// Sends a command and passes the answer on, with fences raised before and handed over after.
    ///
    /// # Errors
    /// [`Lost`]: one of the two connections is gone, and so is the session.
    pub(crate) async fn forward(&mut self, forward: Forward<'_>) -> Result<Relayed, Lost> {
        let Forward { payload, command, effects, text, capture, write } = forward;
        self.state.unlogged |= effects.unlogged || self.environment().is_some_and(|known| known.unlogged);
        let schema = self.state.schema.clone();
        let write = write.or_else(|| Write::in_text((text, schema.as_deref()), effects, self.manner()));
        let (in_flight, facts) = self.raise(effects, write).await;
        self.sends(command, effects, text);
        // Preparing leaves row counts as they were, and may prepare what asks for them.
        let asks_back = effects.reads_last_statement || facts.asks_back || command == Command::StmtPrepare;
        if asks_back {
            Box::pin(self.replay_last_hit()).await?;
        }
        self.hand_reports_over(effects, command, asks_back).await?;
        // After a ping nearly all of it can still be asked for.
        self.state.pinged = command == Command::Ping;
        if !self.state.pinged {
            self.state.last_hit.clear();
            self.state.warnings.clear();
        }
        if effects.locks_tables == Some(true) && self.state.locals.wlock_invalidates(&self.shared.globals) {
            let deps = Box::pin(fences::locked(&effects.write_locks, self.sources())).await;
            self.state.wlock = (!deps.is_empty()).then(|| self.shared.wlock(deps));
        }
        let own_channel = self.own_channel(text, self.modes());
        let relayed = self.exchange(payload, command, (capture, own_channel)).await?;
        self.look_around(effects, &relayed).await;
        if effects.refused && !relayed.error.is_some_and(|error| REFUSALS.contains(&error)) {
            Box::pin(self.was_not_refused(text, &relayed)).await;
        }
        self.has_run(effects, &facts, &relayed);
        self.conclude(&Ran { effects, text, facts, relayed: &relayed }, in_flight);
        Ok(relayed)
    }

    /// The server took what was held for no statement for one, which may have done anything.
    async fn was_not_refused(&mut self, text: &[u8], relayed: &Relayed) {
        warn!(error = relayed.error, "a statement or command that is not known here was not refused");
        let effects = Effects::worst();
        let (in_flight, facts) = self.raise(&effects, None).await;
        self.conclude(&Ran { effects: &effects, text, facts, relayed }, in_flight);
    }

    /// What the statement changed without a word in the binlog is taken over before the client is told that it ran: its
    /// answer is still here.
    async fn look_around(&self, effects: &Effects, relayed: &Relayed) {
        let failed = relayed.error.is_some() && relayed.results == 0;
        let rights = match effects.around {
            _ if failed => return,
            Around::Nothing => return,
            Around::Accounts if !self.state.unlogged => return,
            Around::Globals => false,
            Around::Accounts | Around::Rights => true,
        };
        self.shared.upstream.look_around(rights).await;
    }

    /// Sends a command and passes its answer on. A server that refuses a large packet answers before it has read all of
    /// it and closes: what it said is passed on all the same.
    async fn exchange(
        &mut self,
        payload: &[u8],
        command: Command,
        copies: (Option<Capture>, Option<OwnChannel>),
    ) -> Result<Relayed, Lost> {
        match self.send(payload).await {
            Ok(()) => self.answer(command, copies).await,
            Err(lost) => {
                let said = self.answer(command, (None, None)).await;
                self.wire.flush().await?;
                said.and(Err(lost))
            }
        }
    }

    /// Passes a command on that gets no answer.
    pub(crate) async fn forward_silently(&mut self, payload: &[u8]) -> Result<Flow, Lost> {
        self.sends(super::split(payload).0, &Effects::none(), &[]);
        self.write_command(payload, None).await?;
        Ok(Flow::Continue)
    }

    /// Raises what must stand before the statement is sent, and tells what it runs.
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
        // What is in no binlog is stamped by what was fenced for it, so that has to be all that it may touch.
        let may_number = self.state.may_number;
        let write = write.filter(|_| !self.state.unlogged).map(|write| Write { may_number, ..write });
        let mut reach = self.reach(effects, write).await;
        if (reach.is_wide() || effects.is_definition) && self.may_write_nothing(effects).await {
            reach.narrow_to_nothing();
        }
        let facts = StatementFacts::from(&reach);
        self.state.doubts(std::mem::take(&mut reach.unproven));
        let transacting = self.state.tx.surely_transacts();
        let thread = self.thread();
        let shared = &self.shared;
        let behind = fences::Behind { freshness: shared.freshness(), upstream: &shared.upstream, thread };
        let in_flight = fences::raise(&mut self.state.pending, effects, reach, transacting, &behind);
        if let Some(in_flight) = &in_flight {
            fences::heed_earlier_writes(in_flight, &behind).await;
        }
        (in_flight, facts)
    }

    /// Whether [`Session::learn`] would take away what the statement before left, and code behind a statement with these
    /// effects may ask for it: a stored function, or one behind a view.
    pub(crate) async fn would_be_asked_between(&self, effects: &Effects) -> bool {
        if self.environment().is_some() || effects.reads.is_nothing() && effects.calls.is_nothing() {
            return false;
        }
        // As the session was last known to read texts: nothing else hangs on it.
        let effects = qualify(effects.clone(), self.state.schema.as_deref());
        Box::pin(self.reach(&effects, None)).await.asks_back()
    }

    /// Whether this client's account may write nothing, so that a statement with these effects does not.
    async fn may_write_nothing(&self, effects: &Effects) -> bool {
        let shared = &self.shared;
        let bounds =
            || shared.powerless.may_write_nothing(&self.admitted.user, shared.freshness(), &shared.upstream);
        !effects.may_commit_for_others && !self.state.unlogged && bounds().await
    }

    /// How the rows of a write are read. Where the environment is not known, an empty string may be NULL, and the text may be in any
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

    /// How texts are read.
    pub(crate) fn manner(&self) -> Manner {
        Manner { modes: self.modes(), modes_of_write: self.modes_of_write() }
    }

    async fn reach(&self, effects: &Effects, write: Option<Write<'_>>) -> Reach {
        fences::reach(effects, write, &self.state.temporary, self.sources()).await
    }

    fn sources(&self) -> Sources<'_> {
        Sources { freshness: self.shared.freshness(), upstream: &self.shared.upstream }
    }

    /// Looks again at what could not be told of when a statement used it: if that runs code of which nothing is known, the
    /// statement may have made temporary tables. While a definition is under way, it is too early to look.
    pub(crate) async fn resolve_doubts(&mut self) {
        if self.state.unproven.is_empty() || self.shared.freshness().is_fenced(Dep::DEFINITIONS) {
            return;
        }
        for doubt in std::mem::take(&mut self.state.unproven) {
            match Box::pin(self.is_plain(&doubt)).await {
                Some(true) => {}
                Some(false) => self.state.temporary.suspect(),
                None => self.state.unproven.push(doubt),
            }
        }
    }

    /// Whether all code that this runs is understood; `None` if that cannot be told.
    async fn is_plain(&self, doubt: &Doubt) -> Option<bool> {
        let sources = self.sources();
        match doubt {
            Doubt::Table(table) => {
                let schema = table.schema.as_deref().unwrap_or_default();
                let info = fences::settled(schema, &table.name, sources).await?;
                Some(!info.runs_unknown_code && !info.has_triggers)
            }
            // Nobody can be asked about it.
            Doubt::Routine(call) if call.name.schema.is_none() => Some(false),
            Doubt::Routine(call) => {
                let routine = fences::settled_routine(call, sources).await?;
                Some(routine.code.is_some())
            }
        }
    }

    /// Sends a command that will be answered, with what sets the session up before it if that is due.
    async fn send(&mut self, payload: &[u8]) -> Result<(), Lost> {
        let before = self.due_tracking();
        self.write_command(payload, before.as_deref()).await
    }

    /// One write, for one command and for the statement before it, if there is one.
    async fn write_command(&mut self, payload: &[u8], before: Option<&str>) -> Result<(), Lost> {
        Counters::add(&self.shared.counters.forwarded);
        self.handle.begins();
        self.lease.send(before, payload).await
    }

    /// Passes the answer to `command` on.
    async fn answer(
        &mut self,
        command: Command,
        (capture, own_channel): (Option<Capture>, Option<OwnChannel>),
    ) -> Result<Relayed, Lost> {
        self.finish_tracking().await?;
        let told = self.state.told.clone().unwrap_or_default();
        let filter = Filter {
            capabilities: self.capabilities(),
            begun: (self.flavor() == Flavor::MySql).then_some(&self.state.told_begun),
            told: (!self.lease.tracking.is_clients()).then_some(&told),
            schema: self.state.schema.as_deref().unwrap_or_default(),
        };
        let relay = Relay::new(&filter, command, self.lease.capabilities());
        let relay = relay.capturing(capture).putting_right(own_channel);
        let mut relayed = self.lease.answer(relay, Some(&mut self.wire), &self.handle).await?;
        if self.lease.tracking.is_clients() || told.gtids == Gtids::All {
            // These may be all that there are.
            relayed.gtids.clear();
        }
        Ok(relayed)
    }

    /// Before a statement that names the client's own settings of what it is told, they are put back; before one that may
    /// follow a question of ours, ours are.
    async fn hand_reports_over(
        &mut self,
        effects: &Effects,
        command: Command,
        asks_back: bool,
    ) -> Result<(), Lost> {
        let runs = matches!(command, Command::Query | Command::StmtExecute | Command::StmtBulkExecute);
        match effects.tracking {
            TrackingEffect::None if runs && !asks_back => {
                let asks_anew = std::mem::take(&mut self.lease.asks_anew);
                if asks_anew && self.lease.tracking == Tracking::On {
                    self.lease.tracking = Tracking::Due;
                }
                let taken = Box::pin(self.take_reports_back()).await;
                return taken.map_err(|error| Lost::Upstream(std::io::Error::other(error)));
            }
            TrackingEffect::None => {}
            TrackingEffect::Shows => self.lease.tracking = self.lease.tracking.named(Naming::Shows),
            TrackingEffect::Sets | TrackingEffect::Obscured => {
                self.lease.tracking = self.lease.tracking.named(Naming::Sets);
            }
        }
        Ok(())
    }

    /// What the answer means for the session and for others.
    fn conclude(&mut self, ran: &Ran<'_>, in_flight: Option<InFlight>) {
        let Ran { effects, text, facts, relayed } = ran;
        let ran_nothing = ran_nothing(effects, text, relayed);
        let leaves_nothing_open = ran_nothing || self.state.tx.leaves_nothing_open(effects, facts);
        if !ran_nothing {
            self.state.answered(!leaves_nothing_open, relayed.status, relayed.error.is_some());
            self.changed(ran);
        }
        // A routine may have turned the binlog off, of which no text tells.
        self.state.unlogged |= relayed.unlogged;
        self.state.may_number |= facts.runs_unknown_code || facts.sets_variables;
        if self.state.unlogged && (facts.runs_unknown_code || effects.is_definition) {
            self.shared.powerless.forget();
        }
        self.characterized(relayed);
        // Whether that was the transaction for which it held shows when the server is asked for reports anew.
        self.lease.asks_anew |= self.state.tx.next_differs() && relayed.has_no_room;
        let shared = &self.shared;
        // Unknown code may have done so unheard.
        let is_unheard = self.lease.tracking.is_clients() && facts.runs_unknown_code;
        if is_unheard || effects.tracking == TrackingEffect::Obscured {
            self.lease.tracking = Tracking::Lost;
        }
        if let Some(in_flight) = in_flight.as_ref().filter(|_| self.state.unlogged || is_unheard) {
            // No event will tell of it.
            shared.upstream.changed_unlogged(&in_flight.deps());
        }
        let left = match (ran_nothing || changed_nothing(effects, relayed), leaves_nothing_open) {
            (true, _) => Left::Nothing,
            (false, true) => Left::NothingOpen,
            (false, false) => Left::Anything,
        };
        let flavor = self.flavor();
        fences::settle(&mut self.state.pending, in_flight, (effects, left), relayed, flavor);
        self.has_seen();
        self.refresh_key();
    }

    /// Notes what the server reports of a transaction's characteristics, if it does.
    fn characterized(&mut self, relayed: &Relayed) {
        if let Some(differs) = relayed.characteristics {
            self.state.tx = self.state.tx.characterized(differs);
        }
    }

    /// Whether the code that the statement ran may have been other code than was looked at: a definition is under way, or has
    /// come to its end since. One through us has been since before it was sent.
    fn ran_other_code(&self, facts: &StatementFacts) -> bool {
        facts.ran_by.as_ref().is_some_and(|told| self.shared.upstream.is_changing(told))
    }

    /// What a statement that ran may have changed of the session.
    fn changed(&mut self, ran: &Ran<'_>) {
        let Ran { effects, text, facts, relayed } = ran;
        if self.ran_other_code(facts) {
            self.state.doubts(fences::used(effects));
        }
        self.state.ran(effects, relayed.error.is_none());
        if !self.state.unproven.is_empty() {
            self.state.environment = Known::Unknown;
        }
        if facts.sets_variables {
            self.state.environment = Known::Unknown;
        }
        let moved = self.moved_and_back(ran);
        let explained =
            effects.session || effects.temporary != Temporary::None || facts.sets_variables || moved;
        if facts.runs_unknown_code || !self.state.unproven.is_empty() {
            self.state.texts.forget();
        }
        if facts.runs_unknown_code || relayed.state_changed && !explained {
            // A trigger, most likely: it may have made a temporary table, or set a variable. The server's report alone
            // does not do: neither server reports a CREATE TEMPORARY TABLE … SELECT in a trigger.
            self.state.temporary.suspect();
            self.state.environment = Known::Unknown;
        }
        if let Some(schema) = &relayed.schema {
            self.state.schema = super::schema_of(Some(schema));
        }
        let sets_reports = matches!(effects.tracking, TrackingEffect::Sets | TrackingEffect::Obscured);
        if sets_reports {
            self.state.environment = Known::Unknown;
        } else if effects.session || relayed.session_changed {
            let plain = relayed.error.is_none() && is_plain_set(text);
            self.state.environment.changed_by(text, plain);
        }
    }

    /// Whether the statement moved the session to another schema and back, which the server reports as a change of the
    /// session's state: a routine of another schema does so, and in `MariaDB` every view of one, also where it is only
    /// described. Where the answer had no room for the report, it comes with a later answer.
    fn moved_and_back(&mut self, Ran { effects, facts, relayed, .. }: &Ran<'_>) -> bool {
        let opens_views = facts.opens_views
            || !effects.reads.is_nothing()
            || effects.writes == Writes::Nothing && effects.calls.is_nothing();
        let Some(schema) = &relayed.schema else {
            self.lease.announced =
                relayed.announced && opens_views || self.lease.announced && !relayed.state_changed;
            return false;
        };
        let was_announced = std::mem::take(&mut self.lease.announced);
        let is_back = super::schema_of(Some(schema)) == self.state.schema;
        facts.runs_routines || (opens_views || was_announced) && is_back
    }

    /// Brings the server's session to where the client believes it is: an answer from memory has left the row counts
    /// and warnings of an earlier statement there. A ping after it has changed the row count alone.
    async fn replay_last_hit(&mut self) -> Result<(), Lost> {
        if self.state.last_hit.is_empty() {
            return Ok(());
        }
        let mut payload = query_prefix(self.lease.has_attributes());
        payload.extend_from_slice(&self.state.last_hit);
        self.send(&payload).await?;
        self.skip_answer(Command::Query).await?;
        if self.state.pinged {
            self.send(&[Command::Ping.byte()]).await?;
            self.skip_answer(Command::Ping).await?;
        }
        Ok(())
    }

    /// Reads an answer that the client is not to see.
    async fn skip_answer(&mut self, command: Command) -> Result<(), Lost> {
        self.finish_tracking().await?;
        self.unseen_answer(command).await.map(|_| ())
    }

    /// Reads what the server says to being asked for reports, if it was asked with the command under way.
    async fn finish_tracking(&mut self) -> Result<(), Lost> {
        if self.lease.tracking == Tracking::Sent {
            let answer = Box::pin(self.unseen_answer(Command::Query)).await?;
            self.characterized(&answer);
            // An account whose password has expired may do nothing but change it; once it has, this succeeds.
            self.lease.tracking = if answer.error.is_none() { Tracking::On } else { Tracking::Unmet };
        } else if let Tracking::Returned(naming) = self.lease.tracking {
            let answer = Box::pin(self.unseen_answer(Command::Query)).await?;
            self.lease.tracking = if answer.error.is_none() { Tracking::Own(naming) } else { Tracking::Lost };
        }
        Ok(())
    }

    async fn unseen_answer(&mut self, command: Command) -> Result<Relayed, Lost> {
        let filter = Filter { capabilities: self.capabilities(), begun: None, told: None, schema: "" };
        let relay = Relay::new(&filter, command, self.lease.capabilities());
        self.lease.answer(relay, None, &self.handle).await
    }

    /// Keeps the server's connection alive while its client is answered from memory.
    pub(crate) async fn keep_alive(&mut self) -> Result<(), Lost> {
        self.send(&[Command::Ping.byte()]).await?;
        self.skip_answer(Command::Ping).await
    }
}

/// The first word of a text is looked for in so many bytes.
const FIRST_WORD_BYTES_MAX: usize = 1024;

/// ER_PARSE_ERROR.
const PARSE_ERROR: u16 = 1064;

/// The errors of what no server takes for a statement or command, and those that come before it is looked at: ER_UNKNOWN_COM_ERROR,
/// ER_PARSE_ERROR, ER_EMPTY_QUERY, ER_USER_LIMIT_REACHED, ER_UNKNOWN_STMT_HANDLER, ER_MUST_CHANGE_PASSWORD,
/// ER_MUST_CHANGE_PASSWORD_LOGIN.
const REFUSALS: [u16; 7] = [1047, PARSE_ERROR, 1065, 1226, 1243, 1820, 1862];

/// The errors of a definition that its account may not make, which is looked at for all that it names before anything is done:
/// ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR.
const DENIALS: [u16; 5] = [1044, PARSE_ERROR, 1142, 1227, 1370];

/// The words with which something can start that runs: a routine may raise the same error after anything it has done.
const RUNS: [&[u8]; 34] = [
    b"alter",
    b"analyze",
    b"begin",
    b"binlog",
    b"call",
    b"case",
    b"check",
    b"create",
    b"delete",
    b"desc",
    b"describe",
    b"do",
    b"drop",
    b"execute",
    b"explain",
    b"for",
    b"get",
    b"handler",
    b"if",
    b"insert",
    b"load",
    b"loop",
    b"prepare",
    b"rename",
    b"repeat",
    b"replace",
    b"select",
    b"set",
    b"show",
    b"table",
    b"update",
    b"values",
    b"while",
    b"with",
];

/// Whether a definition was refused before it did anything but commit what was open before it. Code that it runs may raise any
/// error.
fn changed_nothing(effects: &Effects, relayed: &Relayed) -> bool {
    let runs_nothing = effects.calls.is_nothing() && effects.reads.is_nothing() && !effects.several;
    effects.is_definition && runs_nothing && relayed.error.is_some_and(|error| DENIALS.contains(&error))
}

/// Whether the server did not understand a text whose first word is none, so that nothing of it ran.
fn ran_nothing(effects: &Effects, text: &[u8], relayed: &Relayed) -> bool {
    if effects.refused && !effects.several && relayed.error.is_some() {
        return true;
    }
    let start = text.get(..FIRST_WORD_BYTES_MAX).unwrap_or(text);
    let front = start.trim_ascii_start();
    let word = front.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_whole = word.len() < front.len() || start.len() == text.len();
    relayed.error == Some(PARSE_ERROR)
        && relayed.results == 0
        && !word.is_empty()
        && is_whole
        && !RUNS.iter().any(|runs| word.eq_ignore_ascii_case(runs))
}
