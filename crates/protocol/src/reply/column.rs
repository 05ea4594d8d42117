//! The definition of a column of a result set, or of a parameter.

use ::bytes::BufMut;

use crate::{Capabilities, Malformed, Put, Reader};

/// The catalog of every column.
const CATALOG: &[u8] = b"def";
/// The length of the part of fixed width.
const FIXED_LEN: u64 = 12;

/// A column's definition (`ColumnDefinition41`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The table's schema; empty for an expression, as the next three.
    pub schema: Vec<u8>,
    /// The table's name in the query, which may be an alias.
    pub table: Vec<u8>,
    /// The table's own name.
    pub org_table: Vec<u8>,
    /// The column's name in the result, which may be an alias.
    pub name: Vec<u8>,
    /// The column's own name.
    pub org_name: Vec<u8>,
    /// The collation's number; 63 is binary.
    pub collation: u16,
    /// The longest display of a value, in bytes.
    pub length: u32,
    /// The type's number.
    pub kind: u8,
    /// NOT NULL, UNSIGNED and so on.
    pub flags: u16,
    /// Digits after the point; 31 where that is not fixed.
    pub decimals: u8,
}

impl Column {
    /// Reads a definition. MariaDB's extended type and the default value that
    /// `COM_FIELD_LIST` appends are skipped.
    ///
    /// # Errors
    /// If it is truncated.
    pub fn parse(payload: &[u8], caps: Capabilities) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        reader.lenenc_bytes()?;
        let mut text = || reader.lenenc_bytes().map(<[u8]>::to_vec);
        let (schema, table, org_table, name, org_name) = (text()?, text()?, text()?, text()?, text()?);
        if caps.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            reader.lenenc_bytes()?;
        }
        if reader.lenenc_int()? < FIXED_LEN {
            return Err(Malformed::new("column definition"));
        }
        Ok(Self {
            schema,
            table,
            org_table,
            name,
            org_name,
            collation: reader.u16()?,
            length: reader.u32()?,
            kind: reader.u8()?,
            flags: reader.u16()?,
            decimals: reader.u8()?,
        })
    }

    /// Returns the payload.
    #[must_use]
    pub fn encode(&self, caps: Capabilities) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.put_lenenc_bytes(CATALOG);
        for text in [&self.schema, &self.table, &self.org_table, &self.name, &self.org_name] {
            out.put_lenenc_bytes(text);
        }
        if caps.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            out.put_lenenc_bytes(&[]);
        }
        out.put_lenenc_int(FIXED_LEN);
        out.put_u16_le(self.collation);
        out.put_u32_le(self.length);
        out.put_u8(self.kind);
        out.put_u16_le(self.flags);
        out.put_u8(self.decimals);
        out.put_u16_le(0);
        out
    }
}
