//! Prepared statements: passed through, with what each may do remembered.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use freshet_cache::Key;
use freshet_catalog::rows::KeyType;
use freshet_catalog::{ColumnInfo, Told};
use freshet_protocol::{Capabilities, Command};
use freshet_sql::{Datum, Effects, Flavor, Hint, Reads, Writes};
use freshet_upstream::Error;

use super::plain::plain;
use super::refusals::unavailable;
use super::select::{FillPlan, bound, count_not_cached, fill, key_for, plan, statement, touches};
use super::{kill, transaction};
use crate::environment::{environment_of, key_of_executions};
use crate::fences::{ReadReach, Sources, reading};
use crate::reading::{self, LONG_BYTES_MIN, ReadPrepared};
use crate::relay::{Lost, Repeated};
use crate::rows::{Behind, Named, ReadPlan, Statement, Tables, deps_of_execution};
use crate::session::{
    AGAIN_BYTES_MAX, Again, CompiledExecution, Executed, Flow, Forward, Missed, Prepared, PreparedSelect,
    SELECT_BYTES_MAX, Session, Shown, Touches, ZoneAt,
};
use crate::template::Verdict;

/// What the buffer for the keys of executions keeps of itself, in bytes.
const KEY_BYTES_KEPT: usize = 16 * 1024;

/// COM_STMT_PREPARE.
pub(super) async fn prepare(session: &mut Session, packet: BytesMut) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    let packet = packet.freeze();
    if may_select(&packet[1..])
        && let Err(error) = Box::pin(session.learn_quietly()).await
    {
        return unavailable(session, &error);
    }
    let ReadPrepared { effects, write, kill, select, stripped } = read(session, &packet).await;
    let effects = session.certain(&packet[1..], effects);
    let write = write.filter(|_| reading::writes_one_table(&effects));
    let select = select.and_then(|hint| selected(session, &packet[1..], hint));
    // What asks about the statement before it warns of that already here.
    let asks_back =
        effects.reads_last_statement || !effects.calls.is_nothing() || packet.len() > SELECT_BYTES_MAX;
    let nothing = Effects { reads_last_statement: asks_back, ..Effects::none() };
    let command = Command::StmtPrepare;
    let stripped = stripped.map(|text| [&[Command::StmtPrepare.byte()], text.as_slice()].concat());
    let payload = stripped.as_deref().unwrap_or(&packet);
    let relayed = session.forward(Forward::new(payload, command, &nothing)).await?;
    session.lease.prepared.failed();
    if let Some(ok) = relayed.prepared {
        let again = again(session, &packet[1..], &effects);
        let number = (ok.statement_id, ok.parameters.into());
        let control = transaction::read(session, &packet[1..]).map(|control| (control, packet[1..].into()));
        let prepared = Prepared::new(number, effects, (write, again), kill);
        let prepared = prepared.with_select(select).with_control(control);
        let is_short = packet.len() < LONG_BYTES_MIN;
        let keeps = is_short && freshet_sql::keeps_found_rows(&packet[1..], session.modes());
        let prepared = prepared.keeping_found_rows(keeps);
        session.lease.prepared.add(prepared);
    }
    Ok(Flow::Continue)
}

/// Whether a text may be a SELECT, by its first word.
fn may_select(text: &[u8]) -> bool {
    let start = text.trim_ascii_start();
    let is = |word: &[u8]| start.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word));
    text.len() <= SELECT_BYTES_MAX
        && (is(b"select") || is(b"with") || is(b"(") || is(b"/*") || is(b"-- ") || is(b"#"))
}

/// A SELECT whose answers may come from memory.
fn selected(session: &Session, text: &[u8], hint: Option<Hint>) -> Option<PreparedSelect> {
    let environment = session.environment().map(|environment| environment.id);
    let environment = (environment, session.state.environment_version);
    (text.len() <= SELECT_BYTES_MAX).then(|| PreparedSelect::new((text, session.flavor()), hint, environment))
}

/// The text of a write, if it is short enough to be kept.
fn again(session: &Session, text: &[u8], effects: &Effects) -> Option<Again> {
    let is_kept = matches!(effects.writes, Writes::Tables(_)) && text.len() <= AGAIN_BYTES_MAX;
    is_kept.then(|| Again {
        text: text.into(),
        modes: session.manner().modes_of_write,
        prepared_in: zone_at(session),
        schema: session.state.schema.clone(),
    })
}

/// The session's time zone now.
pub(super) fn zone_at(session: &Session) -> ZoneAt {
    ZoneAt { zone: session.zone(), version: session.state.environment_version }
}

/// Reads the text of a COM_STMT_PREPARE, a long one beside the event loop.
async fn read(session: &Session, packet: &Bytes) -> ReadPrepared {
    let (text, manner) = (packet.slice(1..), session.manner());
    if text.len() < LONG_BYTES_MIN {
        return reading::prepared(&text, manner);
    }
    let read = session.shared.readers.read(text, move |text| reading::prepared(text, manner)).await;
    read.unwrap_or_else(|| ReadPrepared {
        effects: Effects::worst(),
        write: None,
        kill: None,
        select: None,
        stripped: None,
    })
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
    let execution = Execution::by_command(session, &prepared, packet);
    take_stored(session, execution, environment)
}

/// The same, with the first part of the key that a text would have.
pub(super) fn take_stored(
    session: &mut Session,
    execution: Execution<'_>,
    environment: u32,
) -> Result<(), Missed> {
    let version = session.state.environment_version;
    let mut key = std::mem::take(&mut session.state.execution_key);
    let select = execution.key_of(&mut key);
    let found = if select.is_some_and(|select| select.is_of(environment_of(environment), version)) {
        let key = Key { environment: key_of_executions(environment), text: &key };
        session.answer_from_memory(key, execution.statement)
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
    let control = known(session, &packet).filter(|_| command == Command::StmtExecute);
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
    // Parts of values wait at the server for this execution.
    let owes = prepared.as_ref().filter(|_| !had_long_data);
    let owed = owes.map(|prepared| prepared.owed()).unwrap_or_default();
    let completed = prepared.as_ref().and_then(|prepared| sent(session, prepared, &packet));
    let payload = completed.as_deref().unwrap_or(&packet);
    let text = control_text(prepared.as_deref());
    let keeps_found_rows = prepared.as_ref().is_some_and(|prepared| prepared.keeps_found_rows);
    let forward =
        Forward { text, write, first: &owed, keeps_found_rows, ..Forward::new(payload, command, &effects) };
    let relayed = session.forward(forward).await?;
    if let Some(prepared) = prepared {
        if !relayed.is_unsent {
            prepared.is_met();
        }
        prepared.ended(relayed.error, relayed.is_unsent);
        if relayed.is_unsent && had_long_data {
            session.drop_long_data(prepared.id).await?;
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
    effects: Effects,
) -> Result<Flow, Lost> {
    let prepared = execution.prepared;
    let runs_code = !effects.reads.is_nothing() || !effects.calls.is_nothing();
    let is_plain = !runs_code && !effects.reads_last_statement;
    if is_plain {
        session.resolve_doubts().await;
        if let Err(error) = session.learn().await {
            return unavailable(session, &error);
        }
        session.refresh_key();
    }
    let planned = if is_plain {
        planned(session, &mut missed, (execution, &values)).await
    } else {
        Ok(Planned::Forwarded(Touches::Anything))
    };
    let (plan, touches) = match planned {
        Err(error) => return unavailable(session, &error),
        Ok(Planned::Answered) => return Ok(Flow::Continue),
        Ok(Planned::Forwarded(touches)) => (None, touches),
        Ok(Planned::Stored(plan)) => (Some(plan), Touches::ReadView),
    };
    let mut key = Vec::new();
    let has_key = execution.key_of(&mut key).is_some();
    let owed = if has_key { Vec::new() } else { execution.owed() };
    let completed;
    let forward = if execution.by == By::Command {
        completed = sent(session, prepared, payload);
        Forward::new(completed.as_deref().unwrap_or(payload), Command::StmtExecute, &effects)
    } else {
        is_executed(session, prepared);
        Forward { text: execution.statement, ..Forward::new(payload, Command::Query, &effects) }
    };
    let forward = Forward { touches, first: &owed, ..forward };
    let relayed = match plan.filter(|_| has_key) {
        Some(plan) => fill(session, forward, (&key, missed), plan).await?,
        None => {
            count_not_cached(session);
            session.forward(forward).await?
        }
    };
    prepared.ended(relayed.error, relayed.is_unsent);
    if !relayed.is_unsent {
        prepared.is_met();
    }
    Ok(Flow::Continue)
}

/// What becomes of an execution.
enum Planned {
    /// It was answered from memory.
    Answered,
    /// The server answers, and nothing is stored.
    Forwarded(Touches),
    /// The server answers, and the answer is stored.
    Stored(FillPlan),
}

async fn planned(
    session: &mut Session,
    missed: &mut Missed,
    (execution, values): (Execution<'_>, &[Datum]),
) -> Result<Planned, Error> {
    let Some(select) = &execution.prepared.select else {
        return Ok(Planned::Forwarded(Touches::Anything));
    };
    // What the text means was decided in the environment in which it was prepared.
    let version = session.state.environment_version;
    if !session.environment().is_some_and(|environment| select.is_of(environment.id, version)) {
        return Ok(Planned::Forwarded(Touches::Anything));
    }
    let compiled = compiled(session, select).await;
    let template = &compiled.template;
    if template.effects.reads_last_statement || !matches!(template.verdict, Verdict::Cache) {
        return Ok(Planned::Forwarded(touches(session, template, &select.text)));
    }
    session.find_hidden(&template.tables.known).await?;
    let Some(environment) = key_for(session, template, select.hint) else {
        return Ok(Planned::Forwarded(Touches::ReadView));
    };
    // The first look was before the environment was known, or with a temporary table in the way.
    match take_stored(session, execution, environment) {
        Ok(()) => return Ok(Planned::Answered),
        Err(later) => *missed = missed.and(later),
    }
    let depends = |behind: Behind<'_>| {
        let statement = statement(session, &select.text);
        deps_of_execution(statement, (&compiled.plan, values), &template.tables, behind)
    };
    // What is stored and not given for want of room is streamed from the server, and not stored again.
    let key = (key_of_executions(environment), *missed);
    let plan = plan(session, template, key, depends).filter(|_| missed.may_be_stored());
    Ok(plan.map_or(Planned::Forwarded(Touches::ReadView), Planned::Stored))
}

/// What is compiled of a SELECT, by the definitions as they are now.
async fn compiled(session: &Session, select: &PreparedSelect) -> Arc<CompiledExecution> {
    let known = select.compiled().filter(|known| session.shared.upstream.is_current(&known.template.told));
    if let Some(known) = known {
        return known;
    }
    let template = Arc::clone(&bound(session, &select.text).await.compiled.template);
    let plan = ReadPlan::of(statement(session, &select.text), &template.tables);
    let tells_kinds_alone = tells_kinds_alone(statement(session, &select.text), &template.tables);
    let compiled = Arc::new(CompiledExecution { template, plan, tells_kinds_alone });
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

/// COM_STMT_SEND_LONG_DATA, which has no answer: a part of a parameter's value, which the execution will not repeat.
pub(super) async fn send_long_data(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Some(prepared) = known(session, packet) {
        // What its last answer has left is asked for by executing it again, which would take this value.
        if session.lease.is_open() {
            Box::pin(session.settle_last_hit(&prepared)).await?;
            let owed = if prepared.has_long_data() { Vec::new() } else { prepared.owed() };
            for (command, packet) in owed {
                session.execute_unseen(command, &packet).await?;
                prepared.is_met();
            }
        }
        prepared.set_long_data(true);
    }
    if !session.lease.is_open() {
        return Ok(Flow::Continue);
    }
    session.forward_silently(packet).await
}

/// COM_STMT_RESET, which drops what was sent of parameters, and a cursor.
pub(super) async fn reset(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Some(prepared) = known(session, packet) {
        prepared.set_long_data(false);
        prepared.set_cursor(false);
    }
    plain(session, packet, Command::StmtReset).await
}

/// COM_STMT_CLOSE, which has no answer.
pub(super) async fn close(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    let Some(id) = statement_id(packet) else { return Ok(Flow::Continue) };
    let id = known(session, packet).map_or(id, |prepared| prepared.id);
    session.lease.prepared.remove(id);
    if session.lease.is_open() {
        session.close_statement(id).await?;
    }
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
        return prepared.effects.clone();
    }
    let upstream = &session.shared.upstream;
    // Read before the look: what changes meanwhile makes the next execution look again.
    let version = upstream.catalog_version();
    let reads_plainly = prepared.reads_plainly_at(version) || {
        let sources = Sources { freshness: session.shared.freshness(), upstream };
        reading(&prepared.effects.reads, (sources, &mut Told::at(version))).await == ReadReach::Plain
    };
    if !reads_plainly {
        return prepared.effects.clone(); // It is looked at again, and acted on, when it is sent.
    }
    prepared.set_reads_plainly_at(version);
    Effects { reads: Reads::NOTHING, ..prepared.effects.clone() }
}
