//! The server's answer to one command on its way to the client: passed on as it is, followed frame by frame so that
//! its end is known, and copied on the way if it may be stored. `session/exchange.rs` reads and sends it.
//!
//! Freshet changes only packets with a session's state: it removes the reports that *Freshet* asked the server for
//! (GTIDs, watched variables), and a client that did not ask for session tracking gets the form of
//! OK packet that it understands.

// What is taken from an answer, and what is taken out of it.
mod capture;
mod filter;

// Rows of the server's that Freshet corrects.
mod text_row;
mod listed;
mod uncounted;
mod processes;
mod own_channel;

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use bytes::{Buf as _, BytesMut};
use freshet_protocol::{
    Answer, Capabilities, Command, ErrPacket, FRAME_MAX, FrameHeader, HEADER_LEN, Malformed, Part, PrepareOk,
    RowsAtFront, Seen, StateChange, StatusFlags, put_packet,
};

use crate::why::Why;
use crate::wire::WireError;

use capture::END_BYTES;
pub(crate) use capture::{Capture, Captured, is_own};
pub(crate) use filter::Filter;
pub(crate) use listed::Listed;
pub(crate) use own_channel::{ChannelLayers, OwnChannel, PutRight, row_of};
pub(crate) use processes::{Processes, listed as listed_process};
pub(crate) use uncounted::{Controls, Own, Repeated, ServedCounts, Uncounted, flushes_status};

/// Which side's connection is gone in the middle of an exchange. In each case both connections are over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    /// The client is gone, or sent a packet that is not understood.
    #[error("the client's connection: {0}")]
    Client(WireError),
    /// The server is gone.
    #[error("the server's connection: {0}")]
    Upstream(std::io::Error),
    /// The server sent a packet that is not understood.
    #[error("the server's answer: {}", .0.what)]
    Malformed(Malformed),
}

impl From<WireError> for Lost {
    fn from(error: WireError) -> Self {
        Self::Client(error)
    }
}

impl From<Malformed> for Lost {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

/// The facts that an answer reports.
#[derive(Debug, Default)]
pub(crate) struct Relayed {
    /// The session's status flags after the answer.
    pub(crate) status: Option<StatusFlags>,
    /// The code of the error that ended the answer.
    pub(crate) error: Option<u16>,
    /// The server's ERR packet.
    pub(crate) refusal: Option<Box<ErrPacket>>,
    /// The number of OK packets and result sets.
    pub(crate) results: u32,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The number of changed rows that the answer reports.
    pub(crate) affected: u64,
    /// How many bytes of the answer have arrived.
    pub(crate) bytes: usize,
    /// How long the answer took, from the sending of the command, in microseconds.
    pub(crate) took_us: u32,
    /// How long the statement took, from before all that had to precede the command.
    pub(crate) lasted: Duration,
    /// When the answer had come, if the command was sent.
    pub(crate) ended: Option<Instant>,
    /// The tag of the digest under which the statement is counted.
    pub(crate) tag: u16,
    /// A packet reported warnings.
    pub(crate) warned: bool,
    /// A packet reported an id that was given out or set.
    pub(crate) tells_id: bool,
    /// The GTIDs of the commit, as the server wrote them.
    pub(crate) gtids: Vec<Vec<u8>>,
    /// The default schema or a watched variable has changed.
    pub(crate) session_changed: bool,
    /// The session's writes may be kept out of the binlog from now on, or have been during the statement.
    pub(crate) unlogged: bool,
    /// Session state of any kind has changed, possibly by a trigger or a function that no statement mentions.
    pub(crate) state_changed: bool,
    /// The answer ended with an EOF packet that announces a change. The next OK packet says what has changed.
    pub(crate) announced: bool,
    /// The answer ended with an EOF packet, which has no room to say what has changed.
    pub(crate) has_no_room: bool,
    /// The reports of schemas and variables, without GTIDs.
    pub(crate) told: Vec<StateChange>,
    /// Whether a characteristic holds for the present or the next transaction alone, if the server said so.
    pub(crate) characteristics: Option<bool>,
    /// The server's reply to a preparation.
    pub(crate) prepared: Option<Box<PrepareOk>>,
    /// The client's number of the prepared statement, if it is not the server's.
    pub(crate) numbered: Option<NonZeroU32>,
    /// The command was not sent, because its transaction could not go on.
    pub(crate) is_unsent: bool,
    /// The bytes of the answer, if they were asked for and may be stored.
    pub(crate) captured: Option<Captured>,
    /// Why the bytes may not be stored, if they were asked for.
    pub(crate) uncaptured: Option<Why>,
}

impl Relayed {
    /// Makes the result of a command that was not sent, and was answered with this error.
    pub(crate) fn unsent(code: u16) -> Self {
        Self { error: Some(code), is_unsent: true, ..Self::default() }
    }

    /// Returns the default schema, if it was reported.
    pub(crate) fn schema(&self) -> Option<&[u8]> {
        self.told.iter().rev().find_map(|change| match change {
            StateChange::Schema(schema) => Some(schema.as_slice()),
            _ => None,
        })
    }

    /// Takes over the facts that a packet reports.
    fn note(&mut self, seen: &Seen, payload: &[u8], capabilities: Capabilities) -> Result<(), Malformed> {
        if let Some(status) = seen.status {
            self.status = Some(status);
        }
        self.warned |= seen.warnings.is_some_and(|warnings| warnings > 0);
        match seen.part {
            Part::Err => {
                let refusal = ErrPacket::parse(payload)?;
                self.error = Some(refusal.code);
                self.refusal = Some(Box::new(refusal));
            }
            Part::PrepareOk => self.prepared = Some(Box::new(PrepareOk::parse(payload, capabilities)?)),
            Part::Ok | Part::RowsEnd => {
                self.results += 1;
                self.note_ok(seen, payload, capabilities)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn note_ok(&mut self, seen: &Seen, payload: &[u8], capabilities: Capabilities) -> Result<(), Malformed> {
        let Some(ok) = filter::as_ok(seen, payload, capabilities)? else {
            self.announced |= filter::announces(seen);
            self.has_no_room = true;
            return Ok(());
        };
        if seen.part == Part::Ok {
            self.affected = self.affected.saturating_add(ok.affected_rows);
            self.tells_id |= ok.last_insert_id != 0;
        }
        for change in &ok.changes {
            match change {
                StateChange::Gtids(gtids) => self.gtids.push(gtids.clone()),
                StateChange::SystemVariable { name, value } if name == b"last_gtid" => {
                    self.gtids.push(value.clone());
                }
                StateChange::SessionState(_) => self.state_changed = true,
                StateChange::TransactionCharacteristics(text) => {
                    self.characteristics = Some(!text.is_empty())
                }
                StateChange::SystemVariable { name, .. } if name == b"autocommit" => {
                    self.told.push(change.clone());
                }
                StateChange::SystemVariable { name, .. } => {
                    self.told.push(change.clone());
                    self.session_changed = true;
                    // The report gives the final value: a routine may have turned the binlog off and on again.
                    self.unlogged |= name == b"sql_log_bin";
                }
                StateChange::Schema(_) => {
                    self.told.push(change.clone());
                    self.session_changed = true;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// One answer on its way. It may arrive in any pieces. This type neither reads nor sends.
pub(crate) struct Relay<'a> {
    filter: &'a Filter<'a>,
    /// The capabilities of the server's connection.
    capabilities: Capabilities,
    answer: Answer,
    capture: Option<Capture>,
    put_right: Option<PutRight>,
    listed: Option<Listed>,
    relayed: Relayed,
    /// How many bytes at the front of the server's buffer are checked and pass unchanged.
    checked: usize,
    /// How many bytes of an unchecked frame are still to come.
    unseen: usize,
}

impl<'a> Relay<'a> {
    /// Follows the answer to `command` over a connection with `capabilities`.
    pub(crate) fn new(filter: &'a Filter<'a>, command: Command, capabilities: Capabilities) -> Self {
        Self {
            filter,
            capabilities,
            answer: Answer::to(command, capabilities),
            capture: None,
            put_right: None,
            listed: None,
            relayed: Relayed::default(),
            checked: 0,
            unseen: 0,
        }
    }

    /// Copies the answer while it passes.
    pub(crate) fn capture(&mut self, capture: Option<Capture>) {
        self.capture = capture;
    }

    /// Corrects rows while they pass. Rows that describe one client's channel are not stored.
    pub(crate) fn put_right(&mut self, put_right: PutRight) {
        if !matches!(put_right, PutRight::FoundRows(_)) {
            self.capture = None;
        }
        self.put_right = Some(put_right);
    }

    /// Gives the prepared statement this number in the place of the server's, if there is one.
    pub(crate) fn number(&mut self, number: Option<NonZeroU32>) {
        self.relayed.numbered = number;
    }

    /// Puts rows of Freshet's own among the others while they pass.
    pub(crate) fn list(&mut self, listed: Option<Listed>) {
        self.listed = listed;
    }

    /// Checks all bytes that have arrived, and moves the bytes that may pass to the client's buffer; without a buffer they are dropped.
    ///
    /// # Errors
    /// The server's bytes are no answer.
    pub(crate) fn follow(
        &mut self,
        buffer: &mut BytesMut,
        mut out: Option<&mut BytesMut>,
    ) -> Result<RelayStep, Malformed> {
        loop {
            if let Some(step) = self.next(buffer, &mut out)? {
                self.release(buffer, &mut out);
                return Ok(step);
            }
        }
    }

    /// Whether any part of the answer has arrived.
    pub(crate) fn has_begun(&self) -> bool {
        self.relayed.bytes > 0 || self.checked > 0
    }

    /// Returns the facts of the whole answer.
    pub(crate) fn finish(mut self) -> Relayed {
        self.relayed.numbered = self.relayed.numbered.filter(|_| self.relayed.prepared.is_some());
        match self.capture.map(Capture::finish) {
            Some(Ok(captured)) => self.relayed.captured = Some(captured),
            Some(Err(why)) => self.relayed.uncaptured = Some(why),
            None => {}
        }
        self.relayed
    }

    /// Notes that the answer is not read on before the client has taken the bytes that are there.
    pub(crate) fn is_held_up(&mut self) {
        self.capture.iter_mut().for_each(Capture::lets_go);
    }

    /// Notes that the client's file has been sent.
    pub(crate) fn infile_done(&mut self) {
        self.capture = None;
        self.answer.infile_done();
    }

    /// Handles the next frame, if enough of it has arrived. `None`: there may be another frame.
    fn next(
        &mut self,
        buffer: &mut BytesMut,
        out: &mut Option<&mut BytesMut>,
    ) -> Result<Option<RelayStep>, Malformed> {
        let here = &buffer[self.checked..];
        if self.unseen > 0 {
            let passed = self.unseen.min(here.len());
            self.unseen -= passed;
            self.checked += passed;
            return Ok((self.unseen > 0).then_some(RelayStep::NeedMore));
        }
        let are_rows_wanted = self.put_right.is_some() || self.listed.is_some();
        let rows = if are_rows_wanted { RowsAtFront::default() } else { self.answer.rows_at_front(here) };
        if rows.rows > 0 {
            self.checked += rows.bytes;
            self.note_rows(rows.rows);
            return Ok(None);
        }
        let Some(header) = FrameHeader::parse(here) else { return Ok(Some(RelayStep::NeedMore)) };
        let body = &here[HEADER_LEN..];
        if body.is_empty() && header.len > 0 {
            return Ok(Some(RelayStep::NeedMore));
        }
        let first = body.first().copied().unwrap_or(0);
        let is_row_wanted = are_rows_wanted && header.len < FRAME_MAX;
        if !is_row_wanted && !self.answer.wants_whole(header.len, first) {
            let here = body.len().min(header.len);
            let seen = self.answer.see(header.len, &body[..here])?;
            self.unseen = header.len - here;
            self.checked += HEADER_LEN + here;
            if seen.part == Part::Row {
                self.note_rows(1);
            }
            return Ok((self.unseen > 0).then_some(RelayStep::NeedMore));
        }
        if body.len() < header.len {
            return Ok(Some(RelayStep::NeedMore));
        }
        self.whole(header, buffer, out)
    }

    /// Handles a packet about the answer or the session; all of the packet has arrived.
    fn whole(
        &mut self,
        header: FrameHeader,
        buffer: &mut BytesMut,
        out: &mut Option<&mut BytesMut>,
    ) -> Result<Option<RelayStep>, Malformed> {
        let capabilities = self.capabilities;
        let start = self.checked + HEADER_LEN;
        let payload = &buffer[start..start + header.len];
        let seen = self.answer.see(header.len, payload)?;
        self.relayed.note(&seen, payload, capabilities)?;
        let row = self.put_right.as_ref().filter(|_| seen.part == Part::Row).and_then(|it| it.row(payload));
        let numbered = self.relayed.numbered.filter(|_| seen.part == Part::PrepareOk);
        let rewritten = match row.or_else(|| filter::numbered(payload, numbered?)) {
            Some(payload) => Some(payload),
            None => self.filter.rewritten(&seen, payload, capabilities)?,
        };
        if seen.part == Part::Row {
            self.note_rows(1);
        } else if let Some(capture) = &mut self.capture {
            if seen.part == Part::Err {
                capture.refused(payload);
            }
            let passed = rewritten.as_deref().unwrap_or(payload);
            let is_news = self.filter.is_news(&seen, payload, passed, capabilities)?;
            capture.packet(&filter::as_passed(&seen, passed), self.checked, is_news);
        }
        match (rewritten, &self.listed) {
            (None, None) => self.checked += HEADER_LEN + header.len,
            (rewritten, _) => {
                let payload = rewritten.unwrap_or_else(|| payload.to_vec());
                self.release(buffer, out);
                buffer.advance(HEADER_LEN + header.len);
                self.put_listed(seen.part, header, &payload, out);
            }
        }
        Ok(match seen {
            Seen { part: Part::LocalInfile, .. } => Some(RelayStep::Infile { seq: header.seq }),
            Seen { last: true, .. } => Some(RelayStep::Last),
            _ => None,
        })
    }

    fn note_rows(&mut self, rows: u64) {
        self.relayed.rows += rows;
        self.capture.iter_mut().for_each(|capture| capture.rows(rows));
    }

    /// Passes `payload` in the place of a frame, after the rows of Freshet's own that come before it.
    fn put_listed(
        &mut self,
        part: Part,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Option<&mut BytesMut>,
    ) {
        let Some(mut listed) = self.listed.take() else { return self.put(header, payload, out) };
        let placed = |shift: u8| FrameHeader { seq: header.seq.wrapping_add(shift), ..header };
        while let Some(row) = match part {
            Part::Row => listed.next_before(payload),
            Part::RowsEnd => listed.next(),
            _ => None,
        } {
            self.put(placed(listed.shift), &row, out);
            listed.shift = listed.shift.wrapping_add(1);
        }
        if part == Part::Row && listed.is_ours(payload) {
            listed.shift = listed.shift.wrapping_sub(1);
        } else {
            self.put(placed(listed.shift), payload, out);
        }
        self.listed = Some(listed);
    }

    /// Passes `payload` in the place of a frame.
    fn put(&mut self, header: FrameHeader, payload: &[u8], out: &mut Option<&mut BytesMut>) {
        let mut seq = header.seq;
        let mut frame = BytesMut::with_capacity(HEADER_LEN + payload.len());
        put_packet(&mut frame, &mut seq, payload);
        pass(out, &mut self.capture, &frame);
    }

    /// Moves the checked bytes to the client's buffer.
    fn release(&mut self, buffer: &mut BytesMut, out: &mut Option<&mut BytesMut>) {
        pass(out, &mut self.capture, &buffer[..self.checked]);
        buffer.advance(self.checked);
        self.relayed.bytes += self.checked;
        self.checked = 0;
    }
}

/// Puts bytes into the client's buffer, and into the copy.
fn pass(out: &mut Option<&mut BytesMut>, capture: &mut Option<Capture>, bytes: &[u8]) {
    if let Some(out) = out {
        if out.capacity() - out.len() < bytes.len() {
            out.reserve(bytes.len() + END_BYTES);
        }
        out.extend_from_slice(bytes);
    }
    if let Some(capture) = capture {
        capture.bytes(bytes);
    }
}

/// What a relay needs next.
pub(crate) enum RelayStep {
    /// More bytes of the answer.
    NeedMore,
    /// The client's file.
    Infile { seq: u8 },
    /// Nothing: the answer is complete.
    Last,
}

#[cfg(test)]
mod tests;
