//! One client, from its login to its end.

mod channel;
mod begun;
mod conclude;
mod environ;
mod exchange;
mod facts;
mod forward;
mod hidden;
pub(crate) mod hit;
mod hold;
mod lease;
mod leaving;
mod prepared;
mod reports;
mod state;
mod temporary;
mod texts;
mod tracking;
mod tx;
mod view;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::BytesMut;
use freshet_protocol::{Capabilities, ChangeUser, Command, ErrPacket, OkPacket, Packet};
use freshet_sql::Modes;
use freshet_upstream::net::Stream;
use freshet_upstream::now_ms;
use tokio::time::timeout_at;
use tracing::debug;

use crate::auth::{AdmitError, Admitted};
use crate::commands;
use crate::fences::Thread;
use crate::registry::{Ending, Handle};
use crate::relay::Lost;
use crate::shared::{Counters, Shared};
use crate::wire::{Wire, WireError};

pub(crate) use begun::{Mark, Touches};
use begun::{Opened, Opening};
pub(crate) use channel::OwnChannel;
pub(crate) use exchange::query_prefix;
pub(crate) use facts::{Missed, StatementFacts};
pub(crate) use forward::Forward;
pub(crate) use hold::{Hold, Holds, Traces};
pub(crate) use lease::Lease;
pub(crate) use prepared::{
    AGAIN_BYTES_MAX, Again, CompiledExecution, Executed, Prepared, PreparedSelect, SELECT_BYTES_MAX, ZoneAt,
};
pub(crate) use reports::{Gtids, Reports, Transactions};
pub(crate) use state::State;
pub(crate) use temporary::TemporaryTables;
pub(crate) use texts::Text;
pub(crate) use tracking::{Naming, Tracking};

/// How long, and for how many bytes, a client that is sent away may go on sending.
const FAREWELL_MAX: Duration = Duration::from_secs(2);
const FAREWELL_BYTES_MAX: usize = 64 << 20;

/// How long the server may take to say its last word to a client that it has killed.
const LAST_WORD_MAX: Duration = Duration::from_millis(500);

/// Whether a session goes on after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Close,
}

/// One client that is logged in.
pub(crate) struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) wire: Wire,
    pub(crate) admitted: Box<Admitted>,
    pub(crate) state: State,
    /// What serves it at the server.
    pub(crate) lease: Lease,
    pub(crate) handle: Arc<Handle>,
    /// What this client has been shown, also before it was reset.
    seen: hit::Seen,
}

/// Serves one client until it leaves. Whatever happens to it stays here: nothing is returned.
pub async fn serve(stream: Stream, shared: Arc<Shared>) {
    let Some(_place) = shared.enter() else {
        return crate::auth::refuse_too_many(stream, shared.bounds()).await;
    };
    match crate::auth::admit(stream, &shared.gate).await {
        Ok((wire, admitted)) => {
            Counters::add(&shared.counters.connections);
            Session::new(shared, wire, admitted).run().await;
        }
        Err(error) => debug!(%error, "a client was not let in"),
    }
}

impl Session {
    fn new(shared: Arc<Shared>, mut wire: Wire, mut admitted: Admitted) -> Self {
        let lease = Lease::of(&mut admitted);
        let handle = Arc::new(Handle::new(admitted.user.clone(), now_ms()));
        handle.set_thread_id(lease.thread_id());
        shared.register(admitted.connection_id, &handle);
        wire.obey(&handle);
        let mut state = State::new(admitted.ok.status);
        state.schema = schema_of(admitted.database.as_deref());
        Self { shared, wire, admitted: Box::new(admitted), state, lease, handle, seen: hit::Seen::default() }
    }

    async fn run(mut self) {
        let mut has_left = false;
        loop {
            match self.next_commands(&mut has_left).await {
                Ok(Flow::Continue) => {}
                Ok(Flow::Close) => break,
                Err(Lost::Client(error)) => {
                    self.farewell(&error).await;
                    break;
                }
                Err(lost) => {
                    debug!(%lost, "the session was lost");
                    break;
                }
            }
        }
        // Whoever does not even read a farewell is left without.
        let _ = tokio::time::timeout(FAREWELL_MAX, self.wire.close()).await;
        if has_left {
            self.hand_on().await;
        }
    }

    /// Waits for a command, and answers it and those that have arrived with it. `has_left`: the client has left between two
    /// commands.
    async fn next_commands(&mut self, has_left: &mut bool) -> Result<Flow, Lost> {
        let next = self.next_command().await;
        *has_left = matches!(next, Err(WireError::Closed));
        let Some(mut packet) = next? else { return Ok(Flow::Close) };
        let at_once = self.answer_at_once(&mut packet)?;
        *has_left = split(&packet).0 == Command::Quit;
        let flow = match at_once {
            Ok(flow) => flow,
            // What was answered before this one does not wait for the server.
            Err(_) if self.wire.flush().await.is_err() => Flow::Close,
            Err(missed) => Box::pin(commands::handle(self, packet, missed)).await?,
        };
        if flow == Flow::Close || self.wire.flush().await.is_err() {
            return Ok(Flow::Close);
        }
        if at_once.is_ok() && self.needs_keepalive() {
            Box::pin(self.keep_alive()).await?;
        }
        Ok(flow)
    }

    /// Carries out this command and those that have arrived with it. Nothing is sent yet. `Err` within: somebody has to be waited
    /// for, and `packet` is the command for which.
    fn answer_at_once(&mut self, packet: &mut BytesMut) -> Result<Result<Flow, Missed>, WireError> {
        loop {
            let done = commands::at_once(self, packet);
            if !matches!(done, Ok(Flow::Continue)) || self.handle.ending() != Ending::No {
                return Ok(done);
            }
            match self.wire.command_at_hand()? {
                Some(next) => *packet = next.payload,
                None => return Ok(done),
            }
        }
    }

    /// The next command; `None` when the session is to end. What the server says unasked (that it shuts down, or that
    /// it killed or timed this connection out) is passed on first.
    async fn next_command(&mut self) -> Result<Option<BytesMut>, WireError> {
        self.handle.pauses(now_ms);
        let soon = if self.state.tx.may_be_open() { Ending::Cut } else { Ending::Drain };
        let waited = match self.opening_is_due() {
            None => self.wait_for_command(soon).await,
            Some(opening) => Box::pin(self.wait_and_open(soon, opening)).await,
        };
        if let Some(packet) = waited {
            return Ok(Some(packet?.payload));
        }
        // A session that is ended says so only where all of them are: who is killed, or too long idle, is told no more than
        // the server tells.
        if soon == Ending::Drain && self.handle.ending() == Ending::Drain {
            return Ok(self.shutting_down());
        }
        Box::pin(self.pass_on_last_word()).await;
        Ok(None)
    }

    /// Waits for a command; `None` if the session is to end so `soon`, or if the server speaks unasked. A command that is here
    /// already is no reason to go on then: whoever is killed gets no answer any more, though one from memory needs no server.
    async fn wait_for_command(&mut self, soon: Ending) -> Option<Result<Packet, WireError>> {
        let (handle, lease) = (&self.handle, &mut self.lease);
        let command = std::pin::pin!(self.wire.command());
        wait_for(command, soon, (handle, lease)).await
    }

    /// As [`Self::wait_for_command`], for a client whose transaction has read from memory: if it takes its time, the server opens its
    /// read view meanwhile, since what was read becomes the harder to prove the longer nobody asks.
    async fn wait_and_open(&mut self, soon: Ending, opening: Opening) -> Option<Result<Packet, WireError>> {
        let (handle, lease, view) = (&self.handle, &mut self.lease, &mut self.state.view);
        let mut command = std::pin::pin!(self.wire.command());
        let waited = timeout_at(opening.due, wait_for(command.as_mut(), soon, (handle, lease))).await;
        if let Ok(waited) = waited {
            return waited;
        }
        // A command that arrives now waits for one exchange with the server.
        match opening.open((handle, lease, view), &self.shared).await {
            Ok(Opened::Open(status)) => self.state.tx = self.state.tx.answered(true, status, false),
            Ok(Opened::Refused(status)) => {
                self.state.is_not_entered(status);
                self.state.view.tries_no_more();
            }
            Err(lost) => {
                debug!(%lost, "no read view could be opened");
                return None;
            }
        }
        wait_for(command, soon, (&self.handle, &mut self.lease)).await
    }

    /// What the server says at the end of its connection is the client's to hear.
    async fn pass_on_last_word(&mut self) {
        if self.handle.ending() == Ending::Cut {
            // It closes the connection at once; a client is not made to wait for long where it does not.
            let _ = tokio::time::timeout(LAST_WORD_MAX, poll_fn(|cx| self.lease.poll_unasked(cx))).await;
        }
        if self.lease.is_open() {
            self.wire.put_frames(self.lease.heard(), 0);
        }
    }

    fn shutting_down(&mut self) -> Option<BytesMut> {
        self.wire.set_seq(0);
        self.put_error(&ErrPacket::new(1053, "08S01", "Server shutdown in progress"));
        None
    }

    async fn farewell(&mut self, error: &WireError) {
        let Some(packet) = error.to_err_packet() else { return };
        // The server counts a command's first packet as soon as it has begun.
        self.wire.set_seq(self.wire.seq().max(1));
        self.put_error(&packet);
        // The client may be gone, or say nothing more; it is closed either way.
        let _ = tokio::time::timeout(FAREWELL_MAX, self.let_finish()).await;
    }

    /// Says what is to be said and hears a client out that is still sending: a connection that is closed over unread
    /// bytes is reset, and what the client was told is lost on the way.
    async fn let_finish(&mut self) -> Result<(), WireError> {
        self.wire.give_packet_up();
        self.wire.flush().await?;
        let mut heard = 0;
        while heard < FAREWELL_BYTES_MAX {
            self.wire.fill().await?;
            let Some((_, read, _)) = self.wire.parts() else { break };
            heard += read.len();
            read.clear();
        }
        Ok(())
    }

    /// What the client and we agreed on.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.admitted.capabilities()
    }

    /// How statements are read here, as far as is known; see [`Session::certain`] for where it may have changed.
    pub(crate) fn modes(&self) -> Modes {
        self.state.environment.modes().unwrap_or_else(|| Modes::new(self.flavor()))
    }

    /// Appends an ERR packet.
    pub(crate) fn put_error(&mut self, error: &ErrPacket) {
        self.wire.put(&error.encode());
    }

    /// Appends an OK packet of our own.
    pub(crate) fn put_ok(&mut self, warnings: u16) {
        let ok = OkPacket { status: self.state.status_for_answers(), warnings, ..OkPacket::default() };
        let encoded = ok.encode(self.capabilities(), 0);
        self.wire.put(&encoded);
    }

    /// Ends a command without an answer of the server's with an error; the session goes on.
    pub(crate) fn refuse(&mut self, error: &ErrPacket) -> Result<Flow, Lost> {
        self.put_error(error);
        Ok(Flow::Continue)
    }

    /// COM_CHANGE_USER: another login in the place of this one.
    ///
    /// # Errors
    /// The client is not let in; it has been told, and the session is over.
    pub(crate) async fn change_user(&mut self, change: ChangeUser) -> Result<(), AdmitError> {
        let before = Admitted { upstream: self.lease.take(), ..self.admitted.hand_over() };
        let id = before.connection_id;
        *self.admitted =
            crate::auth::reauthenticate(&mut self.wire, before, change, &self.shared.gate).await?;
        self.admitted.connection_id = id;
        self.handle = Arc::new(Handle::new(self.admitted.user.clone(), now_ms()));
        self.lease = Lease::of(&mut self.admitted);
        self.handle.set_thread_id(self.lease.thread_id());
        self.shared.register(id, &self.handle);
        self.wire.obey(&self.handle);
        Ok(())
    }

    /// The server's connection.
    pub(crate) fn thread(&self) -> Thread {
        Thread { id: self.handle.thread_id(), opened_ms: self.lease.opened_ms }
    }

    /// Notes that the client is alive.
    pub(crate) fn active(&self, now_ms: u64) {
        self.handle.active(now_ms);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.registry.remove(self.admitted.connection_id);
    }
}

/// Waits for a command; see [`Session::wait_for_command`].
async fn wait_for(
    mut command: Pin<&mut impl Future<Output = Result<Packet, WireError>>>,
    soon: Ending,
    (handle, lease): (&Handle, &mut Lease),
) -> Option<Result<Packet, WireError>> {
    poll_fn(|cx| {
        if handle.ending() >= soon || lease.poll_unasked(cx).is_ready() {
            return Poll::Ready(None);
        }
        match command.as_mut().poll(cx) {
            Poll::Ready(packet) => Poll::Ready(Some(packet)),
            Poll::Pending => handle.poll_ends(cx, soon).map(|_| None),
        }
    })
    .await
}

/// A schema's name as it is compared here; one that is not UTF-8 is treated like none.
pub(crate) fn schema_of(name: Option<&[u8]>) -> Option<String> {
    name.filter(|name| !name.is_empty()).and_then(|name| std::str::from_utf8(name).ok()).map(str::to_owned)
}

/// Splits a command packet; an empty one is no command.
pub(crate) fn split(payload: &[u8]) -> (Command, &[u8]) {
    match payload.split_first() {
        Some((byte, rest)) => (Command::from_byte(*byte), rest),
        None => (Command::from_byte(0), &[]),
    }
}
