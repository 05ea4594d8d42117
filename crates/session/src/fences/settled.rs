//! Definitions that are just being changed are waited for a little.

use std::sync::Arc;
use std::time::Duration;

use freshet_cache::Freshness;
use freshet_catalog::{CatalogError, Routine, TableInfo, Told};
use freshet_follow::Upstream;
use freshet_sql::Call;
use freshet_upstream::now_ms;

/// How often, and how long apart, a definition that is being changed is asked for again before a statement goes out
/// under a fence on everything.
const SETTLING_TRIES: u32 = 4;
const SETTLING_PAUSE: Duration = Duration::from_millis(5);

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) freshness: &'a Freshness,
    pub(crate) upstream: &'a Upstream,
}

/// Where definitions are looked up, and what comes to rest on them.
pub(crate) struct Looking<'a> {
    pub(crate) sources: Sources<'a>,
    pub(crate) told: &'a mut Told,
}

/// What is known of a table, after a little patience if it is just being changed. While the stream is not live nothing is
/// answered from memory, and nobody is kept waiting.
pub(crate) async fn settled(schema: &str, name: &str, sources: Sources<'_>) -> Option<Arc<TableInfo>> {
    let upstream = sources.upstream;
    patiently(sources, || upstream.known_table(schema, name), async || upstream.table(schema, name).await)
        .await
}

/// The same of a routine, which is named in full.
pub(crate) async fn settled_routine(call: &Call, sources: Sources<'_>) -> Option<Arc<Routine>> {
    let (kind, name) = (call.kind, &call.name.name);
    let schema = call.name.schema.as_deref()?;
    let upstream = sources.upstream;
    // While the stream is not live, it may have become another.
    patiently(sources, || None, async || upstream.routine(kind, schema, name).await).await
}

async fn patiently<T>(
    Sources { freshness, upstream }: Sources<'_>,
    known: impl Fn() -> Option<T>,
    ask: impl AsyncFn() -> Result<T, CatalogError>,
) -> Option<T> {
    if !freshness.is_live(now_ms()) {
        return known();
    }
    for _ in 0..SETTLING_TRIES {
        match ask().await {
            Ok(found) => return Some(found),
            Err(CatalogError::Failed(_)) => return None,
            Err(CatalogError::Unsettled) => upstream.ask_probe(),
        }
        tokio::time::sleep(SETTLING_PAUSE).await;
    }
    None
}
