//! Follows a server and prints what it sees: `follow mysql://user:password@host:port/ [schema.table …]`.
//!
//! It prints one line whenever something changes: the state, how far changes are applied and visible, and the stamps of the named tables.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_cache::{Dep, Freshness};
use freshet_follow::Upstream;
use freshet_upstream::UpstreamConfig;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("usage: follow URL [schema.table ...]")?;
    let freshness = Arc::new(Freshness::new());
    let tables: Vec<_> = arguments
        .filter_map(|name| name.split_once('.').map(|(schema, table)| freshness.table(schema, table)))
        .collect();
    let upstream = Upstream::start(UpstreamConfig::from_url(&url)?, Arc::clone(&freshness))?;
    let began = Instant::now();
    let mut shown = String::new();
    loop {
        let status = upstream.follow_status();
        let stamps: Vec<u64> = tables.iter().map(|table| freshness.stamp_of(table.rows).get()).collect();
        let line = format!(
            "{:?} live={} {}:{} applied={} visible={} everything={} stamps={stamps:?} transactions={} unsettled={}",
            status.state,
            status.live,
            status.file,
            status.offset,
            status.applied,
            status.visible,
            freshness.stamp_of(Dep::EVERYTHING),
            status.transactions,
            status.unsettled,
        );
        if line != shown {
            println!("{:>8.3} {line} probes={}", began.elapsed().as_secs_f64(), status.probes);
            shown = line;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
