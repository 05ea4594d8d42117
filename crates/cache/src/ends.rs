//! The questions to the server where its binlog ends, by number.
//!
//! A result may show commits that the stream has not brought yet. Its stamps do not tell of them. What tells is a question that
//! is asked after the result was complete: every commit that the result shows lies below the answer. Once `applied` has passed
//! the answer, all of these commits have set their stamps. From then on the result is *settled*: it shows nothing that is not
//! applied.

use std::sync::atomic::{AtomicU64, Ordering};

/// On cache lines of its own: the prober writes this, and every read at a fixed moment reads it.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Ends {
    asked: AtomicU64,
    passed: AtomicU64,
}

impl Ends {
    /// Takes the next number, before the question is sent.
    pub(crate) fn ask(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Returns the number of the last question. The caller has a complete result, so every later question is asked after the result was
    /// complete.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Notes that `applied` has passed the answer to this question. Release: a thread that sees the number sees the stamps.
    pub(crate) fn pass(&self, number: u64) {
        self.passed.fetch_max(number, Ordering::Release);
    }

    /// Whether `applied` has passed the answer to a question that was asked after this one.
    #[inline]
    pub(crate) fn is_passed_after(&self, asked: u64) -> bool {
        self.passed.load(Ordering::Acquire) > asked
    }
}
