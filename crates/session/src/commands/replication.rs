//! COM_BINLOG_DUMP and its kin: from here on the connection carries a stream, which is passed on as bytes.

use tokio::io::AsyncWriteExt as _;
use tracing::debug;

use super::unavailable;
use crate::relay::Lost;
use crate::session::{Flow, Session};

pub(super) async fn handle(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    session.wire.flush().await?;
    session.send(packet).await?;
    let Some(upstream) = &mut session.admitted.upstream else { return Ok(Flow::Close) };
    let (server, from_server) = upstream.parts();
    let Some((client, from_client, _)) = session.wire.parts() else { return Ok(Flow::Close) };
    let both = async {
        client.write_all(from_server).await?;
        server.write_all(from_client).await?;
        tokio::io::copy_bidirectional(client, server).await
    };
    match both.await {
        Ok((up, down)) => debug!(up, down, "a replica's stream ended"),
        Err(error) => debug!(%error, "a replica's stream broke"),
    }
    Ok(Flow::Close)
}
