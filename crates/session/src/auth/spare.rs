//! Connections to the server whose clients have left, for the next login of the same user.
//!
//! A client of `caching_sha2_password` in clear sends a proof that only the server can check, so each of its logins is made
//! there. On an existing connection such a login is a COM_CHANGE_USER, which costs the server a quarter of a new
//! connection: the server asks with a new challenge, judges the answer as in a login, and begins a new session.
//!
//! A kept connection differs from a new one in these points, which are avoided:
//!
//! | | |
//! |---|---|
//! | `init_connect` does not run | if it is set, no connection is kept |
//! | the server does not count a connection of the user | no connection is kept for an account with limits, and none if `max_user_connections` is set |
//! | effects that COM_CHANGE_USER does not undo | no kept connection has any (`session/leaving.rs`) |
//! | a kept connection takes a place of `max_connections` | few are kept, for a short time, and none if half of the places are taken |
//! | an account may have changed | a change of accounts or of global variables closes the kept connections, and the server judges again anyway |

mod keeping;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use freshet_protocol::{Capabilities, Login};
use freshet_upstream::{Channel, Connection};

use super::knowledge::Epoch;

/// How long a connection is kept, at most; Freshet checks once a second.
const KEPT_MAX: Duration = Duration::from_secs(2);
/// How many connections are kept in all, and for one user; and the largest share of the server's `max_connections`, as one in this many.
const SPARES_MAX: usize = 64;
const SPARES_SHARE: usize = 8;
const SPARES_PER_USER_MAX: usize = 16;
const SPARES_PER_USER_SHARE: usize = 16;
/// Asks for the global variables that decide whether connections of a user may be kept.
const GLOBALS: &str = "SELECT @@global.init_connect = '' AND @@global.max_user_connections = 0";
/// Asks how many places the server has, and how many are taken.
const PLACES: &str = "SELECT @@global.max_connections, VARIABLE_VALUE FROM performance_schema.global_status \
                      WHERE VARIABLE_NAME = 'Threads_connected'";
/// How long the server may take to answer, and how long its answer holds.
const PLACES_LIMIT: Duration = Duration::from_millis(500);
const PLACES_HOLD: Duration = Duration::from_secs(3);

/// What a connection and a login must have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoginFit {
    user: Vec<u8>,
    /// Agreed on when the connection was opened, and fixed. The schema is sent with the login in any case.
    capabilities: Capabilities,
    has_attributes: bool,
    packet_bytes_max: u32,
    /// The client's channel, which decides the channel to the server.
    channel: Channel,
    /// The thread whose event loop waits for the connection's bytes.
    thread: ThreadId,
}

impl LoginFit {
    pub(crate) fn of(login: &Login, channel: Channel) -> Self {
        Self {
            user: login.user.clone(),
            capabilities: login.capabilities.difference(Capabilities::CONNECT_WITH_DB),
            has_attributes: login.attributes.is_some(),
            packet_bytes_max: login.max_packet_size,
            channel,
            thread: std::thread::current().id(),
        }
    }
}

/// The permission to keep the connection of a login after its client has left.
#[derive(Debug)]
pub(crate) struct Leave {
    fit: LoginFit,
    /// The epoch from before the login.
    epoch: Epoch,
}

struct Spare {
    leave: Leave,
    connection: Connection,
    since: Instant,
}

impl Spare {
    fn may_serve(&self, now: Epoch) -> bool {
        self.leave.epoch.begins_alike(now) && self.since.elapsed() < KEPT_MAX
    }
}

/// How many connections may be kept, by the last look at the server's places.
#[derive(Clone, Copy)]
struct Room {
    spares_max: usize,
    of_user_max: usize,
    seen: Instant,
}

impl Room {
    /// Returns `None` if half of the places are taken: others may need them before the next look.
    fn of(places: usize, taken: usize) -> Option<Self> {
        (taken < places / 2).then(|| Self {
            spares_max: (places / SPARES_SHARE).min(SPARES_MAX),
            of_user_max: (places / SPARES_PER_USER_SHARE).min(SPARES_PER_USER_MAX),
            seen: Instant::now(),
        })
    }
}

/// The kept connections. A closed one is dropped outside of the locks, which are held for a look or a change.
#[derive(Default)]
pub(super) struct Spares {
    kept: Mutex<Vec<Spare>>,
    room: Mutex<Option<Room>>,
    /// Whether somebody wanted to keep a connection since the last look at the server's places.
    wanted: AtomicBool,
}

impl Spares {
    /// Takes a connection for this login: the newest, so that the others grow old and are closed.
    pub(super) async fn take(
        &self,
        login: &Login,
        channel: Channel,
        epoch: Option<Epoch>,
    ) -> Option<Connection> {
        let now = epoch?;
        let fit = LoginFit::of(login, channel);
        while let Some(mut spare) = self.pop(&fit) {
            if spare.may_serve(now) && spare.connection.is_quiet().await {
                return Some(spare.connection);
            }
        }
        None
    }

    fn pop(&self, fit: &LoginFit) -> Option<Spare> {
        let mut spares = self.lock();
        let at = spares.iter().rposition(|spare| spare.leave.fit == *fit)?;
        Some(spares.remove(at))
    }

    /// Keeps a connection that has nothing of its session left; closes it if there are enough.
    pub(super) fn put(&self, leave: Leave, connection: Connection) {
        self.wanted.store(true, Ordering::Relaxed);
        let Some(room) = self.room().filter(|room| room.seen.elapsed() < PLACES_HOLD) else { return };
        let mut spares = self.lock();
        let of_user = spares.iter().filter(|spare| spare.leave.fit.user == leave.fit.user).count();
        if spares.len() < room.spares_max && of_user < room.of_user_max {
            spares.push(Spare { leave, connection, since: Instant::now() });
        }
    }

    /// Closes the connections that have been kept for long enough, and those of an earlier epoch.
    fn sweep(&self, now: Option<Epoch>) {
        let is_over = |spare: &mut Spare| !now.is_some_and(|now| spare.may_serve(now));
        let over: Vec<Spare> = self.lock().extract_if(.., is_over).collect();
        drop(over);
    }

    /// Closes all connections: the server has no place left, or few.
    pub(super) fn clear(&self) {
        self.set_room(None);
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns the user of each connection, and for how many milliseconds the connection has been kept.
    pub(super) fn list(&self) -> Vec<(String, u64)> {
        let of = |spare: &Spare| {
            let idle_ms = u64::try_from(spare.since.elapsed().as_millis()).unwrap_or(u64::MAX);
            (String::from_utf8_lossy(&spare.leave.fit.user).into_owned(), idle_ms)
        };
        self.lock().iter().map(of).collect()
    }

    fn room(&self) -> Option<Room> {
        *self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_room(&self, room: Option<Room>) {
        *self.room.lock().unwrap_or_else(PoisonError::into_inner) = room;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Spare>> {
        // Nothing panics under the lock; and each change leaves the list whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_kept_and_none_where_half_of_the_places_are_taken() {
        let room = |places, taken| Room::of(places, taken).map(|room| (room.spares_max, room.of_user_max));
        assert_eq!(room(151, 20), Some((18, 9)));
        assert_eq!(room(10_000, 20), Some((SPARES_MAX, SPARES_PER_USER_MAX)));
        assert_eq!(room(151, 75), None);
        assert_eq!(room(5, 1), Some((0, 0)));
    }
}
