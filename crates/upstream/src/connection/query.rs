//! Questions with small answers: whole results of the text protocol in memory.

use bytes::BytesMut;
use freshet_protocol::{
    Capabilities, Column, Command, EofPacket, ErrPacket, OkPacket, Reader, StatusFlags, put_packet,
};

use super::{Connection, HANDSHAKE_PACKET_BYTES_MAX};
use crate::error::Error;

/// The largest answer that is kept, in bytes of its rows. Our largest question asks for the foreign keys of a whole server, at some 200
/// bytes each.
pub const ANSWER_BYTES_MAX: usize = 256 << 20;
const OK: u8 = 0x00;
const ERR: u8 = 0xFF;
const EOF: u8 = 0xFE;
const LOCAL_INFILE: u8 = 0xFB;
const NULL: u8 = 0xFB;
/// An EOF packet is shorter than this; a row that starts with 0xFE is longer than any EOF.
const EOF_LEN_BELOW: usize = 9;
/// A packet that starts with 0xFE and is shorter than this ends the rows where EOF is deprecated.
const OK_AS_EOF_LEN_BELOW: usize = freshet_protocol::FRAME_MAX;

/// One row: a value per column, `None` for NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// The answer to one of several questions: what the server says, or its refusal.
pub type Answered = Result<Rows, ErrPacket>;

/// A whole result set, or the acknowledgement of a statement that has none.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The columns; none if the statement has no result set.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    /// How many warnings the server has to show for it.
    pub warnings: u16,
}

impl Rows {
    /// Returns the index of the column with this name. Names are compared without regard to case, because the servers write them
    /// differently.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Returns the text at this place; `None` for NULL, for a place that is not there, and for bytes that
    /// are not UTF-8.
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        let value = self.rows.get(row)?.get(column)?.as_deref()?;
        std::str::from_utf8(value).ok()
    }

    /// Returns the text in the first row under this name.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.text(0, self.column(name)?)
    }

    /// Returns each row as texts. NULL, and bytes that are not UTF-8, are the empty text.
    pub fn texts(&self) -> impl Iterator<Item = Vec<&str>> {
        self.rows.iter().map(|row| row.iter().map(|value| text_or_empty(value.as_deref())).collect())
    }
}

fn text_or_empty(value: Option<&[u8]>) -> &str {
    value.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default()
}

impl Connection {
    /// Asks one question and returns the last of its results.
    ///
    /// Only for our own questions with small answers: at most [`ANSWER_BYTES_MAX`]. The caller bounds the time.
    ///
    /// # Errors
    /// [`Error::Server`] if the server refuses, after which the connection goes on; any other
    /// error means that it is broken.
    pub async fn query(&mut self, sql: &str) -> Result<Rows, Error> {
        self.queried = true;
        self.send_command(&self.question(sql)).await?;
        self.read_answer().await
    }

    /// Asks several questions in one write, and returns the answer to each, or the server's refusal. The server answers one after the
    /// other, as if each had been sent after the answer to the one before.
    ///
    /// Only for few and short questions: all of them have to fit into the buffers of the sockets while the server is not reading, because
    /// the first answer is read when the last question is sent.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn query_each(&mut self, questions: &[impl AsRef<str>]) -> Result<Vec<Answered>, Error> {
        let mut frames = BytesMut::new();
        for sql in questions {
            put_packet(&mut frames, &mut 0, &self.question(sql.as_ref()));
        }
        self.queried = true;
        self.write(&frames).await?;
        let mut answers = Vec::with_capacity(questions.len());
        for _ in questions {
            answers.push(match self.read_next_answer().await {
                Ok(rows) => Ok(rows),
                Err(Error::Server(refusal)) => Err(refusal),
                Err(error) => return Err(error),
            });
        }
        Ok(answers)
    }

    /// Returns the packet of a question.
    fn question(&self, sql: &str) -> Vec<u8> {
        let mut payload = Vec::with_capacity(sql.len() + 3);
        payload.push(Command::Query.byte());
        if self.capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            // No attributes, in one set of values.
            payload.extend_from_slice(&[0, 1]);
        }
        payload.extend_from_slice(sql.as_bytes());
        payload
    }

    /// Reads the last result of a question that was sent in one packet among other commands, whose answers have been read before.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn read_next_answer(&mut self) -> Result<Rows, Error> {
        self.seq = 1;
        self.read_answer().await
    }

    async fn read_answer(&mut self) -> Result<Rows, Error> {
        loop {
            let (rows, status) = self.read_result().await?;
            if !status.contains(StatusFlags::MORE_RESULTS) {
                return Ok(rows);
            }
        }
    }

    /// Sets `FOUND_ROWS()` to its value in a new session: neither COM_RESET_CONNECTION nor COM_CHANGE_USER does that.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn forget_row_count(&mut self) -> Result<(), Error> {
        self.query("SELECT NULL LIMIT 0").await.map(drop)
    }

    /// Asks whether the server is still there.
    ///
    /// # Errors
    /// If it is not, or answers with an error.
    pub async fn ping(&mut self) -> Result<OkPacket, Error> {
        self.send_command(&[Command::Ping.byte()]).await?;
        let packet = self.read_in_order(HANDSHAKE_PACKET_BYTES_MAX).await?;
        ok(&packet.payload, self.capabilities, "COM_PING")
    }

    /// Gives up everything that the session holds: its transaction, locks, temporary tables, prepared statements and variables.
    ///
    /// # Errors
    /// As [`Self::ping`].
    pub async fn reset(&mut self) -> Result<(), Error> {
        self.send_command(&[Command::ResetConnection.byte()]).await?;
        let packet = self.read_in_order(HANDSHAKE_PACKET_BYTES_MAX).await?;
        ok(&packet.payload, self.capabilities, "COM_RESET_CONNECTION").map(drop)
    }

    async fn read_result(&mut self) -> Result<(Rows, StatusFlags), Error> {
        let head = self.read_in_order(ANSWER_BYTES_MAX).await?.payload;
        match head.first() {
            Some(&OK) => {
                let ok = OkPacket::parse(&head, self.capabilities)?;
                return Ok((Rows { warnings: ok.warnings, ..Rows::default() }, ok.status));
            }
            Some(&ERR) => return Err(Error::Server(ErrPacket::parse(&head)?)),
            None | Some(&LOCAL_INFILE) => return Err(Error::Unexpected { question: "a query" }),
            Some(_) => {}
        }
        let mut reader = Reader::new(&head);
        let count = reader.lenenc_int()?;
        // Only a cached prepared statement may leave out its columns, and this is none.
        let mut columns = Vec::new();
        for _ in 0..count {
            let packet = self.read_in_order(ANSWER_BYTES_MAX).await?;
            columns.push(Column::parse(&packet.payload, self.capabilities)?);
        }
        if !self.capabilities.deprecate_eof() {
            self.read_in_order(ANSWER_BYTES_MAX).await?;
        }
        self.read_rows(columns).await
    }

    async fn read_rows(&mut self, columns: Vec<Column>) -> Result<(Rows, StatusFlags), Error> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        loop {
            let packet = self.read_in_order(ANSWER_BYTES_MAX).await?.payload;
            match packet.first() {
                Some(&ERR) => return Err(Error::Server(ErrPacket::parse(&packet)?)),
                Some(&EOF) if ends_rows(packet.len(), self.capabilities) => {
                    let (status, warnings) = end(&packet, self.capabilities)?;
                    return Ok((Rows { columns, rows, warnings }, status));
                }
                _ => {}
            }
            bytes += packet.len();
            if bytes > ANSWER_BYTES_MAX {
                return Err(Error::TooLarge { max: ANSWER_BYTES_MAX });
            }
            rows.push(row(&packet, columns.len())?);
        }
    }
}

fn ends_rows(len: usize, capabilities: Capabilities) -> bool {
    len < if capabilities.deprecate_eof() { OK_AS_EOF_LEN_BELOW } else { EOF_LEN_BELOW }
}

fn end(packet: &[u8], capabilities: Capabilities) -> Result<(StatusFlags, u16), Error> {
    if capabilities.deprecate_eof() {
        let ok = OkPacket::parse(packet, capabilities)?;
        return Ok((ok.status, ok.warnings));
    }
    let eof = EofPacket::parse(packet)?;
    Ok((eof.status, eof.warnings))
}

fn row(packet: &[u8], columns: usize) -> Result<Row, Error> {
    let mut reader = Reader::new(packet);
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        if reader.peek() == Some(NULL) {
            reader.u8()?;
            row.push(None);
        } else {
            row.push(Some(reader.lenenc_bytes()?.to_vec()));
        }
    }
    Ok(row)
}

/// Reads an answer that must be OK or an error.
fn ok(payload: &[u8], capabilities: Capabilities, question: &'static str) -> Result<OkPacket, Error> {
    match payload.first() {
        Some(&OK) => Ok(OkPacket::parse(payload, capabilities)?),
        Some(&ERR) => Err(Error::Server(ErrPacket::parse(payload)?)),
        _ => Err(Error::Unexpected { question }),
    }
}
