//! TABLE_MAP: the shape of a table's rows.

mod known;
mod metadata;

use std::sync::Arc;

use super::flavor::BinlogFlavor;
use super::kind::column;
use crate::{Malformed, Reader};

pub(super) use known::KnownTables;

/// Columns of the widest table that either server allows.
const COLUMNS_MAX: usize = 4096;

/// One column, as far as the event describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// The column's type, as the servers number it (`MYSQL_TYPE_*`); for enum
    /// and set the real type, not the string that they are sent as.
    pub kind: u8,
    /// The type's own parameters: the length of CHAR, VARCHAR, ENUM and SET in
    /// bytes, of a BLOB's length; precision and scale; fractional digits.
    pub meta: u16,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Whether a numeric column is unsigned; `None` if the event does not say
    /// (MariaDB with `binlog_row_metadata=NO_LOG`).
    pub unsigned: Option<bool>,
    /// Its name (`binlog_row_metadata=FULL`).
    pub name: Option<Vec<u8>>,
    /// Its collation's id: of strings, and with FULL of enums and sets.
    pub collation: Option<u16>,
    /// The values of an enum or set (`binlog_row_metadata=FULL`).
    pub values: Vec<Vec<u8>>,
    /// Whether it is visible; true if the event does not say.
    pub visible: bool,
}

/// Which table a number stands for in the rows events that follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    /// The number, until the next statement.
    pub id: u64,
    /// The table's schema.
    pub schema: Vec<u8>,
    /// The table's name.
    pub table: Vec<u8>,
    /// Its columns, in order.
    pub columns: Arc<[TableColumn]>,
    /// The primary key's columns in key order, each with the length of its
    /// prefix in characters or 0 for the whole column; empty if the event does
    /// not say (`binlog_row_metadata=FULL`) or there is no primary key.
    pub primary_key: Vec<(usize, u32)>,
    /// Why the rows of the table cannot be read, if they cannot. That it was
    /// changed is known all the same.
    illegible: Option<Malformed>,
}

impl TableMap {
    pub(super) fn parse(body: &[u8], flavor: BinlogFlavor) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let id = reader.u48()?;
        reader.u16()?;
        let schema = name(&mut reader)?;
        let table = name(&mut reader)?;
        let count = usize::try_from(reader.lenenc_int()?).unwrap_or(usize::MAX);
        if count > COLUMNS_MAX {
            return Err(Malformed::new("table with too many columns"));
        }
        let kinds = reader.take(count)?;
        let metas = reader.lenenc_bytes()?;
        let nullable = reader.take(count.div_ceil(8))?;
        let mut columns: Vec<_> = (0..count).map(|i| TableColumn::bare(kinds[i], bit(nullable, i))).collect();
        let mut primary_key = Vec::new();
        let illegible = describe(&mut columns, metas, flavor)
            .and_then(|()| metadata::read(reader.rest(), &mut columns, &mut primary_key))
            .err();
        Ok(TableMap { id, schema, table, columns: columns.into(), primary_key, illegible })
    }

    /// Whether the rows can be read.
    pub(super) fn legible(&self) -> Result<(), Malformed> {
        self.illegible.map_or(Ok(()), Err)
    }
}

impl TableColumn {
    fn bare(kind: u8, nullable: bool) -> Self {
        TableColumn {
            kind,
            meta: 0,
            nullable,
            unsigned: None,
            name: None,
            collation: None,
            values: Vec::new(),
            visible: true,
        }
    }
}

/// One bit of a bitmap, the lowest bit of a byte first; false beyond its end.
pub(super) fn bit(bitmap: &[u8], i: usize) -> bool {
    bitmap.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1)
}

/// Returns a name behind one byte of length and before a zero.
fn name(reader: &mut Reader<'_>) -> Result<Vec<u8>, Malformed> {
    let len = usize::from(reader.u8()?);
    let name = reader.take(len)?.to_vec();
    reader.u8()?;
    Ok(name)
}

/// Reads the types' parameters.
fn describe(columns: &mut [TableColumn], metas: &[u8], flavor: BinlogFlavor) -> Result<(), Malformed> {
    let mut reader = Reader::new(metas);
    for column in columns {
        match column.kind {
            column::STRING | column::ENUM | column::SET => string(column, &mut reader)?,
            column::VARCHAR
            | column::VAR_STRING
            | column::VARCHAR_COMPRESSED
            | column::BIT
            | column::NEWDECIMAL => column.meta = reader.u16()?,
            column::FLOAT
            | column::DOUBLE
            | column::TINY_BLOB..=column::BLOB
            | column::BLOB_COMPRESSED
            | column::GEOMETRY
            | column::JSON
            | column::VECTOR
            | column::TIMESTAMP2..=column::TIME2 => column.meta = u16::from(reader.u8()?),
            column::TIMESTAMP | column::DATETIME | column::TIME => no_fraction(flavor)?,
            column::TINY..=column::LONG
            | column::LONGLONG..=column::DATE
            | column::YEAR
            | column::NEWDATE => {}
            _ => {
                return Err(Malformed::new("column of an unknown type"));
            }
        }
    }
    Ok(())
}

/// MariaDB's own temporal types (`mysql56_temporal_format=OFF`) are longer the
/// more fractional digits they have, and the event does not say how many.
fn no_fraction(flavor: BinlogFlavor) -> Result<(), Malformed> {
    match flavor {
        BinlogFlavor::MySql => Ok(()),
        BinlogFlavor::MariaDb => {
            Err(Malformed::new("column of an old temporal type, whose length is not logged"))
        }
    }
}

/// Enums and sets are sent as strings; the real type stands in the first byte,
/// in which two inverted bits of a long string's length are mixed.
fn string(column: &mut TableColumn, reader: &mut Reader<'_>) -> Result<(), Malformed> {
    const LEN_BITS: u8 = 0x30;

    let real = reader.u8()?;
    let low = u16::from(reader.u8()?);
    let high = u16::from(real & LEN_BITS ^ LEN_BITS) << 4;
    column.kind = real | LEN_BITS;
    column.meta = high | low;
    match column.kind {
        column::STRING | column::ENUM | column::SET => Ok(()),
        _ => Err(Malformed::new("string column of an unknown type")),
    }
}
