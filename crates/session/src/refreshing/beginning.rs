//! Caches from before the start: their tables are loaded before any client asks.

use std::time::{Duration, Instant};

use ahash::HashSet;
use freshet_upstream::now_ms;

use crate::created::{QueryId, Upkeep};
use crate::maintaining::question::{self, Unasked};
use crate::shared::Shared;

/// How often the progress is checked.
const LOOKED_AT_EVERY: Duration = Duration::from_millis(200);

/// The caches whose upkeep is still unknown.
#[derive(Default)]
pub(super) struct Beginning {
    open: HashSet<QueryId>,
    looked: Option<Instant>,
}

impl Beginning {
    /// Loads the tables of caches for which that has not been tried, as far as their tables are known.
    pub(super) async fn go_on(&mut self, shared: &Shared) {
        let is_early = self.looked.is_some_and(|looked| looked.elapsed() < LOOKED_AT_EVERY);
        if is_early || !shared.freshness().is_live(now_ms()) {
            return;
        }
        self.looked = Some(Instant::now());
        for cache in shared.created.all() {
            let id = cache.query.id;
            if !cache.may_be_maintained() || cache.options.policy.is_some() {
                continue;
            }
            match cache.upkeep() {
                Upkeep::Unknown => drop(self.open.insert(id)),
                Upkeep::NotYet(_) if self.open.contains(&id) => {}
                _ => {
                    self.open.remove(&id);
                    continue;
                }
            }
            let upkeep = match question::of_query(shared, &cache.query.text, &cache.schema).await {
                Ok(asked) => Upkeep::from(&shared.maintaining.ask(asked).await),
                Err(Unasked::NotNow) => continue,
                Err(Unasked::Never(why)) => Upkeep::Refreshed(why),
            };
            cache.note_upkeep(upkeep);
        }
    }
}
