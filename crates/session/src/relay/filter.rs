//! Removing the server's reports on a session that only Freshet asked for.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};

use freshet_protocol::{Capabilities, Malformed, OkPacket, Part, Seen, StateChange, StatusFlags};

use crate::session::{Gtids, Reports, TransactionTracking};

/// Turns OK packets into those that this client would get without Freshet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter<'a> {
    /// The capabilities that the client and Freshet agreed on.
    pub(crate) capabilities: Capabilities,
    /// The last report that a transaction has begun or ended, if the server sends such reports by default, as MySQL does.
    pub(crate) begun: Option<&'a AtomicBool>,
    /// The reports that the client gets; `None`: all reports.
    pub(crate) told: Option<&'a Reports>,
    /// The session's default schema; empty if it has none.
    pub(crate) schema: &'a str,
}

/// Returns the OK packet in `payload`, if it is one. The packet that ends rows for clients without EOF packets is one, too.
pub(crate) fn as_ok(
    seen: &Seen,
    payload: &[u8],
    capabilities: Capabilities,
) -> Result<Option<OkPacket>, Malformed> {
    let ok = match seen.part {
        Part::Ok => true,
        Part::RowsEnd => capabilities.contains(Capabilities::DEPRECATE_EOF),
        _ => false,
    };
    // An EOF packet (five bytes) also answers COM_SET_OPTION and COM_DEBUG.
    if !ok || (payload.first() == Some(&0xfe) && payload.len() == 5) {
        return Ok(None);
    }
    OkPacket::parse(payload, capabilities).map(Some)
}

/// Returns the answer to a preparation with this number in the place of the server's.
pub(crate) fn numbered(payload: &[u8], number: NonZeroU32) -> Option<Vec<u8>> {
    let mut payload = payload.to_vec();
    payload.get_mut(1..5)?.copy_from_slice(&number.get().to_le_bytes());
    Some(payload)
}

/// Whether a packet says that the session has changed.
pub(crate) fn announces(seen: &Seen) -> bool {
    seen.status.is_some_and(|status| status.contains(StatusFlags::SESSION_STATE_CHANGED))
}

/// Returns `seen` with the flags of the packet that is passed on in its place.
pub(crate) fn as_passed(seen: &Seen, passed: &[u8]) -> Seen {
    let flags = seen.status_at.and_then(|at| passed.get(at..)?.first_chunk::<2>());
    let status = flags.map(|flags| StatusFlags::from_bits_retain(u16::from_le_bytes(*flags)));
    Seen { status: seen.status.and(status), ..*seen }
}

impl Filter<'_> {
    /// Returns the packet that the client gets in the place of `payload`, which came over a connection with `capabilities`;
    /// `None` if the client gets `payload` itself.
    pub(crate) fn rewritten(
        &self,
        seen: &Seen,
        payload: &[u8],
        capabilities: Capabilities,
    ) -> Result<Option<Vec<u8>>, Malformed> {
        let Some(mut ok) = as_ok(seen, payload, capabilities)? else { return Ok(self.quiet(seen, payload)) };
        let tracks = self.capabilities.contains(Capabilities::SESSION_TRACK);
        self.note(&ok);
        if tracks && (self.told.is_none() || !ok.status.contains(StatusFlags::SESSION_STATE_CHANGED)) {
            return Ok(None);
        }
        ok.changes.retain_mut(|change| tracks && self.told.is_none_or(|told| self.is_told(told, change)));
        if ok.changes.is_empty() {
            ok.status.remove(StatusFlags::SESSION_STATE_CHANGED);
        }
        let header = payload.first().copied().unwrap_or(0);
        let encoded = ok.encode(self.capabilities, header);
        Ok((encoded != payload).then_some(encoded))
    }

    /// Whether a packet reports a change of the session.
    ///
    /// `MariaDB` opens a view of another schema by moving the session there and back, and then reports the
    /// default schema, which is the same as before, and a change of state. An EOF packet does not say what has changed.
    pub(crate) fn is_news(
        &self,
        seen: &Seen,
        payload: &[u8],
        passed: &[u8],
        capabilities: Capabilities,
    ) -> Result<bool, Malformed> {
        if !announces(seen) {
            return Ok(false);
        }
        let ok = as_ok(seen, payload, capabilities)?;
        let is_news = |change: &StateChange| match change {
            StateChange::Schema(schema) => schema != self.schema.as_bytes(),
            StateChange::SessionState(_) => false,
            // A report that rows were read in a transaction does not concern others, unless this client gets it.
            StateChange::TransactionState(_) => false,
            _ => true,
        };
        Ok(ok.is_some_and(|ok| ok.changes.iter().any(is_news)) || self.tells_of_transaction(seen, passed)?)
    }

    /// Whether this packet tells the client about its transaction.
    fn tells_of_transaction(&self, seen: &Seen, passed: &[u8]) -> Result<bool, Malformed> {
        let ok = as_ok(seen, passed, self.capabilities)?;
        let is_told = |change: &StateChange| matches!(change, StateChange::TransactionState(_));
        Ok(ok.is_some_and(|ok| ok.changes.iter().any(is_told)))
    }

    /// Returns an EOF packet without its announcement of changes: it has no room for the changes, and they are Freshet's.
    fn quiet(&self, seen: &Seen, payload: &[u8]) -> Option<Vec<u8>> {
        let high = seen.status_at? + 1;
        if !announces(seen) || self.told.is_none_or(are_told_of_reads) || high >= payload.len() {
            return None;
        }
        let mut payload = payload.to_vec();
        payload[high] &= !STATE_CHANGED_HIGH;
        Some(payload)
    }

    /// Notes reports of transactions that are passed on as they are.
    fn note(&self, ok: &OkPacket) {
        let Some(begun) = self.begun.filter(|_| self.told.is_none_or(are_told_of_reads)) else { return };
        for change in &ok.changes {
            if let StateChange::TransactionState(state) = change {
                begun.store(state.first() == Some(&b'T'), Ordering::Relaxed);
            }
        }
    }

    /// Whether MySQL would report this state by default: it reports that a transaction begins or ends, and
    /// nothing of what is done in it.
    fn is_boundary(&self, state: &mut Vec<u8>) -> bool {
        let Some(told) = self.begun else { return false };
        let has_begun = state.first() == Some(&b'T');
        state.resize(STATE_BYTES, b'_');
        state.fill(b'_');
        if has_begun {
            state[0] = b'T';
        }
        // The value is one session's own, so no ordering is needed.
        told.swap(has_begun, Ordering::Relaxed) != has_begun
    }

    /// Whether a client that asked for these reports gets this one.
    fn is_told(&self, told: &Reports, change: &mut StateChange) -> bool {
        match change {
            StateChange::Schema(_) => told.schema,
            StateChange::SystemVariable { name, .. } => told.tell_of(name),
            StateChange::Gtids(_) => told.gtids != Gtids::Off,
            StateChange::SessionState(_) => told.state,
            StateChange::TransactionState(_) if told.transactions >= TransactionTracking::State => true,
            StateChange::TransactionState(state) => self.is_boundary(state),
            StateChange::TransactionCharacteristics(_) => {
                told.transactions == TransactionTracking::Characteristics
            }
            _ => true,
        }
    }
}

/// The length of MySQL's default report on transactions: `T_______` and `________`.
const STATE_BYTES: usize = 8;

/// Whether reading rows changes the reports: a transaction's state. If an answer has no room for the report, its flags announce it.
fn are_told_of_reads(told: &Reports) -> bool {
    told.transactions != TransactionTracking::Off
}

/// The high byte of SESSION_STATE_CHANGED.
const STATE_CHANGED_HIGH: u8 = (StatusFlags::SESSION_STATE_CHANGED.bits() >> 8) as u8;

#[cfg(test)]
mod tests;
