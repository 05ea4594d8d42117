//! A prepared statement, as far as it is known here.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use freshet_protocol::{Capabilities, Execution, ParameterType};
use freshet_sql::{Effects, RowWrite};

use crate::rows::{Write, bind};

/// A prepared statement. One session's own; it is made of atomics only because sessions may move between threads.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// What executing it may do.
    pub(crate) effects: Effects,
    /// The rows that it writes, if it is one write to one table.
    write: Option<RowWrite>,
    /// How many parameters it has.
    parameters: usize,
    /// Their types, as the last execution that brought them said.
    types: Mutex<Option<Vec<ParameterType>>>,
    /// Values have been sent in pieces that the next execution will not repeat.
    long_data: AtomicBool,
    /// The version of the catalog by which nothing that it reads runs any code; [`NEVER`] if there is none.
    plain_at: AtomicU64,
}

/// ER_WRONG_ARGUMENTS, ER_UNKNOWN_STMT_HANDLER, ER_MALFORMED_PACKET.
const NOT_READ: [u16; 3] = [1210, 1243, 1835];

/// No version of the catalog.
const NEVER: u64 = u64::MAX;

impl Prepared {
    pub(crate) fn new(effects: Effects, write: Option<RowWrite>, parameters: usize) -> Self {
        Self {
            effects,
            write,
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

    /// The rows that an execution by this packet writes; `None` if they cannot be told.
    pub(crate) fn executed(&self, packet: &[u8], capabilities: Capabilities) -> Option<Write> {
        let has_long_data = self.long_data.swap(false, Ordering::Relaxed);
        let what = self.write.as_ref()?;
        let mut types = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        // Which parameter was sent in pieces is not kept; an execution that follows any has no values.
        let execution = Execution::parse(packet, self.parameters, capabilities, types.as_deref(), |_| false);
        let Ok(execution) = execution else {
            // The types that it brought, if it did, are not known.
            *types = None;
            return None;
        };
        let parameters = bind(&execution.parameters);
        if execution.types.is_some() {
            *types = execution.types;
        }
        (!has_long_data).then(|| Write { what: what.clone(), parameters })
    }
}

#[cfg(test)]
mod tests;
