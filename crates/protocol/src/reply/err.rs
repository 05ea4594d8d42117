//! The ERR packet.

use ::bytes::BufMut;

use crate::{Malformed, Reader};

/// The server says what went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} ({}): {}", .sqlstate.unwrap_or(GENERAL_ERROR).escape_ascii(), String::from_utf8_lossy(.message))]
pub struct ErrPacket {
    /// The error's number.
    pub code: u16,
    /// Its class, as standard SQL has it. Servers send none in the place of a greeting, before they know whether the
    /// client can read it.
    pub sqlstate: Option<[u8; 5]>,
    /// Text for people, in the client's character set.
    pub message: Vec<u8>,
}

/// What stands before the SQLSTATE.
const MARKER: u8 = b'#';
/// The SQLSTATE of everything that has none of its own.
const GENERAL_ERROR: [u8; 5] = *b"HY000";
/// The SQLSTATE of a server that refuses a connection.
const CONNECTION_REJECTED: [u8; 5] = *b"08004";

impl ErrPacket {
    /// The first byte of an ERR packet.
    pub const HEADER: u8 = 0xFF;
    /// The code under which MariaDB reports progress: not an error at all.
    pub const PROGRESS: u16 = 0xFFFF;
    /// ER_CON_COUNT_ERROR: the server has no more connections.
    pub const TOO_MANY_CONNECTIONS: u16 = 1040;

    /// Returns an error of our own. A `sqlstate` of other than five bytes is that of errors in general.
    #[must_use]
    pub fn new(code: u16, sqlstate: &str, message: impl AsRef<[u8]>) -> Self {
        let sqlstate = sqlstate.as_bytes().try_into().unwrap_or(GENERAL_ERROR);
        Self { code, sqlstate: Some(sqlstate), message: message.as_ref().to_vec() }
    }

    /// The same in the place of a greeting.
    #[must_use]
    pub fn without_sqlstate(self) -> Self {
        Self { sqlstate: None, ..self }
    }

    /// The same behind a greeting, where clients expect an SQLSTATE: if there is none, that of the error.
    #[must_use]
    pub fn with_sqlstate(self) -> Self {
        let own = if self.code == Self::TOO_MANY_CONNECTIONS { CONNECTION_REJECTED } else { GENERAL_ERROR };
        Self { sqlstate: self.sqlstate.or(Some(own)), ..self }
    }

    /// Reads an ERR packet.
    ///
    /// # Errors
    /// If it is truncated or something else.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if reader.u8()? != Self::HEADER {
            return Err(Malformed::new("ERR packet"));
        }
        let code = reader.u16()?;
        let mut sqlstate = None;
        if reader.peek() == Some(MARKER) {
            reader.u8()?;
            sqlstate = Some(reader.array()?);
        }
        Ok(Self { code, sqlstate, message: reader.rest().to_vec() })
    }

    /// Returns the payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.message.len());
        out.put_u8(Self::HEADER);
        out.put_u16_le(self.code);
        if let Some(sqlstate) = &self.sqlstate {
            out.put_u8(MARKER);
            out.put_slice(sqlstate);
        }
        out.put_slice(&self.message);
        out
    }
}
