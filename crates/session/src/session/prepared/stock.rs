//! Prepared statements on a server connection that belong to no session: earlier sessions of the connection have left them there. A
//! statement of the same text, in the same environment, is as good as a new preparation.

use ahash::HashMap;

use super::Prepared;

/// How many statements are kept.
const STOCK_MAX: usize = 64;

/// The statements of one connection, with the server's numbers.
#[derive(Debug, Default)]
pub(super) struct Stock {
    /// The numbers by the environment's identity and the text.
    ids: HashMap<(u32, Box<[u8]>), u32>,
}

impl Stock {
    /// Keeps a statement that was prepared in this environment. Returns false if it is not to be kept.
    pub(super) fn put(&mut self, environment: u32, prepared: &Prepared, id: u32) -> bool {
        let Some(text) = prepared.interchangeable() else { return false };
        let key = (environment, Box::from(text));
        let is_kept = self.ids.len() < STOCK_MAX && !self.ids.contains_key(&key);
        if is_kept {
            self.ids.insert(key, id);
        }
        is_kept
    }

    /// Takes out the number of a statement that is equivalent to this one.
    pub(super) fn take(&mut self, prepared: &Prepared) -> Option<u32> {
        if self.ids.is_empty() {
            return None;
        }
        let text = prepared.interchangeable()?;
        self.ids.remove(&(prepared.prepared_in.environment()?, Box::from(text)))
    }

    /// Takes out all numbers.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> {
        self.ids.drain().map(|(_, id)| id)
    }

    pub(super) fn has(&self, id: u32) -> bool {
        self.ids.values().any(|it| *it == id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
