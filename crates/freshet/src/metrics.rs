//! The endpoint for Prometheus: one page in HTTP.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_session::Shared;
use freshet_session::metrics::{Program, prometheus};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::config::{Config, Listen};
use crate::listen::{Incoming, Listener, accept_into};

/// The most clients at once; a further one is disconnected.
const CLIENTS_MAX: usize = 16;
/// The longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// How long a request and its answer may take.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Listens, if the endpoint is wanted.
///
/// # Errors
/// What the system says.
pub async fn bind(listens: &[Listen]) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for listen in listens {
        listeners.extend(Listener::bind(listen).await?);
    }
    for listener in &listeners {
        tracing::info!(address = %listener.address(), "ready for Prometheus");
    }
    Ok(listeners)
}

/// Answers requests, forever.
pub async fn serve(listeners: Vec<Listener>, shared: Arc<Shared>, config: Arc<Config>) {
    let started = Instant::now();
    let (sender, mut accepted) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    for listener in listeners {
        tasks.spawn(accept_into(listener, sender.clone()));
    }
    let places = Arc::new(Semaphore::new(CLIENTS_MAX));
    while let Some(incoming) = accepted.recv().await {
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (shared, threads) = (Arc::clone(&shared), config.threads);
        tokio::spawn(async move {
            let page = || prometheus(&shared, Program { uptime_s: started.elapsed().as_secs(), threads });
            // A client that has left or is too slow is not answered.
            let _ = tokio::time::timeout(TIME_MAX, answer(incoming, page)).await;
            drop(place);
        });
    }
}

async fn answer(incoming: Incoming, page: impl FnOnce() -> String) -> io::Result<()> {
    match incoming {
        Incoming::Tcp(stream) => answer_on(TcpStream::from_std(stream)?, page).await,
        Incoming::Unix(stream) => answer_on(UnixStream::from_std(stream)?, page).await,
    }
}

/// Answers one request on each connection.
async fn answer_on<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    page: impl FnOnce() -> String,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let is_over = head.len() > HEAD_BYTES_MAX || stream.read_buf(&mut head).await? == 0;
        if is_over {
            return Ok(());
        }
    }
    let response = respond(&head, page);
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

fn respond(head: &[u8], page: impl FnOnce() -> String) -> String {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") => ("200 OK", page()),
        ("GET" | "HEAD", _) => ("404 Not Found", "GET /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "GET /metrics\n".to_owned()),
    };
    let length = body.len();
    let sent = if method == "HEAD" { "" } else { &body };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{sent}"
    )
}

#[cfg(test)]
mod tests {
    use super::respond;

    #[test]
    fn only_the_page_is_given() {
        let page = || "x 1\n".to_owned();
        let of = |head: &str| respond(head.as_bytes(), page);
        assert!(
            of("GET /metrics HTTP/1.1\r\n\r\n")
                .ends_with("\r\nContent-Length: 4\r\nConnection: close\r\n\r\nx 1\n")
        );
        assert!(of("GET /metrics?x=1 HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200"));
        assert!(of("HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
        assert!(of("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(of("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(of("\r\n\r\n").starts_with("HTTP/1.1 405"));
    }
}
