//! Listening to a client that waits for its answer: whether it is still there, and what it sends ahead.

use std::future::poll_fn;

use bytes::BufMut as _;
use freshet_protocol::{COMPRESSED_HEADER_LEN, Command};
use tokio::io::AsyncReadExt as _;

use super::{READ_BYTES, Wire, WireError, below};

/// How many bytes a client may send ahead of its answer before Freshet stops listening.
const AHEAD_BYTES_MAX: usize = READ_BYTES;

/// What a client that waits for an answer did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The client has sent something, which is kept for later.
    More,
    /// The client sends nothing more, and no command of it is left to be done. It may still read.
    End,
}

impl Wire {
    /// Whether [`Wire::overhear`] has anything to listen to: not after the client's end, nor while it has sent more
    /// than is kept. The servers do not look further either: to them a client that has sent something is there.
    pub(crate) fn is_listening(&self) -> bool {
        !self.heard_end && self.incoming().len() < AHEAD_BYTES_MAX
    }

    /// Waits for the client to send something or to leave. Cancelling loses nothing.
    ///
    /// # Errors
    /// The connection is broken, and nothing is left to be done for the client.
    pub(crate) async fn overhear(&mut self) -> Result<Heard, WireError> {
        let Some(stream) = &mut self.stream else { return Err(WireError::Closed) };
        // A client that waits for its answer sends nothing as a rule: no memory is taken for what does not come.
        poll_fn(|cx| stream.poll_read_ready(cx)).await;
        let incoming = below(&mut self.read, &mut self.compressed);
        let bytes_max = AHEAD_BYTES_MAX.saturating_sub(incoming.len());
        incoming.reserve(bytes_max);
        let heard = stream.read_buf(&mut incoming.limit(bytes_max)).await;
        let is_over = self.read.is_empty() && self.incoming().is_empty() || self.has_only_quit();
        match heard {
            Ok(1..) => return Ok(Heard::More),
            Err(error) if is_over && !is_end(&error) => return Err(error.into()),
            _ => self.heard_end = true,
        }
        Ok(if is_over { Heard::End } else { Heard::More })
    }

    /// Whether the only thing that the client has sent ahead is COM_QUIT.
    fn has_only_quit(&self) -> bool {
        let ahead = match &self.compressed {
            None => self.read.get(..),
            // Such a short packet is not compressed.
            Some(compressed) => {
                compressed.incoming.get(COMPRESSED_HEADER_LEN..).filter(|_| self.read.is_empty())
            }
        };
        ahead == Some(&[1, 0, 0, 0, Command::Quit.byte()])
    }
}

/// Whether this is the error of TLS for a connection that ends without TLS's own farewell.
fn is_end(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::UnexpectedEof
}
