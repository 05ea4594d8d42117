//! XA transaction identifiers.

use crate::{Malformed, Reader};

/// The longest global or branch part that the XA standard allows, in bytes.
const PART_LEN_MAX: usize = 64;

/// An XA transaction's identifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Xid {
    /// `formatID`; 1 unless the client chose another.
    pub format: u32,
    /// The global transaction's part, at most 64 bytes.
    pub global: Vec<u8>,
    /// The branch's part, at most 64 bytes.
    pub branch: Vec<u8>,
}

impl Xid {
    /// Returns the form inside MariaDB's GTID event: one byte for each length.
    pub(super) fn parse_short(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let format = reader.u32()?;
        let global = usize::from(reader.u8()?);
        let branch = usize::from(reader.u8()?);
        Self::parse_parts(reader, format, global, branch)
    }

    /// Returns the body of XA_PREPARE: the one-phase flag, then four bytes for each length.
    pub(super) fn parse_prepare(reader: &mut Reader<'_>) -> Result<(Self, bool), Malformed> {
        let one_phase = reader.u8()? != 0;
        let format = reader.u32()?;
        let global = reader.u32()? as usize;
        let branch = reader.u32()? as usize;
        Ok((Self::parse_parts(reader, format, global, branch)?, one_phase))
    }

    fn parse_parts(
        reader: &mut Reader<'_>,
        format: u32,
        global: usize,
        branch: usize,
    ) -> Result<Self, Malformed> {
        if global > PART_LEN_MAX || branch > PART_LEN_MAX {
            return Err(Malformed::new("XA identifier longer than 64 bytes"));
        }
        Ok(Xid { format, global: reader.take(global)?.to_vec(), branch: reader.take(branch)?.to_vec() })
    }
}
