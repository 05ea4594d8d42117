//! Changes of rows.
//!
//! The server first announces the tables of a statement, then sends their rows. Where rows cannot be told apart, any rows of the table
//! count as changed, and any rows to which foreign keys lead.

use freshet_cache::Position;
use freshet_catalog::Name;
use freshet_protocol::binlog::{RowsEvent, TableMap};
use freshet_sql::Flavor;

use super::cascades::{self, Origin, cascades};
use super::changed_rows::ChangedRows;
use super::definitions::DefinitionSource;
use super::sink::{ChangeSink, StreamChange};
use super::{Applier, system};

/// Numbers under which no table is announced: an event with one of them only says that a statement is over.
const NO_TABLE: [u64; 3] = [0xFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF];

impl<D: DefinitionSource, S: ChangeSink> Applier<D, S> {
    /// Takes in the announcement of a table.
    pub(super) fn table_map(&mut self, map: TableMap, at: Position) {
        let (Ok(schema), Ok(table)) = (std::str::from_utf8(&map.schema), std::str::from_utf8(&map.table))
        else {
            return self.tell(&StreamChange::AnyTable, at);
        };
        let name = (self.folded(schema), self.folded(table));
        if system::concerns_everything(&name.0, &name.1) {
            self.tell(&StreamChange::GrantTables, at);
            if system::holds_code(&name.1) {
                self.tell(&StreamChange::Routine(None), at);
            }
        }
        self.group.touch(&name);
        if let Err(name) = self.group.announced.announce(map, name) {
            self.any_rows_with_descendants(&name, at);
        }
    }

    /// Takes in rows of an announced table, and notes that the table is touched.
    pub(super) fn rows(&mut self, rows: &RowsEvent, at: Position) {
        match self.group.announced.with_rows(rows.table_id) {
            Some(announced) => {
                let rows = ChangedRows { table: &announced.name, rows, map: &announced.map };
                let origin = Origin { at, is_mariadb: self.stream.flavor == Flavor::MariaDb };
                self.sink.change(&StreamChange::Rows(rows), at);
                // Also where the server logs the changes through foreign keys: MySQL 9.7 does so for some statements, and for others it
                // announces the children and logs no rows of them.
                let cascades = cascades(&self.definitions, rows, origin);
                let children = cascades.iter().flat_map(|cascades| &cascades.children);
                children
                    .clone()
                    .for_each(|child| self.sink.change(&StreamChange::Referring(child, rows), at));
                children.for_each(|child| self.group.touch(&child.table));
                self.any_rows_of_each(cascades.as_ref().map(|cascades| cascades.whole.as_slice()), at);
            }
            None if NO_TABLE.contains(&rows.table_id) => {}
            None => self.tell(&StreamChange::AnyTable, at),
        }
        if rows.last_of_statement {
            self.statement_over(at);
        }
    }

    /// Ends the present statement: no more rows of it follow.
    pub(super) fn statement_over(&mut self, at: Position) {
        let announced = std::mem::take(&mut self.group.announced);
        let below = announced
            .only_one_with_rows()
            .and_then(|(schema, table)| self.definitions.descendants(schema, table));
        for name in announced.without_rows() {
            // A table that hangs by foreign keys on the table with the rows was announced for these rows, which have told what they
            // reach. A table that only may hang on it may instead be part of a MERGE table.
            if !below.as_ref().is_some_and(|below| cascades::is_among(&below.by_keys, &name.0, &name.1)) {
                self.any_rows_with_descendants(name, at);
            }
        }
    }

    /// Tells the sink that any rows of this table may have changed, and any rows to which foreign keys lead from it.
    pub(super) fn any_rows_with_descendants(&mut self, name: &Name, at: Position) {
        self.tell(&StreamChange::AnyRows(name), at);
        let descendants = self.definitions.descendants(&name.0, &name.1);
        self.any_rows_of_each(descendants.as_ref().map(|descendants| &*descendants.all), at);
    }

    /// Tells the sink that any rows of these tables may have changed; without a list, of any table.
    pub(super) fn any_rows_of_each(&mut self, tables: Option<&[Name]>, at: Position) {
        match tables {
            None => self.tell(&StreamChange::AnyTable, at),
            Some(tables) => tables.iter().for_each(|name| self.tell(&StreamChange::AnyRows(name), at)),
        }
    }
}
