//! The place of a point of the upstream's binlog among all positions that this process has ever given out.
//!
//! A binlog coordinate is a file and an offset; the cache wants one number that only grows. The number is `base + (file's number - first
//! file's number) * 2^36 + offset`. The base is fixed when a stream starts, and lies above everything that was given out before. So
//! positions of two streams (even of two servers) are never mixed up: all older ones are smaller. With 36 bits a file may have 64 GiB
//! (the server starts a new one at 1 GiB, and only a single transaction can make one longer). 28 bits are left for files and restarts;
//! one stream uses 15 of them.
//!
//! # Steps
//!
//! A change that is in no binlog needs a position too ([`freshet_cache::freshness`]), and on an idle server no event brings the next one.
//! So the stream can make a *step*: a position of our own between the last event and the next. Each step adds one to all later positions.
//! Positions that were given out must keep their order, so a step is refused while a coordinate beyond the present one is given out. The
//! step is not needed then, because the stream comes to that coordinate by itself.
//!
//! A coordinate before the last step is located as if there had been no steps, so it is too early by the number of steps before it. A
//! coordinate is located for one of two questions. What does a snapshot contain? There, too early is safe. Where did the binlog end?
//! Everything up to the present coordinate is applied, so any position up to it says the same.

use freshet_cache::Position;

/// Bits of a position that hold the offset within one binlog file.
const OFFSET_BITS: u32 = 36;

/// The largest offset within a file that can be told apart from the next file.
const OFFSET_MAX: u64 = (1 << OFFSET_BITS) - 1;

/// The span of positions of one file, bytes.
const FILE_SPAN: u64 = 1 << OFFSET_BITS;

/// The most files that one stream may pass before it is started anew: 32 TiB of binlog at the server's default of 1 GiB a file. The cache
/// tells the positions of single rows in 51 bits from the start of the stream; 15 are left for files.
const FILES_MAX: u64 = (1 << 15) - 2;

/// The most steps that one stream may make before it is started anew: one file's span, which [`FILES_MAX`] leaves free. At a thousand a
/// second, they last two years.
const STEPS_MAX: u64 = FILE_SPAN - 1;

/// Why a coordinate has no place on this timeline. The stream cannot go on: it is started anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OffTimeline {
    /// Binlog files end in `.` and a number; this one does not.
    #[error("the binlog file name {0:?} does not end in a number")]
    Unnumbered(String),
    /// The server went back to an earlier file, as RESET does.
    #[error("the binlog went back from file number {from} to {to}")]
    Backwards {
        /// The file number the stream was in.
        from: u64,
        /// The file number the server named.
        to: u64,
    },
    /// The file or offset is beyond what a position can hold.
    #[error("the binlog coordinate ({file}, {offset}) is out of range")]
    OutOfRange {
        /// The number of the file.
        file: u64,
        /// The offset in it, bytes.
        offset: u64,
    },
    /// There is no room for another position of our own between those of the binlog.
    #[error("too many changes outside of the binlog")]
    TooManySteps,
}

/// One stream's mapping of binlog coordinates to positions, and the coordinate that the stream has reached.
#[derive(Debug)]
pub struct Timeline {
    base: u64,
    first_file: Option<u64>,
    file: u64,
    offset: u64,
    steps: u64,
    /// Where the last step was made, in positions without steps. Meaningless before the first step.
    stepped_at: u64,
    /// The greatest position that was given out for a coordinate.
    located: Position,
}

impl Timeline {
    /// Returns a timeline all of whose positions are greater than `highest`, the greatest position ever given out.
    #[must_use]
    pub fn after(highest: Position) -> Self {
        let base = (highest.get() >> OFFSET_BITS).saturating_add(1).saturating_mul(FILE_SPAN);
        let located = Position::ZERO;
        Self { base, first_file: None, file: 0, offset: 0, steps: 0, stepped_at: 0, located }
    }

    /// Returns the least position of this timeline: before every event that the stream can bring.
    #[must_use]
    pub fn start(&self) -> Position {
        Position::new(self.base)
    }

    /// Returns the position that the stream has reached.
    #[must_use]
    pub fn here(&self) -> Position {
        Position::new(self.unstepped(self.file, self.offset) + self.steps)
    }

    /// Makes a step: from now on the stream is one position further, where no event is. `None` if a coordinate beyond the present one was
    /// located; the stream has to reach that first.
    ///
    /// # Errors
    /// When there were too many steps.
    pub fn step(&mut self) -> Result<Option<Position>, OffTimeline> {
        if self.located > self.here() {
            return Ok(None);
        }
        if self.steps >= STEPS_MAX {
            return Err(OffTimeline::TooManySteps);
        }
        self.steps += 1;
        self.stepped_at = self.unstepped(self.file, self.offset);
        Ok(Some(self.here()))
    }

    /// Returns the offset in the present file, bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves the stream to `file` at `offset`, as a rotate event says; the first call fixes the first file.
    ///
    /// # Errors
    /// When the file is older than the one the stream is in, or has no number.
    pub fn rotate(&mut self, file: &[u8], offset: u64) -> Result<(), OffTimeline> {
        let number = file_number(file)?;
        let first = *self.first_file.get_or_insert(number);
        if number < self.file || number < first {
            return Err(OffTimeline::Backwards { from: self.file.max(first), to: number });
        }
        in_range(number - first, number, offset)?;
        if number > self.file {
            (self.file, self.offset) = (number, offset);
        } else {
            // The artificial rotate event at a stream's start may repeat the present place; it never moves the stream back.
            self.offset = self.offset.max(offset);
        }
        Ok(())
    }

    /// Moves the stream past an event whose header says that it ends at `end_pos`, which has only the low 32 bits. Zero stands in
    /// artificial events and says nothing.
    ///
    /// # Errors
    /// When the file has become longer than a position can hold.
    pub fn advance(&mut self, end_pos: u32) -> Result<Position, OffTimeline> {
        if end_pos != 0 {
            self.offset = self.unwrapped(end_pos)?;
        }
        Ok(self.here())
    }

    /// Returns the position of a coordinate that the server reported; `None` when it lies before this timeline's first file,
    /// or before the stream has named its first file.
    ///
    /// # Errors
    /// When the coordinate has no place on any timeline.
    pub fn locate(&mut self, file: &[u8], offset: u64) -> Result<Option<Position>, OffTimeline> {
        let number = file_number(file)?;
        let Some(first) = self.first_file.filter(|first| *first <= number) else { return Ok(None) };
        in_range(number - first, number, offset)?;
        let unstepped = self.unstepped(number, offset);
        let steps = if unstepped < self.stepped_at { 0 } else { self.steps };
        let position = Position::new(unstepped + steps);
        self.located = self.located.max(position);
        Ok(Some(position))
    }

    /// Returns the whole offset. One event has little more than 1 GiB at the most (`max_allowed_packet`), so low bits that fall by more
    /// than 2 GiB have wrapped. Low bits that fall by less are those of an event that is repeated for us (the format description, when a
    /// stream starts in the middle of a file): they say nothing.
    fn unwrapped(&self, end_pos: u32) -> Result<u64, OffTimeline> {
        const WRAP: u64 = 1 << 32;
        let high = self.offset & !(WRAP - 1);
        let offset = high + u64::from(end_pos);
        let offset = if offset + WRAP / 2 < self.offset { offset + WRAP } else { offset.max(self.offset) };
        in_range(0, self.file, offset)?;
        Ok(offset)
    }

    /// Returns the position of a coordinate of this timeline without steps.
    fn unstepped(&self, file: u64, offset: u64) -> u64 {
        self.base + file.saturating_sub(self.first_file.unwrap_or(file)) * FILE_SPAN + offset
    }
}

fn in_range(files_passed: u64, file: u64, offset: u64) -> Result<(), OffTimeline> {
    if files_passed > FILES_MAX || offset > OFFSET_MAX {
        return Err(OffTimeline::OutOfRange { file, offset });
    }
    Ok(())
}

/// Returns the number of a file: `mysql-bin.000042` is 42. The number outgrows its six digits after a million files.
fn file_number(file: &[u8]) -> Result<u64, OffTimeline> {
    let unnumbered = || OffTimeline::Unnumbered(String::from_utf8_lossy(file).into_owned());
    let text = std::str::from_utf8(file).map_err(|_| unnumbered())?;
    let (_, digits) = text.rsplit_once('.').ok_or_else(unnumbered)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(unnumbered());
    }
    digits.parse().map_err(|_| unnumbered())
}

#[cfg(test)]
mod tests;
