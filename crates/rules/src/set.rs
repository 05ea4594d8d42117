//! A set of rules, and the chain through which a statement goes.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ahash::HashMap;
use freshet_digest::{Digest, Options};

use crate::address::{Client, ClientPattern};
use crate::compiled::{Compiled, Met, StatementDigest, place};
use crate::hint;
use crate::{Decision, Outcome, Rule, RuleError, Settings};

/// How many digests' outcomes are remembered. With one more, all are forgotten.
const REMEMBERED_MAX: usize = 8192;
/// The most outcomes that are told apart. Statements with further ones are not cached.
const OUTCOMES_MAX: usize = 4096;
/// The most hostgroups, asked for by statements themselves, that are told apart. Statements that ask for further ones are counted as
/// their rules say.
const ASKED_MAX: usize = 1024;

/// The defaults where no rule says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// Only statements to which a rule gives a `cache_ttl` are cached.
    pub rules_only: bool,
    /// Answers without rows are stored.
    pub stores_empty: bool,
    /// The part of its time to live, in percent, after which the first client that asks for an answer makes it anew; 0: not before its
    /// end.
    pub soft_ttl_pct: u8,
    /// How often a statement may be sent again, where that is safe.
    pub retries: u64,
    /// Statements are written to the query log.
    pub logs: bool,
    /// How texts are normalised.
    pub digests: Options,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            rules_only: false,
            stores_empty: true,
            soft_ttl_pct: 0,
            retries: 0,
            logs: false,
            digests: Options::default(),
        }
    }
}

/// The facts about a statement that rules look at.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Its session's user.
    pub user: &'a [u8],
    /// Its session's default schema; empty if there is none.
    pub schema: &'a str,
    /// Its client's class, by [`RuleSet::class_of`].
    pub class: u32,
    /// The flag with which the chain begins.
    pub flag_in: u32,
    /// The statement.
    pub text: &'a [u8],
}

/// Outcomes by the facts on which they depend.
type Remembered = HashMap<Box<[u8]>, Option<Arc<Outcome>>>;

/// Rules that are carried out together.
#[derive(Debug)]
pub struct RuleSet {
    /// A number that no other set of the process has; never 0.
    pub generation: u64,
    source: Vec<Rule>,
    rules: Vec<Compiled>,
    defaults: Defaults,
    /// The places that the rules tell apart.
    places: Vec<ClientPattern>,
    /// The places in which each class is.
    classes: RwLock<Vec<Box<[bool]>>>,
    /// By all facts except the text; empty where the text counts too.
    remembered: RwLock<Remembered>,
    outcomes: Mutex<HashMap<Box<[u32]>, Arc<Outcome>>>,
    /// Outcomes under a hostgroup for which a statement asks itself, by the outcome's `id` and the hostgroup.
    asked: Mutex<HashMap<(u64, i64), Arc<Outcome>>>,
    nothing: Arc<Outcome>,
}

/// Counts generations and outcomes.
static NEXT: AtomicU64 = AtomicU64::new(1);

fn next() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl RuleSet {
    /// Makes rules usable. They are the active ones, in any order.
    ///
    /// # Errors
    /// The first rule that cannot be carried out.
    pub fn compile(mut rules: Vec<Rule>, defaults: Defaults) -> Result<Self, RuleError> {
        rules.sort_by_key(|rule| rule.rule_id);
        let mut places: Vec<ClientPattern> = Vec::new();
        let mut compiled = Vec::with_capacity(rules.len());
        for rule in &rules {
            let at = place(rule).map(|place| {
                places.iter().position(|known| *known == place).unwrap_or_else(|| {
                    places.push(place);
                    places.len() - 1
                })
            });
            compiled.push(Compiled::of(rule, at)?);
        }
        Ok(Self {
            generation: next(),
            source: rules,
            rules: compiled,
            defaults,
            places,
            classes: RwLock::default(),
            remembered: RwLock::default(),
            outcomes: Mutex::default(),
            asked: Mutex::default(),
            nothing: Arc::new(Outcome {
                id: 0,
                rules: Box::default(),
                ids: Box::default(),
                settings: Settings::default(),
                times: AtomicU64::new(0),
            }),
        })
    }

    /// Whether the set was made of these rules.
    #[must_use]
    pub fn is_of(&self, rules: &[Rule], defaults: Defaults) -> bool {
        self.source == rules && self.defaults == defaults
    }

    /// Returns the rules of which the set was made.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.source
    }

    /// Whether the set decides nothing: it has no rule, caches everything that can be cached, sends nothing again, and logs nothing.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let Defaults { rules_only, stores_empty, retries, logs, .. } = self.defaults;
        self.rules.is_empty() && !rules_only && stores_empty && retries == 0 && !logs
    }

    /// Returns the class of a client: clients of one class meet the same conditions on places.
    #[must_use]
    pub fn class_of(&self, client: &Client) -> u32 {
        if self.places.is_empty() {
            return 0;
        }
        let class: Box<[bool]> = self.places.iter().map(|place| place.has(client)).collect();
        let mut classes = self.classes.write().unwrap_or_else(PoisonError::into_inner);
        let at = classes.iter().position(|known| *known == class).unwrap_or_else(|| {
            classes.push(class);
            classes.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Returns the decision about a statement.
    #[must_use]
    pub fn decide(&self, facts: Facts<'_>) -> Decision {
        let (mut outcome, rewritten) = self.outcome(facts);
        let mut settings = outcome.settings.clone();
        if let Some(asked) = hint::settings(facts.text) {
            settings = settings.overridden_by(&asked);
            if let Some(hostgroup) = asked.hostgroup {
                outcome = self.under(outcome, hostgroup);
            }
        }
        let is_known = outcome.id != 0 || outcome.rules.is_empty();
        let is_wanted = match settings.cache_ttl_ms {
            Some(ttl) => ttl > 0,
            None => !self.defaults.rules_only,
        };
        // A rule that changes how the next statement is looked at has to be reached each time.
        let is_cached = is_known && is_wanted && settings.next_query_flag_in.is_none();
        let stores_empty = settings.cache_empty_result.unwrap_or(self.defaults.stores_empty);
        // Without a time to live there is no stale answer.
        let is_bargain =
            settings.is_bargain == Some(true) && settings.cache_ttl_ms.is_some_and(|ttl| ttl > 0);
        let soft_ttl_ms = match (settings.cache_ttl_ms, u64::from(self.defaults.soft_ttl_pct)) {
            (Some(ttl), pct @ 1..100) => Some(ttl.saturating_mul(pct) / 100),
            _ => None,
        };
        let retries = settings.retries.unwrap_or(self.defaults.retries);
        let is_logged = settings.log.unwrap_or(self.defaults.logs);
        Decision {
            outcome,
            settings,
            rewritten,
            is_cached,
            is_bargain,
            soft_ttl_ms,
            stores_empty,
            retries,
            is_logged,
        }
    }

    fn outcome(&self, facts: Facts<'_>) -> (Arc<Outcome>, Option<Vec<u8>>) {
        if self.rules.is_empty() {
            return (Arc::clone(&self.nothing), None);
        }
        let mut digest_text =
            Vec::with_capacity(facts.text.len().min(self.defaults.digests.digest_length_max));
        freshet_digest::put_text(facts.text, &self.defaults.digests, &mut digest_text);
        let key = key_of(facts, &digest_text);
        let remembered =
            self.remembered.read().unwrap_or_else(PoisonError::into_inner).get(&key[..]).cloned();
        if let Some(Some(outcome)) = remembered {
            return (outcome, None);
        }
        let digest = StatementDigest { number: Digest::of(&digest_text), text: &digest_text };
        if remembered.is_none() {
            let decided = self.walk(facts, digest, None).map(|(rules, _)| self.interned(rules));
            let mut remembered = self.remembered.write().unwrap_or_else(PoisonError::into_inner);
            if remembered.len() >= REMEMBERED_MAX {
                remembered.clear();
            }
            remembered.insert(key.into(), decided.clone());
            if let Some(outcome) = decided {
                return (outcome, None);
            }
        }
        let (rules, rewritten) = self.walk(facts, digest, Some(facts.text)).unwrap_or_default();
        (self.interned(rules), rewritten)
    }

    /// Returns the rules that are met, and the text that they make of `text`. `None` where the text would have to be looked at and is not
    /// given.
    fn walk(
        &self,
        facts: Facts<'_>,
        digest: StatementDigest<'_>,
        text: Option<&[u8]>,
    ) -> Option<(Vec<u32>, Option<Vec<u8>>)> {
        let class =
            self.classes.read().unwrap_or_else(PoisonError::into_inner).get(facts.class as usize).cloned();
        let is_there = |at: usize| class.as_ref().is_some_and(|class| class[at]);
        let (mut met, mut flag, mut rewritten) = (Vec::new(), facts.flag_in, None::<Vec<u8>>);
        for (at, rule) in self.rules.iter().enumerate() {
            if !rule.is_of(facts.user, facts.schema, flag) || !rule.place.is_none_or(is_there) {
                continue;
            }
            match rule.is_met(digest, rewritten.as_deref().or(text)) {
                Met::No => continue,
                Met::ButForText => return None,
                Met::Yes => {}
            }
            met.push(u32::try_from(at).unwrap_or(u32::MAX));
            if let Some(later) = rewritten.as_deref().or(text).and_then(|text| rule.rewritten(text)) {
                rewritten = Some(later);
            }
            flag = rule.flag_out.unwrap_or(flag);
            if rule.applies {
                break;
            }
        }
        // A text that stays the same is not rewritten.
        Some((met, rewritten.filter(|later| later != facts.text)))
    }

    fn interned(&self, rules: Vec<u32>) -> Arc<Outcome> {
        if rules.is_empty() {
            return Arc::clone(&self.nothing);
        }
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = outcomes.get(&rules[..]) {
            return Arc::clone(outcome);
        }
        let all = rules.iter().map(|at| &self.rules[*at as usize].settings);
        let settings = all.fold(Settings::default(), Settings::overridden_by);
        let is_full = outcomes.len() >= OUTCOMES_MAX;
        let id = if is_full { 0 } else { next() };
        let ids = rules.iter().map(|at| self.rules[*at as usize].rule_id).collect();
        let times = AtomicU64::new(0);
        let outcome = Arc::new(Outcome { id, rules: rules.clone().into(), ids, settings, times });
        if !is_full {
            outcomes.insert(rules.into(), Arc::clone(&outcome));
        }
        outcome
    }

    /// Returns the same outcome for statements that ask for this hostgroup themselves, and are counted under it.
    fn under(&self, outcome: Arc<Outcome>, hostgroup: i64) -> Arc<Outcome> {
        let is_too_much = outcome.id == 0 && !outcome.rules.is_empty();
        if is_too_much || outcome.settings.hostgroup == Some(hostgroup) {
            return outcome;
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (outcome.id, hostgroup);
        if let Some(known) = asked.get(&key) {
            return Arc::clone(known);
        }
        if asked.len() >= ASKED_MAX {
            return outcome;
        }
        let apart = Arc::new(Outcome {
            id: next(),
            rules: outcome.rules.clone(),
            ids: outcome.ids.clone(),
            settings: Settings { hostgroup: Some(hostgroup), ..outcome.settings.clone() },
            times: AtomicU64::new(0),
        });
        asked.insert(key, Arc::clone(&apart));
        apart
    }

    /// Calls `look` for all outcomes that have been reached; each of them is counted by itself.
    fn each_outcome(&self, mut look: impl FnMut(&Outcome)) {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.values().for_each(|outcome| look(outcome));
        drop(outcomes);
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.values().for_each(|outcome| look(outcome));
    }

    /// Returns the rules by their `rule_id`, with how often each was met. `more`: how often outcomes, by their `id`, were reached that
    /// are counted elsewhere.
    #[must_use]
    pub fn hits(&self, more: &HashMap<u64, u64>) -> Vec<(i64, u64)> {
        let mut counts = vec![0; self.rules.len()];
        self.each_outcome(|outcome| {
            let times = outcome.times.load(Ordering::Relaxed) + more.get(&outcome.id).copied().unwrap_or(0);
            outcome.rules.iter().for_each(|at| counts[*at as usize] += times);
        });
        self.rules.iter().map(|rule| rule.rule_id).zip(counts).collect()
    }

    /// Returns the outcomes in which this rule has a part.
    #[must_use]
    pub fn outcomes_of(&self, rule_id: i64) -> Vec<u64> {
        let mut found = Vec::new();
        self.each_outcome(|outcome| {
            if outcome.ids.contains(&rule_id) {
                found.push(outcome.id);
            }
        });
        found
    }
}

/// Returns the key of an outcome: all facts on which it depends besides the set, and besides the text where that counts. Each part but
/// the last is preceded by its length.
fn key_of(facts: Facts<'_>, digest_text: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(16 + facts.user.len() + facts.schema.len() + digest_text.len());
    key.extend_from_slice(&facts.class.to_le_bytes());
    key.extend_from_slice(&facts.flag_in.to_le_bytes());
    for part in [facts.user, facts.schema.as_bytes()] {
        key.extend_from_slice(&(part.len() as u64).to_le_bytes());
        key.extend_from_slice(part);
    }
    key.extend_from_slice(digest_text);
    key
}
