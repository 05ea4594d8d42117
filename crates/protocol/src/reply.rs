//! The packets that servers answer with, as values.

mod changes;
mod column;
mod eof;
mod err;
mod ok;
mod prepare;

#[cfg(test)]
mod tests;

pub use changes::StateChange;
pub use column::Column;
pub use eof::EofPacket;
pub use err::ErrPacket;
pub use ok::OkPacket;
pub use prepare::PrepareOk;

pub(crate) use ok::summary;
