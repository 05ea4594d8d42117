//! What a session's statements do that it has prepared by their texts.

use ahash::HashMap;
use freshet_sql::Effects;

/// How many are told apart; one that is not known may do anything.
const TEXTS_MAX: usize = 256;

/// By their names, in lower case.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashMap<String, Effects>);

impl Texts {
    pub(crate) fn get(&self, name: &str) -> Option<&Effects> {
        self.0.get(name)
    }

    /// What a statement of this name does from now on; `None` where that is not known, or where there is none.
    pub(crate) fn set(&mut self, name: String, effects: Option<Effects>) {
        match effects {
            Some(effects) if self.0.len() < TEXTS_MAX || self.0.contains_key(&name) => {
                self.0.insert(name, effects);
            }
            _ => drop(self.0.remove(&name)),
        }
    }

    /// Unknown code has run, which may have prepared anything.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// A text is sent of which it was not told what it prepares, if it prepares anything.
    pub(crate) fn forget_those_in(&mut self, text: &[u8]) {
        const PREPARE: &[u8] = b"prepare";
        if !self.0.is_empty() && text.windows(PREPARE.len()).any(|word| word.eq_ignore_ascii_case(PREPARE)) {
            self.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_for_certain_is_forgotten() {
        let mut texts = Texts::default();
        texts.set("s".into(), Some(Effects::none()));
        texts.forget_those_in(b"INSERT INTO t VALUES (1)");
        assert!(texts.get("s").is_some());
        texts.forget_those_in(b"SELECT 1; Prepare s FROM 'DELETE FROM t'");
        assert!(texts.get("s").is_none());
        texts.set("s".into(), Some(Effects::none()));
        texts.set("s".into(), None);
        assert!(texts.get("s").is_none(), "its preparing failed");
        for number in 0..=TEXTS_MAX {
            texts.set(format!("s{number}"), Some(Effects::none()));
        }
        assert!(texts.get(&format!("s{TEXTS_MAX}")).is_none() && texts.get("s0").is_some());
    }
}
