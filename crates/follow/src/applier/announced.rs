//! The tables that a statement was announced to change.
//!
//! The server announces each of them, also those whose rows change without events of their own (through foreign keys). So a table that
//! was announced, and has had no rows by the end of the statement, may have changed in an unknown way.

use freshet_catalog::Name;
use freshet_protocol::binlog::TableMap;

/// The most tables that are remembered of one statement. Further tables count as changed as a whole.
const TABLES_MAX: usize = 1_024;

/// A table, under the number to which its rows refer.
#[derive(Debug)]
pub(super) struct Announced {
    pub(super) map: TableMap,
    /// In the form in which the catalog compares names.
    pub(super) name: Name,
    has_rows: bool,
}

/// The tables that were announced since the last statement ended.
#[derive(Debug, Default)]
pub(super) struct AnnouncedTables {
    tables: Vec<Announced>,
}

impl AnnouncedTables {
    /// Notes an announced table. Fails with its name if there are too many.
    pub(super) fn announce(&mut self, map: TableMap, name: Name) -> Result<(), Name> {
        let announced = Announced { map, name, has_rows: false };
        if let Some(known) = self.tables.iter_mut().find(|table| table.map.id == announced.map.id) {
            // A table is announced again within one statement when its rows are too many for one event.
            *known = Announced { has_rows: known.has_rows, ..announced };
            return Ok(());
        }
        if self.tables.len() >= TABLES_MAX {
            return Err(announced.name);
        }
        self.tables.push(announced);
        Ok(())
    }

    /// Returns the table to which rows refer, and notes that it has rows.
    pub(super) fn with_rows(&mut self, id: u64) -> Option<&Announced> {
        let table = self.tables.iter_mut().find(|table| table.map.id == id)?;
        table.has_rows = true;
        Some(table)
    }

    /// Returns the tables that had no rows.
    pub(super) fn without_rows(&self) -> impl Iterator<Item = &Name> {
        self.tables.iter().filter(|table| !table.has_rows).map(|table| &table.name)
    }

    /// Returns the table that had rows, if it is the only one.
    pub(super) fn only_one_with_rows(&self) -> Option<&Name> {
        let mut with_rows = self.tables.iter().filter(|table| table.has_rows);
        let first = with_rows.next()?;
        with_rows.next().is_none().then_some(&first.name)
    }
}
