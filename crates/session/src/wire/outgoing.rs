//! Sending to a client that may not read: bytes that it does not take at once, it has to take in time.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use freshet_upstream::net::Stream;
use tokio::io::{AsyncWrite as _, AsyncWriteExt as _};

use super::compressed::Compressed;
use super::{IDLE_BUFFER_BYTES_MAX, Wire, WireError};
use crate::bounds::Bounds;
use crate::counters;
use crate::registry::{Ending, Handle};

/// How long a client may read nothing while all sessions are being ended.
const STALL_AT_DRAIN_MAX: Duration = Duration::from_secs(1);

impl Wire {
    /// Sends the bytes that have been put. Sent bytes are removed from the buffer, so that this can be cancelled.
    ///
    /// # Errors
    /// The system's error; [`WireError::WriteTimeout`] if the client has read nothing for too long, and
    /// [`WireError::Ended`] if its session is ended and it does not read. Nothing can be sent any more then.
    pub async fn flush(&mut self) -> Result<(), WireError> {
        let Some(stream) = &mut self.stream else { return Err(WireError::Closed) };
        let limits = SendLimits { bounds: &self.bounds, handle: self.handle.as_ref() };
        let sent = match &mut self.compressed {
            None => send(stream, &mut self.write, limits).await,
            // Boxed because it is rare: the room of a future is moved whenever it is made.
            Some(compressed) => Box::pin(send_packed(stream, &mut self.write, compressed, limits)).await,
        };
        self.note_sent();
        sent
    }

    /// Sends what has been put, as far as the system takes it without a wait. Returns whether that is all; [`Wire::flush`] sends the rest.
    ///
    /// # Errors
    /// The system's. Nothing can be sent any more then.
    pub(crate) fn sends_at_once(&mut self, cx: &mut Context<'_>) -> Result<bool, WireError> {
        let Some(stream) = self.stream.as_mut().filter(|_| self.compressed.is_none()) else {
            return Ok(false);
        };
        let is_all = send_now(stream, &mut self.write, cx)?;
        if is_all {
            self.note_sent();
        }
        Ok(is_all)
    }

    /// Notes that nothing is left to be sent, and gives back what it took.
    fn note_sent(&mut self) {
        self.write.clear();
        if self.sending.is_held() || self.write.capacity() > IDLE_BUFFER_BYTES_MAX {
            self.write = BytesMut::new();
            self.sending.release();
        }
    }
}

/// The ends of a wait for a client that does not read: time, and the end of its session.
#[derive(Clone, Copy)]
struct SendLimits<'a> {
    bounds: &'a Bounds,
    /// `None` before the login, which has a time limit of its own.
    handle: Option<&'a Arc<Handle>>,
}

/// Sends all of `bytes`. Usually that is one write, without a clock and without a wait.
async fn send(stream: &mut Stream, bytes: &mut BytesMut, limits: SendLimits<'_>) -> Result<(), WireError> {
    if poll_fn(|cx| Poll::Ready(send_now(stream, bytes, cx))).await? {
        return Ok(());
    }
    Box::pin(send_rest(stream, bytes, limits)).await
}

/// Sends the bytes that the system takes without waiting, possibly none, and removes them. Returns whether it has taken everything.
fn send_now(stream: &mut Stream, bytes: &mut BytesMut, cx: &mut Context<'_>) -> io::Result<bool> {
    if !bytes.is_empty() {
        match Pin::new(&mut *stream).poll_write(cx, bytes) {
            Poll::Ready(Ok(written)) if written >= bytes.len() => bytes.clear(),
            Poll::Ready(written) => {
                bytes.advance(written?);
                return Ok(false);
            }
            Poll::Pending => return Ok(false),
        }
    }
    match Pin::new(stream).poll_flush(cx) {
        Poll::Ready(flushed) => flushed.map(|()| true),
        Poll::Pending => Ok(false),
    }
}

/// Sends the bytes that the system has not taken at once.
async fn send_rest(
    stream: &mut Stream,
    bytes: &mut BytesMut,
    limits: SendLimits<'_>,
) -> Result<(), WireError> {
    while !bytes.is_empty() {
        let written = limits.with(stream.write(bytes)).await?;
        if written == 0 {
            return Err(io::Error::from(io::ErrorKind::WriteZero).into());
        }
        bytes.advance(written);
    }
    limits.with(stream.flush()).await
}

/// Packs and sends, frame by frame, and lets other sessions run between two frames.
async fn send_packed(
    stream: &mut Stream,
    bytes: &mut BytesMut,
    compressed: &mut Compressed,
    limits: SendLimits<'_>,
) -> Result<(), WireError> {
    loop {
        // A cancelled frame is continued here.
        send(stream, &mut compressed.outgoing, limits).await?;
        if bytes.is_empty() {
            return Ok(());
        }
        let left = compressed.pack(bytes).len();
        bytes.advance(bytes.len() - left);
        if left > 0 {
            tokio::task::yield_now().await;
        }
    }
}

impl SendLimits<'_> {
    /// Waits for one step of sending.
    async fn with<T>(self, step: impl Future<Output = io::Result<T>>) -> Result<T, WireError> {
        tokio::select! {
            biased;
            done = step => Ok(done?),
            () = self.ends() => Err(WireError::Ended),
            () = tokio::time::sleep(self.bounds.net_write_timeout) => {
                counters::count(&self.bounds.write_timeouts);
                Err(WireError::WriteTimeout)
            }
        }
    }

    /// Waits until the session is to end although its client has not read.
    async fn ends(self) {
        let Some(handle) = self.handle else { return std::future::pending().await };
        if handle.ends(Ending::Drain).await == Ending::Drain {
            tokio::select! {
                _ = handle.ends(Ending::Cut) => {}
                () = tokio::time::sleep(STALL_AT_DRAIN_MAX) => {}
            }
        }
    }
}
