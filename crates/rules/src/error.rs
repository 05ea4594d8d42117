//! Why a set of rules cannot be carried out.

/// What is wrong with a rule. Its text names the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {rule}: {what}")]
pub struct RuleError {
    /// Its `rule_id`.
    pub rule: i64,
    /// What is wrong, for whoever wrote it.
    pub what: String,
}
