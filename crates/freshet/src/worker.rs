//! One event loop on one thread: a session stays on its event loop.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Notify, mpsc};

use crate::listen::Incoming;
use crate::scheduling;
use crate::sessions::Sessions;
use crate::shutdown::{Phase, Watch};

/// The most clients that may wait until a busy loop takes them over; beyond that the acceptor waits.
const HANDOVER_MAX: usize = 1024;

/// A worker as the acceptor sees it.
pub struct Worker {
    sender: mpsc::Sender<Client>,
    clients: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

/// A client on its way to its worker. The worker counts it from the moment it is dealt until it is gone.
struct Client {
    incoming: Incoming,
    _place: ClientCount,
}

/// One client's place among those of a worker.
struct ClientCount(Arc<AtomicUsize>);

impl ClientCount {
    fn take(clients: &Arc<AtomicUsize>) -> ClientCount {
        // The count guides the dealing and ends the draining; it publishes nothing else.
        clients.fetch_add(1, Ordering::Relaxed);
        ClientCount(Arc::clone(clients))
    }
}

impl Drop for ClientCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a thread may take for its calls. Reading a deep statement takes more where nothing is optimised.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread or no event loop.
    pub fn start(number: usize, sessions: Sessions, phase: Watch) -> io::Result<Worker> {
        let (sender, receiver) = mpsc::channel(HANDOVER_MAX);
        let (started, outcome) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name(format!("freshet-{number}")).stack_size(STACK_BYTES);
        let thread = thread.spawn(move || {
            // A runtime whose tasks stay on its thread has to be made on that thread.
            let mut runtime = Builder::new_current_thread();
            let runtime = runtime.enable_all().on_thread_park(scheduling::waits);
            let runtime = runtime.build_local(LocalOptions::default());
            let runtime = match runtime {
                Ok(runtime) => started.send(Ok(())).map(|()| runtime),
                Err(error) => return drop(started.send(Err(error))),
            };
            if let Ok(runtime) = runtime {
                runtime.block_on(work(receiver, sessions, phase));
            }
        })?;
        outcome.recv().unwrap_or_else(|_| Err(io::Error::other("the thread ended at once")))?;
        Ok(Worker { sender, clients: Arc::default(), thread })
    }

    /// Returns how many clients the worker has.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Gives the worker a client; waits while many earlier ones have not been taken yet.
    pub async fn deal(&self, incoming: Incoming) {
        let client = Client { incoming, _place: ClientCount::take(&self.clients) };
        // A worker ends only after the acceptor: nobody is there to be told.
        let _ = self.sender.send(client).await;
    }

    /// Waits until its clients are gone; the phase brings that about.
    pub fn join(self) {
        drop(self.sender);
        if self.thread.join().is_err() {
            tracing::error!("an event loop ended by a panic");
        }
    }
}

async fn work(mut receiver: mpsc::Receiver<Client>, sessions: Sessions, mut phase: Watch) {
    let sessions = Rc::new(sessions);
    let gone = Rc::new(Notify::new());
    let here = Rc::new(());
    let polling = Rc::clone(&sessions);
    tokio::task::spawn_local(async move { polling.busy_poll().await });
    while let Some(client) = receiver.recv().await {
        let (sessions, gone, place) = (Rc::clone(&sessions), Rc::clone(&gone), Rc::clone(&here));
        tokio::task::spawn_local(async move {
            sessions.serve(client.incoming).await;
            drop((client._place, place));
            gone.notify_one();
        });
    }
    // The acceptor is gone. The remaining clients finish, or are cut off when this returns and its loop is dropped.
    let cut = phase.wait_for(|phase| *phase == Phase::Ended);
    tokio::pin!(cut);
    while Rc::strong_count(&here) > 1 {
        tokio::select! {
            () = gone.notified() => {}
            _ = &mut cut => break,
        }
    }
}
