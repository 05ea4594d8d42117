//! What sends a lane's statements and hands out their answers: the task that has the connection.

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use freshet_protocol::{FrameHeader, HEADER_LEN, Malformed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::time::{Instant as Deadline, sleep_until};

use super::{ANSWER_BYTES_MAX, Carried, Counted, Lane, NotCarried, SLOW, Waiting};
use crate::Connection;

/// How long a lane is kept that nobody uses.
const IDLE_MAX: Duration = Duration::from_millis(500);
/// What one read asks for, in bytes.
pub(super) const READ_BYTES: usize = 32 * 1024;

/// Sends and reads.
pub(super) struct Driver {
    lane: Rc<Lane>,
    connection: Connection,
    /// Bytes at the front of what was read that belong to the first answer and are looked at.
    checked: usize,
    /// Bytes still to come of a frame that needs no look.
    unseen: usize,
    /// When the first statement was the first, and sent.
    since: Instant,
    used: Instant,
}

impl Driver {
    pub(super) fn new(lane: Rc<Lane>, connection: Connection) -> Self {
        let now = Instant::now();
        Self { lane, connection, checked: 0, unseen: 0, since: now, used: now }
    }

    /// Carries statements until the lane is closed and all are answered. The connection, if it can still be used.
    pub(super) async fn run(mut self) -> Option<Connection> {
        loop {
            let lane = Rc::clone(&self.lane);
            if self.send().await.is_err() {
                return self.lose();
            }
            if self.is_done() {
                return Some(self.connection);
            }
            let until = self.deadline();
            let (stream, buffer) = self.connection.parts();
            buffer.reserve(READ_BYTES);
            tokio::select! {
                biased;
                read = stream.read_buf(buffer) => match read {
                    Ok(1..) if self.hear().is_ok() => {}
                    _ => return self.lose(),
                },
                () = lane.wake.notified() => {}
                () = sleep_until(until) => self.note_late(),
            }
        }
    }

    fn is_done(&self) -> bool {
        let queue = self.lane.queue.borrow();
        queue.is_closed && queue.waiting.is_empty()
    }

    /// When something is to be done though nothing happens.
    fn deadline(&self) -> Deadline {
        let queue = self.lane.queue.borrow();
        Deadline::from_std(if queue.sent == 0 {
            self.used + IDLE_MAX
        } else if queue.is_closed && queue.waiting.iter().skip(1).all(|waiting| waiting.reply.is_none()) {
            // All that can be done is done.
            Instant::now() + Duration::from_secs(1)
        } else {
            self.since + SLOW
        })
    }

    /// The first statement takes too long, or nobody has used the lane for a while.
    fn note_late(&self) {
        let mut queue = self.lane.queue.borrow_mut();
        // What is not sent goes elsewhere altogether, but for what ends a transaction.
        let keeps = |waiting: &Waiting| waiting.counted == Counted::End;
        if !queue.waiting.iter().skip(queue.sent).any(keeps) {
            let sent = queue.sent;
            queue.waiting.truncate(sent);
            queue.unsent.clear();
        }
        self.lane.takes_nothing_more(&mut queue);
        queue.waiting.iter_mut().skip(1).for_each(|waiting| waiting.goes(NotCarried::Elsewhere));
    }

    /// Nobody is answered any more.
    fn lose(self) -> Option<Connection> {
        let mut queue = self.lane.queue.borrow_mut();
        self.lane.takes_nothing_more(&mut queue);
        queue.waiting.iter_mut().for_each(|waiting| waiting.goes(NotCarried::Elsewhere));
        queue.waiting.clear();
        None
    }

    /// Sends what waits, as far as there is room.
    async fn send(&mut self) -> std::io::Result<()> {
        let was_idle = self.lane.queue.borrow().sent == 0;
        let Some(frames) = self.lane.queue.borrow_mut().take_unsent() else { return Ok(()) };
        self.used = Instant::now();
        if was_idle {
            self.since = self.used;
        }
        let (stream, _) = self.connection.parts();
        stream.write_all(&frames).await?;
        stream.flush().await
    }

    /// Hands out the answers that are complete.
    fn hear(&mut self) -> Result<(), Malformed> {
        let (_, buffer) = self.connection.parts();
        let lane = Rc::clone(&self.lane);
        let mut queue = lane.queue.borrow_mut();
        while let Some(first) = queue.waiting.front_mut().filter(|_| !buffer.is_empty()) {
            match follow(first, buffer, (&mut self.checked, &mut self.unseen))? {
                true => {
                    let frames = buffer.split_to(self.checked);
                    lane.heed_preparation(first, &frames);
                    let took = self.since.elapsed();
                    self.since += took;
                    self.checked = 0;
                    let is_end = first.counted == Counted::End;
                    if !queue.answered(Carried { frames, took }) && !is_end {
                        lane.has_left_diagnostics();
                    }
                }
                false
                    if (first.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
                        || self.checked > ANSWER_BYTES_MAX)
                        && lane.heed_preparation(first, buffer) =>
                {
                    first.goes(NotCarried::TooLarge);
                    lane.has_left_diagnostics();
                    drop(buffer.split_to(std::mem::take(&mut self.checked)));
                    break;
                }
                false => break,
            }
        }
        lane.counts.waiting.store(queue.waiting.len(), Ordering::Relaxed);
        // Nobody has asked for what comes now: the server ends the connection.
        if queue.sent == 0 && !buffer.is_empty() {
            Err(Malformed::new("an answer to nothing"))
        } else {
            Ok(())
        }
    }
}

/// Looks at what has come of an answer; whether all of it has.
fn follow(
    first: &mut Waiting,
    buffer: &[u8],
    (checked, unseen): (&mut usize, &mut usize),
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
