//! The statements that a session has prepared as texts (PREPARE), and what they do.

use std::sync::Arc;

use ahash::HashMap;
use freshet_sql::{Effects, PreparedKill, contains_ignoring_case};

use super::prepared::Prepared;
use crate::reading::LONG_BYTES_MIN;

/// The most statements that are noted; with more, none is known any more.
const TEXTS_MAX: usize = 256;

/// A statement that is prepared as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    /// What the statement does; `None` if that is unknown.
    pub(crate) effects: Option<Effects>,
    /// What the statement kills, if it is a KILL.
    pub(crate) kill: Option<Arc<PreparedKill>>,
    /// What is known of the statement, if it is a SELECT whose answers may come from memory.
    pub(crate) select: Option<Arc<Prepared>>,
    /// The statement, if it is Freshet's own.
    ours: Option<OfOurs>,
}

/// A statement of Freshet's own that is prepared as text.
#[derive(Clone, Debug)]
pub(crate) struct OfOurs {
    pub(crate) text: Arc<[u8]>,
    /// Whether the server has the statement too.
    pub(crate) is_there: bool,
}

impl Text {
    /// Makes the entry of a statement that is not Freshet's own.
    pub(crate) fn new(
        effects: Option<Effects>,
        kill: Option<Arc<PreparedKill>>,
        select: Option<Arc<Prepared>>,
    ) -> Self {
        Self { effects, kill, select, ours: None }
    }

    /// Makes the entry of a statement of Freshet's own.
    pub(crate) fn of_ours(text: &[u8], is_there: bool) -> Self {
        let ours = Some(OfOurs { text: text.into(), is_there });
        Self { effects: Some(Effects::none()), ours, ..Self::default() }
    }
}

/// The statements by their names, in lower case.
#[derive(Debug)]
pub(crate) struct Texts {
    known: HashMap<String, Text>,
    /// Whether there are no other statements.
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

    /// Returns what the statement of this name does; `None` if that is unknown. If there is no such statement, the server refuses it.
    pub(crate) fn get(&self, name: &str) -> Option<Effects> {
        match self.known.get(name) {
            Some(text) => text.effects.clone(),
            None => self.are_all.then(Effects::refused),
        }
    }

    /// Returns the SELECT of this name, if its answers may come from memory.
    pub(crate) fn select(&self, name: &str) -> Option<Arc<Prepared>> {
        self.known.get(name)?.select.clone()
    }

    /// Returns the statement of this name, if it is Freshet's own.
    pub(crate) fn of_ours(&self, name: &str) -> Option<OfOurs> {
        self.known.get(name)?.ours.clone()
    }

    /// Returns what the statement of this name kills, if it is certainly a KILL.
    pub(crate) fn kill(&self, name: &str) -> Option<Arc<PreparedKill>> {
        self.known.get(name)?.kill.clone()
    }

    /// Notes that a statement of this name is prepared.
    pub(crate) fn set(&mut self, name: String, text: Text) {
        if !is_plain(&name) {
            self.forget();
        } else if self.known.len() >= TEXTS_MAX {
            // No other code has used these names, and the server may not have Freshet's own statements.
            self.known.retain(|_, text| text.ours.is_some());
            self.are_all = false;
        }
        if self.known.len() >= TEXTS_MAX {
            self.forget();
        }
        self.known.insert(name, text);
    }

    /// Notes that there is no statement of this name any more.
    pub(crate) fn remove(&mut self, name: &str) {
        if !is_plain(name) {
            self.forget();
        }
        self.known.remove(name);
    }

    /// Forgets all statements, because unknown code has run and may have prepared anything under any name, including the name of a
    /// statement of Freshet's own. If the code has not, the server refuses to execute a statement that only Freshet has, and nothing is
    /// silently left undone.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.are_all = false;
    }

    /// Notes that a text is sent that may prepare unknown statements.
    pub(crate) fn forget_those_in(&mut self, text: &[u8]) {
        const PREPARE: &[u8] = b"prepare";
        let is_known = self.are_all || !self.known.is_empty();
        // A long text is not searched here: the other sessions of this event loop would wait.
        let is_long = text.len() >= LONG_BYTES_MIN;
        if is_known && (is_long || contains_ignoring_case(text, PREPARE)) {
            self.forget();
        }
        if is_known && names_execute(text) {
            self.forget_answers();
        }
    }

    /// Notes that the statement of this name is executed at the server with unknown values. Its later answers may depend on these values:
    /// MySQL resolves types by them, and in MariaDB a NULL is unsigned after an unsigned value. The server does not see the values of
    /// executions that are answered from memory.
    pub(crate) fn took_unknown(&mut self, name: &str) {
        if let Some(text) = self.known.get_mut(name) {
            text.select.take_if(|select| select.parameters() > 0);
        }
    }

    /// Notes that any of the statements may have been executed, with any values.
    fn forget_answers(&mut self) {
        self.known.values_mut().for_each(|text| text.select = None);
    }
}

/// The first word of an EXECUTE.
const EXECUTE: &[u8] = b"EXECUTE";

/// Whether a text begins with EXECUTE.
pub(crate) fn begins_with_execute(text: &[u8]) -> bool {
    text.get(..EXECUTE.len()).is_some_and(|start| start.eq_ignore_ascii_case(EXECUTE))
}

/// Whether EXECUTE stands anywhere in a text.
pub(crate) fn names_execute(text: &[u8]) -> bool {
    contains_ignoring_case(text, EXECUTE)
}

/// Whether a server takes no other name for this one: `é` equals `e` on both servers, and MySQL ignores blanks at the end.
pub(crate) fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Text {
        Text { effects: Some(Effects::none()), ..Text::default() }
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
        texts.set("e".into(), nothing());
        texts.set("\u{e9}".into(), nothing());
        assert_eq!(texts.get("e"), None, "the server takes one for the other");
        for number in 0..=TEXTS_MAX {
            texts.set(format!("s{number}"), nothing());
        }
        assert_eq!((texts.get("s0"), texts.get("other")), (None, None));
    }

    #[test]
    fn what_is_ours_outlives_a_crowd_and_no_unknown_code() {
        let mut texts = Texts::default();
        texts.set("ours".into(), Text::of_ours(b"SET query_cache_type = 1", false));
        for number in 0..=TEXTS_MAX {
            texts.set(format!("s{number}"), nothing());
        }
        assert!(texts.of_ours("ours").is_some(), "the server does not have it");
        texts.forget();
        assert!(texts.of_ours("ours").is_none(), "the name may be another's now");
        for number in 0..=TEXTS_MAX {
            texts.set(format!("s{number}"), Text::of_ours(b"SHOW STATUS", true));
        }
        assert!(texts.known.len() <= TEXTS_MAX);
    }
}
