//! How the query rules apply to a session, and to its statement under way.
//!
//! A hit does not look at rules: the key of a look-up stands for them (`environment/interner.rs`). Under such a key, only answers are
//! stored that the rules allow for everybody with that key. Five kinds of statements are never looked up before the rules decide: rewritten
//! statements, statements after a rule with `next_query_flagIN`, statements that were prepared as another text, statements that are written
//! to the query log, and statements that are answered from memory without a key. The first four kinds have a *variant* in their keys: the
//! rules that they have met.

use std::sync::Arc;
use std::time::Duration;

use freshet_rules::{Client, Decision, Outcome, RuleSet};

use super::{Missed, Unfound};
use crate::created::Policy;
use crate::environment::{Environment, RuledEnvironment};
use crate::wire::Wire;

/// How the rules apply to a session.
#[derive(Debug, Default)]
pub(crate) struct Ruled {
    /// The rules as this session has last seen them; `None` if there are none.
    pub(super) set: Option<Arc<RuleSet>>,
    /// The version of the rules at that time.
    pub(super) version: u64,
    pub(super) client: Client,
    pub(super) class: u32,
    /// The flag with which the chain begins for the next statement, if a rule has set one.
    pub(super) next_flag: Option<u32>,
    pub(super) ruling: StatementRuling,
    /// A rule forbids that another client's connection carries this session's reads.
    pub(super) keeps_to_itself: bool,
    /// The identity of the last look-up.
    pub(super) last: Option<(RuledEnvironment, Option<u32>)>,
    /// A further reason to keep the session's answers apart: rights that the session has kept.
    pub(super) keeper: Option<KeptRights>,
}

/// The part of a session's keys for kept rights that were taken away: see `keeper.rs`.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptRights {
    /// A number that no other session has, nor this session before it has moved. `None`: the session has moved too often.
    pub(super) number: Option<u64>,
    /// The version of the session's environment to which the number belongs.
    pub(super) version: u64,
    /// How often the session has moved since it keeps rights.
    pub(super) moves: u32,
}

/// The decision on the statement under way.
#[derive(Debug, Default)]
pub(super) struct StatementRuling {
    /// The generation of the rules that decided; 0 without rules.
    pub(super) generation: u64,
    /// The default schema of the decision.
    pub(super) schema: Option<String>,
    /// See [`RuledEnvironment::variant`].
    pub(super) variant: u64,
    pub(super) decision: Option<Decision>,
    /// Nothing may be stored for the statement, and nothing served.
    pub(super) is_barred: bool,
    /// The answer may be stale: the epoch of rights at which the answer is asked for.
    pub(super) bargain: Option<u64>,
    /// The answer may be stale, by the policy of the query's cache.
    pub(super) agreed: Option<Agreed>,
    /// The look-up for a stale answer.
    pub(super) looked: Option<Unfound>,
    /// The text that the client sent, if the statement was rewritten.
    pub(super) asked: Option<Vec<u8>>,
    /// What the server did for the statement, if it was asked.
    pub(super) sent: Option<RowCounts>,
    pub(super) repeating: Repeating,
}

/// How many rows a statement has changed, and how many it has returned.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowCounts {
    pub(super) affected: u64,
    pub(super) rows: u64,
}

/// What is known of the statement under way for a repetition.
#[derive(Debug, Default)]
pub(super) struct Repeating {
    /// How often the statement may be sent again.
    pub(super) left: u64,
    /// The environment in which the statement was sent, if it may be sent again.
    pub(super) sent_in: Option<Arc<Environment>>,
    /// The connection was lost before any part of the answer came.
    pub(super) is_unanswered: bool,
}

/// How stale the policy of a cache lets the answer to a statement be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agreed {
    pub(crate) policy: Policy,
    /// The version of all policies.
    pub(crate) policies: u64,
    /// The epoch of rights at which the answer is asked for.
    pub(crate) rights: u64,
}

/// How a statement arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// As a text.
    Text,
    /// To be prepared.
    ToBePrepared,
    /// As an execution: the statement was prepared as this text, or as the text that rules made of it then.
    Prepared { rewritten: bool },
}

/// Which answers are stored, by the rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Storing {
    /// When the answer expires; 0: never.
    pub(crate) expires_ms: u64,
    /// From when on the first session that asks for the answer refreshes it; 0: never.
    pub(crate) refresh_ms: u64,
    /// Whether answers without rows are stored.
    pub(crate) empty: bool,
}

impl Ruled {
    pub(super) fn new(wire: &Wire) -> Self {
        let client = match wire.ends() {
            Some((client, here)) => Client {
                addr: client.ip().to_string(),
                proxy_addr: here.ip().to_string(),
                proxy_port: here.port(),
            },
            None => Client { addr: "localhost".to_owned(), ..Client::default() },
        };
        Self { client, ..Self::default() }
    }

    /// Whether there are rules.
    pub(crate) const fn are_there(&self) -> bool {
        self.set.is_some()
    }

    pub(super) fn generation(&self) -> u64 {
        self.set.as_ref().map_or(0, |set| set.generation)
    }

    /// Whether the rules change nothing for the statement under way: its answer is cached as without rules.
    pub(crate) fn is_plain(&self) -> bool {
        let ruling = &self.ruling;
        let has_no_bound =
            |decision: &Decision| decision.is_cached && decision.settings.cache_ttl_ms.is_none();
        ruling.generation == self.generation()
            && ruling.variant == 0
            && !ruling.is_barred
            && ruling.decision.as_ref().is_none_or(has_no_bound)
    }

    /// Whether the rules forbid caching the answer to the statement under way.
    pub(super) const fn is_barring(&self) -> bool {
        self.ruling.is_barred
    }

    /// Whether the answer to the statement under way may be stale, by the rules or by the policy of a cache.
    pub(crate) const fn is_bargain(&self) -> bool {
        (self.ruling.bargain.is_some() || self.ruling.agreed.is_some()) && !self.ruling.is_barred
    }

    /// Returns the policy that lets the answer be stale, if it is not a rule that does.
    pub(crate) fn policy(&self) -> Option<Policy> {
        self.agreed().map(|agreed| agreed.policy)
    }

    /// Returns the same policy, with the numbers for its key.
    pub(crate) fn agreed(&self) -> Option<Agreed> {
        self.ruling.agreed.filter(|_| !self.ruling.is_barred)
    }

    /// Returns the outcome of a look-up under this first part of the key, if there was one.
    pub(crate) fn looked_under(&self, key: u32) -> Option<Missed> {
        self.ruling.looked.filter(|looked| looked.key == key).map(|looked| looked.missed)
    }

    /// Notes a look-up.
    pub(crate) fn has_looked(&mut self, unfound: Unfound) {
        self.ruling.looked = Some(unfound);
    }

    /// Forbids storing or serving anything for the statement under way.
    pub(crate) fn bar(&mut self) {
        self.ruling.is_barred = true;
    }

    /// Returns the text that replaces the statement under way, if it is rewritten; only the first call returns the text.
    pub(crate) fn take_rewritten(&mut self) -> Option<Vec<u8>> {
        self.ruling.decision.as_mut()?.rewritten.take()
    }

    /// Whether rules delay the statement under way, or limit its time.
    pub(super) fn are_timed(&self) -> bool {
        let settings = self.ruling.decision.as_ref().map(|decision| &decision.settings);
        settings.is_some_and(|settings| settings.delay_ms.is_some() || settings.timeout_ms.is_some())
    }

    /// Returns how long the statement under way waits before it is sent to the server; only the first call returns the time.
    pub(super) fn take_delay(&mut self) -> Option<Duration> {
        let settings = &mut self.ruling.decision.as_mut()?.settings;
        settings.delay_ms.take().filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// Returns how long the server may take for the statement.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let timeout = self.ruling.decision.as_ref()?.settings.timeout_ms;
        timeout.filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// Returns how long the statement waits for another client's identical question; `None`: as long as that question takes.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.ruling.decision.as_ref()?.settings.cache_timeout_ms.map(Duration::from_millis)
    }

    /// Whether the statement under way is written to the query log.
    pub(super) fn is_logged(&self) -> bool {
        self.ruling.decision.as_ref().is_some_and(|decision| decision.is_logged)
    }

    /// Returns the hostgroup that rules name for the statement; 0 if they name none.
    pub(super) fn hostgroup(&self) -> i64 {
        self.ruling.decision.as_ref().and_then(|decision| decision.settings.hostgroup).unwrap_or(0)
    }

    /// Returns the rules that the statement has met, if it has met any.
    pub(crate) fn outcome(&self) -> Option<&Arc<Outcome>> {
        let outcome = self.ruling.decision.as_ref().map(|decision| &decision.outcome);
        outcome.filter(|outcome| !outcome.is_nothing())
    }

    /// Returns the text that the client sent, if it was rewritten.
    pub(super) fn asked(&self) -> Option<Vec<u8>> {
        self.ruling.asked.clone()
    }

    /// Returns which answers to the statement are stored; the answer is asked for at this time.
    pub(crate) fn storing(&self, asked_ms: impl FnOnce() -> u64) -> Storing {
        let always = Storing { expires_ms: 0, refresh_ms: 0, empty: true };
        let policy = self.policy();
        // Most statements have no rules, and need no look at the clock.
        if self.ruling.decision.is_none() && policy.is_none() {
            return always;
        }
        let asked_ms = asked_ms();
        let after = |age_ms: Option<u64>| age_ms.map_or(0, |age| asked_ms.saturating_add(age));
        let ruled = match &self.ruling.decision {
            None => always,
            Some(decision) => Storing {
                expires_ms: after(decision.settings.cache_ttl_ms),
                refresh_ms: after(decision.soft_ttl_ms),
                empty: decision.stores_empty,
            },
        };
        let Some(policy) = policy else { return ruled };
        let (expires_ms, refresh_ms) = policy.times(asked_ms);
        Storing {
            expires_ms: sooner(ruled.expires_ms, expires_ms),
            refresh_ms: sooner(ruled.refresh_ms, refresh_ms),
            ..ruled
        }
    }
}

/// Returns the sooner of two times; 0 is never.
fn sooner(one_ms: u64, other_ms: u64) -> u64 {
    match (one_ms, other_ms) {
        (0, only) | (only, 0) => only,
        (one, other) => one.min(other),
    }
}
