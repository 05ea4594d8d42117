//! Listening to a client whose answer is awaited: whether it is still there, and what it sends ahead.

use bytes::BufMut as _;
use freshet_protocol::{COMPRESSED_HEADER_LEN, Command};
use tokio::io::AsyncReadExt as _;

use super::{READ_BYTES, Wire, WireError, below};

/// What a client may send ahead of its answer before it is not listened to any more, in bytes.
const AHEAD_BYTES_MAX: usize = READ_BYTES;

/// What was heard of a client that is owed an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It has sent something, which is kept for later.
    More,
    /// It sends nothing more, and nothing that it has sent is left to be done. It may still read.
    End,
}

impl Wire {
    /// Whether [`Wire::overhear`] has anything to listen to: not after the client's last word, nor while it has sent more
    /// than is kept. The servers do not look further either: to them a client that has sent something is there.
    pub(crate) fn is_listening(&self) -> bool {
        !self.heard_end && self.incoming().len() < AHEAD_BYTES_MAX
    }

    /// Waits for the client to send something or to leave. Breaking this off loses nothing.
    ///
    /// # Errors
    /// The connection is broken, and nothing is left to be done for the client.
    pub(crate) async fn overhear(&mut self) -> Result<Heard, WireError> {
        let Some(stream) = &mut self.stream else { return Err(WireError::Closed) };
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

    /// Whether all that the client has sent ahead is that it leaves.
    fn has_only_quit(&self) -> bool {
        let ahead = match &self.compressed {
            None => self.read.get(..),
            // What is as short is not packed.
            Some(compressed) => {
                compressed.incoming.get(COMPRESSED_HEADER_LEN..).filter(|_| self.read.is_empty())
            }
        };
        ahead == Some(&[1, 0, 0, 0, Command::Quit.byte()])
    }
}

/// Whether TLS says so of a connection that ends without its own farewell.
fn is_end(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::UnexpectedEof
}
