//! What query rules make of statements before anything else is done for them.

use freshet_protocol::Command;

use super::prepared::zone_at;
use super::text::Query;
use super::{select, text_prepared};
use crate::relay::Lost;
use crate::session::{Came, Prepared, Session};

/// What becomes of a text.
pub(super) enum Decided {
    /// It is answered.
    Answered,
    /// It is carried out as it came.
    AsItCame,
    /// This packet is carried out in its place.
    Rewritten(Vec<u8>),
}

/// Decides a text. Without rules it stays as it came.
pub(super) fn text(session: &mut Session, query: &Query<'_>) -> Decided {
    if session.decide(query.text(), Came::Text).is_none() {
        return Decided::AsItCame;
    }
    if session.answer_by_rules() {
        return Decided::Answered;
    }
    let rewritten = session.ruled.take_rewritten().map(|text| query.with_text(&text));
    let packet = rewritten.as_deref().unwrap_or(query.packet);
    if packet.get(query.text_at..).is_some_and(|text| from_memory(session, text)) {
        return Decided::Answered;
    }
    rewritten.map_or(Decided::AsItCame, Decided::Rewritten)
}

/// Answers from memory what is not looked up before it is decided.
fn from_memory(session: &mut Session, text: &[u8]) -> bool {
    if session.answer_found_rows(text) {
        return true;
    }
    if session.ruled.is_plain() {
        return matches!(text_prepared::from_memory(session, text), Some(Ok(())));
    }
    let key = session.key_of_variant();
    key.is_some_and(|key| select::from_memory(session, text, key).is_ok())
}

/// Decides an execution. Whether it is answered.
pub(super) async fn execution(
    session: &mut Session,
    prepared: &Prepared,
    (packet, command): (&[u8], Command),
) -> Result<bool, Lost> {
    let came = Came::Prepared { rewritten: prepared.is_rewritten() };
    let text = prepared.asked();
    if text.is_empty() || session.decide(text, came).is_none() || !session.answer_by_rules() {
        return Ok(false);
    }
    if command == Command::StmtExecute {
        prepared.executed(packet, session.capabilities(), zone_at(session));
    } else {
        prepared.executed_in_bulk();
    }
    // The server has not seen what it was executed with.
    prepared.ended(None, true);
    if prepared.set_long_data(false) {
        session.drop_long_data(prepared).await?;
    }
    Ok(true)
}
