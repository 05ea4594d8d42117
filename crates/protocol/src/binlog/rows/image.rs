//! One row as it was or as it became.

use crate::binlog::kind::column;
use crate::binlog::table_map::{TableColumn, bit};
use crate::binlog::value::{self, Field, Value};
use crate::{Malformed, Reader};

/// One row image, where it lies in the event. Its columns have been measured,
/// so that walking them again finds every one whole.
#[derive(Clone, Copy, Debug)]
pub struct RowImage<'a> {
    columns: &'a [TableColumn],
    present: &'a [u8],
    nulls: &'a [u8],
    /// For each JSON column of the table, in the image or not: whether only a
    /// difference was logged. Empty if none was.
    partial: &'a [u8],
    cells: &'a [u8],
}

impl<'a> RowImage<'a> {
    /// Returns the image at the front of `data`, and what comes after it.
    pub(super) fn split(
        columns: &'a [TableColumn],
        present: &'a [u8],
        may_be_partial: bool,
        data: &'a [u8],
    ) -> Result<(Self, &'a [u8]), Malformed> {
        let mut reader = Reader::new(data);
        let partial = if may_be_partial { partial_bits(&mut reader, columns)? } else { &[] };
        let count = (0..columns.len()).filter(|i| bit(present, *i)).count();
        let nulls = reader.take(count.div_ceil(8))?;
        let cells = reader.rest();
        let mut fields = Fields::new(RowImage { columns, present, nulls, partial, cells });
        while fields.step()?.is_some() {}
        let left = fields.cells;
        let mut image = fields.image;
        image.cells = &cells[..cells.len() - left.len()];
        Ok((image, left))
    }

    /// Its columns, in the table's order.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(*self)
    }

    /// One column, by its ordinal from 0; it walks over those before it, so a
    /// reader of several should walk [`RowImage::fields`] once.
    ///
    /// # Errors
    ///
    /// If there is no such column, or its value is impossible.
    pub fn field(&self, column: usize) -> Result<Field<'a>, Malformed> {
        let mut fields = self.fields();
        for _ in 0..column {
            fields.step()?;
        }
        fields.next().unwrap_or(Err(Malformed::new("no such column in the row")))
    }
}

/// PARTIAL_UPDATE_ROWS puts options before each after image, and if any JSON
/// value is partial, a bit for each JSON column of the table.
fn partial_bits<'a>(reader: &mut Reader<'a>, columns: &[TableColumn]) -> Result<&'a [u8], Malformed> {
    const PARTIAL_JSON: u64 = 1;

    match reader.lenenc_int()? {
        0 => Ok(&[]),
        PARTIAL_JSON => {
            let json = columns.iter().filter(|c| c.kind == column::JSON).count();
            reader.take(json.div_ceil(8))
        }
        _ => Err(Malformed::new("row image with unknown options")),
    }
}

/// The columns of a row image, in the table's order.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    image: RowImage<'a>,
    cells: &'a [u8],
    /// Columns, columns in the image and JSON columns passed so far.
    column: usize,
    in_image: usize,
    json: usize,
}

/// What stands for a column in the image, its value not looked at yet.
enum ImageCell<'a> {
    Absent,
    Null,
    Bytes { column: &'a TableColumn, bytes: &'a [u8], partial: bool },
}

impl<'a> Fields<'a> {
    fn new(image: RowImage<'a>) -> Self {
        Fields { image, cells: image.cells, column: 0, in_image: 0, json: 0 }
    }

    /// Passes over the next column without decoding it; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the row is cut short, which [`super::RowChanges`] has ruled out.
    fn step(&mut self) -> Result<Option<ImageCell<'a>>, Malformed> {
        let Some(column) = self.image.columns.get(self.column) else {
            return Ok(None);
        };
        let present = bit(self.image.present, self.column);
        self.column += 1;
        let partial = column.kind == column::JSON && self.next_json_is_partial();
        if !present {
            return Ok(Some(ImageCell::Absent));
        }
        self.in_image += 1;
        if bit(self.image.nulls, self.in_image - 1) {
            return Ok(Some(ImageCell::Null));
        }
        let len = value::cell_len(column, self.cells)?;
        let (bytes, rest) = self.cells.split_at_checked(len).ok_or(Malformed::new("row cut short"))?;
        self.cells = rest;
        Ok(Some(ImageCell::Bytes { column, bytes, partial }))
    }

    fn next_json_is_partial(&mut self) -> bool {
        self.json += 1;
        bit(self.image.partial, self.json - 1)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let cell = match self.step() {
            Ok(cell) => cell?,
            Err(cut) => {
                self.column = self.image.columns.len();
                return Some(Err(cut));
            }
        };
        Some(match cell {
            ImageCell::Absent => Ok(Field::Absent),
            ImageCell::Null => Ok(Field::Null),
            ImageCell::Bytes { column, bytes, partial } => value::decode(column, bytes).map(|value| {
                Field::Value(match value {
                    Value::Json(difference) if partial => Value::JsonPartial(difference),
                    whole => whole,
                })
            }),
        })
    }
}
