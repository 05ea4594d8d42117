//! The wire protocol of MySQL and MariaDB, and their binary log: bytes to
//! packets and packets to bytes.
//!
//! It refuses to know sockets, clocks, sessions and policy. Every function is
//! pure: bytes are handed in, values come out, and "more bytes are needed" is
//! a value and not an error. Nothing here panics on any input, since both the
//! client and the server are, to a proxy, strangers.
//!
//! It has this shape because a proxy reads three very different things. What
//! it must *understand* (handshakes, OK packets, its own answers) is decoded
//! into structs that encode back to the same bytes. What it only *relays* (the
//! answers of the server) is never decoded: [`Answer`] follows it frame by
//! frame, looks at a byte or two of each and allocates nothing. What tells it
//! of changes (the binlog) has a decoder of its own in [`binlog`].

// Elementary values, flags and capabilities.
mod bytes;
mod status;
mod capabilities;

// Frames, and the compressed layer below them.
mod frame;
mod compressed;

// The login.
pub mod auth;
mod handshake;

// A client's commands.
mod command;
mod execute;

// A server's answers: followed frame by frame, read as values, and written.
mod answer;
mod reply;
mod resultset;

// The binary log.
pub mod binlog;

pub use answer::{Answer, Part, RowsAtFront, Seen};
pub use auth::{caching_sha2, native, random_scramble, rsa};
pub use bytes::{Malformed, Put, Reader};
pub use capabilities::Capabilities;
pub use command::Command;
pub use compressed::{
    COMPRESSED_HEADER_LEN, CompressedHeader, Compression, NoSuchLevel, NotPacked, Packer, Unpacker,
};
pub use execute::{Execution, ExecutionParts, Parameter, ParameterType};
pub use frame::{
    FRAME_MAX, FrameError, FrameHeader, HEADER_LEN, Numbering, Packet, put_packet, take_packet,
    take_packet_numbered,
};
pub use handshake::{
    AuthReply, CACHING_SHA2_PASSWORD, ChangeUser, ClientHello, Greeting, Login, MYSQL_CLEAR_PASSWORD,
    MYSQL_NATIVE_PASSWORD, SCRAMBLE_LEN, SHA256_PASSWORD, ServerHello, SslRequest, auth_more, auth_switch,
    scramble_in,
};
pub use reply::{Column, EofPacket, ErrPacket, OkPacket, PrepareOk, StateChange};
pub use resultset::{BinaryValue, binary_result_set, text_result_set};
pub use status::StatusFlags;
