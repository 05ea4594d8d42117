//! Changes of rows.
//!
//! What a statement changes is announced table by table, then come the rows. With its rows a table's own dependency is
//! stamped; its watches are stamped row by row, so that the cost of an event depends on its rows and on the watches of its
//! table, and not on what is stored. Wherever rows cannot be told, the table is stamped as a whole: itself and, of each of
//! its watches, what every entry depends on.

use std::sync::Arc;

use freshet_cache::{Dep, Position};
use freshet_catalog::rows::{Images, Watch};
use freshet_catalog::{Changed, Name};
use freshet_protocol::binlog::{Field, RowChange, RowImage, Rows, TableMap};
use freshet_sql::Flavor;

use super::{Applier, Definitions, keys, system};

/// Numbers under which no table is announced: an event that only says that a statement is over carries one of them.
const NO_TABLE: [u64; 3] = [0xFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF];

impl<D: Definitions> Applier<D> {
    /// A table is announced.
    pub(super) fn table_map(&mut self, map: TableMap, at: Position) -> bool {
        let (Ok(schema), Ok(table)) = (std::str::from_utf8(&map.schema), std::str::from_utf8(&map.table))
        else {
            self.stamp(Dep::EVERYTHING, at);
            return false;
        };
        let name = (self.folded(schema), self.folded(table));
        if system::concerns_everything(&name.0, &name.1) {
            self.stamp(Dep::EVERYTHING, at);
            self.definitions.accounts_changed();
            if system::holds_code(&name.1) {
                self.definitions.changed(Changed::Routine);
            }
        }
        self.group.touch(&name.0, &name.1);
        if let Err((schema, table)) = self.group.statement.announce(map, name) {
            self.whole_with_descendants(&schema, &table, at);
        }
        false
    }

    /// Rows of a table that was announced.
    pub(super) fn rows(&mut self, rows: &Rows, at: Position) -> bool {
        match self.group.statement.with_rows(rows.table_id) {
            Some(announced) => {
                let (schema, table) = announced.name.clone();
                stamp_rows(&self.watches.on(&schema, &table), rows, &announced.map, at);
                // Also where the server logs what foreign keys change: MySQL 9.7 does so for some statements, and for others it
                // announces the children and logs no rows of them.
                let reached = keys::reached(
                    &self.definitions,
                    announced,
                    rows,
                    (at, self.reading.flavor == Flavor::MariaDb),
                );
                for child in reached.iter().flat_map(|reached| &reached.children) {
                    let watches = self.watches.on(&child.name.0, &child.name.1);
                    watches.iter().for_each(|watch| child.stamp(watch, (rows, &announced.map), at));
                }
                self.stamp_table(&schema, &table, at);
                for child in reached.iter().flat_map(|reached| &reached.children) {
                    self.stamp_table(&child.name.0, &child.name.1, at);
                }
                self.whole_each(reached.as_ref().map(|reached| reached.whole.as_slice()), at);
            }
            None if NO_TABLE.contains(&rows.table_id) => {}
            None => self.stamp(Dep::EVERYTHING, at),
        }
        if rows.last_of_statement {
            self.statement_over(at);
        }
        false
    }

    /// No more rows of the present statement follow.
    pub(super) fn statement_over(&mut self, at: Position) {
        let statement = std::mem::take(&mut self.group.statement);
        let below = statement
            .only_one_with_rows()
            .and_then(|(schema, table)| self.definitions.descendants(schema, table));
        for (schema, table) in statement.without_rows() {
            // What hangs by foreign keys on the table with the rows was announced for these, which have told what they reach.
            // What only may hang on it may as well be the part of a MERGE table.
            if !below.as_ref().is_some_and(|below| keys::is_among(&below.by_keys, schema, table)) {
                self.whole_with_descendants(schema, table, at);
            }
        }
    }

    /// Any rows of this table may have changed, and of those that foreign keys lead to.
    pub(super) fn whole_with_descendants(&mut self, schema: &str, table: &str, at: Position) {
        self.whole(schema, table, at);
        self.descendants(schema, table, at);
    }

    /// Any rows of this table may have changed.
    pub(super) fn whole(&mut self, schema: &str, table: &str, at: Position) {
        self.stamp_table(schema, table, at);
        for watch in self.watches.on(schema, table).iter() {
            watch.stamp_any(at);
        }
    }

    fn stamp_table(&mut self, schema: &str, table: &str, at: Position) {
        let dep = self.freshness.table(schema, table).rows;
        self.stamp(dep, at);
        self.group.touch(schema, table);
    }

    /// Any rows of the tables that foreign keys lead to from this one may have changed.
    fn descendants(&mut self, schema: &str, table: &str, at: Position) {
        let descendants = self.definitions.descendants(schema, table);
        self.whole_each(descendants.as_ref().map(|descendants| &*descendants.all), at);
    }

    /// Any rows of these tables may have changed; without a list, of any table.
    fn whole_each(&mut self, tables: Option<&[Name]>, at: Position) {
        match tables {
            None => self.stamp(Dep::EVERYTHING, at),
            Some(tables) => tables.iter().for_each(|(schema, table)| self.whole(schema, table, at)),
        }
    }
}

/// Stamps what the rows of one event concern.
fn stamp_rows(watches: &[Arc<Watch>], rows: &Rows, map: &TableMap, at: Position) {
    if watches.is_empty() {
        return;
    }
    let is_known = watches.iter().all(|watch| watch.fits(map.columns.len()));
    if !is_known || try_stamp_rows(watches, rows, map, at).is_none() {
        watches.iter().for_each(|watch| watch.stamp_any(at));
    }
}

/// `None` if the rows cannot be told, perhaps after some of them.
fn try_stamp_rows(watches: &[Arc<Watch>], rows: &Rows, map: &TableMap, at: Position) -> Option<()> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for change in rows.rows(map).ok()? {
        let RowChange { before: image_before, after: image_after } = change.ok()?;
        let images =
            Images { before: unpack(image_before, &mut before)?, after: unpack(image_after, &mut after)? };
        watches.iter().for_each(|watch| watch.stamp_change(images, at));
    }
    Some(())
}

/// The fields of an image, in a buffer that is used again. The outer `None`: it is broken.
#[expect(clippy::option_option, reason = "there may be no such image")]
pub(super) fn unpack<'a, 'f>(
    image: Option<RowImage<'f>>,
    fields: &'a mut Vec<Field<'f>>,
) -> Option<Option<&'a [Field<'f>]>> {
    let Some(image) = image else { return Some(None) };
    fields.clear();
    for field in image.fields() {
        fields.push(field.ok()?);
    }
    Some(Some(fields))
}
