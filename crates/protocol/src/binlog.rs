//! The binary log: the bytes of one event go in, its meaning comes out.
//!
//! Speaks the row-based dialect of both servers, checks every checksum and unpacks compressed events. It knows no tables and no policy:
//! an event that it cannot name is [`EventBody::Unknown`], and the reader decides what to do about that (forget everything). Nothing here
//! panics on any input and nothing grows beyond a named bound, since a decoder that fails takes the freshness of every cached result with
//! it.
//!
//! An event is decoded in two steps. [`Decoder::event`] splits it and copies its row data once; [`RowsEvent::rows`] then walks the rows in
//! place and allocates nothing, so that a reader that needs only a key pays only for the key.

// What an event is.
mod flavor;
mod kind;
mod event;

// From bytes to events: checksums, compression, one event at a time.
mod checksum;
mod inflate;
mod payload;
mod tagged;
mod decoder;

// Events about transactions and statements.
mod gtid;
mod gtid_set;
mod xid;
mod query;

// Events about rows.
mod table_map;
mod rows;

// The values in rows.
mod value;
mod decimal;
mod temporal;

// The reader's side of the stream: asking for it, and acknowledging it.
mod command;
mod semisync;

pub use command::{Replica, binlog_dump, binlog_dump_gtid, register_replica};
pub use decimal::Decimal;
pub use decoder::Decoder;
pub use event::{Event, EventBody, EventHeader};
pub use flavor::BinlogFlavor;
pub use gtid::{Gtid, GtidEvent};
pub use gtid_set::{GtidSet, InvalidGtid};
pub use inflate::UNPACKED_LEN_MAX;
pub use rows::{Fields, RowChange, RowChanges, RowImage, RowsEvent, RowsKind};
pub use semisync::{has_semisync_prefix, semisync_ack, split_semisync};
pub use table_map::{TableColumn, TableMap};
pub use temporal::{Date, DateTime, Time, Timestamp};
pub use value::{Compressed, Field, Value};
pub use xid::Xid;

#[cfg(test)]
mod tests;
