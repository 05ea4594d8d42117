//! Follows the server's answer to one command, frame by frame.
//!
//! A relay must know where an answer ends and where the status flags stand, and nothing else. Which bytes tell that depends on the
//! command, on the capabilities and on the earlier packets; this state machine follows them. It reads a byte of each row, allocates
//! nothing and keeps no payload.
//!
//! The protocol's description leaves out much of what the servers do. Where a comment here says so, the behaviour was seen on MariaDB
//! 10.11 and MySQL 9.7.

mod part;
mod state;

#[cfg(test)]
mod tests;

pub use part::{Part, Seen};

use self::state::{Due, State};
use crate::reply::summary;
use crate::{Capabilities, Command, EofPacket, ErrPacket, FRAME_MAX, HEADER_LEN, Malformed, OkPacket};
use crate::{PrepareOk, Reader, StatusFlags};

/// The first byte of the server's request for a file.
const LOCAL_INFILE: u8 = 0xFB;
/// The least length of an OK packet, in bytes.
const OK_LEN_MIN: usize = 7;

/// Rows at the front of some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowsAtFront {
    /// How many bytes they take, with their headers.
    pub bytes: usize,
    /// How many they are.
    pub rows: u64,
}

/// Follows one answer, from its first frame to its last.
#[derive(Clone, Debug)]
pub struct Answer {
    caps: Capabilities,
    state: State,
    /// A frame of [`FRAME_MAX`] bytes came last, so the next one continues its
    /// packet; and whether the answer ends with that packet.
    continued: Option<bool>,
    /// The answer may end behind its columns, because a cursor was opened.
    opens_cursor: bool,
    /// The answer is a run of rows that no other result can follow.
    only_rows: bool,
    /// The EOF packet behind the columns announced another result.
    announced: bool,
}

impl Answer {
    /// Expects the answer to `command` on a connection whose two ends have
    /// agreed on `caps` (both have them, not just one).
    ///
    /// `COM_CHANGE_USER` is answered by a dialogue of authentication, which
    /// [`AuthReply`](crate::AuthReply) reads.
    #[must_use]
    pub const fn to(command: Command, caps: Capabilities) -> Self {
        let state = State::at_first(command);
        Self {
            caps,
            state,
            continued: None,
            opens_cursor: matches!(command, Command::StmtExecute),
            only_rows: matches!(state, State::Rows),
            announced: false,
        }
    }

    /// Whether the server answers `command` at all.
    #[must_use]
    pub const fn has_answer(command: Command) -> bool {
        !matches!(State::at_first(command), State::Done)
    }

    /// Whether nothing more comes, except the continuation of the last packet.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.state, State::Done) && self.continued.is_none()
    }

    /// Whether [`Answer::see`] must be given the whole payload of the next
    /// frame, of which the length and the first byte are known (any byte will
    /// do for an empty frame). False for rows and continuations: their bytes
    /// need not be buffered.
    #[must_use]
    pub const fn wants_whole(&self, frame_len: usize, first: u8) -> bool {
        if self.continued.is_some() {
            return false;
        }
        match self.state {
            State::Rows => first == ErrPacket::HEADER || self.ends(frame_len, first),
            _ => true,
        }
    }

    /// Returns the whole rows at the front of `bytes`, of which each has one frame. They need not be given to [`Answer::see`]: nothing but
    /// rows would be seen.
    #[must_use]
    pub fn rows_at_front(&self, bytes: &[u8]) -> RowsAtFront {
        let mut rows = RowsAtFront::default();
        if !matches!(self.state, State::Rows) || self.continued.is_some() {
            return rows;
        }
        let mut rest = bytes;
        while let Some((&[a, b, c, _, first], _)) = rest.split_first_chunk::<{ HEADER_LEN + 1 }>() {
            let len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            // An ERR packet and the end of the rows begin like that, and so do very long rows.
            let may_be_else = first >= EofPacket::HEADER || len == 0 || len == FRAME_MAX;
            let Some(behind) = rest.get(HEADER_LEN + len..).filter(|_| !may_be_else) else { break };
            rows.rows += 1;
            rest = behind;
        }
        rows.bytes = bytes.len() - rest.len();
        rows
    }

    /// Takes the next frame: its length, and its payload or, where
    /// [`Answer::wants_whole`] says so, no more than the first byte of it.
    ///
    /// # Errors
    /// If the frame cannot be what must come now. Where the answer ends is
    /// then unknown, and the connection of no further use.
    pub fn see(&mut self, frame_len: usize, head: &[u8]) -> Result<Seen, Malformed> {
        let mut seen = match self.continued.take() {
            Some(last) => Seen { last, ..Seen::plain(Part::Continuation) },
            None => self.begin(frame_len, head)?,
        };
        if frame_len == FRAME_MAX {
            self.continued = Some(std::mem::replace(&mut seen.last, false));
        }
        Ok(seen)
    }

    /// Notes that the client has sent its file, and the empty packet behind it; the server's reply to the file comes next. Without a
    /// request for a file this does nothing.
    pub const fn infile_done(&mut self) {
        if matches!(self.state, State::Infile) {
            self.state = State::Result;
        }
    }

    /// Reads the first frame of a packet.
    fn begin(&mut self, len: usize, head: &[u8]) -> Result<Seen, Malformed> {
        let first = *head.first().ok_or(Malformed::new("empty packet"))?;
        if first == ErrPacket::HEADER && !matches!(self.state, State::Done) {
            return self.error(head);
        }
        match self.state {
            State::Rows if !self.ends(len, first) => Ok(Seen::plain(Part::Row)),
            State::Rows => self.rows_end(len, head),
            State::Result => self.result(len, head),
            State::Columns(due) => self.columns(due, len, head),
            State::Prepare => self.prepare_ok(head),
            State::Prepared { parameters, columns } => self.definitions(parameters, columns, len, head),
            State::FieldList => self.field_list(len, head),
            State::Text => {
                self.state = State::Done;
                Ok(Seen { last: true, ..Seen::plain(Part::Text) })
            }
            State::Infile => Err(Malformed::new("answer before the file")),
            State::Done => Err(Malformed::new("packet behind the answer")),
        }
    }

    /// Whether a packet among rows or columns is the end of them. A row can
    /// start with 0xFE only where that is the prefix of a length of eight
    /// bytes: of a value of at least 16 MiB, whose frame therefore is full.
    const fn ends(&self, len: usize, first: u8) -> bool {
        let end = if self.caps.deprecate_eof() { FRAME_MAX } else { EofPacket::LEN_END };
        first == EofPacket::HEADER && len < end
    }

    /// An error ends the answer wherever it comes; a report of progress, which
    /// looks like one, ends nothing.
    fn error(&mut self, head: &[u8]) -> Result<Seen, Malformed> {
        let reader = &mut Reader::new(head);
        reader.u8()?;
        if reader.u16()? == ErrPacket::PROGRESS {
            return Ok(Seen::plain(Part::Progress));
        }
        self.state = State::Done;
        Ok(Seen { last: true, ..Seen::plain(Part::Err) })
    }

    /// Reads the first packet of a result.
    fn result(&mut self, len: usize, head: &[u8]) -> Result<Seen, Malformed> {
        match head.first() {
            // An EOF packet answers COM_SET_OPTION and COM_DEBUG.
            Some(&(OkPacket::HEADER | EofPacket::HEADER)) => {
                let seen = self.closing(Part::Ok, len, head)?;
                Ok(self.end_result(seen))
            }
            Some(&LOCAL_INFILE) => {
                self.state = State::Infile;
                Ok(Seen::plain(Part::LocalInfile))
            }
            _ => self.column_count(head),
        }
    }

    /// Reads the number of columns. Behind it a byte says whether their definitions
    /// follow, if MariaDB's clients may know them already or MySQL's may not
    /// want them. (MySQL's description puts that byte first; it is not.) An
    /// EOF packet behind the columns comes even if the columns do not.
    fn column_count(&mut self, head: &[u8]) -> Result<Seen, Malformed> {
        const SAYS_METADATA: Capabilities =
            Capabilities::OPTIONAL_RESULTSET_METADATA.union(Capabilities::MARIADB_CACHE_METADATA);
        let reader = &mut Reader::new(head);
        let count = reader.lenenc_int()?;
        let says = self.caps.intersects(SAYS_METADATA) && !reader.is_empty();
        let left = if says && reader.u8()? == 0 { 0 } else { count };
        self.announced = false;
        self.expect_columns(Due { left, end: !self.caps.deprecate_eof() });
        Ok(Seen::plain(Part::ColumnCount))
    }

    /// Waits for the definitions that are due, or otherwise for the rows.
    const fn expect_columns(&mut self, due: Due) {
        self.state = if due.is_nothing() { State::Rows } else { State::Columns(due) };
    }

    fn columns(&mut self, due: Due, len: usize, head: &[u8]) -> Result<Seen, Malformed> {
        if due.left > 0 {
            self.expect_columns(due.without_one());
            return Ok(Seen::plain(Part::Column));
        }
        // MySQL answers a statement that is executed without a cursor after
        // one with a cursor like this: columns, no EOF packet, no rows, OK.
        if head.first() == Some(&OkPacket::HEADER) {
            let seen = self.closing(Part::Ok, len, head)?;
            return Ok(self.end_result(seen));
        }
        let seen = self.closing(Part::ColumnsEnd, len, head)?;
        let status = seen.status.unwrap_or_default();
        if self.opens_cursor && status.contains(StatusFlags::CURSOR_EXISTS) {
            self.state = State::Done;
            return Ok(Seen { last: true, ..seen });
        }
        // MySQL says MORE_RESULTS of OUT parameters only here, not behind
        // their rows, and yet an OK packet follows those.
        self.announced = status.contains(StatusFlags::PS_OUT_PARAMS.union(StatusFlags::MORE_RESULTS));
        self.state = State::Rows;
        Ok(seen)
    }

    /// Reads the end of rows; also of the columns of a cursor, where EOF packets are
    /// deprecated.
    fn rows_end(&mut self, len: usize, head: &[u8]) -> Result<Seen, Malformed> {
        let seen = self.closing(Part::RowsEnd, len, head)?;
        Ok(self.end_result(seen))
    }

    /// Ends one result, and with it the answer unless another is announced.
    fn end_result(&mut self, seen: Seen) -> Seen {
        let status = seen.status.unwrap_or_default();
        let announced = std::mem::take(&mut self.announced);
        let more = !self.only_rows && (announced || status.contains(StatusFlags::MORE_RESULTS));
        self.state = if more { State::Result } else { State::Done };
        Seen { last: !more, ..seen }
    }

    /// Reads the head of the answer to a preparation. Behind each kind of definition
    /// an EOF packet comes even if the client did not want the definitions.
    fn prepare_ok(&mut self, head: &[u8]) -> Result<Seen, Malformed> {
        let ok = PrepareOk::parse(head, self.caps)?;
        let due = |count: u16| Due {
            left: if ok.metadata_follows { u64::from(count) } else { 0 },
            end: count > 0 && !self.caps.deprecate_eof(),
        };
        let last = self.expect_definitions(due(ok.parameters), due(ok.columns));
        Ok(Seen { last, warnings: Some(ok.warnings), ..Seen::plain(Part::PrepareOk) })
    }

    /// Waits for the definitions that are due; true if none are.
    const fn expect_definitions(&mut self, parameters: Due, columns: Due) -> bool {
        let done = parameters.is_nothing() && columns.is_nothing();
        self.state = if done { State::Done } else { State::Prepared { parameters, columns } };
        done
    }

    fn definitions(
        &mut self,
        parameters: Due,
        columns: Due,
        len: usize,
        head: &[u8],
    ) -> Result<Seen, Malformed> {
        let (part, end, due) = if parameters.is_nothing() {
            (Part::Column, Part::ColumnsEnd, columns)
        } else {
            (Part::Parameter, Part::ParametersEnd, parameters)
        };
        let seen = if due.left > 0 { Seen::plain(part) } else { self.closing(end, len, head)? };
        let last = if parameters.is_nothing() {
            self.expect_definitions(parameters, due.without_one())
        } else {
            self.expect_definitions(due.without_one(), columns)
        };
        Ok(Seen { last, ..seen })
    }

    fn field_list(&mut self, len: usize, head: &[u8]) -> Result<Seen, Malformed> {
        if head.first().is_some_and(|&first| !self.ends(len, first)) {
            return Ok(Seen::plain(Part::Column));
        }
        self.state = State::Done;
        Ok(Seen { last: true, ..self.closing(Part::ColumnsEnd, len, head)? })
    }

    /// Reads status and warnings of an OK or EOF packet. For a header of 0xFE, the length tells which of the two it is, whatever was
    /// agreed.
    fn closing(&self, part: Part, len: usize, head: &[u8]) -> Result<Seen, Malformed> {
        if head.first() == Some(&EofPacket::HEADER) && len < OK_LEN_MIN {
            let EofPacket { warnings, status } = EofPacket::parse(head)?;
            return Ok(Seen {
                status: Some(status),
                status_at: Some(EofPacket::STATUS_AT),
                warnings: Some(warnings),
                ..Seen::plain(part)
            });
        }
        if !matches!(head.first(), Some(&(OkPacket::HEADER | OkPacket::HEADER_AS_EOF))) {
            return Err(Malformed::new("end of columns"));
        }
        let ok = summary(head)?;
        Ok(Seen {
            status: Some(ok.status),
            status_at: Some(ok.status_at),
            warnings: Some(ok.warnings),
            ..Seen::plain(part)
        })
    }
}
