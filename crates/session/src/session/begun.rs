//! Transactions that begin here, and what the server has to be told of them, and when.
//!
//! BEGIN is noted and answered. For as long as all that follows is answered from memory the server knows of no transaction, and
//! COMMIT and ROLLBACK are answered as well. Before the first statement that it has to see, the server is told:
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
//! Where something was served and the statement may read, what was served is proven to be true in the server's read view before
//! the statement is sent. If that cannot be proven, there may be no moment at which both are true: the transaction is rolled back with
//! the error of a deadlock. A write of rows reads what is there now, and needs no proof; nor does what ends the transaction or marks
//! a place in it.

use std::time::Duration;

use freshet_cache::snapshot::is_touched;
use freshet_cache::{Dep, Position};
use freshet_protocol::{Capabilities, Command, ErrPacket, OkPacket, StateChange, StatusFlags};
use freshet_sql::{Characteristics, Completion, Effects, Flavor, TransactionEffect};
use freshet_upstream::now_ms;
use tokio::time::Instant;

pub(super) use opening::Opening;
use opening::{CROWD_MAX, RIDING_MAX, THINKING_MAX, UNOPENED_MAX, is_as_defined, is_proven};
pub(super) use opening::{is_proven_now, is_proven_soon};
use touch::Touch;
use words::{first_word_is, only_ends, plain, savepoint, starts};

use super::lanes::crowd;
use super::tx::{Begun, Tx};
use super::view::{Manner, Mark};
use super::{Flow, Forward, Message, Session, query_prefix};
use crate::counters::Count;
use crate::relay::{Lost, Relayed};

mod opening;
mod said;
pub(crate) mod shown;
mod touch;
pub(crate) mod waiting;
pub(super) mod words;

/// How long a statement waits for the proof that what was served before it is still true.
const PROOF_MAX: Duration = Duration::from_millis(500);

/// What precedes a statement at the server.
pub(super) enum Entered {
    /// These statements, in the same write.
    With(Vec<String>),
    /// These, and then the transaction is still one that the server may begin anew.
    Stays(Vec<String>, Begun),
    /// Nothing any more: it was answered with this error.
    Refused(u16),
}

impl Session {
    /// Begins a transaction in the server's place, and answers. False if the server has to do it.
    pub(crate) fn begins(&mut self, read_only: Option<bool>) -> bool {
        let has_begun = self.begins_unanswered(read_only);
        if has_begun {
            self.told_in_its_place(true);
        }
        has_begun
    }

    /// The same without an answer.
    fn begins_unanswered(&mut self, read_only: Option<bool>) -> bool {
        let tx = self.state.tx;
        let is_begun_here = tx.begun().is_some_and(|begun| !begun.is_at_server || self.is_untouched());
        let is_free = tx.surely_autocommits() || tx.begins_by_itself() || is_begun_here;
        let transactions = self.state.environment.current().map(|known| known.transactions);
        let Some(transactions) = transactions.filter(|known| known.leave_no_trace) else { return false };
        // One that the server has begun, and in which nothing has happened, is as good as another that is alike.
        let at_server = tx.begun().filter(|begun| begun.is_at_server);
        let manner = match at_server {
            Some(_) => {
                self.state.view.manner().filter(|manner| Manner::of(transactions, None) == Some(*manner))
            }
            None => self.manner_of_transactions(),
        };
        let passes_level_on = is_begun_here && self.state.view.said.isolation.is_some();
        let is_refused = || read_only == Some(false) && self.is_server_read_only();
        if !is_free || manner.is_none() || self.state.holds_tables || passes_level_on || is_refused() {
            return false;
        }
        let mut said = tx.said();
        said.read_only = read_only.or(said.read_only);
        let default = || transactions.are_read_only || self.passes_read_only_on();
        let is_read_only = said.read_only.unwrap_or_else(default);
        if at_server.is_some_and(|begun| begun.is_read_only != is_read_only) {
            return false;
        }
        let begun = Begun { is_explicit: true, is_read_only, is_at_server: at_server.is_some() };
        self.state.tx = tx.begin(begun);
        self.state.view.begin(manner);
        self.state.view.said = said;
        self.leaves_nothing();
        self.refresh_key();
        true
    }

    /// Whether a transaction that begins in the place of this one is read only as well: in MySQL it is, unless it says otherwise.
    fn passes_read_only_on(&self) -> bool {
        self.flavor() == Flavor::MySql && self.state.tx.begun().is_some_and(|begun| begun.is_read_only)
    }

    /// Whether how the transaction reads that the server is now told to begin is found out later, and by which version of the
    /// environment.
    pub(crate) fn begins_undecided(&self) -> Option<u64> {
        let tx = self.state.tx;
        let is_free = tx.surely_autocommits() || tx.begins_by_itself();
        let is_unsaid = !tx.next_differs() && tx.said().is_empty();
        let is_plain = is_free && is_unsaid && !self.state.locked && !self.is_told_of_reads();
        (is_plain && self.environment().is_none()).then_some(self.state.environment_version)
    }

    /// It has begun it.
    pub(crate) fn has_begun_undecided(&mut self, version: u64) {
        if self.state.tx.is_open() {
            let is_read_only = self.state.tx.flags().contains(StatusFlags::IN_TRANS_READONLY);
            self.state.tx =
                self.state.tx.begin(Begun { is_explicit: true, is_read_only, is_at_server: true });
            self.state.view.begin_undecided(version);
        }
    }

    /// Finds out how the transaction reads, if its environment is known by now.
    pub(super) fn decide_reads(&mut self) {
        if self.state.view.is_undecided(self.state.environment_version) && self.state.tx.begun().is_some() {
            let manner = self.manner_of_transactions();
            self.state.view.decide(manner);
        }
    }

    /// Whether it is known how the transaction reads that the server has begun, and nothing was read in it there.
    fn is_untouched(&self) -> bool {
        self.state.view.manner().is_some() && !self.state.view.has_unread_view
    }

    /// Ends a transaction of which the server knows nothing but, at most, that it has begun: then only where another begins, which that is
    /// taken for. `None` if there is none.
    pub(crate) fn ends(&mut self, completion: Completion) -> Option<Flow> {
        let begun = self.state.tx.begun()?;
        let known = self.state.environment.current()?.transactions;
        let chains = completion.chain.unwrap_or(known.chain);
        let releases = completion.release.unwrap_or(known.release);
        let is_fit = !begun.is_at_server || chains && !releases && self.is_untouched();
        if !is_fit || !known.leave_no_trace || self.state.holds_tables {
            return None;
        }
        if self.state.view.has_served {
            self.shared.counters.add(Count::Transactions);
        }
        let (manner, said) = (self.state.view.manner(), self.state.view.said);
        self.state.tx = self.state.tx.end();
        self.state.view.end();
        if chains {
            self.state.tx = self.state.tx.begin(Begun { is_explicit: true, ..begun });
            self.state.view.begin(manner);
            self.state.view.said = said;
        }
        self.leaves_nothing();
        self.state.ended_since = Some(0);
        self.refresh_key();
        self.told_in_its_place(chains);
        Some(if releases { Flow::Close } else { Flow::Continue })
    }

    /// A statement without counts and warnings was answered.
    pub(super) fn leaves_nothing(&mut self) {
        self.state.warnings.clear();
        self.active(now_ms());
    }

    /// Sets, goes back to or removes a savepoint in a transaction that the server need not know of. False if the server has to do it.
    pub(crate) fn marks(&mut self, mark: &Mark<'_>) -> bool {
        if self.state.tx.begun().is_none() || self.state.view.marks(mark).is_none() {
            return false;
        }
        self.leaves_nothing();
        self.state.ended_since = Some(0);
        self.put_ok(0);
        true
    }

    /// Has the server go back to a savepoint. It has nothing left of a transaction that goes back to before its first read: neither locks
    /// nor a read view. One that was opened before the savepoints were set would stay, with all locks. So the server is told to roll
    /// back all of it, and the transaction is one again of which the server need not know.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn goes_back(&mut self, message: Message<'_>, name: &str) -> Result<(), Lost> {
        let early = self.state.view.early.clone();
        let effects = Effects::none();
        let relayed = self.forward(message.with_effects(&effects)).await?;
        match super::view::place(&early, name) {
            Some(at) if relayed.error.is_none() => {
                self.begins_again(early.get(..=at).unwrap_or_default()).await
            }
            _ => Ok(()),
        }
    }

    /// Begins the transaction again, of which these savepoints are all that is left.
    async fn begins_again(&mut self, savepoints: &[String]) -> Result<(), Lost> {
        let Some(begun) = self.can_begin_again() else { return Ok(()) };
        let said = self.state.view.said;
        self.roll_back().await?;
        if self.state.tx.may_be_open() {
            return Ok(());
        }
        self.state.tx = self.state.tx.begin(begun);
        self.state.view.begin(Some(Manner::Shared));
        self.state.view.said = said;
        self.state.view.savepoints = savepoints.to_vec();
        self.state.view.early = savepoints.to_vec();
        self.leaves_nothing();
        self.state.ended_since = Some(0);
        self.refresh_key();
        Ok(())
    }

    /// The transaction as it can be begun again as it is, if it can be.
    fn can_begin_again(&self) -> Option<Begun> {
        let known = self.state.environment.current()?.transactions;
        let is_read_only = self.state.tx.flags().contains(StatusFlags::IN_TRANS_READONLY);
        let said = self.state.view.said;
        let is_alike = Manner::of(known, said.isolation) == Some(Manner::Shared)
            && known.autocommit == self.state.tx.autocommits()
            && (is_read_only || !known.are_read_only || said.read_only == Some(false));
        let is_free = self.state.tx.is_open() && !self.state.locked;
        (is_alike && is_free).then_some(Begun { is_explicit: true, is_read_only, is_at_server: false })
    }

    /// How the transaction reads that the server is now told to begin with a read view, and what that shows at least.
    pub(crate) fn opens_snapshot(&self) -> (Option<Manner>, Position) {
        (self.manner_of_transactions(), self.shared.freshness().valid_from())
    }

    /// It has done so.
    pub(crate) fn has_opened_snapshot(&mut self, (manner, contains): (Option<Manner>, Position)) {
        if !self.state.tx.is_open() {
            return;
        }
        self.state.view.begin(manner);
        self.state.view.opened(contains, self.shared.freshness().ends_asked());
        // It is not begun anew: its moment is now.
        self.state.view.has_read = true;
        self.shared.upstream.ask_end();
        self.refresh_key();
    }

    /// From where on an answer is valid that the server is asked for now, in whatever transaction. To be called before anything else that decides about
    /// it. `None` where that is not known.
    pub(crate) fn valid_from(&self) -> Option<Position> {
        let now = self.shared.freshness().valid_from();
        match self.state.tx {
            Tx::None(_) if self.state.tx.begins_by_itself() => self.manner_of_transactions().map(|_| now),
            Tx::None(_) | Tx::Begun { .. } => Some(now),
            Tx::Open { .. } => self.state.view.valid_from(now),
            Tx::Unclear { .. } => None,
        }
    }

    /// Whether rows that are read now show that the transaction's read view is open. Under LOCK TABLES, the server may lock what it
    /// reads, and open none.
    pub(crate) fn reads_show_view(&self) -> bool {
        self.state.tx.is_open() && !self.state.locked && self.state.view.is_shown_by_rows()
    }

    /// Such rows were read.
    pub(crate) fn note_rows_read(&mut self) {
        if self.reads_show_view() {
            self.state.view.note_rows_read(&self.shared.upstream, self.shared.freshness());
        }
    }

    /// Whether the transaction has written any of what names these dependencies, and not committed it.
    pub(crate) fn has_written(&self, deps: &[Dep]) -> bool {
        if self.state.pending.is_empty() {
            return false;
        }
        let mut tables = Vec::new();
        self.state.pending.put_tables(&mut tables, self.shared.freshness(), &self.shared.upstream);
        is_touched(&tables, deps.iter().copied())
    }

    /// Answers what begins or ends a transaction, or marks a place in it. MySQL tells of the first two.
    fn told_in_its_place(&mut self, has_begun: bool) {
        let tracks = self.capabilities().contains(Capabilities::SESSION_TRACK);
        let mut ok = OkPacket { status: self.state.status_for_answers(), ..OkPacket::default() };
        let was_told = *self.state.told_begun.get_mut();
        if self.flavor() == Flavor::MySql && tracks && was_told != has_begun {
            *self.state.told_begun.get_mut() = has_begun;
            let state: &[u8] = if has_begun { b"T_______" } else { b"________" };
            ok.changes.push(StateChange::TransactionState(state.to_vec()));
            ok.status.insert(StatusFlags::SESSION_STATE_CHANGED);
        }
        let encoded = ok.encode(self.capabilities(), 0);
        self.wire.put(&encoded);
    }

    /// Whether the client asked to be told what is read in its transactions.
    fn is_told_of_reads(&self) -> bool {
        let told = self.state.told.as_deref();
        self.lease.tracking.is_clients() || told.is_some_and(super::Reports::tell_of_transactions)
    }

    /// What goes before a command because of its transaction. Costs nothing where none is begun.
    pub(super) async fn enter(&mut self, forward: &Forward<'_>) -> Result<Entered, Lost> {
        let tx = self.state.tx;
        let may_be_due = tx.begun().is_some()
            || tx.begins_by_itself()
            || tx.is_open() && self.state.view.is_to_be_proven();
        let ends = only_ends(forward.effects);
        let is_at_server = tx.is_open() || tx.begun().is_some_and(|begun| begun.is_at_server);
        let touch = if may_be_due || tx.is_open() { self.touch(forward) } else { Touch::Nothing };
        if tx.is_open() {
            self.state.view.note_needs(touch.needs());
        }
        if !may_be_due || ends && is_at_server || touch == Touch::Resets {
            return Ok(Entered::With(self.tells_what_was_said(forward).await?));
        }
        if let Some(begun) = tx.begun() {
            if ends && forward.effects.transaction == TransactionEffect::Begins {
                // Nothing else of this one is left to be known.
                let passes_on = self.passes_read_only_on() || self.state.view.said.isolation.is_some();
                let said = self.state.view.said;
                return Ok(Entered::With(if passes_on { plain(begun, said) } else { Vec::new() }));
            }
            // An XA command is none within a transaction, and begins none itself.
            let is_explicit = begun.is_explicit || first_word_is(forward.text, "XA");
            let begun = Begun { is_explicit, ..begun };
            let touch = if self.replays(forward) { Touch::Anything } else { touch };
            return self.enter_begun(begun, touch, forward.effects.reads_last_statement).await;
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

    /// Whether a statement asks about one that the server is sent only now.
    fn replays(&self, forward: &Forward<'_>) -> bool {
        let is_last = !self.state.found.is_past() || self.state.view.is_by_itself;
        let is_owed = !self.state.last_hit.is_empty() && is_last || self.state.ended_since.is_some();
        let asks = forward.effects.reads_last_statement && is_owed;
        let clears = forward.may_keep_diagnostics() && self.shows_older_diagnostics();
        self.state.view.has_served && (asks || clears)
    }

    /// A transaction that begins with this statement, since autocommit is off.
    fn enter_by_itself(
        &mut self,
        touch: Touch,
        manner: Option<Manner>,
        said: Characteristics,
    ) -> Vec<String> {
        if touch == Touch::Nothing {
            return Vec::new();
        }
        self.state.view.begin_by_itself(manner);
        self.state.view.note_needs(touch.needs());
        match (manner, touch) {
            (Some(Manner::Shared), Touch::ReadView) => {
                let is_read_only = said.read_only == Some(true);
                self.snapshot(Begun { is_explicit: false, is_read_only, is_at_server: false }, true)
            }
            (Some(Manner::Shared), _) => {
                self.state.view.note_read_at_server(self.shared.freshness());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// `asks_back`: of the counts that BEGIN leaves, which a question of ours behind it would replace.
    async fn enter_begun(&mut self, begun: Begun, touch: Touch, asks_back: bool) -> Result<Entered, Lost> {
        let is_bound = self.state.view.is_bound();
        let is_shared = self.state.view.manner() == Some(Manner::Shared);
        if touch == Touch::Nothing {
            // BEGIN alone: what is known of its reads stays true. The answer's flags say that it is open, whoever has begun it.
            let stays = Begun { is_at_server: true, ..begun };
            let said = self.state.view.said;
            let begins = if begun.is_at_server { Vec::new() } else { starts(begun, said, false) };
            return Ok(Entered::Stays(begins, stays));
        }
        let mut statements = match touch {
            Touch::ReadView if is_shared => self.snapshot(begun, !asks_back),
            _ if is_bound => self.snapshot(begun, !asks_back),
            _ => {
                self.state.view.note_read_at_server(self.shared.freshness());
                // What was answered here since, such as a savepoint, belongs to a transaction: that is to be one there, too.
                let has_marked = self.state.ended_since.is_some() || !self.state.view.savepoints.is_empty();
                let is_explicit = begun.is_explicit || has_marked;
                let begun = Begun { is_explicit, ..begun };
                if begun.is_at_server { Vec::new() } else { plain(begun, self.state.view.said) }
            }
        };
        statements.extend(self.state.view.savepoints.iter().map(|name| savepoint(name)));
        self.state.view.note_needs(touch.needs());
        if !is_bound && touch == Touch::ReadView {
            return Ok(Entered::With(statements));
        }
        // What writes must not run outside of the transaction where that could not be begun.
        if let Some(code) = self.open(&statements).await? {
            return Ok(Entered::Refused(code));
        }
        self.prove_for(touch).await
    }

    /// The statements that open a read view, which is noted. `questions`: what it shows is asked right behind them.
    fn snapshot(&mut self, begun: Begun, questions: bool) -> Vec<String> {
        let contains = self.shared.freshness().valid_from();
        // Until it is open, nothing is settled that it may show.
        self.state.view.opened(contains, u64::MAX);
        let mut statements = starts(begun, self.state.view.said, true);
        if questions {
            statements.extend(shown::questions(&mut self.state.view, &self.shared, statements.len()));
        }
        statements
    }

    /// Has the server execute these before anything else. An error is passed on, and returned.
    async fn open(&mut self, statements: &[String]) -> Result<Option<u16>, Lost> {
        let Some((last, before)) = statements.split_last() else { return Ok(None) };
        let payload = [&query_prefix(self.lease.has_attributes()), last.as_bytes()].concat();
        self.lease.own.asked(last);
        self.send_behind(before, &payload).await?;
        self.finish_tracking().await?;
        let refused = self.finish_entering(statements.len()).await?;
        if let Some(code) = refused {
            self.put_refused(code);
        }
        Ok(refused)
    }

    /// Reads the answers to so many statements that went before.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn finish_entering(&mut self, statements: usize) -> Result<Option<u16>, Lost> {
        let (mut refused, mut last) = (None, None);
        // The questions are among them, behind the first.
        for _ in 0..statements.saturating_sub(self.state.view.questions()) {
            let relayed = Box::pin(self.unseen_answer(Command::Query)).await?;
            refused = refused.or(relayed.error);
            last = relayed.status.or(last);
            self.characterized(&relayed);
            let connection = self.lease.connection()?;
            let shown = shown::read(connection, &mut self.state.view, &self.shared).await;
            shown.map_err(Lost::Upstream)?;
        }
        if refused.is_some() {
            self.state.note_not_entered(last);
        } else if statements > 0 {
            self.state.answered(true, last, false);
            self.state.view.note_open(self.shared.freshness());
            if self.state.view.is_shared_view() {
                self.state.view.asks_if_unsettled(&self.shared.upstream, self.shared.freshness());
            }
        }
        Ok(refused)
    }

    fn put_refused(&mut self, code: u16) {
        self.put_error(&ErrPacket::new(code, "HY000", "The transaction could not be begun at the server"));
    }

    /// Answers with the error that a transaction could not be begun, in the place of an answer that is not to be seen.
    pub(super) async fn refuse_entered(&mut self, command: Command, code: u16) -> Result<Relayed, Lost> {
        let relayed = Box::pin(self.unseen_answer(command)).await?;
        self.lease.prepared.closed.extend(relayed.prepared.map(|prepared| prepared.statement_id));
        if self.state.tx.begun().is_none() {
            // Where autocommit is off, the statement has begun one itself.
            self.state.answered(true, relayed.status, relayed.error.is_some());
            self.state.view.lose();
        }
        self.put_refused(code);
        Ok(Relayed { error: Some(code), ..Relayed::default() })
    }

    /// When the server is to be told, though nobody waits for it, if it is.
    pub(super) fn opening_is_due(&self) -> Option<Opening> {
        let (begun, since) = (self.state.tx.begun()?, self.state.view.bound_since()?);
        // What a statement that was sent has left there may be asked for; what a hit has, is brought about anew.
        let is_owed = !self.state.last_hit.is_empty() && !self.state.found.is_past();
        let is_ready = is_owed && (self.lease.is_ready() || self.state.given_up.is_some());
        let since = Instant::from_std(since);
        // What it has not asked for yet is carried as well, where anything is.
        let rides =
            self.state.view.rides || self.state.view.opens_late() && self.are_there_for_transactions();
        let due = if rides {
            // Where many wait for the server, their clients take longer as well.
            let times = crowd().min(CROWD_MAX);
            (since + times * RIDING_MAX).min(Instant::now() + times * THINKING_MAX)
        } else {
            since + UNOPENED_MAX
        };
        is_ready.then_some(Opening { due, begun })
    }

    /// Proves what was served, if this statement may read by the read view.
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

    /// Whether all that was served is what the server would read now.
    async fn is_true_at_server(&mut self) -> bool {
        let is_unproven = self.state.view.is_unproven();
        if is_unproven && !is_proven(&mut self.state.view, &self.shared, PROOF_MAX).await {
            return false;
        }
        is_as_defined(&self.state.view, &self.shared, PROOF_MAX).await
    }

    /// Ends the transaction at the server, which the client has not asked for.
    async fn roll_back(&mut self) -> Result<(), Lost> {
        let statement = "ROLLBACK AND NO CHAIN NO RELEASE";
        let payload = [&query_prefix(self.lease.has_attributes()), statement.as_bytes()].concat();
        self.lease.own.asked(statement);
        self.send(&payload).await?;
        self.finish_tracking().await?;
        let relayed = Box::pin(self.unseen_answer(Command::Query)).await?;
        self.state.answered(true, relayed.status, relayed.error.is_some());
        self.characterized(&relayed);
        if !self.state.tx.may_be_open() {
            self.state.pending.clear();
        }
        self.state.view.end();
        self.refresh_key();
        Ok(())
    }

    /// How a transaction reads that begins now. It is the server's where the client is told what is done in it.
    pub(super) fn manner_of_transactions(&self) -> Option<Manner> {
        let known = self.state.environment.current()?.transactions;
        // A transaction that begins lets go of LOCK TABLES, and of savepoints that stand outside of any.
        let lets_go = self.state.locked || self.state.marked && self.state.tx.begins_by_itself();
        let is_certain = !self.state.tx.next_differs()
            && known.autocommit == self.state.tx.autocommits()
            && !lets_go
            && !self.is_told_of_reads();
        Manner::of(known, self.state.tx.said().isolation).filter(|_| is_certain)
    }
}
