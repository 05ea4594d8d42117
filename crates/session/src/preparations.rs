//! The server's answers to preparations of SELECTs, stored for all sessions that prepare the same SELECT in the same environment.
//!
//! A preparation contains the types of the columns and the parameters. These changes make it another one:
//!
//! | change | reported by |
//! |---|---|
//! | the session's settings, its default schema, its character sets, its account, and the form in which the client reads packets | the environment, which is part of the key |
//! | the definition of a table or view that the text names, or that a view of those reads | a dependency, stamped and fenced as for results |
//! | the account's rights: the server refuses to prepare a statement that may not be executed | the same |
//! | a temporary table in the place of another | the session: it does not look here while one may hide a named table |
//! | rows | nothing: no preparation depends on rows |
//!
//! So a preparation is given under the same rule as a result: none of its dependencies is fenced, and none was stamped after its
//! `valid_from`. No level of freshness lets a preparation be older. A transaction does not matter: in any transaction, both servers prepare
//! by the current definitions, and neither holds a table or begins a transaction for a preparation.

use std::sync::{Arc, OnceLock};

use freshet_cache::{Dep, Fences, Freshness, Position, Verdict};
use freshet_protocol::{HEADER_LEN, PrepareOk};
use freshet_sql::{Deprecations, Effects, Hint, QueryPlan, Unplanned};

use crate::kept::Sharded;
use crate::rows::{ReadPlan, StatementText};
use crate::template::Template;

/// How many bytes of preparations are kept in each shard: 8 MiB in all. The least used ones are dropped first.
const SHARD_BYTES_MAX: usize = 1 << 20;
/// How many shards there are.
const SHARDS: usize = 8;
/// About how many bytes a preparation takes besides its text and the server's answer, with what is compiled of it.
const PREPARATION_BYTES: usize = 1536;
/// The longest answer that is kept, in bytes: about a thousand columns.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 10;

/// What was compiled of a SELECT for all its executions.
#[derive(Debug)]
pub(crate) struct CompiledExecution {
    pub(crate) template: Arc<Template>,
    /// The syntax about which a server may warn.
    pub(crate) deprecations: Deprecations,
    /// The rows that the SELECT reads, with its parameters.
    pub(crate) plan: ReadPlan,
    /// What decides the types of the parameters.
    pub(crate) typed_by: TypedBy,
    /// The plan form with its parameters, if results are maintained.
    pub(crate) plan_form: OnceLock<Box<QueryPlan>>,
}

impl CompiledExecution {
    /// Returns the plan form of `statement` (this one), with its parameters.
    ///
    /// # Errors
    /// What has no place in the form.
    pub(crate) fn plan_form(&self, statement: StatementText<'_>) -> Result<&QueryPlan, Unplanned> {
        if let Some(plan) = self.plan_form.get() {
            return Ok(plan);
        }
        let plan = Box::new(statement.plan_form(&self.template.tables)?);
        Ok(self.plan_form.get_or_init(|| plan))
    }
}

/// What decides the types of a statement's parameters on MySQL, beside the first values themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypedBy {
    /// The values alone.
    Values,
    /// The kinds of the values. No moment is in sight.
    Kinds,
    /// The kinds of the values, and what each marker is compared with.
    KindsCompared(Box<[ComparedWith]>),
}

/// What a marker is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComparedWith {
    /// With something in which there is no moment, or with nothing.
    Timeless,
    /// With a column of integers or of DECIMAL, or it counts rows.
    Number,
    /// With a column of texts.
    Text,
    /// With a column of bytes.
    Bytes,
    /// With a column of dates or moments.
    Moment,
}

/// The facts of a SELECT that the server has prepared.
#[derive(Debug)]
pub(crate) struct Preparation {
    pub(crate) text: Arc<[u8]>,
    pub(crate) hint: Option<Hint>,
    /// What executing it may do.
    pub(crate) effects: Arc<Effects>,
    pub(crate) keeps_found_rows: bool,
    /// Answers may depend on the values of earlier executions.
    pub(crate) remembers: bool,
    pub(crate) compiled: Arc<CompiledExecution>,
    pub(crate) parameters: usize,
    /// The server's packets, with the number that it gave to this statement.
    pub(crate) answer: Vec<u8>,
    /// Where the session's status flags stand in them.
    pub(crate) status_at: [u32; 2],
    /// The position from which the preparation is valid, as for a stored result.
    pub(crate) valid_from: Position,
    pub(crate) deps: Vec<Dep>,
}

impl Preparation {
    /// Where the statement's number stands in the answer.
    pub(crate) const ID_AT: usize = HEADER_LEN + PrepareOk::STATEMENT_ID_AT;

    /// Whether the preparation may be given, by the one rule.
    pub(crate) fn is_servable(&self, freshness: &Freshness) -> bool {
        freshness.check(&self.deps, self.valid_from, Fences::Refuse) == Verdict::Servable
    }

    /// Returns how many columns the answers have.
    pub(crate) fn columns(&self) -> usize {
        // After the statement's number, in the first packet.
        let bytes = self.answer.get(Self::ID_AT + 4..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| usize::from(u16::from_le_bytes(*bytes)))
    }

    fn bytes(&self) -> usize {
        // The key contains the text, too.
        2 * self.text.len() + self.answer.len() + size_of_val(self.deps.as_slice()) + PREPARATION_BYTES
    }
}

/// All stored preparations.
#[derive(Debug)]
pub(crate) struct Preparations(Sharded<Arc<Preparation>, SHARDS>);

impl Default for Preparations {
    fn default() -> Self {
        Self(Sharded::new(SHARD_BYTES_MAX))
    }
}

impl Preparations {
    /// Puts together the key of a text's preparation in an environment.
    pub(crate) fn put_key(environment: u32, text: &[u8], key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(&environment.to_le_bytes());
        key.extend_from_slice(text);
    }

    /// Returns the preparation under this key, whether or not it may still be given.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Arc<Preparation>> {
        self.0.of(key).get(key).map(Arc::clone)
    }

    /// Returns how many preparations are stored.
    pub(crate) fn count(&self) -> usize {
        let mut count = 0;
        self.0.each(|_, _| count += 1);
        count
    }

    /// Returns all preparations, with the identities of the environments.
    pub(crate) fn all(&self) -> Vec<(u32, Arc<Preparation>)> {
        let mut all = Vec::new();
        self.0.each(|key, preparation| {
            let environment = key.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            all.push((environment, Arc::clone(preparation)));
        });
        all
    }

    /// Stores a preparation in the place of the earlier one.
    pub(crate) fn keep(&self, key: &[u8], preparation: Preparation) {
        let bytes = preparation.bytes();
        self.0.of(key).insert(key.into(), Arc::new(preparation), bytes);
    }
}
