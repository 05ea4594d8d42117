//! What a lane was given and has not answered.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::BytesMut;
use freshet_protocol::{Answer, FrameHeader, HEADER_LEN, Malformed, put_packet};
use tokio::sync::oneshot;

use super::statements::StatementKey;

/// What is sent and not answered, at most: statements, and their bytes. No send ever waits for a server that waits for us: so much has room in the buffers
/// of any socket.
pub(super) const DEPTH_MAX: usize = 64;
pub(super) const DEPTH_BYTES_MAX: usize = 32 * 1024;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCarried {
    /// The connection is lost, is given back, or one before it takes too long.
    Elsewhere,
    /// The answer is too large.
    TooLarge,
}

/// An answer, as it came.
#[derive(Debug)]
pub struct Carried {
    /// Its frames.
    pub frames: BytesMut,
    /// How long the server took for it, at most.
    pub took: Duration,
}

/// What became of a statement.
pub type LaneOutcome = Result<Carried, NotCarried>;

/// How much of what a lane has carried.
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

/// What a statement is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Text,
    Execution,
    Preparation,
    Begin,
    End,
}

impl CarriedSoFar {
    /// Returns all commands.
    #[must_use]
    pub const fn commands(&self) -> u64 {
        self.texts + self.executions + self.preparations + self.begun + self.ended
    }

    const fn count(&mut self, as_what: Counted) {
        match as_what {
            Counted::Text => self.texts += 1,
            Counted::Execution => self.executions += 1,
            Counted::Preparation => self.preparations += 1,
            Counted::Begin => self.begun += 1,
            Counted::End => self.ended += 1,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Statements that are not sent yet, one frame behind the other.
    pub(super) unsent: BytesMut,
    /// All that are not answered, those that are sent in front.
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) sent: usize,
    pub(super) sent_bytes: usize,
    /// What was sent so far.
    pub(super) carried: CarriedSoFar,
    /// Nothing more is taken.
    pub(super) is_closed: bool,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) counted: Counted,
    pub(super) frame_bytes: usize,
    pub(super) answer: Answer,
    /// `None` where nobody waits any more.
    pub(super) reply: Option<oneshot::Sender<LaneOutcome>>,
    /// The statement that it prepares, until its answer has said what that is.
    pub(super) prepares: Option<StatementKey>,
}

/// Looks at what has come of an answer; whether all of it has.
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
        let there = body.len().min(header.len);
        *checked += HEADER_LEN + there;
        *unseen = header.len - there;
        if seen.last && *unseen == 0 {
            return Ok(true);
        }
    }
}

impl Queue {
    /// Puts a command behind the others. `before`: how much was unsent before its first packet, if others of its own go before this one.
    pub(super) fn put(&mut self, payload: &[u8], before: usize, waiting: Waiting) {
        put_packet(&mut self.unsent, &mut 0, payload);
        let frame_bytes = self.unsent.len() - before;
        self.waiting.push_back(Waiting { frame_bytes, ..waiting });
    }

    /// Returns what is to be sent now.
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

    /// The first is answered. Whether anybody hears what it says.
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
