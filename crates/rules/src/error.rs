//! Why a set of rules cannot be carried out.

/// The fault of a rule. Its text names the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {rule}: {what}")]
pub struct RuleError {
    /// Its `rule_id`.
    pub rule: i64,
    /// The fault, in words for the author of the rule.
    pub what: String,
}
