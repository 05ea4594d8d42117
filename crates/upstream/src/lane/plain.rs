//! Answers that are rows and nothing else: what their packets say besides the rows.

use freshet_protocol::{HEADER_LEN, Part, Seen, StatusFlags};

/// The length of an OK packet, or of an EOF packet, that says nothing beyond status and warnings.
const BARE_MAX: usize = 7;

/// An answer of rows whose packets say nothing about the session. Any client gets its bytes as they are, but for the status flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainAnswer {
    /// How many rows it has.
    pub rows: u64,
    /// The number of warnings, the same in each packet that tells it.
    pub warnings: u16,
    /// The status flags at its end.
    pub status: StatusFlags,
    /// The status flags of all its packets.
    pub statuses: StatusFlags,
    /// Where the status flags stand in its bytes, behind the columns and behind the rows; [`u32::MAX`] where there are none.
    pub status_at: [u32; 2],
}

/// What has been seen of an answer that may be plain.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainSoFar {
    answer: PlainAnswer,
    /// Whether everything so far is plain.
    is_plain: bool,
    is_complete: bool,
}

impl Default for PlainSoFar {
    fn default() -> Self {
        let answer = PlainAnswer {
            rows: 0,
            warnings: 0,
            status: StatusFlags::empty(),
            statuses: StatusFlags::empty(),
            status_at: [u32::MAX; 2],
        };
        Self { answer, is_plain: true, is_complete: false }
    }
}

impl PlainSoFar {
    /// Notes so many rows.
    pub(super) fn rows(&mut self, rows: u64) {
        self.answer.rows += rows;
    }

    /// Notes a packet of `len` bytes, whose frame is `at` bytes behind the beginning of the answer.
    pub(super) fn see(&mut self, seen: &Seen, at: usize, len: usize) {
        match seen.part {
            Part::Row => self.rows(1),
            Part::ColumnCount | Part::Column | Part::Continuation => {}
            Part::ColumnsEnd | Part::RowsEnd => self.end(seen, at, len),
            _ => self.is_plain = false,
        }
    }

    fn end(&mut self, seen: &Seen, at: usize, len: usize) {
        let (Some(status), Some(status_at), Some(warnings)) = (seen.status, seen.status_at, seen.warnings)
        else {
            self.is_plain = false;
            return;
        };
        let answer = &mut self.answer;
        let is_quiet = len <= BARE_MAX && !status.contains(StatusFlags::SESSION_STATE_CHANGED);
        let is_first = answer.status_at == [u32::MAX; 2];
        self.is_plain &= is_quiet && (is_first || warnings == answer.warnings);
        answer.warnings = warnings;
        answer.status = status;
        answer.statuses |= status;
        let is_end = seen.part == Part::RowsEnd;
        let place = u32::try_from(at + HEADER_LEN + status_at).unwrap_or(u32::MAX);
        // Nothing comes behind the rows.
        self.is_plain &= answer.status_at[usize::from(is_end)] == u32::MAX;
        answer.status_at[usize::from(is_end)] = place;
        self.is_complete |= is_end && seen.last;
    }

    /// Returns the answer, if it is complete and plain.
    pub(super) fn finish(self) -> Option<PlainAnswer> {
        (self.is_plain && self.is_complete).then_some(self.answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(part: Part, status: StatusFlags, warnings: u16) -> Seen {
        let last = part == Part::RowsEnd;
        Seen { part, last, status: Some(status), status_at: Some(3), warnings: Some(warnings) }
    }

    fn plain(part: Part) -> Seen {
        Seen { part, last: false, status: None, status_at: None, warnings: None }
    }

    fn answer(ends: [(Seen, usize); 2]) -> Option<PlainAnswer> {
        let mut so_far = PlainSoFar::default();
        so_far.see(&plain(Part::ColumnCount), 0, 1);
        so_far.see(&plain(Part::Column), 5, 30);
        so_far.see(&ends[0].0, 39, ends[0].1);
        so_far.see(&plain(Part::Row), 48, 3);
        so_far.see(&ends[1].0, 55, ends[1].1);
        so_far.finish()
    }

    #[test]
    fn rows_and_nothing_else_are_plain() {
        const NONE: StatusFlags = StatusFlags::empty();
        let autocommit = StatusFlags::AUTOCOMMIT;
        let end = |status, warnings| seen(Part::RowsEnd, status, warnings);
        let columns = seen(Part::ColumnsEnd, NONE, 1);
        let whole = answer([(columns, 5), (end(autocommit, 1), 5)]).unwrap();
        assert_eq!((whole.rows, whole.warnings, whole.status_at), (1, 1, [46, 62]));
        assert_eq!((whole.status, whole.statuses), (autocommit, autocommit));
        for other in [
            answer([(columns, 5), (end(autocommit, 2), 5)]),
            answer([(columns, 5), (end(StatusFlags::SESSION_STATE_CHANGED, 1), 5)]),
            answer([(columns, 5), (end(NONE, 1), 8)]),
            answer([(columns, 5), (Seen { last: false, ..end(NONE, 1) }, 5)]),
            answer([(columns, 5), (plain(Part::Err), 9)]),
            answer([(plain(Part::Ok), 7), (end(NONE, 1), 5)]),
        ] {
            assert_eq!(other, None);
        }
    }
}
