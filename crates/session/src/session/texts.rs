//! What a session's statements do that it has prepared by their texts.

use std::sync::Arc;

use ahash::HashMap;
use freshet_sql::{Effects, PreparedKill};

use crate::reading::LONG_BYTES_MIN;

/// How many are told apart; with more, none is known any more.
const TEXTS_MAX: usize = 256;

/// One of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    /// `None`: what it does is not known.
    pub(crate) effects: Option<Effects>,
    /// What it kills, if it is a KILL.
    pub(crate) kill: Option<Arc<PreparedKill>>,
}

/// By their names, in lower case.
#[derive(Debug)]
pub(crate) struct Texts {
    known: HashMap<String, Text>,
    /// There are no others.
    are_all: bool,
}

impl Default for Texts {
    fn default() -> Self {
        Self { known: HashMap::default(), are_all: true }
    }
}

impl Texts {
    pub(crate) fn are_none(&self) -> bool {
        self.known.is_empty() && self.are_all
    }

    /// What a statement of this name does; `None` where that is not known. Where there is none, the server says so.
    pub(crate) fn get(&self, name: &str) -> Option<Effects> {
        match self.known.get(name) {
            Some(text) => text.effects.clone(),
            None => self.are_all.then(Effects::refused),
        }
    }

    /// What a statement of this name kills, if it is certainly a KILL.
    pub(crate) fn kill(&self, name: &str) -> Option<Arc<PreparedKill>> {
        self.known.get(name)?.kill.clone()
    }

    /// A statement of this name is prepared.
    pub(crate) fn set(&mut self, name: String, text: Text) {
        if self.known.len() >= TEXTS_MAX {
            self.forget();
        }
        self.known.insert(name, text);
    }

    /// There is no statement of this name any more.
    pub(crate) fn remove(&mut self, name: &str) {
        self.known.remove(name);
    }

    /// Unknown code has run, which may have prepared anything.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.are_all = false;
    }

    /// A text is sent of which it was not told what it prepares, if it prepares anything.
    pub(crate) fn forget_those_in(&mut self, text: &[u8]) {
        const PREPARE: &[u8] = b"prepare";
        let is_known = self.are_all || !self.known.is_empty();
        // A long text is not gone through here: the others of this event loop would wait.
        let is_long = text.len() >= LONG_BYTES_MIN;
        let names = || text.windows(PREPARE.len()).any(|word| word.eq_ignore_ascii_case(PREPARE));
        if is_known && (is_long || names()) {
            self.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Text {
        Text { effects: Some(Effects::none()), kill: None }
    }

    #[test]
    fn what_is_not_known_for_certain_is_forgotten() {
        let mut texts = Texts::default();
        assert_eq!(texts.get("s"), Some(Effects::refused()), "nothing is prepared");
        texts.set("s".into(), nothing());
        texts.forget_those_in(b"INSERT INTO t VALUES (1)");
        assert_eq!(texts.get("s"), Some(Effects::none()));
        texts.set("s".into(), Text::default());
        assert_eq!(texts.get("s"), None);
        texts.remove("s");
        assert_eq!(texts.get("s"), Some(Effects::refused()));
        texts.set("s".into(), nothing());
        texts.forget_those_in(b"SELECT 1; Prepare s FROM 'DELETE FROM t'");
        assert_eq!((texts.get("s"), texts.get("other")), (None, None));
        for number in 0..=TEXTS_MAX {
            texts.set(format!("s{number}"), nothing());
        }
        assert_eq!((texts.get("s0"), texts.get("other")), (None, None));
    }
}
