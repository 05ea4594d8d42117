//! What an answer means for the session's transaction, its environment and its temporary tables, and for the fences that were
//! raised for the statement.

use freshet_protocol::StatusFlags;
use freshet_sql::{Effects, Temporary, TrackingEffect, TransactionEffect, Writes};

use super::begun::words::may_mark;
use super::tx::{Begun, Standing};
use super::{Session, StatementFacts};
use crate::environment::is_plain_set;
use crate::fences::{self, ConcludedStatement, InFlight, Left};
use crate::reading::LONG_BYTES_MIN;
use crate::relay::Relayed;

/// A statement that ran, with all known facts of it.
pub(super) struct Ran<'a> {
    pub(super) effects: &'a Effects,
    pub(super) text: &'a [u8],
    /// The text is known to be [plain](crate::sought).
    pub(super) is_plain: bool,
    /// The text, or that of the prepared statement that was executed.
    pub(super) asked: &'a [u8],
    pub(super) facts: StatementFacts,
    pub(super) relayed: &'a Relayed,
    /// The transaction that the server need not know of, if the statement has touched nothing of it.
    pub(super) stays: Option<Begun>,
}

impl Session {
    /// Draws the conclusions from the answer, for the session and for others.
    pub(super) fn conclude(&mut self, ran: &Ran<'_>, in_flight: Option<InFlight>) {
        let Ran { effects, text, facts, relayed, .. } = ran;
        // In any case, a transaction that the server has ended does not stay.
        let is_there = |begun: &Begun| {
            !begun.is_at_server || relayed.status.is_none_or(|status| status.contains(StatusFlags::IN_TRANS))
        };
        let stays = ran.stays.filter(is_there);
        let ran_nothing = ran_nothing(effects, text, relayed);
        let leaves_nothing_open = ran_nothing || self.state.tx.leaves_nothing_open(effects, facts);
        if let Some(begun) = stays {
            self.state.stays(begun, relayed.status);
        }
        if !ran_nothing {
            if stays.is_none() {
                self.has_moved(ran, !leaves_nothing_open);
            }
            self.changed(ran);
            self.marks_or_ends(ran);
        }
        self.state.deeds.note_answered(facts, relayed);
        if self.state.deeds.are_unlogged() && (facts.runs_unknown_code || effects.is_definition) {
            self.shared.powerless.forget();
        }
        self.characterized(relayed);
        // The characteristics may have held for that transaction: the server's next reports show that. The answer that ends an open
        // transaction has room for reports.
        if self.state.tx.next_differs() && relayed.has_no_room && !self.state.tx.is_open() {
            self.lease.tracking.note_end_unreported();
        }
        let shared = &self.shared;
        // Unknown code may have changed the tracking without a report.
        let is_unheard = self.lease.tracking.is_clients() && facts.runs_unknown_code;
        if is_unheard || effects.tracking == TrackingEffect::Obscured {
            self.lease.tracking.note_lost();
        }
        if let Some(in_flight) = in_flight.as_ref().filter(|_| self.state.deeds.are_unlogged() || is_unheard)
        {
            // No event of the binlog reports these changes.
            shared.upstream.changed_unlogged(&in_flight.deps());
        }
        let left = match (ran_nothing || changed_nothing(effects, relayed), leaves_nothing_open) {
            (true, _) => Left::Nothing,
            (false, true) => Left::NothingOpen,
            (false, false) => Left::Anything,
        };
        let flavor = self.flavor();
        // Code that ran may have written without transactions.
        let is_logged = self.lease.tracking.is_on() && !self.state.deeds.are_unlogged() && !facts.run_code();
        let reports = || is_logged && shared.upstream.server().is_some_and(|server| server.has_gtids());
        let concluded = ConcludedStatement { effects, relayed, left };
        fences::settle(&mut self.state.pending, in_flight, concluded, flavor, reports);
        self.note_seen();
        self.refresh_key();
        if self.shared.statistics.is_some() {
            self.handle.set_holds(self.holds().set());
        }
    }

    /// Takes over what happened to the transaction.
    fn has_moved(&mut self, Ran { effects, facts, relayed, .. }: &Ran<'_>, may_move: bool) {
        let is_other = effects.transaction != TransactionEffect::None
            || effects.several
            || facts.may_commit
            || facts.runs_unknown_code;
        let is_unread = self.state.pending.is_empty() && is_unresolved(relayed);
        self.state.answered(may_move, relayed.status, relayed.error.is_some());
        self.state.tx.has_read(is_other, is_unread);
    }

    /// Takes over what happened to the savepoints and open tables at the server, after a statement that ran.
    fn marks_or_ends(&mut self, ran: &Ran<'_>) {
        let Ran { effects, text, facts, relayed, .. } = ran;
        let ends = matches!(
            effects.transaction,
            TransactionEffect::Begins | TransactionEffect::Ends | TransactionEffect::RollsBack
        );
        let has_ended = ends && !effects.several && relayed.error.is_none();
        let marks = facts.run_code() || effects.commits_inside || !ran.is_plain && may_mark(text);
        let open_tables = !effects.reads_nothing() || effects.writes != Writes::Nothing;
        if has_ended {
            self.state.tx.completed_at_server();
        } else {
            self.state.tx.left_behind(Standing { savepoint: marks, open_tables });
        }
        if marks && self.state.view().savepoints.has_early() {
            let control = Some(text).filter(|text| text.len() < LONG_BYTES_MIN);
            let control = control.and_then(|text| freshet_sql::transaction_control(text, self.modes()));
            self.state.view_mut().savepoints.note_at_server(control.as_ref());
        }
    }

    /// Notes the server's report of a transaction's characteristics, if there is one.
    pub(super) fn characterized(&mut self, relayed: &Relayed) {
        if let Some(differs) = relayed.characteristics {
            self.state.tx.characterized(differs);
        }
    }

    /// Whether the code that the statement ran may differ from the code that Freshet looked at: a definition is under way, or has
    /// ended since. A definition through Freshet is under way from before it was sent.
    fn ran_other_code(&self, facts: &StatementFacts) -> bool {
        facts.ran_by.as_ref().is_some_and(|told| self.shared.upstream.is_changing(told))
    }

    /// Takes over what a statement that ran may have changed of the session.
    fn changed(&mut self, ran: &Ran<'_>) {
        let Ran { effects, text, asked, facts, relayed, .. } = ran;
        self.note_user_variables(ran);
        let ran_other_code = self.ran_other_code(facts);
        if ran_other_code {
            self.state.doubts(fences::used(effects));
        }
        self.state.ran(effects, relayed.error.is_none());
        if facts.runs_doubtful_code || ran_other_code {
            self.state.user_variables.forget();
        }
        if facts.sets_variables || facts.runs_doubtful_code || ran_other_code {
            self.state.environment.note_unknown();
        } else if self.state.hidden.are_doubtful() {
            // What the code before has changed shows when that code is known.
            self.state.environment.note_unread();
        }
        self.state.deeds.note_ran(effects, asked, facts);
        let moved = self.moved_and_back(ran);
        if moved {
            self.has_moved_by_the_way();
        }
        let explained =
            effects.session || effects.temporary != Temporary::None || facts.sets_variables || moved;
        if facts.runs_unknown_code || self.state.hidden.are_doubtful() {
            self.state.texts.forget();
        }
        if facts.runs_unknown_code || relayed.state_changed && !explained {
            // Most likely a trigger ran, which may have made a temporary table, or set a variable. The server's report alone
            // is not enough: neither server reports a CREATE TEMPORARY TABLE … SELECT in a trigger.
            self.state.note_unknown_code();
        }
        if let Some(schema) = relayed.schema() {
            self.state.environment.note_schema(super::schema_of(Some(schema)));
        }
        let sets_reports = matches!(effects.tracking, TrackingEffect::Sets | TrackingEffect::Obscured);
        if sets_reports {
            self.state.setting = None;
            self.state.environment.note_unknown();
        } else if effects.session && !self.leaves_environment(text) || relayed.session_changed {
            let setting = self.setting_answered(relayed);
            let plain = relayed.error.is_none() && (setting.is_some() || is_plain_set(text));
            self.state.environment.note_changed_by(setting.as_deref().unwrap_or(text), plain);
        }
    }

    /// Whether the statement moved the session to another schema and back, which the server reports as a change of the
    /// session's state. A routine of another schema does this; in `MariaDB` every view of another schema does, even if the view is only
    /// described. If the answer had no room for the report, the report comes with a later answer.
    fn moved_and_back(&mut self, Ran { effects, facts, relayed, .. }: &Ran<'_>) -> bool {
        let opens_views = facts.opens_views
            || !effects.reads.is_nothing()
            || effects.writes == Writes::Nothing && effects.calls.is_nothing();
        let Some(schema) = relayed.schema() else {
            let announces = relayed.announced && opens_views;
            self.lease.tracking.note_schema_unreported(announces, relayed.state_changed);
            return false;
        };
        let was_announced = self.lease.tracking.note_schema_reported();
        let is_back = super::schema_of(Some(schema)).as_deref() == self.state.environment.schema();
        facts.runs_routines || (opens_views || was_announced) && is_back
    }
}

/// The first word of a text is looked for in this many bytes.
const FIRST_WORD_BYTES_MAX: usize = 1024;

/// ER_PARSE_ERROR.
const PARSE_ERROR: u16 = 1064;

/// The errors for texts that no server takes for a statement or command, and the errors that come before a statement is read:
/// ER_UNKNOWN_COM_ERROR, ER_PARSE_ERROR, ER_EMPTY_QUERY, ER_USER_LIMIT_REACHED, ER_UNKNOWN_STMT_HANDLER, ER_MUST_CHANGE_PASSWORD,
/// ER_MUST_CHANGE_PASSWORD_LOGIN.
pub(super) const REFUSALS: [u16; 7] = [1047, PARSE_ERROR, 1065, 1226, 1243, 1820, 1862];

/// The errors of a definition that its account may not make. The server checks the rights on all names before it does anything:
/// ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR.
const DENIALS: [u16; 5] = [1044, PARSE_ERROR, 1142, 1227, 1370];

/// The errors of a SELECT that names something that does not exist, or that its account may not read. The server reads nothing for such a
/// SELECT. ER_BAD_DB_ERROR, ER_BAD_TABLE_ERROR, ER_NON_UNIQ_ERROR, ER_BAD_FIELD_ERROR, ER_PARSE_ERROR, ER_NONUNIQ_TABLE, ER_UNKNOWN_TABLE,
/// ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_NO_SUCH_TABLE, ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, ER_SP_DOES_NOT_EXIST.
const UNRESOLVED: [u16; 12] = [1049, 1051, 1052, 1054, PARSE_ERROR, 1066, 1109, 1142, 1143, 1146, 1222, 1305];

fn is_unresolved(relayed: &Relayed) -> bool {
    relayed.results == 0 && relayed.error.is_some_and(|error| UNRESOLVED.contains(&error))
}

/// The first words of texts that run something: a routine may raise the same error after anything that it has done.
const RUNS: [&[u8]; 34] = [
    b"alter",
    b"analyze",
    b"begin",
    b"binlog",
    b"call",
    b"case",
    b"check",
    b"create",
    b"delete",
    b"desc",
    b"describe",
    b"do",
    b"drop",
    b"execute",
    b"explain",
    b"for",
    b"get",
    b"handler",
    b"if",
    b"insert",
    b"load",
    b"loop",
    b"prepare",
    b"rename",
    b"repeat",
    b"replace",
    b"select",
    b"set",
    b"show",
    b"table",
    b"update",
    b"values",
    b"while",
    b"with",
];

/// Whether a definition was refused before it did anything except to commit the open transaction. Code that the definition runs may raise any
/// error.
fn changed_nothing(effects: &Effects, relayed: &Relayed) -> bool {
    let runs_nothing = effects.calls.is_nothing() && effects.reads.is_nothing() && !effects.several;
    effects.is_definition && runs_nothing && relayed.error.is_some_and(|error| DENIALS.contains(&error))
}

/// Whether the server did not understand a text whose first word is no statement's, so that nothing of the text ran.
fn ran_nothing(effects: &Effects, text: &[u8], relayed: &Relayed) -> bool {
    if effects.refused && !effects.several && relayed.error.is_some() {
        return true;
    }
    let start = text.get(..FIRST_WORD_BYTES_MAX).unwrap_or(text);
    let front = start.trim_ascii_start();
    let word = front.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_whole = word.len() < front.len() || start.len() == text.len();
    relayed.error == Some(PARSE_ERROR)
        && relayed.results == 0
        && !word.is_empty()
        && is_whole
        && !RUNS.iter().any(|runs| word.eq_ignore_ascii_case(runs))
}
