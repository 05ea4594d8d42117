//! Tables and watches for tests.

use std::sync::Arc;

use freshet_cache::{Freshness, Position};

use super::{KeyType, Watch, WatchSpec, Watches};
use crate::catalog::{Code, ColumnInfo, TableInfo, TableKind};

pub(crate) const INT: KeyType = KeyType::Integer { unsigned: false, bytes: 4 };

pub(crate) fn text() -> KeyType {
    KeyType::Text { collation: "latin1_swedish_ci".into(), chars: 20 }
}

pub(crate) fn column(name: &str, key: KeyType) -> ColumnInfo {
    let name = name.to_owned();
    ColumnInfo {
        name,
        key,
        generated: false,
        on_update: false,
        hidden: false,
        auto_increment: false,
        nullable: true,
        unique: false,
        only_unique: false,
    }
}

/// `s.t (a INT, b VARCHAR(20), c INT)`.
pub(crate) fn table() -> TableInfo {
    table_of("t", vec![column("a", INT), column("b", text()), column("c", INT)])
}

pub(crate) fn table_of(name: &str, columns: Vec<ColumnInfo>) -> TableInfo {
    let name = ("s".to_owned(), name.to_owned());
    TableInfo {
        base_tables: vec![name.clone()],
        name,
        kind: TableKind::Base,
        engine: "InnoDB".to_owned(),
        cacheable: Ok(()),
        rests_on: Arc::default(),
        runs_unknown_code: false,
        has_triggers: false,
        writes_elsewhere: false,
        may_be_merged: false,
        triggers: Some(Code::default()),
        reading: Some(Code::default()),
        columns: columns.into(),
        settled_by: Position::ZERO,
    }
}

pub(crate) fn spec(equal: &[u16], range: Option<u16>, read: Option<&[u16]>) -> WatchSpec {
    WatchSpec { equal: equal.to_vec(), range, read: read.map(<[u16]>::to_vec) }
}

pub(crate) fn watches() -> (Arc<Freshness>, Watches) {
    let freshness = Arc::new(Freshness::with_hash_seed(7));
    (Arc::clone(&freshness), Watches::new(freshness))
}

/// A watch by itself.
pub(crate) fn watch(table: &TableInfo, spec: &WatchSpec) -> (Arc<Freshness>, Arc<Watch>) {
    let (freshness, watches) = watches();
    let watch = watches.watch(table, spec).unwrap();
    (freshness, watch)
}
