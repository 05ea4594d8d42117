//! A prepared statement, as far as it is known here.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ahash::HashMap;
use freshet_protocol::{Capabilities, Execution, Parameter, ParameterType};
use freshet_sql::{Effects, Modes, PreparedKill, RowWrite};

use crate::rows::{Write, WriteText, bind};

/// A prepared statement. One session's own; it is made of atomics only because sessions may move between threads.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// What executing it may do.
    pub(crate) effects: Effects,
    /// The rows that it writes, as far as its text tells.
    write: Option<RowWrite>,
    /// Its text, if it is a write.
    text: Option<Again>,
    /// What it kills, if it is a KILL.
    kill: Option<PreparedKill>,
    /// How many parameters it has.
    parameters: usize,
    /// Their types, as the last execution that brought them said.
    types: Mutex<Option<Vec<ParameterType>>>,
    /// Values have been sent in pieces that the next execution will not repeat.
    long_data: AtomicBool,
    /// The version of the catalog by which nothing that it reads runs any code; [`NEVER`] if there is none.
    plain_at: AtomicU64,
}

/// The text of a write, to be read again where the definitions of its tables tell more.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) text: Box<[u8]>,
    pub(crate) modes: Modes,
    /// That of when it was prepared.
    pub(crate) schema: Option<String>,
}

/// The longest such text, in bytes.
pub(crate) const AGAIN_BYTES_MAX: usize = 4 << 10;

/// What is known of one execution.
#[derive(Debug, Default)]
pub(crate) struct Executed<'a> {
    /// The rows that it writes; `None` if they cannot be told.
    pub(crate) write: Option<Write<'a>>,
    /// The KILL that it is, and the id that it was given; `None` if that cannot be told.
    pub(crate) killed: Option<(&'a PreparedKill, u64)>,
}

/// ER_WRONG_ARGUMENTS, ER_UNKNOWN_STMT_HANDLER, ER_MALFORMED_PACKET.
const NOT_READ: [u16; 3] = [1210, 1243, 1835];

/// How many prepared statements of one session are told apart: the default of the server's
/// `max_prepared_stmt_count` for all of them together. One that is not remembered is taken to do anything.
const PREPARED_MAX: usize = 16_382;

/// The statement id with which MariaDB's clients name the statement prepared last.
const LAST_PREPARED: u32 = u32::MAX;

/// The prepared statements of one server connection, by the ids that the server gave them.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    by_id: HashMap<u32, Arc<Prepared>>,
    last: Option<Arc<Prepared>>,
}

impl PreparedStatements {
    /// The server has prepared this one.
    pub(crate) fn add(&mut self, id: u32, prepared: Arc<Prepared>) {
        self.last = Some(Arc::clone(&prepared));
        if self.by_id.len() < PREPARED_MAX {
            self.by_id.insert(id, prepared);
        }
    }

    /// The one that a client names so, if it is remembered.
    pub(crate) fn get(&self, id: u32) -> Option<Arc<Prepared>> {
        if id == LAST_PREPARED { self.last.clone() } else { self.by_id.get(&id).cloned() }
    }

    pub(crate) fn are_none(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether values of parameters have been sent that wait for an execution.
    pub(crate) fn have_long_data(&self) -> bool {
        self.by_id.values().chain(&self.last).any(|prepared| prepared.long_data.load(Ordering::Relaxed))
    }

    /// It is closed.
    pub(crate) fn remove(&mut self, id: u32) {
        self.by_id.remove(&id);
    }
}

/// No version of the catalog.
const NEVER: u64 = u64::MAX;

impl Prepared {
    pub(crate) fn new(
        effects: Effects,
        (write, text): (Option<RowWrite>, Option<Again>),
        kill: Option<PreparedKill>,
        parameters: usize,
    ) -> Self {
        Self {
            effects,
            write,
            text,
            kill,
            parameters,
            types: Mutex::default(),
            long_data: AtomicBool::new(false),
            plain_at: AtomicU64::new(NEVER),
        }
    }

    /// Whether what it reads is known to run no code, by this version of the catalog.
    pub(crate) fn reads_plainly_at(&self, version: u64) -> bool {
        self.plain_at.load(Ordering::Relaxed) == version
    }

    pub(crate) fn set_reads_plainly_at(&self, version: u64) {
        self.plain_at.store(version, Ordering::Relaxed);
    }

    /// Notes that parts of values have been sent, or are gone.
    pub(crate) fn has_long_data(&self, has: bool) {
        self.long_data.store(has, Ordering::Relaxed);
    }

    /// Notes how an execution ended. One that the server refused to read has left it with the types of before, which are
    /// not known here any more.
    pub(crate) fn ended(&self, error: Option<u16>) {
        if error.is_some_and(|code| NOT_READ.contains(&code)) {
            *self.types.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Notes an execution for many rows at once. It may have brought other types, which are the server's for what follows.
    pub(crate) fn executed_in_bulk(&self) {
        *self.types.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What is to be known of an execution by this packet.
    pub(crate) fn executed(&self, packet: &[u8], capabilities: Capabilities) -> Executed<'_> {
        let has_long_data = self.long_data.swap(false, Ordering::Relaxed);
        if self.write.is_none() && self.text.is_none() && self.kill.is_none() {
            return Executed::default();
        }
        let mut types = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        // Which parameter was sent in pieces is not kept; an execution that follows any has no values.
        let execution = Execution::parse(packet, self.parameters, capabilities, types.as_deref(), |_| false);
        let Ok(execution) = execution else {
            // The types that it brought, if it did, are not known.
            *types = None;
            return Executed::default();
        };
        let executed = if has_long_data { Executed::default() } else { self.with(&execution.parameters) };
        if execution.types.is_some() {
            *types = execution.types;
        }
        executed
    }

    fn with(&self, parameters: &[Parameter<'_>]) -> Executed<'_> {
        let text = self.text.as_ref().map(|Again { text, modes, schema }| WriteText {
            text,
            modes: *modes,
            schema: schema.as_deref(),
        });
        let is_write = self.write.is_some() || text.is_some();
        Executed {
            write: is_write.then(|| Write {
                what: self.write.clone(),
                text,
                parameters: bind(parameters),
                ..Write::default()
            }),
            killed: self.kill.as_ref().and_then(|kill| Some((kill, kill.id.or_else(|| id(parameters))?))),
        }
    }
}

/// The id that is given to the marker of a KILL.
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
