//! A copy of an answer, made while it passes, for the cache.

use std::sync::Arc;

use freshet_protocol::{ErrPacket, HEADER_LEN, Part, Seen, StatusFlags};
use freshet_upstream::lane::PlainAnswer;

use crate::bounds::{Permit, SharedBudget};
use crate::coalescing::{Leader, QuestionState};
use crate::why::Why;

/// An answer that is being copied. The copy is given up as soon as the answer turns out not to be storable.
#[derive(Debug)]
pub(crate) struct Capture {
    body: Vec<u8>,
    bytes_max: usize,
    budget: Arc<SharedBudget>,
    /// The permit for the memory of `body`.
    permit: Permit,
    rows: u64,
    /// How many warnings the statement's text causes.
    warnings: u16,
    status: StatusFlags,
    status_at: [u32; 2],
    /// The flags of an answer that may not be stored.
    never: StatusFlags,
    /// Why the answer may not be stored.
    refused: Option<Why>,
    finished: bool,
    /// The answer is a preparation's.
    prepares: bool,
    /// The statement uses no table.
    is_of_no_table: bool,
    /// The turn by which other sessions wait for the answer.
    leader: Option<Box<Leader>>,
}

/// An answer that may be stored.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The packets as this client's filter passed them on. They were copied when they were read from the server, before the client had them.
    pub(crate) body: Vec<u8>,
    /// Where the session's status flags stand in the packets.
    pub(crate) status_at: [u32; 2],
    /// The status flags that the answer came with.
    pub(crate) status: StatusFlags,
    /// How many rows the answer has.
    pub(crate) rows: u64,
    /// The turn by which other sessions wait until the answer is stored.
    pub(crate) leader: Option<Box<Leader>>,
    /// The part of the budget for copies that `body` holds.
    _permit: Permit,
}

/// The room for the last packet of an answer, in bytes: it often passes by itself, since the status in it is the client's.
pub(super) const END_BYTES: usize = 64;

/// Flags that an answer must not carry if other sessions are to get it.
const NEVER: StatusFlags =
    StatusFlags::MORE_RESULTS.union(StatusFlags::CURSOR_EXISTS).union(StatusFlags::PS_OUT_PARAMS);

impl Captured {
    /// Makes a copy of an answer whose bytes have all come. `budget`: what the copy is charged to if it is kept.
    ///
    /// # Errors
    /// There is no room for a copy that is kept.
    pub(crate) fn whole(
        body: Vec<u8>,
        answer: &PlainAnswer,
        budget: Option<&Arc<SharedBudget>>,
    ) -> Result<Self, Why> {
        let mut permit = Permit::default();
        if budget.is_some_and(|budget| !permit.cover(budget, body.len())) {
            return Err(Why::CopyBudget);
        }
        let PlainAnswer { rows, status, status_at, .. } = *answer;
        Ok(Self { body, status_at, status, rows, leader: None, _permit: permit })
    }
}

/// Whether an answer with these flags is for one session alone. `in_known_transaction`: it belongs to a transaction, and it is known which
/// moment it reads.
pub(crate) const fn is_own(status: StatusFlags, in_known_transaction: bool) -> bool {
    status.intersects(never(in_known_transaction))
}

const fn never(in_known_transaction: bool) -> StatusFlags {
    if in_known_transaction { NEVER } else { NEVER.union(StatusFlags::IN_TRANS) }
}

impl Capture {
    /// Makes a capture of up to `bytes_max` bytes, charged to the `budget` that all sessions share.
    pub(crate) fn new(bytes_max: usize, budget: &Arc<SharedBudget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            body: Vec::new(),
            bytes_max,
            permit: Permit::default(),
            rows: 0,
            warnings: 0,
            status: StatusFlags::empty(),
            status_at: [u32::MAX; 2],
            never: never(false),
            refused: None,
            finished: false,
            prepares: false,
            is_of_no_table: false,
            leader: None,
        }
    }

    /// Makes the capture of an answer that other sessions wait for.
    pub(crate) fn led_by(self, leader: Option<Box<Leader>>) -> Self {
        Self { leader, ..self }
    }

    /// Notes that the server has refused the statement.
    pub(crate) fn refused(&mut self, error: &[u8]) {
        if let (Some(leader), Ok(error)) = (&mut self.leader, ErrPacket::parse(error)) {
            leader.is_refused(error);
        }
    }

    /// Stops other sessions from waiting for the answer: the answer goes at the pace of one client, or is for that client alone.
    pub(crate) fn lets_go(&mut self) {
        if let Some(mut leader) = self.leader.take() {
            leader.ends_with(QuestionState::Private);
        }
    }

    /// Makes the capture of the answer to a statement without tables.
    pub(crate) fn of_no_table(self) -> Self {
        Self { is_of_no_table: true, ..self }
    }

    /// Whether the statement uses tables.
    pub(crate) fn is_of_tables(&self) -> bool {
        !self.is_of_no_table
    }

    /// Makes the capture of the answer to a preparation.
    pub(crate) fn of_preparation(self) -> Self {
        Self { prepares: true, ..self.in_transaction(true) }
    }

    /// Makes the capture of a statement in a transaction, if it is known which moment the statement reads. Otherwise no other session may
    /// get the answer.
    pub(crate) fn in_transaction(self, is_known: bool) -> Self {
        Self { never: if is_known { never(true) } else { self.never }, ..self }
    }

    /// Makes the capture of a statement whose text alone causes this many warnings, each time that it is sent. An answer with any other
    /// number has warnings of its rows or of the moment.
    pub(crate) fn warned(self, warnings: u16) -> Self {
        Self { warnings, ..self }
    }

    /// Notes that so many rows pass.
    pub(crate) fn rows(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// Notes that a packet passes that is no row; its frame begins `ahead` bytes after the bytes that [`Capture::bytes`] was given.
    /// `is_news`: the packet reports a change of this session.
    pub(crate) fn packet(&mut self, seen: &Seen, ahead: usize, is_news: bool) {
        self.refuse_if(is_news);
        match seen.part {
            _ if self.prepares => self.definition(seen, ahead),
            Part::ColumnCount | Part::Column => {}
            Part::ColumnsEnd | Part::RowsEnd => self.end(seen, ahead),
            _ => self.give_up(Why::Error),
        }
    }

    /// Handles a packet of the answer to a preparation.
    fn definition(&mut self, seen: &Seen, ahead: usize) {
        match seen.part {
            // This packet's count is the only report of warnings.
            Part::PrepareOk => self.refuse_if(seen.warnings.unwrap_or(0) != self.warnings),
            Part::Parameter | Part::Column => {}
            Part::ParametersEnd | Part::ColumnsEnd => {
                let at = self.body.len() + ahead + HEADER_LEN + seen.status_at.unwrap_or_default();
                let is_second = usize::from(seen.part == Part::ColumnsEnd);
                self.status_at[is_second] = u32::try_from(at).unwrap_or(u32::MAX);
            }
            _ => self.give_up(Why::Error),
        }
        self.finished |= seen.last;
    }

    fn end(&mut self, seen: &Seen, ahead: usize) {
        let (Some(status), Some(at)) = (seen.status, seen.status_at) else {
            // For a client without EOF packets, the columns end without a packet of their own.
            self.refuse_if(seen.part != Part::ColumnsEnd);
            return;
        };
        let warnings = seen.warnings.unwrap_or(0);
        // The text's warnings are reported before the columns.
        self.refuse_if(status.intersects(self.never) || warnings != self.warnings);
        let at = u32::try_from(self.body.len() + ahead + HEADER_LEN + at).unwrap_or(u32::MAX);
        self.status_at[usize::from(seen.part == Part::RowsEnd)] = at;
        self.status = status;
        self.finished |= seen.part == Part::RowsEnd && seen.last;
    }

    /// Copies bytes that pass. Gives the copy up if there is no room for it, in its own bound or in the shared budget.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.refused.is_some() {
            return;
        }
        match self.make_room(bytes.len()) {
            Ok(()) => self.body.extend_from_slice(bytes),
            Err(why) => self.give_up(why),
        }
    }

    /// Makes room for this many more bytes, and for the end of an answer that has come but for its end. Memory is doubled, but never beyond
    /// the bound.
    fn make_room(&mut self, more: usize) -> Result<(), Why> {
        let needed = self.body.len() + more;
        if needed <= self.body.capacity() {
            return Ok(());
        }
        let capacity = (needed + END_BYTES).max(2 * self.body.capacity()).min(self.bytes_max);
        if needed > self.bytes_max {
            return Err(if self.bytes_max == 0 { Why::NoSize } else { Why::TooLarge });
        }
        if !self.permit.cover(&self.budget, capacity) {
            return Err(Why::CopyBudget);
        }
        self.body.reserve_exact(capacity - self.body.len());
        Ok(())
    }

    /// Gives the copy up if the packet concerns this session alone.
    fn refuse_if(&mut self, is_own: bool) {
        if is_own {
            self.refused.get_or_insert(Why::NotShared);
            self.lets_go();
        }
    }

    fn give_up(&mut self, why: Why) {
        self.refused.get_or_insert(why);
        self.body = Vec::new();
        self.permit.release();
        if why == Why::Error {
            // The waiting sessions already have the error.
            self.leader = None;
        }
        self.lets_go();
    }

    /// Returns the whole answer, if it may be stored.
    pub(crate) fn finish(self) -> Result<Captured, Why> {
        match self.refused {
            Some(why) => Err(why),
            None if !self.finished => Err(Why::Error),
            None => Ok(Captured {
                body: self.body,
                status_at: self.status_at,
                status: self.status,
                rows: self.rows,
                leader: self.leader,
                _permit: self.permit,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
