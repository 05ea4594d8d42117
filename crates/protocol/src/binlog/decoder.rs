//! One event at a time, from bytes.

use super::event::Event;
use crate::Malformed;

/// Which server writes the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavor {
    /// MySQL and what is built from it.
    MySql,
    /// MariaDB.
    MariaDb,
}

/// Decodes the events of one stream, in order.
#[derive(Clone, Debug)]
pub struct Decoder {
    flavor: Flavor,
}

impl Decoder {
    /// A decoder for a stream from its start.
    pub fn new(flavor: Flavor) -> Self {
        Decoder { flavor }
    }
    /// Decodes one event: the bytes after the network packet's leading 0x00.
    pub fn event(&mut self, _bytes: &[u8]) -> Result<Event, Malformed> {
        let _ = self.flavor;
        unimplemented!()
    }
}
