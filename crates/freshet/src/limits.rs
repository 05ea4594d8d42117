//! The system's limits on this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;

/// Descriptors for one client: its own socket and, when it is pinned to one, the server's.
const FILES_PER_CLIENT: u64 = 2;
/// Descriptors for everything else: event loops, listeners, control connections, logs.
const FILES_BESIDE: u64 = 256;

/// Raises the soft limit on open files as far as the hard limit allows and the configured clients need. Logs if that is not enough.
pub fn raise_open_files(config: &Config) {
    let needed = config.max_clients as u64 * FILES_PER_CLIENT + FILES_BESIDE;
    let had = getrlimit(Resource::Nofile);
    let soft = had.current.unwrap_or(u64::MAX);
    let hard = had.maximum.unwrap_or(u64::MAX);
    let mut current = soft;
    if soft < needed {
        let wanted = Rlimit { current: Some(needed.min(hard)), maximum: had.maximum };
        current = match setrlimit(Resource::Nofile, wanted) {
            Ok(()) => needed.min(hard),
            Err(_) => soft,
        };
    }
    if current < needed {
        tracing::warn!(
            open_files = current,
            needed,
            max_clients = config.max_clients,
            "too few open files are allowed for max_clients; raise the limit (ulimit -Hn, LimitNOFILE=) or lower max_clients"
        );
    } else {
        tracing::debug!(open_files = current, "limits");
    }
}
