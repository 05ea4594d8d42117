//! A line of the log.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use freshet_digest::{Digest, Options, text};
use serde_json::{Value, json};

/// How many bytes of a statement are written.
const QUERY_BYTES_MAX: usize = 64 * 1024;
/// The hostgroup of statements that Freshet answers itself.
const HERE: i64 = -1;

/// A statement, and its outcome.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) command: &'static str,
    pub(crate) thread_id: u32,
    pub(crate) user: &'a [u8],
    pub(crate) schema: &'a str,
    /// The client's address; `None`: a unix socket.
    pub(crate) client: Option<SocketAddr>,
    pub(crate) query: &'a [u8],
    pub(crate) digests: Options,
    pub(crate) began: SystemTime,
    pub(crate) took: Duration,
    /// What the server did for the statement, if it was asked.
    pub(crate) sent: Option<Sent>,
}

/// What the server did.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) hostgroup: i64,
    pub(crate) server: String,
    pub(crate) rows_affected: u64,
    pub(crate) rows_sent: u64,
}

impl Event<'_> {
    /// Returns the line, with its end.
    pub(crate) fn line(&self) -> String {
        let (began_us, took_us) = (since_1970(self.began), micros(self.took));
        let ended_us = began_us + took_us;
        let sent = self.sent.as_ref();
        let mut line = json!({
            "client": self.client.map_or_else(|| "localhost".to_owned(), |client| client.to_string()),
            "digest": Digest::of(&text(self.query, &self.digests)).to_string(),
            "duration_us": took_us,
            "endtime": shown(ended_us),
            "endtime_timestamp_us": ended_us,
            "event": self.command,
            "hostgroup_id": sent.map_or(HERE, |sent| sent.hostgroup),
            "query": String::from_utf8_lossy(self.query.get(..QUERY_BYTES_MAX).unwrap_or(self.query)),
            "rows_affected": sent.map_or(0, |sent| sent.rows_affected),
            "rows_sent": sent.map_or(0, |sent| sent.rows_sent),
            "schemaname": self.schema,
            "starttime": shown(began_us),
            "starttime_timestamp_us": began_us,
            "thread_id": self.thread_id,
            "username": String::from_utf8_lossy(self.user),
        });
        if let (Some(sent), Value::Object(members)) = (sent, &mut line) {
            members.insert("server".to_owned(), sent.server.clone().into());
        }
        format!("{line}\n")
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn since_1970(time: SystemTime) -> u64 {
    micros(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Returns a moment in UTC, to the microsecond; `us` counts microseconds from the beginning of 1970.
fn shown(us: u64) -> String {
    let (seconds, us) = (us / 1_000_000, us % 1_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{us:06}")
}

/// Returns the date this many days after 1970-01-01, in the Gregorian calendar. Years are counted from March, so that a leap day is the
/// last day.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    /// From 0000-03-01 to 1970-01-01.
    const TO_1970: u64 = 719_468;
    let days = days + TO_1970;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shown_in_utc() {
        let at = |seconds: u64, us: u64| seconds * 1_000_000 + us;
        assert_eq!(shown(at(0, 0)), "1970-01-01 00:00:00.000000");
        assert_eq!(shown(at(951_782_399, 7)), "2000-02-28 23:59:59.000007");
        assert_eq!(shown(at(951_782_400, 0)), "2000-02-29 00:00:00.000000");
        assert_eq!(shown(at(1_563_091_468, 595_961)), "2019-07-14 08:04:28.595961");
        assert_eq!(shown(at(4_107_542_399, 0)), "2100-02-28 23:59:59.000000");
        assert_eq!(shown(at(4_107_542_400, 0)), "2100-03-01 00:00:00.000000");
    }

    #[test]
    fn a_line_is_proxysqls() {
        let event = Event {
            command: "COM_QUERY",
            thread_id: 2,
            user: b"sbtest",
            schema: "information_schema",
            client: Some(SocketAddr::from(([127, 0, 0, 1], 39840))),
            query: b"select \"1\"",
            digests: Options::default(),
            began: UNIX_EPOCH + Duration::from_micros(1_563_091_474_392_118),
            took: Duration::from_micros(8570),
            sent: Some(Sent { server: "127.0.0.1:3306".to_owned(), rows_sent: 1, ..Sent::default() }),
        };
        let digest = Digest::of(&text(event.query, &event.digests));
        let expected = format!(
            "{{\"client\":\"127.0.0.1:39840\",\"digest\":\"{digest}\",\"duration_us\":8570,\"endtime\":\"2019-07-14 08:04:34.400688\",\
             \"endtime_timestamp_us\":1563091474400688,\"event\":\"COM_QUERY\",\"hostgroup_id\":0,\"query\":\"select \\\"1\\\"\",\
             \"rows_affected\":0,\"rows_sent\":1,\"schemaname\":\"information_schema\",\"server\":\"127.0.0.1:3306\",\
             \"starttime\":\"2019-07-14 08:04:34.392118\",\"starttime_timestamp_us\":1563091474392118,\"thread_id\":2,\"username\":\"sbtest\"}}\n"
        );
        assert_eq!(event.line(), expected);
        let here = Event { sent: None, ..event }.line();
        assert!(here.contains("\"hostgroup_id\":-1") && !here.contains("\"server\""), "{here}");
    }
}
