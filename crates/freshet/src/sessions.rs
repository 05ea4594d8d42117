//! Hands a client to the session room.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpStream, UnixStream};

use crate::config::Config;
use crate::listen::Incoming;
use crate::shutdown::{Phase, Watch};
use freshet_upstream::Address;

/// What the sessions of one event loop share.
#[derive(Clone)]
pub struct Sessions {
    config: Arc<Config>,
}

impl Sessions {
    /// Shares a configuration.
    pub fn new(config: Arc<Config>) -> Sessions {
        Sessions { config }
    }

    /// Serves one client until it is gone or the phase says so.
    pub async fn serve(&self, incoming: Incoming, mut phase: Watch) {
        let ended = async {
            let _ = phase.wait_for(|phase| *phase >= Phase::Draining).await;
        };
        let outcome = tokio::select! {
            outcome = self.relay(incoming) => outcome,
            () = ended => return,
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a session ended");
        }
    }

    async fn relay(&self, incoming: Incoming) -> io::Result<()> {
        match incoming {
            Incoming::Tcp(stream) => self.relay_stream(TcpStream::from_std(stream)?).await,
            Incoming::Unix(stream) => self.relay_stream(UnixStream::from_std(stream)?).await,
        }
    }

    async fn relay_stream<S: AsyncRead + AsyncWrite + Unpin>(&self, mut client: S) -> io::Result<()> {
        match &self.config.upstream.address {
            Address::Tcp { host, port } => {
                let mut server = TcpStream::connect((host.as_str(), *port)).await?;
                server.set_nodelay(true)?;
                copy_bidirectional(&mut client, &mut server).await?;
            }
            Address::Unix(path) => {
                let mut server = UnixStream::connect(path).await?;
                copy_bidirectional(&mut client, &mut server).await?;
            }
        }
        Ok(())
    }
}
