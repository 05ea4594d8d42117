//! A session as its client sees it: what is needed to answer in the server's place, and to know when we must not. What is known of
//! the server's connection is in `lease.rs`, what is known of one statement in `facts.rs`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use freshet_protocol::StatusFlags;
use freshet_sql::Effects;

use super::found_rows::FoundRows;
use super::making::PreparedSince;
use super::pool::GivenUp;
use super::prepared::Prepared;
use super::reports::Reports;
use super::temporary::TemporaryTables;
use super::texts::Texts;
use super::tx::{Begun, Tx};
use super::unlocking::Unlocking;
use super::user_variables::UserVariables;
use super::view::ReadView;
use crate::environment::{Environment, Known};
use crate::fences::{Doubt, Pending};
use crate::relay::Served;
use crate::shared::Wlock;
use crate::variables::Locals;
use crate::warnings::Warnings;

/// Whether `@@last_gtid` tells the GTID of the session's last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownGtid {
    /// There was none.
    None,
    /// It does on the session's connection.
    There,
    /// It would on one that the session has given up.
    Lost,
}

/// How many tables wait to be told of; a session with more counts as one whose temporary tables are not known.
const UNPROVEN_MAX: usize = 64;

/// The flags of an answer that are the session's own, besides those of its transaction; all others are the query's.
const SESSION_FLAGS: StatusFlags =
    StatusFlags::DB_DROPPED.union(StatusFlags::NO_BACKSLASH_ESCAPES).union(StatusFlags::ANSI_QUOTES);

/// What is known of one session.
#[derive(Debug)]
pub(crate) struct State {
    /// The status flags of the server's last answer.
    status: StatusFlags,
    pub(crate) tx: Tx,
    /// What its transaction reads.
    pub(crate) view: ReadView,
    /// A savepoint may stand at the server. Where autocommit is off, one stands also while the server says that no transaction is open,
    /// and a transaction that is begun by a statement would do away with it.
    pub(crate) marked: bool,
    /// A statement has opened tables since the last COMMIT or ROLLBACK of which the server knows. Where autocommit is off, it keeps
    /// others from defining them anew until the next one, also while no transaction is open: tables without transactions open none.
    pub(crate) holds_tables: bool,
    pub(crate) environment: Known,
    /// Another after each statement that may have changed it.
    pub(crate) environment_version: u64,
    /// The default schema, as the login named it and the server has reported it since.
    pub(crate) schema: Option<String>,
    /// It has said `USE freshet`: tables without a schema are ours, whatever the server's default schema is.
    pub(crate) reads_ours: bool,
    /// What the client is to be told of the session, where that was read: by default what the server tells of its own accord.
    pub(crate) told: Option<Arc<Reports>>,
    /// What it was told of last, whoever asked for it: that a transaction has begun, or that none has.
    pub(crate) told_begun: AtomicBool,
    pub(crate) temporary: TemporaryTables,
    /// LOCK TABLES is in force.
    pub(crate) locked: bool,
    /// While it is, and `query_cache_wlock_invalidate` says so: nobody is answered from memory.
    pub(crate) wlock: Option<Wlock>,
    /// What is dropped at its end.
    pub(crate) unlocking: Option<Unlocking>,
    /// Tables, views and routines that statements have used, and of which it could not be told whether they run code: if they do,
    /// there may be temporary tables that are not known here. Nothing is answered from memory until that is told.
    pub(crate) unproven: Vec<Doubt>,
    /// `sql_log_bin` is, or was, off: what is written may be in no binlog. Kept for the session's life, since procedures
    /// and transactions may have begun before it was turned on again.
    pub(crate) unlogged: bool,
    /// The variable `timestamp` was named by a statement on the session: its time may stand still, near the server's. Kept for the session's life.
    pub(crate) stops_time: bool,
    /// It may have set how long its statements may take.
    pub(crate) limits_time: bool,
    /// Code has run that may have said which number a new row gets. Kept for the session's life.
    pub(crate) may_number: bool,
    pub(crate) pending: Pending,
    /// What is prepared by its text.
    pub(crate) texts: Texts,
    /// The values that are known of its user variables.
    pub(crate) user_variables: UserVariables,
    pub(crate) locals: Locals,
    /// Those of a statement that we answered ourselves.
    pub(crate) warnings: Warnings,
    /// The statement of the last answer from memory, while no other has reached the server since: empty otherwise.
    pub(crate) last_hit: Vec<u8>,
    /// It is the packet of an execution of this statement, and no text.
    pub(crate) last_hit_of: Option<Arc<Prepared>>,
    /// What `FOUND_ROWS()` is to the client.
    pub(crate) found: FoundRows,
    /// What was answered from memory.
    pub(crate) served: Served,
    /// What was prepared since.
    pub(crate) prepared_since: Option<PreparedSince>,
    /// What the keys of executions are put together in.
    pub(crate) execution_key: Vec<u8>,
    /// The last statement has left this row count and no warnings, and the server does not know: one that ends a transaction or marks a place in it
    /// was answered in its place, or the connection on which one was executed is given up.
    pub(crate) ended_since: Option<u32>,
    /// A ping, or what leaves the same, is the last that came since.
    pub(crate) pinged: bool,
    /// The environment part of the keys of this session's lookups; `None` while it must not be answered from memory.
    pub(crate) key: Option<u32>,
    /// The version of the global variables that `key` was decided with.
    pub(crate) key_version: u64,
    /// How the next connection is to be, if the session has given one up.
    pub(super) given_up: Option<GivenUp>,
    /// An environment to which statements lead from how sessions like this one begin, and when that was found, in monotonic milliseconds.
    pub(super) in_reach: Option<(Arc<Environment>, u64)>,
    /// Whether the server knows the GTID of the session's last write on its connection.
    pub(super) gtid: KnownGtid,
    /// How long a connection has to be unused before it is given up again, in milliseconds.
    pub(super) keeps_unused_ms: u64,
}

impl State {
    pub(crate) fn new(status: StatusFlags, locals: Locals) -> Self {
        Self {
            status,
            tx: Tx::new(status),
            view: ReadView::default(),
            marked: false,
            holds_tables: false,
            environment: Known::Unknown,
            environment_version: 0,
            schema: None,
            reads_ours: false,
            told: None,
            told_begun: AtomicBool::new(false),
            temporary: TemporaryTables::default(),
            locked: false,
            wlock: None,
            unlocking: None,
            unproven: Vec::new(),
            unlogged: false,
            stops_time: false,
            limits_time: false,
            may_number: false,
            pending: Pending::default(),
            texts: Texts::default(),
            user_variables: UserVariables::default(),
            locals,
            warnings: Warnings::default(),
            last_hit: Vec::new(),
            last_hit_of: None,
            found: FoundRows::default(),
            served: Served::default(),
            prepared_since: None,
            execution_key: Vec::new(),
            ended_since: None,
            pinged: false,
            key: None,
            key_version: 0,
            given_up: None,
            in_reach: None,
            gtid: KnownGtid::None,
            keeps_unused_ms: 0,
        }
    }

    /// Notes how an answer says that the session is; see [`Tx::answered`].
    pub(crate) fn answered(&mut self, may_move: bool, status: Option<StatusFlags>, failed: bool) {
        self.status = status.unwrap_or(self.status);
        self.tx = self.tx.answered(may_move, status, failed);
    }

    /// The flags of an answer of ours.
    pub(crate) fn status_for_answers(&self) -> StatusFlags {
        self.status & SESSION_FLAGS | self.tx.flags()
    }

    /// Whether it is known as of when the next statement reads.
    pub(crate) fn knows_reads(&self) -> bool {
        // MySQL's flags say that autocommit is on, where it is off by the global default, until a transaction has begun.
        let agrees = || {
            let known = self.environment.current();
            known.is_none_or(|known| known.transactions.autocommit == self.tx.autocommits())
        };
        match self.tx {
            Tx::None(_) => agrees(),
            Tx::Begun { .. } | Tx::Open { .. } => self.view.is_known(),
            Tx::Unclear { .. } => false,
        }
    }

    /// Notes an answer to what has touched nothing of the transaction.
    pub(crate) fn stays(&mut self, begun: Begun, status: Option<StatusFlags>) {
        self.status = status.unwrap_or(self.status);
        self.tx = self.tx.begin(begun);
    }

    /// A transaction is begun here as before, and not at the server, or without all that was to be done in it. `last`: the last flags
    /// that the server has told, if it has told any.
    pub(crate) fn note_not_entered(&mut self, last: Option<StatusFlags>) {
        self.view.note_not_open();
        if let Some(begun) = self.tx.begun() {
            let is_at_server = last.map_or(begun.is_at_server, |last| last.contains(StatusFlags::IN_TRANS));
            self.tx = self.tx.begin(Begun { is_at_server, ..begun });
        }
    }

    /// Anything may have changed it.
    pub(crate) fn environment_is_unknown(&mut self) {
        self.environment_version += 1;
        self.environment = Known::Unknown;
    }

    /// Remembers tables and routines that may run unknown code: it cannot be told now whether they do.
    pub(crate) fn doubts(&mut self, doubts: Vec<Doubt>) {
        for doubt in doubts {
            if !self.unproven.contains(&doubt) {
                self.unproven.push(doubt);
            }
        }
        if self.unproven.len() > UNPROVEN_MAX {
            self.unproven.clear();
            self.temporary.suspect();
            self.environment_is_unknown();
        }
    }

    /// Notes what a statement may have done that ran, whether or not it succeeded.
    pub(crate) fn ran(&mut self, effects: &Effects, succeeded: bool) {
        self.temporary.ran(effects);
        self.locked |= effects.locks_tables == Some(true);
        if succeeded {
            self.temporary.succeeded(effects);
            self.locked &= effects.locks_tables != Some(false);
        }
        if !self.locked {
            self.wlock = None;
            self.unlocking = None;
        }
    }
}

#[cfg(test)]
mod tests;
