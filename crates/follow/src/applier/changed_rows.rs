//! The rows that one event changes.

use freshet_catalog::Name;
use freshet_catalog::rows::Images;
use freshet_protocol::binlog::{Field, RowImage, Rows, RowsKind, TableMap};

/// The rows of one event, all of one table. They are decoded when they are asked for.
#[derive(Clone, Copy, Debug)]
pub struct ChangedRows<'a> {
    /// The table, as the catalog compares names.
    pub table: &'a Name,
    pub(super) rows: &'a Rows,
    pub(super) map: &'a TableMap,
}

impl ChangedRows<'_> {
    /// Whether they are inserted, updated or deleted.
    #[must_use]
    pub const fn kind(&self) -> RowsKind {
        self.rows.kind
    }

    /// How many columns each of their images has.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.map.columns.len()
    }

    /// Hands out the images of each row, in the order of the binlog. `None` if `take` gives that, or if the bytes cannot be
    /// read; some rows may have been handed out by then.
    pub fn each(&self, mut take: impl FnMut(Images<'_, '_>) -> Option<()>) -> Option<()> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for change in self.rows.rows(self.map).ok()? {
            let change = change.ok()?;
            take(Images {
                before: unpack(change.before, &mut before)?,
                after: unpack(change.after, &mut after)?,
            })?;
        }
        Some(())
    }
}

/// The fields of an image, in a buffer that is used again. The outer `None`: the bytes cannot be read.
#[expect(clippy::option_option, reason = "there may be no such image")]
fn unpack<'a, 'f>(
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
