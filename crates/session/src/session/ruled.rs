//! What the query rules are to a session, and to its statement under way.
//!
//! On the way of a hit nothing looks at rules: the key of a look-up stands for them (`environment/interner.rs`), and under such a key
//! only that is stored which the rules let be stored for whoever has the key. Five kinds of statements are never looked up before they were decided:
//! those that are rewritten, those that follow a rule with `next_query_flagIN`, those that were prepared as another text, those that are written
//! to the query log, and those that are answered from memory without a key. What is stored for the first four has a *variant* in its key: the rules
//! that they have met.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use freshet_rules::{Client, Decision, Outcome, RuleSet};

use super::Missed;
use crate::created::Policy;
use crate::environment::{Environment, RuledEnvironment};
use crate::wire::Wire;

/// What the rules are to a session.
#[derive(Debug, Default)]
pub(crate) struct Ruled {
    /// The rules as this session has last seen them; `None` if there are none.
    pub(super) set: Option<Arc<RuleSet>>,
    /// The version at which it has.
    pub(super) version: u64,
    pub(super) client: Client,
    pub(super) class: u32,
    /// The flag with which the chain begins for the next statement, if a rule has said so.
    pub(super) next_flag: Option<u32>,
    pub(super) ruling: Ruling,
    /// The line that may be written about the command under way.
    pub(super) logged: Option<Logged>,
    /// A rule has said that no other client's connection carries its reads.
    pub(super) keeps_to_itself: bool,
    /// The identity that was used last.
    pub(super) last: Option<(RuledEnvironment, Option<u32>)>,
    /// What else keeps its answers apart from those of others: rights that it has kept.
    pub(super) keeper: Option<KeptRights>,
}

/// What stands in the keys of a session that keeps rights which were taken away: see `keeper.rs`.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptRights {
    /// No other session has it, nor this one before it has moved. `None`: it has moved too often.
    pub(super) number: Option<u64>,
    /// The version of the session's environment for which it is.
    pub(super) version: u64,
    /// How often it has moved since it was one.
    pub(super) moves: u32,
}

/// What is decided of the statement under way.
#[derive(Debug, Default)]
pub(super) struct Ruling {
    /// The generation of the rules by which it is; 0 without rules.
    pub(super) generation: u64,
    /// The default schema for which it is.
    pub(super) schema: Option<String>,
    /// See [`RuledEnvironment::variant`].
    pub(super) variant: u64,
    pub(super) decision: Option<Decision>,
    /// Nothing may be stored for it, and nothing taken.
    pub(super) is_barred: bool,
    /// Its answer may be stale: the epoch of rights at which it is asked.
    pub(super) bargain: Option<u64>,
    /// Its answer may be stale, by the policy of its query's cache.
    pub(super) agreed: Option<Agreed>,
    /// The first part of the key under which it was looked for as that, and what was found.
    pub(super) looked: Option<(u32, Missed)>,
    /// The text as it came, of a statement that was rewritten.
    pub(super) asked: Option<Vec<u8>>,
    /// What the server did for it, if it was asked.
    pub(super) sent: Option<RowCounts>,
    pub(super) repeating: Repeating,
}

/// A statement under way about which a line may be written to the query log.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(super) began: SystemTime,
    pub(super) at: Instant,
    pub(super) command: &'static str,
}

impl Logged {
    /// A text.
    pub(crate) fn text() -> Self {
        Self::new("COM_QUERY")
    }

    /// An execution of a prepared statement.
    pub(crate) fn execution() -> Self {
        Self::new("COM_STMT_EXECUTE")
    }

    fn new(command: &'static str) -> Self {
        Self { began: SystemTime::now(), at: Instant::now(), command }
    }
}

/// How many rows a statement has changed, and how many it has got.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowCounts {
    pub(super) affected: u64,
    pub(super) rows: u64,
}

/// What is known of the statement under way, as far as repeating it is concerned.
#[derive(Debug, Default)]
pub(super) struct Repeating {
    /// How often it may be sent again.
    pub(super) left: u64,
    /// The environment in which it was sent, if it may be sent again.
    pub(super) sent_in: Option<Arc<Environment>>,
    /// The connection was lost before any of its answer came.
    pub(super) is_unanswered: bool,
}

/// What the policy of a cache lets the answer to a statement be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agreed {
    pub(crate) policy: Policy,
    /// What stands for all policies.
    pub(crate) policies: u64,
    /// The epoch of rights at which it is asked.
    pub(crate) rights: u64,
}

/// How a statement came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// As a text.
    Text,
    /// To be prepared.
    ToBePrepared,
    /// It was prepared as this text, or as what rules have made of it then.
    Prepared { rewritten: bool },
}

/// What is stored of an answer, by the rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Storing {
    /// When it expires; 0: never.
    pub(crate) expires_ms: u64,
    /// From when on the first who asks for it makes it anew; 0: never.
    pub(crate) refresh_ms: u64,
    /// Answers without rows are stored.
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

    /// Whether there are any.
    pub(crate) const fn are_there(&self) -> bool {
        self.set.is_some()
    }

    pub(super) fn generation(&self) -> u64 {
        self.set.as_ref().map_or(0, |set| set.generation)
    }

    /// Whether what is decided of the statement under way is nothing but that its answer is cached as it would be without rules.
    pub(crate) fn is_plain(&self) -> bool {
        let ruling = &self.ruling;
        let has_no_bound =
            |decision: &Decision| decision.is_cached && decision.settings.cache_ttl_ms.is_none();
        ruling.generation == self.generation()
            && ruling.variant == 0
            && !ruling.is_barred
            && ruling.decision.as_ref().is_none_or(has_no_bound)
    }

    /// Whether what is decided of the statement under way is that its answer is not cached.
    pub(super) const fn is_barring(&self) -> bool {
        self.ruling.is_barred
    }

    /// Whether the answer to the statement under way may be stale, by the rules or by the policy of a cache.
    pub(crate) const fn is_bargain(&self) -> bool {
        (self.ruling.bargain.is_some() || self.ruling.agreed.is_some()) && !self.ruling.is_barred
    }

    /// The policy by which it may be, if it is none of the rules.
    pub(crate) fn policy(&self) -> Option<Policy> {
        self.agreed().map(|agreed| agreed.policy)
    }

    /// The same, with what it is found by.
    pub(crate) fn agreed(&self) -> Option<Agreed> {
        self.ruling.agreed.filter(|_| !self.ruling.is_barred)
    }

    /// What was found of it under this first part of its key, if it was looked for.
    pub(crate) fn looked_under(&self, key: u32) -> Option<Missed> {
        self.ruling.looked.filter(|(looked, _)| *looked == key).map(|(_, missed)| missed)
    }

    /// It was looked for under this first part of its key.
    pub(crate) fn has_looked(&mut self, key: u32, missed: Missed) {
        self.ruling.looked = Some((key, missed));
    }

    /// Has nothing be stored for the statement under way, and nothing taken.
    pub(crate) fn bar(&mut self) {
        self.ruling.is_barred = true;
    }

    /// The text that takes the place of the statement under way, if it is rewritten: told once.
    pub(crate) fn take_rewritten(&mut self) -> Option<Vec<u8>> {
        self.ruling.decision.as_mut()?.rewritten.take()
    }

    /// Whether rules say when the statement under way is sent, or how long it may take.
    pub(super) fn are_timed(&self) -> bool {
        let settings = self.ruling.decision.as_ref().map(|decision| &decision.settings);
        settings.is_some_and(|settings| settings.delay_ms.is_some() || settings.timeout_ms.is_some())
    }

    /// How long the statement under way is to wait before it is sent to the server: told once.
    pub(super) fn take_delay(&mut self) -> Option<Duration> {
        let settings = &mut self.ruling.decision.as_mut()?.settings;
        settings.delay_ms.take().filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// How long the server may take for it.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let timeout = self.ruling.decision.as_ref()?.settings.timeout_ms;
        timeout.filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// How long it waits for the answer to another client that has asked the same; `None`: as long as that takes.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.ruling.decision.as_ref()?.settings.cache_timeout_ms.map(Duration::from_millis)
    }

    /// Whether the statement under way is written to the query log.
    pub(super) fn is_logged(&self) -> bool {
        self.ruling.decision.as_ref().is_some_and(|decision| decision.is_logged)
    }

    /// The hostgroup that rules name for it; 0 if they name none.
    pub(super) fn hostgroup(&self) -> i64 {
        self.ruling.decision.as_ref().and_then(|decision| decision.settings.hostgroup).unwrap_or(0)
    }

    /// The rules that it has met, if it has met any.
    pub(crate) fn outcome(&self) -> Option<&Arc<Outcome>> {
        let outcome = self.ruling.decision.as_ref().map(|decision| &decision.outcome);
        outcome.filter(|outcome| !outcome.is_nothing())
    }

    /// The text as it came, if it was rewritten.
    pub(super) fn asked(&self) -> Option<Vec<u8>> {
        self.ruling.asked.clone()
    }

    /// What is stored of its answer, which was asked for at this time.
    pub(crate) fn storing(&self, asked_ms: u64) -> Storing {
        let after = |age_ms: Option<u64>| age_ms.map_or(0, |age| asked_ms.saturating_add(age));
        let ruled = match &self.ruling.decision {
            None => Storing { expires_ms: 0, refresh_ms: 0, empty: true },
            Some(decision) => Storing {
                expires_ms: after(decision.settings.cache_ttl_ms),
                refresh_ms: after(decision.soft_ttl_ms),
                empty: decision.stores_empty,
            },
        };
        let Some(policy) = self.policy() else { return ruled };
        let (expires_ms, refresh_ms) = policy.times(asked_ms);
        Storing {
            expires_ms: sooner(ruled.expires_ms, expires_ms),
            refresh_ms: sooner(ruled.refresh_ms, refresh_ms),
            ..ruled
        }
    }
}

/// The sooner of two times, of which 0 is never.
fn sooner(one_ms: u64, other_ms: u64) -> u64 {
    match (one_ms, other_ms) {
        (0, only) | (only, 0) => only,
        (one, other) => one.min(other),
    }
}
