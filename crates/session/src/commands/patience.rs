//! Waiting until the answer to a statement can be stored.

use std::time::{Duration, Instant};

use crate::session::Session;
use crate::template::{Cacheability, Template};

/// How often Freshet checks whether an answer can be stored by now.
const FILL_LOOKED_AT_EVERY: Duration = Duration::from_millis(1);

/// How long a statement waits for a definition that is under way, if its results are kept up to date row by row. After a wait in vain (the
/// server may need long for an ALTER TABLE), no statement waits for [`IN_VAIN_MS`].
const DEFINED_WITHIN: Duration = Duration::from_millis(500);
const IN_VAIN_MS: u64 = 2000;

/// How long a statement waits until its answer can be stored: up to `fill_wait`, and not at all in a transaction, because a transaction
/// reads what was committed earlier.
pub(super) struct Patience {
    until: Option<Instant>,
    /// The statement waits only for a definition of what is kept up to date row by row: the server needs longer for such a query.
    for_kept: bool,
}

impl Patience {
    pub(super) fn of(session: &Session) -> Self {
        let wait = session.state.locals.fill_wait(&session.shared.globals);
        let for_kept = wait.is_zero() && session.shared.created.are_there();
        let wait = if for_kept { DEFINED_WITHIN } else { wait };
        let waits = !wait.is_zero() && session.state.tx.surely_autocommits();
        Self { until: waits.then(|| Instant::now() + wait), for_kept }
    }

    /// Returns until when the statement waits for more than a definition.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until.filter(|_| !self.for_kept)
    }

    /// Whether the statement waits at all.
    pub(super) fn is_some(&self) -> bool {
        self.until().is_some()
    }

    /// Resolves the session's doubts. Waits while a definition is under way that a doubt is about.
    pub(super) async fn resolve_doubts(&self, session: &mut Session) {
        session.resolve_doubts().await;
        while session.state.hidden.are_doubtful() && self.waits(session).await {
            session.resolve_doubts().await;
        }
    }

    /// Waits a moment if a definition decides about a statement, or will soon. Returns false if none does, or if the wait was long enough.
    pub(super) async fn waits_for_verdict(&self, session: &Session, template: &Template) -> bool {
        let is_open = match template.verdict {
            Cacheability::Cache => false,
            Cacheability::Never(_) => session.shared.upstream.is_changing(&template.told),
            Cacheability::NotNow(_) => true,
        };
        is_open && self.waits_for_definition(session, template).await
    }

    /// Waits a moment for the definitions of the tables that a statement reads. Returns false if the wait was long enough.
    pub(super) async fn waits_for_definition(&self, session: &Session, template: &Template) -> bool {
        if !self.for_kept {
            return self.waits(session).await;
        }
        let cache = session.shared.created.of(template.query.id);
        let cache = cache.filter(|cache| cache.may_be_maintained() && !cache.waits_in_vain());
        let Some(cache) = cache.filter(|_| self.until.is_some()) else { return false };
        let goes_on = self.waits_until(session).await;
        if !goes_on {
            cache.note_in_vain(IN_VAIN_MS);
        }
        goes_on
    }

    /// Waits a moment. Returns false if the wait was long enough.
    pub(super) async fn waits(&self, session: &Session) -> bool {
        !self.for_kept && self.waits_until(session).await
    }

    async fn waits_until(&self, session: &Session) -> bool {
        let goes_on = self.until.is_some_and(|until| Instant::now() < until);
        if goes_on {
            session.shared.upstream.ask_probe();
            tokio::time::sleep(FILL_LOOKED_AT_EVERY).await;
        }
        goes_on
    }
}
