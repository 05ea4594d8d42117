//! What a target is.

/// A reader of foreign bytes, and what holds of it.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// What holds of every input.
    pub promise: &'static str,
    /// Whether inputs are texts, which are changed word by word too.
    pub is_text: bool,
    /// Real inputs to start with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads one input and checks what holds. A panic counts as a finding too.
    pub check: fn(&[u8]) -> Outcome,
}

/// What came of one input.
pub type Outcome = Result<Behaviour, Finding>;

/// What the reader did, as a number: an input with a new one is worth keeping.
pub type Behaviour = u64;

/// Something does not hold.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What does not hold; the same for the same fault.
    pub rule: String,
    /// How that shows in this input.
    pub detail: String,
}

impl Finding {
    /// Returns a finding on a rule.
    pub fn new(rule: &str, detail: impl Into<String>) -> Self {
        Self { rule: rule.to_owned(), detail: detail.into() }
    }
}

/// Gives a finding unless a condition holds.
macro_rules! hold {
    ($condition:expr, $rule:expr, $($detail:tt)+) => {
        if !$condition {
            return Err($crate::target::Finding::new($rule, format!($($detail)+)));
        }
    };
}
pub(crate) use hold;

/// Returns a behaviour out of anything that can be hashed.
pub fn behaviour(of: impl std::hash::Hash) -> Behaviour {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
