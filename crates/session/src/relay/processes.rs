//! The list of processes. The server's list shows its own numbers of connections, the address of Freshet, and a session that is answered
//! from memory as asleep. A client that lists the processes through Freshet sees the number that each client was told, the client's
//! address, and the time since the client was last active.

use ahash::HashMap;
use freshet_sql::{Modes, ProcessList, process_list};

use super::text_row;
use crate::registry::Process;

/// The corrections for the rows of one process list.
#[derive(Debug)]
pub(crate) struct Processes {
    at: ProcessList,
    /// Freshet's clients, by the server's number of each one's connection.
    known: HashMap<u32, KnownProcess>,
}

/// The facts that Freshet knows better than the server.
#[derive(Debug)]
struct KnownProcess {
    id: String,
    host: String,
    /// For how many milliseconds the client has been idle.
    idle_ms: u64,
}

impl Processes {
    /// Returns the corrections if `text` lists the processes. `processes`: all clients of Freshet.
    pub(crate) fn listed_by(
        text: &[u8],
        modes: Modes,
        processes: impl FnOnce() -> Vec<Process>,
    ) -> Option<Self> {
        let at = process_list(text, modes)?;
        let known = |process: Process| {
            let (id, host) = (process.id.to_string(), process.host());
            let idle_ms = if process.is_busy { 0 } else { process.silent_ms };
            (process.server_id, KnownProcess { id, host, idle_ms })
        };
        let connected = processes().into_iter().filter(|process| process.server_id != 0);
        Some(Self { at, known: connected.map(known).collect() })
    }

    /// Returns the row that the client gets in the place of `payload`; `None` if the client gets `payload` itself.
    pub(super) fn row(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut values = text_row::values(payload)?;
        let value = |at: usize| values.get(at).copied().flatten();
        let number = |at: usize| std::str::from_utf8(value(at)?).ok()?.parse::<u64>().ok();
        let known = self.known.get(&u32::try_from(number(self.at.id_at)?).ok()?)?;
        let is_asleep = self.at.command_at.and_then(value).is_some_and(|command| command == b"Sleep");
        let was_active =
            is_asleep && self.at.time_at.and_then(number).is_some_and(|time| known.idle_ms / 1000 < time);
        let (seconds, milliseconds) = ((known.idle_ms / 1000).to_string(), format!("{}.000", known.idle_ms));
        let mut put = |at: Option<usize>, value| {
            if let Some(place) = at.and_then(|at| values.get_mut(at)) {
                *place = Some(value);
            }
        };
        put(Some(self.at.id_at), known.id.as_bytes());
        put(self.at.host_at, known.host.as_bytes());
        if was_active {
            put(self.at.time_at, seconds.as_bytes());
            put(self.at.time_ms_at, milliseconds.as_bytes());
        }
        Some(text_row::row(&values))
    }
}

/// Returns the row of SHOW PROCESSLIST for a client of Freshet that has no connection to the server.
///
/// `shows_progress`: the row has MariaDB's last column.
pub(crate) fn listed(process: &Process, shows_progress: bool) -> Vec<u8> {
    let (id, host, seconds) =
        (process.id.to_string(), process.host(), (process.silent_ms / 1000).to_string());
    let (schema, statement) = (process.schema.as_deref(), process.statement.as_deref());
    let command = if process.is_busy { "Query" } else { "Sleep" };
    let user = process.user.as_str();
    let mut row = vec![
        Some(id.as_str()),
        Some(user),
        Some(&host),
        schema,
        Some(command),
        Some(&seconds),
        Some(""),
        statement,
    ];
    if shows_progress {
        row.push(Some("0.000")); // Progress.
    }
    text_row::row(&row.iter().map(|value| value.map(str::as_bytes)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use freshet_sql::Flavor;

    use super::*;

    fn process(id: u32, server_id: u32, silent_ms: u64) -> Process {
        Process {
            id,
            user: "u".to_owned(),
            client: None,
            schema: None,
            statement: None,
            is_busy: false,
            silent_ms,
            server_id,
            holds: 0,
            lane: None,
        }
    }

    #[test]
    fn who_was_active_is_not_asleep_for_as_long_as_the_server_says() {
        let listed = |text: &[u8]| {
            let ours = || vec![process(9, 7, 2345), process(8, 0, 0)];
            Processes::listed_by(text, Modes::new(Flavor::MariaDb), ours).unwrap()
        };
        let processes = listed(b"SELECT id, command, time, time_ms FROM information_schema.processlist");
        for (row, expected) in [
            (&b"\x017\x05Sleep\x02\x39\x39\x0999000.999"[..], Some(&b"\x019\x05Sleep\x012\x082345.000"[..])),
            // It was asked since.
            (b"\x017\x05Sleep\x011\xfb", Some(b"\x019\x05Sleep\x011\xfb")),
            (b"\x017\x05Query\x0299\xfb", Some(b"\x019\x05Query\x0299\xfb")),
            // Nobody of ours.
            (b"\x018\x05Sleep\x0299\xfb", None),
            (b"\x010\x05Sleep\x0299\xfb", None),
        ] {
            assert_eq!(processes.row(row).as_deref(), expected, "{row:?}");
        }
        let processes = listed(b"SELECT host, id FROM information_schema.processlist");
        assert_eq!(processes.row(b"\x01h\x017").as_deref(), Some(&b"\x09localhost\x019"[..]));
    }

    #[test]
    fn who_has_no_connection_is_listed_as_asleep() {
        let row = listed(&Process { schema: Some("shop".to_owned()), ..process(8, 0, 3999) }, false);
        assert_eq!(row, b"\x018\x01u\x09localhost\x04shop\x05Sleep\x013\0\xfb");
    }
}
