//! What query rules decide on a text before anything else happens to it.

use super::text::TextQuery;
use super::{asked, bargain, text_prepared};
use crate::session::{Came, Session};

/// What happens to a text.
pub(super) enum Decided {
    /// The text is answered.
    Answered,
    /// The text is carried out as the client sent it.
    AsItCame,
    /// This packet is carried out in place of the text.
    Rewritten(Vec<u8>),
}

/// Decides on a text. Without rules the text stays as the client sent it.
pub(super) fn text(session: &mut Session, query: &TextQuery<'_>) -> Decided {
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

/// Answers from memory the texts that are not looked up before the rules decide.
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
