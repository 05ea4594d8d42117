//! Watches for tests.

use std::sync::Arc;

use freshet_cache::Freshness;

use super::{TableInfo, WatchSpec};
use crate::rows::{Watch, Watches};

pub(crate) fn watches() -> (Arc<Freshness>, Watches) {
    let freshness = Arc::new(Freshness::with_hash_seed(7));
    (Arc::clone(&freshness), Watches::new(freshness))
}

/// Returns a watch by itself.
pub(crate) fn watch(table: &TableInfo, spec: &WatchSpec) -> (Arc<Freshness>, Arc<Watch>) {
    let (freshness, watches) = watches();
    let watch = watches.watch(table, spec).unwrap();
    (freshness, watch)
}
