//! What a SELECT asks for, by its text, its hints and the definitions of its tables.

use freshet_cache::Key;
use freshet_sql::{Hint, HintError, skips_cache};

use super::text::TextQuery;
use crate::reading::{self, CACHED_BYTES_MAX};
use crate::rows::StatementText;
use crate::session::{Missed, Session, Touches};
use crate::template::{BoundSelect, Cacheability, New, Template};
use crate::variables::{TYPE_DEMAND, TYPE_OFF};
use crate::why::Why;

/// Whether comments are left out of the key. A comment that asks query rules for something, or concerns a created cache, stays in.
pub(super) fn strips(session: &Session, text: &[u8]) -> bool {
    let asks = || session.ruled.are_there() && freshet_rules::has_hint(text);
    session.state.locals.strips_comments(&session.shared.globals)
        && !asks()
        && freshet_sql::cache_hint(text, session.modes()).is_none()
}

/// Answers `text` from memory if something is stored for it.
pub(super) fn from_memory(session: &mut Session, text: &[u8], key: u32) -> Result<(), Missed> {
    if text.len() > CACHED_BYTES_MAX {
        return Err(Missed::default());
    }
    let text = freshet_sql::key_text(text, session.modes(), strips(session, text));
    session.answer_from_memory(Key { environment: key, text: &text }, &text)
}

/// Returns the error of contradictory hints.
pub(super) fn hint_error(session: &Session, bound: &BoundSelect<'_>, text: &[u8]) -> Option<HintError> {
    if bound.compiled.is_hinted { freshet_sql::hint_error(text, session.modes()) } else { None }
}

/// Returns the packet without SQL_CACHE and SQL_NO_CACHE, which are an error or a warning since MySQL 8.
pub(super) fn without_hint(session: &Session, query: TextQuery<'_>) -> Option<Vec<u8>> {
    reading::without_hint(query.text(), session.modes()).map(|text| query.with_text(&text))
}

/// Returns an error that says why a statement's answer is not to be cached, by its hint and the session's `query_cache_type`.
/// `template`: what is known of the statement's tables.
pub(super) fn wants_cache(
    session: &Session,
    template: Option<&Template>,
    hint: Option<Hint>,
) -> Result<(), Why> {
    match session.state.locals.effective_type(&session.shared.globals) {
        TYPE_OFF => Err(Why::CacheOff),
        TYPE_DEMAND if demands_cache(template, hint) => Ok(()),
        TYPE_DEMAND => Err(Why::NotDemanded),
        _ if hint == Some(Hint::NoCache) => Err(Why::NoCacheHint),
        _ => Ok(()),
    }
}

/// Returns the hint of a text whose form has the hint `of_form`. A hint in a comment is no part of the form.
pub(super) fn hint_of(session: &Session, text: &[u8], of_form: Option<Hint>) -> Option<Hint> {
    if skips_cache(text, session.modes()) { Some(Hint::NoCache) } else { of_form }
}

/// Whether a statement asks for its answer to be cached. A view may ask for it in the statement's place.
pub(super) fn demands_cache(template: Option<&Template>, hint: Option<Hint>) -> bool {
    match hint {
        Some(hint) => hint == Hint::Cache,
        None => template
            .is_some_and(|template| template.tables.known.iter().any(|table| table.info.asks_for_cache)),
    }
}

/// Returns the statement as the session reads texts now.
pub(super) fn statement<'a>(session: &'a Session, text: &'a [u8]) -> StatementText<'a> {
    let (modes, zone) = (session.modes(), session.zone());
    StatementText { text, modes, schema: session.state.environment.schema(), zone, tokens: None }
}

/// Returns what is compiled of the text's form.
pub(super) async fn bound<'a>(session: &Session, text: &'a [u8]) -> BoundSelect<'a> {
    let shared = &session.shared;
    let behind = shared.sources();
    shared.templates.of(text, session.modes(), session.state.environment.schema(), behind).await
}

/// Compiles a new form.
pub(super) async fn compiled<'a>(session: &Session, new: New<'a>) -> BoundSelect<'a> {
    let shared = &session.shared;
    let behind = shared.sources();
    shared.templates.compile(new, session.state.environment.schema(), behind).await
}

/// Returns what the server does with tables for a SELECT, as far as a transaction is concerned.
pub(super) fn touches(session: &Session, template: &Template) -> Touches {
    if let Cacheability::Cache = template.verdict {
        return Touches::ReadView;
    }
    touched(session, template.reads_nothing)
}

/// Returns what the server does with tables for a statement that is not stored. `reads_nothing`: its text reads no table and calls no function
/// that may read one, which matters in a transaction alone.
pub(super) fn touched(session: &Session, reads_nothing: bool) -> Touches {
    let is_alone = session.state.tx.surely_autocommits();
    if reads_nothing && !is_alone { Touches::NoTables } else { Touches::Anything }
}

/// Returns the environment part of the key, or why the session's state or the statement's form allows no answer from memory.
pub(super) fn key_for(session: &mut Session, template: &Template, hint: Option<Hint>) -> Result<u32, Why> {
    if let Some(refusal) = template.verdict.refusal() {
        return Err(refusal.why);
    }
    wants_cache(session, Some(template), hint)?;
    let temporary = session.state.hidden.tables();
    if template.tables.known.iter().any(|table| temporary.shadow(&table.schema, &table.name)) {
        return Err(Why::TemporaryTable);
    }
    if session.state.hidden.are_doubtful() {
        return Err(Why::UnknownCode);
    }
    session.heed_rights_at_miss();
    session.key_but_for_temporary_tables().ok_or_else(|| session.bars())
}
