//! What the statements of a session have done that nothing undoes as long as the session lasts. Each of these facts is noted once, and
//! never taken back: procedures and transactions may go on with what was so before. A reset or another login begins without them.

use std::sync::Arc;

use freshet_sql::{Effects, contains_ignoring_case};

use super::facts::StatementFacts;
use crate::environment::Environment;
use crate::relay::Relayed;

/// Parts of the names of variables that limit a statement's time.
const LIMITS: [&[u8]; 3] = [b"execution_time", b"statement_time", b"lock_wait_timeout"];

/// What has happened in a session.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PastDeeds {
    unlogged: bool,
    stops_time: bool,
    limits_time: bool,
    may_number: bool,
}

impl PastDeeds {
    /// Notes a statement with these effects that is about to be sent. `environment`: where it runs, if that is known.
    pub(super) fn note_sends(&mut self, effects: &Effects, environment: Option<&Arc<Environment>>) {
        self.unlogged |= effects.unlogged || environment.is_some_and(|known| known.unlogged);
    }

    /// Notes what the answer to a statement tells of it, and of the code that it ran, whether or not the statement itself did anything.
    pub(super) fn note_answered(&mut self, facts: &StatementFacts, relayed: &Relayed) {
        // A routine may have turned the binlog off without a trace in any text.
        self.unlogged |= relayed.unlogged;
        self.may_number |= facts.runs_unknown_code || facts.sets_variables;
    }

    /// Notes a statement with these effects that ran. `asked`: its text, or that of the prepared statement that was executed.
    pub(super) fn note_ran(&mut self, effects: &Effects, asked: &[u8], facts: &StatementFacts) {
        let stops = || contains_ignoring_case(asked, b"timestamp");
        self.stops_time |= effects.session && stops();
        let limits = || LIMITS.iter().any(|name| contains_ignoring_case(asked, name));
        self.limits_time |= facts.run_code() || effects.session && limits();
    }

    /// Whether `sql_log_bin` is, or was, off: writes may be in no binlog.
    pub(crate) const fn are_unlogged(self) -> bool {
        self.unlogged
    }

    /// Whether a statement named the variable `timestamp` on the session: the session's time may stand still, near the server's time.
    pub(crate) const fn stop_time(self) -> bool {
        self.stops_time
    }

    /// Whether the session may have set a limit on the time of its statements.
    pub(super) const fn limit_time(self) -> bool {
        self.limits_time
    }

    /// Whether code has run that may have set the number of the next new row.
    pub(super) const fn may_number(self) -> bool {
        self.may_number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(effects: &Effects, asked: &str, facts: &StatementFacts) -> (bool, bool) {
        let mut deeds = PastDeeds::default();
        deeds.note_ran(effects, asked.as_bytes(), facts);
        (deeds.stop_time(), deeds.limit_time())
    }

    #[test]
    fn a_statement_on_the_session_may_stop_or_limit_its_time() {
        let session = Effects { session: true, ..Effects::none() };
        let (none, code) =
            (StatementFacts::default(), StatementFacts { sets_variables: true, ..Default::default() });
        assert_eq!(ran(&session, "SET TIMESTAMP = 1", &none), (true, false));
        assert_eq!(ran(&session, "SET max_statement_time = 1", &none), (false, true));
        assert_eq!(ran(&session, "SET innodb_lock_wait_timeout = 1", &none), (false, true));
        assert_eq!(ran(&session, "SET sql_mode = ''", &none), (false, false));
        assert_eq!(ran(&Effects::none(), "SELECT timestamp FROM t", &none), (false, false));
        assert_eq!(ran(&Effects::none(), "SELECT f()", &code), (false, true));
    }

    #[test]
    fn what_was_once_so_stays() {
        let mut deeds = PastDeeds::default();
        deeds.note_answered(
            &StatementFacts { sets_variables: true, ..StatementFacts::default() },
            &Relayed { unlogged: true, ..Relayed::default() },
        );
        deeds.note_answered(&StatementFacts::default(), &Relayed::default());
        deeds.note_sends(&Effects::none(), None);
        assert!(deeds.are_unlogged() && deeds.may_number());
        assert!(!deeds.stop_time() && !deeds.limit_time());
    }
}
