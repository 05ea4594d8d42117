//! The wish for a created cache in the comment of a SELECT: `SELECT /*rs+ CREATE SHALLOW CACHE */ …`.

use freshet_sql::{CacheHint, CacheSource, CreateCache};

use super::{create, may};
use crate::relay::Lost;
use crate::session::Session;
use crate::template::Template;

/// Creates the cache that a statement asks for, if its query has none yet. The statement goes on in any case; if the cache was not
/// created, EXPLAIN LAST STATEMENT says why.
///
/// # Errors
/// The session has ended, or its client has left.
pub(in crate::commands) async fn create_if_hinted(
    session: &mut Session,
    text: &[u8],
    hint: CacheHint,
    template: &Template,
) -> Result<(), Lost> {
    let id = template.query.id;
    let asked = match hint {
        CacheHint::Skip => return Ok(()),
        CacheHint::Unknown => {
            session.destination.note_hint(id, "its hint is not understood, and changes nothing".to_owned());
            return Ok(());
        }
        CacheHint::Create(asked) => asked,
    };
    if session.shared.created.of(id).is_some() || session.destination.note_hint_again(id) {
        return Ok(());
    }
    let asked = CreateCache {
        concurrently: true,
        if_not_exists: true,
        from: CacheSource::Select(text.to_vec()),
        ..asked
    };
    let refused = match may(session).await? {
        Ok(()) => create(session, &asked).await?.err(),
        Err(error) => Some(error),
    };
    if let Some(error) = refused {
        session.destination.note_hint(
            id,
            format!("its hint has created no cache: {}", String::from_utf8_lossy(&error.message)),
        );
    }
    Ok(())
}
