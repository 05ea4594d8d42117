//! What query rules make of a text before anything else is done for it.

use super::text::Query;
use super::{asked, bargain, text_prepared};
use crate::session::{Came, Session};

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
    if session.ruled.is_bargain() {
        return matches!(bargain::from_memory(session, text), Some(Ok(())));
    }
    if session.ruled.is_plain() {
        return matches!(text_prepared::from_memory(session, text), Some(Ok(())));
    }
    let key = session.key_of_variant();
    key.is_some_and(|key| asked::from_memory(session, text, key).is_ok())
}
