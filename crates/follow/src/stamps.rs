//! The sink that sets stamps: everything that a change concerns is stamped at the position of its event.
//!
//! Any change of a table's rows stamps the table's own dependency. The watches on the table are stamped row by row, so the cost of an
//! event depends on its rows and on the watches of its table, and not on what is stored. Where rows cannot be told apart, the table is
//! stamped as a whole: its own dependency, and of each watch the dependency of every entry that rests on it.
//!
//! `applied` and `visible` are ends of transactions. So a stamp anywhere within a transaction says the same as a stamp at its end: it is
//! above every `valid_from` that is read before the end is published, and not above later ones. It only takes effect earlier.

use std::sync::Arc;

use freshet_cache::{Dep, Freshness, Position};
use freshet_catalog::rows::{Watch, Watches};
use freshet_catalog::{Changed, Name, of_merged_tables, routine_name};

use crate::applier::{ChangeSink, ChangedRows, Referring, ReferringKeys, StreamChange, TransactionEnd};

/// Sets stamps. A handle: its clones set the same stamps.
#[derive(Clone)]
pub struct Stamps {
    freshness: Arc<Freshness>,
    watches: Arc<Watches>,
}

impl Stamps {
    /// Makes a sink that stamps these dependencies and watches.
    #[must_use]
    pub const fn new(freshness: Arc<Freshness>, watches: Arc<Watches>) -> Self {
        Self { freshness, watches }
    }

    fn table(&self, (schema, table): &Name, at: Position) {
        self.freshness.stamp(self.freshness.table(schema, table).rows, at);
    }

    fn definition(&self, (schema, name): &Name, at: Position) {
        self.freshness.stamp(self.freshness.table(schema, name).definition, at);
    }

    fn watches_on(&self, (schema, table): &Name) -> Arc<[Arc<Watch>]> {
        self.watches.on(schema, table)
    }

    fn accounts(&self, users: &[String], at: Position) {
        users.iter().for_each(|user| self.freshness.stamp(self.freshness.account(user), at));
        self.freshness.stamp(Dep::ACCOUNTS, at);
    }
}

impl ChangeSink for Stamps {
    fn reach(&mut self, at: Position) {
        self.watches.reach(at);
    }

    fn change(&mut self, change: &StreamChange<'_>, at: Position) {
        match *change {
            StreamChange::Rows(rows) => {
                stamp_rows(&self.watches_on(rows.table), rows, at);
                self.table(rows.table, at);
            }
            StreamChange::Referring(children, parents) => {
                let watches = self.watches_on(&children.table);
                watches.iter().for_each(|watch| stamp_referring(watch, children, parents, at));
                self.table(&children.table, at);
            }
            StreamChange::AnyRows(table) => {
                self.table(table, at);
                self.watches_on(table).iter().for_each(|watch| watch.stamp_any(at));
            }
            StreamChange::AnyMerged => self.freshness.stamp(of_merged_tables(&self.freshness), at),
            StreamChange::Altered(table, _) => {
                self.table(table, at);
                self.watches_on(table).iter().for_each(|watch| watch.stamp_any(at));
                self.definition(table, at);
            }
            StreamChange::Tables(tables) | StreamChange::Unlinked(tables) => {
                tables.iter().for_each(|table| self.definition(table, at));
            }
            StreamChange::Routine(Some(routine)) => self.definition(&routine_name(routine), at),
            StreamChange::Schema(schema) => self.freshness.stamp(self.freshness.schema(schema), at),
            StreamChange::Accounts { users: Some(users), .. } => self.accounts(users, at),
            StreamChange::AnyTable
            | StreamChange::Routine(None)
            | StreamChange::Accounts { users: None, .. }
            | StreamChange::GrantTables
            | StreamChange::Anything => {
                self.freshness.stamp(Dep::EVERYTHING, at);
            }
        }
        // After the stamps, which end the entries that rest on these watches.
        if let Some(what) = change.of_definitions() {
            self.watches.changed(what);
        }
    }

    /// A prepared or rolled back transaction is stamped like any other: that costs hits, and never makes an answer wrong.
    fn ended(&mut self, _ending: TransactionEnd, _at: Position) {}

    fn forget(&mut self, above: Position) {
        self.freshness.stamp(Dep::EVERYTHING, above);
        self.watches.changed(Changed::Everything);
    }
}

/// Stamps what these rows concern for the watches on their table.
fn stamp_rows(watches: &[Arc<Watch>], rows: ChangedRows<'_>, at: Position) {
    if watches.is_empty() {
        return;
    }
    let is_known = watches.iter().all(|watch| watch.fits(rows.columns()));
    let stamp_each = || {
        rows.each(|images| {
            watches.iter().for_each(|watch| watch.stamp_change(images, at));
            Some(())
        })
    };
    if !is_known || stamp_each().is_none() {
        watches.iter().for_each(|watch| watch.stamp_any(at));
    }
}

/// Stamps what the deletion or the update of these parents concerns for a watch on their children.
fn stamp_referring(watch: &Watch, children: &Referring, parents: ChangedRows<'_>, at: Position) {
    let is_known = watch.layout() == children.layout();
    let stamp_each = || {
        parents.each(|parent| {
            if children.is_reached(parent)? {
                let ReferringKeys { before, after } = children.keys(parent);
                watch.stamp_referring(&before, after.as_deref(), at);
            }
            Some(())
        })
    };
    if !is_known || stamp_each().is_none() {
        watch.stamp_any(at);
    }
}
