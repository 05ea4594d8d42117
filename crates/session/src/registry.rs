//! Which clients there are: so that KILL finds them by the id they were told, and idle ones are found at all.

mod place;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use ahash::HashMap;
use freshet_upstream::lane::{LaneCounts, LaneFigures};

use self::place::{Connected, Place};

/// What others may know of a session, and do to it.
#[derive(Debug)]
pub(crate) struct Handle {
    /// The name it logged in with.
    pub(crate) user: Vec<u8>,
    /// Where it comes from, if it came over TCP.
    client: Option<SocketAddr>,
    /// The server's id of its connection; the same for who comes after it on the same connection.
    place: Arc<Place>,
    /// When it last sent a command, in monotonic milliseconds.
    active_ms: AtomicU64,
    /// How long its client may be silent, in milliseconds, where no connection of its is there for the server to end.
    silent_ms_max: AtomicU64,
    /// A command of its is with the server: however long that takes, it is not idle.
    busy: AtomicBool,
    /// What holds it, as `Hold::words` has it.
    holds: AtomicU32,
    /// An [`Ending`].
    ending: AtomicU8,
    /// What it is asked, which is shown to who looks at all clients. Written where the cache had no answer.
    asked: Mutex<CurrentStatement>,
    /// What its connection carries for others, if it does.
    lane: Mutex<Weak<LaneCounts>>,
    /// Its statement under way is not to be waited for any longer.
    interrupted: AtomicBool,
    /// It is to give up what it does not use: its buffers, and its connection, if it can.
    rests: AtomicBool,
    /// When its client was last active as it was told so, in monotonic milliseconds.
    rested_ms: AtomicU64,
    /// The task of the session, which waits for these in one place at a time. Kept from one wait to the next, so that a
    /// wait writes nothing here.
    waits: Mutex<Option<Waker>>,
}

/// How much of a statement is shown of a session, in bytes.
const ASKED_BYTES_MAX: usize = 1024;

/// What a session is asked.
#[derive(Debug, Default)]
struct CurrentStatement {
    /// Its default schema.
    schema: Option<String>,
    /// The beginning of its statement.
    text: Vec<u8>,
}

impl CurrentStatement {
    fn chooses(&mut self, schema: Option<&str>) {
        if self.schema.as_deref() != schema {
            self.schema = schema.map(str::to_owned);
        }
    }
}

/// A client, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The number that it was told.
    pub id: u32,
    /// The name it logged in with.
    pub user: String,
    /// Where it comes from; `None`: by a unix socket.
    pub client: Option<SocketAddr>,
    /// Its default schema, as of its last command that was not answered from memory.
    pub schema: Option<String>,
    /// The beginning of the statement that is with the server.
    pub statement: Option<String>,
    /// A command of its is with the server.
    pub is_busy: bool,
    /// How long ago it sent its last command, in milliseconds.
    pub silent_ms: u64,
    /// The server's number of its connection; 0 while it has none.
    pub server_id: u32,
    /// What held it after its last command that the server saw.
    pub(crate) holds: u32,
    /// What its connection does for others, or one that it had; `None` if it is not lent.
    pub(crate) lane: Option<LaneFigures>,
}

impl Process {
    /// Where it comes from, as the servers write it.
    pub(crate) fn host(&self) -> String {
        self.client.map_or_else(|| "localhost".to_owned(), |client| client.to_string())
    }
}

/// How soon a session is to end. It only ever moves down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    /// Nobody wants it to.
    No,
    /// As soon as it is between two transactions.
    Drain,
    /// At its next pause: the server has killed its connection, and may have a last word for the client.
    Cut,
    /// At its next pause, by us alone: it was idle, or the server does not know it.
    Now,
}

/// A session that somebody is about to kill. Where the killer may, it keeps its connection until this is dropped, for the next one's would be killed in
/// its place.
pub(crate) struct Aimed {
    pub(crate) handle: Arc<Handle>,
    /// The server's number of its connection; 0 if it has none.
    pub(crate) thread_id: u32,
    /// Whether the killer may.
    pub(crate) may: bool,
}

impl Aimed {
    pub(crate) fn at(handle: Arc<Handle>, may: bool) -> Self {
        let thread_id = if may { handle.place.aim() } else { handle.thread_id() };
        Self { handle, thread_id, may }
    }
}

impl Drop for Aimed {
    fn drop(&mut self) {
        if self.may {
            self.handle.place.aims_no_more();
        }
    }
}

impl Handle {
    fn new(user: Vec<u8>, client: Option<SocketAddr>, now_ms: u64, place: Arc<Place>) -> Self {
        Self {
            user,
            client,
            place,
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
        self.place.number()
    }

    pub(crate) fn set_thread_id(&self, id: u32) {
        self.place.set(id);
    }

    /// Its connection is no longer its own, so that who kills by its number from now on kills nobody here. False, and it stays as it was, while
    /// somebody is about to, and where somebody has.
    pub(crate) fn parts(&self) -> bool {
        let id = self.thread_id();
        let parts = self.place.take();
        if parts && self.ending() == Ending::Cut {
            self.set_thread_id(id);
            return false;
        }
        parts
    }

    /// The same of a session that goes on without. Its client may be silent for so long.
    pub(crate) fn gives_up(&self, silent_ms_max: u64) -> bool {
        let parts = self.parts();
        if parts {
            self.silent_ms_max.store(silent_ms_max, Ordering::Relaxed);
        }
        parts
    }

    /// Its client may be silent for so long, in milliseconds.
    pub(crate) fn may_be_silent_for(&self, silent_ms_max: u64) {
        self.silent_ms_max.store(silent_ms_max, Ordering::Relaxed);
    }

    /// It has one again, which the server ends in time.
    pub(crate) fn goes_on(&self) {
        self.silent_ms_max.store(u64::MAX, Ordering::Relaxed);
    }

    /// Notes what holds it.
    pub(crate) fn set_holds(&self, holds: u32) {
        self.holds.store(holds, Ordering::Relaxed);
    }

    /// Its connection carries reads of others from now on.
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

    /// A command goes to the server.
    pub(crate) fn begins(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    /// The session waits for its next command, in this default schema. The clock is read only where the last one may have taken long.
    pub(crate) fn pauses(&self, now_ms: impl FnOnce() -> u64, schema: Option<&str>) {
        if self.busy.load(Ordering::Relaxed) {
            self.active(now_ms());
            self.asks(schema, b"");
            self.busy.store(false, Ordering::Relaxed);
        }
    }

    /// A statement has come for which there was no answer in memory.
    pub(crate) fn asks(&self, schema: Option<&str>, text: &[u8]) {
        let mut end = text.len().min(ASKED_BYTES_MAX);
        // No character is cut in two.
        while text.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) && end > 0 {
            end -= 1;
        }
        let mut asked = self.asked();
        asked.chooses(schema);
        asked.text.clear();
        asked.text.extend_from_slice(&text[..end]);
    }

    /// Nothing under it panics half-way.
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
        // The lock orders this behind a wait that has looked before, or before one that looks afterwards.
        let waits = self.waits().clone();
        if let Some(session) = waits {
            session.wake();
        }
    }

    /// From here on it can be interrupted: what has interrupted it before is past.
    pub(crate) fn can_be_interrupted(&self) {
        self.interrupted.store(false, Ordering::Relaxed);
    }

    /// Ends its wait for what another client has asked, if it waits for that. The server has interrupted what it does there, if it does anything.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
        self.wake();
    }

    /// Waits until it is interrupted.
    pub(crate) async fn interrupted(&self) {
        poll_fn(|cx| {
            let _waits = self.wakes(cx);
            // Under the lock: whoever interrupts it after this finds the waker.
            if self.interrupted.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Has it give up what it does not use, once for each time that its client was silent for so long, or `again`.
    fn rest(&self, since_ms: u64, again: bool) {
        let active_ms = self.active_ms();
        let is_new = || self.rested_ms.swap(active_ms, Ordering::Relaxed) != active_ms;
        if self.is_idle(since_ms) && (is_new() || again && self.thread_id() != 0) {
            self.rests.store(true, Ordering::Release);
            self.wake();
        }
    }

    /// Whether it is to give up what it does not use.
    pub(crate) fn is_to_rest(&self) -> bool {
        self.rests.load(Ordering::Acquire)
    }

    /// The same, once.
    pub(crate) fn takes_rest(&self) -> bool {
        self.is_to_rest() && self.rests.swap(false, Ordering::AcqRel)
    }

    /// A command has come: it does not rest.
    pub(crate) fn rests_no_more(&self) {
        if self.is_to_rest() {
            self.rests.store(false, Ordering::Release);
        }
    }

    /// Ends the session as one that was killed: the server has killed its connection, if it has one, and may have a last word.
    pub(crate) fn killed(&self) {
        self.end(if self.thread_id() == 0 { Ending::Now } else { Ending::Cut });
    }

    /// How soon the session is to end.
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

    /// The same, for a wait that is made by hand.
    pub(crate) fn poll_ends(&self, cx: &Context<'_>, soon: Ending) -> Poll<Ending> {
        let _waits = self.wakes(cx);
        // Under the lock: whoever ends the session after this finds the waker.
        match self.ending() {
            ending if ending >= soon => Poll::Ready(ending),
            _ => Poll::Pending,
        }
    }

    /// Notes who is to be woken; what is looked at while this is held is not missed.
    fn wakes(&self, cx: &Context<'_>) -> MutexGuard<'_, Option<Waker>> {
        let mut waits = self.waits();
        if !waits.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            *waits = Some(cx.waker().clone());
        }
        waits
    }

    /// A poisoned lock is taken all the same: nothing under it panics half-way.
    fn waits(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All sessions, by the connection id their clients were told.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    handles: Mutex<HashMap<u32, Arc<Handle>>>,
    connected: Arc<Connected>,
}

impl Registry {
    /// A session's handle, which is not registered yet.
    pub(crate) fn handle(&self, user: Vec<u8>, client: Option<SocketAddr>, now_ms: u64) -> Arc<Handle> {
        Arc::new(Handle::new(user, client, now_ms, Place::among(&self.connected)))
    }

    /// The handle of who comes after that session on the same connection.
    pub(crate) fn next_handle(
        before: &Handle,
        user: Vec<u8>,
        client: Option<SocketAddr>,
        now_ms: u64,
    ) -> Arc<Handle> {
        Arc::new(Handle::new(user, client, now_ms, Arc::clone(&before.place)))
    }

    /// How many of them have a connection to the server.
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

    /// By the server's id of its connection. Walks over all: few ask.
    pub(crate) fn find_thread(&self, thread_id: u32) -> Option<Arc<Handle>> {
        self.lock().values().find(|handle| handle.thread_id() == thread_id).cloned()
    }

    /// Everybody, at this moment.
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

    /// Ends the sessions that have been silent for longer than this, or than they may be.
    pub(crate) fn end_idle(&self, now_ms: u64, silent_ms_max: u64) {
        for handle in self.lock().values() {
            let silent_ms_max = silent_ms_max.min(handle.silent_ms_max.load(Ordering::Relaxed));
            if handle.is_idle(now_ms.saturating_sub(silent_ms_max)) {
                handle.end(Ending::Now);
            }
        }
    }

    /// Has the sessions whose clients have been silent for so long give up what they do not use. `again`: also those that have kept their connections before.
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
