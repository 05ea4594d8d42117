//! The server's answer to one command on its way to the client: passed on as it is, followed frame by frame so that
//! its end is known, and copied on the way when it may be stored.
//!
//! Only packets that carry a session's state are ever changed: what the server reports because *we* asked it to
//! (GTIDs, watched variables) is taken out again, and a client that did not ask for session tracking gets the form of
//! OK packet it understands.

mod capture;
mod filter;

use bytes::{Buf as _, BytesMut};
use freshet_protocol::{
    Answer, Capabilities, Command, ErrPacket, FRAME_MAX, FrameHeader, HEADER_LEN, Malformed, Part, PrepareOk,
    Seen, StateChange, StatusFlags, put_packet,
};
use freshet_upstream::Connection;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::session::OwnChannel;
use crate::shared::Counters;
use crate::wire::{Heard, Wire, WireError};

pub(crate) use capture::{Capture, Captured};
pub(crate) use filter::Filter;

/// What is collected for the client before it is sent, in bytes: an answer of many small rows is few writes.
const FLUSH_AT_BYTES: usize = 32 * 1024;
/// What one read from the server asks for, in bytes.
const READ_BYTES: usize = 32 * 1024;

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
    /// OK packets and result sets in it.
    pub(crate) results: u32,
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
    pub(crate) prepared: Option<PrepareOk>,
    /// The answer's bytes, if they were asked for and may be stored.
    pub(crate) captured: Option<Captured>,
}

impl Relayed {
    /// Takes over what a packet says.
    fn note(&mut self, seen: &Seen, payload: &[u8], capabilities: Capabilities) -> Result<(), Malformed> {
        if let Some(status) = seen.status {
            self.status = Some(status);
        }
        match seen.part {
            Part::Err => self.error = Some(ErrPacket::parse(payload)?.code),
            Part::PrepareOk => self.prepared = Some(PrepareOk::parse(payload, capabilities)?),
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

/// One answer on its way.
pub(crate) struct Relay<'a> {
    upstream: &'a mut Connection,
    wire: Option<&'a mut Wire>,
    filter: &'a Filter<'a>,
    answer: Answer,
    capture: Option<Capture>,
    own_channel: Option<OwnChannel>,
    relayed: Relayed,
    /// Bytes at the front of the server's buffer that are checked and pass unchanged.
    checked: usize,
    /// Bytes still to come of a frame that needs no look.
    unseen: usize,
}

impl<'a> Relay<'a> {
    /// Follows the answer to `command`. Without a wire it is read and dropped.
    pub(crate) fn new(
        upstream: &'a mut Connection,
        wire: Option<&'a mut Wire>,
        filter: &'a Filter<'a>,
        command: Command,
    ) -> Self {
        let answer = Answer::to(command, upstream.capabilities());
        Self {
            upstream,
            wire,
            filter,
            answer,
            capture: None,
            own_channel: None,
            relayed: Relayed::default(),
            checked: 0,
            unseen: 0,
        }
    }

    /// Keeps a copy while it passes.
    pub(crate) fn capturing(mut self, capture: Option<Capture>) -> Self {
        self.capture = capture;
        self
    }

    /// Puts rows about the session's channel right while they pass.
    pub(crate) fn putting_right(mut self, own_channel: Option<OwnChannel>) -> Self {
        if own_channel.is_some() {
            self.capture = None;
        }
        self.own_channel = own_channel;
        self
    }

    /// Passes the whole answer on. The last bytes are left in the client's buffer for the caller to flush.
    ///
    /// # Errors
    /// [`Lost`]; the connections are of no more use then.
    pub(crate) async fn run(mut self) -> Result<Relayed, Lost> {
        loop {
            match self.next()? {
                Step::Frame => {}
                Step::Infile { seq } => self.infile(seq).await?,
                Step::Last => {
                    self.release();
                    self.relayed.captured = self.capture.and_then(Capture::finish);
                    return Ok(self.relayed);
                }
                Step::NeedMore => {
                    self.release();
                    self.flush_if_large().await?;
                    self.fill().await?;
                }
            }
        }
    }

    /// Looks at the next frame, if enough of it is here.
    fn next(&mut self) -> Result<Step, Malformed> {
        let buffer = &self.upstream.parts().1[self.checked..];
        if self.unseen > 0 {
            let passed = self.unseen.min(buffer.len());
            self.unseen -= passed;
            self.checked += passed;
            return Ok(if self.unseen > 0 { Step::NeedMore } else { Step::Frame });
        }
        let Some(header) = FrameHeader::parse(buffer) else { return Ok(Step::NeedMore) };
        let body = &buffer[HEADER_LEN..];
        if body.is_empty() && header.len > 0 {
            return Ok(Step::NeedMore);
        }
        let first = body.first().copied().unwrap_or(0);
        let is_row_wanted = self.own_channel.is_some() && header.len < FRAME_MAX;
        if !is_row_wanted && !self.answer.wants_whole(header.len, first) {
            let seen = self.answer.see(header.len, &body[..body.len().min(header.len)])?;
            let here = body.len().min(header.len);
            self.unseen = header.len - here;
            self.checked += HEADER_LEN + here;
            if let (Some(capture), Part::Row) = (&mut self.capture, seen.part) {
                capture.row();
            }
            return Ok(if self.unseen > 0 { Step::NeedMore } else { Step::Frame });
        }
        if body.len() < header.len {
            return Ok(Step::NeedMore);
        }
        self.whole(header)
    }

    /// A packet that says something about the answer or the session, which is all here.
    fn whole(&mut self, header: FrameHeader) -> Result<Step, Malformed> {
        let capabilities = self.upstream.capabilities();
        let start = self.checked + HEADER_LEN;
        let payload = &self.upstream.parts().1[start..start + header.len];
        let seen = self.answer.see(header.len, payload)?;
        self.relayed.note(&seen, payload, capabilities)?;
        let row = self.own_channel.as_ref().filter(|_| seen.part == Part::Row).and_then(|it| it.row(payload));
        let rewritten = match row {
            Some(row) => Some(row),
            None => self.filter.rewritten(&seen, payload, capabilities)?,
        };
        if let Some(capture) = &mut self.capture {
            let is_news = self.filter.is_news(&seen, payload, capabilities)?;
            let passed = rewritten.as_deref().unwrap_or(payload);
            capture.packet(&filter::as_passed(&seen, passed), self.checked, is_news);
        }
        match rewritten {
            Some(payload) => self.replace(header, &payload),
            None => self.checked += HEADER_LEN + header.len,
        }
        Ok(match seen {
            Seen { part: Part::LocalInfile, .. } => Step::Infile { seq: header.seq },
            Seen { last: true, .. } => Step::Last,
            _ => Step::Frame,
        })
    }

    /// Puts `payload` in the place of the frame at the front of what is not yet checked.
    fn replace(&mut self, header: FrameHeader, payload: &[u8]) {
        self.release();
        self.upstream.parts().1.advance(HEADER_LEN + header.len);
        let mut seq = header.seq;
        let mut frame = BytesMut::with_capacity(HEADER_LEN + payload.len());
        put_packet(&mut frame, &mut seq, payload);
        pass(&mut self.wire, &mut self.capture, &frame);
    }

    /// Moves what is checked over to the client's buffer.
    fn release(&mut self) {
        let buffer: &mut BytesMut = self.upstream.parts().1;
        pass(&mut self.wire, &mut self.capture, &buffer[..self.checked]);
        buffer.advance(self.checked);
        self.checked = 0;
    }

    async fn flush_if_large(&mut self) -> Result<(), Lost> {
        if let Some(wire) = &mut self.wire
            && wire.out().0.len() >= FLUSH_AT_BYTES
        {
            wire.flush().await?;
        }
        Ok(())
    }

    /// Waits for more of the answer, and meanwhile for the client to leave. A client that sends nothing more may still
    /// read: the server is told what the client has told us, and does what it does for its own clients (it ends waits
    /// such as SLEEP and GET_LOCK, and goes on with everything else).
    async fn fill(&mut self) -> Result<(), Lost> {
        loop {
            let (stream, buffer) = self.upstream.parts();
            buffer.reserve(READ_BYTES);
            let Some(wire) = self.wire.as_mut().filter(|wire| wire.is_listening()) else {
                return filled(stream.read_buf(buffer).await);
            };
            let heard = tokio::select! {
                biased;
                read = stream.read_buf(buffer) => return filled(read),
                heard = wire.overhear() => heard,
            };
            match heard {
                Ok(Heard::More) => {}
                Ok(Heard::End) => {
                    Counters::add(&wire.bounds().vanished);
                    // Where that fails the connection is over, and the next read says so.
                    let _ = stream.hang_up();
                }
                Err(error) => {
                    Counters::add(&wire.bounds().vanished);
                    return Err(Lost::Client(error));
                }
            }
        }
    }

    /// LOAD DATA LOCAL: the server asked for a file; the client's packets go to it until the empty one.
    async fn infile(&mut self, seq: u8) -> Result<(), Lost> {
        self.release();
        self.capture = None;
        let Some(wire) = &mut self.wire else {
            return Err(Malformed { what: "LOCAL INFILE without a client" }.into());
        };
        wire.flush().await?;
        // A client that compresses numbers what it sends in another way than the server.
        let mut seq = seq.wrapping_add(1);
        wire.set_seq(seq);
        let mut frames = BytesMut::new();
        let mut has_spoken = false;
        loop {
            // Between two packets the time limit is the server's. It may say early what went wrong; the client goes on
            // to the end of its file all the same.
            let (stream, buffer) = self.upstream.parts();
            let packet = tokio::select! {
                biased;
                packet = wire.packet() => packet?,
                read = stream.read_buf(buffer), if !has_spoken => {
                    filled(read)?;
                    has_spoken = true;
                    continue;
                }
            };
            frames.clear();
            put_packet(&mut frames, &mut seq, &packet.payload);
            let (stream, _) = self.upstream.parts();
            stream.write_all(&frames).await.map_err(Lost::Upstream)?;
            if packet.payload.is_empty() {
                stream.flush().await.map_err(Lost::Upstream)?;
                self.answer.infile_done();
                return Ok(());
            }
        }
    }
}

/// Puts bytes into the client's buffer, and into the copy.
fn pass(wire: &mut Option<&mut Wire>, capture: &mut Option<Capture>, bytes: &[u8]) {
    let Some(wire) = wire else { return };
    wire.out().0.extend_from_slice(bytes);
    if let Some(capture) = capture {
        capture.bytes(bytes, &wire.bounds().fill);
    }
}

/// What a read from the server means: its end is no answer.
fn filled(read: std::io::Result<usize>) -> Result<(), Lost> {
    match read {
        Ok(0) => Err(Lost::Upstream(std::io::ErrorKind::UnexpectedEof.into())),
        Ok(_) => Ok(()),
        Err(error) => Err(Lost::Upstream(error)),
    }
}

enum Step {
    Frame,
    NeedMore,
    Infile { seq: u8 },
    Last,
}

// A packet that is looked at whole is one frame: nothing the server says about a session is larger.
const _: () = assert!(FRAME_MAX > FLUSH_AT_BYTES);
