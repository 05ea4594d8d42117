//! What query rules decide on an execution before anything else happens to it.

use freshet_protocol::Command;

use crate::relay::Lost;
use crate::session::{Came, Prepared, Session, ZoneAt};

/// Decides on an execution. Returns whether the rules have answered it.
pub(super) async fn execution(
    session: &mut Session,
    prepared: &Prepared,
    packet: &[u8],
    command: Command,
    at: ZoneAt,
) -> Result<bool, Lost> {
    let came = Came::Prepared { rewritten: prepared.is_rewritten() };
    let text = prepared.asked();
    if text.is_empty() || session.decide(text, came).is_none() || !session.answer_by_rules() {
        return Ok(false);
    }
    if command == Command::StmtExecute {
        prepared.executed(packet, session.capabilities(), at);
    } else {
        prepared.executed_in_bulk();
    }
    // The server has not seen the values of this execution.
    prepared.ended(None, true);
    if prepared.set_long_data(false) {
        session.drop_long_data(prepared).await?;
    }
    Ok(true)
}
