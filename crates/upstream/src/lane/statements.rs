//! Statements that are prepared on a lane. All sessions that execute the same text with values of the same kinds share one.
//!
//! A server keeps what it has learned of a statement's parameters from earlier values. So only executions with the same kinds of values
//! share a statement here: then it is as if the statement had never been executed with others. The sessions decide what the kinds are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_protocol::{Capabilities, FrameHeader, HEADER_LEN, OkPacket, PrepareOk};

/// The most statements that are prepared on one lane: the one that was used longest ago makes room. All connections to a server together have
/// 16,382 (the default of its `max_prepared_stmt_count`).
pub(super) const STATEMENTS_MAX: usize = 256;

/// The state of a statement on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementState {
    /// Nobody has asked for it.
    Unknown,
    /// It is being prepared.
    Asked,
    /// It is prepared, and has this number.
    At(u32),
    /// The server did not prepare it when it was last asked ([`REFUSED_FOR`]).
    Refused,
}

/// The key of a statement.
#[derive(Debug)]
pub struct StatementKey {
    /// Its text.
    pub text: Arc<[u8]>,
    /// The kinds of values that it is executed with.
    pub kinds: u64,
}

/// All statements of one lane.
#[derive(Debug, Default)]
pub(super) struct Statements {
    by_text: HashMap<Arc<[u8]>, Vec<KnownStatement>>,
    count: usize,
    /// Counts uses.
    clock: u64,
    /// The statements that made room, and that the server still has.
    pub(super) closed: Vec<u32>,
}

#[derive(Debug)]
struct KnownStatement {
    kinds: u64,
    is: StatementState,
    used: u64,
    /// When the server refused it.
    refused: Option<Instant>,
}

/// How long a refusal holds. Some pass: the server has too many prepared statements for a moment.
const REFUSED_FOR: Duration = Duration::from_secs(1);

impl Statements {
    pub(super) fn get(&mut self, text: &[u8], kinds: u64) -> StatementState {
        self.clock += 1;
        let Some(all) = self.by_text.get_mut(text) else { return StatementState::Unknown };
        let Some(at) = all.iter().position(|known| known.kinds == kinds) else {
            return StatementState::Unknown;
        };
        if all[at].refused.is_some_and(|refused| refused.elapsed() >= REFUSED_FOR) {
            all.swap_remove(at);
            self.count -= 1;
            return StatementState::Unknown;
        }
        all[at].used = self.clock;
        all[at].is
    }

    /// Notes that a statement is asked for that was unknown.
    pub(super) fn is_asked_for(&mut self, StatementKey { text, kinds }: &StatementKey) {
        if self.count >= STATEMENTS_MAX {
            self.make_room();
        }
        let known =
            KnownStatement { kinds: *kinds, is: StatementState::Asked, used: self.clock, refused: None };
        self.by_text.entry(Arc::clone(text)).or_default().push(known);
        self.count += 1;
    }

    fn make_room(&mut self) {
        let all = self.by_text.iter().flat_map(|(text, all)| all.iter().map(move |known| (text, known)));
        let oldest =
            all.filter(|(_, known)| known.is != StatementState::Asked).min_by_key(|(_, known)| known.used);
        let Some((text, used)) = oldest.map(|(text, known)| (Arc::clone(text), known.used)) else { return };
        let Some(all) = self.by_text.get_mut(&text) else { return };
        let Some(at) = all.iter().position(|known| known.used == used) else { return };
        if let StatementState::At(id) = all.swap_remove(at).is {
            self.closed.push(id);
        }
        if all.is_empty() {
            self.by_text.remove(&text);
        }
        self.count -= 1;
    }

    /// Notes the server's answer to a preparation, from its first frame. None if the frame is not complete. Otherwise returns whether it
    /// may have left diagnostics.
    pub(super) fn heard(
        &mut self,
        StatementKey { text, kinds }: &StatementKey,
        frames: &[u8],
        capabilities: Capabilities,
    ) -> Option<bool> {
        let header = FrameHeader::parse(frames)?;
        let payload = frames.get(HEADER_LEN..HEADER_LEN + header.len)?;
        let is_ok = payload.first() == Some(&OkPacket::HEADER);
        let prepared = PrepareOk::parse(payload, capabilities).ok().filter(|_| is_ok);
        let is =
            prepared.map_or(StatementState::Refused, |prepared| StatementState::At(prepared.statement_id));
        let all = self.by_text.get_mut(text).into_iter().flatten();
        match all.into_iter().find(|known| known.kinds == *kinds) {
            Some(known) => {
                known.is = is;
                known.refused = (is == StatementState::Refused).then(Instant::now);
            }
            None => self.closed.extend(prepared.map(|prepared| prepared.statement_id)),
        }
        Some(prepared.is_none_or(|prepared| prepared.warnings > 0))
    }

    /// Returns the numbers of all statements that the server has.
    pub(super) fn numbers(&self) -> Vec<u32> {
        let numbers = self.by_text.values().flatten().filter_map(|known| match known.is {
            StatementState::At(id) => Some(id),
            _ => None,
        });
        numbers.chain(self.closed.iter().copied()).collect()
    }
}
