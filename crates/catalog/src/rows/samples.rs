//! Tables for tests, also those of other rooms; and watches for this room's tests.

#[cfg(test)]
mod watched;

use std::sync::Arc;

use freshet_cache::Position;
use freshet_sql::DataType;

use super::{KeyType, WatchSpec};
use crate::{Code, ColumnInfo, TableInfo, TableKind};
#[cfg(test)]
pub(super) use watched::{watch, watches};

/// A signed INT.
pub const INT: KeyType = KeyType::Integer { unsigned: false, bytes: 4 };

/// Returns a VARCHAR(20) in latin1.
pub fn text() -> KeyType {
    KeyType::Text { collation: "latin1_swedish_ci".into(), chars: 20 }
}

/// Returns a type of this name.
pub fn declared(name: &str) -> DataType {
    DataType {
        name: name.into(),
        is_unsigned: false,
        length: None,
        scale: None,
        collation: None,
        names: None,
    }
}

/// Returns a column with no property except that it may be NULL.
pub fn column(name: &str, key: KeyType) -> ColumnInfo {
    let (name, data_type) = (name.to_owned(), declared("int"));
    ColumnInfo {
        name,
        key,
        data_type,
        generated: false,
        on_update: false,
        hidden: false,
        auto_increment: false,
        nullable: true,
        unique: false,
        only_unique: false,
    }
}

/// Returns `s.t (a INT, b VARCHAR(20), c INT)`.
pub fn table() -> TableInfo {
    table_of("t", vec![column("a", INT), column("b", text()), column("c", INT)])
}

/// Returns a table of the schema `s` with these columns, whose layout in the binlog has always been this one.
pub fn table_of(name: &str, columns: Vec<ColumnInfo>) -> TableInfo {
    let name = ("s".to_owned(), name.to_owned());
    TableInfo {
        base_tables: vec![name.clone()],
        name,
        kind: TableKind::Base,
        engine: "InnoDB".to_owned(),
        cacheable: Ok(()),
        rests_on: Arc::default(),
        shows_all_alike: true,
        runs_unknown_code: false,
        asks_for_cache: false,
        has_triggers: false,
        writes_elsewhere: false,
        may_be_merged: false,
        triggers: Some(Code::default()),
        reading: Some(Code::default()),
        columns: columns.into(),
        described: Arc::new([]),
        settled_by: Position::ZERO,
    }
}

/// Returns a watch on columns by their ordinals; `read: None`: all columns.
pub fn spec(equal: &[u16], range: Option<u16>, read: Option<&[u16]>) -> WatchSpec {
    WatchSpec { equal: equal.to_vec(), range, read: read.map(<[u16]>::to_vec) }
}
