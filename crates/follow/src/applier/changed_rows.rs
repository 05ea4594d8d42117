//! The rows that one event changes.

use freshet_catalog::Name;
use freshet_catalog::rows::Images;
use freshet_protocol::binlog::{Field, RowImage, RowsEvent, RowsKind, TableMap};

/// The rows of one event, all of one table. They are decoded when they are read.
#[derive(Clone, Copy, Debug)]
pub struct ChangedRows<'a> {
    /// The table, in the form in which the catalog compares names.
    pub table: &'a Name,
    pub(super) rows: &'a RowsEvent,
    pub(super) map: &'a TableMap,
}

impl ChangedRows<'_> {
    /// Whether the rows are inserted, updated or deleted.
    #[must_use]
    pub const fn kind(&self) -> RowsKind {
        self.rows.kind
    }

    /// Returns the number of columns in each image.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.map.columns.len()
    }

    /// Calls `take` with the images of each row, in the order of the binlog. `None` if `take` returns that, or if the bytes cannot be
    /// read; some rows may have been handed out by then.
    pub fn each(&self, mut take: impl FnMut(Images<'_, '_>) -> Option<()>) -> Option<()> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for change in self.rows.rows(self.map).ok()? {
            let change = change.ok()?;
            let before = match change.before {
                Some(image) => Some(unpack(image, &mut before)?),
                None => None,
            };
            let after = match change.after {
                Some(image) => Some(unpack(image, &mut after)?),
                None => None,
            };
            take(Images { before, after })?;
        }
        Some(())
    }
}

/// Returns the fields of an image, in a buffer that is reused. `None`: the bytes cannot be read.
fn unpack<'a, 'f>(image: RowImage<'f>, fields: &'a mut Vec<Field<'f>>) -> Option<&'a [Field<'f>]> {
    fields.clear();
    for field in image.fields() {
        fields.push(field.ok()?);
    }
    Some(fields)
}
