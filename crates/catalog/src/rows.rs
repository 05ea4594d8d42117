//! Rows told apart: the rows that an entry could have read, and the rows that a change concerns.
//!
//! An entry that names a table need not depend on all of it. If every row that can influence it satisfies a condition on some columns
//! (the row is *pinned*), the entry depends on the rows whose *keys* satisfy the condition, and on nothing else of the table. Three
//! parties have to agree on what a key is, and none of them sees the other two at work: the session that reads has literals; the session
//! that writes has literals too; the applier has the bytes of the binlog.
//!
//! * A [`Key`] is the canonical form of a column's value. *Whenever the server would call `column = literal` true, both have the same
//!   key.* The reverse need not hold: two values that share a key cost a needless invalidation. Where the promise cannot be kept there is
//!   no key. Without a key, each party takes the wider choice: the reader takes the whole table, the writer and the applier take
//!   [`Watch::any`].
//! * A [`Watch`] tells the applier about a way to read a table: the key columns and the columns read. For every watch on a table, the
//!   applier stamps what a change of a row concerns: the row's keys before and after, or nothing if no column that matters has changed.
//! * [`Watches`] is where the three meet. It decides when an entry may rest on a watch.
//!
//! # When a watch may be used
//!
//! A watch is made while changes and writes are under way that do not know it. It has to wait for three things.
//!
//! *Stamps.* The applier publishes the position of an event before it asks which watches there are. A watch is entered first and reads
//! that position then, as its `born`. If an event's watches were looked up without the new one, the event's position had been published
//! before, so it is not above `born`; and every entry that rests on the watch is at least as new as `born`.
//!
//! *Fences.* A write raises fences on the slots that it touches, for the watches that exist when it begins. It takes a [`Ticket`] under
//! the lock under which watches are entered, and holds it as long as its fences. A watch counts as usable only when all tickets that were
//! given out before it was entered are gone.
//!
//! *Layouts.* A watch reads columns by their place. Its definition says from which position on the binlog has this layout, and every
//! entry that rests on the watch is at least as new as that. A later change of the layout stamps the definition, on which every entry of
//! the table depends as well.
//!
//! A level of a range watch, or a length of prefixes, comes into use in the same way as a watch does.

// Keys, and their form for each type.
mod zone;
mod key;
mod blocks;
mod slot;

// Watches, and when a watch may be used.
mod era;
mod in_use;
mod spec;
mod watch;
mod watches;

// Readers.
mod reading;
mod plan;
mod settled;

// Writers.
mod write;
mod child;

// The applier.
mod change;

#[cfg(any(test, feature = "samples"))]
pub mod samples;

pub use change::{ColumnKey, Images, may_have_changed};

pub use child::{Acted, acted};
pub use era::Ticket;
pub use key::{Key, KeyType, Labels, has_time, key_of_assigned, key_of_datum, key_of_field};
pub use plan::{Reading, plan};
pub use reading::{prefix, range};
pub use settled::settled;
pub use spec::WatchSpec;
pub use watch::Watch;
pub use watches::Watches;
pub use write::{TouchedSlots, reached, reaches_nothing};
pub use zone::{Values, Zone};
