//! What the query rules are to a session, and to its statement under way.
//!
//! On the way of a hit nothing looks at rules: the key of a look-up stands for them (`environment/interner.rs`), and under such a key
//! only that is stored which the rules let be stored for whoever has the key. Four kinds of statements are never looked up before they were decided:
//! those that are rewritten, those that follow a rule with `next_query_flagIN`, those that were prepared as another text, and those that are
//! answered from memory without a key. What is stored for the first three has a *variant* in its key: the rules that they have met.

use std::sync::Arc;
use std::time::Duration;

use freshet_protocol::{ErrPacket, OkPacket};
use freshet_rules::{Client, Decision, Facts, Outcome, RuleSet};
use freshet_upstream::now_ms;

use super::Session;
use crate::environment::{Environment, Ruled as Identified};
use crate::wire::Wire;

/// The variant of statements for which the rules that would be met are not told by their text, where they have met none.
const MET_NOTHING: u64 = u64::MAX;

/// ER_NOT_ALLOWED_COMMAND, the code of ProxySQL's `error_msg`.
const REFUSED: u16 = 1148;

/// What the rules are to a session.
#[derive(Debug, Default)]
pub(crate) struct Ruled {
    /// The rules as this session has last seen them; `None` if there are none.
    set: Option<Arc<RuleSet>>,
    /// The version at which it has.
    version: u64,
    client: Client,
    class: u32,
    /// The flag with which the chain begins for the next statement, if a rule has said so.
    next_flag: Option<u32>,
    ruling: Ruling,
    /// The identity that was used last.
    last: Option<(Identified, Option<u32>)>,
}

/// What is decided of the statement under way.
#[derive(Debug, Default)]
struct Ruling {
    /// The generation of the rules by which it is; 0 without rules.
    generation: u64,
    /// The default schema for which it is.
    schema: Option<String>,
    /// See [`Identified::variant`].
    variant: u64,
    decision: Option<Decision>,
    /// Nothing may be stored for it, and nothing taken.
    is_barred: bool,
    /// The text as it came, of a statement that was rewritten.
    asked: Option<Vec<u8>>,
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

    fn generation(&self) -> u64 {
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

    /// Has nothing be stored for the statement under way, and nothing taken.
    pub(crate) fn bar(&mut self) {
        self.ruling.is_barred = true;
    }

    /// The text that takes the place of the statement under way, if it is rewritten: told once.
    pub(crate) fn take_rewritten(&mut self) -> Option<Vec<u8>> {
        self.ruling.decision.as_mut()?.rewritten.take()
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

    /// The rules that it has met, if it was decided.
    pub(super) fn outcome(&self) -> Option<&Arc<Outcome>> {
        self.ruling.decision.as_ref().map(|decision| &decision.outcome)
    }

    /// The text as it came, if it was rewritten.
    pub(super) fn asked(&self) -> Option<Vec<u8>> {
        self.ruling.asked.clone()
    }

    /// What is stored of its answer, which was asked for at this time.
    pub(crate) fn storing(&self, asked_ms: u64) -> Storing {
        match &self.ruling.decision {
            None => Storing { expires_ms: 0, empty: true },
            Some(decision) => Storing {
                expires_ms: decision.settings.cache_ttl_ms.map_or(0, |ttl| asked_ms.saturating_add(ttl)),
                empty: decision.stores_empty,
            },
        }
    }
}

impl Session {
    /// Takes the rules over as they are now.
    pub(super) fn heed_rules(&mut self) {
        let version = self.shared.rules.version();
        if version != self.ruled.version {
            self.ruled.version = version;
            self.ruled.set = self.shared.rules.set();
            self.ruled.class = self.ruled.set.as_ref().map_or(0, |set| set.class_of(&self.ruled.client));
            self.ruled.next_flag = None;
        }
    }

    /// A command begins that is not decided, or not yet. Nothing is stored for it while there are rules.
    pub(crate) fn begin_undecided(&mut self) {
        self.heed_rules();
        self.ruled.ruling = Ruling::default();
    }

    /// What the rules make of a statement, without rules nothing. It is the statement under way from now on.
    pub(crate) fn decide(&mut self, text: &[u8], came: Came) -> Option<&Decision> {
        self.heed_rules();
        self.ruled.ruling = Ruling { generation: self.ruled.generation(), ..Ruling::default() };
        let set = self.ruled.set.clone()?;
        let flag = match came {
            Came::ToBePrepared => None,
            _ => self.ruled.next_flag.take(),
        };
        let mut decision = set.decide(Facts {
            user: &self.admitted.user,
            schema: self.state.schema.as_deref().unwrap_or_default(),
            class: self.ruled.class,
            flag_in: flag.unwrap_or(0),
            text,
        });
        let is_rewritten = decision.rewritten.is_some();
        let is_direct = flag.is_none_or(|flag| flag == 0)
            && match came {
                Came::Text => !is_rewritten,
                Came::ToBePrepared => true,
                Came::Prepared { rewritten } => !rewritten,
            };
        if came == Came::ToBePrepared {
            // These are for its executions.
            (decision.settings.ok_msg, decision.settings.delay_ms, decision.settings.timeout_ms) =
                (None, None, None);
        }
        // What a hint asks for is told by the text alone, which a rewritten one may have lost.
        let is_told = is_direct || !freshet_rules::has_hint(text);
        let ruling = &mut self.ruled.ruling;
        ruling.schema.clone_from(&self.state.schema);
        ruling.variant = match decision.outcome.id {
            _ if is_direct => 0,
            0 => MET_NOTHING,
            id => id,
        };
        // Whatever is prepared: its executions are decided when they come.
        ruling.is_barred = came != Came::ToBePrepared && !(decision.is_cached && is_told);
        ruling.asked = (is_rewritten && came == Came::Text).then(|| text.to_vec());
        self.ruled.next_flag = match came {
            Came::ToBePrepared => self.ruled.next_flag,
            _ => decision.settings.next_query_flag_in,
        };
        if flag.is_some() || self.ruled.next_flag.is_some() {
            self.refresh_key();
        }
        self.ruled.ruling.decision = Some(decision);
        self.ruled.ruling.decision.as_ref()
    }

    /// Answers the statement under way, if rules say what it is answered with.
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

    /// The first part of the key of a statement under way that is not looked up as it comes; `None` of one that is.
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

    /// The identity that the key of a look-up has, for statements that are looked up as they come.
    pub(super) fn identity(&self, environment: &Environment) -> Option<u32> {
        self.identity_of(environment, 0)
    }

    /// The same for the statement under way; `None` if it is not to be answered from memory.
    pub(super) fn identity_under_way(&self, environment: &Environment) -> Option<u32> {
        let ruling = &self.ruled.ruling;
        let is_of_now = ruling.generation == self.ruled.generation();
        let is_meant = || ruling.generation == 0 || ruling.schema == environment.schema;
        (is_of_now && !ruling.is_barred && is_meant())
            .then(|| self.identity_of(environment, ruling.variant))
            .flatten()
    }

    fn identity_of(&self, environment: &Environment, variant: u64) -> Option<u32> {
        let generation = self.ruled.generation();
        if generation == 0 {
            return Some(environment.id);
        }
        let identified =
            Identified { environment: environment.id, generation, class: self.ruled.class, variant };
        match self.ruled.last {
            Some((last, id)) if last == identified => id,
            _ => self.shared.environments.under_rules(&environment.account, identified),
        }
    }

    /// Remembers the identity that the next look-up will need.
    pub(super) fn remember_identity(&mut self) {
        let generation = self.ruled.generation();
        let Some(environment) = self.state.environment.current().filter(|_| generation != 0) else { return };
        let identified =
            Identified { environment: environment.id, generation, class: self.ruled.class, variant: 0 };
        let id = self.identity(environment);
        self.ruled.last = Some((identified, id));
    }

    /// What of the answer to the statement under way is stored, which is asked for now.
    pub(crate) fn storing(&self) -> Storing {
        self.ruled.storing(now_ms())
    }
}
