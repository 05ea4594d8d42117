//! Facts of one statement beside its text and its effects: found when the statement is read, passed on with it, and dropped with it.

use freshet_catalog::Told;
use freshet_follow::RightsTaken;
use freshet_sql::{Around, BinlogEffect, Effects, Flavor, OnRights, Writes};

use crate::fences::Reach;

/// What a statement runs, by the definitions at the time when the statement is sent.
#[derive(Debug, Default)]
pub(crate) struct StatementFacts {
    /// The statement runs unknown code, or may do so.
    pub(crate) runs_unknown_code: bool,
    /// The statement runs something of which Freshet cannot tell yet whether it is unknown code.
    pub(crate) runs_doubtful_code: bool,
    /// The statement runs code that sets variables, and that certainly makes no temporary tables.
    pub(crate) sets_variables: bool,
    /// The statement runs routines, and Freshet understands all of them.
    pub(crate) runs_routines: bool,
    /// The statement runs routines that may begin and end transactions.
    pub(crate) may_commit: bool,
    /// The statement runs code that may ask about the statement before it.
    pub(crate) asks_back: bool,
    /// The statement writes through a view.
    pub(crate) opens_views: bool,
    /// The definitions by which Freshet understood the code that the statement runs.
    pub(crate) ran_by: Option<Told>,
}

impl From<&Reach> for StatementFacts {
    fn from(reach: &Reach) -> Self {
        Self {
            runs_unknown_code: reach.runs_unknown_code,
            runs_doubtful_code: !reach.unproven.is_empty(),
            sets_variables: reach.sets_variables,
            runs_routines: reach.runs_routines,
            may_commit: reach.commits,
            asks_back: reach.asks_back(),
            opens_views: reach.opens_views,
            ran_by: reach.runs_code.then(|| reach.told.clone()),
        }
    }
}

impl StatementFacts {
    /// Whether the statement runs any code besides its own text.
    pub(crate) fn run_code(&self) -> bool {
        self.runs_unknown_code || self.sets_variables || self.runs_routines
    }
}

/// Whether a statement may change accounts or privileges, as far as its text tells.
pub(super) fn changes_rights(effects: &Effects) -> bool {
    matches!(effects.writes, Writes::Accounts(_))
        || matches!(effects.around, Around::Accounts | Around::Rights)
}

/// Returns from whom a statement on accounts or privileges may take rights.
pub(super) fn taken_by(text: &[u8], flavor: Flavor) -> RightsTaken {
    match freshet_sql::binlog_effect(text, "", flavor, true) {
        BinlogEffect::Accounts { users, on_rights: OnRights::Takes, .. } => RightsTaken::from_users(users),
        // Rights that are loaded anew are read before the client gets its answer.
        BinlogEffect::Accounts { on_rights: OnRights::Keeps | OnRights::Reloads, .. } => {
            RightsTaken::FromNobody
        }
        _ => RightsTaken::FromAnybody,
    }
}

/// The outcome of a look-up that gave no answer. A later look-up for the same statement adds to it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Missed {
    /// The fingerprint of the stored answer's body that a change has made stale.
    pub(crate) stale_body: Option<u64>,
    /// The answer is stored, and there is no room for another copy of it on its way to a client.
    pub(crate) declined: bool,
    /// The answer is stored, and a write under way may change it.
    pub(crate) fenced: bool,
    /// The answer is stored, and it is not known yet whether it belongs to the transaction's moment.
    pub(crate) unsettled: bool,
    /// The answer is stored, and this session refreshes it.
    pub(crate) refreshes: bool,
}

/// A look-up that gave no answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unfound {
    /// The first part of its key.
    pub(crate) key: u32,
    pub(crate) missed: Missed,
}

impl Missed {
    /// Whether the answer may be stored. It may not if it is stored already, and others, or this client later, can get it.
    pub(crate) fn may_be_stored(self) -> bool {
        !self.declined && !self.unsettled
    }

    /// Returns what both look-ups have found.
    pub(crate) fn and(self, later: Self) -> Self {
        Self {
            stale_body: later.stale_body.or(self.stale_body),
            refreshes: later.refreshes || self.refreshes,
            ..later
        }
    }
}

#[cfg(test)]
mod tests {
    use freshet_sql::TableName;

    use super::*;
    use crate::fences::Doubt;

    #[test]
    fn a_statement_with_doubts_may_have_changed_the_session() {
        let doubt = Doubt::Table(TableName::of("d", "t"));
        let doubtful = Reach { unproven: vec![doubt], ..Reach::default() };
        assert!(StatementFacts::from(&doubtful).runs_doubtful_code);
        assert!(!StatementFacts::from(&Reach::default()).runs_doubtful_code);
    }
}
