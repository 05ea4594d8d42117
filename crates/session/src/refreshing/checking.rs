//! Comparing maintained results with the server's, from time to time.
//!
//! Freshet asks the server for one result, and the keeper too. If no dependency of the result has changed from before the first question
//! until all is applied that the second could see, both answers are as of one moment, and must have the same rows. If they differ, the
//! query's cache is not trusted any more: it is refreshed from then on, and the log shows a row that only one of the answers has.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use freshet_cache::{Fences, Verdict};
use freshet_upstream::{Error, now_ms};
use tracing::{debug, error};

use super::asking::{Answered, OfCache, answered};
use super::own::OwnSessions;
use crate::counters::Count;
use crate::created::{Frame, Upkeep};
use crate::maintaining::{KeeperAnswer, question};
use crate::shared::Shared;

/// How long the stream may take to reach the server's present position.
const APPLIED_WITHIN: Duration = Duration::from_secs(5);
const LOOKED_AT_EVERY: Duration = Duration::from_millis(2);
/// How long the server may take for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The result that was compared last, and when.
#[derive(Default)]
pub(super) struct Checking {
    last: Option<Instant>,
    count: usize,
}

impl Checking {
    /// Compares the next result, if it is time.
    pub(super) async fn go_on(&mut self, shared: &Shared, sessions: &mut OwnSessions) -> Result<(), Error> {
        let every = shared.options.maintained_check_interval;
        if every.is_zero() || self.last.is_some_and(|last| last.elapsed() < every) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        let kept = shared.created.all().into_iter().filter(|cache| cache.upkeep() == Upkeep::Maintained);
        let results =
            kept.flat_map(|cache| cache.all_results().into_iter().map(move |result| (cache.clone(), result)));
        let results: Vec<_> = results.collect();
        self.count = self.count.wrapping_add(1);
        let Some(at) = self.count.checked_rem(results.len()) else { return Ok(()) };
        let (cache, result) = &results[at];
        let compared = compare(shared, sessions, OfCache { cache, result });
        match tokio::time::timeout(ANSWER_TIMEOUT, compared).await.map_err(|_| Error::Closed)?? {
            None => {}
            Some(Ok(())) => {
                shared.counters.add(Count::MaintainedChecks);
                cache.note_checked(now_ms());
            }
            Some(Err((row, kept, there))) => {
                shared.counters.add(Count::MaintainedDifferences);
                error!(
                    cache = cache.name,
                    query = %String::from_utf8_lossy(&result.text),
                    row = %String::from_utf8_lossy(&row),
                    kept,
                    there,
                    "a maintained result is not the server's; the cache is refreshed from now on"
                );
                cache.distrust();
                // Results that were made from copies are not given any more.
                shared.cache.purge(|tag| tag == result.tag);
            }
        }
        Ok(())
    }
}

/// A row, with its number of occurrences in the maintained result, and in the server's.
type Difference = (Vec<u8>, i64, i64);

/// Whether both have the same rows; `None` if that is unknown now.
async fn compare(
    shared: &Shared,
    sessions: &mut OwnSessions,
    of: OfCache<'_>,
) -> Result<Option<Result<(), Difference>>, Error> {
    let Some(asked) = question::of_result(shared, of.result).await else { return Ok(None) };
    let Ok(Answered { valid_from, depends, relayed }) = answered(shared, sessions, of).await? else {
        return Ok(None);
    };
    let Some(captured) = relayed.captured else { return Ok(None) };
    let frame = Frame::of(&captured.body, captured.status_at, captured.status, 0, 0);
    let Some(frame) = frame else { return Ok(None) };
    let KeeperAnswer::Rows(at, shown) = shared.maintaining.ask(asked).await else { return Ok(None) };
    let asked_until = Instant::now() + APPLIED_WITHIN;
    let now = now_ms();
    while shared.upstream.current_to_ms() <= now {
        if Instant::now() >= asked_until {
            return Ok(None);
        }
        shared.upstream.ask_current();
        tokio::time::sleep(LOOKED_AT_EVERY).await;
    }
    let deps = depends.with_rows(captured.rows);
    if at < valid_from || shared.freshness().check(&deps, valid_from, Fences::Refuse) != Verdict::Servable {
        debug!(cache = of.cache.name, "a change came between the two answers that were to be compared");
        return Ok(None);
    }
    let mut rows: BTreeMap<&[u8], (i64, i64)> = BTreeMap::new();
    shown.rows().for_each(|row| rows.entry(row).or_default().0 += 1);
    frame.rows_of(&captured.body).for_each(|row| rows.entry(row).or_default().1 += 1);
    let differing = rows.into_iter().find(|(_, (kept, there))| kept != there);
    Ok(Some(differing.map_or(Ok(()), |(row, (kept, there))| Err((row.to_vec(), kept, there)))))
}
