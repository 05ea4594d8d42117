//! A statement as text, on its way.

use bytes::Bytes;

use crate::relay::Lost;
use crate::session::{Flow, Forward, Message, Missed, Session};

/// A COM_QUERY under way.
#[derive(Clone, Copy)]
pub(super) struct TextQuery<'a> {
    /// The whole packet.
    pub(super) packet: &'a [u8],
    /// The whole packet, if it is long, for readers beside the event loop.
    pub(super) long: Option<&'a Bytes>,
    /// Where the statement starts in the packet.
    pub(super) text_at: usize,
    /// The outcome of the first look-up.
    pub(super) missed: Missed,
}

impl<'a> TextQuery<'a> {
    pub(super) fn text(&self) -> &'a [u8] {
        &self.packet[self.text_at..]
    }

    pub(super) fn message(&self) -> Message<'a> {
        Message::query(self.packet, self.text())
    }

    /// Returns the same query in another packet, if there is one.
    pub(super) fn in_packet(self, packet: Option<&'a [u8]>) -> Self {
        packet.map_or(self, |packet| Self { packet, long: None, ..self })
    }

    /// Returns the same packet with another statement.
    pub(super) fn with_text(&self, text: &[u8]) -> Vec<u8> {
        [&self.packet[..self.text_at], text].concat()
    }
}

/// Has the server answer a command, with nothing to be done afterwards.
pub(super) async fn forward(session: &mut Session, forward: Forward<'_>) -> Result<Flow, Lost> {
    session.forward(forward).await?;
    Ok(Flow::Continue)
}
