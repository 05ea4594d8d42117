//! The system's limits on this process, and the size of its pages.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::disable_transparent_huge_pages;

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

/// Has the system give this process pages of the usual size, also where it gives huge pages to all who do not refuse them. Of a huge page,
/// the process would hold all 2 MiB as soon as it uses one byte, and the system would put pages together again that were given back. A
/// hit from memory costs the same with either.
pub fn refuse_huge_pages() {
    if let Err(error) = disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "the system may give huge pages");
    }
}
