//! Statements that are prepared on a server connection and are nobody's: sessions that had the connection before have left them there. One of the same text, in
//! the same environment, is as good as one that is prepared anew.

use ahash::HashMap;

use super::Prepared;

/// How many are kept.
const STOCK_MAX: usize = 64;

/// Those of one connection, with the server's numbers.
#[derive(Debug, Default)]
pub(super) struct Stock {
    /// By the environment's identity and the text.
    ids: HashMap<(u32, Box<[u8]>), u32>,
}

impl Stock {
    /// Keeps one that was prepared in this environment. False if it is not to be kept.
    pub(super) fn put(&mut self, environment: u32, prepared: &Prepared, id: u32) -> bool {
        let Some(text) = prepared.interchangeable() else { return false };
        let key = (environment, Box::from(text));
        let is_kept = self.ids.len() < STOCK_MAX && !self.ids.contains_key(&key);
        if is_kept {
            self.ids.insert(key, id);
        }
        is_kept
    }

    /// Takes the number of one out that is as good as this.
    pub(super) fn take(&mut self, prepared: &Prepared) -> Option<u32> {
        if self.ids.is_empty() {
            return None;
        }
        let text = prepared.interchangeable()?;
        self.ids.remove(&(prepared.prepared_in.environment()?, Box::from(text)))
    }

    /// Takes all out.
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
