//! COM_BINLOG_DUMP and similar commands: the connection carries a stream from here on, which is passed on as bytes.

use std::sync::Arc;

use freshet_upstream::Connection;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tracing::debug;

use super::refusals::unavailable;
use crate::registry::Ending;
use crate::relay::Lost;
use crate::session::{Flow, Session};
use crate::wire::Wire;

/// How many bytes one read asks for, of a stream that is to be compressed.
const READ_BYTES: usize = 32 * 1024;

pub(super) async fn handle(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    session.wire.flush().await?;
    session.forward_silently(packet).await?;
    let (handle, upstream) = (Arc::clone(&session.handle), session.lease.connection()?);
    if session.wire.compression().is_some() {
        tokio::select! {
            ended = stream(&mut session.wire, upstream) => debug!(?ended, "a replica's compressed stream ended"),
            _ = handle.ends(Ending::Cut) => debug!("a replica's compressed stream is ended"),
        }
        return Ok(Flow::Close);
    }
    let (server, from_server) = upstream.parts();
    let Some((client, from_client, _)) = session.wire.parts() else { return Ok(Flow::Close) };
    let both = async {
        client.write_all(from_server).await?;
        server.write_all(from_client).await?;
        tokio::io::copy_bidirectional(client, server).await
    };
    tokio::select! {
        ended = both => debug!(?ended, "a replica's stream ended"),
        _ = handle.ends(Ending::Cut) => debug!("a replica's stream is ended"),
    }
    Ok(Flow::Close)
}

/// Passes both directions on through the client's compression, until one side closes.
async fn stream(wire: &mut Wire, upstream: &mut Connection) -> Result<(), Lost> {
    let (server, from_server) = upstream.parts();
    loop {
        wire.put_frames(from_server, 0);
        from_server.clear();
        wire.flush().await?;
        let from_client = wire.streamed()?;
        server.write_all(&from_client).await.map_err(Lost::Upstream)?;
        server.flush().await.map_err(Lost::Upstream)?;
        from_server.reserve(READ_BYTES);
        tokio::select! {
            read = server.read_buf(from_server) => {
                if read.map_err(Lost::Upstream)? == 0 {
                    return Ok(());
                }
            }
            filled = wire.fill() => filled?,
        }
    }
}
