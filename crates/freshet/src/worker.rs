//! One event loop on one thread: every session on it stays on it.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Notify, mpsc};

use crate::listen::Incoming;
use crate::sessions::Sessions;
use crate::shutdown::{Phase, Watch};

/// Clients that may wait for a busy loop to take them over; the acceptor waits when it is reached.
const HANDOVER_MAX: usize = 1024;

/// A worker as the acceptor sees it.
pub struct Worker {
    sender: mpsc::Sender<Client>,
    clients: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

/// A client on its way to its worker, counted there from the moment it is dealt to the moment it is gone.
struct Client {
    incoming: Incoming,
    _place: ClientCount,
}

/// One client's place among those of a worker.
struct ClientCount(Arc<AtomicUsize>);

impl ClientCount {
    fn take(clients: &Arc<AtomicUsize>) -> ClientCount {
        // The count steers the dealing and ends the draining; nothing else is published by it.
        clients.fetch_add(1, Ordering::Relaxed);
        ClientCount(Arc::clone(clients))
    }
}

impl Drop for ClientCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread or no event loop.
    pub fn start(number: usize, sessions: Sessions, phase: Watch) -> io::Result<Worker> {
        let (sender, receiver) = mpsc::channel(HANDOVER_MAX);
        let (started, outcome) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name(format!("freshet-{number}")).spawn(move || {
            // An event loop that takes tasks which stay on its thread cannot be made on another one.
            let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
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

    /// Returns how many clients it has.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Gives it a client; waits while it has taken none of many before.
    pub async fn deal(&self, incoming: Incoming) {
        let client = Client { incoming, _place: ClientCount::take(&self.clients) };
        // A worker ends only after the acceptor has: there is no one to be told.
        let _ = self.sender.send(client).await;
    }

    /// Waits for its clients to be gone, which the phase brings about.
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
    while let Some(client) = receiver.recv().await {
        let (sessions, gone, place) = (Rc::clone(&sessions), Rc::clone(&gone), Rc::clone(&here));
        tokio::task::spawn_local(async move {
            sessions.serve(client.incoming).await;
            drop((client._place, place));
            gone.notify_one();
        });
    }
    // The acceptor is gone. What is left finishes, or is cut off when this returns and its loop is dropped.
    let cut = phase.wait_for(|phase| *phase == Phase::Ended);
    tokio::pin!(cut);
    while Rc::strong_count(&here) > 1 {
        tokio::select! {
            () = gone.notified() => {}
            _ = &mut cut => break,
        }
    }
}
