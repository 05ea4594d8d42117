//! Rows events, and the rows in them.

mod image;

use super::inflate;
use super::table_map::{TableMap, bit};
use crate::{Malformed, Reader};

pub use image::{Fields, RowImage};

/// Set when no more rows of the statement follow.
const LAST_OF_STATEMENT: u16 = 1;
/// Columns of the widest table that either server allows.
const WIDTH_MAX: usize = 4096;

/// What happened to the rows of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowsKind {
    /// Each row has an after image.
    Insert,
    /// Each row has both images.
    Update,
    /// Each row has a before image.
    Delete,
}

/// How a rows event is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    V1,
    /// With a block of extra data behind the flags.
    V2,
    /// After images may hold differences of JSON values.
    V2Partial,
    /// MariaDB: the rows are zlib-compressed.
    V1Compressed,
    V2Compressed,
}

/// Rows of one table that one statement changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsEvent {
    /// The number that a [`TableMap`] gave the table.
    pub table_id: u64,
    /// What happened to them.
    pub kind: RowsKind,
    /// No more rows of this statement follow; the numbers given to tables end.
    pub last_of_statement: bool,
    width: usize,
    /// Which columns the images have: before, after, or the same for both.
    before: Vec<u8>,
    after: Vec<u8>,
    partial: bool,
    data: Vec<u8>,
}

impl RowsEvent {
    /// `None` if the rows unpack to more than the bound.
    pub(super) fn parse(body: &[u8], kind: RowsKind, encoding: Encoding) -> Result<Option<Self>, Malformed> {
        let mut reader = Reader::new(body);
        let table_id = reader.u48()?;
        let flags = reader.u16()?;
        if !matches!(encoding, Encoding::V1 | Encoding::V1Compressed) {
            skip_extra(&mut reader)?;
        }
        let width = usize::try_from(reader.lenenc_int()?).unwrap_or(usize::MAX);
        if width > WIDTH_MAX {
            return Err(Malformed::new("rows with too many columns"));
        }
        let first = reader.take(width.div_ceil(8))?;
        let second = match kind {
            RowsKind::Update => reader.take(width.div_ceil(8))?,
            RowsKind::Insert | RowsKind::Delete => first,
        };
        let data = match encoding {
            Encoding::V1 | Encoding::V2 | Encoding::V2Partial => Some(reader.rest().to_vec()),
            Encoding::V1Compressed | Encoding::V2Compressed => inflate::record(reader.rest())?,
        };
        Ok(data.map(|data| RowsEvent {
            table_id,
            kind,
            last_of_statement: flags & LAST_OF_STATEMENT != 0,
            width,
            before: first.to_vec(),
            after: second.to_vec(),
            partial: encoding == Encoding::V2Partial,
            data,
        }))
    }

    /// Returns the rows, where they lie.
    ///
    /// # Errors
    ///
    /// If the map is not of this table, or the rows cannot be told apart: a
    /// column of a type that is unknown or of unknown length, or images
    /// without any column. The table has changed all the same.
    pub fn rows<'a>(&'a self, map: &'a TableMap) -> Result<RowChanges<'a>, Malformed> {
        map.legible()?;
        if map.id != self.table_id || map.columns.len() != self.width {
            return Err(Malformed::new("rows of another table than the map's"));
        }
        // A row without columns takes no bytes, so there may be any number.
        if !(0..self.width).any(|i| bit(&self.before, i) || bit(&self.after, i)) {
            return Err(Malformed::new("rows without columns"));
        }
        Ok(RowChanges { rows: self, map, left: &self.data })
    }
}

/// Skips the block of extra data, whose length counts itself.
fn skip_extra(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    let len = usize::from(reader.u16()?);
    let rest = len.checked_sub(2).ok_or(Malformed::new("rows with broken extra data"))?;
    reader.take(rest)?;
    Ok(())
}

/// The rows of an event, one change at a time. After an error it ends.
#[derive(Clone, Debug)]
pub struct RowChanges<'a> {
    rows: &'a RowsEvent,
    map: &'a TableMap,
    left: &'a [u8],
}

impl<'a> Iterator for RowChanges<'a> {
    type Item = Result<RowChange<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let change = self.change();
        if change.is_err() {
            self.left = &[];
        }
        Some(change)
    }
}

impl<'a> RowChanges<'a> {
    fn change(&mut self) -> Result<RowChange<'a>, Malformed> {
        let rows = self.rows;
        let before = match rows.kind {
            RowsKind::Insert => None,
            RowsKind::Update | RowsKind::Delete => Some(self.image(&rows.before, false)?),
        };
        let after = match rows.kind {
            RowsKind::Delete => None,
            RowsKind::Update | RowsKind::Insert => Some(self.image(&rows.after, rows.partial)?),
        };
        Ok(RowChange { before, after })
    }

    fn image(&mut self, present: &'a [u8], partial: bool) -> Result<RowImage<'a>, Malformed> {
        let (image, left) = RowImage::split(&self.map.columns, present, partial, self.left)?;
        self.left = left;
        Ok(image)
    }
}

/// One row's change.
#[derive(Clone, Copy, Debug)]
pub struct RowChange<'a> {
    /// The row before it, unless it was inserted.
    pub before: Option<RowImage<'a>>,
    /// The row after it, unless it was deleted.
    pub after: Option<RowImage<'a>>,
}
