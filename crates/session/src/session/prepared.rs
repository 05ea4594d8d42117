//! A prepared statement, with all that Freshet knows of it.

// The statements of a connection, and what is known of one.
mod statements;
mod prepared_in;
mod select;
mod types;
mod history;
mod first;

// Statements on other connections than that of their session.
mod carriable;
mod elsewhere;
mod stock;

// Statements of Freshet's own.
mod ours;
mod substitute;

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use freshet_catalog::ChangedSince;
use freshet_catalog::rows::Zone;
use freshet_follow::Upstream;
use freshet_protocol::{
    Capabilities, ErrPacket, Execution, ExecutionParts, Malformed, Parameter, ParameterType,
};
use freshet_sql::{Datum, Effects, Modes, PreparedKill, RowWrite, TransactionControl};

use crate::preparations::Preparation;
use crate::reading::{CACHED_BYTES_MAX, LONG_BYTES_MIN};
use crate::rows::{Write, WriteText, bind};
use crate::statistics::DigestMemo;
pub(crate) use carriable::Carriable;
use first::FirstExecution;
pub(crate) use first::OwedCommand;
use history::History;
pub(crate) use prepared_in::PreparedIn;
pub(crate) use select::PreparedSelect;
pub(crate) use statements::{LAST_PREPARED, PreparedStatements};
use types::Types;

/// A prepared statement of one session. Shared by the parts that work for that session: its changing fields are atomics and locks without
/// contention.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The client's number of the statement.
    pub(crate) id: u32,
    /// The server's number of the statement; [`NOT_MADE`] if the server has not prepared it.
    server_id: AtomicU32,
    /// The environment in which the statement was prepared.
    pub(crate) prepared_in: PreparedIn,
    /// What executing the statement may do.
    pub(crate) effects: Arc<Effects>,
    /// The rows that the statement writes, as far as its text tells.
    write: Option<RowWrite>,
    /// The text, if the statement is a write.
    text: Option<Again>,
    /// What the statement kills, if it is a KILL.
    kill: Option<PreparedKill>,
    /// What the statement does to the transaction, if it does nothing else.
    pub(crate) control: Option<ControlStatement>,
    /// The statement certainly leaves FOUND_ROWS() as it is.
    pub(crate) keeps_found_rows: bool,
    /// The facts of a SELECT whose answers may come from memory.
    pub(crate) select: Option<PreparedSelect>,
    /// The text that the client sent to be prepared, if query rules have rewritten it, or if no other field has it.
    asked: Option<Box<[u8]>>,
    is_rewritten: bool,
    /// The text, if the statement is Freshet's own.
    ours: Option<substitute::Substitute>,
    /// How many parameters the statement has.
    parameters: usize,
    /// The types of the parameters.
    types: Mutex<Types>,
    /// The values of earlier executions, if answers depend on them.
    history: Option<Mutex<History>>,
    /// What the server knows of the first of these executions.
    first: Option<Mutex<FirstExecution>>,
    /// A cursor may be open.
    cursor: AtomicBool,
    /// Parts of values have been sent that the next execution does not repeat.
    long_data: AtomicBool,
    /// Why a part of a value was lost on its way to the server.
    lost_part: Mutex<Option<Box<ErrPacket>>>,
    /// An execution may have run in another time zone than the preparation: the server may have made a moment of a literal in that zone.
    was_elsewhere: AtomicBool,
    /// Under which digest its executions are counted.
    digest_memo: DigestMemo,
    /// The version of the catalog at which none of the statement's tables runs any code; [`NEVER`] if there is none.
    plain_at: AtomicU64,
}

/// A statement that only begins, marks or ends a transaction.
#[derive(Debug)]
pub(crate) struct ControlStatement {
    pub(crate) control: TransactionControl,
    pub(crate) text: Box<[u8]>,
}

/// The text of a write, read again when the definitions of its tables tell more; or the text of a CALL.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) text: Box<[u8]>,
    pub(crate) modes: Modes,
    /// The time zone of the preparation.
    pub(crate) prepared_in: ZoneAt,
    /// The default schema of the preparation.
    pub(crate) schema: Option<String>,
}

/// The time zone of a session, whether its texts are in UTF-8, and the version of its environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ZoneAt {
    pub(crate) zone: Zone,
    pub(crate) version: u64,
    /// The session's texts are known to be in UTF-8.
    pub(crate) are_utf8: bool,
}

impl ZoneAt {
    /// Whether nothing between the two can have changed the zone, as far as is known.
    fn is_same(self, other: Self) -> bool {
        self.version == other.version || self.zone.is_fixed() && self.zone == other.zone
    }
}

/// The longest text of a write or CALL that is kept, in bytes.
pub(crate) const AGAIN_BYTES_MAX: usize = 4 << 10;

/// The longest text of a SELECT whose answers may come from memory, in bytes.
pub(crate) const SELECT_BYTES_MAX: usize = LONG_BYTES_MIN - 1;

/// What is known of one execution.
#[derive(Debug, Default)]
pub(crate) struct Executed<'a> {
    /// The rows that the execution writes; `None` if they are unknown.
    pub(crate) write: Option<Write<'a>>,
    /// The KILL that is executed, and its id; `None` if they are unknown.
    pub(crate) killed: Option<(&'a PreparedKill, u64)>,
    /// The values of the parameters; `None` if they are unknown.
    pub(crate) values: Option<Vec<Datum>>,
}

/// ER_WRONG_ARGUMENTS, ER_UNKNOWN_STMT_HANDLER, and the error for a packet that cannot be read.
const NOT_READ: [u16; 3] = [1210, 1243, Malformed::ER_MALFORMED_PACKET];

/// The number of a statement that the server does not have: the server counts from 1.
const NOT_MADE: u32 = 0;

/// A version that the catalog never has.
const NEVER: u64 = u64::MAX;

impl Prepared {
    /// Returns the text, if it is known.
    pub(crate) fn text(&self) -> &[u8] {
        let select = self.select.as_ref().map(|select| &*select.text);
        select.or(self.text.as_ref().map(|again| &*again.text)).unwrap_or_default()
    }

    /// Makes a statement that the client and the server know by this number.
    pub(crate) fn new(id: u32, parameters: usize, effects: impl Into<Arc<Effects>>) -> Self {
        Self {
            id,
            server_id: AtomicU32::new(id),
            prepared_in: PreparedIn::default(),
            effects: effects.into(),
            write: None,
            text: None,
            kill: None,
            control: None,
            keeps_found_rows: false,
            select: None,
            asked: None,
            is_rewritten: false,
            ours: None,
            parameters,
            types: Mutex::default(),
            history: None,
            first: None,
            cursor: AtomicBool::new(false),
            long_data: AtomicBool::new(false),
            lost_part: Mutex::default(),
            was_elsewhere: AtomicBool::new(false),
            digest_memo: DigestMemo::default(),
            plain_at: AtomicU64::new(NEVER),
        }
    }

    /// Makes a SELECT that was prepared from memory, under this number. The server has not prepared it.
    pub(crate) fn here(id: u32, preparation: &Preparation, environment: u32, version: u64) -> Self {
        let select = PreparedSelect::here(preparation);
        let prepared = Self::new(id, preparation.parameters, Arc::clone(&preparation.effects));
        let prepared = prepared.with_select(Some(select)).keeping_found_rows(preparation.keeps_found_rows);
        let prepared = prepared.prepared_in(Some(environment), version);
        Self { server_id: AtomicU32::new(NOT_MADE), ..prepared }
    }

    /// Returns the server's number of the statement, if the server has prepared it.
    pub(crate) fn server_id(&self) -> Option<u32> {
        Some(self.server_id.load(Ordering::Relaxed)).filter(|id| *id != NOT_MADE)
    }

    /// Notes that the server has prepared the statement, under this number.
    pub(super) fn note_made(&self, id: u32) {
        self.server_id.store(id, Ordering::Relaxed);
    }

    /// Adds the rows that the statement writes, or a text that is read again before the statement is executed.
    pub(crate) fn with_write(self, write: Option<RowWrite>, text: Option<Again>) -> Self {
        Self { write, text, ..self }
    }

    /// Adds what the statement kills.
    pub(crate) fn with_kill(self, kill: Option<PreparedKill>) -> Self {
        Self { kill, ..self }
    }

    /// Adds the facts of a SELECT whose answers may come from memory.
    pub(crate) fn with_select(self, select: Option<PreparedSelect>) -> Self {
        let remembers = select.as_ref().is_some_and(|select| self.parameters > 0 && select.remembers);
        let (history, first) = (remembers.then(Mutex::default), remembers.then(Mutex::default));
        Self { select, history, first, ..self }
    }

    /// Makes the statement one that is executed by its name. Both servers use the values of earlier executions in that case.
    pub(crate) fn by_name(self) -> Self {
        let has_values = self.parameters > 0;
        Self { history: has_values.then(Mutex::default), first: has_values.then(Mutex::default), ..self }
    }

    /// Adds the text that the client sent to be prepared. `is_rewritten`: query rules have rewritten it.
    pub(crate) fn asked_as(self, text: &[u8], is_rewritten: bool) -> Self {
        let is_kept = is_rewritten && text.len() <= SELECT_BYTES_MAX
            || self.text().is_empty() && text.len() <= AGAIN_BYTES_MAX;
        Self { asked: is_kept.then(|| text.into()), is_rewritten, ..self }
    }

    /// Whether query rules have rewritten the text when it was prepared.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.is_rewritten
    }

    /// Returns the text that the client sent to be prepared, as far as it is known.
    pub(crate) fn asked(&self) -> &[u8] {
        match &self.asked {
            Some(asked) => asked,
            None if self.is_rewritten => &[],
            None => self.text(),
        }
    }

    /// Returns under which digest its executions are counted.
    pub(crate) const fn digest_memo(&self) -> &DigestMemo {
        &self.digest_memo
    }

    /// Sets the client's number of the statement, if Freshet gave one.
    pub(crate) fn numbered(self, id: Option<NonZeroU32>) -> Self {
        Self { id: id.map_or(self.id, NonZeroU32::get), ..self }
    }

    /// Sets the environment of the preparation, if it is known, and the session's version of it.
    pub(crate) fn prepared_in(self, environment: Option<u32>, version: u64) -> Self {
        Self { prepared_in: PreparedIn::new(environment, version), ..self }
    }

    /// Adds what the statement does to the transaction.
    pub(crate) fn with_control(self, control: Option<ControlStatement>) -> Self {
        Self { control, ..self }
    }

    /// Sets whether the statement certainly leaves FOUND_ROWS() as it is.
    pub(crate) fn keeping_found_rows(self, keeps_found_rows: bool) -> Self {
        Self { keeps_found_rows, ..self }
    }

    /// Returns how many parameters the statement has.
    pub(crate) fn parameters(&self) -> usize {
        self.parameters
    }

    /// Returns how many bytes of text are kept for the statement's answers.
    pub(crate) fn select_bytes(&self) -> usize {
        self.select.as_ref().map_or(0, |select| select.text.len())
    }

    /// Whether the statement's reads are known to run no code, by this version of the catalog.
    pub(crate) fn reads_plainly_at(&self, version: u64) -> bool {
        self.plain_at.load(Ordering::Relaxed) == version
    }

    pub(crate) fn set_reads_plainly_at(&self, version: u64) {
        self.plain_at.store(version, Ordering::Relaxed);
    }

    /// Notes that parts of values have been sent, or are gone. Returns whether there were any.
    pub(crate) fn set_long_data(&self, has: bool) -> bool {
        self.long_data.swap(has, Ordering::Relaxed)
    }

    /// Notes that a part of a value could not be sent: the statement must not be executed with the other parts alone.
    pub(crate) fn loses_part(&self, why: ErrPacket) {
        self.lost_part.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| Box::new(why));
    }

    /// Returns why a part of a value was lost since the last execution or reset, and forgets that.
    pub(crate) fn take_lost_part(&self) -> Option<Box<ErrPacket>> {
        if !self.has_long_data() {
            return None;
        }
        self.lost_part.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether parts of values have been sent that no execution has taken.
    pub(crate) fn has_long_data(&self) -> bool {
        self.long_data.load(Ordering::Relaxed)
    }

    /// Notes how an execution ended, or that it was not sent to the server after all. If the server refused to read the execution, the
    /// server's types are unknown from now on.
    pub(crate) fn ended(&self, error: Option<u16>, is_unsent: bool) {
        if is_unsent {
            self.types().forget_told();
        } else if error.is_some_and(|code| NOT_READ.contains(&code)) {
            self.note_execution_not_read();
        }
    }

    /// Notes an execution for many rows at once. Its types may differ, and the server keeps them for later executions.
    pub(crate) fn executed_in_bulk(&self) {
        self.types().forget();
        self.note_unlike_others();
    }

    /// Puts the second part of an execution's key together: all facts that its answer depends on besides the environment. `None` if the
    /// answer cannot come from memory.
    pub(crate) fn key_of(
        &self,
        packet: &[u8],
        capabilities: Capabilities,
        key: &mut Vec<u8>,
    ) -> Option<&PreparedSelect> {
        let bars = self.has_long_data() || self.cursor.load(Ordering::Relaxed);
        let select = self.select.as_ref().filter(|_| packet.len() <= CACHED_BYTES_MAX && !bars)?;
        let parts = ExecutionParts::cut(packet, self.parameters, capabilities)?;
        let mut types = self.types();
        types.say(parts.types());
        let said = types.said().unwrap_or_default();
        if parts.has_cursor || said.len() != self.parameters {
            return None;
        }
        self.notes(&parts, said);
        if !self.is_like_before(select) {
            return None;
        }
        key.clear();
        key.extend_from_slice(&select.text);
        key.extend_from_slice(parts.values);
        // From here on each part's length follows from the parts after it, so that different executions have different keys.
        said.iter().for_each(|one| key.extend_from_slice(&one.bytes()));
        key.extend_from_slice(parts.nulls);
        key.extend_from_slice(&u16::try_from(self.parameters).ok()?.to_le_bytes());
        key.extend_from_slice(&u32::try_from(select.text.len()).ok()?.to_le_bytes());
        Some(select)
    }

    /// Notes the values and types of an execution.
    fn notes(&self, parts: &ExecutionParts<'_>, said: &[ParameterType]) {
        self.with_history(|history| history.note(parts, said));
    }

    /// Notes that an execution was answered from memory.
    pub(crate) fn note_answered(&self, packet: &[u8], capabilities: Capabilities) {
        let Some(mut known) = self.first() else { return };
        known.first.note_answered(|| self.with_types(packet, capabilities));
    }

    /// Returns the packet of an execution, with the types of its parameters.
    fn with_types(&self, packet: &[u8], capabilities: Capabilities) -> Vec<u8> {
        let types = self.types();
        let parts = ExecutionParts::cut(packet, self.parameters, capabilities);
        let lacking = types.said().zip(parts.filter(|parts| parts.types().is_none()));
        let with = lacking.and_then(|(said, parts)| parts.with_types(packet, said, capabilities));
        with.unwrap_or_else(|| packet.to_vec())
    }

    /// Notes that the server has executed the statement; for the first time by this packet, if it had not before.
    pub(crate) fn is_met(&self, packet: &[u8], capabilities: Capabilities) {
        if let Some(mut known) = self.first() {
            known.first.note_met(|| self.with_types(packet, capabilities));
        }
    }

    /// Returns the commands that go before an execution whose values are unlike earlier ones, or unknown.
    pub(crate) fn owed(&self) -> Vec<OwedCommand> {
        // A statement that the server has not prepared is prepared before this call.
        let id = self.server_id().unwrap_or(self.id);
        let shown = self.first().and_then(|known| known.first.execution(id));
        if shown.is_some() {
            // The types in this execution are the server's types from then on.
            self.types().forget_told();
        }
        shown.into_iter().collect()
    }

    /// Like [`Self::owed`], for executions by this name.
    pub(crate) fn owed_by_name(&self, name: &str) -> Vec<OwedCommand> {
        self.first().map(|known| known.first.statements(name, self.parameters)).unwrap_or_default()
    }

    /// Notes that the statement is being prepared, while the catalog has this version.
    pub(crate) fn is_prepared_at(&self, version: u64) {
        if let Some(mut known) = self.first() {
            known.counts_from(version);
        }
    }

    /// Forgets what the server knows of earlier values, if it prepares the statement anew because of a definition. To be called before an
    /// execution is noted, or sent.
    pub(crate) fn heeds_definitions(&self, upstream: &Upstream) {
        let Some(mut known) = self.first() else { return };
        let is_redefined = known.heeds_definitions(upstream.catalog_version(), |since| {
            let compiled = self.select.as_ref().and_then(PreparedSelect::compiled);
            compiled.map_or(ChangedSince::Perhaps, |compiled| {
                upstream.changed_since(&compiled.template.told, since)
            })
        });
        drop(known);
        if is_redefined {
            self.with_history(History::note_redefined);
        }
    }

    fn first(&self) -> Option<MutexGuard<'_, FirstExecution>> {
        Some(self.first.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether all executions were alike.
    fn is_like_before(&self, select: &PreparedSelect) -> bool {
        self.with_history(|history| select.with_typed_by(|typed_by| history.is_alike(typed_by)))
            .unwrap_or(true)
    }

    /// Calls `with` on the history; `None` if earlier values do not matter.
    fn with_history<T>(&self, with: impl FnOnce(&mut History) -> T) -> Option<T> {
        let history = self.history.as_ref()?;
        Some(with(&mut history.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Notes an execution that is sent to the server. Returns its packet with types, if the server needs types that the client assumes to
    /// be known.
    pub(crate) fn completed(&self, packet: &[u8], capabilities: Capabilities) -> Option<Vec<u8>> {
        let parts = ExecutionParts::cut(packet, self.parameters, capabilities);
        let brings = match &parts {
            Some(parts) => parts.types().is_some(),
            None => Execution::parse(packet, self.parameters, capabilities, self.types().said(), |_| false)
                .is_ok_and(|execution| execution.types.is_some()),
        };
        let mut types = self.types();
        let lacks = types.tell(brings);
        let said = types.said().filter(|_| lacks)?;
        parts?.with_types(packet, said, capabilities)
    }

    /// Notes that a cursor may be open, or is not any more.
    pub(crate) fn set_cursor(&self, is_open: bool) {
        self.cursor.store(is_open, Ordering::Relaxed);
    }

    /// Returns what is known of an execution by this packet.
    pub(crate) fn executed(&self, packet: &[u8], capabilities: Capabilities, at: ZoneAt) -> Executed<'_> {
        let zone = self.zone(at);
        let has_long_data = self.long_data.swap(false, Ordering::Relaxed);
        let parts = ExecutionParts::cut(packet, self.parameters, capabilities);
        if self.write.is_none() && self.text.is_none() && self.kill.is_none() && self.select.is_none() {
            match &parts {
                Some(parts) => self.types().say(parts.types()),
                // The types in an execution with attributes are the server's types from then on.
                None => self.types().forget(),
            }
            return Executed::default();
        }
        // In any case, this notes what may have made the server resolve types anew.
        let is_plain = parts.is_some_and(|parts| !parts.has_cursor) && packet.len() <= CACHED_BYTES_MAX;
        if has_long_data || !is_plain {
            self.note_unlike_others();
        }
        self.cursor.fetch_or(parts.is_none_or(|parts| parts.has_cursor), Ordering::Relaxed);
        let mut types = self.types();
        // Freshet does not record which parameter was sent in parts; an execution after such parts has no known values.
        let execution = Execution::parse(packet, self.parameters, capabilities, types.said(), |_| false);
        let Ok(execution) = execution else {
            drop(types);
            self.note_execution_not_read();
            return Executed::default();
        };
        // Attributes have types too, after those of the markers.
        types.say(execution.types.map(|types| types.into_iter().take(self.parameters)));
        if has_long_data { Executed::default() } else { self.with(&execution.parameters, zone, at.are_utf8) }
    }

    /// Notes that the server refused to read an execution: it is unknown which types the server has taken from it. The server is told the
    /// types of a SELECT again. The types of a write, and its rows, are unknown from now on.
    fn note_execution_not_read(&self) {
        if self.select.is_some() {
            self.types().forget_told();
        } else {
            self.types().forget();
        }
        self.note_unlike_others();
    }

    /// Notes an execution that may make the server read the statement in another way than before.
    fn note_unlike_others(&self) {
        self.with_history(History::note_unknown);
    }

    fn types(&self) -> MutexGuard<'_, Types> {
        self.types.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time zone of the statement's moments in an execution now.
    fn zone(&self, now: ZoneAt) -> Zone {
        let Some(Again { prepared_in, .. }) = &self.text else { return Zone::Other };
        if !prepared_in.is_same(now) {
            self.was_elsewhere.store(true, Ordering::Relaxed);
        }
        if self.was_elsewhere.load(Ordering::Relaxed) { Zone::Other } else { now.zone }
    }

    fn with(&self, parameters: &[Parameter<'_>], zone: Zone, are_utf8: bool) -> Executed<'_> {
        let text = self.text.as_ref().map(|Again { text, modes, schema, .. }| WriteText {
            text,
            modes: *modes,
            schema: schema.as_deref(),
        });
        let is_write = self.write.is_some() || text.is_some();
        Executed {
            write: is_write.then(|| {
                let (what, parameters) = (self.write.clone(), bind(parameters, false));
                Write { what, text, parameters, ..Write::default() }.in_zone(zone)
            }),
            killed: self.kill.as_ref().and_then(|kill| Some((kill, kill.id.or_else(|| id(parameters))?))),
            values: self.select.as_ref().map(|_| bind(parameters, are_utf8)),
        }
    }
}

/// Returns the id that is given for the marker of a KILL.
fn id(parameters: &[Parameter<'_>]) -> Option<u64> {
    match *parameters.first()? {
        Parameter::UInt(id) => Some(id),
        Parameter::Int(id) => id.try_into().ok(),
        Parameter::Float(id) if id.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&id) => {
            Some(id as u64)
        }
        Parameter::Text(digits) | Parameter::Decimal(digits) => {
            std::str::from_utf8(digits).ok()?.parse().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
