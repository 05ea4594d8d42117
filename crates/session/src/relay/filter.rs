//! What the server reports of a session only because we asked it to, and taking it out again.

use freshet_protocol::{Capabilities, Malformed, OkPacket, Part, Seen, StateChange, StatusFlags};

/// What both servers report of their own accord (`session_track_system_variables`).
const TRACKED_BY_DEFAULT: [&[u8]; 5] = [
    b"autocommit",
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"time_zone",
];

/// Makes OK packets what this client would have been sent without us.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter<'a> {
    /// What the client and we agreed on.
    pub(crate) capabilities: Capabilities,
    /// The server reports the state of transactions of its own accord, as MySQL does.
    pub(crate) tells_transactions: bool,
    /// The client has set the tracking up for itself: it is told everything.
    pub(crate) tells_all: bool,
    /// The session's default schema; empty where it has none.
    pub(crate) schema: &'a str,
}

/// The OK packet that `payload` is, if it is one: also the one that ends rows for clients without EOF packets.
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

/// Whether a packet says that the session has changed.
pub(crate) fn announces(seen: &Seen) -> bool {
    seen.status.is_some_and(|status| status.contains(StatusFlags::SESSION_STATE_CHANGED))
}

/// `seen` with the flags of the packet that is passed on in its place.
pub(crate) fn as_passed(seen: &Seen, passed: &[u8]) -> Seen {
    let flags = seen.status_at.and_then(|at| passed.get(at..)?.first_chunk::<2>());
    let status = flags.map(|flags| StatusFlags::from_bits_retain(u16::from_le_bytes(*flags)));
    Seen { status: seen.status.and(status), ..*seen }
}

impl Filter<'_> {
    /// What the client is to get in the place of `payload`, which came over a connection with `capabilities`;
    /// `None` if just that.
    pub(crate) fn rewritten(
        &self,
        seen: &Seen,
        payload: &[u8],
        capabilities: Capabilities,
    ) -> Result<Option<Vec<u8>>, Malformed> {
        let Some(mut ok) = as_ok(seen, payload, capabilities)? else { return Ok(self.quiet(seen, payload)) };
        let tracks = self.capabilities.contains(Capabilities::SESSION_TRACK);
        if tracks && (self.tells_all || !ok.status.contains(StatusFlags::SESSION_STATE_CHANGED)) {
            return Ok(None);
        }
        ok.changes.retain(|change| tracks && self.is_default(change));
        if ok.changes.is_empty() {
            ok.status.remove(StatusFlags::SESSION_STATE_CHANGED);
        }
        let header = payload.first().copied().unwrap_or(0);
        let encoded = ok.encode(self.capabilities, header);
        Ok((encoded != payload).then_some(encoded))
    }

    /// Whether a packet reports that something of the session is other than it was.
    ///
    /// `MariaDB` opens a view of another schema by moving the session there and back, and reports where it is again: its
    /// default schema, as before, and that its state has changed. An EOF packet does not say what has changed.
    pub(crate) fn is_news(
        &self,
        seen: &Seen,
        payload: &[u8],
        capabilities: Capabilities,
    ) -> Result<bool, Malformed> {
        if !announces(seen) {
            return Ok(false);
        }
        let ok = as_ok(seen, payload, capabilities)?;
        let is_news = |change: &StateChange| match change {
            StateChange::Schema(schema) => schema != self.schema.as_bytes(),
            StateChange::SessionState(_) => false,
            _ => true,
        };
        Ok(ok.is_some_and(|ok| ok.changes.iter().any(is_news)))
    }

    /// An EOF packet that announces changes, without the announcement: it has no room for them, and they are ours.
    fn quiet(&self, seen: &Seen, payload: &[u8]) -> Option<Vec<u8>> {
        let high = seen.status_at? + 1;
        if !announces(seen) || self.tells_all || high >= payload.len() {
            return None;
        }
        let mut payload = payload.to_vec();
        payload[high] &= !STATE_CHANGED_HIGH;
        Some(payload)
    }

    /// What a client is told without our asking.
    fn is_default(&self, change: &StateChange) -> bool {
        match change {
            StateChange::TransactionState(_) => self.tells_transactions,
            StateChange::SystemVariable { name, .. } => TRACKED_BY_DEFAULT.contains(&name.as_slice()),
            StateChange::Gtids(_)
            | StateChange::SessionState(_)
            | StateChange::TransactionCharacteristics(_) => false,
            _ => true,
        }
    }
}

/// The high byte of SESSION_STATE_CHANGED.
const STATE_CHANGED_HIGH: u8 = (StatusFlags::SESSION_STATE_CHANGED.bits() >> 8) as u8;

#[cfg(test)]
mod tests;
