//! What `binlog_row_metadata` adds to a TABLE_MAP: fields of number, length, value.

use super::TableColumn;
use crate::binlog::kind::column;
use crate::{Malformed, Reader};

const SIGNEDNESS: u8 = 1;
const DEFAULT_CHARSET: u8 = 2;
const COLUMN_CHARSET: u8 = 3;
const COLUMN_NAME: u8 = 4;
const SET_VALUES: u8 = 5;
const ENUM_VALUES: u8 = 6;
const SIMPLE_PRIMARY_KEY: u8 = 8;
const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
const ENUM_AND_SET_DEFAULT_CHARSET: u8 = 10;
const ENUM_AND_SET_COLUMN_CHARSET: u8 = 11;
const COLUMN_VISIBILITY: u8 = 12;

/// Fills in what there is; unknown fields are passed over.
pub(super) fn read(
    block: &[u8],
    columns: &mut [TableColumn],
    primary_key: &mut Vec<(usize, u32)>,
) -> Result<(), Malformed> {
    let mut reader = Reader::new(block);
    while !reader.is_empty() {
        let field = reader.u8()?;
        let bytes = reader.lenenc_bytes()?;
        let value = &mut Reader::new(bytes);
        match field {
            SIGNEDNESS => signedness(bytes, columns),
            DEFAULT_CHARSET => default_charset(value, columns, is_character)?,
            COLUMN_CHARSET => column_charset(value, columns, is_character)?,
            COLUMN_NAME => names(value, columns)?,
            SET_VALUES => values(value, columns, column::SET)?,
            ENUM_VALUES => values(value, columns, column::ENUM)?,
            SIMPLE_PRIMARY_KEY => key(value, columns.len(), primary_key, false)?,
            PRIMARY_KEY_WITH_PREFIX => key(value, columns.len(), primary_key, true)?,
            ENUM_AND_SET_DEFAULT_CHARSET => default_charset(value, columns, is_enum_or_set)?,
            ENUM_AND_SET_COLUMN_CHARSET => column_charset(value, columns, is_enum_or_set)?,
            COLUMN_VISIBILITY => visibility(bytes, columns),
            _ => {}
        }
    }
    Ok(())
}

/// YEAR is counted among the numbers, as an unsigned one.
fn is_numeric(kind: u8) -> bool {
    matches!(
        kind,
        column::TINY..=column::DOUBLE | column::LONGLONG | column::INT24 | column::YEAR | column::NEWDECIMAL
    )
}

fn is_character(kind: u8) -> bool {
    matches!(
        kind,
        column::STRING
            | column::VAR_STRING
            | column::VARCHAR
            | column::VARCHAR_COMPRESSED
            | column::BLOB_COMPRESSED
            | column::TINY_BLOB..=column::BLOB
    )
}

fn is_enum_or_set(kind: u8) -> bool {
    matches!(kind, column::ENUM | column::SET)
}

/// In these bitmaps the highest bit of a byte comes first.
fn high_bit(bitmap: &[u8], i: usize) -> bool {
    bitmap.get(i / 8).is_some_and(|byte| byte << (i % 8) & 0x80 != 0)
}

fn signedness(bitmap: &[u8], columns: &mut [TableColumn]) {
    let numeric = columns.iter_mut().filter(|column| is_numeric(column.kind));
    for (i, column) in numeric.enumerate() {
        column.unsigned = Some(high_bit(bitmap, i));
    }
}

fn visibility(bitmap: &[u8], columns: &mut [TableColumn]) {
    for (i, column) in columns.iter_mut().enumerate() {
        column.visible = high_bit(bitmap, i);
    }
}

fn collation(reader: &mut Reader<'_>) -> Result<u16, Malformed> {
    u16::try_from(reader.lenenc_int()?).map_err(|_large| Malformed::new("collation id beyond 16 bits"))
}

/// One collation for most, then (number among its kind, collation) for others.
fn default_charset(
    reader: &mut Reader<'_>,
    columns: &mut [TableColumn],
    has_one: fn(u8) -> bool,
) -> Result<(), Malformed> {
    let default = collation(reader)?;
    let mut with: Vec<_> = columns.iter_mut().filter(|column| has_one(column.kind)).collect();
    for column in &mut with {
        column.collation = Some(default);
    }
    while !reader.is_empty() {
        let i = usize::try_from(reader.lenenc_int()?).unwrap_or(usize::MAX);
        let other = collation(reader)?;
        with.get_mut(i).ok_or(BAD)?.collation = Some(other);
    }
    Ok(())
}

/// One collation for each.
fn column_charset(
    reader: &mut Reader<'_>,
    columns: &mut [TableColumn],
    has_one: fn(u8) -> bool,
) -> Result<(), Malformed> {
    for column in columns.iter_mut().filter(|column| has_one(column.kind)) {
        column.collation = Some(collation(reader)?);
    }
    Ok(())
}

fn names(reader: &mut Reader<'_>, columns: &mut [TableColumn]) -> Result<(), Malformed> {
    for column in columns {
        column.name = Some(reader.lenenc_bytes()?.to_vec());
    }
    Ok(())
}

fn values(reader: &mut Reader<'_>, columns: &mut [TableColumn], kind: u8) -> Result<(), Malformed> {
    for column in columns.iter_mut().filter(|column| column.kind == kind) {
        for _ in 0..reader.lenenc_int()? {
            column.values.push(reader.lenenc_bytes()?.to_vec());
        }
    }
    Ok(())
}

fn key(
    reader: &mut Reader<'_>,
    columns: usize,
    key: &mut Vec<(usize, u32)>,
    prefixed: bool,
) -> Result<(), Malformed> {
    while !reader.is_empty() {
        let column = usize::try_from(reader.lenenc_int()?).unwrap_or(usize::MAX);
        let prefix = if prefixed { reader.lenenc_int()? } else { 0 };
        if column >= columns {
            return Err(BAD);
        }
        key.push((column, u32::try_from(prefix).map_err(|_large| BAD)?));
    }
    Ok(())
}

const BAD: Malformed = Malformed::new("table metadata that names no column");
