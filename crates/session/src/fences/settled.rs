//! A short wait for definitions that are being changed.

use std::sync::Arc;
use std::time::Duration;

use freshet_cache::Freshness;
use freshet_catalog::{CatalogError, Routine, TableInfo, Told};
use freshet_follow::Upstream;
use freshet_sql::Call;
use freshet_upstream::now_ms;

/// How often, and how long apart, Freshet asks again for a definition that is being changed, before the statement is sent
/// under a fence on everything.
const SETTLING_TRIES: u32 = 4;
const SETTLING_PAUSE: Duration = Duration::from_millis(5);

/// The sources of definitions.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) freshness: &'a Freshness,
    pub(crate) upstream: &'a Upstream,
}

/// Where definitions are looked up, and the record of the definitions that were used.
pub(crate) struct Looking<'a> {
    pub(crate) sources: Sources<'a>,
    pub(crate) told: &'a mut Told,
}

/// Returns what is known of a table, after a short wait if its definition is being changed. While the stream is not live nothing is
/// answered from memory, and nobody waits.
pub(crate) async fn settled(schema: &str, name: &str, sources: Sources<'_>) -> Option<Arc<TableInfo>> {
    let upstream = sources.upstream;
    patiently(sources, || upstream.known_table(schema, name), async || upstream.table(schema, name).await)
        .await
}

/// Like [`settled`], for a routine that is named in full.
pub(crate) async fn settled_routine(call: &Call, sources: Sources<'_>) -> Option<Arc<Routine>> {
    let (kind, name) = (call.kind, &call.name.name);
    let schema = call.name.schema.as_deref()?;
    let upstream = sources.upstream;
    // While the stream is not live, the routine may have been redefined.
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
