//! The finding on one precondition.

/// How well a precondition is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readiness {
    /// As it should be.
    Fine,
    /// Freshet works, with the loss that the finding names.
    Degraded,
    /// Without the precondition nothing is cached: Freshet is a plain proxy.
    Missing,
}

/// One precondition, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was checked, for example `binlog_format`.
    pub subject: &'static str,
    /// How well it is met.
    pub state: Readiness,
    /// What was found, in words for users.
    pub found: String,
    /// The exact statement, or the setting and a restart, that mends it.
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn fine(subject: &'static str, found: impl Into<String>) -> Self {
        Self { subject, state: Readiness::Fine, found: found.into(), remedy: None }
    }

    pub(super) fn degraded(
        subject: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { subject, state: Readiness::Degraded, found: found.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn missing(
        subject: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { subject, state: Readiness::Missing, found: found.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn without_remedy(self) -> Self {
        Self { remedy: None, ..self }
    }
}
