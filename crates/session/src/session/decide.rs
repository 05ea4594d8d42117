//! The decision of the query rules on a statement, and the keys that stand for the decision: see `ruled.rs`.

use freshet_protocol::{ErrPacket, OkPacket};
use freshet_rules::{Decision, Facts};
use freshet_upstream::now_ms;

use super::Session;
use super::ruled::{Agreed, Came, KeptRights, StatementRuling, Storing};
use crate::created::QueryId;
use crate::environment::{Environment, RuledEnvironment};

/// ER_NOT_ALLOWED_COMMAND, the code of ProxySQL's `error_msg`.
const REFUSED: u16 = 1148;

/// The variant of statements that have met no rule, if their text does not tell which rules they would meet.
const MET_NOTHING: u64 = u64::MAX;

/// The terms on which an answer may be stale.
#[derive(Clone, Copy)]
struct BargainTerms {
    /// The epoch of rights at which the answer is asked for.
    rights: u64,
    /// The version of all policies of caches; 0: a query rule allows stale answers.
    policies: u64,
}

/// What the number of an environment in the keys of answers stands for.
enum Identity {
    /// The environment alone.
    Environment,
    /// The environment under query rules, or of a session that keeps rights.
    Ruled(RuledEnvironment),
    /// No number: the session keeps rights that were taken away, and has moved too often to have keys.
    None,
}

impl Session {
    /// Takes over the rules as they are now.
    pub(super) fn heed_rules(&mut self) {
        let version = self.shared.rules.version();
        if version != self.ruled.version {
            self.ruled.version = version;
            self.ruled.set = self.shared.rules.set();
            self.ruled.class = self.ruled.set.as_ref().map_or(0, |set| set.class_of(&self.ruled.client));
            self.ruled.next_flag = None;
            self.ruled.keeps_to_itself = false;
        }
    }

    /// Whether there are rules now.
    pub(crate) fn heeds_rules(&mut self) -> bool {
        self.heed_rules();
        self.ruled.are_there()
    }

    /// Begins a command on which the rules do not decide, or not yet. Nothing is stored for such a command while there are rules.
    pub(crate) fn begin_undecided(&mut self) {
        self.heed_rules();
        self.ruled.ruling = StatementRuling::default();
    }

    /// Decides on a statement by the rules; `None` without rules. The statement is the one under way from now on.
    pub(crate) fn decide(&mut self, text: &[u8], came: Came) -> Option<&Decision> {
        self.heed_rules();
        self.ruled.ruling =
            StatementRuling { generation: self.ruled.generation(), ..StatementRuling::default() };
        let set = self.ruled.set.clone()?;
        let flag = match came {
            Came::ToBePrepared => None,
            _ => self.ruled.next_flag.take(),
        };
        let mut decision = set.decide(Facts {
            user: &self.admitted.user,
            schema: self.state.environment.schema().unwrap_or_default(),
            class: self.ruled.class,
            flag_in: flag.unwrap_or(0),
            text,
        });
        let is_rewritten = decision.rewritten.is_some();
        // After a change of rights from now on, the server is asked instead.
        let rights =
            (decision.is_bargain && came != Came::ToBePrepared).then(|| self.shared.upstream.rights_epoch());
        let is_direct = flag.is_none_or(|flag| flag == 0)
            && match came {
                Came::Text => !is_rewritten,
                Came::ToBePrepared => true,
                Came::Prepared { rewritten } => !rewritten,
            };
        if came == Came::ToBePrepared {
            // These settings are for the executions of the statement.
            (decision.settings.ok_msg, decision.settings.delay_ms, decision.settings.timeout_ms) =
                (None, None, None);
        }
        // Only the text tells what a hint asks for, and a rewritten text may have lost the hint.
        let is_told = is_direct || !freshet_rules::has_hint(text);
        // A statement that is logged has to pass here each time.
        let is_looked_up_first = is_direct && (!decision.is_logged || came == Came::ToBePrepared);
        let ruling = &mut self.ruled.ruling;
        ruling.schema = self.state.environment.schema().map(str::to_owned);
        ruling.variant = match decision.outcome.id {
            _ if is_looked_up_first => 0,
            0 => MET_NOTHING,
            id => id,
        };
        // A preparation is never barred: the rules decide on its executions when they come.
        ruling.is_barred =
            came != Came::ToBePrepared && !(decision.is_cached && is_told && rights != Some(None));
        ruling.bargain = rights.flatten();
        ruling.asked = (is_rewritten && came == Came::Text).then(|| text.to_vec());
        self.ruled.next_flag = match came {
            Came::ToBePrepared => self.ruled.next_flag,
            _ => decision.settings.next_query_flag_in,
        };
        match decision.settings.multiplex {
            Some(0) => self.ruled.keeps_to_itself = true,
            Some(1) => self.ruled.keeps_to_itself = false,
            _ => {}
        }
        if flag.is_some() || self.ruled.next_flag.is_some() {
            self.refresh_key();
        }
        self.ruled.ruling.repeating.left = decision.retries;
        self.ruled.ruling.decision = Some(decision);
        self.ruled.ruling.decision.as_ref()
    }

    /// Answers the statement under way, if rules set its answer.
    pub(crate) fn answer_by_rules(&mut self) -> bool {
        let Some(Decision { settings, outcome, .. }) = &self.ruled.ruling.decision else { return false };
        let (error, ok) = (settings.error_msg.clone(), settings.ok_msg.clone());
        if error.is_some() || ok.is_some() {
            outcome.count(1);
        }
        match (error, ok) {
            (Some(message), _) => self.put_error(&ErrPacket::new(REFUSED, "42000", &*message)),
            (None, Some(message)) => {
                let status = self.state.status_for_answers();
                let info = message.as_bytes().to_vec();
                let ok = OkPacket { status, info, ..OkPacket::default() }.encode(self.capabilities(), 0);
                self.wire.put(&ok);
            }
            (None, None) => return false,
        }
        self.active(now_ms());
        true
    }

    /// Returns the first part of the key of the statement under way, if it is not looked up as the client sent it; `None` if it is.
    pub(crate) fn key_of_variant(&self) -> Option<u32> {
        let is_variant = self.ruled.ruling.variant != 0;
        is_variant
            .then(|| self.key_but_for_temporary_tables())
            .flatten()
            .filter(|_| !self.holds().hide_tables())
    }

    /// Whether the next statement has to be decided before it is looked up.
    pub(super) fn decides_before(&self) -> bool {
        self.ruled.next_flag.is_some()
    }

    /// Returns the identity for the key of a look-up, for statements that are looked up as the client sent them.
    pub(super) fn identity(&self, environment: &Environment) -> Option<u32> {
        self.identity_of(environment, 0, None)
    }

    /// Returns the identity for the statement under way; `None` if it is not to be answered from memory.
    pub(super) fn identity_under_way(&self, environment: &Environment) -> Option<u32> {
        let ruling = &self.ruled.ruling;
        let is_of_now = ruling.generation == self.ruled.generation();
        let is_meant = || ruling.generation == 0 || ruling.schema == environment.schema;
        // A stale answer is found and stored only under a key of its own.
        (is_of_now && !ruling.is_barred && ruling.bargain.is_none() && is_meant())
            .then(|| self.identity_of(environment, ruling.variant, None))
            .flatten()
    }

    /// Returns the identity for a statement whose answer may be stale.
    pub(super) fn identity_of_bargain(&self, environment: &Environment) -> Option<u32> {
        let ruling = &self.ruled.ruling;
        if ruling.generation != self.ruled.generation() || !self.ruled.is_bargain() || !environment.tells_time
        {
            return None;
        }
        let is_meant = || ruling.generation != 0 && ruling.schema == environment.schema;
        let bargain = match ruling.bargain {
            Some(rights) => is_meant().then_some(BargainTerms { rights, policies: 0 })?,
            None => ruling.agreed.map(|Agreed { rights, policies, .. }| BargainTerms { rights, policies })?,
        };
        self.identity_of(environment, ruling.variant, Some(bargain))
    }

    /// Lets the answer to the statement under way be as old as the policy of its query's cache allows, if there is one.
    pub(crate) fn heed_policy(&mut self, id: QueryId) {
        let created = &self.shared.created;
        // Read before the policy; see `policies` for the reason.
        let policies = created.policies();
        let is_free = self.ruled.ruling.bargain.is_none() && self.may_be_stale();
        let policy = if is_free { created.policy_of(id) } else { None };
        let agreed = policy.zip(self.shared.upstream.rights_epoch()).filter(|_| policies != 0);
        self.ruled.ruling.agreed = agreed.map(|(policy, rights)| Agreed { policy, policies, rights });
    }

    /// Notes that another statement is under way, whose query's policy is not decided.
    pub(crate) fn forget_policy(&mut self) {
        self.ruled.ruling.agreed = None;
    }

    fn identity_of(
        &self,
        environment: &Environment,
        variant: u64,
        bargain: Option<BargainTerms>,
    ) -> Option<u32> {
        let ruled = match self.identified(environment, variant, bargain) {
            Identity::None => return None,
            Identity::Environment => return Some(environment.id),
            Identity::Ruled(ruled) => ruled,
        };
        match self.ruled.last {
            Some((last, id)) if last == ruled => id,
            _ => self.shared.environments.under_rules(&environment.account, ruled),
        }
    }

    fn identified(&self, environment: &Environment, variant: u64, bargain: Option<BargainTerms>) -> Identity {
        let (generation, class) = (self.ruled.generation(), self.ruled.class);
        let keeper = match self.ruled.keeper {
            None if generation == 0 && bargain.is_none() => return Identity::Environment,
            None => None,
            Some(KeptRights { number: None, .. }) => return Identity::None,
            Some(KeptRights { number, .. }) => number,
        };
        let environment = environment.id;
        let (bargain, policies) = bargain.map_or((None, 0), |terms| (Some(terms.rights), terms.policies));
        Identity::Ruled(RuledEnvironment {
            environment,
            generation,
            class,
            variant,
            bargain,
            policies,
            keeper,
        })
    }

    /// Stores the identity that the next look-up needs.
    pub(super) fn remember_identity(&mut self) {
        let Some(environment) = self.state.environment.current() else { return };
        let Identity::Ruled(ruled) = self.identified(environment, 0, None) else { return };
        let id = self.identity(environment);
        self.ruled.last = Some((ruled, id));
    }

    /// Returns which answers to the statement under way are stored; the server is asked now.
    pub(crate) fn storing(&self) -> Storing {
        self.ruled.storing(now_ms)
    }
}
