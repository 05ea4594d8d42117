//! Caches that are made for one query each: `CREATE CACHE FROM …`.
//!
//! Every cacheable SELECT is stored when a client asks for it. The results of a query with a created cache are also *refreshed*: asked for
//! again in the background, when a change has dropped them (`refreshing.rs`), so that the next client finds them in memory. The query
//! stands for all values: results are refreshed for the values that clients have asked for.

mod binary;
mod frame;
mod cache;
mod file;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) use cache::{
    CacheOptions, CreatedCache, NamedQuery, NotedFrame, Policy, QueryId, StoredResult, Tries, Upkeep,
};
pub use file::FileError;
pub(crate) use frame::Frame;

/// How many caches there may be.
const CACHES_MAX: usize = 4096;
/// Why a cache is not made.
#[derive(Debug)]
pub(crate) enum NotCreated {
    /// The query has one, of this name.
    Exists(String),
    /// Another cache has this name.
    NameTaken,
    TooMany,
    /// The cache cannot be kept over restarts.
    File(FileError),
}

/// All created caches.
#[derive(Debug, Default)]
pub(crate) struct CreatedCaches {
    by_id: RwLock<BTreeMap<QueryId, Arc<CreatedCache>>>,
    /// Whether there is a cache: until then no statement looks for one.
    are_there: AtomicBool,
    /// A number that changes with each change of the caches with a policy; 0 while there is none.
    policies: AtomicU64,
    /// How often the caches with a policy have changed.
    policy_changes: AtomicU64,
    /// The directory where caches are kept over restarts.
    directory: Option<PathBuf>,
}

impl CreatedCaches {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory, ..Self::default() }
    }

    /// Reads the caches that were made before a restart.
    pub(crate) fn load(&self) -> Result<(), FileError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let mut by_id = self.write();
        let mut next = by_id.clone();
        next.extend(file::load(directory)?.into_iter().map(|cache| (cache.query.id, Arc::new(cache))));
        self.put(&mut by_id, next);
        Ok(())
    }

    /// Whether there is any.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        self.are_there.load(Ordering::Acquire)
    }

    /// Returns the cache of a query.
    pub(crate) fn of(&self, id: QueryId) -> Option<Arc<CreatedCache>> {
        if self.are_there() { self.read().get(&id).cloned() } else { None }
    }

    /// Returns the number that stands for all policies as they are now; 0: there is none. Results that are stored by a policy are found
    /// under the number that was read before the policy, and not after another change.
    #[inline]
    pub(crate) fn policies(&self) -> u64 {
        self.policies.load(Ordering::Acquire)
    }

    /// Returns the policy of a query's cache.
    pub(crate) fn policy_of(&self, id: QueryId) -> Option<Policy> {
        if self.policies() == 0 { None } else { self.read().get(&id)?.options.policy }
    }

    /// Returns a cache by its name, or by its query's id.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<CreatedCache>> {
        let by_id = self.read();
        let by_name = by_id.values().find(|cache| cache.name.eq_ignore_ascii_case(name));
        by_name.or_else(|| by_id.get(&QueryId::parse(name)?)).cloned()
    }

    /// Returns all caches, by their ids.
    pub(crate) fn all(&self) -> Vec<Arc<CreatedCache>> {
        self.read().values().cloned().collect()
    }

    /// Adds a cache.
    pub(crate) fn create(&self, cache: CreatedCache) -> Result<(), NotCreated> {
        let mut by_id = self.write();
        let own = by_id.get(&cache.query.id);
        if let Some(other) = own.filter(|other| !other.options.is_automatic || cache.options.is_automatic) {
            return Err(NotCreated::Exists(other.name.clone()));
        }
        let is_other = |other: &CreatedCache| other.query.id != cache.query.id;
        if by_id.values().any(|other| is_other(other) && other.name.eq_ignore_ascii_case(&cache.name)) {
            return Err(NotCreated::NameTaken);
        }
        if by_id.len() >= CACHES_MAX {
            return Err(NotCreated::TooMany);
        }
        let mut next = by_id.clone();
        next.insert(cache.query.id, Arc::new(cache));
        self.replace(&mut by_id, next).map_err(NotCreated::File)
    }

    /// Drops the caches for which this holds. Returns how many these are.
    pub(crate) fn drop_where(&self, is_dropped: impl Fn(&CreatedCache) -> bool) -> Result<usize, FileError> {
        let mut by_id = self.write();
        let mut next = by_id.clone();
        next.retain(|_, cache| !is_dropped(cache));
        let dropped = by_id.len() - next.len();
        if dropped > 0 {
            self.replace(&mut by_id, next)?;
        }
        Ok(dropped)
    }

    fn replace(
        &self,
        place: &mut BTreeMap<QueryId, Arc<CreatedCache>>,
        next: BTreeMap<QueryId, Arc<CreatedCache>>,
    ) -> Result<(), FileError> {
        if let Some(directory) = &self.directory {
            file::write(directory, next.values())?;
        }
        self.put(place, next);
        Ok(())
    }

    fn put(
        &self,
        place: &mut BTreeMap<QueryId, Arc<CreatedCache>>,
        next: BTreeMap<QueryId, Arc<CreatedCache>>,
    ) {
        let have_changed = {
            let (before, after) = (with_policies(place), with_policies(&next));
            before.len() != after.len()
                || before.iter().zip(&after).any(|(one, other)| !Arc::ptr_eq(one, other))
        };
        *place = next;
        self.are_there.store(!place.is_empty(), Ordering::Release);
        if have_changed {
            // Their results are found under another number from now on.
            with_policies(place).iter().for_each(|cache| cache.forget_results());
            // Only the holder of the write lock counts.
            let change = self.policy_changes.fetch_add(1, Ordering::Relaxed) + 1;
            let is_any = !with_policies(place).is_empty();
            self.policies.store(if is_any { change } else { 0 }, Ordering::Release);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<QueryId, Arc<CreatedCache>>> {
        self.by_id.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<QueryId, Arc<CreatedCache>>> {
        self.by_id.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn with_policies(all: &BTreeMap<QueryId, Arc<CreatedCache>>) -> Vec<&Arc<CreatedCache>> {
    all.values().filter(|cache| cache.options.policy.is_some()).collect()
}
