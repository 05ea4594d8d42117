//! The environment in which a statement was prepared. It decides what the text means, and only in it the statement is answered from memory.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// No environment.
const UNKNOWN: u32 = u32::MAX;

/// Marks a statement that was executed in another environment, where the server may have read its text again.
const ELSEWHERE: u32 = u32::MAX - 1;

/// Not a version of any environment.
const NONE: u64 = u64::MAX;

/// Where a statement was prepared, and whether it was executed in no other environment.
#[derive(Debug)]
pub(crate) struct PreparedIn {
    /// The environment's identity; [`UNKNOWN`] until that is known.
    environment: AtomicU32,
    /// The session's version of that environment.
    version: AtomicU64,
    /// The version of the session's environment in which the statement was executed while the environment was unknown; [`NONE`] if there is
    /// none.
    undecided: AtomicU64,
}

impl Default for PreparedIn {
    fn default() -> Self {
        Self::new(None, NONE)
    }
}

impl PreparedIn {
    /// Makes the value with the environment's identity, if that is known, and the session's version of the environment.
    pub(crate) fn new(environment: Option<u32>, version: u64) -> Self {
        Self {
            environment: AtomicU32::new(environment.unwrap_or(UNKNOWN)),
            version: AtomicU64::new(version),
            undecided: AtomicU64::new(NONE),
        }
    }

    /// Returns the environment's identity, if it is known and the statement was executed in no other.
    pub(super) fn environment(&self) -> Option<u32> {
        Some(self.environment.load(Ordering::Relaxed)).filter(|id| *id < ELSEWHERE)
    }

    /// Whether nothing has changed the session's environment since the preparation.
    pub(crate) fn is_at(&self, version: u64) -> bool {
        self.version.load(Ordering::Relaxed) == version
    }

    /// Notes that the session's environment is the same as before, and has this version now.
    pub(crate) fn begins_at(&self, version: u64) {
        self.version.store(version, Ordering::Relaxed);
    }

    /// Whether the statement was prepared in this environment, which is the session's now with this version, and was executed in no other.
    pub(crate) fn is_of(&self, environment: u32, version: u64) -> bool {
        let undecided = self.undecided.load(Ordering::Relaxed);
        if self.is_at(version) && self.environment.load(Ordering::Relaxed) == UNKNOWN {
            self.environment.store(environment, Ordering::Relaxed);
        }
        let is_same = self.environment.load(Ordering::Relaxed) == environment;
        if undecided == NONE {
            return is_same;
        }
        self.undecided.store(NONE, Ordering::Relaxed);
        let was_same = is_same && undecided == version;
        if !was_same {
            self.environment.store(ELSEWHERE, Ordering::Relaxed);
        }
        was_same
    }

    /// Notes that the server is sent an execution, in this environment if it is known.
    pub(crate) fn note_executed(&self, environment: Option<u32>, version: u64) {
        let is_told = match environment {
            Some(environment) => self.is_of(environment, version),
            None if self.is_at(version) => true,
            None => {
                let undecided = self.undecided.swap(version, Ordering::Relaxed);
                undecided == NONE || undecided == version
            }
        };
        if !is_told {
            self.environment.store(ELSEWHERE, Ordering::Relaxed);
        }
    }
}
