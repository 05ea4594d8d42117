//! Whether an answer that may be stored is worth it. One that is not costs no copy, no dependencies, and displaces nothing.

use freshet_cache::Key;
use freshet_sql::Hint;
use freshet_upstream::now_ms;

use super::asked::demands_cache;
use crate::session::{Missed, Session};
use crate::template::Template;
use crate::variables::TYPE_ON;

/// Storing a result of a statement that takes longer is next to nothing beside it. In microseconds.
const WORTH_WEIGHING_US: u32 = 500;

/// A statement's template, and whether the statement asks for its answer to be stored, or not to be (SQL_CACHE, SQL_NO_CACHE).
#[derive(Clone, Copy)]
pub(super) struct Hinted<'a> {
    pub(super) template: &'a Template,
    pub(super) hint: Option<Hint>,
}

/// Whether it is worth it, by what became of the results of statements like it. `text` gives the second part of its key.
pub(super) fn is_worth_storing<K: AsRef<[u8]>>(
    session: &Session,
    Hinted { template, hint }: Hinted<'_>,
    missed: Missed,
    environment: u32,
    text: impl FnOnce() -> K,
) -> bool {
    let shared = &session.shared;
    if shared.cache.pays(template.tag(), now_ms) {
        return true;
    }
    let is_asked_for = demands_cache(Some(template), hint)
        || session.state.locals.effective_type(&shared.globals) != TYPE_ON
        || shared.created.of(template.query.id).is_some();
    let was_stored = missed.stale_body.is_some() || missed.fenced || missed.refreshes;
    // A transaction learns from what is stored when its read view was opened.
    is_asked_for
        || was_stored
        || !template.profile.takes_less_than(WORTH_WEIGHING_US)
        || template.shows_rows_read && session.reads_show_view()
        || shared.cache.admits(Key { environment, text: text().as_ref() })
}
