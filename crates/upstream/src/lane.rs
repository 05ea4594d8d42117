//! One connection on which the statements of many sessions are under way at once.
//!
//! Statements are sent in a row without waiting for answers, and the answers come in the order of the statements. A server that always
//! has the next statement neither sleeps nor switches between threads. So each statement costs it a third to a half of what it costs over
//! connections of their own.
//!
//! The sessions decide which statements are carried here: a statement must neither read nor leave state of a session, and it must do no
//! harm if it is carried out twice. A statement whose answer does not come, or is large, goes back to its session. So do the statements
//! behind one that takes long: they are still carried out here, and nobody hears the answers.

mod plain;
mod queue;
mod statements;

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Buf as _, BytesMut};
use freshet_protocol::{Answer, Capabilities, Command, Malformed, put_packet};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant as Deadline, sleep_until};

use crate::Connection;
pub use plain::PlainAnswer;
use plain::PlainSoFar;
pub use queue::{Carried, CarriedSoFar, LaneOutcome, NotCarried};
use queue::{CarriedKind, Queue, Waiting, follow};
use statements::Statements;
pub use statements::{StatementKey, StatementState};

/// The longest statement that is carried, in bytes.
pub const STATEMENT_BYTES_MAX: usize = 16 * 1024;
/// The largest answer that is carried, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long a statement may take before the statements behind it go elsewhere, if the lane is not told to be more patient.
pub const SLOW: Duration = Duration::from_millis(50);
/// How long an unused lane is kept.
const IDLE_MAX: Duration = Duration::from_millis(500);
/// The bytes that one read asks for.
const READ_BYTES: usize = 32 * 1024;

/// A connection that carries statements. It belongs to one thread.
#[derive(Debug)]
pub struct Lane {
    queue: RefCell<Queue>,
    statements: RefCell<Statements>,
    /// Wakes the task that sends and reads.
    wake: Notify,
    capabilities: Capabilities,
    /// A statement may have left warnings or an error on the connection.
    has_diagnostics: Cell<bool>,
    /// The packet that ends the open transaction of its statements: it is sent last.
    end: RefCell<Option<Vec<u8>>>,
    /// How many times [`SLOW`] a statement may take, if few wait behind it.
    patience: Cell<u32>,
    /// Nobody needs the connection if the lane is held up.
    is_nobodys: Cell<bool>,
    /// A statement has taken too long: nobody waits for those behind it.
    is_held_up: Cell<bool>,
    counts: Arc<LaneCounts>,
}

/// The figures of a lane, for readers on other threads.
#[derive(Debug, Default)]
pub struct LaneCounts {
    /// The server's number of the connection.
    connection_id: u32,
    carried: AtomicU64,
    waiting: AtomicUsize,
    is_closed: AtomicBool,
}

impl LaneCounts {
    /// Returns the present figures; `None` if the lane takes no more statements.
    pub fn read(&self) -> Option<LaneFigures> {
        let figures = LaneFigures {
            connection_id: self.connection_id,
            carried: self.carried.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
        };
        (!self.is_closed.load(Ordering::Relaxed)).then_some(figures)
    }
}

/// The figures of a lane at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneFigures {
    /// The server's number of its connection.
    pub connection_id: u32,
    /// How many statements it was given so far.
    pub carried: u64,
    /// How many of them are not answered yet.
    pub waiting: usize,
}

/// A connection that comes back when nothing is under way on it any more. If this is dropped, the connection is closed then.
#[derive(Debug)]
pub struct Returning {
    lane: Rc<Lane>,
    connection: oneshot::Receiver<Option<Connection>>,
}

impl Lane {
    /// Makes a lane of a connection on which nothing is under way. Must be called on the thread whose event loop drives it.
    pub fn start(connection: Connection) -> (Rc<Self>, Returning) {
        let capabilities = connection.capabilities();
        let counts = LaneCounts { connection_id: connection.thread_id(), ..LaneCounts::default() };
        let lane = Rc::new(Self {
            queue: RefCell::default(),
            statements: RefCell::default(),
            wake: Notify::new(),
            capabilities,
            has_diagnostics: Cell::new(false),
            end: RefCell::default(),
            patience: Cell::new(1),
            is_nobodys: Cell::new(false),
            is_held_up: Cell::new(false),
            counts: Arc::new(counts),
        });
        let (sender, receiver) = oneshot::channel();
        let driver = Driver::new(Rc::clone(&lane), connection);
        tokio::task::spawn_local(async move {
            // The lender may be gone, and then nobody needs the connection.
            drop(sender.send(driver.run().await));
        });
        let returning = Returning { lane: Rc::clone(&lane), connection: receiver };
        (lane, returning)
    }

    /// Returns the lane's figures.
    pub fn counts(&self) -> &Arc<LaneCounts> {
        &self.counts
    }

    /// Returns the capabilities that were agreed on with the server.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Whether the lane takes statements.
    pub fn is_open(&self) -> bool {
        !self.queue.borrow().is_closed
    }

    /// Lets each statement that comes from now on take up to this many times [`SLOW`]. If the server has much else to do, no statement is
    /// quick, and elsewhere it would be no quicker.
    pub fn be_patient(&self, times: u32) {
        self.patience.set(times.max(1));
    }

    /// Lets the lane close its connection once a statement has held others up: those are still with the server then, and nobody hears their
    /// answers. A server stops at the first answer that it cannot send.
    pub fn belongs_to_nobody(&self) {
        self.is_nobodys.set(true);
    }

    /// Whether a statement has taken too long. Nobody waits for those behind it any more.
    pub fn is_held_up(&self) -> bool {
        self.is_held_up.get()
    }

    /// Returns how many statements are not answered yet.
    pub fn depth(&self) -> usize {
        self.queue.borrow().waiting.len()
    }

    /// Sends a command, whose packet is `payload`. `None` if the lane takes no more.
    pub fn carry(&self, command: Command, payload: &[u8]) -> Option<oneshot::Receiver<LaneOutcome>> {
        let counted =
            if command == Command::StmtExecute { CarriedKind::Execution } else { CarriedKind::Text };
        self.add(command, counted, payload, None)
    }

    /// Begins a transaction with the packet `begin`, in the place of an open one. All later statements are in it, and the packet `end` is
    /// sent when the lane takes no more. `None` if it takes no more already.
    pub fn begin(&self, begin: &[u8], end: &[u8]) -> Option<oneshot::Receiver<LaneOutcome>> {
        let outcome = self.add(Command::Query, CarriedKind::Begin, begin, None)?;
        *self.end.borrow_mut() = Some(end.to_vec());
        Some(outcome)
    }

    /// Returns the state of a statement on this lane. Asking for a prepared one counts as a use.
    pub fn statement(&self, text: &[u8], kinds: u64) -> StatementState {
        self.statements.borrow_mut().get(text, kinds)
    }

    /// Prepares a statement that is not known here, with the packet `payload`. `None` if the lane takes no more.
    pub fn prepare(&self, key: StatementKey, payload: &[u8]) -> Option<oneshot::Receiver<LaneOutcome>> {
        self.add(Command::StmtPrepare, CarriedKind::Preparation, payload, Some(key))
    }

    fn add(
        &self,
        command: Command,
        counted: CarriedKind,
        payload: &[u8],
        prepares: Option<StatementKey>,
    ) -> Option<oneshot::Receiver<LaneOutcome>> {
        let mut queue = self.queue.borrow_mut();
        if queue.is_closed || payload.len() > STATEMENT_BYTES_MAX {
            return None;
        }
        let before = queue.unsent.len();
        if let Some(key) = &prepares {
            let mut statements = self.statements.borrow_mut();
            statements.is_asked_for(key);
            // Closing a statement has no answer.
            for id in statements.closed.drain(..) {
                let close = [&[Command::StmtClose.byte()], &id.to_le_bytes()[..]].concat();
                put_packet(&mut queue.unsent, &mut 0, &close);
            }
        }
        let (sender, receiver) = oneshot::channel();
        let answer = Answer::to(command, self.capabilities);
        let waiting = Waiting {
            counted,
            frame_bytes: 0,
            patience: self.patience.get(),
            answer,
            plain: PlainSoFar::default(),
            reply: Some(sender),
            prepares,
        };
        queue.put(payload, before, waiting);
        self.counts.carried.fetch_add(1, Ordering::Relaxed);
        self.counts.waiting.store(queue.waiting.len(), Ordering::Relaxed);
        drop(queue);
        self.wake.notify_one();
        Some(receiver)
    }

    /// Notes that an answer told of warnings, or was an error, or was heard by nobody.
    pub fn has_left_diagnostics(&self) {
        self.has_diagnostics.set(true);
    }

    /// Takes no more statements.
    pub fn close(&self) {
        self.takes_nothing_more(&mut self.queue.borrow_mut());
        self.wake.notify_one();
    }
}

impl Lane {
    /// Notes the outcome of preparing a statement, from the part of the answer that has come. `false` if that is not enough.
    fn heed_preparation(&self, first: &mut Waiting, frames: &[u8]) -> bool {
        let Some(key) = &first.prepares else { return true };
        let heard = self.statements.borrow_mut().heard(key, frames, self.capabilities);
        if let Some(has_left_diagnostics) = heard {
            first.prepares = None;
            if has_left_diagnostics {
                self.has_left_diagnostics();
            }
        }
        heard.is_some()
    }

    /// Ends the open transaction, if there is one.
    pub fn end(&self) {
        self.put_end(&mut self.queue.borrow_mut());
        self.wake.notify_one();
    }

    fn put_end(&self, queue: &mut Queue) {
        let Some(end) = self.end.take().filter(|_| !queue.is_closed) else { return };
        let (before, answer) = (queue.unsent.len(), Answer::to(Command::Query, self.capabilities));
        let waiting = Waiting {
            counted: CarriedKind::End,
            frame_bytes: 0,
            patience: self.patience.get(),
            answer,
            plain: PlainSoFar::default(),
            reply: None,
            prepares: None,
        };
        queue.put(&end, before, waiting);
    }

    fn takes_nothing_more(&self, queue: &mut Queue) {
        self.put_end(queue);
        queue.is_closed = true;
        self.counts.is_closed.store(true, Ordering::Relaxed);
    }
}

impl Returning {
    /// Returns the lane whose connection this is.
    pub fn lane(&self) -> &Rc<Lane> {
        &self.lane
    }

    /// Whether a statement may have left warnings or an error on the connection.
    pub fn has_diagnostics(&self) -> bool {
        self.lane.has_diagnostics.get()
    }

    /// Returns the counts so far.
    pub fn carried(&self) -> CarriedSoFar {
        self.lane.queue.borrow().carried
    }

    /// Returns the numbers of the statements that were prepared on the connection, and that the server still has.
    pub fn prepared(&self) -> Vec<u32> {
        self.lane.statements.borrow().numbers()
    }
}

impl Drop for Returning {
    fn drop(&mut self) {
        self.lane.close();
    }
}

/// Resolves to the connection; `None` if it was lost.
impl Future for Returning {
    type Output = Option<Connection>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.connection).poll(cx).map(|received| received.ok().flatten())
    }
}

/// Sends statements and reads answers.
struct Driver {
    lane: Rc<Lane>,
    connection: Connection,
    /// The bytes at the front of the buffer that belong to the first answer and have been looked at.
    checked: usize,
    /// The bytes still to come of a frame that needs no look.
    unseen: usize,
    /// Since when the first statement has been first, and sent.
    since: Instant,
    used: Instant,
}

impl Driver {
    fn new(lane: Rc<Lane>, connection: Connection) -> Self {
        let now = Instant::now();
        Self { lane, connection, checked: 0, unseen: 0, since: now, used: now }
    }

    /// Carries statements until the lane is closed and all are answered. Returns the connection, if it can still be used.
    async fn run(mut self) -> Option<Connection> {
        loop {
            let lane = Rc::clone(&self.lane);
            if self.send().await.is_err() {
                return self.lose();
            }
            if self.is_done() {
                return Some(self.connection);
            }
            if self.is_useless() {
                return self.lose();
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

    /// Whether the lane was held up, and nobody waits for any answer, or for the connection.
    fn is_useless(&self) -> bool {
        if !self.lane.is_held_up.get() || !self.lane.is_nobodys.get() {
            return false;
        }
        let queue = self.lane.queue.borrow();
        let is_unheard = |waiting: &Waiting| waiting.reply.as_ref().is_none_or(oneshot::Sender::is_closed);
        queue.waiting.iter().all(is_unheard)
    }

    /// Returns when the lane has to act although nothing happens.
    fn deadline(&self) -> Deadline {
        let queue = self.lane.queue.borrow();
        let limit = SLOW * queue.patience();
        Deadline::from_std(if queue.sent == 0 {
            self.used + IDLE_MAX
        } else if queue.is_closed && queue.waiting.iter().skip(1).all(|waiting| waiting.reply.is_none()) {
            // There is nothing left to do.
            Instant::now() + Duration::from_secs(1)
        } else {
            self.since + limit
        })
    }

    /// Acts on a deadline: the first statement takes too long, or nobody has used the lane for a while.
    fn note_late(&self) {
        let mut queue = self.lane.queue.borrow_mut();
        self.lane.is_held_up.set(self.lane.is_held_up.get() || queue.sent > 0);
        // Statements that are not sent go elsewhere, except the one that ends a transaction.
        let keeps = |waiting: &Waiting| waiting.counted == CarriedKind::End;
        if !queue.waiting.iter().skip(queue.sent).any(keeps) {
            let sent = queue.sent;
            queue.waiting.truncate(sent);
            self.lane.statements.borrow_mut().closed.extend(queue.drop_unsent());
        }
        self.lane.takes_nothing_more(&mut queue);
        queue.waiting.iter_mut().skip(1).for_each(|waiting| waiting.goes(NotCarried::Elsewhere));
    }

    /// Gives up: no statement is answered any more.
    fn lose(self) -> Option<Connection> {
        let mut queue = self.lane.queue.borrow_mut();
        self.lane.takes_nothing_more(&mut queue);
        queue.waiting.iter_mut().for_each(|waiting| waiting.goes(NotCarried::Elsewhere));
        queue.waiting.clear();
        None
    }

    /// Sends the waiting statements, as far as there is room.
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
        let (now, patience) = (Instant::now(), queue.patience());
        while let Some(first) = queue.waiting.front_mut().filter(|_| !buffer.is_empty()) {
            match follow(first, buffer, &mut self.checked, &mut self.unseen)? {
                true => {
                    let frames = taken(buffer, std::mem::take(&mut self.checked));
                    lane.heed_preparation(first, &frames);
                    let took = now.saturating_duration_since(self.since);
                    self.since = now;
                    let (plain, is_end) = (first.plain.finish(), first.counted == CarriedKind::End);
                    if !queue.answered(Carried { frames, took, patience, plain }) && !is_end {
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
        // Nobody has asked for these bytes: the server ends the connection.
        if queue.sent == 0 && !buffer.is_empty() {
            Err(Malformed::new("an answer to nothing"))
        } else {
            Ok(())
        }
    }
}

/// Takes so many bytes off a buffer. They are copied, so that the buffer's memory can be read into again, whoever still has them.
fn taken(buffer: &mut BytesMut, bytes: usize) -> BytesMut {
    let taken = BytesMut::from(&buffer[..bytes]);
    buffer.advance(bytes);
    taken
}

#[cfg(test)]
mod tests;
