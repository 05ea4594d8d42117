//! The rows of the tables of statistics.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use freshet_admin::{Runtime, SqliteValue};
use freshet_digest::{Digest, put_text};
use freshet_follow::FollowState;
use freshet_session::metrics::{self, Program};
use freshet_session::{PreparedRow, ServerConnections};

use super::Behind;

impl Behind {
    pub(super) fn program(&self) -> Program {
        Program { uptime_s: self.started.elapsed().as_secs(), threads: self.config.threads }
    }

    pub(super) fn global(&self) -> Vec<Vec<SqliteValue>> {
        let named = metrics::named(&self.shared, self.program());
        named.into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect()
    }

    pub(super) fn memory(&self) -> Vec<Vec<SqliteValue>> {
        let [receive, send, fill] = self.shared.buffers();
        let [mapped, resident] = memory_of_process();
        let named = [
            ("Query_Cache_Memory_bytes", self.shared.cache.statistics().used),
            ("receive_buffers_bytes", receive),
            ("send_buffers_bytes", send),
            ("fill_buffers_bytes", fill),
            ("process_mapped_bytes", mapped),
            ("process_resident_bytes", resident),
        ];
        named.into_iter().map(|(name, bytes)| vec![name.into(), bytes.to_string().into()]).collect()
    }

    /// Returns the system's figures for the process, under the names of the history.
    #[expect(clippy::unused_self, reason = "it stands among the others")]
    pub(super) fn process(&self) -> Vec<Vec<SqliteValue>> {
        let [mapped, resident] = memory_of_process();
        let [user, system] = ticks_of_process();
        let named = [
            ("memory_mapped", mapped),
            ("memory_resident", resident),
            ("cpu_user_ticks", user),
            ("cpu_system_ticks", system),
        ];
        named.into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect()
    }

    pub(super) fn errors(&self, resets: bool) -> Vec<Vec<SqliteValue>> {
        let (host, port) = self.server();
        let row = |row: freshet_session::statistics::ErrorRow| {
            vec![
                row.hostgroup.map_or(SqliteValue::Null, SqliteValue::Integer),
                host.as_str().into(),
                i64::from(port).into(),
                row.user.into(),
                "".into(),
                row.schema.into(),
                i64::from(row.code).into(),
                row.count.into(),
                row.seen.0.into(),
                row.seen.1.into(),
                row.last.into(),
            ]
        };
        self.shared.errors(resets).into_iter().map(row).collect()
    }

    pub(super) fn prepared(&self) -> Vec<Vec<SqliteValue>> {
        let digests = self.rules().1.digests;
        let row = |(at, row): (usize, PreparedRow)| {
            let mut text = Vec::new();
            put_text(row.text.as_bytes(), &digests, &mut text);
            let user = row.account.rsplit_once('@').map_or(row.account.as_str(), |(user, _)| user);
            vec![
                (at + 1).into(),
                SqliteValue::Null,
                row.schema.into(),
                user.into(),
                Digest::of(&text).to_string().into(),
                row.sessions.into(),
                SqliteValue::Integer(0),
                row.columns.into(),
                row.parameters.into(),
                row.text.into(),
            ]
        };
        self.shared.prepared_statements().into_iter().enumerate().map(row).collect()
    }

    /// Returns the connections of clients that have left, which wait for the next login. Their settings are those of a new session.
    pub(super) fn free_connections(&self) -> Vec<Vec<SqliteValue>> {
        let (host, port) = self.server();
        let row = |(at, (user, idle_ms)): (usize, (String, u64))| {
            let mut row = vec![SqliteValue::Null; 13];
            row[0] = at.into();
            (row[2], row[3]) = (host.as_str().into(), i64::from(port).into());
            (row[4], row[5]) = (user.into(), "".into());
            row[10] = idle_ms.into();
            row
        };
        self.shared.free_connections().into_iter().enumerate().map(row).collect()
    }

    /// Returns the server's row.
    pub(super) fn connections(&self, resets: bool) -> Vec<SqliteValue> {
        let now = self.shared.server_connections(resets);
        let mut before = self.connections_before.lock().unwrap_or_else(PoisonError::into_inner);
        let since =
            |of: fn(&ServerConnections) -> u64| SqliteValue::from(of(&now).saturating_sub(of(&before)));
        let is_lost = matches!(self.shared.upstream.follow_status().state, FollowState::Connecting { .. });
        let (host, port) = self.server();
        let row = vec![
            SqliteValue::Null,
            host.into(),
            i64::from(port).into(),
            if is_lost { "SHUNNED" } else { "ONLINE" }.into(),
            now.used.into(),
            now.free.into(),
            since(|it| it.opened),
            since(|it| it.failed),
            now.most_used.into(),
            since(|it| it.commands),
            SqliteValue::Integer(0),
            since(|it| it.bytes_sent),
            since(|it| it.bytes_received),
            self.ping_us.load(Ordering::Relaxed).into(),
        ];
        if resets {
            *before = now;
        }
        row
    }

    pub(super) fn commands(&self) -> Vec<Vec<SqliteValue>> {
        let row = |row: freshet_session::statistics::CommandRow| {
            let total = row.counts.iter().sum::<u64>();
            let named = [row.name.into(), row.time_us.into(), total.into()];
            named.into_iter().chain(row.counts.map(SqliteValue::from)).collect()
        };
        self.shared.commands().into_iter().map(row).collect()
    }

    /// Returns how many clients each user has, and how many all of them together may have.
    pub(super) fn users(&self) -> Vec<Vec<SqliteValue>> {
        let mut connected = BTreeMap::<String, u64>::new();
        self.shared.processes().into_iter().for_each(|it| *connected.entry(it.user).or_default() += 1);
        let most = SqliteValue::from(self.config.max_clients);
        connected.into_iter().map(|(user, count)| vec![user.into(), count.into(), most.clone()]).collect()
    }

    pub(super) fn processes(&self) -> Vec<Vec<SqliteValue>> {
        let (host, port) = self.server();
        let row = |process: freshet_session::Process| {
            let command = if process.is_busy { "Query" } else { "Sleep" };
            let mut row = vec![SqliteValue::Null; 16];
            row[0] = SqliteValue::Integer(0);
            row[1] = SqliteValue::from(u64::from(process.id));
            row[2] = process.user.into();
            row[3] = process.schema.map_or(SqliteValue::Null, SqliteValue::Text);
            row[4] =
                process.client.map_or_else(|| "localhost".into(), |client| client.ip().to_string().into());
            row[5] = process.client.map_or(SqliteValue::Null, |client| i64::from(client.port()).into());
            if process.server_id != 0 {
                (row[9], row[10]) = (host.as_str().into(), i64::from(port).into());
            }
            row[11] = command.into();
            row[12] = process.silent_ms.into();
            row[13] = process.statement.map_or(SqliteValue::Null, SqliteValue::Text);
            row
        };
        self.shared.processes().into_iter().map(row).collect()
    }

    pub(super) fn digests(&self, resets: bool) -> Vec<Vec<SqliteValue>> {
        let row = |row: freshet_session::statistics::DigestRow| {
            let (sum, min, max) = row.times_us;
            vec![
                // Where rules name no hostgroup, it is the user's.
                row.hostgroup.filter(|_| !row.from_memory).map_or_else(
                    || if row.from_memory { SqliteValue::Integer(-1) } else { SqliteValue::Null },
                    SqliteValue::Integer,
                ),
                row.schema.into(),
                row.user.into(),
                "".into(),
                row.digest.into(),
                row.text.into(),
                row.count.into(),
                row.seen.0.into(),
                row.seen.1.into(),
                sum.into(),
                min.into(),
                max.into(),
                row.affected.into(),
                row.sent.into(),
            ]
        };
        self.shared.digests(resets).into_iter().map(row).collect()
    }
}

/// Returns the bytes that the process has mapped, and how many of them are in memory; zeros if the system does not say.
fn memory_of_process() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmSize:", "VmRSS:"].map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kilobytes.map_or(0, |kilobytes| kilobytes << 10)
    })
}

/// Returns the processor time of the process, and of the system for it, in the system's ticks.
fn ticks_of_process() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything: the twelfth and the thirteenth field.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    [11, 12].map(|at| fields.get(at).and_then(|ticks| ticks.parse().ok()).unwrap_or(0))
}
