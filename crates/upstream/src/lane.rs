//! One connection on which the statements of many sessions are under way at once.
//!
//! Statements are sent in a row without waiting for answers, and the answers come in the order of the statements. A server that always
//! has the next statement neither sleeps nor switches between threads, so that each costs it a third to a half of what it costs over
//! connections of their own.
//!
//! What it takes to be carried here is for the sessions to know: a statement must neither read nor leave anything of a session, nor
//! matter if it is carried out twice. One whose answer does not come, or is large, is its session's again. Statements behind one that
//! takes long are theirs too: they are still carried out here, and nobody hears the answers.

mod driver;
mod statements;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use freshet_protocol::{Answer, Capabilities, Command, put_packet};
use tokio::sync::{Notify, oneshot};

use crate::Connection;
use driver::Driver;
use statements::Statements;
pub use statements::{Statement, StatementKey};

/// What is sent and not answered, at most: statements, and their bytes. No send ever waits for a server that waits for us: so much has room in the buffers
/// of any socket.
const DEPTH_MAX: usize = 64;
const DEPTH_BYTES_MAX: usize = 32 * 1024;
/// The longest statement that is carried, in bytes.
pub const STATEMENT_BYTES_MAX: usize = 16 * 1024;
/// The largest answer that is carried, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long a statement may take before those behind it go elsewhere.
pub const SLOW: Duration = Duration::from_millis(50);

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
pub type Outcome = Result<Carried, NotCarried>;

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
    /// The packet of what ends the transaction that its statements are in: the last that is sent.
    end: RefCell<Option<Vec<u8>>>,
    counts: Arc<LaneCounts>,
}

/// What a lane does, for whoever looks at it from another thread.
#[derive(Debug, Default)]
pub struct LaneCounts {
    carried: AtomicU64,
    waiting: AtomicUsize,
    is_closed: AtomicBool,
}

impl LaneCounts {
    /// How many statements it was given so far, and how many of them are not answered; `None` if it takes nothing more.
    pub fn read(&self) -> Option<(u64, usize)> {
        let counts = (self.carried.load(Ordering::Relaxed), self.waiting.load(Ordering::Relaxed));
        (!self.is_closed.load(Ordering::Relaxed)).then_some(counts)
    }
}

/// A connection that will come back when nothing is under way on it any more. Dropped, the connection is closed then.
#[derive(Debug)]
pub struct Returning {
    lane: Rc<Lane>,
    connection: oneshot::Receiver<Option<Connection>>,
}

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
enum Counted {
    Text,
    Execution,
    Preparation,
    Begin,
    End,
}

impl CarriedSoFar {
    /// All commands.
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
struct Queue {
    /// Statements that are not sent yet, one frame behind the other.
    unsent: BytesMut,
    /// All that are not answered, those that are sent in front.
    waiting: VecDeque<Waiting>,
    sent: usize,
    sent_bytes: usize,
    /// What was sent so far.
    carried: CarriedSoFar,
    /// Nothing more is taken.
    is_closed: bool,
}

#[derive(Debug)]
struct Waiting {
    counted: Counted,
    frame_bytes: usize,
    answer: Answer,
    /// `None` where nobody waits any more.
    reply: Option<oneshot::Sender<Outcome>>,
    /// The statement that it prepares, until its answer has said what that is.
    prepares: Option<StatementKey>,
}

impl Lane {
    /// Makes a lane of a connection on which nothing is under way. Must be called on the thread whose event loop waits for it.
    pub fn start(connection: Connection) -> (Rc<Self>, Returning) {
        let capabilities = connection.capabilities();
        let lane = Rc::new(Self {
            queue: RefCell::default(),
            statements: RefCell::default(),
            wake: Notify::new(),
            capabilities,
            has_diagnostics: Cell::new(false),
            end: RefCell::default(),
            counts: Arc::default(),
        });
        let (sender, receiver) = oneshot::channel();
        let driver = Driver::new(Rc::clone(&lane), connection);
        tokio::task::spawn_local(async move {
            // Who lent it may be gone, and then nobody needs it.
            drop(sender.send(driver.run().await));
        });
        let returning = Returning { lane: Rc::clone(&lane), connection: receiver };
        (lane, returning)
    }

    /// What it does.
    pub fn counts(&self) -> &Arc<LaneCounts> {
        &self.counts
    }

    /// What was agreed on with the server.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Whether it takes statements.
    pub fn is_open(&self) -> bool {
        !self.queue.borrow().is_closed
    }

    /// How many statements are not answered.
    #[cfg(test)]
    fn depth(&self) -> usize {
        self.queue.borrow().waiting.len()
    }

    /// Has a command carried, of which the packet is `payload`. `None` if it takes nothing more.
    pub fn carry(&self, command: Command, payload: &[u8]) -> Option<oneshot::Receiver<Outcome>> {
        let counted = if command == Command::StmtExecute { Counted::Execution } else { Counted::Text };
        self.add((command, counted), payload, None)
    }

    /// Begins a transaction by the packet `begin`, in the place of the one that may be open. All that is carried from now on is in it, and the packet
    /// `end` is sent when nothing more is taken. `None` if that is so already.
    pub fn begin(&self, begin: &[u8], end: &[u8]) -> Option<oneshot::Receiver<Outcome>> {
        let outcome = self.add((Command::Query, Counted::Begin), begin, None)?;
        *self.end.borrow_mut() = Some(end.to_vec());
        Some(outcome)
    }

    /// What is known of a statement here. One that is prepared counts as used.
    pub fn statement(&self, text: &[u8], kinds: u64) -> Statement {
        self.statements.borrow_mut().get(text, kinds)
    }

    /// Has a statement prepared that is not known here, by the packet `payload`. `None` if it takes nothing more.
    pub fn prepare(&self, key: StatementKey, payload: &[u8]) -> Option<oneshot::Receiver<Outcome>> {
        self.add((Command::StmtPrepare, Counted::Preparation), payload, Some(key))
    }

    fn add(
        &self,
        (command, counted): (Command, Counted),
        payload: &[u8],
        prepares: Option<StatementKey>,
    ) -> Option<oneshot::Receiver<Outcome>> {
        let mut queue = self.queue.borrow_mut();
        if queue.is_closed || payload.len() > STATEMENT_BYTES_MAX {
            return None;
        }
        let before = queue.unsent.len();
        if let Some(key) = &prepares {
            let mut statements = self.statements.borrow_mut();
            statements.is_asked_for(key);
            // Closing has no answer.
            for id in statements.closed.drain(..) {
                let close = [&[Command::StmtClose.byte()], &id.to_le_bytes()[..]].concat();
                put_packet(&mut queue.unsent, &mut 0, &close);
            }
        }
        let (sender, receiver) = oneshot::channel();
        let answer = Answer::to(command, self.capabilities);
        let waiting = Waiting { counted, frame_bytes: 0, answer, reply: Some(sender), prepares };
        queue.put(payload, before, waiting);
        self.counts.carried.fetch_add(1, Ordering::Relaxed);
        self.counts.waiting.store(queue.waiting.len(), Ordering::Relaxed);
        drop(queue);
        self.wake.notify_one();
        Some(receiver)
    }

    /// An answer told of warnings, or was an error; or nobody has heard what it said.
    pub fn has_left_diagnostics(&self) {
        self.has_diagnostics.set(true);
    }

    /// Takes nothing more.
    pub fn close(&self) {
        self.takes_nothing_more(&mut self.queue.borrow_mut());
        self.wake.notify_one();
    }
}

impl Lane {
    /// Notes what preparing a statement has come to, by what is there of the answer. False if that is not enough.
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

    /// Ends the transaction that was begun, if it is not ended.
    pub fn end(&self) {
        self.put_end(&mut self.queue.borrow_mut());
        self.wake.notify_one();
    }

    fn put_end(&self, queue: &mut Queue) {
        let Some(end) = self.end.take().filter(|_| !queue.is_closed) else { return };
        let (before, answer) = (queue.unsent.len(), Answer::to(Command::Query, self.capabilities));
        let waiting = Waiting { counted: Counted::End, frame_bytes: 0, answer, reply: None, prepares: None };
        queue.put(&end, before, waiting);
    }

    fn takes_nothing_more(&self, queue: &mut Queue) {
        self.put_end(queue);
        queue.is_closed = true;
        self.counts.is_closed.store(true, Ordering::Relaxed);
    }
}

impl Returning {
    /// Whether this is the lane whose connection it is.
    pub fn lane(&self) -> &Rc<Lane> {
        &self.lane
    }

    /// Whether a statement may have left warnings or an error on the connection.
    pub fn has_diagnostics(&self) -> bool {
        self.lane.has_diagnostics.get()
    }

    /// What was carried so far.
    pub fn carried(&self) -> CarriedSoFar {
        self.lane.queue.borrow().carried
    }

    /// The numbers of the statements that were prepared on it, and that the server still has.
    pub fn prepared(&self) -> Vec<u32> {
        self.lane.statements.borrow().numbers()
    }
}

impl Drop for Returning {
    fn drop(&mut self) {
        self.lane.close();
    }
}

/// The connection; `None` if it was lost.
impl Future for Returning {
    type Output = Option<Connection>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.connection).poll(cx).map(|received| received.ok().flatten())
    }
}

impl Queue {
    /// Puts a command behind the others. `before`: how much was unsent before its first packet, if others of its own go before this one.
    fn put(&mut self, payload: &[u8], before: usize, waiting: Waiting) {
        put_packet(&mut self.unsent, &mut 0, payload);
        let frame_bytes = self.unsent.len() - before;
        self.waiting.push_back(Waiting { frame_bytes, ..waiting });
    }

    /// What is to be sent now.
    fn take_unsent(&mut self) -> Option<BytesMut> {
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
    fn answered(&mut self, carried: Carried) -> bool {
        let Some(first) = self.waiting.pop_front() else { return false };
        self.sent -= 1;
        self.sent_bytes -= first.frame_bytes;
        first.reply.is_some_and(|reply| reply.send(Ok(carried)).is_ok())
    }
}

impl Waiting {
    fn goes(&mut self, why: NotCarried) {
        if let Some(reply) = self.reply.take() {
            drop(reply.send(Err(why)));
        }
    }
}

#[cfg(test)]
mod tests;
