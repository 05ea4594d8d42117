//! The server's answer to one command on its way to the client: passed on as it is, followed frame by frame so that
//! its end is known, and copied on the way when it may be stored. Who reads and sends it is `session/exchange.rs`.
//!
//! Only packets that carry a session's state are ever changed: what the server reports because *we* asked it to
//! (GTIDs, watched variables) is taken out again, and a client that did not ask for session tracking gets the form of
//! OK packet it understands.

mod capture;
mod filter;
mod listed;
mod text_row;
mod uncounted;
mod processes;
mod own_channel;

use std::num::NonZeroU32;

use bytes::{Buf as _, BytesMut};
use freshet_protocol::{
    Answer, Capabilities, Command, ErrPacket, FRAME_MAX, FrameHeader, HEADER_LEN, Malformed, Part, PrepareOk,
    Seen, StateChange, StatusFlags, put_packet,
};

use crate::why::Why;
use crate::wire::WireError;

pub(crate) use capture::{Capture, Captured};
pub(crate) use filter::Filter;
pub(crate) use listed::Listed;
pub(crate) use own_channel::{Channel, OwnChannel, PutRight, row_of};
pub(crate) use processes::{Processes, listed as listed_process};
pub(crate) use uncounted::{Controls, Own, Repeated, Served, Uncounted, flushes_status};

/// Which side went away in the middle of an exchange. Either way both connections are over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    /// The client, or what it sent was not to be understood.
    #[error("the client's connection: {0}")]
    Client(WireError),
    /// The server.
    #[error("the server's connection: {0}")]
    Upstream(std::io::Error),
    /// What the server sent was not to be understood.
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

/// What an answer said about itself.
#[derive(Debug, Default)]
pub(crate) struct Relayed {
    /// The session's status flags after it.
    pub(crate) status: Option<StatusFlags>,
    /// The error it ended with.
    pub(crate) error: Option<u16>,
    /// The same as the server said it.
    pub(crate) refusal: Option<Box<ErrPacket>>,
    /// OK packets and result sets in it.
    pub(crate) results: u32,
    /// Rows in it.
    pub(crate) rows: u64,
    /// Rows that it says it has changed.
    pub(crate) affected: u64,
    /// How many bytes of it have come.
    pub(crate) bytes: usize,
    /// How long it took, from when the command was sent, in microseconds.
    pub(crate) took_us: u32,
    /// The digest that it is counted under.
    pub(crate) tag: u16,
    /// One of them told of warnings.
    pub(crate) warned: bool,
    /// One of them told of an id that was given out, or was given.
    pub(crate) tells_id: bool,
    /// The GTIDs it was committed under, as the server wrote them.
    pub(crate) gtids: Vec<Vec<u8>>,
    /// The default schema or a watched variable has changed.
    pub(crate) session_changed: bool,
    /// The session's writes may be kept out of the binlog from now on, or have been during the statement.
    pub(crate) unlogged: bool,
    /// Session state of any kind has changed: also by a trigger or a function, of which no statement tells.
    pub(crate) state_changed: bool,
    /// The answer ended with an EOF packet that announces a change. The next OK packet says which.
    pub(crate) announced: bool,
    /// It ended with an EOF packet, which has no room for what has changed.
    pub(crate) has_no_room: bool,
    /// The default schema, where it was reported.
    pub(crate) schema: Option<Vec<u8>>,
    /// Whether anything holds for the present or the next transaction alone, where the server said so.
    pub(crate) characteristics: Option<bool>,
    /// What was prepared.
    pub(crate) prepared: Option<Box<PrepareOk>>,
    /// The number by which the client knows it, if that is not the server's.
    pub(crate) numbered: Option<NonZeroU32>,
    /// The command was not sent: its transaction could not go on.
    pub(crate) is_unsent: bool,
    /// The answer's bytes, if they were asked for and may be stored.
    pub(crate) captured: Option<Captured>,
    /// Why not, if they were asked for and may not be stored.
    pub(crate) uncaptured: Option<Why>,
}

impl Relayed {
    /// Of a command that was not sent, and answered with this error.
    pub(crate) fn unsent(code: u16) -> Self {
        Self { error: Some(code), is_unsent: true, ..Self::default() }
    }

    /// Takes over what a packet says.
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
                StateChange::SystemVariable { name, .. } if name == b"autocommit" => {}
                StateChange::SystemVariable { name, .. } => {
                    self.session_changed = true;
                    // The report says how it is in the end: a routine may have turned the binlog off and on again.
                    self.unlogged |= name == b"sql_log_bin";
                }
                StateChange::Schema(schema) => {
                    self.session_changed = true;
                    self.schema = Some(schema.clone());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// One answer on its way. It is followed in whatever pieces it arrives, and neither read nor sent here.
pub(crate) struct Relay<'a> {
    filter: &'a Filter<'a>,
    /// The server's connection's.
    capabilities: Capabilities,
    answer: Answer,
    capture: Option<Capture>,
    put_right: Option<PutRight>,
    listed: Option<Listed>,
    relayed: Relayed,
    /// Bytes at the front of the server's buffer that are checked and pass unchanged.
    checked: usize,
    /// Bytes still to come of a frame that needs no look.
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

    /// Keeps a copy while it passes.
    pub(crate) fn capture(&mut self, capture: Option<Capture>) {
        self.capture = capture;
    }

    /// Puts rows right while they pass. What tells of one client's channel is not kept.
    pub(crate) fn put_right(&mut self, put_right: PutRight) {
        if !matches!(put_right, PutRight::FoundRows(_)) {
            self.capture = None;
        }
        self.put_right = Some(put_right);
    }

    /// Gives what is prepared this number in the place of the server's, if it is one.
    pub(crate) fn number(&mut self, number: Option<NonZeroU32>) {
        self.relayed.numbered = number;
    }

    /// Puts rows of ours among the others while they pass.
    pub(crate) fn list(&mut self, listed: Option<Listed>) {
        self.listed = listed;
    }

    /// Looks at all that has come, and moves what may pass over to the client's buffer; where there is none it is dropped.
    ///
    /// # Errors
    /// What the server sent is no answer.
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

    /// Whether any of the answer has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.relayed.bytes > 0 || self.checked > 0
    }

    /// What the whole answer said.
    pub(crate) fn finish(mut self) -> Relayed {
        self.relayed.numbered = self.relayed.numbered.filter(|_| self.relayed.prepared.is_some());
        match self.capture.map(Capture::finish) {
            Some(Ok(captured)) => self.relayed.captured = Some(captured),
            Some(Err(why)) => self.relayed.uncaptured = Some(why),
            None => {}
        }
        self.relayed
    }

    /// What comes is not read on before the client has taken what is there.
    pub(crate) fn is_held_up(&mut self) {
        self.capture.iter_mut().for_each(Capture::lets_go);
    }

    /// The client's file has been sent.
    pub(crate) fn infile_done(&mut self) {
        self.capture = None;
        self.answer.infile_done();
    }

    /// Looks at the next frame, if enough of it is here. `None`: there may be another.
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
        let Some(header) = FrameHeader::parse(here) else { return Ok(Some(RelayStep::NeedMore)) };
        let body = &here[HEADER_LEN..];
        if body.is_empty() && header.len > 0 {
            return Ok(Some(RelayStep::NeedMore));
        }
        let first = body.first().copied().unwrap_or(0);
        let is_row_wanted = (self.put_right.is_some() || self.listed.is_some()) && header.len < FRAME_MAX;
        if !is_row_wanted && !self.answer.wants_whole(header.len, first) {
            let here = body.len().min(header.len);
            let seen = self.answer.see(header.len, &body[..here])?;
            self.unseen = header.len - here;
            self.checked += HEADER_LEN + here;
            if seen.part == Part::Row {
                self.relayed.rows += 1;
                self.capture.iter_mut().for_each(Capture::row);
            }
            return Ok((self.unseen > 0).then_some(RelayStep::NeedMore));
        }
        if body.len() < header.len {
            return Ok(Some(RelayStep::NeedMore));
        }
        self.whole(header, buffer, out)
    }

    /// A packet that says something about the answer or the session, which is all here.
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
            self.relayed.rows += 1;
            self.capture.iter_mut().for_each(Capture::row);
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

    /// Passes `payload` in the place of a frame, with those of our rows that come before it.
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

    /// Moves what is checked over to the client's buffer.
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
        out.extend_from_slice(bytes);
    }
    if let Some(capture) = capture {
        capture.bytes(bytes);
    }
}

/// What an answer needs to be followed further.
pub(crate) enum RelayStep {
    /// More of it.
    NeedMore,
    /// The client's file.
    Infile { seq: u8 },
    /// Nothing: that was all.
    Last,
}

#[cfg(test)]
mod tests;
