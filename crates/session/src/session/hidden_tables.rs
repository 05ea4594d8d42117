//! What may hide tables from a session: its temporary tables, and the code that may have made some without Freshet's knowledge.
//!
//! `temporary.rs` has the tables. A *doubt* is about a table, view or routine that a statement has used, and of which Freshet could not tell
//! whether it runs code. If it does, there may be unknown temporary tables. Nothing is answered from memory until the doubts are resolved.
//! Whatever makes temporary tables may also change the environment, so `State` calls these methods, and notes that beside them.

use freshet_sql::Effects;

use super::temporary::TemporaryTables;
use crate::fences::Doubt;

/// The most doubts of a session.
const UNPROVEN_MAX: usize = 64;

/// The temporary tables of a session, and its doubts.
#[derive(Debug, Default)]
pub(crate) struct HiddenTables {
    tables: TemporaryTables,
    unproven: Vec<Doubt>,
}

impl HiddenTables {
    /// Notes what a statement with these effects may have done, whether or not it succeeded.
    pub(super) fn note_ran(&mut self, effects: &Effects, succeeded: bool) {
        self.tables.ran(effects);
        if succeeded {
            self.tables.succeeded(effects);
        }
    }

    /// Notes that unknown code ran: any table may be hidden.
    pub(super) fn note_unknown_code(&mut self) {
        self.tables.suspect();
    }

    /// Notes doubts. Returns whether there were too many, so that all are taken for true.
    #[must_use = "unknown code may have changed the environment too"]
    pub(super) fn note_doubts(&mut self, doubts: Vec<Doubt>) -> bool {
        for doubt in doubts {
            if !self.unproven.contains(&doubt) {
                self.unproven.push(doubt);
            }
        }
        self.overflows()
    }

    /// Takes all doubts for true if there are more than a session may have: each of them costs a check before each answer from memory.
    fn overflows(&mut self) -> bool {
        self.unproven.len() > UNPROVEN_MAX && self.believe_doubts()
    }

    /// Notes that a doubt is resolved: the table or routine runs no unknown code, if it `is_plain`.
    pub(super) fn note_judged(&mut self, doubt: &Doubt, is_plain: bool) {
        self.unproven.retain(|other| other != doubt);
        if !is_plain {
            self.note_unknown_code();
        }
    }

    /// Takes all doubts for true. Returns whether there were any.
    #[must_use = "unknown code may have changed the environment too"]
    pub(super) fn believe_doubts(&mut self) -> bool {
        let were_there = !std::mem::take(&mut self.unproven).is_empty();
        if were_there {
            self.note_unknown_code();
        }
        were_there
    }

    /// Returns the temporary tables.
    pub(crate) const fn tables(&self) -> &TemporaryTables {
        &self.tables
    }

    /// Returns the same, for what the server says of tables when it is asked.
    pub(super) const fn tables_mut(&mut self) -> &mut TemporaryTables {
        &mut self.tables
    }

    /// Returns what is not known yet to run no code.
    pub(super) fn doubts(&self) -> &[Doubt] {
        &self.unproven
    }

    /// Whether there are doubts.
    pub(crate) fn are_doubtful(&self) -> bool {
        !self.unproven.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use freshet_sql::TableName;

    use super::*;

    fn doubt(number: usize) -> Doubt {
        Doubt::Table(TableName::of("d", format!("t{number}")))
    }

    #[test]
    fn more_doubts_than_fit_are_taken_for_true() {
        let mut hidden = HiddenTables::default();
        assert!(!hidden.note_doubts((0..UNPROVEN_MAX).map(doubt).collect()));
        assert!(!hidden.note_doubts(vec![doubt(0)]), "it is known already");
        assert_eq!(hidden.doubts().len(), UNPROVEN_MAX);
        assert!(hidden.tables().are_none());
        assert!(hidden.note_doubts(vec![doubt(UNPROVEN_MAX)]));
        assert!(!hidden.are_doubtful() && !hidden.tables().are_none());
    }

    #[test]
    fn a_doubt_ends_with_its_judgement() {
        let mut hidden = HiddenTables::default();
        assert!(!hidden.believe_doubts(), "there are none");
        assert!(!hidden.note_doubts(vec![doubt(1), doubt(2)]));
        hidden.note_judged(&doubt(1), true);
        assert_eq!(hidden.doubts(), [doubt(2)]);
        assert!(hidden.tables().are_none());
        hidden.note_judged(&doubt(2), false);
        assert!(!hidden.are_doubtful() && !hidden.tables().are_none());
    }
}
