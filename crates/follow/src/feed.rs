//! The sink that hands rows to whoever reads them beside the stamps.

use std::sync::{Arc, OnceLock};

use freshet_cache::Position;
use freshet_catalog::Name;
use freshet_sql::Alteration;

use crate::applier::{ChangeSink, ChangedRows, StreamChange, TransactionEnd};

/// What the stream changes, to somebody who holds copies of rows.
#[derive(Clone, Copy, Debug)]
pub enum RowNews<'a> {
    /// Rows of one table, with their images.
    Rows(ChangedRows<'a>),
    /// The definition of this table, which keeps all its rows: what it does to their columns. The images that follow are by the new one.
    Altered(&'a Name, &'a Alteration),
    /// Any rows of this table, or its definition: what was copied counts for nothing.
    Table(&'a Name),
    /// The same of all tables of this schema.
    Schema(&'a str),
    /// The same of all tables.
    Everything,
}

/// Reads rows beside the stamps. It is told on the follower's thread, in the order of the binlog, and must not wait.
pub trait RowReader: Send + Sync {
    /// An event changes this. It is in effect when the transaction has ended.
    fn told(&self, news: &RowNews<'_>);

    /// The transaction ends at `at`, all changes of which were told. Its position is published as applied after this call.
    fn ended(&self, ending: TransactionEnd, at: Position);

    /// The stream is lost: nothing is told from here on, whatever happens, until another generation begins.
    fn lost(&self);
}

/// Where a reader may be put, once. A handle: its clones feed the same reader.
#[derive(Clone, Default)]
pub(crate) struct Feed(Arc<OnceLock<Arc<dyn RowReader>>>);

impl Feed {
    /// Has this reader be told of all that follows. False if there is one already.
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
                // Most updates of parents change no column that is referred to.
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
            // Rows of MERGE tables are copied by nobody; the others change no row.
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
