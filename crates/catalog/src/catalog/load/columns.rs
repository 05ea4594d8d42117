//! A table's columns, as they lie in the binlog's row images.
//!
//! `information_schema.COLUMNS` shows the columns in the order of the row images. It hides some (MySQL's columns of functional indexes,
//! MariaDB's implicit columns of row versions), and then the images are wider than the list. The applier compares the two numbers for
//! every change, and takes the columns of a table for unknown where they differ.

use std::sync::Arc;

use freshet_sql::{Collation, DataType};
use freshet_upstream::control::{query_definitions, quote};
use freshet_upstream::{Connection, Error};

use crate::name::Name;
use crate::rows::{KeyType, Labels};
use crate::table_info::ColumnInfo;

/// The columns of `information_schema.COLUMNS` that are read, in this order.
const ASKED: &str = "TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COLLATION_NAME, \
     CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, EXTRA, GENERATION_EXPRESSION, \
     IS_NULLABLE, COLUMN_KEY, COLUMN_DEFAULT IS NULL";

/// The number of these columns, with the names of the unique keys.
const ASKED_COUNT: usize = 16;

/// Columns, and for each the text that describes it to clients.
type Read = (Arc<[ColumnInfo]>, Arc<[Box<str>]>);

/// Reads the columns of the table with exactly this name.
pub(super) async fn read(connection: &mut Connection, name: &Name) -> Result<Read, Error> {
    let (schema, table) = name;
    // An expression may be unique too, which no column shows; and a unique key may cover only the beginning of a column.
    let keys = format!(
        "(SELECT GROUP_CONCAT(DISTINCT INDEX_NAME, IF(SUB_PART IS NULL, '', '(…)')) FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} AND NON_UNIQUE = 0)",
        quote(schema),
        quote(table)
    );
    let question = format!(
        "SELECT {ASKED}, {keys} FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
         ORDER BY ORDINAL_POSITION",
        quote(schema),
        quote(table)
    );
    let rows = query_definitions(connection, &question).await?;
    let of_table = rows.texts().filter_map(|row| <[&str; ASKED_COUNT]>::try_from(row).ok());
    // The server compares names more loosely than it tells them apart.
    let of_table: Vec<_> = of_table.filter(|row| row[0] == schema && row[1] == table).collect();
    let mut columns: Vec<ColumnInfo> = of_table.iter().map(column).collect();
    let uses = uses(connection, name).await?;
    let described = of_table.iter().map(|row| described(row, &uses)).collect();
    // Each column of a primary key of several is shown like a primary key.
    if columns.iter().filter(|column| column.unique).count() > 1 {
        columns.iter_mut().for_each(|column| (column.unique, column.only_unique) = (false, false));
    }
    Ok((columns.into(), described))
}

/// Returns the places of columns in indexes, each with the column's name in front.
async fn uses(connection: &mut Connection, (schema, table): &Name) -> Result<Vec<[String; 2]>, Error> {
    let question = format!(
        "SELECT LOWER(COLUMN_NAME), CONCAT_WS(' ', NON_UNIQUE, SEQ_IN_INDEX, SUB_PART, INDEX_TYPE) FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} AND COLUMN_NAME IS NOT NULL",
        quote(schema),
        quote(table)
    );
    let rows = query_definitions(connection, &question).await?;
    let mut uses: Vec<[String; 2]> = rows
        .texts()
        .filter_map(|row| <[&str; 2]>::try_from(row).ok())
        .map(|row| row.map(str::to_owned))
        .collect();
    uses.sort();
    uses.dedup();
    Ok(uses)
}

/// Returns the description of a column for clients, in the server's words.
fn described(row: &[&str; ASKED_COUNT], uses: &[[String; 2]]) -> Box<str> {
    let [_, _, name, _, column_type, collation, .., extra, expression, nullable, index, has_no_default, _] =
        *row;
    let lower = name.to_lowercase();
    let uses = uses.iter().filter(|[column, _]| *column == lower).map(|[_, place]| place.as_str());
    let uses = uses.collect::<Vec<_>>().join(", ");
    [name, column_type, collation, extra, expression, nullable, index, has_no_default, &uses].join("|").into()
}

fn column(row: &[&str; ASKED_COUNT]) -> ColumnInfo {
    let [
        _,
        _,
        name,
        data_type,
        column_type,
        collation,
        len,
        precision,
        scale,
        decimals,
        extra,
        expression,
        nullable,
        index,
        _,
        unique_keys,
    ] = *row;
    let extra = extra.to_ascii_lowercase();
    let is_virtual = extra.contains("virtual");
    let generated =
        is_virtual || !expression.is_empty() || extra.contains("stored") || extra.contains("persistent");
    let shape = ColumnShape { column_type, collation, len, precision, scale, decimals };
    let key = match key_type(data_type, &shape) {
        // The value of a virtual column is in the images, but no stored value proves it.
        _ if is_virtual => KeyType::None,
        // A row's version ends by a DELETE, which names no column.
        KeyType::Timestamp { .. } if generated => KeyType::None,
        key => key,
    };
    let is_primary = index.eq_ignore_ascii_case("PRI");
    ColumnInfo {
        name: name.to_lowercase(),
        data_type: DataType { names: names(&key), ..declared(data_type, &shape) },
        key,
        generated,
        on_update: extra.contains("on update"),
        hidden: extra.contains("invisible"),
        auto_increment: extra.contains("auto_increment"),
        nullable: nullable.eq_ignore_ascii_case("YES"),
        unique: is_primary,
        only_unique: is_primary && unique_keys == "PRIMARY",
    }
}

/// Returns the declared type. What the server shows beside it, such as the width of an INT, says nothing of the values.
fn declared(data_type: &str, shape: &ColumnShape<'_>) -> DataType {
    let name = data_type.to_ascii_lowercase();
    let (length, scale) = match name.as_str() {
        "decimal" => (shape.precision.parse().ok(), shape.scale.parse().ok()),
        "char" | "varchar" | "binary" | "varbinary" => (shape.len.parse().ok(), None),
        "bit" => (shape.precision.parse().ok(), None),
        "datetime" | "timestamp" | "time" => (None, shape.decimals.parse().ok().filter(|scale| *scale > 0)),
        _ => (None, None),
    };
    DataType {
        is_unsigned: !matches!(name.as_str(), "enum" | "set") && is_unsigned(shape),
        collation: (!shape.collation.is_empty()).then(|| shape.collation.into()),
        name: name.into(),
        length,
        scale,
        names: None,
    }
}

/// Returns the names of an ENUM or a SET.
fn names(key: &KeyType) -> Option<Arc<[Vec<u8>]>> {
    match key {
        KeyType::Enum(labels) => labels.distinct(),
        // A SET without a name and a SET with an empty name are shown alike.
        KeyType::Set(labels) => labels.distinct().filter(|names| names.iter().all(|name| !name.is_empty())),
        _ => None,
    }
}

fn is_unsigned(shape: &ColumnShape<'_>) -> bool {
    shape.column_type.to_ascii_lowercase().contains("unsigned")
}

/// The facts of a column's type that the type's name does not tell.
struct ColumnShape<'a> {
    column_type: &'a str,
    collation: &'a str,
    len: &'a str,
    precision: &'a str,
    scale: &'a str,
    decimals: &'a str,
}

/// Returns how values become keys. Types that are not here have no keys: FLOAT and DOUBLE, because they are not shown exactly; JSON and
/// geometries, because literals of many forms are equal to them.
fn key_type(data_type: &str, shape: &ColumnShape<'_>) -> KeyType {
    let unsigned = is_unsigned(shape);
    let integer = |bytes| KeyType::Integer { unsigned, bytes };
    match data_type.to_ascii_lowercase().as_str() {
        "tinyint" => integer(1),
        "smallint" => integer(2),
        "mediumint" => integer(3),
        "int" => integer(4),
        "bigint" => integer(8),
        "decimal" => decimal(shape).unwrap_or(KeyType::None),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
            text(shape).unwrap_or(KeyType::None)
        }
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            shape.len.parse().map_or(KeyType::None, |len| KeyType::Bytes { len })
        }
        "date" => KeyType::Date,
        "datetime" => shape.decimals.parse().map_or(KeyType::None, |decimals| KeyType::DateTime { decimals }),
        "timestamp" => {
            shape.decimals.parse().map_or(KeyType::None, |decimals| KeyType::Timestamp { decimals })
        }
        "time" => shape.decimals.parse().map_or(KeyType::None, |decimals| KeyType::Time { decimals }),
        "year" => KeyType::Year,
        "bit" => shape.precision.parse().map_or(KeyType::None, |bits| KeyType::Bit { bits }),
        "enum" => Labels::parse(shape.column_type, shape.collation).map_or(KeyType::None, KeyType::Enum),
        "set" => Labels::parse(shape.column_type, shape.collation).map_or(KeyType::None, KeyType::Set),
        "uuid" => KeyType::Uuid,
        "inet4" => KeyType::Address { bytes: 4 },
        "inet6" => KeyType::Address { bytes: 16 },
        _ => KeyType::None,
    }
}

fn decimal(shape: &ColumnShape<'_>) -> Option<KeyType> {
    Some(KeyType::Decimal { precision: shape.precision.parse().ok()?, scale: shape.scale.parse().ok()? })
}

fn text(shape: &ColumnShape<'_>) -> Option<KeyType> {
    let collation = shape.collation.to_ascii_lowercase();
    let chars = shape.len.parse().ok()?;
    Collation::of_name(&collation).map(|_| KeyType::Text { collation: collation.into(), chars })
}

#[cfg(test)]
mod tests;
