//! What is wrong with a setting.

/// What is wrong with a setting: one line, without the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; allowed: {allowed}")]
pub struct ConfigError {
    /// Which part is wrong, and its value unless that is secret.
    pub what: String,
    /// What would be right.
    pub allowed: String,
}

impl ConfigError {
    pub(crate) fn new(what: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { what: what.into(), allowed: allowed.into() }
    }
}
