//! The statements that a lane was given and has not answered.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::BytesMut;
use freshet_protocol::{Answer, Command, FrameHeader, HEADER_LEN, Malformed, put_packet};
use tokio::sync::oneshot;

use super::plain::{PlainAnswer, PlainSoFar};
use super::statements::StatementKey;

/// The most statements that are sent and not answered, and the most bytes of these. The buffers of any socket have room for that, so no
/// send ever waits for a server that waits for us.
pub(super) const DEPTH_MAX: usize = 64;
pub(super) const DEPTH_BYTES_MAX: usize = 32 * 1024;

/// With so many statements waiting, the first one may take once more [`SLOW`](super::SLOW), up to so many times in all: a connection would have to
/// be opened for each of those behind it, which takes a server longer.
const DEPTH_OF_PATIENCE: usize = 128;
const PATIENCE_MAX: u32 = 5;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCarried {
    /// The connection is lost or given back, or an earlier statement takes too long.
    Elsewhere,
    /// The answer is too large.
    TooLarge,
}

/// An answer in the server's bytes.
#[derive(Debug)]
pub struct Carried {
    /// Its frames, in memory of their own.
    pub frames: BytesMut,
    /// The most time that the server can have taken for it; nothing, if it came together with the answer before it.
    pub took: Duration,
    /// How many times [`SLOW`](super::SLOW) it was allowed to take.
    pub patience: u32,
    /// What the answer says besides its rows, if it is rows and nothing else.
    pub plain: Option<PlainAnswer>,
}

/// The outcome of a statement.
pub type LaneOutcome = Result<Carried, NotCarried>;

/// Counts of what a lane has carried.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CarriedSoFar {
    /// Texts.
    pub texts: u64,
    /// Executions of prepared statements.
    pub executions: u64,
    /// Preparations.
    pub preparations: u64,
    /// Transactions that were begun.
    pub begun: u64,
    /// Transactions that were ended by a statement.
    pub ended: u64,
}

/// The count to which a statement belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CarriedKind {
    Text,
    Execution,
    Preparation,
    Begin,
    End,
}

impl CarriedSoFar {
    /// Returns the number of all commands.
    #[must_use]
    pub const fn commands(&self) -> u64 {
        self.texts + self.executions + self.preparations + self.begun + self.ended
    }

    const fn count(&mut self, as_what: CarriedKind) {
        match as_what {
            CarriedKind::Text => self.texts += 1,
            CarriedKind::Execution => self.executions += 1,
            CarriedKind::Preparation => self.preparations += 1,
            CarriedKind::Begin => self.begun += 1,
            CarriedKind::End => self.ended += 1,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Statements that are not sent yet, one frame behind the other.
    pub(super) unsent: BytesMut,
    /// All commands that are not answered; those that are sent come first.
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) sent: usize,
    pub(super) sent_bytes: usize,
    /// What was sent so far.
    pub(super) carried: CarriedSoFar,
    /// The lane takes no more.
    pub(super) is_closed: bool,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) counted: CarriedKind,
    pub(super) frame_bytes: usize,
    /// How many times [`SLOW`](super::SLOW) the statement may take once it is first, if few wait behind it.
    pub(super) patience: u32,
    pub(super) answer: Answer,
    pub(super) plain: PlainSoFar,
    /// `None` where nobody waits any more.
    pub(super) reply: Option<oneshot::Sender<LaneOutcome>>,
    /// The statement that it prepares, until the answer tells its number.
    pub(super) prepares: Option<StatementKey>,
}

/// Looks at the part of an answer that has come. Returns whether it is complete.
pub(super) fn follow(
    first: &mut Waiting,
    buffer: &[u8],
    checked: &mut usize,
    unseen: &mut usize,
) -> Result<bool, Malformed> {
    loop {
        let here = &buffer[*checked..];
        if *unseen > 0 {
            let passed = (*unseen).min(here.len());
            *unseen -= passed;
            *checked += passed;
            if *unseen > 0 {
                return Ok(false);
            }
            if first.answer.is_done() {
                return Ok(true);
            }
            continue;
        }
        let rows = first.answer.rows_at_front(here);
        if rows.rows > 0 {
            first.plain.rows(rows.rows);
            *checked += rows.bytes;
            continue;
        }
        let Some(header) = FrameHeader::parse(here) else { return Ok(false) };
        let body = &here[HEADER_LEN..];
        if body.is_empty() && header.len > 0 {
            return Ok(false);
        }
        let head = body.first().copied().unwrap_or(0);
        let wants_whole = first.answer.wants_whole(header.len, head);
        if wants_whole && body.len() < header.len {
            return Ok(false);
        }
        let seen = first.answer.see(header.len, &body[..body.len().min(header.len)])?;
        first.plain.see(&seen, *checked, header.len);
        let there = body.len().min(header.len);
        *checked += HEADER_LEN + there;
        *unseen = header.len - there;
        if seen.last && *unseen == 0 {
            return Ok(true);
        }
    }
}

impl Queue {
    /// Returns how many times [`SLOW`](super::SLOW) the first statement may take.
    pub(super) fn patience(&self) -> u32 {
        let of_depth = 1 + u32::try_from(self.waiting.len() / DEPTH_OF_PATIENCE).unwrap_or(u32::MAX);
        self.waiting.front().map_or(1, |first| first.patience.max(of_depth.min(PATIENCE_MAX)))
    }

    /// Adds a command at the end. `before`: how many bytes were unsent before its first packet, if it has packets that go before this
    /// one.
    pub(super) fn put(&mut self, payload: &[u8], before: usize, waiting: Waiting) {
        put_packet(&mut self.unsent, &mut 0, payload);
        let frame_bytes = self.unsent.len() - before;
        self.waiting.push_back(Waiting { frame_bytes, ..waiting });
    }

    /// Returns the bytes that are to be sent now.
    pub(super) fn take_unsent(&mut self) -> Option<BytesMut> {
        let (mut bytes, before) = (0, self.sent);
        for waiting in self.waiting.iter().skip(before) {
            let is_full = self.sent >= DEPTH_MAX || self.sent_bytes + waiting.frame_bytes > DEPTH_BYTES_MAX;
            if is_full && self.sent > 0 {
                break;
            }
            self.sent += 1;
            self.sent_bytes += waiting.frame_bytes;
            bytes += waiting.frame_bytes;
            self.carried.count(waiting.counted);
        }
        (bytes > 0).then(|| self.unsent.split_to(bytes))
    }

    /// Drops what is not sent yet. Returns the numbers of the prepared statements that it would have closed.
    pub(super) fn drop_unsent(&mut self) -> Vec<u32> {
        let (mut closed, mut rest) = (Vec::new(), &self.unsent[..]);
        while let Some(header) = FrameHeader::parse(rest) {
            let Some((frame, behind)) = rest.split_at_checked(HEADER_LEN + header.len) else { break };
            if let [command, id @ ..] = &frame[HEADER_LEN..]
                && *command == Command::StmtClose.byte()
                && let Ok(id) = id.try_into()
            {
                closed.push(u32::from_le_bytes(id));
            }
            rest = behind;
        }
        self.unsent.clear();
        closed
    }

    /// Answers the first command. Returns whether anybody hears the answer.
    pub(super) fn answered(&mut self, carried: Carried) -> bool {
        let Some(first) = self.waiting.pop_front() else { return false };
        self.sent -= 1;
        self.sent_bytes -= first.frame_bytes;
        first.reply.is_some_and(|reply| reply.send(Ok(carried)).is_ok())
    }
}

impl Waiting {
    pub(super) fn goes(&mut self, why: NotCarried) {
        if let Some(reply) = self.reply.take() {
            drop(reply.send(Err(why)));
        }
    }
}
