//! Asking the server, as a client would, for a result of a query with a created cache.

use freshet_cache::{Dep, Fences, Position, Verdict};
use freshet_upstream::{Error, now_ms};

use super::own::OwnSessions;
use crate::created::{CreatedCache, StoredResult};
use crate::relay::Relayed;
use crate::rows::{Behind, Depends, StatementText, deps_of_reading};
use crate::shared::Shared;
use crate::sought::has_any;
use crate::template::{BoundSelect, Cacheability};

/// Functions whose results depend on the account.
const OF_ACCOUNTS: [&[u8]; 4] = [b"user", b"current_role", b"connection_id", b"database_principal"];

/// The outcome of refreshing one result.
pub(super) enum RefreshOutcome {
    /// The result is stored.
    Refreshed(Position, Vec<Dep>),
    /// A change came before the answer was complete.
    Outrun,
    /// The result cannot be asked for now.
    NotNow,
    /// The result is not asked for any more.
    GivenUp(String),
}

/// The server's answer, its dependencies, and a position that it is known to see.
pub(super) struct Answered {
    pub(super) valid_from: Position,
    pub(super) depends: Depends,
    pub(super) relayed: Relayed,
}

/// A result that is refreshed, and its cache.
#[derive(Clone, Copy)]
pub(super) struct OfCache<'a> {
    pub(super) cache: &'a CreatedCache,
    pub(super) result: &'a StoredResult,
}

/// Has the server answer again. The inner error is the outcome without an answer.
pub(super) async fn answered(
    shared: &Shared,
    sessions: &mut OwnSessions,
    of: OfCache<'_>,
) -> Result<Result<Answered, RefreshOutcome>, Error> {
    let result = of.result;
    let environment = &*result.environment;
    match shared.upstream.rights_epoch() {
        Some(rights) if rights == result.rights => {}
        // The server tells the next client that asks whether the client may.
        Some(_) => return Ok(Err(RefreshOutcome::GivenUp("rights have changed".to_owned()))),
        None => return Ok(Err(RefreshOutcome::NotNow)),
    }
    let behind = shared.sources();
    let schema = environment.schema.as_deref();
    let bound = shared.templates.of(&result.text, environment.modes, schema, behind).await;
    match &bound.template().verdict {
        Cacheability::Cache => {}
        Cacheability::Never(why) => return Ok(Err(RefreshOutcome::GivenUp(why.to_string()))),
        // The dependencies are unknown.
        Cacheability::NotNow(_) => return Ok(Err(RefreshOutcome::NotNow)),
    }
    if let Some(why) = refusal(&bound, of) {
        return Ok(Err(RefreshOutcome::GivenUp(why)));
    }
    let Some(session) = sessions.of(shared, result).await? else {
        return Ok(Err(RefreshOutcome::GivenUp(
            "its session's settings cannot be given to another session".to_owned(),
        )));
    };
    let template = bound.template();
    let (freshness, upstream) = (shared.freshness(), &shared.upstream);
    let valid_from = freshness.valid_from();
    if !upstream.is_current(&template.told) || !freshness.is_live(now_ms()) {
        return Ok(Err(RefreshOutcome::NotNow));
    }
    let statement = StatementText {
        text: &result.text,
        modes: environment.modes,
        schema,
        zone: environment.zone,
        tokens: bound.tokens(),
    };
    let behind = Behind { valid_from, freshness, watches: upstream.watches() };
    let mut depends = deps_of_reading(statement, &template.tables, bound.plan(statement), behind);
    depends.deps.push(environment.sole_user.as_deref().map_or(Dep::ACCOUNTS, |user| freshness.account(user)));
    if freshness.check(&depends.deps, valid_from, Fences::Refuse) != Verdict::Servable {
        upstream.ask_probe();
        return Ok(Err(RefreshOutcome::NotNow));
    }
    let relayed = session.answer(shared, result).await?;
    Ok(Ok(Answered { valid_from, depends, relayed }))
}

/// Returns why a result that could be stored is not refreshed any more.
fn refusal(bound: &BoundSelect<'_>, OfCache { cache, result }: OfCache<'_>) -> Option<String> {
    let template = bound.template();
    if template.query.id != cache.query.id {
        return Some("it is another query's".to_owned());
    }
    if !template.tables.are_all_base() || !template.tables.below.is_empty() {
        return Some("it reads a view, whose rows may be others for another account".to_owned());
    }
    let is_of_accounts = has_any(&result.text, &OF_ACCOUNTS);
    is_of_accounts.then(|| "it may ask for the account".to_owned())
}
