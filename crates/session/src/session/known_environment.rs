//! What Freshet knows of the environment of one session, with the default schema and the key of look-ups that go with it. Only the methods
//! of [`KnownEnvironment`] change it: each is named for what has happened. Each row of this table is one transition.
//!
//! | what has happened | method | the environment | the version |
//! |---|---|---|---|
//! | the client has logged in | [`KnownEnvironment::of_login`] | unknown | the first |
//! | the client has logged in again, or has reset the session | [`KnownEnvironment::begun_anew`] | unknown | the next |
//! | other sessions of the same login have begun in an environment | [`KnownEnvironment::note_recalled`] | recalled, if nothing was known | the same |
//! | a session waits in the environment that is recalled | [`KnownEnvironment::suppose`] | counts as read | the same |
//! | the wait is over | [`KnownEnvironment::note_wait_over`] | recalled again, if nothing else has happened | the same |
//! | the server has shown the environment, or what has led there is on record | [`KnownEnvironment::note_read`] | read | the same |
//! | Freshet has carried a setting out | [`KnownEnvironment::note_set_here`] | the one after it, read or recalled as the one before | the next |
//! | a statement has changed the environment | [`KnownEnvironment::note_changed_by`] | the one before and the statement, if both are known; otherwise unknown | the next |
//! | a statement may have done anything, or the connection is another one | [`KnownEnvironment::note_unknown`] | unknown | the next |
//! | the environment has to be read once more, though no statement of the client's has changed it | [`KnownEnvironment::note_unread`] | unknown | the same |
//! | the server has named the default schema | [`KnownEnvironment::note_schema`] | the same | the same |
//! | it was decided under which key the next statements are looked up | [`KnownEnvironment::note_key`] | the same | the same |
//!
//! Two rules hold after each of them:
//!
//! - There is a key only while the environment is known, and the key is of that environment: a transition to another identity drops the key.
//! - The version never goes back. What was noted with a version, also outside of this value, is of the present environment if, and only if,
//!   the version is still the same.

use std::sync::Arc;

use freshet_sql::Modes;

use crate::environment::{Environment, Known, Transition};

/// The environment of one session, as far as it is known.
#[derive(Debug)]
pub(crate) struct KnownEnvironment {
    known: Known,
    /// The recalled environment counts as read, while the session waits without a connection.
    is_supposed: bool,
    /// Increases with each statement that may have changed the environment.
    version: u64,
    /// The default schema, as the login named it and the server has reported it since.
    schema: Option<String>,
    /// The environment part of the keys of this session's look-ups; `None` while the session must not be answered from memory.
    key: Option<u32>,
    /// The version of the global variables that `key` was decided with.
    key_version: u64,
}

/// The transitions.
impl KnownEnvironment {
    /// Makes the state after a login that names this schema.
    pub(super) fn of_login(schema: Option<String>) -> Self {
        Self { known: Known::Unknown, is_supposed: false, version: 0, schema, key: None, key_version: 0 }
    }

    /// Makes the state after another login, or after a reset, with this schema.
    pub(super) fn begun_anew(&self, schema: Option<String>) -> Self {
        Self { version: self.version + 1, ..Self::of_login(schema) }
    }

    /// Notes in which environment other sessions have begun that began in the same way. The default schema stays that of the login.
    pub(super) fn note_recalled(&mut self, begun: Arc<Environment>) {
        if matches!(self.known, Known::Unknown) {
            self.becomes(Known::Recalled(begun));
        }
    }

    /// Lets the recalled environment count as read, with its default schema. Returns false if none is recalled.
    pub(super) fn suppose(&mut self) -> bool {
        let Known::Recalled(recalled) = &self.known else { return false };
        debug_assert!(recalled.begins_alike);
        self.is_supposed = true;
        true
    }

    /// Lets the environment count as recalled again. If another transition has come meanwhile, the environment stays as that has left it.
    pub(super) fn note_wait_over(&mut self) {
        self.is_supposed = false;
    }

    /// Notes the environment that the server has shown, or that is known without a question.
    pub(super) fn note_read(&mut self, read: Arc<Environment>) {
        self.schema.clone_from(&read.schema);
        self.becomes(Known::Read(read));
    }

    /// Notes the environment after a setting that Freshet has carried out in the server's place.
    pub(super) fn note_set_here(&mut self, after: Arc<Environment>) {
        let is_read = matches!(self.known, Known::Read(_));
        self.version += 1;
        self.schema.clone_from(&after.schema);
        self.becomes(if is_read { Known::Read(after) } else { Known::Recalled(after) });
    }

    /// Notes that `statement` ran. `plain`: its effect depends only on the environment before it.
    pub(super) fn note_changed_by(&mut self, statement: &[u8], plain: bool) {
        self.version += 1;
        self.known.changed_by(statement, plain);
        (self.key, self.is_supposed) = (None, false);
    }

    /// Marks the environment as unknown, because anything may have changed it.
    pub(super) fn note_unknown(&mut self) {
        self.version += 1;
        self.becomes(Known::Unknown);
    }

    /// Marks the environment as unknown until it is read, though the client has done nothing that may have changed it.
    pub(super) fn note_unread(&mut self) {
        self.becomes(Known::Unknown);
    }

    /// Notes the default schema that the server has reported, or to which Freshet has moved the session. A report in an answer comes with a
    /// change of the environment, which is noted by itself.
    pub(crate) fn note_schema(&mut self, schema: Option<String>) {
        self.is_supposed = false;
        self.schema = schema;
    }

    /// Notes under which key the next statements are looked up. `version`: the version of the global variables, read before the decision.
    pub(super) fn note_key(&mut self, key: Option<u32>, version: u64) {
        self.key = key.filter(|_| self.current().is_some());
        self.key_version = version;
    }

    fn becomes(&mut self, known: Known) {
        let keeps_key = self.known.current().map(|it| it.id) == known.current().map(|it| it.id);
        self.key = self.key.filter(|_| keeps_key);
        self.known = known;
        self.is_supposed = false;
    }
}

/// The questions.
impl KnownEnvironment {
    /// Returns the environment, if answers may be stored by it: it was read, or the session is supposed to be there.
    pub(crate) fn read(&self) -> Option<&Arc<Environment>> {
        match &self.known {
            Known::Read(environment) => Some(environment),
            Known::Recalled(environment) if self.is_supposed => Some(environment),
            _ => None,
        }
    }

    /// Returns the environment, if it is taken from other sessions alone.
    pub(super) fn recalled(&self) -> Option<&Arc<Environment>> {
        match &self.known {
            Known::Recalled(environment) if !self.is_supposed => Some(environment),
            _ => None,
        }
    }

    /// Returns the environment now, if it is known without a question.
    pub(crate) fn current(&self) -> Option<&Arc<Environment>> {
        self.known.current()
    }

    /// Whether no environment is known, now or before the last statements.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.known, Known::Unknown)
    }

    /// Returns the last environment that was read, and what has led from it to the present one, if it is not the present one.
    pub(super) fn transition(&self) -> Option<(Arc<Environment>, Transition)> {
        let Known::After(before, statement) = &self.known else { return None };
        let transition = Transition { before: before.whole.clone(), statement: statement.clone() };
        Some((Arc::clone(before), transition))
    }

    /// Returns how statements are read.
    pub(crate) fn modes(&self) -> Option<Modes> {
        self.known.modes()
    }

    /// Returns the session's version of the environment.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// Returns the default schema.
    pub(crate) fn schema(&self) -> Option<&str> {
        match &self.known {
            Known::Recalled(supposed) if self.is_supposed => supposed.schema.as_deref(),
            _ => self.schema.as_deref(),
        }
    }

    /// Returns the environment part of the keys of look-ups, if the session may be answered from memory.
    pub(crate) const fn key(&self) -> Option<u32> {
        self.key
    }

    /// Whether the key was decided with this version of the global variables.
    pub(super) const fn is_key_of(&self, version: u64) -> bool {
        self.key_version == version
    }
}

#[cfg(test)]
mod tests;
