//! A Freshet that hears of every change late: its binlog stream, and nothing else, is held up on the way.
//!
//! A write that was not fenced is then seen by the next reader for certain, and not in one of twenty runs, because the
//! event that would make up for it is still under way.

use std::time::Duration;

use crate::stall::Stall;
use crate::{Freshet, Server, server};

/// How late events come: long beside a statement, short beside the heartbeats without which nothing is cached.
pub const LAG: Duration = Duration::from_millis(60);

/// Runs a test against every server there is, with a Freshet of its own before it whose stream lags.
pub fn with_each_late(test: impl Fn(&Server, &Freshet)) {
    for server in server::all() {
        let way = Stall::late(&server, LAG);
        let freshet = Freshet::before(&Server { url: way.url.clone(), ..server.clone() });
        test(&server, &freshet);
        freshet.stop();
    }
}
