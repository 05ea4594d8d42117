//! Executions of prepared statements, and the other commands that name one.

mod naming;
mod preparing;

use std::pin::pin;
use std::sync::Arc;

use bytes::BytesMut;
use freshet_cache::Key;
use freshet_catalog::rows::KeyType;
use freshet_catalog::{ColumnInfo, Told};
use freshet_protocol::{Capabilities, Command, ErrPacket};
use freshet_sql::{Datum, Effects, Flavor, Reads};
use freshet_upstream::Error;

use super::asked::{bound, key_for, statement, touches};
use super::bargain::Agreed;
use super::filling::{FillPlan, Fillable, Patience, count_not_cached, fill, plan};
use super::refusals::unavailable;
use super::{bargain, kill, ours_prepared, rules, transaction};
use crate::environment::key_of_executions;
use crate::fences::{ReadReach, Sources, reading};
use crate::preparations::CompiledExecution;
use crate::relay::{Lost, Repeated};
use crate::rows::{Behind, Named, ReadPlan, Statement, Tables, deps_of_execution};
use crate::session::{
    Executed, Flow, Forward, LAST_PREPARED, Made, Missed, Prepared, PreparedSelect, Session, Shown, Touches,
    ZoneAt, unknown_statement,
};
use crate::template::Verdict;
use crate::why::{Refusal, Why};

pub(super) use naming::{close, close_here, named, reset, send_long_data};
pub(super) use preparing::{from_memory as prepare_from_memory, prepare};

/// What the buffer for the keys of executions keeps of itself, in bytes.
const KEY_BYTES_KEPT: usize = 16 * 1024;

/// The session's time zone now.
pub(super) fn zone_at(session: &Session) -> ZoneAt {
    let are_utf8 = session.environment().is_some_and(|environment| environment.modes.utf8_strings);
    ZoneAt { zone: session.zone(), version: session.state.environment_version, are_utf8 }
}

/// How a SELECT is executed: answers are kept apart by it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// COM_STMT_EXECUTE.
    Command,
    /// EXECUTE as a text.
    Name,
    /// MariaDB's EXECUTE IMMEDIATE.
    Immediate,
}

impl By {
    fn kind(self) -> Repeated {
        match self {
            Self::Command => Repeated::ByCommand,
            Self::Name => Repeated::ByName,
            Self::Immediate => Repeated::Immediate,
        }
    }

    /// What stands behind the keys of answers in the form of a text's: those of commands end with the length of a text, which is less.
    fn behind_key(self) -> &'static [u8] {
        match self {
            Self::Command => &[],
            Self::Name => &[0xfe, 0xff, 0xff, 0xff],
            Self::Immediate => &[0xfd, 0xff, 0xff, 0xff],
        }
    }
}

/// One execution of a SELECT.
#[derive(Clone, Copy)]
pub(super) struct Execution<'a> {
    pub(super) prepared: &'a Arc<Prepared>,
    /// Its values, as COM_STMT_EXECUTE has them over a connection with these capabilities.
    pub(super) packet: &'a [u8],
    pub(super) capabilities: Capabilities,
    pub(super) by: By,
    /// The name by which it is executed; empty if by none.
    pub(super) name: &'a str,
    /// What is repeated at the server if the client asks about it: the packet, or the text that executes it.
    pub(super) statement: &'a [u8],
}

impl<'a> Execution<'a> {
    fn by_command(session: &Session, prepared: &'a Arc<Prepared>, packet: &'a [u8]) -> Self {
        let capabilities = session.capabilities();
        Self { prepared, packet, capabilities, by: By::Command, name: "", statement: packet }
    }

    /// What goes before it at the server, where it is unlike those before.
    fn owed(&self) -> Vec<Shown> {
        match self.by {
            By::Command => self.prepared.owed(),
            By::Name => self.prepared.owed_by_name(self.name),
            By::Immediate => Vec::new(),
        }
    }

    /// Puts the second part of its key together.
    fn key_of(&self, key: &mut Vec<u8>) -> Option<&'a PreparedSelect> {
        let select = self.prepared.key_of(self.packet, self.capabilities, key)?;
        key.extend_from_slice(self.by.behind_key());
        Some(select)
    }
}

/// Answers an execution from memory, if it can be.
///
/// # Errors
/// What the look-up has found, where that is no answer.
pub(super) fn from_memory(session: &mut Session, packet: &[u8]) -> Result<(), Missed> {
    let environment = session.current_key().ok_or_else(Missed::default)?;
    let prepared = known(session, packet).ok_or_else(Missed::default)?;
    if session.ruled.are_there() && prepared.is_rewritten() {
        return Err(Missed::default());
    }
    let execution = Execution::by_command(session, &prepared, packet);
    take_stored(session, execution, environment)
}

/// The same, with the first part of the key that a text would have.
pub(super) fn take_stored(
    session: &mut Session,
    execution: Execution<'_>,
    environment: u32,
) -> Result<(), Missed> {
    take(session, execution, environment, Session::answer_from_memory)
}

/// The same of an answer that may be stale.
fn take_bargain(session: &mut Session, execution: Execution<'_>, environment: u32) -> Result<(), Missed> {
    take(session, execution, environment, Session::answer_by_bargain)
}

fn take(
    session: &mut Session,
    execution: Execution<'_>,
    environment: u32,
    answer: fn(&mut Session, Key<'_>, &[u8]) -> Result<(), Missed>,
) -> Result<(), Missed> {
    let version = session.state.environment_version;
    let current = session.state.environment.current().map(|it| it.id).ok_or_else(Missed::default)?;
    let mut key = std::mem::take(&mut session.state.execution_key);
    let select = execution.key_of(&mut key);
    let found = if select.is_some_and(|select| select.is_of(current, version)) {
        let key = Key { environment: key_of_executions(environment), text: &key };
        answer(session, key, execution.statement)
    } else {
        Err(Missed::default())
    };
    if found.is_ok() {
        execution.prepared.is_answered(execution.packet, execution.capabilities);
    }
    if found.is_ok() {
        session.state.served.is_execution(execution.by.kind());
    }
    if found.is_ok() && execution.by == By::Command {
        let prepared = execution.prepared;
        session.state.last_hit[1..5].copy_from_slice(&prepared.id.to_le_bytes());
        session.state.last_hit_of = Some(Arc::clone(prepared));
    }
    if key.capacity() <= KEY_BYTES_KEPT {
        session.state.execution_key = key;
    }
    found
}

/// COM_STMT_EXECUTE and MariaDB's COM_STMT_BULK_EXECUTE.
pub(super) async fn execute(
    session: &mut Session,
    packet: BytesMut,
    (command, missed): (Command, Missed),
) -> Result<Flow, Lost> {
    let named = known(session, &packet);
    let at = zone_at(session);
    if let Some(prepared) = named.as_ref().filter(|_| session.heeds_rules())
        && Box::pin(rules::execution(session, prepared, (&packet, command), at)).await?
    {
        return Ok(Flow::Continue);
    }
    pin!(carry_out(session, packet, (command, missed), named)).await
}

/// Carries out one that is decided, of the statement that it names.
async fn carry_out(
    session: &mut Session,
    mut packet: BytesMut,
    (command, missed): (Command, Missed),
    named: Option<Arc<Prepared>>,
) -> Result<Flow, Lost> {
    let control = named.filter(|_| command == Command::StmtExecute);
    if let Some((control, text)) = control.as_ref().and_then(|prepared| prepared.control.as_ref()) {
        if let Some(flow) = transaction::answered(session, control, command) {
            return Ok(flow);
        }
        if session.lease.is_open()
            && let Some(flow) =
                Box::pin(transaction::begin(session, (&packet, text, command), control)).await?
        {
            return Ok(flow);
        }
    }
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    let prepared = known(session, &packet);
    if let Some(ours) = prepared.as_ref().filter(|it| it.text_of_ours().is_some()) {
        let ours = Arc::clone(ours);
        return Box::pin(ours_prepared::execute(session, (packet, command), ours)).await;
    }
    let had_long_data = prepared.as_ref().is_some_and(|prepared| prepared.has_long_data());
    let effects = effects_of(session, prepared.as_deref()).await;
    let Executed { write, killed, values } = match (&prepared, command) {
        (Some(prepared), Command::StmtExecute) => {
            prepared.executed(&packet, session.capabilities(), zone_at(session))
        }
        (Some(prepared), _) => {
            prepared.executed_in_bulk();
            Executed::default()
        }
        (None, _) => Executed::default(),
    };
    if effects.session {
        session.state.texts.forget(); // No server lets one prepare another by its text; if one did, it would be so.
    }
    if let Some((kill, id)) = killed
        && let Some(done) = kill::prepared(session, kill, id).await
    {
        return done;
    }
    if let (Some(prepared), Some(values)) = (&prepared, values) {
        let execution = Execution::by_command(session, prepared, &packet);
        return Box::pin(select(session, &packet, (execution, values, missed), effects)).await;
    }
    match number(session, (&mut packet, command)).await? {
        None => {}
        Some(refusal) => return not_made(session, &refusal),
    }
    // Parts of values wait at the server for this execution.
    let owes = prepared.as_ref().filter(|_| !had_long_data);
    let owed = owes.map(|prepared| prepared.owed()).unwrap_or_default();
    let completed = prepared.as_ref().and_then(|prepared| sent(session, prepared, &packet));
    let payload = completed.as_deref().unwrap_or(&packet);
    let text = control_text(prepared.as_deref());
    let keeps_found_rows = prepared.as_ref().is_some_and(|prepared| prepared.keeps_found_rows);
    let forward = Forward { text, write, first: &owed, ..Forward::new(payload, command, &effects) };
    let counted = prepared.as_ref().map(|prepared| prepared.asked()).unwrap_or_default();
    let forward = Forward { prepared: counted, keeps_found_rows, ..forward };
    let relayed = session.forward(forward).await?;
    if let Some(prepared) = prepared {
        if !relayed.is_unsent {
            prepared.is_met();
        }
        prepared.ended(relayed.error, relayed.is_unsent);
        if relayed.is_unsent && had_long_data {
            session.drop_long_data(&prepared).await?;
        }
    }
    Ok(Flow::Continue)
}

/// The text of what begins, marks or ends a transaction, by which it is told what that does to it.
fn control_text(prepared: Option<&Prepared>) -> &[u8] {
    prepared.and_then(|prepared| prepared.control.as_ref()).map_or(&[], |(_, text)| text)
}

/// Notes an execution that the server is sent. Its packet, if that is not the client's own.
fn sent(session: &Session, prepared: &Prepared, packet: &[u8]) -> Option<Vec<u8>> {
    is_executed(session, prepared);
    prepared.completed(packet, session.capabilities())
}

/// Notes that the server executes it in the session's environment of now.
pub(super) fn is_executed(session: &Session, prepared: &Prepared) {
    if let Some(select) = &prepared.select {
        let environment = session.environment().map(|environment| environment.id);
        select.is_executed(environment, session.state.environment_version);
    }
}

/// An execution of a SELECT: from memory if it can be, and into memory if it may be. `payload` is what the client has sent.
pub(super) async fn select(
    session: &mut Session,
    payload: &[u8],
    (execution, values, mut missed): (Execution<'_>, Vec<Datum>, Missed),
    mut effects: Effects,
) -> Result<Flow, Lost> {
    let prepared = execution.prepared;
    let runs_code = !effects.reads.is_nothing() || !effects.calls.is_nothing();
    let may_be_stale = session.ruled.is_bargain() && effects.calls.is_nothing();
    let asks_back = effects.reads_last_statement
        || may_be_stale && Box::pin(would_be_asked_between(session, execution, &effects)).await;
    let is_plain = (!runs_code || may_be_stale) && !asks_back;
    if is_plain && let Err(error) = learn(session, may_be_stale).await {
        return unavailable(session, &error);
    }
    let planned = if !is_plain {
        let why = if asks_back { Why::AsksBack } else { Why::UnknownFunction };
        Ok(Planned::Forwarded(Touches::Anything, why.into()))
    } else if may_be_stale {
        Box::pin(agreed(session, &mut missed, execution)).await
    } else {
        planned(session, &mut missed, (execution, &values)).await
    };
    let (plan, touches) = match planned {
        Err(error) => return unavailable(session, &error),
        Ok(Planned::Answered) => return Ok(Flow::Continue),
        Ok(Planned::Forwarded(touches, refusal)) => (Err(refusal), touches),
        Ok(Planned::Stored(plan)) => (Ok(plan), Touches::ReadView),
        Ok(Planned::Bargain(plan)) => {
            effects.reads = Reads::NOTHING;
            (Ok(plan), Touches::Anything)
        }
    };
    let mut key = Vec::new();
    let has_key = execution.key_of(&mut key).is_some();
    let (mut numbered, completed);
    let forward = if execution.by == By::Command {
        numbered = BytesMut::new();
        if names_otherwise(prepared, payload) {
            numbered.extend_from_slice(payload);
            if let Some(refusal) = number(session, (&mut numbered, Command::StmtExecute)).await? {
                return not_made(session, &refusal);
            }
        }
        let payload = if numbered.is_empty() { payload } else { &numbered };
        completed = sent(session, prepared, payload);
        Forward::new(completed.as_deref().unwrap_or(payload), Command::StmtExecute, &effects)
    } else {
        is_executed(session, prepared);
        Forward { text: execution.statement, ..Forward::new(payload, Command::Query, &effects) }
    };
    // Its number is known by now.
    let owed = if has_key { Vec::new() } else { execution.owed() };
    let forward = Forward { touches, first: &owed, prepared: prepared.asked(), ..forward };
    let relayed = match plan {
        Ok(plan) if has_key => fill(session, forward, (&key, missed), plan).await?,
        plan => {
            count_not_cached(session);
            let relayed = session.forward(forward).await?;
            session.count_refused(&relayed, &plan.err().unwrap_or(Why::Parameters.into()));
            relayed
        }
    };
    if let Some(compiled) = prepared.select.as_ref().and_then(PreparedSelect::compiled) {
        session.note_tables(relayed.tag, &compiled.template.tables);
    }
    prepared.ended(relayed.error, relayed.is_unsent);
    if !relayed.is_unsent {
        prepared.is_met();
    }
    Ok(Flow::Continue)
}

/// Whether learning what the session is like takes away what code behind an execution may ask for.
async fn would_be_asked_between(session: &Session, execution: Execution<'_>, effects: &Effects) -> bool {
    let text = execution.prepared.select.as_ref().map_or(&[][..], |select| &select.text);
    session.would_be_asked_between(effects).await && !bargain::reads_tables_alone(session, text).await
}

/// Learns what the session is like. With `may_be_stale`, what cannot be told is asked of the server.
async fn learn(session: &mut Session, may_be_stale: bool) -> Result<(), Error> {
    session.resolve_doubts().await;
    if may_be_stale {
        session.believe_doubts();
    }
    session.learn().await?;
    session.refresh_key();
    Ok(())
}

/// What becomes of an execution.
enum Planned {
    /// It was answered from memory.
    Answered,
    /// The server answers, and nothing is stored.
    Forwarded(Touches, Refusal),
    /// The server answers, and the answer is stored.
    Stored(FillPlan),
    /// The same, and the answer may be stale later.
    Bargain(FillPlan),
}

/// What becomes of one whose answer may be stale.
async fn agreed(
    session: &mut Session,
    missed: &mut Missed,
    execution: Execution<'_>,
) -> Result<Planned, Error> {
    let look = |session: &mut Session, key| take_bargain(session, execution, key);
    Ok(match bargain::planned(session, missed, execution.prepared.select.as_ref(), look).await? {
        Agreed::Answered => Planned::Answered,
        Agreed::Stored(plan) => Planned::Bargain(plan),
        Agreed::Refused(refusal) => Planned::Forwarded(Touches::Anything, refusal),
    })
}

async fn planned(
    session: &mut Session,
    missed: &mut Missed,
    (execution, values): (Execution<'_>, &[Datum]),
) -> Result<Planned, Error> {
    let Some(select) = &execution.prepared.select else {
        return Ok(Planned::Forwarded(Touches::Anything, Why::Parameters.into()));
    };
    // What the text means was decided in the environment in which it was prepared.
    let version = session.state.environment_version;
    if !session.environment().is_some_and(|environment| select.is_of(environment.id, version)) {
        return Ok(Planned::Forwarded(Touches::Anything, Why::Parameters.into()));
    }
    let patience = Patience::of(session);
    // Once, but for an execution that waits until its answer can be stored.
    let plan = loop {
        let compiled = compiled(session, select).await;
        let template = &compiled.template;
        if patience.waits_for_verdict(session, template).await {
            continue;
        }
        // A TIME that is compared with a moment is completed by the current date.
        let is_moment = |value: &Datum| matches!(value, Datum::Moment(_));
        let is_dated = template.tables.have_times && values.iter().any(is_moment);
        let is_cached = matches!(template.verdict, Verdict::Cache) && !is_dated;
        if template.effects.reads_last_statement || !is_cached {
            let why = if is_dated { Why::Dated } else { Why::AsksBack };
            let refusal = template.verdict.refusal().cloned().unwrap_or_else(|| why.into());
            return Ok(Planned::Forwarded(touches(session, template, &select.text), refusal));
        }
        session.find_hidden(&template.tables.known, patience.is_some()).await?;
        let environment = match key_for(session, template, select.hint) {
            Ok(environment) => environment,
            Err(why) => return Ok(Planned::Forwarded(Touches::ReadView, why.into())),
        };
        // The first look was before the environment was known, or with a temporary table in the way. Who makes an answer anew does not look
        // again.
        if !missed.refreshes {
            match take_stored(session, execution, environment) {
                Ok(()) => return Ok(Planned::Answered),
                Err(later) => *missed = missed.and(later),
            }
        }
        let depends = |behind: Behind<'_>| {
            let statement = statement(session, &select.text);
            deps_of_execution(statement, (&compiled.plan, values), &template.tables, behind)
        };
        match plan(session, template, (key_of_executions(environment), *missed), depends) {
            Fillable::Surely(plan) => break Ok(plan),
            Fillable::Perhaps(plan) if !patience.waits(session).await => break plan,
            Fillable::Perhaps(_) => {}
            Fillable::Never(why) => break Err(why),
        }
    };
    // What is stored and not given for want of room is streamed from the server, and not stored again.
    let plan = if missed.may_be_stored() { plan } else { Err(Why::AnsweredBefore) };
    Ok(match plan {
        Ok(plan) => Planned::Stored(plan),
        Err(why) => Planned::Forwarded(Touches::ReadView, why.into()),
    })
}

/// What is compiled of a SELECT, by the definitions as they are now.
async fn compiled(session: &Session, select: &PreparedSelect) -> Arc<CompiledExecution> {
    let known = select.compiled().filter(|known| session.shared.upstream.is_current(&known.template.told));
    if let Some(known) = known {
        return known;
    }
    let bound = bound(session, &select.text).await;
    let (template, deprecations) = (Arc::clone(&bound.compiled.template), bound.compiled.deprecations);
    let plan = ReadPlan::of(statement(session, &select.text), &template.tables);
    let tells_kinds_alone = tells_kinds_alone(statement(session, &select.text), &template.tables);
    let compiled = Arc::new(CompiledExecution { template, deprecations, plan, tells_kinds_alone });
    if matches!(compiled.template.verdict, Verdict::Cache) {
        select.keep_compiled(&compiled);
    }
    compiled
}

/// Words of what makes a moment of a value, or calculates with moments.
const OF_TIME: [&[u8]; 9] =
    [b"date", b"time", b"year", b"month", b"week", b"day", b"hour", b"minute", b"second"];

/// Whether MySQL resolves the types of a statement's parameters by the kinds of their values alone. Next to moments it looks
/// at the values themselves: `d - ?` is a DECIMAL once it was executed with 0. So none may be beside a parameter, which is compared with a
/// column; or none is in sight: the statement is one SELECT from tables, and names no column that is a moment, or is of a type that
/// is not followed here.
fn tells_kinds_alone(Statement { text, modes, .. }: Statement<'_>, tables: &Tables) -> bool {
    let text = text.to_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let selects = text.windows(b"select".len()).filter(|part| *part == b"select").count();
    let is_plain = |column: &ColumnInfo| {
        matches!(
            column.key,
            KeyType::Integer { .. } | KeyType::Decimal { .. } | KeyType::Text { .. } | KeyType::Bytes { .. }
        )
    };
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_named = |name: &str| text.split(|byte| !is_of_word(byte)).any(|word| word == name.as_bytes());
    let is_out_of_sight =
        |column: &ColumnInfo| column.name.as_bytes().iter().all(is_of_word) && !is_named(&column.name);
    let is_told = |table: &Named| {
        !table.info.columns.is_empty()
            && table.info.columns.iter().all(|it| is_plain(it) || is_out_of_sight(it))
    };
    let are_known = tables.known.iter().all(|table| !table.info.columns.is_empty()) && tables.are_all_base();
    let is_compared = |name: &String| {
        let columns = tables.known.iter().flat_map(|table| table.info.columns.iter());
        let mut named = columns.filter(|column| column.name == *name).peekable();
        named.peek().is_some() && named.all(is_plain)
    };
    let compared = freshet_sql::compared_markers(&text, modes).filter(|_| are_known);
    compared.is_some_and(|columns| columns.iter().all(is_compared))
        || selects == 1
            && tables.are_all_base()
            && tables.known.iter().all(is_told)
            && !OF_TIME.iter().any(|word| has(word))
}

/// Whether a packet names a statement by another number than the server.
fn names_otherwise(prepared: &Prepared, packet: &[u8]) -> bool {
    prepared.server_id().is_none() || prepared.server_id() != statement_id(packet)
}

/// Puts the number into a packet by which the server knows the statement that it names, and has it prepare that if it has not.
/// What is returned is what the client is told in the place of an answer, if there is none.
async fn number(
    session: &mut Session,
    (packet, command): (&mut BytesMut, Command),
) -> Result<Option<ErrPacket>, Lost> {
    let Some(prepared) = known(session, packet) else {
        // The server may take it for another that was prepared here.
        let taken = statement_id(packet).filter(|id| session.lease.prepared.is_given_here(*id));
        let taken = taken.filter(|id| *id != LAST_PREPARED || session.flavor() == Flavor::MariaDb);
        return Ok(taken.map(|id| unknown_statement(id, command, session.flavor())));
    };
    match session.make(&prepared).await? {
        Made::At(id) => {
            if let Some(place) = packet.get_mut(1..5) {
                place.copy_from_slice(&id.to_le_bytes());
            }
            Ok(None)
        }
        Made::Refused(refusal) => Ok(Some(refusal)),
    }
}

fn not_made(session: &mut Session, refusal: &ErrPacket) -> Result<Flow, Lost> {
    session.put_not_made(refusal);
    Ok(Flow::Continue)
}

fn statement_id(packet: &[u8]) -> Option<u32> {
    packet.get(1..5)?.try_into().ok().map(u32::from_le_bytes)
}

/// The statement that a packet names.
fn known(session: &Session, packet: &[u8]) -> Option<Arc<Prepared>> {
    let id = statement_id(packet)?;
    // Only MariaDB knows one by another number than its own.
    let is_named = |prepared: &Arc<Prepared>| prepared.id == id || session.flavor() == Flavor::MariaDb;
    session.lease.prepared.get(id).filter(is_named)
}

/// What executing a statement may do. One that is not known here may do anything.
pub(super) async fn effects_of(session: &Session, prepared: Option<&Prepared>) -> Effects {
    let Some(prepared) = prepared else { return Effects::worst() };
    if prepared.effects.reads.is_nothing() {
        return Effects::clone(&prepared.effects);
    }
    let upstream = &session.shared.upstream;
    // Read before the look: what changes meanwhile makes the next execution look again.
    let version = upstream.catalog_version();
    let reads_plainly = prepared.reads_plainly_at(version) || {
        let sources = Sources { freshness: session.shared.freshness(), upstream };
        reading(&prepared.effects.reads, (sources, &mut Told::at(version))).await == ReadReach::Plain
    };
    if !reads_plainly {
        return Effects::clone(&prepared.effects); // It is looked at again, and acted on, when it is sent.
    }
    prepared.set_reads_plainly_at(version);
    Effects { reads: Reads::NOTHING, ..Effects::clone(&prepared.effects) }
}
