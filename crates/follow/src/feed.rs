//! The sink that gives rows to a reader beside the stamps.

use std::sync::{Arc, OnceLock};

use freshet_cache::Position;
use freshet_catalog::Name;
use freshet_sql::Alteration;

use crate::applier::{ChangeSink, ChangedRows, StreamChange, TransactionEnd};

/// A change of the stream, for a reader that holds copies of rows.
#[derive(Clone, Copy, Debug)]
pub enum RowNews<'a> {
    /// Rows of one table, with their images.
    Rows(ChangedRows<'a>),
    /// The definition of this table, which keeps all its rows, and its effect on their columns. The images that follow have the new
    /// columns.
    Altered(&'a Name, &'a Alteration),
    /// Any rows of this table, or its definition: its copy is of no use any more.
    Table(&'a Name),
    /// Any rows or definitions of all tables of this schema.
    Schema(&'a str),
    /// Any rows or definitions of all tables.
    Everything,
}

/// Reads rows beside the stamps. It is called on the follower's thread, in the order of the binlog, and must not wait.
pub trait RowReader: Send + Sync {
    /// Tells a change of an event. It is in effect when the transaction has ended.
    fn told(&self, news: &RowNews<'_>);

    /// Tells the end of a transaction at `at`. All its changes were told before. Its position is published as applied after this call.
    fn ended(&self, ending: TransactionEnd, at: Position);

    /// Tells the loss of the stream: nothing is told from here on, whatever happens, until another generation begins.
    fn lost(&self);
}

/// The place for one reader, which is put there once. A handle: its clones feed the same reader.
#[derive(Clone, Default)]
pub(crate) struct Feed(Arc<OnceLock<Arc<dyn RowReader>>>);

impl Feed {
    /// Sets the reader of all that follows. `false` if there is one already.
    pub(crate) fn read_by(&self, reader: Arc<dyn RowReader>) -> bool {
        self.0.set(reader).is_ok()
    }
}

impl ChangeSink for Feed {
    fn reach(&mut self, _at: Position) {}

    fn change(&mut self, change: &StreamChange<'_>, _at: Position) {
        let Some(reader) = self.0.get() else { return };
        match *change {
            StreamChange::Rows(rows) => reader.told(&RowNews::Rows(rows)),
            StreamChange::Referring(children, parents) => {
                // Most updates of parents change no column to which a key refers.
                let are_untouched =
                    parents.each(|parent| (children.is_reached(parent) == Some(false)).then_some(()));
                if are_untouched.is_none() {
                    reader.told(&RowNews::Table(&children.table));
                }
            }
            StreamChange::Altered(table, alteration) => reader.told(&RowNews::Altered(table, alteration)),
            StreamChange::AnyRows(table) => reader.told(&RowNews::Table(table)),
            StreamChange::Tables(tables) | StreamChange::Unlinked(tables) => {
                tables.iter().for_each(|table| reader.told(&RowNews::Table(table)));
            }
            StreamChange::Schema(schema) => reader.told(&RowNews::Schema(schema)),
            StreamChange::AnyTable | StreamChange::Anything => reader.told(&RowNews::Everything),
            // Nobody copies rows of MERGE tables; the others change no row.
            StreamChange::AnyMerged
            | StreamChange::Routine(_)
            | StreamChange::Accounts { .. }
            | StreamChange::GrantTables => {}
        }
    }

    fn ended(&mut self, ending: TransactionEnd, at: Position) {
        if let Some(reader) = self.0.get() {
            reader.ended(ending, at);
        }
    }

    fn forget(&mut self, _above: Position) {
        if let Some(reader) = self.0.get() {
            reader.lost();
        }
    }
}
