//! Transactions that begin here, and what the server is told of them, and when.
//!
//! BEGIN is noted and answered. As long as all statements after it are answered from memory, the server does not know of the transaction, and
//! COMMIT and ROLLBACK are answered as well. Before the first statement that the server has to see, Freshet tells the server:
//!
//! | the statement | how its transaction reads | what goes before it |
//! |---|---|---|
//! | touches no table | any | BEGIN, and the transaction may still be begun anew |
//! | any | each statement by itself | BEGIN |
//! | reads tables | as of one moment, nothing served yet | START TRANSACTION WITH CONSISTENT SNAPSHOT |
//! | any | as of one moment, from which something was served | the same |
//! | any, behind SAVEPOINT where autocommit is off and no transaction is open | any | nothing, or the savepoint would be gone |
//! | any other | as of one moment, nothing served yet | BEGIN; its first reads are the server's, until one shows when its read view was opened |
//!
//! If results were served and the statement may read, Freshet proves before it sends the statement that these results are true in the
//! server's read view. If the proof fails, there may be no moment at which both are true: the transaction is rolled back with the error of
//! a deadlock. A write of rows reads what is there now, and needs no proof. A statement that ends the transaction or marks a place in it
//! needs no proof either.

mod opening;
mod said;
pub(crate) mod shown;
mod touch;
pub(crate) mod waiting;
pub(super) mod words;

use std::time::Duration;

use freshet_cache::snapshot::is_touched;
use freshet_cache::{Dep, Position};
use freshet_protocol::{Capabilities, Command, ErrPacket, StateChange, StatusFlags};
use freshet_sql::{Characteristics, Completion, Effects, Flavor, TransactionEffect};
use freshet_upstream::now_ms;
use tokio::time::Instant;

pub(super) use opening::Opening;
use opening::{RIDING_MAX, THINKING_MAX, UNOPENED_MAX, is_as_defined, is_proven};
pub(super) use opening::{is_proven_now, is_proven_soon};
pub(super) use shown::ServerSide;
use touch::Touch;
use words::{first_word_is, only_ends, plain, savepoint, starts};

use super::tx::{Begun, Stage};
use super::view::{Manner, Mark};
use super::{Flow, Forward, Message, Session, query_prefix};
use crate::counters::Count;
use crate::relay::{Lost, Relayed};

/// How long a statement waits for the proof that the results served before it are still true.
const PROOF_MAX: Duration = Duration::from_millis(500);

/// What precedes a statement at the server.
pub(super) enum Entered {
    /// These statements, in the same write as the statement.
    With(Vec<String>),
    /// These statements. After them, the server may still begin the transaction anew.
    Stays(Vec<String>, Begun),
    /// Nothing: the statement was answered with this error.
    Refused(u16),
}

/// What is known of a transaction that the server is told to begin with a read view.
#[derive(Clone, Copy)]
pub(crate) struct OpeningSnapshot {
    /// How the transaction reads.
    manner: Option<Manner>,
    /// A position that the read view shows at least.
    contains: Position,
}

impl Session {
    /// Begins a transaction in the server's place, and answers. Returns false if the server has to begin it.
    pub(crate) fn begins(&mut self, read_only: Option<bool>) -> bool {
        let has_begun = self.begins_unanswered(read_only);
        if has_begun {
            self.told_in_its_place(true);
        }
        has_begun
    }

    /// Like [`Self::begins`], without an answer.
    fn begins_unanswered(&mut self, read_only: Option<bool>) -> bool {
        let tx = &self.state.tx;
        let is_begun_here = tx.begun().is_some_and(|begun| !begun.is_at_server || self.is_untouched());
        let is_free = tx.surely_autocommits() || tx.begins_by_itself() || is_begun_here;
        let transactions = self.state.environment.current().map(|known| known.transactions);
        let Some(transactions) = transactions.filter(|known| known.leave_no_trace) else { return false };
        // A transaction that the server has begun, and in which nothing has happened, can be used in the place of an identical new one.
        let at_server = tx.begun().filter(|begun| begun.is_at_server);
        let manner = match at_server {
            Some(_) => {
                self.state.view().manner().filter(|manner| Manner::of(transactions, None) == Some(*manner))
            }
            None => self.manner_of_transactions(),
        };
        let passes_level_on = is_begun_here && self.state.view().said().isolation.is_some();
        let is_refused = || read_only == Some(false) && self.is_server_read_only();
        if !is_free || manner.is_none() || tx.standing().open_tables || passes_level_on || is_refused() {
            return false;
        }
        let mut said = tx.said();
        said.read_only = read_only.or(said.read_only);
        let default = || transactions.are_read_only || self.passes_read_only_on();
        let is_read_only = said.read_only.unwrap_or_else(default);
        if at_server.is_some_and(|begun| begun.is_read_only != is_read_only) {
            return false;
        }
        self.state.tx.begun_here(is_read_only, manner, said);
        self.state.last.warnings.clear();
        self.active(now_ms());
        self.refresh_key();
        true
    }

    /// Whether a transaction that begins in the place of this one is read only as well: in MySQL it is, unless the statement says otherwise.
    fn passes_read_only_on(&self) -> bool {
        self.flavor() == Flavor::MySql && self.state.tx.begun().is_some_and(|begun| begun.is_read_only)
    }

    /// Whether the server is now told to begin a transaction whose isolation level Freshet learns later. Returns the version of the
    /// environment that decides the level.
    pub(crate) fn begins_undecided(&self) -> Option<u64> {
        let tx = &self.state.tx;
        let is_free = tx.surely_autocommits() || tx.begins_by_itself();
        let is_unsaid = !tx.next_differs() && tx.said().is_empty();
        let is_plain = is_free && is_unsaid && !self.state.locks.are_in_force() && !self.is_told_of_reads();
        (is_plain && self.environment().is_none()).then_some(self.state.environment.version())
    }

    /// Notes that the server has begun such a transaction.
    pub(crate) fn has_begun_undecided(&mut self, version: u64) {
        self.state.tx.note_begun_undecided(version);
    }

    /// Decides how the transaction reads, if its environment is known by now.
    pub(super) fn decide_reads(&mut self) {
        if self.state.view().is_undecided(self.state.environment.version()) && self.state.tx.begun().is_some()
        {
            let manner = self.manner_of_transactions();
            self.state.view_mut().decide(manner);
        }
    }

    /// Whether Freshet knows how the transaction reads that the server has begun, and nothing was read in it there.
    fn is_untouched(&self) -> bool {
        self.state.view().manner().is_some() && !self.state.view().course.is_view_unread()
    }

    /// Ends a transaction of which the server knows nothing, or only its begin. In the second case the transaction can only end here if
    /// another begins: the server's transaction becomes the new one. `None` if there is no such transaction.
    pub(crate) fn ends(&mut self, completion: Completion) -> Option<Flow> {
        let Some(begun) = self.state.tx.begun() else { return self.ends_nothing(completion) };
        let known = self.state.environment.current()?.transactions;
        let chains = completion.chain.unwrap_or(known.chain);
        let releases = completion.release.unwrap_or(known.release);
        let is_fit = !begun.is_at_server || chains && !releases && self.is_untouched();
        if !is_fit || !known.leave_no_trace || self.state.tx.standing().open_tables {
            return None;
        }
        if self.state.view().course.has_served() {
            self.shared.counters.add(Count::Transactions);
        }
        if chains {
            self.state.tx.chained_here();
        } else {
            self.state.tx.ended_here();
        }
        self.leaves_nothing();
        self.refresh_key();
        self.told_in_its_place(chains);
        Some(if releases { Flow::Close } else { Flow::Continue })
    }

    /// Answers a COMMIT or ROLLBACK outside of transactions by a session without a connection: pools send one after each use. `None` if it
    /// begins a transaction or ends the session.
    fn ends_nothing(&mut self, completion: Completion) -> Option<Flow> {
        let known = self.state.environment.current()?.transactions;
        let tx = &self.state.tx;
        let is_nothing = !self.lease.is_open()
            && tx.is_clear()
            && tx.said().is_empty()
            && !tx.next_differs()
            && known.leave_no_trace
            && !completion.chain.unwrap_or(known.chain)
            && !completion.release.unwrap_or(known.release);
        is_nothing.then(|| {
            self.leaves_nothing();
            self.refresh_key();
            self.told_in_its_place(false);
            Flow::Continue
        })
    }

    /// Notes that a statement without counts and warnings was answered.
    pub(super) fn leaves_nothing(&mut self) {
        self.state.last.note_nothing_left();
        self.active(now_ms());
    }

    /// Sets, goes back to or removes a savepoint in a transaction that the server need not know of. Returns false if the server has to do it.
    pub(crate) fn marks(&mut self, mark: &Mark<'_>) -> bool {
        if self.state.tx.begun().is_none() || self.state.view_mut().marks(mark).is_none() {
            return false;
        }
        self.leaves_nothing();
        self.put_ok(0);
        true
    }

    /// Has the server go back to a savepoint. After going back to before its first read, a transaction should have neither locks nor a read
    /// view left. A read view that was opened before the savepoints were set would stay, with all locks. So the server is told to roll back
    /// the whole transaction, and the server again need not know of it.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn goes_back(&mut self, message: Message<'_>, name: &str) -> Result<(), Lost> {
        let early = self.state.view().savepoints.early_up_to(name);
        let effects = Effects::none();
        let relayed = self.forward(Forward::new(message, &effects)).await?;
        match early {
            Some(early) if relayed.error.is_none() => self.begins_again(early).await,
            _ => Ok(()),
        }
    }

    /// Begins the transaction again; these savepoints are all that is left of it.
    async fn begins_again(&mut self, savepoints: Vec<String>) -> Result<(), Lost> {
        let Some(is_read_only) = self.can_begin_again() else { return Ok(()) };
        let said = self.state.view().said();
        self.roll_back().await?;
        if self.state.tx.may_be_open() {
            return Ok(());
        }
        self.state.tx.begun_here(is_read_only, Some(Manner::Shared), said);
        self.state.view_mut().savepoints.keep(savepoints);
        self.leaves_nothing();
        self.refresh_key();
        Ok(())
    }

    /// Whether the transaction is read only when it is begun again; `None` if it cannot be begun again.
    fn can_begin_again(&self) -> Option<bool> {
        let known = self.state.environment.current()?.transactions;
        let is_read_only = self.state.tx.flags().contains(StatusFlags::IN_TRANS_READONLY);
        let said = self.state.view().said();
        let is_alike = Manner::of(known, said.isolation) == Some(Manner::Shared)
            && known.autocommit == self.state.tx.autocommits()
            && (is_read_only || !known.are_read_only || said.read_only == Some(false));
        let is_free = self.state.tx.is_open() && !self.state.locks.are_in_force();
        (is_alike && is_free).then_some(is_read_only)
    }

    /// Returns what is known of the transaction that the server is now told to begin with a read view.
    pub(crate) fn opens_snapshot(&self) -> OpeningSnapshot {
        OpeningSnapshot {
            manner: self.manner_of_transactions(),
            contains: self.shared.freshness().valid_from(),
        }
    }

    /// Notes that the server has opened the read view.
    pub(crate) fn has_opened_snapshot(&mut self, OpeningSnapshot { manner, contains }: OpeningSnapshot) {
        if self.state.tx.note_begun_with_view(manner, contains, self.shared.freshness().ends_asked()) {
            self.shared.upstream.ask_end();
            self.refresh_key();
        }
    }

    /// Returns the position from which an answer is valid that the server is asked for now, in any transaction. The caller calls this
    /// before anything else that decides about the answer. `None` if the position is not known.
    pub(crate) fn valid_from(&self) -> Option<Position> {
        let now = self.shared.freshness().valid_from();
        match self.state.tx.stage() {
            Stage::None if self.state.tx.begins_by_itself() => self.manner_of_transactions().map(|_| now),
            Stage::None | Stage::Begun(_) => Some(now),
            Stage::Open { .. } => self.state.view().valid_from(now),
            Stage::Unclear { .. } => None,
        }
    }

    /// Whether rows that are read now show that the transaction's read view is open. Under LOCK TABLES, the server may lock the tables that
    /// it reads, and open no read view.
    pub(crate) fn reads_show_view(&self) -> bool {
        self.state.tx.is_open() && !self.state.locks.are_in_force() && self.state.view().is_shown_by_rows()
    }

    /// Notes that such rows were read.
    pub(crate) fn note_rows_read(&mut self) {
        if self.reads_show_view() {
            self.state.view_mut().note_rows_read(&self.shared.upstream, self.shared.freshness());
        }
    }

    /// Whether the transaction has uncommitted writes that concern these dependencies.
    pub(crate) fn has_written(&self, deps: &[Dep]) -> bool {
        if self.state.pending.is_empty() {
            return false;
        }
        let mut tables = Vec::new();
        self.state.pending.put_tables(&mut tables, self.shared.freshness(), &self.shared.upstream);
        is_touched(&tables, deps.iter().copied())
    }

    /// Answers a statement that begins or ends a transaction, or marks a place in it. MySQL reports the begin and the end to the client.
    fn told_in_its_place(&mut self, has_begun: bool) {
        let tracks = self.capabilities().contains(Capabilities::SESSION_TRACK);
        let mut changes = Vec::new();
        let was_told = *self.state.told_begun.get_mut();
        if self.flavor() == Flavor::MySql && tracks && was_told != has_begun {
            *self.state.told_begun.get_mut() = has_begun;
            let state: &[u8] = if has_begun { b"T_______" } else { b"________" };
            changes.push(StateChange::TransactionState(state.to_vec()));
        }
        self.put_reports(changes);
    }

    /// Whether the client asked for reports of what its transactions read.
    fn is_told_of_reads(&self) -> bool {
        let told = self.state.told.as_deref();
        self.lease.tracking.is_clients() || told.is_some_and(super::Reports::tell_of_transactions)
    }

    /// Returns what precedes a command because of its transaction. Costs nothing if no transaction has begun.
    pub(super) async fn enter(&mut self, forward: &Forward<'_>) -> Result<Entered, Lost> {
        let tx = &self.state.tx;
        let may_be_due = tx.begun().is_some()
            || tx.begins_by_itself()
            || tx.is_open() && self.state.view().is_to_be_proven();
        let ends = only_ends(forward.deeds.effects);
        let is_at_server = tx.is_open() || tx.begun().is_some_and(|begun| begun.is_at_server);
        let touch = if may_be_due || tx.is_open() { self.touch(forward) } else { Touch::Nothing };
        if tx.is_open() {
            self.state.view_mut().course.note_needs(touch.needs());
        }
        let tx = &self.state.tx;
        if !may_be_due || ends && is_at_server || touch == Touch::Resets {
            return Ok(Entered::With(self.tells_what_was_said(forward).await?));
        }
        if let Some(begun) = tx.begun() {
            if ends && forward.deeds.effects.transaction == TransactionEffect::Begins {
                // Nothing else of this transaction matters any more.
                let passes_on = self.passes_read_only_on() || self.state.view().said().isolation.is_some();
                let said = self.state.view().said();
                return Ok(Entered::With(if passes_on { plain(begun, said) } else { Vec::new() }));
            }
            // An XA command does not run within a transaction, and begins none itself.
            let is_explicit = begun.is_explicit || first_word_is(forward.message.text, "XA");
            let begun = Begun { is_explicit, ..begun };
            let touch = if self.replays(forward) { Touch::Anything } else { touch };
            return self.enter_begun(begun, touch, forward.deeds.effects.reads_last_statement).await;
        }
        if tx.begins_by_itself() {
            let manner = self.manner_of_transactions();
            let said = self.state.tx.said();
            let mut statements = self.tells_what_was_said(forward).await?;
            statements.extend(self.enter_by_itself(touch, manner, said));
            return Ok(Entered::With(statements));
        }
        self.prove_for(touch).await
    }

    /// Whether a statement asks about another statement that the server only gets now.
    fn replays(&self, forward: &Forward<'_>) -> bool {
        let last = &self.state.last;
        let is_owed = last.is_only_here() || last.has_hit() && self.state.view().is_by_itself();
        let asks = forward.deeds.effects.reads_last_statement && is_owed;
        let clears = forward.may_keep_diagnostics() && self.shows_older_diagnostics();
        self.state.view().course.has_served() && (asks || clears)
    }

    /// Begins a transaction with this statement, because autocommit is off.
    fn enter_by_itself(
        &mut self,
        touch: Touch,
        manner: Option<Manner>,
        said: Characteristics,
    ) -> Vec<String> {
        if touch == Touch::Nothing {
            return Vec::new();
        }
        self.state.tx.begins_by_itself_at_server(manner);
        self.state.view_mut().course.note_needs(touch.needs());
        match (manner, touch) {
            (Some(Manner::Shared), Touch::ReadView) => {
                let is_read_only = said.read_only == Some(true);
                self.snapshot(Begun { is_explicit: false, is_read_only, is_at_server: false }, true)
            }
            (Some(Manner::Shared), _) => {
                self.state.view_mut().note_read_at_server(self.shared.freshness());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// `asks_back`: the statement asks for the counts that BEGIN leaves. A question of Freshet's own after BEGIN would replace these counts.
    async fn enter_begun(&mut self, begun: Begun, touch: Touch, asks_back: bool) -> Result<Entered, Lost> {
        let is_bound = self.state.view().is_bound();
        let is_shared = self.state.view().manner() == Some(Manner::Shared);
        if touch == Touch::Nothing {
            // Only BEGIN is sent: what is known of the transaction's reads stays true. The answer's flags show that it is open, whoever has
            // begun it.
            let stays = Begun { is_at_server: true, ..begun };
            let said = self.state.view().said();
            let begins = if begun.is_at_server { Vec::new() } else { starts(begun, said, false) };
            return Ok(Entered::Stays(begins, stays));
        }
        let mut statements = match touch {
            Touch::ReadView if is_shared => self.snapshot(begun, !asks_back),
            _ if is_bound => self.snapshot(begun, !asks_back),
            _ => {
                self.state.view_mut().note_read_at_server(self.shared.freshness());
                // Savepoints and similar statements that were answered here belong to a transaction: the server must have one, too.
                let has_marked =
                    self.state.last.row_count().is_some() || !self.state.view().savepoints.here().is_empty();
                let is_explicit = begun.is_explicit || has_marked;
                let begun = Begun { is_explicit, ..begun };
                if begun.is_at_server { Vec::new() } else { plain(begun, self.state.view().said()) }
            }
        };
        statements.extend(self.state.view().savepoints.here().iter().map(|name| savepoint(name)));
        self.state.view_mut().course.note_needs(touch.needs());
        if !is_bound && touch == Touch::ReadView {
            return Ok(Entered::With(statements));
        }
        // A statement that writes must not run outside of the transaction if the transaction could not begin.
        if let Some(code) = self.open(&statements).await? {
            return Ok(Entered::Refused(code));
        }
        self.prove_for(touch).await
    }

    /// Returns the statements that open a read view, and notes the view. `questions`: statements right after them ask what the view shows.
    fn snapshot(&mut self, begun: Begun, questions: bool) -> Vec<String> {
        let contains = self.shared.freshness().valid_from();
        // Until the view is open, nothing that it may show is settled.
        self.state.view_mut().opened(contains, u64::MAX);
        let mut statements = starts(begun, self.state.view().said(), true);
        if questions {
            statements.extend(shown::questions(self.state.view_mut(), &self.shared, statements.len()));
        }
        statements
    }

    /// Has the server execute these statements before anything else. An error is passed on, and returned.
    async fn open(&mut self, statements: &[String]) -> Result<Option<u16>, Lost> {
        let Some((last, before)) = statements.split_last() else { return Ok(None) };
        let payload = [&query_prefix(self.lease.has_attributes()), last.as_bytes()].concat();
        self.lease.note_asks(last);
        self.send_behind(before, &payload).await?;
        let refused = self.finish_entering(statements.len()).await?;
        if let Some(code) = refused {
            self.put_refused(code);
        }
        Ok(refused)
    }

    /// Reads the answers to the session's set-up and to this many statements that went before. Returns the first error, if there is one.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn finish_entering(&mut self, statements: usize) -> Result<Option<u16>, Lost> {
        self.finish_tracking().await?;
        let (mut refused, mut last) = (None, None);
        // The questions are among these statements, after the first.
        for _ in 0..statements.saturating_sub(self.state.view().questions()) {
            let relayed = Box::pin(self.lease.unseen_answer(Command::Query, &self.handle)).await?;
            refused = refused.or(relayed.error);
            last = relayed.status.or(last);
            self.characterized(&relayed);
            let server =
                ServerSide { handle: &self.handle, lease: &mut self.lease, view: self.state.view_mut() };
            shown::read(server, &self.shared).await?;
        }
        if refused.is_some() {
            self.state.note_not_entered(last);
        } else if statements > 0 {
            self.state.answered(true, last, false);
            self.state.view_mut().note_open(self.shared.freshness());
            if self.state.view().is_shared_view() {
                self.state.view_mut().asks_if_unsettled(&self.shared.upstream, self.shared.freshness());
            }
        }
        Ok(refused)
    }

    fn put_refused(&mut self, code: u16) {
        self.put_error(&ErrPacket::new(code, "HY000", "The transaction could not be begun at the server"));
    }

    /// Answers with the error that the transaction could not begin. The client does not see the statement's own answer.
    pub(super) async fn refuse_entered(&mut self, command: Command, code: u16) -> Result<Relayed, Lost> {
        let relayed = Box::pin(self.lease.unseen_answer(command, &self.handle)).await?;
        self.lease.prepared.note_closed(relayed.prepared.map(|prepared| prepared.statement_id));
        if self.state.tx.begun().is_none() {
            // If autocommit is off, the statement has begun a transaction itself.
            self.state.answered(true, relayed.status, relayed.error.is_some());
            self.state.tx.has_read_anything();
        }
        self.put_refused(code);
        Ok(Relayed { error: Some(code), ..Relayed::default() })
    }

    /// Returns when the server is to be told of the transaction although no statement waits for that, if it is to be told.
    pub(super) fn opening_is_due(&self) -> Option<Opening> {
        let (begun, since) = (self.state.tx.begun()?, self.state.view().bound_since()?);
        // The client may ask for what an earlier statement left at the server; what a hit leaves can be brought about anew.
        let is_ready = self.state.last.is_from_memory()
            && (self.lease.is_ready() || self.state.unconnected.is_given_up());
        let since = Instant::from_std(since);
        // If a lane carries any of the transaction's reads, reads that the transaction has not sent yet are carried as well.
        let rides = self.state.view().course.rides()
            || self.state.view().opens_late() && self.are_there_for_transactions();
        let due = if rides {
            // If many sessions wait for the server, their transactions take longer as well.
            (since + self.patience() * RIDING_MAX).min(Instant::now() + THINKING_MAX)
        } else {
            since + UNOPENED_MAX
        };
        is_ready.then_some(Opening { due, begun })
    }

    /// Proves the results that were served, if this statement may read by the read view.
    async fn prove_for(&mut self, touch: Touch) -> Result<Entered, Lost> {
        let heeds = || {
            let known = self.state.environment.current();
            known.is_none_or(|known| known.transactions.writes_heed_snapshots)
        };
        let reads = match touch {
            Touch::Nothing | Touch::Resets | Touch::Marks => false,
            Touch::RowsOfNow => heeds(),
            Touch::ReadView | Touch::Anything => true,
        };
        if !reads || self.is_true_at_server().await {
            return Ok(Entered::With(Vec::new()));
        }
        self.shared.counters.add(Count::SnapshotConflicts);
        self.note_refuted();
        self.roll_back().await?;
        const DEADLOCK: &str = "Deadlock found when trying to get lock; try restarting transaction";
        self.put_error(&ErrPacket::new(1213, "40001", DEADLOCK));
        Ok(Entered::Refused(1213))
    }

    /// Whether all results that were served are what the server would read now.
    async fn is_true_at_server(&mut self) -> bool {
        let is_unproven = self.state.view().is_unproven();
        if is_unproven && !is_proven(self.state.view_mut(), &self.shared, PROOF_MAX).await {
            return false;
        }
        is_as_defined(self.state.view(), &self.shared, PROOF_MAX).await
    }

    /// Ends the transaction at the server, without a request of the client.
    async fn roll_back(&mut self) -> Result<(), Lost> {
        let statement = "ROLLBACK AND NO CHAIN NO RELEASE";
        let relayed = Box::pin(self.execute_unseen(Command::Query, statement.as_bytes())).await?;
        self.state.note_rolled_back(relayed.status, relayed.error.is_some());
        self.characterized(&relayed);
        self.refresh_key();
        Ok(())
    }

    /// Returns how a transaction reads that begins now; `None` if the server decides, or if the client is told of its transactions' reads.
    pub(super) fn manner_of_transactions(&self) -> Option<Manner> {
        let known = self.state.environment.current()?.transactions;
        // A transaction that begins releases LOCK TABLES, and savepoints outside of any transaction.
        let lets_go = self.state.locks.are_in_force()
            || self.state.tx.standing().savepoint && self.state.tx.begins_by_itself();
        let is_certain = !self.state.tx.next_differs()
            && known.autocommit == self.state.tx.autocommits()
            && !lets_go
            && !self.is_told_of_reads();
        Manner::of(known, self.state.tx.said().isolation).filter(|_| is_certain)
    }
}
