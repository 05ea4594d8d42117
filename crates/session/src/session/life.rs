//! A client's life: its commands one after another, and how the session ends.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
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

/// How often in a row a client's commands are read before the other sessions of its event loop have their turn.
const ROUNDS_MAX: usize = 16;

/// How long the server may take for its last message to a client that it has killed.
const LAST_WORD_MAX: Duration = Duration::from_millis(500);

/// How far the commands of a client were carried out without waiting for anybody. Answers may be left to be sent.
enum Carried {
    /// As far as this command, which has to wait for somebody. `missed`: what was found for it in memory.
    UpTo { packet: BytesMut, missed: Missed },
    /// As far as they have arrived, or until something else is to be done.
    All,
    /// To the client's farewell.
    ToTheEnd,
}

/// How a wait for commands has ended.
enum Polled {
    Over(Result<Carried, WireError>),
    /// A command has begun to arrive.
    Begun,
    /// The session is to end or to rest, or the server speaks unasked.
    Interrupted,
}

/// A wait for a command, with all that ends it before a command has come.
struct Wait<'a> {
    /// The session is to end so soon.
    soon: Ending,
    /// The session may be told to rest meanwhile.
    may_rest: bool,
    handle: &'a Handle,
    lease: &'a mut Lease,
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

    /// Waits for commands, and carries them out. `has_left`: the client has left between two commands.
    async fn next_commands(&mut self, has_left: &mut bool) -> Result<Flow, Lost> {
        // Pinned here: a future that is awaited by value is moved first, once for each command.
        let carried = pin!(self.until_one_waits()).await;
        *has_left = matches!(carried, Err(WireError::Closed) | Ok(Some(Carried::ToTheEnd)));
        match carried? {
            Some(Carried::All) => {}
            Some(Carried::UpTo { packet, missed }) => {
                let flow = pin!(self.carry_out(packet, missed, has_left)).await?;
                if flow == Flow::Close {
                    return Ok(flow);
                }
            }
            Some(Carried::ToTheEnd) | None => return Ok(Flow::Close),
        }
        if pin!(self.wire.flush()).await.is_err() {
            return Ok(Flow::Close);
        }
        busy_poll::expects(self.admitted.connection_id);
        if self.needs_keepalive() {
            Box::pin(self.keep_alive()).await?;
        }
        Ok(Flow::Continue)
    }

    /// Carries out a command that has to wait for somebody. `has_left` as in [`Self::next_commands`].
    async fn carry_out(
        &mut self,
        mut packet: BytesMut,
        mut missed: Missed,
        has_left: &mut bool,
    ) -> Result<Flow, Lost> {
        // Earlier answers do not wait with this one.
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

    /// Carries out this command and the commands that have arrived with it. Nothing is sent yet. [`Flow::Close`]: the client has said
    /// farewell. The inner `Err`: a command has to wait for somebody, and `packet` is that command.
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

    /// Waits for commands, and carries them out until one of them has to wait for somebody, or something else is to be done; `None` when
    /// the session is to end. A message that the server sends unasked (that it shuts down, or that it killed or timed out this connection)
    /// is passed on first.
    async fn until_one_waits(&mut self) -> Result<Option<Carried>, WireError> {
        if self.may_be_unused() {
            Box::pin(self.gives_up()).await;
        }
        // What is carried out without waiting does not make the session busy.
        self.handle.pauses(now_ms, self.state.environment.schema());
        // However the wait ends: a farewell has the number of an answer's first packet.
        self.wire.begins_command();
        let waited = match self.opening_is_due() {
            None if self.state.view().is_unproven() => Box::pin(self.carried_or_proven()).await,
            None => pin!(self.carried_or_rested()).await,
            Some(opening) => Box::pin(self.carried_or_opened(opening)).await,
        };
        if let Some(carried) = waited {
            return carried.map(Some);
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

    /// Like [`Self::carried`], for a session that may give its connection and its buffers up meanwhile.
    async fn carried_or_rested(&mut self) -> Option<Result<Carried, WireError>> {
        let mut carried = pin!(self.carried()).await;
        while carried.is_none() && self.handle.takes_rest() {
            Box::pin(self.rests()).await;
            self.lease.trim();
            let packet = {
                let soon = self.ends_soon();
                let wait = Wait { soon, may_rest: true, handle: &self.handle, lease: &mut self.lease };
                pin!(wait.for_command(pin!(self.wire.packet_after_rest()))).await
            };
            carried = packet.map(|packet| self.carries_out_at_once(packet));
        }
        carried
    }

    /// Waits for commands, and carries out those that wait for nobody. `None` if the session is to end or to rest, or if the server speaks
    /// unasked. In these cases a command that has arrived is not carried out: a killed client gets no more answers, though an answer from
    /// memory needs no server.
    async fn carried(&mut self) -> Option<Result<Carried, WireError>> {
        match poll_fn(|cx| self.poll_commands(cx)).await {
            Polled::Over(carried) => Some(carried),
            Polled::Interrupted => None,
            Polled::Begun => {
                let packet = {
                    let soon = self.ends_soon();
                    let wait = Wait { soon, may_rest: true, handle: &self.handle, lease: &mut self.lease };
                    // Boxed, so that a client that waits needs no room for it.
                    let mut packet = Box::pin(self.wire.packet());
                    pin!(wait.for_command(packet.as_mut())).await
                };
                packet.map(|packet| self.carries_out_at_once(packet))
            }
        }
    }

    /// Waits for commands, carries out those that wait for nobody, and sends their answers, until something else is to be done. This is one
    /// function, and no future of futures: their states took a seventh of the instructions of an answer from memory.
    fn poll_commands(&mut self, cx: &mut Context<'_>) -> Poll<Polled> {
        for _ in 0..ROUNDS_MAX {
            let (soon, wire) = (self.ends_soon(), &mut self.wire);
            let mut wait = Wait { soon, may_rest: true, handle: &self.handle, lease: &mut self.lease };
            let packet = match ready!(wait.poll(cx, |cx| wire.poll_command(cx))) {
                None => return Poll::Ready(Polled::Interrupted),
                Some(Ok(None)) => return Poll::Ready(Polled::Begun),
                Some(Err(error)) => return Poll::Ready(Polled::Over(Err(error))),
                Some(Ok(Some(packet))) => packet,
            };
            let carried = self.carries_out_at_once(Ok(packet));
            if !matches!(carried, Ok(Carried::All)) {
                return Poll::Ready(Polled::Over(carried));
            }
            match self.wire.sends_at_once(cx) {
                Ok(true) if !self.has_more_to_do() => {}
                Ok(_) => return Poll::Ready(Polled::Over(carried)),
                Err(error) => return Poll::Ready(Polled::Over(Err(error))),
            }
            busy_poll::expects(self.admitted.connection_id);
            self.wire.begins_command();
        }
        // A client that sends without end lets the others have their turn.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Whether more is to be done between two commands than to wait.
    fn has_more_to_do(&self) -> bool {
        self.needs_keepalive()
            || self.may_be_unused()
            || self.state.view().is_unproven()
            || self.opening_is_due().is_some()
    }

    /// Carries out a command that was waited for, and the commands that have arrived with it, as far as they wait for nobody.
    fn carries_out_at_once(&mut self, packet: Result<Packet, WireError>) -> Result<Carried, WireError> {
        self.handle.rests_no_more();
        let mut packet = packet?.payload;
        Ok(match self.answer_at_once(&mut packet)? {
            Ok(Flow::Continue) => Carried::All,
            Ok(Flow::Close) => Carried::ToTheEnd,
            Err(missed) => Carried::UpTo { packet, missed },
        })
    }

    /// Like [`Self::carried`], for a client whose transaction has read results from memory that still need their proof.
    async fn carried_or_proven(&mut self) -> Option<Result<Carried, WireError>> {
        let packet = {
            let soon = self.ends_soon();
            let (handle, lease, view) = (&self.handle, &mut self.lease, self.state.view_mut());
            let command = pin!(self.wire.command());
            wait_and_prove(command, soon, ServerSide { handle, lease, view }, &self.shared).await
        };
        packet.map(|packet| self.carries_out_at_once(packet))
    }

    /// Like [`Self::carried`], for a client whose transaction has read from memory. If the client takes its time, the server opens the
    /// transaction's read view meanwhile: the later the proof, the harder it is.
    async fn carried_or_opened(&mut self, opening: Opening) -> Option<Result<Carried, WireError>> {
        let packet = self.packet_or_opened(opening).await;
        packet.map(|packet| self.carries_out_at_once(packet))
    }

    async fn packet_or_opened(&mut self, opening: Opening) -> Option<Result<Packet, WireError>> {
        let soon = self.ends_soon();
        let (handle, lease, view) = (&self.handle, &mut self.lease, self.state.tx.view_mut());
        let mut command = pin!(self.wire.command());
        let wait = Wait { soon, may_rest: false, handle, lease };
        if let Ok(waited) = timeout_at(opening.due, wait.for_command(command.as_mut())).await {
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

    /// The number of the packet follows that of a command that has come and is not carried out.
    fn put_shutting_down(&mut self) {
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

impl Wait<'_> {
    /// Polls for a command; `None` if the wait has ended before.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        command: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Option<T>> {
        if self.handle.ending() >= self.soon || self.lease.poll_unasked(cx).is_ready() {
            return Poll::Ready(None);
        }
        match command(cx) {
            // The client may have sent it after somebody had ended the session.
            Poll::Ready(_) if self.handle.ending() >= self.soon => Poll::Ready(None),
            Poll::Ready(command) => Poll::Ready(Some(command)),
            Poll::Pending => match self.handle.poll_ends(cx, self.soon) {
                Poll::Pending if !(self.may_rest && self.handle.is_to_rest()) => Poll::Pending,
                _ => Poll::Ready(None),
            },
        }
    }

    /// Waits for a command; `None` if the wait has ended before.
    async fn for_command(
        mut self,
        mut command: Pin<&mut impl Future<Output = Result<Packet, WireError>>>,
    ) -> Option<Result<Packet, WireError>> {
        poll_fn(|cx| self.poll(cx, |cx| command.as_mut().poll(cx))).await
    }
}

/// Waits for a command, and meanwhile a little for the proof that the served results are true in the read view that was opened.
async fn wait_and_prove(
    mut command: Pin<&mut impl Future<Output = Result<Packet, WireError>>>,
    soon: Ending,
    ServerSide { handle, lease, view }: ServerSide<'_>,
    shared: &Shared,
) -> Option<Result<Packet, WireError>> {
    let wait = Wait { soon, may_rest: false, handle, lease: &mut *lease };
    tokio::select! {
        biased;
        waited = wait.for_command(command.as_mut()) => return waited,
        _ = is_proven_soon(view, shared), if view.is_unproven() => {}
    }
    Wait { soon, may_rest: false, handle, lease }.for_command(command).await
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
