//! The proof that the stream has told of every statement on accounts.
//!
//! The server counts these statements when they begin: `counted`. The stream tells of those that were logged: `told`. A statement that
//! was counted and is never told is *silent*: it failed, or was not logged. Let `S(t)` be the number of all statements that were counted
//! by the time t and turn out to be silent. It never falls. The statements that are counted and not told by t are the silent ones and
//! those that are under way. So, with `told` read before `counted` is asked for:
//!
//! - `S <= counted - told`: an upper bound, at any time, however far behind the stream is.
//! - `S >= counted - told`, where `told` is read after all counted statements are over and applied: a lower bound. They are over when the
//!   server's list of threads, asked for after the count, shows no such statement. They are applied when the stream has passed the end
//!   that the binlog had after that.
//!
//! The first lower bound is known before the stream begins: statements that are over by then are applied, as far as the stream will tell.
//!
//! A lower bound counts for writes after it is known. So a look that finds one asks once more for writes, under the earlier bound.
//!
//! If the present upper bound is not above an earlier lower bound, no statement since then was silent: the stream has told, or will tell,
//! of everything that changed rights in between.

use freshet_cache::Position;

/// Compares the counts.
#[derive(Debug, Default)]
pub(super) struct Accounted {
    /// The generation of the stream to which all of this belongs: the next generation does not tell of everything that was logged before.
    generation: u64,
    /// The greatest lower bound that is known.
    silent: Option<i128>,
    /// Becomes a lower bound when the stream has passed this end: all counted statements were over before it was asked for.
    over: Option<(u64, Position)>,
}

/// How far the stream has come. All is read in one turn of its thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamTold {
    pub(super) generation: u64,
    /// The statements on accounts of which it has told.
    pub(super) accounts: u64,
    pub(super) applied: Position,
}

impl Accounted {
    /// Takes in the progress of the stream.
    pub(super) fn reach(&mut self, told: StreamTold) {
        if told.generation != self.generation {
            *self = Self { generation: told.generation, ..Self::default() };
        }
        if let Some((counted, _)) = self.over.take_if(|(_, end)| *end <= told.applied) {
            let bound = i128::from(counted) - i128::from(told.accounts);
            self.silent = self.silent.max(Some(bound));
        }
    }

    /// Notes that the stream begins. All of `counted` was over before its start was asked for, and everything written by then is known.
    pub(super) fn begin(&mut self, told: StreamTold, counted: u64) {
        let silent = Some(i128::from(counted) - i128::from(told.accounts));
        *self = Self { generation: told.generation, silent, over: None };
    }

    /// Whether no statement was silent since the bound was found. `told` was read before `counted` was asked for.
    pub(super) fn is_all_told(&mut self, told: StreamTold, counted: u64) -> bool {
        if told.generation != self.generation {
            return false;
        }
        let bound = i128::from(counted) - i128::from(told.accounts);
        if self.silent.is_some_and(|silent| bound < silent) {
            // The server has set its counts back, or counts other statements than we assume.
            (self.silent, self.over) = (None, None);
        }
        self.silent == Some(bound)
    }

    /// Whether a bound is known, so that waiting for the stream can be of use.
    pub(super) const fn is_bounded(&self) -> bool {
        self.silent.is_some()
    }

    /// Whether the number of silent statements becomes known when the stream has come further.
    pub(super) const fn awaits_stream(&self) -> bool {
        self.over.is_some()
    }

    /// Whether all counted statements are known to be over and applied, so that the stream will tell of no more of them.
    pub(super) fn is_over_by_now(&self, told: StreamTold, counted: u64) -> bool {
        self.over.is_some_and(|(over, end)| over == counted && end <= told.applied)
    }

    /// Notes that all counted statements were over when the binlog ended at `end`.
    pub(super) fn is_over(&mut self, told: StreamTold, counted: u64, end: Position) {
        if told.generation == self.generation {
            self.over = Some((counted, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(accounts: u64, applied: u64) -> StreamTold {
        StreamTold { generation: 1, accounts, applied: Position::new(applied) }
    }

    /// Returns a state in which three statements were counted before, and the stream told of none.
    fn accounted() -> Accounted {
        let mut accounted = Accounted::default();
        accounted.reach(told(0, 10));
        assert!(!accounted.is_all_told(told(0, 10), 3), "nothing is known");
        accounted.is_over(told(0, 10), 3, Position::new(20));
        accounted.reach(told(0, 19));
        assert!(!accounted.is_all_told(told(0, 19), 3), "they may be told of yet");
        assert!(!accounted.is_over_by_now(told(0, 19), 3) && !accounted.is_over_by_now(told(0, 20), 4));
        assert!(accounted.is_over_by_now(told(0, 20), 3));
        accounted.reach(told(0, 20));
        assert!(accounted.is_all_told(told(0, 20), 3));
        accounted
    }

    #[test]
    fn what_is_counted_and_told_is_accounted_for() {
        let mut accounted = accounted();
        assert!(!accounted.is_all_told(told(0, 30), 4), "under way, silent, or not yet told of");
        assert!(accounted.is_all_told(told(1, 40), 4));
        assert!(accounted.is_all_told(told(7, 90), 10));
    }

    #[test]
    fn what_is_silent_is_never_made_up_for_by_what_is_told() {
        let mut accounted = accounted();
        assert!(!accounted.is_all_told(told(0, 30), 4));
        // The stream tells of statements that are logged later, each of which is counted.
        for later in 1..5 {
            assert!(!accounted.is_all_told(told(later, 40), 4 + later));
        }
        accounted.is_over(told(4, 50), 8, Position::new(60));
        accounted.reach(told(4, 60));
        assert!(accounted.is_all_told(told(4, 60), 8));
        assert!(!accounted.is_all_told(told(4, 60), 9));
    }

    #[test]
    fn what_was_over_when_the_stream_began_needs_no_look() {
        let mut accounted = Accounted::default();
        // An earlier stream has told of two, and this server has counted four since it was started.
        accounted.begin(told(2, 10), 4);
        assert!(accounted.is_all_told(told(2, 10), 4));
        assert!(!accounted.is_all_told(told(2, 10), 5));
        assert!(accounted.is_all_told(told(3, 20), 5));
        assert!(!accounted.is_all_told(StreamTold { generation: 2, ..told(3, 20) }, 5));
    }

    #[test]
    fn what_was_told_after_the_count_only_lowers_the_bound() {
        let mut accounted = accounted();
        accounted.is_over(told(0, 30), 4, Position::new(40));
        accounted.reach(told(2, 50));
        assert!(!accounted.is_all_told(told(2, 50), 6), "one of the four, or a later one, may be silent");
    }

    #[test]
    fn counts_that_fall_and_another_generation_prove_nothing() {
        let mut back = accounted();
        assert!(!back.is_all_told(told(0, 30), 0));
        assert!(!back.is_all_told(told(0, 30), 3));
        let mut other = accounted();
        let next = StreamTold { generation: 2, ..told(0, 30) };
        assert!(!other.is_all_told(next, 3));
        other.reach(next);
        assert!(!other.is_all_told(next, 3));
        other.is_over(told(0, 30), 3, Position::new(20));
        other.reach(next);
        assert!(!other.is_all_told(next, 3), "it was not over in this generation");
    }
}
