//! Freshet's own status values, as one static table.

use std::sync::atomic::Ordering;

use freshet_follow::{FollowState, FollowStatus, Semisync};
use freshet_upstream::now_ms;

use crate::counters::Count;
use crate::relay::ServedCounts;
use crate::shared::Shared;

/// How many results are checked to estimate the count: that takes about a millisecond.
const STALE_LOOKED_FOR: usize = 10_000;

/// One status value.
pub(crate) struct Status {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) read: fn(&Shared, &ServedCounts) -> String,
}

/// Every status value of Freshet's own, by name. The first eight are the native query cache's.
pub(crate) static STATUS: &[Status] = &[
    Status {
        name: "Freshet_applied",
        doc: "The position up to which every change of the binlog has invalidated what it concerns.",
        read: |shared, _| shared.freshness().applied().get().to_string(),
    },
    Status {
        name: "Freshet_carried",
        doc: "Commands that went to the server on a connection that carries reads of many clients.",
        read: |shared, _| shared.counters.sum(Count::Carried).to_string(),
    },
    Status {
        name: "Freshet_clients",
        doc: "Clients connected now.",
        read: |shared, _| shared.clients().to_string(),
    },
    Status {
        name: "Freshet_coalesced",
        doc: "Statements that were not sent to the server at once, since another client was just asking it the same.",
        read: |shared, _| shared.counters.sum(Count::Coalesced).to_string(),
    },
    Status {
        name: "Freshet_connections",
        doc: "Clients let in since the start.",
        read: |shared, _| shared.counters.sum(Count::Connections).to_string(),
    },
    Status {
        name: "Freshet_connections_given_up",
        doc: "How often sessions have given their connections to the server up, because they were answered without and nothing of them was left there.",
        read: |shared, _| shared.counters.sum(Count::GivenUp).to_string(),
    },
    Status {
        name: "Freshet_fenced",
        doc: "Lookups that found a result which a write under way may change; at the level session it may be given all the \
              same.",
        read: |shared, _| shared.cache.statistics().fenced.to_string(),
    },
    Status {
        name: "Freshet_fill_bytes",
        doc: "Bytes of fill_buffers_size that copies of answers under way hold now.",
        read: |shared, _| shared.bounds().fill.used().to_string(),
    },
    Status {
        name: "Freshet_fill_refused",
        doc: "Answers not stored because fill_buffers_size was in use.",
        read: |shared, _| shared.bounds().fill.refused().to_string(),
    },
    Status {
        name: "Freshet_forwarded",
        doc: "Commands sent to the server.",
        read: |shared, _| shared.counters.sum(Count::Forwarded).to_string(),
    },
    Status {
        name: "Freshet_lag_ms",
        doc: "How old the last change was when it was applied, by the two machines' clocks and in steps of a second: 0 if the \
              server has nothing more to send.",
        read: |shared, _| shared.upstream.follow_status().lag_ms.to_string(),
    },
    Status {
        name: "Freshet_live",
        doc: "Whether the binlog stream is proven live: without it nothing is answered from memory.",
        read: |shared, _| if shared.freshness().is_live(now_ms()) { "ON" } else { "OFF" }.to_owned(),
    },
    Status {
        name: "Freshet_log_lines_lost",
        doc: "Lines of the query log that were left out: too many waited, or the file could not be written.",
        read: |shared, _| shared.query_log().lost().to_string(),
    },
    Status {
        name: "Freshet_maintained",
        doc: "Answers that were made from copies of rows, in place of the server's, and stored.",
        read: |shared, _| shared.counters.sum(Count::Maintained).to_string(),
    },
    Status {
        name: "Freshet_maintained_checks",
        doc: "How often such an answer was compared with the server's of the same moment, and found equal.",
        read: |shared, _| shared.counters.sum(Count::MaintainedChecks).to_string(),
    },
    Status {
        name: "Freshet_maintained_differences",
        doc: "How often it was found different. The log has a row that only one of them has, and the query is refreshed from then on.",
        read: |shared, _| shared.counters.sum(Count::MaintainedDifferences).to_string(),
    },
    Status {
        name: "Freshet_maintained_loads",
        doc: "How often the rows of a table were read to be copied: for its first query, and again when a change was not followed row by row.",
        read: |shared, _| shared.counters.sum(Count::MaintainedLoads).to_string(),
    },
    Status {
        name: "Freshet_moved",
        doc: "Lookups in transactions that found a result which was read after the transaction's moment, or of tables that the transaction has \
              written.",
        read: |shared, _| shared.cache.statistics().moved.to_string(),
    },
    Status {
        name: "Freshet_needless",
        doc: "Results that a change had made stale and that turned out the same when they were stored anew.",
        read: |shared, _| shared.cache.statistics().needless.to_string(),
    },
    Status {
        name: "Freshet_net_read_timeouts",
        doc: "Clients disconnected because they did not finish a packet.",
        read: |shared, _| shared.bounds().read_timeouts.load(Ordering::Relaxed).to_string(),
    },
    Status {
        name: "Freshet_net_write_timeouts",
        doc: "Clients disconnected because they did not read their answer.",
        read: |shared, _| shared.bounds().write_timeouts.load(Ordering::Relaxed).to_string(),
    },
    Status {
        name: "Freshet_not_live",
        doc: "Lookups refused because the stream was not proven live.",
        read: |shared, _| shared.cache.statistics().not_live.to_string(),
    },
    Status {
        name: "Freshet_not_proven",
        doc: "Lookups not made because a level's proof was not there: of max_staleness, or of commits that wait for us at \
              the level semisync.",
        read: |shared, _| shared.counters.sum(Count::NotProven).to_string(),
    },
    Status {
        name: "Freshet_not_settled",
        doc: "Lookups in transactions that found a result before it was known what that, or the read view, shows of what is not applied yet.",
        read: |shared, _| shared.cache.statistics().unsettled.to_string(),
    },
    Status {
        name: "Freshet_prepared",
        doc: "Statements prepared from memory (COM_STMT_PREPARE).",
        read: |shared, _| shared.counters.sum(Count::Prepared).to_string(),
    },
    Status {
        name: "Freshet_receive_bytes",
        doc: "Bytes of receive_buffers_size that packets under way hold now.",
        read: |shared, _| shared.bounds().receive.used().to_string(),
    },
    Status {
        name: "Freshet_receive_refused",
        doc: "Packets refused with error 1041 because receive_buffers_size was in use.",
        read: |shared, _| shared.bounds().receive.refused().to_string(),
    },
    Status {
        name: "Freshet_receive_waits",
        doc: "How often a client waited for room in receive_buffers_size.",
        read: |shared, _| shared.bounds().receive.waits().to_string(),
    },
    Status {
        name: "Freshet_refilled",
        doc: "Results that a change had made stale and that were asked for and stored anew.",
        read: |shared, _| shared.cache.statistics().refilled.to_string(),
    },
    Status {
        name: "Freshet_repeated",
        doc: "SELECTs that were sent again because their connection was lost, as query rules allow.",
        read: |shared, _| shared.counters.sum(Count::Repeated).to_string(),
    },
    Status {
        name: "Freshet_semisync",
        doc: "Whether the server's commits wait for us: off (not asked for), on, or not and why.",
        read: |shared, _| semisync(shared.upstream.semisync()),
    },
    Status {
        name: "Freshet_send_bytes",
        doc: "Bytes of send_buffers_size that answers hold which clients have not read yet.",
        read: |shared, _| shared.bounds().send.used().to_string(),
    },
    Status {
        name: "Freshet_send_refused",
        doc: "How often send_buffers_size was in use: the server was asked for a result in memory all the same, or an answer was \
              not read on for a client that did not read.",
        read: |shared, _| shared.bounds().send.refused().to_string(),
    },
    Status {
        name: "Freshet_session_hits",
        doc: "Statements of this session alone that were answered from memory, since it began or FLUSH STATUS.",
        read: |_, served| served.answers().to_string(),
    },
    Status {
        name: "Freshet_snapshot_conflicts",
        doc: "Transactions rolled back with error 1213, because what they had read from memory was not proven to be true as of when \
              the server began to read for them.",
        read: |shared, _| shared.counters.sum(Count::SnapshotConflicts).to_string(),
    },
    Status {
        name: "Freshet_stale",
        doc: "Lookups that found a result which a change had invalidated.",
        read: |shared, _| shared.cache.statistics().stale.to_string(),
    },
    Status {
        name: "Freshet_stream",
        doc: "The state of the binlog stream, and why it is off where it is.",
        read: |shared, _| stream(&shared.upstream.follow_status()),
    },
    Status {
        name: "Freshet_transactions",
        doc: "Transactions that were answered from memory from their beginning to their end: the server knows nothing of them.",
        read: |shared, _| shared.counters.sum(Count::Transactions).to_string(),
    },
    Status {
        name: "Freshet_ttl_hits",
        doc: "Answers from memory that may have been stale, since a query rule has the attribute {\"freshness\":\"ttl\"}, or a cache has POLICY TTL.",
        read: |shared, _| shared.counters.sum(Count::Bargains).to_string(),
    },
    Status {
        name: "Freshet_unsettled",
        doc: "Answers not stored because a change of their tables was not yet known to be visible.",
        read: |shared, _| shared.counters.sum(Count::Unsettled).to_string(),
    },
    Status {
        name: "Freshet_vanished",
        doc: "Clients that left, or sent their last, while they were owed an answer.",
        read: |shared, _| shared.bounds().vanished.load(Ordering::Relaxed).to_string(),
    },
    Status {
        name: "Freshet_visible",
        doc: "The position up to which every transaction is known to be seen by a query sent now.",
        read: |shared, _| shared.freshness().visible().get().to_string(),
    },
    Status {
        name: "Qcache_free_blocks",
        doc: "Kept for those who read it: there are no blocks here, and so one free one.",
        read: |_, _| "1".to_owned(),
    },
    Status {
        name: "Qcache_free_memory",
        doc: "Bytes of query_cache_size that are not in use.",
        read: |shared, _| shared.cache.statistics().free_memory.to_string(),
    },
    Status {
        name: "Qcache_hits",
        doc: "Statements answered from memory.",
        read: |shared, _| shared.cache.statistics().hits.to_string(),
    },
    Status {
        name: "Qcache_inserts",
        doc: "Results stored.",
        read: |shared, _| shared.cache.statistics().inserts.to_string(),
    },
    Status {
        name: "Qcache_lowmem_prunes",
        doc: "Results evicted because their memory was needed.",
        read: |shared, _| shared.cache.statistics().lowmem_prunes.to_string(),
    },
    Status {
        name: "Qcache_not_cached",
        doc: "SELECTs that were not, or could not be, stored.",
        read: |shared, _| shared.cache.statistics().not_cached.to_string(),
    },
    Status {
        name: "Qcache_queries_in_cache",
        doc: "Results stored now. 10000 of them are looked at, and those left out that changes have made stale or that a write under way \
              may change.",
        read: |shared, _| {
            shared.cache.sweep(STALE_LOOKED_FOR, freshet_upstream::now_ms());
            shared.cache.servable(STALE_LOOKED_FOR, freshet_upstream::now_ms()).to_string()
        },
    },
    Status {
        name: "Qcache_total_blocks",
        doc: "Kept for those who read it: results stored now, and the free block.",
        read: |shared, _| (shared.cache.statistics().queries_in_cache + 1).to_string(),
    },
];

/// Returns all current values.
pub fn all(shared: &Shared) -> Vec<(&'static str, String)> {
    let none = ServedCounts::default();
    STATUS.iter().map(|status| (status.name, (status.read)(shared, &none))).collect()
}

fn semisync(status: Semisync) -> String {
    match status {
        Semisync::Off => "off".to_owned(),
        Semisync::On => "on".to_owned(),
        Semisync::Not(lack) => format!("not in force: {}; {}", lack.why, lack.remedy),
    }
}

pub(crate) fn stream(status: &FollowStatus) -> String {
    match &status.state {
        FollowState::Connecting { why } if why.is_empty() => "connecting".to_owned(),
        FollowState::Connecting { why } => format!("connecting: {why}"),
        FollowState::Off { why, remedy } => format!("off: {why}; {remedy}"),
        FollowState::Following { visible_by } if status.live => format!("following; visible by {visible_by}"),
        FollowState::Following { .. } => "silent".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::STATUS;

    #[test]
    fn names_are_sorted_and_documented() {
        assert!(STATUS.is_sorted_by_key(|value| value.name));
        assert!(STATUS.iter().all(|value| value.doc.ends_with('.')));
    }
}
