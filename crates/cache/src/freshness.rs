//! The one rule, and why it is enough.
//!
//! # The rule
//!
//! > An entry may be served iff none of its dependencies is fenced and `max(stamp[d]) <= valid_from`.
//!
//! # Words
//!
//! A transaction commits at one [`Position`]. It *changes* a dependency `d` if a result that names `d` can differ with and without the
//! transaction. Dependencies are conservative: a result that names all of `D` is a function of the states of `D` alone, **as they were
//! resolved** (see "Dependencies are results too" below).
//!
//! * `applied`: for every transaction at `p <= applied` that changes `d`, `stamp[d] >= p` is already set.
//! * `visible`: every snapshot that is opened from now on contains every transaction at `p <= visible`.
//! * `stamp[d]` never goes back.
//!
//! # Why the rule suffices
//!
//! A fill reads `valid_from = V`; then the statement is sent; then the server opens a snapshot `S`, from which it answers; at any later
//! time the answer is inserted. Because `V <= visible` was read before `S` was opened, `S` contains every transaction at `p <= V`. It may
//! contain some at `p > V`.
//!
//! Take any transaction `T` at `p` that changes a dependency of the entry.
//!
//! 1. `p <= V`: the content has `T`.
//! 2. `p > V`: nobody knows whether the content has `T`. As soon as `T` is applied, `stamp[d] >= p > V` for good, and the entry is never
//!    served again. It does not matter whether the stamp was set before or after the insert, so inserting needs no check and has no race.
//!
//! So a servable entry contains *everything applied* that concerns it: at worst it is as old as the stream's lag. The `eventual` level
//! promises this. The fences cover transactions that are committed and not yet applied.
//!
//! # Why `valid_from` is `min(visible, applied)`
//!
//! With `visible` alone, cases 1 and 2 are true. With `applied` alone they are not: the binlog shows a commit before the engine does, and
//! a snapshot that is opened in between lacks a transaction at or below `valid_from`. But with `visible` alone some stamps at or below
//! `V` would still have to come, and two things would break.
//!
//! * **Dependencies are results too.** They come from a catalog (a view's tables, a table's kind), and the applier tells the catalog of
//!   changes. If a definition changes at `p` with `applied < p <= visible`, a fill could take `V >= p` and yet resolve its dependencies
//!   by the old definition: the snapshot answers from tables that the entry does not name, and the stamp at `p <= V` does not remove the
//!   entry. It would stay, stale, for good. With `V <= applied < p` the stamp at `p` removes it. If `applied >= p` when `V` is read, the
//!   catalog has been told before. Hence the order that a fill must keep: **first [`Freshness::valid_from`], then resolve the
//!   dependencies, then send**. A definition in the catalog obeys the same rule: it carries the `valid_from` that was read before it was
//!   loaded, and may be used iff the stamp of the definition is not above that. The reason: a definition that is loaded after its event
//!   came and before the change is visible is the old one.
//! * **The lower bound.** A reader who needs several results as of one moment `P` may use a servable entry with `V <= P`. This
//!   needs every stamp at or below `V` to be set, for the content may have those changes. `snapshot` has that rule, and what
//!   else the reader must see to.
//!
//! # Changes that the stream does not tell of
//!
//! Some changes are in no binlog: writes of a session with `sql_log_bin` off, a global variable that every statement reads at its present
//! value, rights that are loaded anew. Whoever learns that such a change is in effect stamps its dependencies at `A = max(visible,
//! applied) + 1`, read after that ([`Freshness::stamp_unlogged`]). Take an entry that depends on it, with `valid_from = V`.
//!
//! 1. `V < A`: the stamp removes it, for good.
//! 2. `V >= A`: `applied` was `>= A` when `V` was read and `< A` when `A` was chosen. `applied` never goes back, so `V` was read
//!    later, its statement was sent later still, and the change was in effect by then: the content has it.
//!
//! So the stamp is right as it stands. But no fill is valid from `A` on before the next transaction is applied, which may take long on an
//! idle server. So the follower publishes `A` itself, as soon as it is true:
//!
//! * `applied >= A` says that every transaction up to `A` has set its stamps. The follower makes room for `A` behind the last event: all
//!   later events get later positions. It does so only between two transactions, because the stamps of a half-applied transaction lie
//!   below `A` and its commit does not. And it does so only while no position beyond the last event is given out. If one is given out, a
//!   transaction is there that will take `applied` past `A`.
//! * `visible >= A` says that snapshots from now on contain every transaction up to `A`. That is true as soon as they contain all
//!   transactions up to the last event, because `A` itself is no transaction.
//!
//! Many changes may share one `A`: each was in effect before `A` was chosen for it, and case 2 holds for each.
//!
//! # What it does not cover
//!
//! A client that goes around us redefines a view; a fill under way resolves its dependencies by the old definition, and its snapshot
//! answers by the new one. Until the redefinition is applied, its result does not depend on the tables from which it was read, and may be
//! served after a write to them, even a write through us. The stream's lag bounds this, as it bounds everything that outsiders do;
//! redefinitions through us are fenced. To close the gap, a result that rests on a view would have to be stored only after `applied` has
//! passed the answer of a probe that was asked after the result was complete.
//!
//! The same holds for the tables that a statement is taken to write because of triggers, routines and functions behind views. Between a
//! definition around us and the moment when the stream has told of it, a statement is fenced by the old definition. What the new
//! definition writes is seen when its own event is applied. If the new definition hides a table from its session by a temporary table,
//! which no server reports, that session may be answered from memory although its table is hidden. A definition through us is announced
//! before it is sent. A write that it concerns and that looks later fences everything. For a write that looked before and may still come
//! to the server after the definition, the definition fences everything until that write is applied.
//!
//! # Fences: the `strict` level
//!
//! A write through us raises a fence on what it may change *before its bytes are written to a socket*, and the
//! fence is lifted after `applied` has passed its commit (or when it is known not to have committed).
//! A check reads **first the fences of all dependencies, then the stamps of all**.
//!
//! Take a write `W` through us that commits at `p > V` and changes a dependency of the entry. Take a read that begins after anyone has
//! learned of `W`: by its OK, or by a read, hit or forwarded, that has shown it. All of that happens after the bytes were sent, hence
//! after the fence was raised on a dependency `d`. So the load of `d`'s fence finds one of two things:
//!
//! * the fence, and the entry is refused; or
//! * the count after the fence was lifted. Then `applied >= p`, so `W`'s stamp had been set. The loads of the stamps, which all come
//!   later, find it: some `stamp >= p > V`, and the entry is refused.
//!
//! It is not enough to read each fence before its own stamp. `W`'s stamp need not be on the cell that was fenced: a new generation of the
//! stream, or a change that is not understood, stamps everything or the table's definition instead. If that stamp were loaded before the
//! fence of `d`, both would be missed. (The simulation found this. It also breaks that rule on purpose, to show that the oracle notices.)
//!
//! The check counts as one point in time: its first load. Any write through us that the server has by then shows as a fence or as a stamp
//! to the loads that follow. So hits are linearizable, over all entries and all sessions.
//!
//! # The memory orderings, one by one
//!
//! | operation | ordering | because |
//! |---|---|---|
//! | raise a fence | SeqCst RMW, then a SeqCst fence | no later store or system call of the writer may be seen before it. What follows (socket, upstream, another client, our socket) is ordered by the kernels' own locks, and the read side begins with a system call |
//! | lift a fence | Release RMW | a thread that reads the lower count sees the stamps that the lifter has seen. RMWs continue a release sequence, so any number of other fences on the cell may come and go |
//! | load a fence | Acquire | meets the Release above; keeps the loads of the stamps behind it |
//! | set a stamp | Release `fetch_max` | what a stamp announces (a catalog told) is seen with it |
//! | load a stamp | Acquire | everything that is decided by the stamp stays behind it |
//! | publish `applied` | Release `fetch_max`, after the stamps | a thread that sees `applied >= p` sees every stamp up to `p` |
//! | load `applied` | Acquire | meets the Release above; by this load, the lifter of a fence sees the stamps |
//! | publish, load `visible` | Release, Acquire | a session that takes it as `valid_from` sends its statement after the probe was answered |
//! | stamps, floor and base of slots | Release, in the order that `slots` argues; loaded with Acquire in the reverse | as above |
//! | lift, load the oldest number | under a lock, SeqCst; Acquire | a thread that sees that nothing older stands sees the stamps that all lifters have seen |
//! | publish, load liveness | Release, Acquire | a thread that finds the stream live again, after a restart, sees the stamp on everything that the restart set before |
//!
//! On x86-64 every load above is a plain one; a check of three dependencies costs a handful of nanoseconds.
//!
//! # A new generation
//!
//! When the stream breaks, changes are missed. The next stream begins at a position `G` above all earlier ones ([`Freshness::restart`]):
//! *everything* is stamped with `G`, then the rows' stamps are begun anew, then `applied = G` is published, then the stream counts as
//! live. Every `valid_from` that was read before `applied = G` is below `G`, so no earlier fill, stored or still under way, is ever
//! served.
//!
//! # Rows
//!
//! A dependency on a row is a slot in a bucket. The stamps of slots are relative to the beginning of the generation. `slots` argues that
//! no stamp is missed, neither when a row is forgotten for another nor when a new generation clears all. So to the rule a slot is a cell
//! like the others, and the stamps of one check are loaded in any order.
//!
//! A position at or below the beginning needs no stamp, because everything has a later one. A position too far above the beginning for a
//! slot (2^51, which no stream reaches before it is begun anew) is stamped on everything. A fence that a head cannot count is raised on
//! everything.
//!
//! # Fences by number: the `session` level
//!
//! Each raising of a fence takes the next number, before the bytes of its write are sent. A session at this level may be behind, but its
//! reads must not go back; so not every fence has to refuse it. Let `n` be such that all writes through us that the session was shown
//! have numbers up to `n`:
//!
//! * after an answer from the server, `n` is [`Freshness::fences_raised`]: every write in the answer was sent before, hence fenced
//!   before;
//! * after a hit, `n` is the greater of the old `n` and [`crate::Entry::fences_raised`], because an entry contains what *its* fill was
//!   shown, which may still be under a fence. (Without this, a hit that shows a write which is not applied can be followed by a hit that
//!   lacks it; the simulation found this.)
//!
//! If [`Freshness::oldest_fence`]` > n`, read before the check, all these fences have been lifted. So everything that the session was
//! shown is applied, and the check, which loads its stamps afterwards, finds them: the session may pass [`Fences::Ignore`]. Otherwise
//! [`Fences::Refuse`] is still right, because an entry without a fence lacks nothing that anyone was shown. A session's own writes are
//! among the writes that it was shown.
//!
//! # Liveness
//!
//! A silent stream and a dead stream look the same but for heartbeats. [`Freshness::lives_until`] says how long the last sign of life is
//! good; after that nothing is served until the next sign. A lapse needs no flush: if no change was missed, the rule still holds.

use crate::cells::Cells;
use crate::dep::{BUCKET_BITS, Slot, TAG_BITS};
use crate::ends::Ends;
use crate::owners::Owners;
use crate::raised::Raised;
use crate::sabotage::{self, Sabotage};
use crate::slots::{Slots, Widen};
use crate::{Dep, Fence, Position, TableDeps};
use ahash::RandomState;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The answer of the one rule: whether an entry may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be served: nothing that it depends on has changed.
    Servable,
    /// It may never be served again: something that it depends on has changed since, and stamps do not go back.
    Stale,
    /// It may not be served now: a write is under way that may change what it depends on.
    Fenced,
}

/// What a check does with fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fences {
    /// A fenced entry is refused: no read is older than anything that any client was shown.
    Refuse,
    /// Stamps alone decide. For a session that may be behind, or knows in another way that no write that it was shown is under a fence.
    Ignore,
}

/// A value that threads publish to each other, on cache lines of its own: the applier writes these values often, and every hit reads one
/// of them.
#[repr(align(128))]
#[derive(Default)]
struct Published(AtomicU64);

impl Published {
    #[inline]
    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn raise(&self, to: Position) {
        self.0.fetch_max(to.get(), Ordering::Release);
    }
}

/// Stamps, fences, and how far the stream has come. Shared by all threads in an `Arc`.
pub struct Freshness {
    hash: RandomState,
    /// How many bits of a hash choose the bucket of a row and its tag.
    row_bits: (u32, u32),
    cells: Cells,
    slots: Slots,
    raised: Raised,
    ends: Ends,
    owners: Owners,
    applied: Published,
    visible: Published,
    /// The last stamp of a change that is in no binlog.
    unlogged: Published,
    lives_until_ms: Published,
}

impl Default for Freshness {
    fn default() -> Self {
        Self::new()
    }
}

/// The memory that is taken for good, whatever is stored, is a few mebibytes: 2.3 MiB of cells at once, and up to 17 MiB of slots, in
/// pages that are taken as the rows in them change.
const _: () = assert!(Cells::BYTES + Slots::BYTES < 20 << 20);

impl Freshness {
    /// Returns a state with nothing stamped and nothing applied, which is not live. Names are hashed with a seed of this process.
    #[must_use]
    pub fn new() -> Self {
        Self::with_hash(RandomState::new(), (BUCKET_BITS, TAG_BITS))
    }

    /// Like [`Self::new`], but names are hashed with this seed: the same seed gives the same run.
    #[must_use]
    pub fn with_hash_seed(seed: u64) -> Self {
        Self::with_row_bits(seed, BUCKET_BITS, TAG_BITS)
    }

    /// Like [`Self::with_hash_seed`], with two to the power of so many buckets for rows, and so many bits of a tag, up to the usual
    /// numbers. With few of them, a test meets rows that collide and rows that are forgotten.
    #[must_use]
    pub fn with_row_bits(seed: u64, bucket_bits: u32, tag_bits: u32) -> Self {
        let hash = RandomState::with_seeds(seed, !seed, seed.rotate_left(32), 1);
        Self::with_hash(hash, (bucket_bits, tag_bits))
    }

    fn with_hash(hash: RandomState, row_bits: (u32, u32)) -> Self {
        Self {
            hash,
            row_bits,
            cells: Cells::new(),
            slots: Slots::new(row_bits.0),
            raised: Raised::default(),
            ends: Ends::default(),
            owners: Owners::default(),
            applied: Published::default(),
            visible: Published::default(),
            unlogged: Published::default(),
            lives_until_ms: Published::default(),
        }
    }

    /// Returns the dependencies on a table. Names are in the form in which the catalog compares them.
    #[must_use]
    pub fn table(&self, schema: &str, name: &str) -> TableDeps {
        Cells::table(self.hash.hash_one((schema, name)))
    }

    /// Returns the dependency on a schema as a whole: stamped when it is dropped or altered.
    #[must_use]
    pub fn schema(&self, schema: &str) -> Dep {
        Cells::schema(self.hash.hash_one(schema))
    }

    /// Returns the dependency on the rights of the accounts with this user name. All callers use the same form of the name.
    #[must_use]
    pub fn account(&self, user: &str) -> Dep {
        Cells::schema(self.hash.hash_one(("account", user)))
    }

    /// Returns the dependency that is stamped when rights are taken from the accounts with this user name. No entry depends on it.
    #[must_use]
    pub fn taken_from(&self, user: &str) -> Dep {
        Cells::schema(self.hash.hash_one(("taken", user)))
    }

    /// Returns the dependency on the rows of a watch that have this key, as a hash of both.
    #[must_use]
    pub fn row(&self, watch: u64, key: u64) -> Dep {
        let (bucket_bits, tag_bits) = self.row_bits;
        Slot::of(self.hash.hash_one((watch, key)), bucket_bits, tag_bits).dep()
    }

    /// Returns the dependency that every entry has besides if it depends on rows of this watch. It is stamped by changes whose key is not
    /// known, and fenced by such writes.
    #[must_use]
    pub fn any(&self, watch: u64) -> Dep {
        Cells::any(self.hash.hash_one(watch))
    }

    /// Begins a new generation of the stream at `at`, which is above every position of the generations before: makes all earlier results
    /// unservable, stored or on their way, and publishes `applied`. The caller sets liveness, afterwards.
    pub fn restart(&self, at: Position) {
        self.cells.raise_stamp(Dep::EVERYTHING, at);
        self.slots.restart(at);
        self.publish_applied(at);
    }

    /// Notes that something at `at` changed `dep`. A stamp never goes back. To be called before [`Self::publish_applied`] with `at` or
    /// more.
    pub fn stamp(&self, dep: Dep, at: Position) {
        if sabotage::is(Sabotage::LateStamps) {
            return sabotage::keep_back(dep, at);
        }
        self.stamp_now(dep, at);
    }

    fn stamp_now(&self, dep: Dep, at: Position) {
        match dep.slot().map(|slot| self.slots.raise_stamp(slot, at)) {
            None => self.cells.raise_stamp(dep, at),
            Some(Ok(())) => {}
            Some(Err(Widen)) => self.cells.raise_stamp(Dep::EVERYTHING, at),
        }
    }

    /// Notes a change of these that is in no binlog. To be called when the change is known to be in effect, and before anyone who waits
    /// for it is told so. The follower publishes [`Self::unlogged`] then.
    pub fn stamp_unlogged(&self, deps: &[Dep]) {
        let at = self.next();
        deps.iter().for_each(|dep| self.stamp(*dep, at));
        self.unlogged.raise(at);
    }

    /// Returns the position right above all that were reached.
    #[must_use]
    pub fn next(&self) -> Position {
        Position::new(self.visible().max(self.applied()).get().saturating_add(1))
    }

    /// Returns the position that `applied` and `visible` have to reach before results that rest on the changes of
    /// [`Self::stamp_unlogged`] can be stored again.
    #[must_use]
    pub fn unlogged(&self) -> Position {
        Position::new(self.unlogged.load())
    }

    /// Publishes that every transaction up to `at` has set its stamps. Never goes back.
    pub fn publish_applied(&self, at: Position) {
        self.applied.raise(at);
        if sabotage::is(Sabotage::LateStamps) {
            sabotage::overdue().into_iter().for_each(|(dep, at)| self.stamp_now(dep, at));
        }
    }

    /// Publishes that every snapshot that is opened from now on contains every transaction up to `at`. Never goes back.
    pub fn publish_visible(&self, at: Position) {
        self.visible.raise(at);
    }

    /// Returns how far stamps have been set. A thread that has read this sees these stamps.
    #[must_use]
    pub fn applied(&self) -> Position {
        Position::new(self.applied.load())
    }

    /// Returns up to where every snapshot that is opened from now on contains all transactions.
    #[must_use]
    pub fn visible(&self) -> Position {
        Position::new(self.visible.load())
    }

    /// Publishes that the stream is proven live until this millisecond of the monotonic clock that is handed to [`Self::is_live`]. 0: it
    /// is not live. After a restart, to be called after everything was stamped.
    pub fn lives_until(&self, at_ms: u64) {
        self.lives_until_ms.0.store(at_ms, Ordering::Release);
    }

    /// Whether the stream is proven live at this millisecond.
    #[must_use]
    #[inline]
    pub fn is_live(&self, now_ms: u64) -> bool {
        now_ms < self.lives_until_ms.load()
    }

    /// Whether the stream was live at the last report; `false` from `lives_until(0)` on.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.lives_until_ms.load() != 0
    }

    /// Returns the position from which a fill that begins now is valid: `min(visible, applied)`. To be read before the dependencies are
    /// resolved and before the statement is sent; the module says why. Both only grow, so an outdated value is only stricter.
    #[must_use]
    pub fn valid_from(&self) -> Position {
        if sabotage::is(Sabotage::AppliedAsVisible) {
            return self.applied();
        }
        self.visible().min(self.applied())
    }

    /// Applies the one rule: all fences, then all stamps. `EVERYTHING` is among the dependencies of all entries. An entry that is fenced
    /// and stale is stale: it may be reclaimed without waiting for the fence.
    #[must_use]
    pub fn check(&self, deps: &[Dep], valid_from: Position, fences: Fences) -> Verdict {
        self.check_each(iter::once(deps.iter().copied()), valid_from, fences)
    }

    /// [`Self::check`] for dependencies that lie in several pieces.
    #[inline]
    pub(crate) fn check_each(
        &self,
        deps: impl Iterator<Item: Iterator<Item = Dep>> + Clone,
        valid_from: Position,
        fences: Fences,
    ) -> Verdict {
        let is_fenced = fences == Fences::Refuse && self.is_any_fenced(deps.clone());
        if self.is_any_dead(deps, valid_from) {
            Verdict::Stale
        } else if is_fenced {
            Verdict::Fenced
        } else {
            Verdict::Servable
        }
    }

    /// Whether an entry can never be served again, fences aside.
    #[must_use]
    pub fn is_dead(&self, deps: &[Dep], valid_from: Position) -> bool {
        self.is_any_dead(iter::once(deps.iter().copied()), valid_from)
    }

    /// [`Self::is_dead`] for dependencies that lie in several pieces.
    #[inline]
    pub(crate) fn is_any_dead(
        &self,
        mut deps: impl Iterator<Item: Iterator<Item = Dep>>,
        valid_from: Position,
    ) -> bool {
        self.is_stamped_after(Dep::EVERYTHING, valid_from)
            || deps.any(|mut piece| piece.any(|dep| self.is_stamped_after(dep, valid_from)))
    }

    #[inline]
    fn is_any_fenced(&self, mut deps: impl Iterator<Item: Iterator<Item = Dep>>) -> bool {
        self.is_fenced(Dep::EVERYTHING) || deps.any(|mut piece| piece.any(|dep| self.is_fenced(dep)))
    }

    #[inline]
    fn is_stamped_after(&self, dep: Dep, than: Position) -> bool {
        match dep.slot() {
            Some(slot) => self.slots.is_stamped_after(slot, than),
            None => self.cells.stamp(dep) > than,
        }
    }

    /// Returns the last stamp of this dependency alone, or a later one.
    #[must_use]
    #[inline]
    pub fn stamp_of(&self, dep: Dep) -> Position {
        match dep.slot() {
            Some(slot) => self.slots.stamp(slot),
            None => self.cells.stamp(dep),
        }
    }

    /// Whether a write is under way that may change this dependency.
    #[must_use]
    #[inline]
    pub fn is_fenced(&self, dep: Dep) -> bool {
        match dep.slot() {
            Some(slot) => self.slots.is_fenced(slot),
            None => self.cells.is_fenced(dep),
        }
    }

    /// Raises a fence on each of these; dropping the fence lifts it. To be called before the first byte of the write is sent. To be
    /// dropped when `applied` has passed the write's commit, or when it is known that there was no commit.
    #[must_use = "a fence that is dropped at once protects nothing"]
    pub fn fence(self: &Arc<Self>, deps: impl Into<Vec<Dep>>) -> Fence {
        let number = self.raised.raise();
        let mut deps = deps.into();
        if sabotage::is(Sabotage::NoFences) {
            deps.clear();
        }
        deps.iter_mut().for_each(|dep| *dep = self.raise_fence(*dep));
        // Orders the increments before the system call that sends the write upstream.
        fence(Ordering::SeqCst);
        Fence::raised(Arc::clone(self), deps, number)
    }

    /// Raises one fence. Returns the dependency on which it stands: everything, where the count is full.
    fn raise_fence(&self, dep: Dep) -> Dep {
        let dep = match dep.slot().map(|slot| self.slots.raise_fence(slot)) {
            Some(Ok(())) => return dep,
            Some(Err(Widen)) => Dep::EVERYTHING,
            None => dep,
        };
        self.cells.raise_fence(dep);
        dep
    }

    fn lift_fence(&self, dep: Dep) {
        match dep.slot() {
            Some(slot) => self.slots.lift_fence(slot),
            None => self.cells.lift_fence(dep),
        }
    }

    /// Lifts the fences that were raised together. Only [`Fence`] does this, once.
    pub(crate) fn lift(&self, deps: &[Dep], number: u64) {
        deps.iter().for_each(|dep| self.lift_fence(*dep));
        self.raised.lift(number);
    }

    /// Returns the number of the fence that was raised last; they count from 1. Every write through us in an answer that came before this
    /// was read has a fence of this number or less, or is applied.
    #[must_use]
    pub fn fences_raised(&self) -> u64 {
        self.raised.last()
    }

    pub(crate) const fn ends(&self) -> &Ends {
        &self.ends
    }

    pub(crate) const fn owners(&self) -> &Owners {
        &self.owners
    }

    /// Returns the least number of a standing fence; `u64::MAX` if no fence stands. To be read before a check: the writes of all fences
    /// below it have been applied, and the check finds their stamps.
    #[must_use]
    pub fn oldest_fence(&self) -> u64 {
        self.raised.oldest()
    }
}

#[cfg(test)]
mod tests;
