//! A client's life: its commands one after another, and how the session ends.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use freshet_protocol::{ErrPacket, Packet};
use freshet_upstream::net::Stream;
use freshet_upstream::now_ms;
use tokio::time::timeout_at;
use tracing::debug;

use super::begun::{Opening, ServerSide, is_proven_soon};
use super::{Flow, Lease, Missed, Session};
use crate::busy_poll;
use crate::commands;
use crate::counters::Count;
use crate::registry::{Ending, Handle};
use crate::relay::Lost;
use crate::shared::Shared;
use crate::wire::WireError;

/// How long, and for how many bytes, a client that is sent away may continue to send.
const FAREWELL_MAX: Duration = Duration::from_secs(2);
const FAREWELL_BYTES_MAX: usize = 64 << 20;

/// How long the server may take for its last message to a client that it has killed.
const LAST_WORD_MAX: Duration = Duration::from_millis(500);

/// What comes next in a client's life.
enum Next {
    /// A command that has to wait for somebody: `missed` says what was found for it in memory.
    Waits { packet: BytesMut, missed: Missed },
    /// All commands that have arrived are carried out, and answers may be left to be sent.
    Done(Flow),
}

/// How a wait for a command has ended.
enum Waited {
    Over(Result<Next, WireError>),
    /// A command has begun to arrive.
    Begun,
    /// The session is to end or to rest, or the server speaks unasked.
    Interrupted,
}

/// Serves one client until it leaves. Returns nothing: errors of one client concern nobody else.
pub async fn serve(stream: Stream, shared: Arc<Shared>) {
    let Some(_place) = shared.enter() else {
        return crate::auth::refuse_too_many(stream, shared.bounds()).await;
    };
    // The state of this future is there as long as the client is. The state of a login is larger, and gone with the login.
    let Some(mut session) = Box::pin(begin(stream, shared)).await else { return };
    session.run().await;
}

/// Lets a client in, and makes its session.
async fn begin(stream: Stream, shared: Arc<Shared>) -> Option<Box<Session>> {
    // Before the first housekeeping only the follower may have met the server. With the greeting known, a client needs no connection of its
    // own.
    if !shared.gate.knows_greeting() {
        shared.greet_as_server();
    }
    let rights_from = shared.upstream.rights_from();
    match crate::auth::admit(stream, &shared.gate).await {
        Ok((wire, admitted)) => {
            shared.counters.add(Count::Connections);
            Some(Box::new(Session::new(shared, wire, admitted, rights_from)))
        }
        Err(error) => {
            debug!(%error, "a client was not let in");
            None
        }
    }
}

impl Session {
    async fn run(&mut self) {
        let mut has_left = false;
        if self.admitted.chooses_ours {
            Box::pin(commands::begin_in(self)).await;
        }
        loop {
            let flow = pin!(self.next_commands(&mut has_left)).await;
            match flow {
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
        // A client that does not read even the farewell does not get one.
        let _ = tokio::time::timeout(FAREWELL_MAX, self.wire.close()).await;
        if has_left {
            Box::pin(self.hand_on()).await;
        }
    }

    /// Carries out the next command that has to wait for somebody, or the commands before it. `has_left`: the client has left between two
    /// commands.
    async fn next_commands(&mut self, has_left: &mut bool) -> Result<Flow, Lost> {
        // Pinned here: a future that is awaited by value is moved first, once for each command.
        let next = pin!(self.next_command()).await;
        *has_left = matches!(next, Err(WireError::Closed) | Ok(Some(Next::Done(Flow::Close))));
        let flow = match next? {
            Some(Next::Done(flow)) => flow,
            Some(Next::Waits { packet, missed }) => {
                match pin!(self.carry_out(packet, missed, has_left)).await {
                    Ok(flow) => flow,
                    done => return done,
                }
            }
            None => return Ok(Flow::Close),
        };
        if flow == Flow::Close || pin!(self.wire.flush()).await.is_err() {
            return Ok(Flow::Close);
        }
        busy_poll::expects(self.admitted.connection_id);
        if self.needs_keepalive() {
            Box::pin(self.keep_alive()).await?;
        }
        Ok(flow)
    }

    /// Carries out a command that has to wait for somebody.
    async fn carry_out(
        &mut self,
        mut packet: BytesMut,
        mut missed: Missed,
        has_left: &mut bool,
    ) -> Result<Flow, Lost> {
        // Earlier answers do not wait with this one, nor for the server.
        if self.wire.flush().await.is_err() {
            return Ok(Flow::Close);
        }
        if missed.unsettled && !self.lease.is_lent() {
            Box::pin(self.make_way()).await?;
            match self.answer_at_once(&mut packet)? {
                Ok(flow) => {
                    *has_left = flow == Flow::Close;
                    return Ok(flow);
                }
                Err(later) => missed = later,
            }
            if self.wire.flush().await.is_err() {
                return Ok(Flow::Close);
            }
        }
        if self.lease.is_lent()
            && let Err(done) = Box::pin(commands::take_back(self, &packet)).await
        {
            return done;
        }
        let flow = Box::pin(commands::handle(self, packet, missed)).await;
        self.ends_turn();
        flow
    }

    /// Carries out this command and the commands that have arrived with it. Nothing is sent yet. The inner `Err`: a command has to wait
    /// for somebody, and `packet` is that command.
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

    /// Returns the next command that has to wait for somebody, or that the commands before it are done; `None` when the session is to end.
    /// A message that the server sends unasked (that it shuts down, or that it killed or timed out this connection) is passed on first.
    async fn next_command(&mut self) -> Result<Option<Next>, WireError> {
        self.handle.pauses(now_ms, self.state.environment.schema());
        if self.may_be_unused() {
            Box::pin(self.gives_up()).await;
        }
        let waited = match self.opening_is_due() {
            None if self.state.view().is_unproven() => Box::pin(self.wait_for_proof()).await,
            None => pin!(self.wait_for_command_or_rest()).await,
            Some(opening) => Box::pin(self.wait_and_open(opening)).await,
        };
        if let Some(next) = waited {
            return next.map(Some);
        }
        // A session that ends tells its client only when all sessions end: a client that is killed, or idle for too long, is told no more
        // than the server tells.
        if self.ends_soon() == Ending::Drain && self.handle.ending() == Ending::Drain {
            self.put_shutting_down();
        } else {
            Box::pin(self.pass_on_last_word()).await;
        }
        Ok(None)
    }

    /// How soon the session has to be ended to end at its next pause.
    fn ends_soon(&self) -> Ending {
        if self.state.tx.may_be_open() { Ending::Cut } else { Ending::Drain }
    }

    /// Like [`Self::wait_for_command`], for a session that may give its connection and its buffers up meanwhile.
    async fn wait_for_command_or_rest(&mut self) -> Option<Result<Next, WireError>> {
        let mut waited = pin!(self.wait_for_command()).await;
        while waited.is_none() && self.handle.takes_rest() {
            Box::pin(self.rests()).await;
            self.lease.trim();
            let packet = {
                let (soon, handle, lease) = (self.ends_soon(), &self.handle, &mut self.lease);
                let packet = pin!(self.wire.packet_after_rest());
                pin!(wait_for(packet, soon, true, handle, lease)).await
            };
            waited = packet.map(|packet| self.came(packet));
        }
        waited
    }

    /// Waits for a command; `None` if the session is to end or to rest, or if the server speaks unasked. In these cases a command
    /// that has arrived is not carried out: a killed client gets no more answers, though an answer from memory needs no server.
    async fn wait_for_command(&mut self) -> Option<Result<Next, WireError>> {
        self.wire.begins_command();
        match poll_fn(|cx| self.poll_commands(cx)).await {
            Waited::Over(next) => Some(next),
            Waited::Interrupted => None,
            Waited::Begun => {
                let packet = {
                    let (soon, handle, lease) = (self.ends_soon(), &self.handle, &mut self.lease);
                    // Boxed, because it is rare.
                    let mut packet = Box::pin(self.wire.packet());
                    pin!(wait_for(packet.as_mut(), soon, true, handle, lease)).await
                };
                packet.map(|packet| self.came(packet))
            }
        }
    }

    /// Carries out all commands that have arrived, as long as none of them has to wait for anybody and nothing else is to be done.
    /// This is one function, and no future of futures: their states took a seventh of the instructions of an answer from memory.
    fn poll_commands(&mut self, cx: &mut Context<'_>) -> Poll<Waited> {
        loop {
            let soon = self.ends_soon();
            if self.handle.ending() >= soon || self.lease.poll_unasked(cx).is_ready() {
                return Poll::Ready(Waited::Interrupted);
            }
            let packet = match self.wire.poll_command(cx) {
                Poll::Ready(Ok(Some(packet))) => packet,
                Poll::Ready(Ok(None)) => return Poll::Ready(Waited::Begun),
                Poll::Ready(Err(error)) => return Poll::Ready(Waited::Over(Err(error))),
                Poll::Pending => match self.handle.poll_ends(cx, soon) {
                    Poll::Pending if !self.handle.is_to_rest() => return Poll::Pending,
                    _ => return Poll::Ready(Waited::Interrupted),
                },
            };
            let next = self.came(Ok(packet));
            let goes_on = matches!(next, Ok(Next::Done(Flow::Continue)));
            if !goes_on || !self.wire.is_sent_at_once(cx) || self.has_more_to_do() {
                return Poll::Ready(Waited::Over(next));
            }
            busy_poll::expects(self.admitted.connection_id);
            self.wire.begins_command();
        }
    }

    /// Whether more is to be done between two commands than to wait.
    fn has_more_to_do(&self) -> bool {
        self.needs_keepalive()
            || self.may_be_unused()
            || self.state.view().is_unproven()
            || self.opening_is_due().is_some()
    }

    /// Carries out a command that was waited for, and the commands that have arrived with it, as far as they wait for nobody.
    fn came(&mut self, packet: Result<Packet, WireError>) -> Result<Next, WireError> {
        self.handle.rests_no_more();
        let mut packet = packet?.payload;
        Ok(match self.answer_at_once(&mut packet)? {
            Ok(flow) => Next::Done(flow),
            Err(missed) => Next::Waits { packet, missed },
        })
    }

    /// Like [`Self::wait_for_command`], for a client whose transaction has read results from memory that still need their proof.
    async fn wait_for_proof(&mut self) -> Option<Result<Next, WireError>> {
        let packet = {
            let soon = self.ends_soon();
            let (handle, lease, view) = (&self.handle, &mut self.lease, self.state.view_mut());
            let command = pin!(self.wire.command());
            wait_and_prove(command, soon, ServerSide { handle, lease, view }, &self.shared).await
        };
        packet.map(|packet| self.came(packet))
    }

    /// Like [`Self::wait_for_command`], for a client whose transaction has read from memory. If the client takes its time, the server opens
    /// the transaction's read view meanwhile: the later the proof, the harder it is.
    async fn wait_and_open(&mut self, opening: Opening) -> Option<Result<Next, WireError>> {
        let packet = self.packet_or_open(opening).await;
        packet.map(|packet| self.came(packet))
    }

    async fn packet_or_open(&mut self, opening: Opening) -> Option<Result<Packet, WireError>> {
        let soon = self.ends_soon();
        let (handle, lease, view) = (&self.handle, &mut self.lease, self.state.tx.view_mut());
        let mut command = pin!(self.wire.command());
        let waited = timeout_at(opening.due, wait_for(command.as_mut(), soon, false, handle, lease)).await;
        if let Ok(waited) = waited {
            return waited;
        }
        if let Some(given_up) = self.state.unconnected.take() {
            let left = given_up.take_over(lease, handle, &self.shared, false).await;
            self.state.unconnected.note_sought(left);
        }
        if !lease.is_ready() {
            return wait_and_prove(command, soon, ServerSide { handle, lease, view }, &self.shared).await;
        }
        // A command that arrives now waits for one exchange with the server.
        match opening.open(ServerSide { handle, lease, view }, &self.shared).await {
            Ok(opened) => {
                self.state.view_mut().course.note_opened_in_time();
                opened.note(&mut self.state)
            }
            Err(lost) => {
                debug!(%lost, "no read view could be opened");
                return None;
            }
        };
        let (handle, lease, view) = (&self.handle, &mut self.lease, self.state.view_mut());
        // A client that takes its time may take long.
        lease.trim();
        wait_and_prove(command, soon, ServerSide { handle, lease, view }, &self.shared).await
    }

    /// Passes on the server's last message at the end of its connection.
    async fn pass_on_last_word(&mut self) {
        if self.handle.ending() == Ending::Cut {
            // The server usually closes the connection at once; if it does not, the client does not wait for long.
            let _ = tokio::time::timeout(LAST_WORD_MAX, poll_fn(|cx| self.lease.poll_unasked(cx))).await;
        }
        if self.lease.is_open() {
            self.wire.put_frames(self.lease.heard(), 0);
        }
    }

    fn put_shutting_down(&mut self) {
        self.wire.set_seq(0);
        self.put_error(&ErrPacket::new(1053, "08S01", "Server shutdown in progress"));
    }

    async fn farewell(&mut self, error: &WireError) {
        let Some(packet) = error.to_err_packet() else { return };
        // The server counts a command's first packet as soon as the packet has begun.
        self.wire.set_seq(self.wire.seq().max(1));
        self.put_error(&packet);
        // The client may be gone, or silent; it is closed either way.
        let _ = tokio::time::timeout(FAREWELL_MAX, self.let_finish()).await;
    }

    /// Flushes the last messages, and reads on from a client that is still sending: a connection that is closed with unread
    /// bytes is reset, and the client would lose the messages.
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
}

/// Waits for a command; see [`Session::wait_for_command`].
async fn wait_for(
    mut command: Pin<&mut impl Future<Output = Result<Packet, WireError>>>,
    soon: Ending,
    may_rest: bool,
    handle: &Handle,
    lease: &mut Lease,
) -> Option<Result<Packet, WireError>> {
    poll_fn(|cx| {
        if handle.ending() >= soon || lease.poll_unasked(cx).is_ready() {
            return Poll::Ready(None);
        }
        match command.as_mut().poll(cx) {
            Poll::Ready(packet) => Poll::Ready(Some(packet)),
            Poll::Pending => match handle.poll_ends(cx, soon) {
                Poll::Pending if !(may_rest && handle.is_to_rest()) => Poll::Pending,
                _ => Poll::Ready(None),
            },
        }
    })
    .await
}

/// Waits for a command, and meanwhile a little for the proof that the served results are true in the read view that was opened.
async fn wait_and_prove(
    mut command: Pin<&mut impl Future<Output = Result<Packet, WireError>>>,
    soon: Ending,
    ServerSide { handle, lease, view }: ServerSide<'_>,
    shared: &Shared,
) -> Option<Result<Packet, WireError>> {
    tokio::select! {
        biased;
        waited = wait_for(command.as_mut(), soon, false, handle, lease) => return waited,
        _ = is_proven_soon(view, shared), if view.is_unproven() => {}
    }
    wait_for(command, soon, false, handle, lease).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most bytes that the state of a client may have, as long as the client is there: the allocator makes them 1280 and 3584.
    const STATE_BYTES_MAX: usize = 896;
    const SESSION_BYTES_MAX: usize = 3328;

    fn size_of_future<A, B, F: Future>(_: impl FnOnce(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_state_of_a_client_is_small() {
        let (state, session) = (size_of_future(serve), size_of::<Session>());
        assert!(state <= STATE_BYTES_MAX && session <= SESSION_BYTES_MAX, "{state} and {session} bytes");
    }
}
