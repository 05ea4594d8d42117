//! The head of the answer to `COM_STMT_PREPARE`.

use crate::{Capabilities, Malformed, OkPacket, Reader};

/// A statement was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// The server's number for the statement, on this connection only.
    pub statement_id: u32,
    /// How many columns its result has; 0 for none.
    pub columns: u16,
    /// How many parameters it has.
    pub parameters: u16,
    /// How many warnings the preparation raised.
    pub warnings: u16,
    /// Whether the definitions follow. A client can ask MySQL to omit them.
    pub metadata_follows: bool,
}

impl PrepareOk {
    /// Where the statement's number stands in the payload: four bytes.
    pub const STATEMENT_ID_AT: usize = 1;

    /// Reads the head of the answer.
    ///
    /// # Errors
    /// If it is truncated or something else.
    pub fn parse(payload: &[u8], caps: Capabilities) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if reader.u8()? != OkPacket::HEADER {
            return Err(Malformed::new("answer to a preparation"));
        }
        let statement_id = reader.u32()?;
        let columns = reader.u16()?;
        let parameters = reader.u16()?;
        reader.take(1.min(reader.remaining()))?;
        // Servers before 5.0 sent no warnings.
        let warnings = if reader.is_empty() { 0 } else { reader.u16()? };
        let optional = caps.contains(Capabilities::OPTIONAL_RESULTSET_METADATA);
        let metadata_follows = !optional || reader.is_empty() || reader.u8()? != 0;
        Ok(Self { statement_id, columns, parameters, warnings, metadata_follows })
    }
}
