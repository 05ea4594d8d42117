//! A client that keeps every byte: it logs in without a password, sends commands as bytes and gives the server's
//! packets as they came, so that two ways to a server can be compared packet by packet.
//!
//! It follows an answer only as far as is needed to know where it ends.

mod compressed;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use compressed::Compressed;

/// `utf8mb4_general_ci`.
const UTF8MB4: u8 = 45;

/// How long any packet may take.
const PACKET_SECONDS_MAX: u64 = 60;
/// The longest payload of one frame; a longer packet goes on in the next.
pub const FRAME_MAX: usize = 0xff_ffff;

/// Capabilities by MySQL's names.
pub mod capability {
    #![allow(missing_docs)]
    pub const FOUND_ROWS: u32 = 1 << 1;
    pub const LONG_FLAG: u32 = 1 << 2;
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    pub const LOCAL_FILES: u32 = 1 << 7;
    pub const PROTOCOL_41: u32 = 1 << 9;
    pub const COMPRESS: u32 = 1 << 5;
    pub const TRANSACTIONS: u32 = 1 << 13;
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    pub const MULTI_RESULTS: u32 = 1 << 17;
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    pub const SESSION_TRACK: u32 = 1 << 23;
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    /// Among MariaDB's own.
    pub const STMT_BULK_OPERATIONS: u32 = 1 << 2;
    /// What every login here has.
    pub const BASE: u32 = LONG_FLAG
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | LOCAL_FILES
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH;
}

/// Commands by MySQL's names.
pub mod command {
    #![allow(missing_docs)]
    pub const QUIT: u8 = 1;
    pub const INIT_DB: u8 = 2;
    pub const QUERY: u8 = 3;
    pub const FIELD_LIST: u8 = 4;
    pub const STATISTICS: u8 = 9;
    pub const PROCESS_KILL: u8 = 12;
    pub const DEBUG: u8 = 13;
    pub const PING: u8 = 14;
    pub const CHANGE_USER: u8 = 17;
    pub const BINLOG_DUMP: u8 = 18;
    pub const REGISTER_REPLICA: u8 = 21;
    pub const STMT_PREPARE: u8 = 22;
    pub const STMT_EXECUTE: u8 = 23;
    pub const STMT_SEND_LONG_DATA: u8 = 24;
    pub const STMT_CLOSE: u8 = 25;
    pub const STMT_RESET: u8 = 26;
    pub const SET_OPTION: u8 = 27;
    pub const STMT_FETCH: u8 = 28;
    pub const RESET_CONNECTION: u8 = 31;
    pub const STMT_BULK_EXECUTE: u8 = 0xfa;
}

/// SERVER_MORE_RESULTS_EXISTS.
const MORE_RESULTS: u16 = 1 << 3;
/// SERVER_STATUS_CURSOR_EXISTS.
pub const CURSOR_EXISTS: u16 = 1 << 6;

/// A logged-in client.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    seq: u8,
    capabilities: u32,
    /// The connection id of the greeting.
    pub id: u32,
    /// The server's version, as the greeting says it.
    pub version: String,
    /// What the server offered.
    pub offered: u32,
    /// MariaDB's own capabilities that the login asks for: the upper 32 of 64.
    pub extended: u32,
    /// The number of the collation that a login names, and with it the client's character set.
    pub collation: u8,
    /// The frames below the packets, once both sides compress.
    compressed: Option<Compressed>,
}

impl Raw {
    /// Connects and reads the greeting.
    ///
    /// # Errors
    /// Those of the network; an error packet in the greeting's place is one of kind `ConnectionRefused`.
    pub fn dial(host: &str, port: u16) -> io::Result<Raw> {
        Raw::over(TcpStream::connect((host, port))?)
    }

    /// The same over a connection that is there.
    ///
    /// # Errors
    /// As [`Raw::dial`].
    ///
    /// # Panics
    /// If the greeting is cut short.
    pub fn over(stream: TcpStream) -> io::Result<Raw> {
        stream.set_read_timeout(Some(Duration::from_secs(PACKET_SECONDS_MAX)))?;
        stream.set_write_timeout(Some(Duration::from_secs(PACKET_SECONDS_MAX)))?;
        stream.set_nodelay(true)?;
        let mut raw = Raw {
            stream,
            seq: 0,
            capabilities: 0,
            id: 0,
            version: String::new(),
            offered: 0,
            extended: 0,
            collation: UTF8MB4,
            compressed: None,
        };
        let greeting = raw.packet()?;
        if greeting.first() != Some(&10) {
            let said = String::from_utf8_lossy(&greeting).into_owned();
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, said));
        }
        let end = 1 + greeting[1..].iter().position(|&byte| byte == 0).expect("the version ends");
        raw.version = String::from_utf8_lossy(&greeting[1..end]).into_owned();
        raw.id = u32::from_le_bytes(greeting[end + 1..end + 5].try_into().expect("four bytes"));
        let low = u16::from_le_bytes([greeting[end + 14], greeting[end + 15]]);
        let high = u16::from_le_bytes([greeting[end + 19], greeting[end + 20]]);
        raw.offered = u32::from(low) | u32::from(high) << 16;
        Ok(raw)
    }

    /// Logs in with an account that has no password; gives the server's last word. Both sides compress from then on, if
    /// that is agreed.
    ///
    /// # Errors
    /// Those of the network; a refusal is one of kind `PermissionDenied`.
    pub fn login(&mut self, user: &str, schema: &str, further: u32) -> io::Result<Vec<u8>> {
        let with_schema = if schema.is_empty() { 0 } else { capability::CONNECT_WITH_DB };
        self.capabilities = (capability::BASE | with_schema | further) & self.offered;
        let mut login = Vec::new();
        login.extend(self.capabilities.to_le_bytes());
        login.extend((1u32 << 30).to_le_bytes());
        login.push(self.collation);
        login.extend([0; 19]);
        login.extend(self.extended.to_le_bytes());
        login.extend(user.as_bytes());
        login.extend([0, 0]);
        if self.capabilities & capability::CONNECT_WITH_DB != 0 {
            login.extend(schema.as_bytes());
            login.push(0);
        }
        login.extend(b"mysql_native_password\0");
        self.put(&login)?;
        let said = self.authenticated()?;
        if self.capabilities & capability::COMPRESS != 0 {
            self.compressed = Some(Compressed::default());
        }
        Ok(said)
    }

    /// Answers every challenge with the empty password, to the last word.
    ///
    /// # Errors
    /// As [`Raw::login`].
    pub fn authenticated(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let packet = self.packet()?;
            match packet.first() {
                Some(0) => return Ok(packet),
                Some(0xfe) => self.put(&[])?,
                // caching_sha2_password's "fast authentication worked"; the OK follows.
                Some(1) => {}
                _ => {
                    let said = String::from_utf8_lossy(&packet).into_owned();
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, said));
                }
            }
        }
    }

    /// The capabilities that were agreed on.
    pub fn capabilities(&self) -> u32 {
        self.capabilities
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends one packet that goes on in the sequence, split where it must be.
    ///
    /// # Errors
    /// Those of the network.
    pub fn put(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut rest = payload;
        loop {
            let (piece, left) = rest.split_at(rest.len().min(FRAME_MAX));
            let mut frame = u32::try_from(piece.len()).expect("a frame is short").to_le_bytes().to_vec();
            frame[3] = self.seq;
            self.seq = self.seq.wrapping_add(1);
            frame.extend(piece);
            match &mut self.compressed {
                None => self.stream.write_all(&frame)?,
                Some(compressed) => compressed.write(&mut self.stream, &frame)?,
            }
            if piece.len() < FRAME_MAX {
                return Ok(());
            }
            rest = left;
        }
    }

    /// Sends a command, which begins the sequence anew.
    ///
    /// # Errors
    /// Those of the network.
    pub fn send(&mut self, command: u8, body: &[u8]) -> io::Result<()> {
        self.seq = 0;
        if let Some(compressed) = &mut self.compressed {
            compressed.begin();
        }
        self.put(&[&[command], body].concat())
    }

    /// Expects the answer to a command that was sent some commands ago.
    pub fn begin_answer(&mut self) {
        self.seq = 1;
    }

    /// The next packet, joined where it was split; its numbers must go on in the sequence.
    ///
    /// # Errors
    /// Those of the network, and `InvalidData` for a number out of sequence.
    pub fn packet(&mut self) -> io::Result<Vec<u8>> {
        let mut packet = Vec::new();
        loop {
            let mut header = [0; 4];
            self.read_exact(&mut header)?;
            // Inside of compressed frames the numbers say nothing.
            if header[3] != self.seq && self.compressed.is_none() {
                let said = format!("packet {} where {} was due", header[3], self.seq);
                return Err(io::Error::new(io::ErrorKind::InvalidData, said));
            }
            self.seq = self.seq.wrapping_add(1);
            let len = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            let start = packet.len();
            packet.resize(start + len, 0);
            self.read_exact(&mut packet[start..])?;
            if len < FRAME_MAX {
                return Ok(packet);
            }
        }
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match &mut self.compressed {
            None => self.stream.read_exact(bytes),
            Some(compressed) => compressed.read(&mut self.stream, bytes),
        }
    }

    /// Sends a command and gives every packet of its answer.
    ///
    /// # Errors
    /// Those of the network.
    pub fn ask(&mut self, command: u8, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.send(command, body)?;
        match command {
            command::STMT_PREPARE => self.prepared(),
            command::STATISTICS => Ok(vec![self.packet()?]),
            command::FIELD_LIST | command::STMT_FETCH => {
                let mut packets = Vec::new();
                self.until_end(&mut packets)?;
                Ok(packets)
            }
            _ => self.answer(),
        }
    }

    /// The same for a statement.
    ///
    /// # Errors
    /// Those of the network.
    pub fn query(&mut self, text: &str) -> io::Result<Vec<Vec<u8>>> {
        self.ask(command::QUERY, text.as_bytes())
    }

    /// Every packet of the answer to a COM_QUERY or COM_STMT_EXECUTE that was sent; it ends early where the server asks
    /// for a file.
    ///
    /// # Errors
    /// Those of the network.
    pub fn answer(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut packets = Vec::new();
        loop {
            let first = self.packet()?;
            let head = first.first().copied().unwrap_or(0xff);
            let mut status = status(&first);
            packets.push(first);
            match head {
                0xff | 0xfb => return Ok(packets),
                0 => {}
                // EOF in answer to COM_SET_OPTION and COM_DEBUG.
                0xfe => return Ok(packets),
                _ => {
                    let columns = lenenc(&packets[packets.len() - 1]);
                    status = self.result_set(columns, &mut packets)?;
                }
            }
            if status & MORE_RESULTS == 0 {
                return Ok(packets);
            }
        }
    }

    fn result_set(&mut self, columns: usize, packets: &mut Vec<Vec<u8>>) -> io::Result<u16> {
        for _ in 0..columns {
            packets.push(self.packet()?);
        }
        if !self.deprecates_eof() {
            let end = self.packet()?;
            let status = status(&end);
            packets.push(end);
            if status & CURSOR_EXISTS != 0 {
                return Ok(0);
            }
        }
        self.until_end(packets)
    }

    /// Reads to the packet that ends a list of rows or columns, and gives its status flags.
    fn until_end(&mut self, packets: &mut Vec<Vec<u8>>) -> io::Result<u16> {
        loop {
            let packet = self.packet()?;
            let longest = if self.deprecates_eof() { FRAME_MAX } else { 9 };
            let head = packet.first().copied();
            let ends = head == Some(0xff) || head == Some(0xfe) && packet.len() < longest;
            let status = if head == Some(0xfe) { status(&packet) } else { 0 };
            packets.push(packet);
            if ends {
                return Ok(status);
            }
        }
    }

    fn prepared(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let first = self.packet()?;
        let count = |at: usize| usize::from(u16::from_le_bytes([first[at], first[at + 1]]));
        let lists = if first[0] == 0 { [count(7), count(5)] } else { [0, 0] };
        let mut packets = vec![first];
        for items in lists.into_iter().filter(|&items| items > 0) {
            for _ in 0..items + usize::from(!self.deprecates_eof()) {
                packets.push(self.packet()?);
            }
        }
        Ok(packets)
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities & capability::DEPRECATE_EOF != 0
    }
}

/// The status flags of an OK or EOF packet in either form, 0 for any other.
pub fn status(packet: &[u8]) -> u16 {
    let two = status_at(packet).and_then(|at| packet.get(at..at + 2));
    two.map_or(0, |two| u16::from_le_bytes([two[0], two[1]]))
}

/// Where they stand.
pub fn status_at(packet: &[u8]) -> Option<usize> {
    match packet.first() {
        Some(0xfe) if packet.len() == 5 => Some(3),
        Some(0 | 0xfe) => {
            let affected = 1 + lenenc_len(packet.get(1));
            Some(affected + lenenc_len(packet.get(affected)))
        }
        _ => None,
    }
}

/// The code of an error packet.
pub fn error_code(packet: &[u8]) -> Option<u16> {
    (packet.first() == Some(&0xff) && packet.len() > 2).then(|| u16::from_le_bytes([packet[1], packet[2]]))
}

/// The number that opens a packet, for the numbers of columns that there can be.
fn lenenc(packet: &[u8]) -> usize {
    match packet {
        [0xfc, low, high, ..] => usize::from(u16::from_le_bytes([*low, *high])),
        [number, ..] => usize::from(*number),
        [] => 0,
    }
}

fn lenenc_len(first: Option<&u8>) -> usize {
    match first {
        Some(0xfc) => 3,
        Some(0xfd) => 4,
        Some(0xfe) => 9,
        _ => 1,
    }
}
