//! The texts of a table, each once.

use ahash::RandomState;
use hashbrown::HashTable;

use crate::kind::Number;

/// Texts by their numbers. When no row has a text any more, its number is free again.
#[derive(Debug, Default)]
pub(crate) struct TextInterner {
    by_text: HashTable<u32>,
    texts: Vec<(Box<[u8]>, u32)>,
    free: Vec<u32>,
    hash: RandomState,
    bytes: usize,
}

/// The bytes that a text takes beside its own: its place, its number, and the allocator's overhead.
const BYTES_EACH: usize = 48;

impl TextInterner {
    /// Returns the number of a text, and counts one more row that has it.
    pub(crate) fn take(&mut self, text: &[u8]) -> u32 {
        let hash = self.hash.hash_one(text);
        let is_it = |number: &u32| &*self.texts[*number as usize].0 == text;
        if let Some(number) = self.by_text.find(hash, is_it).copied() {
            self.texts[number as usize].1 += 1;
            return number;
        }
        self.bytes += text.len() + BYTES_EACH;
        let entry = (Box::from(text), 1);
        let number = match self.free.pop() {
            Some(number) => {
                self.texts[number as usize] = entry;
                number
            }
            None => {
                self.texts.push(entry);
                u32::try_from(self.texts.len() - 1).unwrap_or(u32::MAX)
            }
        };
        let (texts, hash_of) = (&self.texts, &self.hash);
        self.by_text.insert_unique(hash, number, |it| hash_of.hash_one(&*texts[*it as usize].0));
        number
    }

    /// Counts one row less that has it.
    pub(crate) fn give(&mut self, number: u32) {
        let (text, count) = &mut self.texts[number as usize];
        *count -= 1;
        if *count > 0 {
            return;
        }
        let text = std::mem::take(text);
        self.bytes -= text.len() + BYTES_EACH;
        let hash = self.hash.hash_one(&*text);
        if let Ok(entry) = self.by_text.find_entry(hash, |it| *it == number) {
            entry.remove();
        }
        self.free.push(number);
    }

    pub(crate) fn get(&self, number: Number) -> &[u8] {
        usize::try_from(number).ok().and_then(|at| self.texts.get(at)).map_or(&[], |(text, _)| text)
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}
