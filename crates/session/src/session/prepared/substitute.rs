//! The substitute that the server has prepared in the place of a statement of Freshet's own.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The statement's text, and the text of the substitute.
#[derive(Debug)]
pub(super) struct Substitute {
    text: Box<[u8]>,
    made: Mutex<Vec<u8>>,
}

impl Substitute {
    pub(super) fn new(text: &[u8], made: Vec<u8>) -> Self {
        Self { text: text.into(), made: Mutex::new(made) }
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether the server has prepared this text.
    pub(super) fn is(&self, made: &[u8]) -> bool {
        *self.made() == made
    }

    /// Notes that the server has prepared this text.
    pub(super) fn set(&self, made: &[u8]) {
        *self.made() = made.to_vec();
    }

    fn made(&self) -> MutexGuard<'_, Vec<u8>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
