//! Which SELECTs a lane may carry.

use freshet_sql::Method;

use crate::created::Upkeep;
use crate::session::Session;
use crate::shared::Multiplexing;
use crate::template::Template;

/// What is soon, in milliseconds.
const SOON_MS: u64 = 500;

/// Whether a lane may carry the SELECT: the SELECT is known to be quick, and reads nothing but tables.
pub(super) fn may_be_carried(session: &Session, template: &Template) -> bool {
    (template.profile.is_quick() || session.shared.options.multiplexing == Multiplexing::Always)
        && template.profile.is_fit(session.handle.active_ms())
        && is_read_plainly(session, template)
}

/// Whether a lane may carry the SELECT soon, as far as is known: it is worth that it waits for one.
pub(in crate::commands) fn may_be_carried_soon(session: &Session, template: &Template) -> bool {
    template.profile.may_be_quick()
        && template.profile.is_fit(session.handle.active_ms() + SOON_MS)
        && is_read_plainly(session, template)
}

/// Whether the SELECT reads nothing but tables, and is answered by the server alone.
pub(super) fn is_read_plainly(session: &Session, template: &Template) -> bool {
    template.reads_tables_alone()
        && !session.ruled.is_bargain()
        && session.state.locals.fill_wait(&session.shared.globals).is_zero()
        && session.shared.upstream.is_current(&template.told)
        && !has_way_of_its_own(session, template)
}

/// Whether the query has a created cache that has another way to answer it, as far as is known.
fn has_way_of_its_own(session: &Session, template: &Template) -> bool {
    let cache = session.shared.created.of(template.query.id);
    cache.is_some_and(|cache| {
        cache.options.policy.is_some()
            || cache.options.method != Some(Method::Shallow)
                && !matches!(cache.upkeep(), Upkeep::Refreshed(_))
    })
}
