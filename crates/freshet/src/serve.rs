//! Serving clients: everything that runs, from the first listener to the last session.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admin::{Port, PortError};
use crate::config::{Config, Listen};
use crate::listen::{Incoming, Listener, accept_into};
use crate::sessions::Sessions;
use crate::shutdown::{Phase, Signals};
use crate::worker::Worker;
use crate::{limits, metrics, tls};

/// The pause before an occupied address is tried again.
const BIND_PAUSE: Duration = Duration::from_secs(1);

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A socket, a thread or a signal that the system refused.
    #[error("{what}: {source}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate for clients.
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
    /// What SET PERSIST has kept.
    #[error("state_dir: {0}")]
    Persisted(#[from] freshet_session::persisted::PersistError),
    /// What CREATE CACHE has kept.
    #[error("state_dir: {0}")]
    Created(#[from] freshet_session::FileError),
    /// The admin port.
    #[error(transparent)]
    Admin(#[from] PortError),
    /// The server's follower.
    #[error(transparent)]
    Upstream(#[from] freshet_upstream::Error),
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> ServeError {
    move |source| ServeError::System { what, source }
}

/// The longest time that clients wait for the stream at the start.
const MET_WITHIN: Duration = Duration::from_secs(2);

/// Serves until a signal ends it.
///
/// # Errors
/// The first obstacle to starting.
pub fn run(config: Config) -> Result<(), ServeError> {
    limits::refuse_huge_pages();
    limits::raise_open_files(&config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(system("cannot start an event loop"))?;
    runtime.block_on(serve(Arc::new(config)))
}

async fn serve(config: Arc<Config>) -> Result<(), ServeError> {
    // Taken before anything is started, so that no signal finds a half-started program.
    let mut signals = Signals::take().map_err(system("cannot take signals"))?;
    let tls = tls::server_config(&config)?;
    let sessions = Sessions::new(&config, tls)?;
    sessions.load_persisted()?;
    sessions.load_created()?;
    sessions.maintain().map_err(system("cannot start a thread"))?;
    // A session that is older than the stream stores nothing: its rights may have been taken away meanwhile.
    sessions.shared().upstream.meets(MET_WITHIN).await;
    let listeners = bind(&config.listen).await?;
    let (pauses, mut paused) = watch::channel(false);
    let admin = Port::start(&config, sessions.shared(), pauses.clone()).await?;
    let asked = metrics::bind(&config.metrics).await.map_err(system("cannot listen for Prometheus"))?;
    let (phase, watch) = watch::channel(Phase::Running);
    let workers = (0..config.threads)
        .map(|number| Worker::start(number, sessions.clone(), watch.clone()))
        .collect::<io::Result<Vec<Worker>>>()
        .map_err(system("cannot start an event loop"))?;
    for listener in &listeners {
        tracing::info!(address = %listener.address(), upstream = %config.upstream.address, "ready for connections");
    }
    // Only now: it keeps a core busy for a tenth of a second, and no client needs it for sure.
    sessions.prepare();
    tokio::select! {
        () = accept_all(listeners, &workers, config.max_clients, &mut paused) => {}
        () = sessions.keep_house() => {}
        () = sessions.rest_idle() => {}
        () = metrics::serve(asked, sessions.shared(), Arc::clone(&config)) => {}
        () = sessions.keep_to_size() => {}
        () = sessions.refresh_created() => {}
        () = sessions.create_automatically() => {}
        signal = signals.next() => tracing::info!(signal, "shutting down"),
        () = administrate(admin) => tracing::info!("shutting down, as the admin port was told"),
    }
    sessions.drain();
    drain(&config, workers, phase, signals).await;
    Ok(())
}

/// Accepts clients of the admin port, until one of them ends the program; waits forever if there is no such port.
async fn administrate(port: Option<Port>) {
    match port {
        Some(port) => port.accept().await,
        None => std::future::pending().await,
    }
}

async fn bind(listen: &[Listen]) -> Result<Vec<Listener>, ServeError> {
    let mut listeners = Vec::new();
    for listen in listen {
        listeners.extend(Listener::bind(listen).await.map_err(system("cannot listen"))?);
    }
    Ok(listeners)
}

/// Accepts clients, forever, except while that is paused. Then nobody listens: a client learns at once that it has to go elsewhere.
async fn accept_all(
    listeners: Vec<Listener>,
    workers: &[Worker],
    clients_max: usize,
    paused: &mut watch::Receiver<bool>,
) {
    let listens: Vec<Listen> = listeners.iter().map(Listener::listen).collect();
    let mut listeners = Some(listeners);
    loop {
        if let Some(listeners) = listeners.take() {
            tokio::select! {
                () = accept(listeners, workers, clients_max) => {}
                _ = paused.wait_for(|paused| *paused) => tracing::info!("paused: no client is let in"),
            }
        }
        if paused.wait_for(|paused| !*paused).await.is_err() {
            return;
        }
        match bind(&listens).await {
            Ok(bound) => {
                tracing::info!("clients are let in again");
                listeners = Some(bound);
            }
            Err(error) => {
                tracing::warn!(%error, "no client can be let in again yet");
                tokio::time::sleep(BIND_PAUSE).await;
            }
        }
    }
}

/// Deals clients out to the workers, forever.
async fn accept(listeners: Vec<Listener>, workers: &[Worker], clients_max: usize) {
    let (sender, mut accepted) = tokio::sync::mpsc::channel::<Incoming>(1);
    let mut tasks = JoinSet::new();
    for listener in listeners {
        tasks.spawn(accept_into(listener, sender.clone()));
    }
    while let Some(incoming) = accepted.recv().await {
        let clients: usize = workers.iter().map(Worker::clients).sum();
        if clients >= clients_max {
            refuse(incoming);
            continue;
        }
        if let Some(worker) = workers.iter().min_by_key(|worker| worker.clients()) {
            worker.deal(incoming).await;
        }
    }
}

/// Tells a client that there are too many. Its socket's buffer is empty, so that this never waits.
fn refuse(incoming: Incoming) {
    use std::io::Write;
    // ER_CON_COUNT_ERROR, as a packet that needs no handshake before it.
    const TOO_MANY: &[u8] = b"\x17\x00\x00\x00\xff\x10\x04Too many connections";
    let _ = match incoming {
        Incoming::Tcp(mut stream) => stream.write(TOO_MANY),
        Incoming::Unix(mut stream) => stream.write(TOO_MANY),
    };
    tracing::debug!("a client was refused: max_clients is reached");
}

/// Ends the workers: politely at first, by force after the drain timeout, and at once on a second signal.
async fn drain(config: &Config, workers: Vec<Worker>, phase: watch::Sender<Phase>, mut signals: Signals) {
    let _ = phase.send(Phase::Draining);
    let gone = tokio::task::spawn_blocking(move || workers.into_iter().for_each(Worker::join));
    tokio::pin!(gone);
    tokio::select! {
        _ = &mut gone => return,
        () = tokio::time::sleep(config.drain_timeout) => tracing::info!("drain_timeout is over"),
        signal = signals.next() => tracing::info!(signal, "ending at once"),
    }
    let _ = phase.send(Phase::Ended);
    let _ = gone.await;
}
