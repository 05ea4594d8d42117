//! The log: standard error, as text or as JSON.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;

use crate::config::Config;

/// Installs the subscriber for the whole process; a second call changes nothing.
pub fn start(config: &Config) {
    let filter = EnvFilter::builder().parse_lossy(&config.log_level);
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    // A subscriber that was installed before, such as a test's, is kept.
    let _ = if config.log_json {
        lines.json().flatten_event(true).try_init()
    } else {
        lines.with_ansi(stderr().is_terminal()).try_init()
    };
}
