//! Prepared statements: passed through, with what each may do remembered.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use freshet_catalog::Told;
use freshet_protocol::Command;
use freshet_sql::{Effects, Reads, Writes};

use super::{kill, unavailable};
use crate::fences::{Reading, Sources, reading};
use crate::reading::{self, LONG_BYTES_MIN, ReadPrepared};
use crate::relay::Lost;
use crate::session::{AGAIN_BYTES_MAX, Again, Executed, Flow, Forward, Prepared, Session};

/// COM_STMT_PREPARE.
pub(super) async fn prepare(session: &mut Session, packet: BytesMut) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    let packet = packet.freeze();
    let ReadPrepared { effects, write, kill, stripped } = read(session, &packet).await;
    let effects = session.certain(&packet[1..], effects);
    let write = write.filter(|_| reading::writes_one_table(&effects));
    let nothing = Effects::none();
    let command = Command::StmtPrepare;
    let stripped = stripped.map(|text| [&[Command::StmtPrepare.byte()], text.as_slice()].concat());
    let payload = stripped.as_deref().unwrap_or(&packet);
    let relayed = session.forward(Forward::new(payload, command, &nothing)).await?;
    if let Some(ok) = relayed.prepared {
        let again = again(session, &packet[1..], &effects);
        let prepared = Arc::new(Prepared::new(effects, (write, again), kill, ok.parameters.into()));
        session.lease.prepared.add(ok.statement_id, prepared);
    }
    Ok(Flow::Continue)
}

/// The text of a write, if it is short enough to be kept.
fn again(session: &Session, text: &[u8], effects: &Effects) -> Option<Again> {
    let is_kept = matches!(effects.writes, Writes::Tables(_)) && text.len() <= AGAIN_BYTES_MAX;
    is_kept.then(|| Again {
        text: text.into(),
        modes: session.manner().modes_of_write,
        schema: session.state.schema.clone(),
    })
}

/// Reads the text of a COM_STMT_PREPARE, a long one beside the event loop.
async fn read(session: &Session, packet: &Bytes) -> ReadPrepared {
    let (text, manner) = (packet.slice(1..), session.manner());
    if text.len() < LONG_BYTES_MIN {
        return reading::prepared(&text, manner);
    }
    let read = session.shared.readers.read(text, move |text| reading::prepared(text, manner)).await;
    read.unwrap_or_else(|| ReadPrepared {
        effects: Effects::worst(),
        write: None,
        kill: None,
        stripped: None,
    })
}

/// COM_STMT_EXECUTE and MariaDB's COM_STMT_BULK_EXECUTE.
pub(super) async fn execute(session: &mut Session, packet: &[u8], command: Command) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    let prepared = known(session, packet);
    let effects = effects_of(session, prepared.as_deref()).await;
    let Executed { write, killed } = match (&prepared, command) {
        (Some(prepared), Command::StmtExecute) => prepared.executed(packet, session.capabilities()),
        (Some(prepared), _) => {
            prepared.executed_in_bulk();
            Executed::default()
        }
        (None, _) => Executed::default(),
    };
    if effects.session {
        session.state.texts.forget(); // No server lets one prepare another by its text; if one did, it would be so.
    }
    if let Some((kill, id)) = killed
        && let Some(done) = kill::prepared(session, kill, id).await
    {
        return done;
    }
    let relayed = session.forward(Forward { write, ..Forward::new(packet, command, &effects) }).await?;
    if let Some(prepared) = prepared {
        prepared.ended(relayed.error);
    }
    Ok(Flow::Continue)
}

/// COM_STMT_SEND_LONG_DATA, which has no answer: a part of a parameter's value, which the execution will not repeat.
pub(super) async fn send_long_data(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Some(prepared) = known(session, packet) {
        prepared.has_long_data(true);
    }
    if !session.lease.is_open() {
        return Ok(Flow::Continue);
    }
    session.forward_silently(packet).await
}

/// COM_STMT_RESET, which drops what was sent of parameters.
pub(super) async fn reset(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Some(prepared) = known(session, packet) {
        prepared.has_long_data(false);
    }
    super::plain(session, packet, Command::StmtReset).await
}

/// COM_STMT_CLOSE, which has no answer.
pub(super) async fn close(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Some(id) = statement_id(packet) {
        session.lease.prepared.remove(id);
    }
    if !session.lease.is_open() {
        return Ok(Flow::Continue);
    }
    session.forward_silently(packet).await
}

fn statement_id(packet: &[u8]) -> Option<u32> {
    packet.get(1..5)?.try_into().ok().map(u32::from_le_bytes)
}

/// The statement that a packet names.
fn known(session: &Session, packet: &[u8]) -> Option<Arc<Prepared>> {
    session.lease.prepared.get(statement_id(packet)?)
}

/// What executing a statement may do. One that is not known here may do anything.
async fn effects_of(session: &Session, prepared: Option<&Prepared>) -> Effects {
    let Some(prepared) = prepared else { return Effects::worst() };
    if prepared.effects.reads.is_nothing() {
        return prepared.effects.clone();
    }
    let upstream = &session.shared.upstream;
    // Read before the look: what changes meanwhile makes the next execution look again.
    let version = upstream.catalog_version();
    let reads_plainly = prepared.reads_plainly_at(version) || {
        let sources = Sources { freshness: session.shared.freshness(), upstream };
        reading(&prepared.effects.reads, (sources, &mut Told::at(version))).await == Reading::Plain
    };
    if !reads_plainly {
        return prepared.effects.clone(); // It is looked at again, and acted on, when it is sent.
    }
    prepared.set_reads_plainly_at(version);
    Effects { reads: Reads::NOTHING, ..prepared.effects.clone() }
}
