//! The savepoints of a transaction: those that the server need not know of, and those after which the transaction has read nothing.

use freshet_sql::TransactionControl;

/// The most savepoints that are remembered in the server's place.
const SAVEPOINTS_MAX: usize = 64;

/// A statement on a savepoint.
pub(crate) enum Mark<'a> {
    Set(&'a str),
    BackTo(&'a str),
    Remove(&'a str),
}

/// The savepoints of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Savepoints {
    /// The savepoints that were set before the server knew of the transaction, in their order.
    here: Vec<String>,
    /// The savepoints before the first read, also when the server knows of the transaction: after going back to one of them, nothing has
    /// been read.
    early: Vec<String>,
}

impl Savepoints {
    /// Forgets all savepoints.
    pub(super) fn clear(&mut self) {
        self.here.clear();
        self.early.clear();
    }

    /// Notes that the transaction reads: no savepoint before that is known from now on.
    pub(super) fn note_read(&mut self) {
        self.early.clear();
    }

    /// Returns the savepoints that were set before the server knew of the transaction, in their order.
    pub(crate) fn here(&self) -> &[String] {
        &self.here
    }

    /// Whether a savepoint of this name stands before the first read.
    pub(crate) fn is_early(&self, name: &str) -> bool {
        place(&self.early, name).is_some()
    }

    /// Whether any savepoint stands before the first read.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Returns the savepoint of this name and those before it, if it stands before the first read.
    pub(crate) fn early_up_to(&self, name: &str) -> Option<Vec<String>> {
        let early = &self.early;
        place(early, name).and_then(|at| early.get(..=at)).map(<[String]>::to_vec)
    }

    /// Notes that these savepoints are all that there is of a transaction that has just begun.
    pub(crate) fn keep(&mut self, early: Vec<String>) {
        *self = Self { here: early.clone(), early };
    }

    /// Sets, goes back to or removes a savepoint. `is_early`: nothing has been read yet. Returns whether the transaction has gone back to a
    /// savepoint before its first read; `None` if there is no savepoint of that name, or no room for it.
    pub(super) fn marks(&mut self, mark: &Mark<'_>, is_early: bool) -> Option<bool> {
        let (Mark::Set(name) | Mark::BackTo(name) | Mark::Remove(name)) = mark;
        match (mark, place(&self.here, name)) {
            (Mark::Set(_), _) if self.here.len() >= SAVEPOINTS_MAX => return None,
            (Mark::Set(_), _) => {
                moves(&mut self.here, name);
                moves(&mut self.early, name);
                self.here.push((*name).to_owned());
                self.early.extend(is_early.then(|| (*name).to_owned()));
            }
            // The server has an error for this case.
            (_, None) => return None,
            (Mark::BackTo(_), Some(at)) => self.here.truncate(at + 1),
            (Mark::Remove(_), Some(at)) => self.here.truncate(at),
        }
        self.early.truncate(self.here.len());
        Some(matches!(mark, Mark::BackTo(_)) && self.is_early(name))
    }

    /// Notes that the server has carried out a statement that may concern savepoints. `control`: the statement, if it is known to be one on
    /// a savepoint alone.
    pub(crate) fn note_at_server(&mut self, control: Option<&TransactionControl>) {
        let early = &mut self.early;
        match control {
            Some(TransactionControl::Savepoint(name)) => moves(early, name),
            Some(TransactionControl::Release(name)) => {
                early.truncate(place(early, name).unwrap_or(usize::MAX))
            }
            Some(TransactionControl::RollbackTo(_)) => {}
            _ => early.clear(),
        }
    }
}

/// Returns the place of a savepoint among others.
fn place(names: &[String], name: &str) -> Option<usize> {
    names.iter().position(|known| known.eq_ignore_ascii_case(name))
}

/// Removes a savepoint that is set anew, after all others.
fn moves(names: &mut Vec<String>, name: &str) {
    names.retain(|known| !known.eq_ignore_ascii_case(name));
}

#[cfg(test)]
mod tests;
