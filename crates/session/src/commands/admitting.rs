//! Whether an answer that may be stored is worth storing. An answer that is not costs no copy and no dependencies, and displaces nothing.

use freshet_cache::Key;
use freshet_sql::Hint;
use freshet_upstream::now_ms;

use super::asked::demands_cache;
use crate::session::{Session, Unfound};
use crate::template::Template;
use crate::variables::TYPE_ON;

/// If a statement takes longer, the cost of storing its result is nearly nothing beside that. In microseconds.
const WORTH_WEIGHING_US: u32 = 500;

/// A statement's template, and whether the statement asks to store its answer or not to store it (SQL_CACHE, SQL_NO_CACHE).
#[derive(Clone, Copy)]
pub(super) struct Hinted<'a> {
    pub(super) template: &'a Template,
    pub(super) hint: Option<Hint>,
}

/// Whether the answer is worth storing, by what happened to the results of similar statements. `text` returns the second part of its key.
pub(super) fn is_worth_storing<K: AsRef<[u8]>>(
    session: &Session,
    hinted: Hinted<'_>,
    unfound: Unfound,
    text: impl FnOnce() -> K,
) -> bool {
    is_surely_worth_storing(session, hinted, unfound)
        || session.shared.cache.admits(Key { environment: unfound.key, text: text().as_ref() })
}

/// Whether the answer is worth storing however often it was asked for.
pub(super) fn is_surely_worth_storing(
    session: &Session,
    Hinted { template, hint }: Hinted<'_>,
    Unfound { missed, .. }: Unfound,
) -> bool {
    let shared = &session.shared;
    if shared.cache.pays(template.tag(), now_ms) {
        return true;
    }
    let is_asked_for = demands_cache(Some(template), hint)
        || session.state.locals.effective_type(&shared.globals) != TYPE_ON
        || shared.created.of(template.query.id).is_some();
    let was_stored = missed.stale_body.is_some() || missed.fenced || missed.refreshes;
    // A transaction learns from a stored answer when its read view was opened.
    is_asked_for
        || was_stored
        || !template.profile.takes_less_than(WORTH_WEIGHING_US)
        || template.shows_rows_read && session.reads_show_view()
}
