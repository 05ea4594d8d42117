//! Query rules in ProxySQL's form: which statements are rewritten, refused, answered, delayed, bounded in time and cached.
//!
//! A [`Rule`] is a row of `mysql_query_rules`, as it was typed. [`RuleSet::compile`] makes a set of them usable as a whole, or says which
//! rule cannot be carried out and why; then no rule of the set counts. [`RuleSet::decide`] goes through the chain for one statement and
//! decides about it.
//!
//! A set never changes. Each has a *generation*, and sorts clients into *classes*: clients of one class meet the same conditions on
//! addresses. So a decision about a statement depends only on the generation, the class, the user, the schema, the flag and the
//! statement's text. A holder of decisions (a cache, by its keys) need not look at a rule again.
//!
//! This room knows how digests are made and nothing else: no session, no cache, no server. It does no input or output.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// A rule as it was typed.
mod rule;
mod error;

// Its parts, made usable.
mod address;
mod replace;
mod attributes;
mod settings;
mod compiled;

// The settings in the statement itself.
mod hint;

// The chain.
mod outcome;
mod set;

pub use address::Client;
pub use error::RuleError;
pub use hint::has_hint;
pub use outcome::{Decision, Outcome};
pub use rule::Rule;
pub use set::{Defaults, Facts, RuleSet};
pub use settings::Settings;
