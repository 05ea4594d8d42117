//! The connected clients, so that KILL finds them by their ids, and idle ones are found.

mod connection_slot;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ahash::HashMap;
use freshet_upstream::lane::{LaneCounts, LaneFigures};

use self::connection_slot::{Connected, ConnectionSlot};

/// What others may know of a session, and do to it.
#[derive(Debug)]
pub(crate) struct Handle {
    /// The name with which the client logged in.
    pub(crate) user: Vec<u8>,
    /// The client's address, if it came over TCP.
    client: Option<SocketAddr>,
    /// The server's id of the session's connection; shared with the next session on the same client connection.
    slot: Arc<ConnectionSlot>,
    /// When the client last sent a command, in monotonic milliseconds.
    active_ms: AtomicU64,
    /// How long the client may be silent, in milliseconds, if it has no connection that the server could end.
    silent_ms_max: AtomicU64,
    /// A command of the session is with the server: however long that takes, the session is not idle.
    busy: AtomicBool,
    /// What holds the session, as a set for `Hold::words`.
    holds: AtomicU32,
    /// The session's [`Ending`].
    ending: AtomicU8,
    /// The session's statement, for lists of all clients. Written if the cache had no answer.
    asked: Mutex<CurrentStatement>,
    /// The counts of the session's connection as a lane, if it is one.
    lane: Mutex<Weak<LaneCounts>>,
    /// The session must not wait for its statement any longer.
    interrupted: AtomicBool,
    /// The session is to give up what it does not use: its buffers, and its connection, if possible.
    rests: AtomicBool,
    /// The last activity of the client when `rests` was set, in monotonic milliseconds.
    rested_ms: AtomicU64,
    /// The waker of the session's task, which waits for these in one place at a time. Kept from one wait to the next, so that a
    /// wait writes nothing here.
    waits: Mutex<Option<Waker>>,
}

/// How far apart the looks are whether somebody is still about to kill a session.
const AIM_LOOKS_APART: Duration = Duration::from_millis(1);
/// How many bytes of a session's statement are shown.
const ASKED_BYTES_MAX: usize = 1024;

/// The present statement of a session.
#[derive(Debug, Default)]
struct CurrentStatement {
    /// The session's default schema.
    schema: Option<String>,
    /// The beginning of the statement.
    text: Vec<u8>,
}

impl CurrentStatement {
    fn chooses(&mut self, schema: Option<&str>) {
        if self.schema.as_deref() != schema {
            self.schema = schema.map(str::to_owned);
        }
    }
}

/// A client in the list of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The client's number.
    pub id: u32,
    /// The name with which the client logged in.
    pub user: String,
    /// The client's address; `None`: a unix socket.
    pub client: Option<SocketAddr>,
    /// The default schema, as of the client's last command that was not answered from memory.
    pub schema: Option<String>,
    /// The beginning of the statement that is with the server.
    pub statement: Option<String>,
    /// A command of the client is with the server.
    pub is_busy: bool,
    /// How long ago the client sent its last command, in milliseconds.
    pub silent_ms: u64,
    /// The server's number of the client's connection; 0 if it has none.
    pub server_id: u32,
    /// What held the session after its last command that the server saw.
    pub(crate) holds: u32,
    /// The counts of the client's connection as a lane; `None` if it is not lent.
    pub(crate) lane: Option<LaneFigures>,
}

impl Process {
    /// Returns the client's address, as the servers write it.
    pub(crate) fn host(&self) -> String {
        self.client.map_or_else(|| "localhost".to_owned(), |client| client.to_string())
    }
}

/// How soon a session is to end. The value only ever moves down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    /// The session goes on.
    No,
    /// As soon as it is between two transactions.
    Drain,
    /// At its next pause: the server has killed its connection, and may have a last message for the client.
    Cut,
    /// At its next pause, by Freshet alone: the session was idle, or the server does not know it.
    Now,
}

/// A session that somebody is about to kill. If the killer may kill it, the session keeps its connection until this value is dropped:
/// otherwise the connection's next user would be killed in its place.
pub(crate) struct Aimed {
    pub(crate) handle: Arc<Handle>,
    /// The server's number of the session's connection; 0 if it has none.
    pub(crate) thread_id: u32,
    /// Whether the killer may kill the session.
    pub(crate) may: bool,
}

impl Aimed {
    pub(crate) fn at(handle: Arc<Handle>, may: bool) -> Self {
        let thread_id = if may { handle.slot.aim() } else { handle.thread_id() };
        Self { handle, thread_id, may }
    }
}

impl Drop for Aimed {
    fn drop(&mut self) {
        if self.may {
            self.handle.slot.aims_no_more();
        }
    }
}

impl Handle {
    fn new(user: Vec<u8>, client: Option<SocketAddr>, now_ms: u64, slot: Arc<ConnectionSlot>) -> Self {
        Self {
            user,
            client,
            slot,
            active_ms: AtomicU64::new(now_ms),
            silent_ms_max: AtomicU64::new(u64::MAX),
            busy: AtomicBool::new(false),
            holds: AtomicU32::new(0),
            asked: Mutex::default(),
            ending: AtomicU8::new(Ending::No as u8),
            lane: Mutex::default(),
            interrupted: AtomicBool::new(false),
            rests: AtomicBool::new(false),
            rested_ms: AtomicU64::new(0),
            waits: Mutex::new(None),
        }
    }

    pub(crate) fn thread_id(&self) -> u32 {
        self.slot.number()
    }

    pub(crate) fn set_thread_id(&self, id: u32) {
        self.slot.set(id);
    }

    /// Takes the connection's number from the session, so that a later KILL by this number hits nobody here. Returns false, and changes
    /// nothing, while somebody is about to kill the session, or has killed it.
    pub(crate) fn parts(&self) -> bool {
        let id = self.thread_id();
        let parts = self.slot.take();
        if parts && self.ending() == Ending::Cut {
            self.set_thread_id(id);
            return false;
        }
        parts
    }

    /// Like [`Self::parts`], for a session that goes on without its connection. Its client may be silent for this long.
    pub(crate) fn gives_up(&self, silent_ms_max: u64) -> bool {
        let parts = self.parts();
        if parts {
            self.silent_ms_max.store(silent_ms_max, Ordering::Relaxed);
        }
        parts
    }

    /// Sets how long the client may be silent, in milliseconds.
    pub(crate) fn may_be_silent_for(&self, silent_ms_max: u64) {
        self.silent_ms_max.store(silent_ms_max, Ordering::Relaxed);
    }

    /// Notes that the session has a connection again, which the server ends in time.
    pub(crate) fn goes_on(&self) {
        self.silent_ms_max.store(u64::MAX, Ordering::Relaxed);
    }

    /// Notes what holds the session.
    pub(crate) fn set_holds(&self, holds: u32) {
        self.holds.store(holds, Ordering::Relaxed);
    }

    /// Notes that the session's connection carries reads of others from now on.
    pub(crate) fn lends(&self, lane: &Arc<LaneCounts>) {
        *self.lane.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(lane);
    }

    fn lane(&self) -> Option<LaneFigures> {
        let lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        lane.and_then(|lane| lane.read())
    }

    pub(crate) fn active(&self, now_ms: u64) {
        self.active_ms.store(now_ms, Ordering::Relaxed);
    }

    /// When the client was last active, in monotonic milliseconds.
    pub(crate) fn active_ms(&self) -> u64 {
        self.active_ms.load(Ordering::Relaxed)
    }

    /// Notes that a command goes to the server.
    pub(crate) fn begins(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    /// Notes that the session waits for its next command, in this default schema. Reads the clock only if the last command may have taken
    /// long.
    pub(crate) fn pauses(&self, now_ms: impl FnOnce() -> u64, schema: Option<&str>) {
        if self.busy.load(Ordering::Relaxed) {
            self.active(now_ms());
            self.asks(schema, b"");
            self.busy.store(false, Ordering::Relaxed);
        }
    }

    /// Notes a statement for which there was no answer in memory.
    pub(crate) fn asks(&self, schema: Option<&str>, text: &[u8]) {
        let mut end = text.len().min(ASKED_BYTES_MAX);
        // So that no character is cut.
        while text.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) && end > 0 {
            end -= 1;
        }
        let mut asked = self.asked();
        asked.chooses(schema);
        asked.text.clear();
        asked.text.extend_from_slice(&text[..end]);
    }

    /// Nothing under this lock panics half-way.
    fn asked(&self) -> MutexGuard<'_, CurrentStatement> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self, since_ms: u64) -> bool {
        !self.busy.load(Ordering::Relaxed) && self.active_ms.load(Ordering::Relaxed) < since_ms
    }

    /// Ends the session, as soon as `ending` says: at [`Ending::Cut`] and later no command that its client sends after this
    /// returns is carried out.
    pub(crate) fn end(&self, ending: Ending) {
        self.ending.fetch_max(ending as u8, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        // The lock orders this after a wait that has looked before, or before a wait that looks afterwards.
        let waits = self.waits().clone();
        if let Some(session) = waits {
            session.wake();
        }
    }

    /// Notes that a command begins: an earlier interruption is past.
    pub(crate) fn can_be_interrupted(&self) {
        self.interrupted.store(false, Ordering::Relaxed);
    }

    /// Ends the session's wait for another client's question, if it waits. The server has interrupted the session's statement there, if
    /// there is one.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether the command under way was interrupted.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// Waits until nobody is about to kill the session, for this long at most. An interrupted statement ends only after the server has
    /// heard of the KILL: by then the session and its connection are still there.
    pub(crate) async fn is_aimed_at_no_more(&self, wait_max: Duration) {
        let until = Instant::now() + wait_max;
        while self.slot.is_aimed_at() && Instant::now() < until {
            tokio::time::sleep(AIM_LOOKS_APART).await;
        }
    }

    /// Waits until it is interrupted.
    pub(crate) async fn interrupted(&self) {
        poll_fn(|cx| {
            let _waits = self.wakes(cx);
            // Under the lock: an interruption after this finds the waker.
            if self.is_interrupted() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Has the session give up what it does not use, once for each time that its client was silent for this long, or `again`.
    fn rest(&self, since_ms: u64, again: bool) {
        let active_ms = self.active_ms();
        let is_new = || self.rested_ms.swap(active_ms, Ordering::Relaxed) != active_ms;
        if self.is_idle(since_ms) && (is_new() || again && self.thread_id() != 0) {
            self.rests.store(true, Ordering::Release);
            self.wake();
        }
    }

    /// Whether the session is to give up what it does not use.
    pub(crate) fn is_to_rest(&self) -> bool {
        self.rests.load(Ordering::Acquire)
    }

    /// Like [`Self::is_to_rest`], but only the first call returns true.
    pub(crate) fn takes_rest(&self) -> bool {
        self.is_to_rest() && self.rests.swap(false, Ordering::AcqRel)
    }

    /// Notes that a command has come: the session does not rest.
    pub(crate) fn rests_no_more(&self) {
        if self.is_to_rest() {
            self.rests.store(false, Ordering::Release);
        }
    }

    /// Ends the session like a killed one: the server has killed its connection, if it has one, and may have a last message.
    pub(crate) fn killed(&self) {
        self.end(if self.thread_id() == 0 { Ending::Now } else { Ending::Cut });
    }

    /// Returns how soon the session is to end.
    pub(crate) fn ending(&self) -> Ending {
        match self.ending.load(Ordering::Acquire) {
            0 => Ending::No,
            1 => Ending::Drain,
            2 => Ending::Cut,
            _ => Ending::Now,
        }
    }

    /// Waits until the session is to end this soon or sooner.
    pub(crate) async fn ends(&self, soon: Ending) -> Ending {
        poll_fn(|cx| self.poll_ends(cx, soon)).await
    }

    /// Like [`Self::ends`], for a wait that is polled by hand.
    pub(crate) fn poll_ends(&self, cx: &Context<'_>, soon: Ending) -> Poll<Ending> {
        let _waits = self.wakes(cx);
        // Under the lock: an ending after this finds the waker.
        match self.ending() {
            ending if ending >= soon => Poll::Ready(ending),
            _ => Poll::Pending,
        }
    }

    /// Notes the waker. A change after a look under this guard is not missed.
    fn wakes(&self, cx: &Context<'_>) -> MutexGuard<'_, Option<Waker>> {
        let mut waits = self.waits();
        if !waits.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            *waits = Some(cx.waker().clone());
        }
        waits
    }

    /// Takes even a poisoned lock: nothing under it panics half-way.
    fn waits(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All sessions, by their clients' connection ids.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    handles: Mutex<HashMap<u32, Arc<Handle>>>,
    connected: Arc<Connected>,
}

impl Registry {
    /// Makes a session's handle, which is not registered yet.
    pub(crate) fn handle(&self, user: Vec<u8>, client: Option<SocketAddr>, now_ms: u64) -> Arc<Handle> {
        Arc::new(Handle::new(user, client, now_ms, ConnectionSlot::among(&self.connected)))
    }

    /// Makes the handle of the next session on the same client connection.
    pub(crate) fn next_handle(
        before: &Handle,
        user: Vec<u8>,
        client: Option<SocketAddr>,
        now_ms: u64,
    ) -> Arc<Handle> {
        Arc::new(Handle::new(user, client, now_ms, Arc::clone(&before.slot)))
    }

    /// Returns how many sessions have a connection to the server.
    pub(crate) fn connected(&self) -> &Connected {
        &self.connected
    }

    pub(crate) fn add(&self, id: u32, handle: &Arc<Handle>) {
        self.lock().insert(id, Arc::clone(handle));
    }

    pub(crate) fn remove(&self, id: u32) {
        self.lock().remove(&id);
    }

    pub(crate) fn find(&self, id: u32) -> Option<Arc<Handle>> {
        self.lock().get(&id).cloned()
    }

    /// Finds a session by the server's id of its connection. Walks over all sessions: this call is rare.
    pub(crate) fn find_thread(&self, thread_id: u32) -> Option<Arc<Handle>> {
        // Sessions without a connection have the number 0.
        (thread_id != 0).then_some(())?;
        self.lock().values().find(|handle| handle.thread_id() == thread_id).cloned()
    }

    /// Returns all clients, at this moment.
    pub(crate) fn processes(&self, now_ms: u64) -> Vec<Process> {
        let process = |(id, handle): (&u32, &Arc<Handle>)| {
            let is_busy = handle.busy.load(Ordering::Relaxed);
            let asked = handle.asked();
            let text = || String::from_utf8_lossy(&asked.text).into_owned();
            Process {
                id: *id,
                user: String::from_utf8_lossy(&handle.user).into_owned(),
                client: handle.client,
                schema: asked.schema.clone(),
                statement: (is_busy && !asked.text.is_empty()).then(text),
                is_busy,
                silent_ms: now_ms.saturating_sub(handle.active_ms()),
                server_id: handle.thread_id(),
                holds: handle.holds.load(Ordering::Relaxed),
                lane: handle.lane(),
            }
        };
        self.lock().iter().map(process).collect()
    }

    /// Ends the sessions that have been silent for longer than this, or for longer than they may be.
    pub(crate) fn end_idle(&self, now_ms: u64, silent_ms_max: u64) {
        for handle in self.lock().values() {
            let silent_ms_max = silent_ms_max.min(handle.silent_ms_max.load(Ordering::Relaxed));
            if handle.is_idle(now_ms.saturating_sub(silent_ms_max)) {
                handle.end(Ending::Now);
            }
        }
    }

    /// Has the sessions whose clients have been silent for this long give up what they do not use. `again`: also those that kept their
    /// connections before.
    pub(crate) fn rest(&self, now_ms: u64, silent_ms: u64, again: bool) {
        let since_ms = (now_ms + 1).saturating_sub(silent_ms);
        self.lock().values().for_each(|handle| handle.rest(since_ms, again));
    }

    /// Ends all sessions as soon as they are between two transactions.
    pub(crate) fn drain(&self) {
        self.lock().values().for_each(|handle| handle.end(Ending::Drain));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Arc<Handle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[test]
    fn who_is_connected_is_counted_until_it_leaves() {
        let registry = Registry::default();
        let [first, second] = [b"a", b"b"].map(|user| registry.handle(user.to_vec(), None, 0));
        first.set_thread_id(7);
        first.set_thread_id(8);
        second.set_thread_id(9);
        second.set_thread_id(0);
        assert_eq!(registry.connected().read(true), (1, 2));
        assert_eq!(registry.connected().read(false), (1, 1));
        drop(first);
        assert_eq!(registry.connected().read(false), (0, 1));
    }

    #[test]
    fn who_is_about_to_be_killed_keeps_its_connection() {
        let registry = Registry::default();
        let handle = registry.handle(b"a".to_vec(), None, 0);
        handle.set_thread_id(7);
        let aimed = Aimed::at(Arc::clone(&handle), true);
        assert_eq!(aimed.thread_id, 7);
        assert!(!handle.gives_up(1_000) && !handle.parts());
        let next = Registry::next_handle(&handle, b"b".to_vec(), None, 0);
        assert!(!next.parts(), "another login does not make it another connection");
        assert_eq!((handle.thread_id(), registry.connected().read(false).0), (7, 1));
        drop(aimed);
        let seen = Aimed::at(Arc::clone(&handle), false);
        assert_eq!(seen.thread_id, 7, "who may not kill it is no reason to keep it");
        assert!(handle.gives_up(1_000));
        drop(seen);
        assert_eq!((next.thread_id(), registry.connected().read(false).0), (0, 0));
        let aimed = Aimed::at(Arc::clone(&handle), true);
        assert!(aimed.thread_id == 0 && handle.parts(), "who has none has none to keep");
        handle.set_thread_id(8);
        handle.killed();
        drop(aimed);
        assert!(!handle.gives_up(1_000) && handle.thread_id() == 8, "nobody is given what was killed");
        drop((handle, next));
        assert_eq!(registry.connected().read(false).0, 0);
    }

    #[tokio::test]
    async fn a_killed_statement_waits_until_the_server_has_heard_of_it() {
        let registry = Registry::default();
        let handle = registry.handle(b"a".to_vec(), None, 0);
        registry.add(1, &handle);
        assert!(registry.find_thread(0).is_none(), "who has no connection is not known by a number");
        handle.set_thread_id(7);
        assert!(registry.find_thread(7).is_some());
        let aimed = Aimed::at(Arc::clone(&handle), true);
        let mut ends = pin!(handle.is_aimed_at_no_more(Duration::from_secs(600)));
        assert!(tokio::time::timeout(Duration::from_millis(20), ends.as_mut()).await.is_err());
        drop(aimed);
        ends.await;
        let _aimed = Aimed::at(Arc::clone(&handle), true);
        handle.is_aimed_at_no_more(Duration::from_millis(20)).await;
    }

    #[test]
    fn a_session_is_idle_only_between_commands() {
        let handle = Registry::default().handle(b"u".to_vec(), None, 100);
        assert!(handle.is_idle(101) && !handle.is_idle(100));
        handle.begins();
        assert!(!handle.is_idle(1_000));
        handle.pauses(|| 900, None);
        assert!(handle.is_idle(1_000) && !handle.is_idle(900));
        handle.pauses(|| unreachable!("it was not with the server"), None);
    }

    #[test]
    fn what_is_with_the_server_is_shown_while_it_is_there() {
        let registry = Registry::default();
        let handle = registry.handle(b"u".to_vec(), None, 0);
        registry.add(1, &handle);
        let shown = || registry.processes(0).pop().map(|it| (it.schema, it.statement)).unwrap();
        let is = |schema: &str, statement: Option<&str>| {
            shown() == (Some(schema.to_owned()), statement.map(str::to_owned))
        };
        assert_eq!(shown(), (None, None));
        handle.asks(Some("shop"), b"SELECT 1");
        assert!(is("shop", None), "it is not with the server yet");
        handle.begins();
        assert!(is("shop", Some("SELECT 1")));
        let long = format!("{}\u{e9}", "x".repeat(ASKED_BYTES_MAX - 1));
        handle.asks(Some("shop"), long.as_bytes());
        assert!(is("shop", Some(&long[..ASKED_BYTES_MAX - 1])));
        handle.pauses(|| 1, Some("other"));
        handle.begins();
        assert!(is("other", None));
    }
}
